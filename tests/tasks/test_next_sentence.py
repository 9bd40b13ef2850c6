"""Whether one part follows another can not be told from lengths and marks: foreign second parts are made as true ones are."""

from itertools import islice

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from stairs.models.settings import BERTConfig
from stairs.tasks.parts.sentence_pairs import NEXT, SentencePairs
from stairs.text.corpus.corpus import Corpus
from stairs.text.embedded.python_prose import PythonProse
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec

PAIRS = 6000
AT_MOST = 0.52


class Some:
    """The first documents of a corpus."""

    def __init__(self, corpus, documents):
        self.all = list(islice(corpus.documents(), documents))
        self.content_hash, self.size, self.position = f"the first {documents} of {corpus.content_hash}", sum(map(len, self.all)), 0

    def documents(self):
        yield from self.all


def pairs_of(corpus, tmp_path, chinese=None):
    """Of each pair what can be seen without reading: lengths, end marks, capitals; and its label."""
    shards = build_shards(corpus, TokenizerSpec("words", chinese=chinese), cache=tmp_path)
    tokens = shards.tokenizer.vocabulary
    examples = SentencePairs(shards.ids("train"), BERTConfig(vocab_size=shards.tokenizer.vocab_size, context=64), shards.tokenizer)
    rows, labels = [], []
    for n in np.random.default_rng(0).integers(0, len(examples.lengths), PAIRS):
        (a, b), label = examples.parts(int(n), np.random.default_rng(len(rows)))
        ends, capitals = ([tokens[part[place]] for part in (a, b)] for place in (-1, 0))
        rows.append([len(a), len(b), *(word in ".!?。！？" for word in ends), *(word[:1].isupper() for word in capitals)])
        labels.append(label)
    return np.array(rows, float), np.array(labels)


def best_rule(bit, labels):
    """How often the better of the two rules is right that look at one bit."""
    return sum(max((labels[bit == value] == label).sum() for label in (0, 1)) for value in (False, True)) / len(labels)


def check(rows, labels):
    assert labels.mean() == pytest.approx(0.5, abs=0.02)
    result = {name: best_rule(rows[:, column] > 0, labels) for name, column in (("ends of first", 2), ("ends of second", 3), ("capitals", 5))}
    result |= {f"at least {size} tokens": best_rule(rows[:, 1] >= size, labels) for size in (2, 5, 10, 20, 30, 40)}
    result["logistic regression"] = cross_val_score(LogisticRegression(), rows / rows.std(0), labels, cv=4).mean()
    lengths = np.column_stack([rows[:, :2], rows[:, :1] * rows[:, 1:2], rows[:, :2] ** 2])
    result["of lengths and their products"] = cross_val_score(LogisticRegression(), lengths / lengths.std(0), labels, cv=4).mean()
    assert max(result.values()) <= AT_MOST, result


def test_no_mark_and_no_length_tells_which_part_follows(prose, tmp_path):
    check(*pairs_of(Some(PythonProse(), 4000), tmp_path))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nor_in_an_encyclopedia(data, language, tmp_path):
    check(*pairs_of(Some(Corpus(data / f"corpora/wiki_{language}.txt.xz"), 1500), tmp_path, "characters"))


def test_a_text_of_single_sentences_is_cut_inside_them(tmp_path):
    (tmp_path / "text.txt").write_text("\n\n".join(" ".join(f"w{i}x{j}" for j in range(3 + i % 9)) for i in range(300)))
    shards = build_shards(Corpus(tmp_path / "text.txt"), TokenizerSpec("words"), cache=tmp_path)
    examples = SentencePairs(shards.ids("train"), BERTConfig(vocab_size=shards.tokenizer.vocab_size, context=64, short_seq_prob=0.0),
        shards.tokenizer)
    texts = [document[:-1].tolist() for document in shards.documents("train")]
    sampled_labels = [examples.parts(n, np.random.default_rng(n)) for n in range(len(examples.lengths))]
    assert all(([*a, *b] in texts) == (label == NEXT) for (a, b), label in sampled_labels)
    assert np.mean([label for _, label in sampled_labels]) == pytest.approx(0.5, abs=0.1)


def test_the_only_example_of_a_text_is_true(tmp_path):
    (tmp_path / "text.txt").write_text("One two three. Four five six.\n\nSeven.\n\nEight.")
    shards = build_shards(Corpus(tmp_path / "text.txt"), TokenizerSpec("words"), cache=tmp_path)
    examples = SentencePairs(shards.ids("train"), BERTConfig(vocab_size=shards.tokenizer.vocab_size, context=64), shards.tokenizer)
    assert {examples.parts(0, np.random.default_rng(n))[1] for n in range(20)} == {NEXT}
