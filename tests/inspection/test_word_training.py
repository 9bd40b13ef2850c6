"""Windows are those of the training, and the numbers of an update are what the compiled loop does to the vectors."""

import json

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.fast.corpus_slice import CorpusSlice
from stairs.inspection.word_training import negative_sampling_step
from stairs.kernels.sampling import stream
from stairs.models.settings import Word2VecConfig
from stairs.models.word2vec import CBOW, SkipGram
from stairs.pictures.catalogue import picture_data, suitable_pictures
from stairs.tasks import NextToken, WordVectors
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.models.test_word2vec import WORDS, drawn_by_the_kernel, small
from tests.support.small_world import encoder

MACHINE = "thou shalt not make a machine in the likeness of a human mind"
IDS = np.array([7, 9, 3], np.uint16)  # two words and the end of their sentence
RATE = 0.25  # large, so that a second step starts from vectors that the first has changed


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [[MACHINE, "aaron ate a taco"]])


def vectors(tokenizer, kind=SkipGram, **settings):
    """Word vectors with numbers that are not near 0."""
    model = kind(Word2VecConfig(tokenizer.vocab_size, **{"width": 12, "window": 2, "negatives": 3, **settings}))
    random = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5, generator=random)
    return WordVectors(model, tokenizer)


def neighbours(data, word):
    window = data["windows"][data["tokens"].index(word)]
    return {data["tokens"][near["position"]]: near["weight"] for near in window["context"]}


def test_a_window_holds_the_words_around_its_centre_the_nearer_the_more_often(tokenizer):
    data = picture_data(vectors(tokenizer), "windows", MACHINE)
    assert data["kind"] == "pairs" and data["tokens"] == MACHINE.split() and len(data["windows"]) == 13
    assert neighbours(data, "not") == {"thou": 0.5, "shalt": 1.0, "make": 1.0, "a": 0.5}
    assert neighbours(data, "mind") == {"a": 0.5, "human": 1.0}
    assert picture_data(vectors(tokenizer, CBOW), "windows", MACHINE)["kind"] == "mean"


def test_unknown_words_are_dropped_before_windows_are_made(tokenizer):
    data = picture_data(vectors(tokenizer), "windows", "thou zorblax not make")
    assert neighbours(data, "thou") == {"not": 1.0, "make": 0.5} and "left out" in data["truncation"]
    with pytest.raises(BadInput, match="knows no word"):
        picture_data(vectors(tokenizer), "windows", "zorblax")
    assert "20 of 26 windows" in picture_data(vectors(tokenizer), "windows", f"{MACHINE} {MACHINE}")["truncation"]


def test_windows_that_look_back_are_the_contexts_that_nnlm_reads(tokenizer):
    task = NextToken(encoder("nnlm", tokenizer), tokenizer)
    data = picture_data(task, "windows", "thou shalt not make")
    assert data["kind"] == "before" and data["tokens"] == ["[CLS]", "thou", "shalt", "not", "make", "[SEP]"]
    contexts = task.model.contexts(task.batch([tokenizer.encode("thou shalt not make")]))[0].tolist()
    for window, read in zip(data["windows"], contexts, strict=True):
        shown = [tokenizer.id(data["tokens"][near["position"]]) for near in window["context"]]
        assert shown == read[-len(shown) :] and set(read[: -len(shown)]) <= {tokenizer.begin}


def test_glove_counts_a_neighbour_by_its_distance_and_unknown_words_keep_their_place(tokenizer):
    data = picture_data(WordVectors(encoder("glove", tokenizer), tokenizer), "windows", "thou zorblax not make")
    assert data["kind"] == "counts" and neighbours(data, "not") == {"make": 1.0, "thou": 0.5}


