"""UniLM: three masks by their plain formulas, and what follows from them: it fills, it continues, and it gives a text a probability."""

from collections import Counter

import numpy as np
import pytest
import torch

import stairs
from stairs.errors import BadInput
from stairs.fast.masked_decoder import MaskedState, empty_state, predict_next
from stairs.models.bert import UniLM
from stairs.models.settings import UniLMConfig
from stairs.randomness import numpy_generator
from stairs.tasks import TASKS
from stairs.tasks.parts.generative import Generative
from stairs.tasks.parts.sentence_pairs import SentencePairs
from stairs.tasks.parts.source_target_rows import SourceTargetRows
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.tiny import noiseless

SETTINGS = noiseless("unilm", vocab_size=30, context=24)
SENTENCES = ["the cat sat on the mat .", "a dog ran to the cat .", "the bird sang .", "it was a big day for the dog ."]


def model_of(**settings):
    torch.manual_seed(0)
    model = UniLM(UniLMConfig(**{**SETTINGS, **settings}))
    for weight in model.parameters():
        torch.nn.init.normal_(weight, 0.0, 0.3)
    return model.eval()


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES * 5])


@pytest.fixture(scope="module")
def rows(tokenizer):
    ids = []
    for number in range(240):
        document = SENTENCES[number % 4 :] + SENTENCES[: number % 4]
        for sentence in document:
            ids += [*tokenizer.encode(sentence), tokenizer.end]
        ids[-1] = tokenizer.begin  # a document ends
    config = UniLMConfig(tokenizer.vocab_size, context=32, width=16, heads=2, layers=1)
    return SentencePairs(np.array(ids, np.uint16), config, tokenizer)


def test_every_row_has_the_mask_and_the_segments_of_its_reading(rows, tokenizer):
    readings = Counter()
    for number in range(len(rows.lengths)):
        row = rows.example(number, numpy_generator(0, "pairs", 0, number))
        length, reading = len(row.ids), int(row.segments[0])
        readings[reading] += 1
        second = int((row.segments == reading).sum())  # where the second part begins
        assert row.segments.tolist() == [reading] * second + [reading + 1] * (length - second)
        for i in range(length):
            expected = {
                0: set(range(length)),
                2: set(range(i + 1)),
                3: set(range(i, length)),
                4: set(range(max(second, i + 1))),
            }[reading]
            assert set(np.flatnonzero(row.attention_mask[i]).tolist()) == expected
        ends = np.flatnonzero(np.where(row.targets == IGNORE_INDEX, row.ids, row.targets) == tokenizer.end).tolist()
        assert len(ends) == (2 if reading in (0, 4) else 1) and ends[-1] == length - 1
        if row.targets[-1] != IGNORE_INDEX:
            assert reading in (2, 4)  # those that are used to generate
    total = sum(readings.values())
    assert total > 200
    for reading, share in ((0, 1 / 3), (2, 1 / 6), (3, 1 / 6), (4, 1 / 3)):
        assert readings[reading] / total == pytest.approx(share, abs=0.1)


def test_the_reading_follows_from_seed_epoch_and_example(rows):
    numbers = np.arange(12)
    first, again, other = rows.batch(numbers, 1, 0), rows.batch(numbers, 1, 0), rows.batch(numbers, 2, 0)
    assert torch.equal(first.segments, again.segments) and torch.equal(first.attention_mask, again.attention_mask)
    assert first.segments[:, 0].tolist() != other.segments[:, 0].tolist()
    alone = rows.batch(numbers[5:6], 1, 0)
    assert torch.equal(alone.ids[0], first.ids[5, : alone.ids.shape[1]])


@pytest.mark.parametrize("positions", ["learned", "rotary", "relative"])
@pytest.mark.parametrize("has_source", [False, True])
def test_decoding_with_a_cache_equals_reading_the_whole_row(positions, has_source):
    model = model_of(positions=positions)
    ids = torch.randint(5, 30, (3, 12))
    logits, state = model.prefill(ids[:, :5], empty_state(model, 3, expects_source=has_source))
    assert torch.allclose(logits, predict_next(model, state), atol=1e-4)
    for column in ids[:, 5:].unbind(1):
        logits, state = model.decode_step(column, state)
        assert torch.allclose(logits, predict_next(model, state), atol=1e-4)
    state = state.reorder(torch.tensor([2, 0]))
    logits, state = model.decode_step(ids[:2, 0], state)
    assert torch.equal(state.ids, torch.cat([ids[[2, 0]], ids[:2, :1]], 1)) and torch.allclose(logits, predict_next(model, state), atol=1e-4)


def test_the_next_token_depends_on_what_it_may_see():
    """A source is read in both directions; a text only from the left, so its first vectors do not depend on what follows."""
    model = model_of()
    ids = torch.tensor([[2, 7, 8, 9, 3]])
    for known in (0, 5):
        state = MaskedState(ids, [], known)
        row = torch.cat([ids, torch.tensor([[4]])], 1)
        mask = torch.tensor([[j <= i or j < known for j in range(6)] for i in range(6)])[None]
        segments = torch.tensor([[4] * 5 + [5]]) if known else torch.full((1, 6), 2)
        assert torch.allclose(model.predict(Batch(row, row > 0, segments=segments, attention_mask=mask))[:, -1], predict_next(model, state))
    assert not torch.allclose(predict_next(model, MaskedState(ids, [], 0)), predict_next(model, MaskedState(ids, [], 5)), atol=1e-2)


