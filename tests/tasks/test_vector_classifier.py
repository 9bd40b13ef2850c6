"""Labels from word vectors: words the labels never showed are understood by those they are like."""

import pickle

import numpy as np
import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.formats.python_file.writer import writable_classifier
from stairs.models import MODELS
from stairs.models.settings import make_config
from stairs.tasks import TASKS, BidirectionalLM, Encode
from stairs.tasks.linear_mixture import Mixture
from stairs.tasks.vector_choice import VectorChoice
from stairs.tasks.vector_classifier import VectorClassifier
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.tiny import tiny

GOOD, BAD = ["lovely", "great", "fine", "好看"], ["dull", "poor", "weak", "难看"]


def vectors(step="glove"):
    """Good words point one way and bad words the other, the rest nowhere in particular."""
    words = " ".join([*GOOD, *BAD, "a", "film", "story"])
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [[words]])
    model = MODELS[step](make_config(step, tokenizer.vocabulary_settings, width=6))
    torch.manual_seed(0)
    with torch.no_grad():
        model.vectors.normal_(0, 0.1)
        for word in (*GOOD, *BAD):
            model.vectors[tokenizer.id(word), 0] += 1 if word in GOOD else -1
        model.counts.fill_(1)
    return WordVectors(model.eval(), tokenizer)


def examples():
    shown = [(f"a {word} {thing}", label) for words, label in ((GOOD[:2], "good"), (BAD[:2], "bad")) for word in words for thing in ("film", "story")]
    return [LabelledText(text, label, f"films.csv:{i}") for i, (text, label) in enumerate(shown, 2)]


def learned(step="glove"):
    return VectorClassifier.train(examples(), vectors(step))


@pytest.mark.parametrize("step", ["cbow", "glove"])
def test_words_that_no_label_showed_are_understood(step):
    task = learned(step)
    assert [task.answer(f"a {word} film")["label"] for word in (*GOOD, *BAD)] == ["good"] * 4 + ["bad"] * 4
    answer = task.answer("fine")
    assert sum(answer["probabilities"].values()) == pytest.approx(1) and list(answer["probabilities"]) == ["good", "bad"]


def test_scaled_features_and_scaled_weights_say_the_same():
    """The scaling that learning used is in the weights: doubling all vectors and learning again changes no answer."""
    task, texts = learned(), [f"a {word} story" for word in (*GOOD, *BAD)]
    twice = vectors()
    with torch.no_grad():
        twice.model.vectors *= 2
        twice.model.contexts *= 2
    assert np.allclose(task.probabilities(texts), VectorClassifier.train(examples(), twice).probabilities(texts), atol=1e-4)


@pytest.mark.parametrize("more", [[], [LabelledText("a story", "neither", "films.csv:10")]], ids=["two labels", "three labels"])
def test_saved_and_opened_it_answers_the_same(tmp_path, more):
    task = VectorClassifier.train([*examples(), *more], vectors())
    task.save(tmp_path)
    again = TASKS["classify-vectors"].open(tmp_path, task.describe())
    assert again.model_name == "glove"
    for text in ("a lovely film", "难看", "nothing known", ""):
        assert again.answer(text) == task.answer(text)


def test_one_label_is_refused_with_its_place():
    with pytest.raises(BadInput, match=r"films\.csv:2.*'good'"):
        VectorClassifier.train([LabelledText("a", "good", "films.csv:2"), LabelledText("film", "good", "films.csv:3")], vectors())