def test_the_numbers_of_an_update_follow_from_one_another(tokenizer):
    task = vectors(tokenizer)
    data = picture_data(task, "update", "not thou aaron taco")
    assert [output["word"] for output in data["outputs"]] == ["thou", "aaron", "taco"]
    assert [output["target"] for output in data["outputs"]] == [1, 0, 0] and data["learning_rate"] == 0.05
    x = task.model.vectors[tokenizer.id("not")].detach()
    for output in data["outputs"]:
        c = task.model.contexts[tokenizer.id(output["word"])].detach()
        assert output["dot"] == pytest.approx(float(x @ c), abs=1e-5)
        assert output["sigmoid"] == pytest.approx(1 / (1 + np.exp(-output["dot"])), abs=1e-5)
        assert output["error"] == pytest.approx(output["target"] - output["sigmoid"], abs=1e-6)
        assert output["step"] == pytest.approx(0.05 * output["error"] * float(x.norm()), abs=1e-6)
        assert (output["sigmoid_after"] - output["sigmoid"]) * output["error"] > 0
    assert 0 < data["loss_after"] < data["loss"]


def test_what_is_not_given_the_run_chooses(tokenizer, tmp_path):
    task = vectors(tokenizer)
    data = picture_data(task, "update", "not")
    scores = (task.model.contexts @ task.model.vectors[tokenizer.id("not")]).detach().tolist()
    others = [i for i in range(5, tokenizer.vocab_size) if i != tokenizer.id("not")]
    assert data["outputs"][0]["word"] == tokenizer.token(max(others, key=scores.__getitem__)) and data["outputs"][0]["target"] == 1
    assert 1 <= sum(output["target"] == 0 for output in data["outputs"]) <= 3
    drawn = {tuple(output["word"] for output in picture_data(task, "update", "not thou", seed=seed)["outputs"]) for seed in range(4)}
    assert len(drawn) > 1
    (tmp_path / "run.json").write_text(json.dumps({"seed": 1, "training": {"learning_rate": 0.5}}))
    assert picture_data(task, "update", "not thou", run=str(tmp_path))["learning_rate"] == 0.5
    with pytest.raises(BadInput, match="'zorblax' is not in the vocabulary"):
        picture_data(task, "update", "not zorblax")


def test_only_skip_gram_with_negative_samples_has_such_an_update(tokenizer):
    assert "update" in suitable_pictures(vectors(tokenizer)) and "update" not in suitable_pictures(vectors(tokenizer, CBOW))
    assert "update" not in suitable_pictures(vectors(tokenizer, softmax="hierarchical"))


def two_words(subwords):
    """A model that has read two words, knows of others to draw, and a seed with which the negatives of both words are different ones."""
    model = small(SkipGram, window=1, negatives=3, subwords=subwords)
    model.prepare(IDS, WORDS, 0)
    model.counts[5:] = 1
    model.tables = model.new_tables()
    for seed in range(100):
        _, drawn = drawn_by_the_kernel(model, IDS, int(stream(seed, 0)))
        negatives = [drawn[0, centre, 1 - centre if subwords else 0] for centre in (0, 1)]
        if all(len({*one.tolist(), *IDS.tolist()}) == 6 for one in negatives):
            return model, seed, negatives
    raise AssertionError("no seed draws different words")


@pytest.mark.parametrize("subwords", ["", "2-3"])
def test_a_real_update_changes_the_vectors_exactly_so(subwords):
    """The compiled loop over a text of two words makes two updates, one after the other; the same two are added by hand."""
    model, seed, negatives = two_words(subwords)
    plain, before = two_words(subwords)[0], {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for centre in (0, 1):
        source, target = (centre, 1 - centre) if subwords else (1 - centre, centre)  # with subwords x is the centre
        step = negative_sampling_step(plain, int(IDS[source]), int(IDS[target]), negatives[centre], RATE)
        with torch.no_grad():
            plain.contexts.index_add_(0, step.rows, step.output_changes)
            start, stop = plain.subword_starts[IDS[source]], plain.subword_starts[IDS[source] + 1]
            for part in plain.subword_ids[start:stop].tolist():  # each takes the whole change
                (plain.vectors[part] if part < len(plain.vectors) else plain.ngrams[part - len(plain.vectors)]).add_(step.input_change)
    model.sweep(CorpusSlice(index=0, slices=1, epoch=0, rate_from=RATE, rate_to=RATE, seed=seed, threads=1, deterministic=True))
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter, plain.get_parameter(name), atol=1e-6), name
        assert (parameter - before[name]).abs().max() > 0.01
