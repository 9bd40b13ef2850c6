"""word2vec: the kernel makes the step that the readable form's gradient asks for, and learns what stands near what."""

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.fast.corpus_slice import CorpusSlice
from stairs.kernels.sampling import STEP, below, draw, scramble, stream
from stairs.kernels.word2vec import ANOTHER, BORDER, centres_with_neighbours, interleave_halves, neighbours
from stairs.models.settings import Word2VecConfig
from stairs.models.word2vec import CBOW, SkipGram
from stairs.text.batch import Batch

VOCABULARY = 40
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{i}" * (1 + i % 3) for i in range(30)), *"中国人民银行"[:5]]
RATE = 1e-4
TEXT = np.array([7, 9, 12, 39, 3, 20, 21, 7, 2, 11, 3, 38, 9, 2], np.uint16)


def small(kind, **settings):
    model = kind(Word2VecConfig(VOCABULARY, **{"width": 20, "window": 2, "subsample": 0.0, "buckets": 50, **settings}))
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3, generator=random)
    return model


def corpus_slice(rate=0.0, **changed):
    defaults = {"index": 0, "slices": 1, "epoch": 0, "rate_from": rate, "rate_to": rate, "seed": 3, "threads": 1, "deterministic": True}
    return CorpusSlice(**{**defaults, **changed})


def drawn_by_the_kernel(model, ids, seed):
    """The reach of each centre's window and the negatives, from the same streams."""
    seed = np.uint64(seed) ^ ANOTHER
    length, k = len(ids), model.config.negatives
    table = model.tables[1].table
    reach = torch.ones(1, length, dtype=torch.long)
    shared, own = torch.full((1, length, 1, k), 5), torch.full((1, length, length, k), 5)
    words = np.where(ids >= 5, ids.astype(np.int32), BORDER)
    for i in range(length):
        bits = np.uint64(stream(seed, i))
        reach[0, i] = 1 + below(bits, model.config.window)
        shared[0, i, 0] = negatives(table, bits, k)
        others = [j for j in range(*neighbours(words, i, int(reach[0, i]))) if j != i]
        for pair in range(0, len(others), 2):
            bits = np.uint64(scramble(bits))
            own[0, i, others[pair : pair + 2]] = negatives(table, bits, k)
    if model.name == "cbow":  # two centres share the negatives of the first
        centres = interleave_halves(centres_with_neighbours(words))
        for one, other in zip(centres[::2], centres[1::2], strict=False):
            shared[0, other] = shared[0, one]
    return reach, own if model.config.subwords and model.name == "skipgram" else shared


def negatives(table, bits, k):
    with np.errstate(over="ignore"):
        return torch.tensor([draw(table, np.uint64(scramble(bits + np.uint64(n) * STEP))) for n in range(1, k + 1)])


@pytest.mark.parametrize("subwords", ["", "2-3"])
@pytest.mark.parametrize("softmax", ["negative", "nce", "hierarchical"])
@pytest.mark.parametrize("count", [5, 8])
@pytest.mark.parametrize("kind", [CBOW, SkipGram])
def test_the_kernel_makes_the_step_that_the_gradient_asks_for(kind, count, softmax, subwords):
    model = small(kind, softmax=softmax, subwords=subwords, negatives=count)
    ids = TEXT
    model.prepare(ids, WORDS, 0)
    batch = Batch(torch.from_numpy(ids.astype(np.int64))[None], torch.ones(1, len(ids), dtype=torch.bool))
    reach, others = drawn_by_the_kernel(model, ids, int(stream(3, 0)))
    loss = model.loss(batch, others if kind is SkipGram else others[:, :, 0], reach)
    loss.backward()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    nats, pairs, read = model.sweep(corpus_slice(RATE))
    assert pairs > 0 and read == (ids >= 5).sum()
    assert nats / pairs == pytest.approx(float(loss.detach()), rel=1e-3)
    for name, parameter in model.named_parameters():
        step = (parameter.detach() - before[name]) / RATE
        assert torch.allclose(step, -parameter.grad * pairs, rtol=0.02, atol=0.01), name
        assert step.abs().max() > 0.05