def test_a_text_beyond_the_context_forgets_its_older_half_and_a_source_is_refused():
    model = model_of()
    ids = torch.randint(5, 30, (1, 24))
    logits, state = model.prefill(ids[:, :23])
    logits, state = model.decode_step(ids[:, 23], state)
    expected, _ = model.prefill(ids[:, 12:])
    assert state.ids.shape[1] == 12 and torch.allclose(logits, expected, atol=1e-5)
    with pytest.raises(BadInput, match="more than the 24 tokens that fit"):
        model.prefill(ids, empty_state(model, 1, expects_source=True))


@pytest.fixture
def task(tokenizer):
    return TASKS["unified-lm"](model_of(vocab_size=tokenizer.vocab_size), tokenizer)


def test_the_probability_of_a_text_is_the_product_of_its_next_tokens(task, tokenizer):
    text = "the cat sat ."
    ids, state, expected = tokenizer.encode(text), None, []
    for last, following in zip([tokenizer.begin, *ids], [*ids, tokenizer.end], strict=True):
        logits, state = task.model.decode_step(torch.tensor([last]), state)
        expected.append(float(logits.log_softmax(-1)[0, following]))
    assert task.log_probability(text) == pytest.approx(sum(expected), abs=1e-4)
    assert [token["bits"] * -np.log(2) for token in task.token_bits(text)] == pytest.approx(expected, abs=1e-4)
    together = task.model.log_likelihood(task.batch([ids, ids[:2]])).sum(1)
    assert together[1] == pytest.approx(task.log_probability("the cat"), abs=1e-4)


def test_it_fills_and_continues(task, tokenizer):
    assert len(task.fill("the ___ sat .", top=3)["blanks"][0]["words"]) == 3
    answer = task.answer("the cat", length=4, top=2)
    assert task.generate("the cat", length=4) == answer["continuation"] == task.summary(answer) and len(answer["next"]) == 2
    assert answer["continuation"].startswith("the cat") and answer["new"]
    after = task.answer("the cat sat .", length=4, source=True)
    assert after["continuation"] == after["new"] and after["next"] != task.answer("the cat sat .", length=4)["next"]
    assert {"fill", "generate", "log_probability", "embed", "tune"} <= set(dir(task)) and not isinstance(task, Generative)
    with pytest.raises(BadInput, match="give a shorter text"):
        task.answer("the cat " * 20, source=True)


def test_pairs_are_masked_in_the_target_only_which_reads_the_source_and_what_comes_before(tokenizer):
    config = UniLMConfig(tokenizer.vocab_size, context=24, width=16, heads=2, layers=1)
    texts = [("the cat sat on the mat .", "a cat"), ("the " * 30, "too long"), ("a dog ran .", "a dog .")]
    pairs = [TranslationPair(*pair) for pair in texts]
    rows = SourceTargetRows(pairs, config, tokenizer)
    assert rows.lengths.tolist() == [12, 10]
    ends = 0
    for epoch in range(20):
        row = rows.example(0, numpy_generator(0, "pairs", epoch, 0), evaluating=True)
        assert row.segments.tolist() == [4] * 9 + [5] * 3 and (row.targets[:9] == IGNORE_INDEX).all()
        assert row.attention_mask.tolist() == [[j <= i or j < 9 for j in range(12)] for i in range(12)]
        assert (row.targets != IGNORE_INDEX).sum() == 2 and (row.ids[row.targets != IGNORE_INDEX] == tokenizer.mask).all()
        ends += row.targets[-1] == tokenizer.end
    assert 0 < ends < 20
    with pytest.raises(BadInput, match="all 1 pairs are empty or longer than 24 tokens together"):
        SourceTargetRows(pairs[1:2], config, tokenizer)


def test_a_run_that_was_trained_on_pairs_answers_with_the_second(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("red", "blue", "green", "big", "small", "old", "new", "good")
    lines = [f"the {a} and {b} one\t{b} {a}" for a in words for b in words if a != b]
    (tmp_path / "pairs.tsv").write_text("\n".join(["source\ttarget", *lines]) + "\n")
    settings = {"tokenizer": "words", "threads": 1, "batch_tokens": 512, "precision": "fp32", "dropout": 0.0}
    task = stairs.train("unilm", pairs="pairs.tsv", out="run", steps=150, learning_rate=0.005, **{**settings, "width": 32, "heads": 2, "layers": 2})
    again = stairs.load("run")
    assert again.answers_sources and again.generate("the red and blue one") == task.generate("the red and blue one")
    right = [again.generate(source) == target for source, target in (line.split("\t") for line in lines)]
    assert sum(right) > len(lines) / 2
    with pytest.raises(BadInput, match="and both were given"):
        stairs.train("unilm", ["a text"], pairs="pairs.tsv", out="other")


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(BadInput, match="cannot have the attention pattern window"):
        UniLMConfig(30, attention_pattern="window")
    with pytest.raises(BadInput, match="segments 2"):
        UniLMConfig(30, segments=2)