def mixed_examples(count, seed):
    """Words of the vectors tell the label of half of the texts, and words without a vector that of the others."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(count):
        label = str(rng.choice(["good", "bad"]))
        word = rng.choice(GOOD[:2] if label == "good" else BAD[:2]) if rng.random() < 0.5 else {"good": "zesty", "bad": "murky"}[label]
        made.append(LabelledText(f"a {word} {rng.choice(['film', 'story'])}", label))
    return made


def test_words_without_a_vector_count_where_held_out_examples_say_so(tmp_path):
    task = VectorClassifier.train(mixed_examples(120, 0), vectors(), mixed_examples(60, 1))
    assert task.tfidf is not None and task.choice["held_out"] == 60 and task.choice["accuracy"] == 1.0
    texts = ["a zesty film", "a murky story", "a fine film", "难看", ""] * 5  # many are looked up at once
    assert task.predict_labels(texts)[:4] == ["good", "bad", "good", "bad"], "a word that no label showed keeps what its vector says"
    task.save(tmp_path)
    again = TASKS["classify-vectors"].open(tmp_path, task.describe())
    assert (again.probabilities(texts) == task.probabilities(texts)).all() and again.choice == task.choice
    np.testing.assert_allclose(np.concatenate([task.probabilities([text]) for text in texts]), task.probabilities(texts), rtol=1e-5)


def test_the_mean_alone_is_read_where_no_word_needs_more():
    given = VectorChoice(c=2.0)
    task = VectorClassifier.train(mixed_examples(120, 0), vectors(), mixture=Mixture((given,)))
    assert task.tfidf is None and Mixture.from_settings(task.choice, VectorChoice) == Mixture((given,))
    assert VectorClassifier.train(examples(), vectors()).choice == Mixture((VectorChoice(),)).settings, "too few choose nothing"


def test_a_mixture_is_the_sum_of_its_fits():
    fits, data = (VectorChoice(c=2.0), VectorChoice(words=2, characters=True, c=4.0, mean_length=0.5)), mixed_examples(120, 0)
    texts = ["a zesty film", "a fine story", ""]
    both, *parts = (VectorClassifier.train(data, vectors(), mixture=own) for own in (Mixture(fits, (0.25, 2.0)), *(Mixture((fit,)) for fit in fits)))
    np.testing.assert_allclose(both.scores(texts), 0.25 * parts[0].scores(texts) + 2.0 * parts[1].scores(texts), atol=1e-5)


def small_encoder(kind="bert"):
    """A BERT, or an ELMo that reads words, with new weights."""
    texts = [example.text for example in mixed_examples(40, 2)]
    tokenizer = Tokenizer.train(TokenizerSpec("words" if kind == "elmo" else "byte-bpe", vocab_size=None if kind == "elmo" else 300), lambda: [texts])
    model = MODELS[kind](make_config(kind, tokenizer.vocabulary_settings, **tiny(kind)))
    model.initialize(0)
    return Encode(model.eval(), tokenizer) if kind == "bert" else BidirectionalLM(model.eval(), tokenizer)


@pytest.mark.parametrize("kind", ["bert", "elmo"])
def test_an_encoder_stands_beside_the_words(tmp_path, kind):
    encoder = small_encoder(kind)
    task = VectorClassifier.train(mixed_examples(120, 0), vectors(), mixed_examples(60, 1), encoder=encoder)
    texts = ["a zesty film", "a fine story", "难看", ""]
    means = task.text_features(texts)
    assert means.shape == (4, task.weight.shape[1]) and not means[3].any()  # a text without a token
    np.testing.assert_allclose(means[:2, 6:], encoder.vectors(texts[:2]), atol=1e-6)
    assert (task.text_features([""]) == 0).all() and task.model_name == kind
    task.save(tmp_path)
    again = TASKS["classify-vectors"].open(tmp_path, task.describe())
    assert again.model_name == kind and (again.probabilities(texts) == task.probabilities(texts)).all()
    assert (pickle.loads(pickle.dumps(task)).probabilities(texts) == task.probabilities(texts)).all()
    with pytest.raises(Unsupported, match=f"reads {kind} beside its word vectors"):
        writable_classifier(task)


def test_what_the_encoder_alone_knows_is_learnt():
    """Of texts whose words have no vectors, and whose terms no label showed, the encoder's vector tells the label."""
    class Oracle(Encode):
        def vectors(self, texts, encode=None):
            return np.array([[len(text) % 2, 1.0] for text in texts], np.float32)

    def made(count, seed):
        rng = np.random.default_rng(seed)
        texts = ["".join(rng.choice(list("bcdfg"), rng.integers(4, 12))) for _ in range(count)]
        return [LabelledText(text, "odd" if len(text) % 2 else "even") for text in texts]

    small = small_encoder()
    train, dev, test = made(200, 0), made(80, 1), made(80, 2)
    beside = VectorClassifier.train(train, vectors(), dev, encoder=Oracle(small.model, small.tokenizer))
    alone = VectorClassifier.train(train, vectors(), dev)
    right = [np.mean([a == b.label for a, b in zip(task.predict_examples(test), test, strict=True)]) for task in (beside, alone)]
    assert right[0] > 0.95 and right[1] < 0.8