def text_of_two_topics(length=60_000, seed=0):
    """Sentences are about words 5-14 or about words 15-24, and all of them contain word 30."""
    random = np.random.default_rng(seed)
    ids = random.integers(5, 15, (length // 8, 8)) + 10 * random.integers(0, 2, (length // 8, 1))
    ids[:, 3], ids[:, -1] = 30, 3
    ids[::50, -1] = 2
    return ids.ravel().astype(np.uint16)


def trained(kind, epochs=2, threads=1, deterministic=True, rate=0.05, **settings):
    model = kind(Word2VecConfig(VOCABULARY, **{"width": 24, "buckets": 200, **settings}))
    ids = text_of_two_topics()
    model.prepare(ids, WORDS, 0)
    for epoch in range(epochs):
        for index in range(3):
            model.sweep(corpus_slice(rate, index=index, slices=3, epoch=epoch, threads=threads, deterministic=deterministic))
    return model


LEARNING = [{}, {"softmax": "nce"}, {"softmax": "hierarchical"}, {"subwords": "3-6"}, {"softmax": "hierarchical", "subwords": "2-4"}]


@pytest.mark.parametrize("settings", LEARNING)
@pytest.mark.parametrize("kind", [CBOW, SkipGram])
def test_words_of_one_topic_become_alike(kind, settings):
    model = trained(kind, **settings)
    vectors = model.all_vectors()
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    cosines = vectors @ vectors.T
    first, second = slice(5, 15), slice(15, 25)
    assert min(cosines[first, first].min(), cosines[second, second].min()) > cosines[first, second].max() + 0.3
    nats, pairs = model.held_out_loss(text_of_two_topics(8000, seed=1), 0)
    fresh = kind(model.config)
    fresh.counts.copy_(model.counts)
    fresh.set_vocabulary(WORDS)
    before, _ = fresh.held_out_loss(text_of_two_topics(8000, seed=1), 0)
    assert len(nats) == len(pairs) == 100 and nats.sum() < 0.9 * before.sum()


@pytest.mark.parametrize("power", [0.75, 1.0])
def test_noise_contrastive_estimation_learns_probabilities_that_add_up_to_1(power):
    """Of the words around a word; negative sampling's scores do not."""
    totals = {}
    for softmax in ("negative", "nce"):
        model = trained(SkipGram, epochs=6, softmax=softmax, power=power, negatives=10)
        counts = model.counts.double()
        counts[:5] = 0
        scores = (model.vectors[5:25] @ model.contexts.T).detach().double()
        totals[softmax] = ((counts / counts.sum()) * scores.exp()).sum(1)
    assert abs(float(totals["nce"].mean()) - 1) < 0.2 and (totals["negative"] - 1).abs().min() > 0.5, totals


@pytest.mark.parametrize("kind", [CBOW, SkipGram])
@pytest.mark.parametrize("subwords", ["", "3-6"])
def test_deterministic_gives_the_same_bits_with_any_number_of_threads(kind, subwords):
    one, other = (trained(kind, threads=threads, subwords=subwords) for threads in (1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("kind", [CBOW, SkipGram])
def test_two_threads_learn_as_well_as_one(kind):
    held_out = text_of_two_topics(8000, seed=1)
    one, two = (trained(kind, threads=threads, deterministic=False).held_out_loss(held_out, 0)[0].sum() for threads in (1, 2))
    assert two == pytest.approx(one, rel=0.03)


def test_slices_join_without_a_seam():
    whole, parts = (SkipGram(Word2VecConfig(VOCABULARY, width=16, subsample=0.05)) for _ in range(2))
    ids = text_of_two_topics(20_000)
    for model in (whole, parts):
        model.prepare(ids, WORDS, 0)
    found = [whole.sweep(corpus_slice())]
    found += [tuple(map(sum, zip(*(parts.sweep(corpus_slice(index=index, slices=4)) for index in range(4)), strict=True)))]
    assert found[0][2] == found[1][2] == (ids >= 5).sum()
    assert found[0][:2] == pytest.approx(found[1][:2], rel=0.01)  # windows are drawn anew where a chunk begins
    shares = [parts.sweep(corpus_slice(rank=rank, world_size=2)) for rank in range(2)]
    assert sum(words for _, _, words in shares) == found[0][2] and all(words > 5000 for _, _, words in shares)


@pytest.mark.parametrize("kind", [CBOW, SkipGram])
def test_evaluation_changes_nothing_and_repeats_itself(kind):
    model = trained(kind, epochs=1)
    before = {name: tensor.clone() for name, tensor in model.tensors().items()}
    nats, pairs = model.held_out_loss(text_of_two_topics(4000, seed=2), 0)
    again, _ = model.held_out_loss(text_of_two_topics(4000, seed=2), 0)
    assert np.array_equal(nats, again) and pairs.sum() > 0
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.tensors().items())
    loaded = kind(model.config)
    loaded.restore(before)
    assert np.array_equal(loaded.held_out_loss(text_of_two_topics(4000, seed=2), 0)[0], nats)


def test_no_pair_no_loss():
    model = small(SkipGram)
    model.prepare(np.array([7, 3, 1, 2], np.uint16), WORDS, 0)
    assert model.sweep(corpus_slice(0.1)) == (0.0, 0, 2)
    nats, pairs = model.held_out_loss(np.zeros(0, np.uint16), 0)
    assert nats.sum() == pairs.sum() == 0


def test_an_unseen_word_is_made_of_its_characters():
    model = trained(SkipGram, subwords="3-6", buckets=5000)
    likes = model.all_vectors()

    def leaning(word):
        """How much nearer it is to the first topic than to the second."""
        cosines = likes @ model.oov_vector(word) / np.maximum(np.linalg.norm(likes, axis=1), 1e-9)
        return cosines[5:15].mean() - cosines[15:25].mean()

    assert leaning("word7wo") > leaning("word17wo") + 0.1
    assert trained(SkipGram, epochs=1).oov_vector("word3") is None


def test_the_vector_of_a_word_with_characters_is_the_mean_of_its_parts():
    model = small(CBOW, subwords="3-4", buckets=1000)
    model.set_vocabulary(WORDS)
    grams = model.subword_ids[int(model.subword_starts[7]) + 1 : int(model.subword_starts[8])] - VOCABULARY
    expected = torch.cat([model.vectors[7][None], model.ngrams[grams.long()]]).mean(0)
    assert len(grams) > 3 and torch.allclose(model.compose(torch.tensor([[6, 7]]))[0, 1], expected, atol=1e-6)
    assert np.allclose(model.all_vectors()[7], expected.detach(), atol=1e-6)


def test_moving_on_after_the_weights_were_replaced():
    """A checkpoint is read into the tensors, or they become other ones: the kernel sees either."""
    model, other = trained(CBOW, epochs=1), trained(CBOW, epochs=2)
    model.restore(other.tensors())
    model.vectors.data = model.vectors.data.clone()
    model.sweep(corpus_slice(0.05, epoch=2))
    other.sweep(corpus_slice(0.05, epoch=2))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("given", ["6-3", "0-3", "three", "3-", "-3", "3-6-9", "3–6"])
def test_lengths_that_are_none(given):
    with pytest.raises(BadInput, match="not lengths of n-grams"):
        Word2VecConfig(VOCABULARY, subwords=given)


@pytest.mark.parametrize("wrong", [{"width": 0}, {"window": 0}, {"negatives": 0}, {"subsample": -1.0}, {"power": 11.0}, {"buckets": 0}])
def test_settings_out_of_range(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Word2VecConfig(VOCABULARY, **wrong)
