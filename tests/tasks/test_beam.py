"""Beam search: greedy when narrow, exhaustive when wide, the same together and alone."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.tasks.parts.beam import beam_search, check_beam_size
from stairs.tasks.parts.decoding import generate_batch
from stairs.text.batch import Batch, next_token_batch, pad_rows
from tests.support.tiny import tiny

BEGIN, STOP, SUPPRESSED = 2, 3, [0, 1, 2, 4]
SMALL = {
    **{name: tiny(name) for name in ("ngram", "nnlm", "gpt", "transformer")},
    "seq2seq": tiny("seq2seq", layers=2),
    "cove": tiny("cove", layers=1, cell="gru"),
}
SOURCES = [[2, 5, 6, 7, 3], [2, 9, 3], [2, 8, 8, 6, 5, 3]]


def model_of(name, vocabulary=12, sharp=6.0):
    model = MODELS[name](CONFIGS[name](vocab_size=vocabulary, **SMALL[name])).eval()
    if model.learns_by == "counting":
        random = np.random.default_rng(0)
        model.count(np.concatenate([np.append(random.integers(5, vocabulary, 6), STOP) for _ in range(50)]).astype(np.uint16))
    else:  # new weights make all tokens almost equally probable, and a search needs something to find
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.0 if weight.ndim == 1 else sharp if name in ("gpt", "nnlm") else 1.7)
    return model


def initial_state(model, rows, numbers=range(3)):
    """A state for each source, for those that have one."""
    if model.pretrains_with != "translate":
        return None
    with torch.no_grad():
        return model.initial_state(Batch(*pad_rows([SOURCES[n] for n in numbers], 0)), rows)


def search(model, rows=4, numbers=range(3), **options):
    options = {"length": 8, "stop": STOP, "suppressed_ids": SUPPRESSED, **options}
    numbers = list(numbers)
    return beam_search(model, initial_state(model, rows, numbers), torch.full((len(numbers),), BEGIN), beam_size=rows, **options)


@pytest.mark.parametrize("name", SMALL)
def test_a_beam_of_one_is_greedy(name):
    model = model_of(name)
    options = {"length": 8, "stop": STOP, "suppressed_ids": SUPPRESSED}
    greedy = generate_batch(model, [[BEGIN]] * len(SOURCES), initial_state=lambda rows: initial_state(model, 1, rows), **options)
    assert [one.hypotheses[0].ids for one in search(model, 1)] == greedy


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_wide_beam_is_exhaustive(name, penalty):
    model, length = model_of(name, vocabulary=8), 3
    allowed = [i for i in range(8) if i not in (*SUPPRESSED, STOP)]
    scores = {}
    for count in range(length + 1):
        for ids in itertools.product(allowed, repeat=count):
            scores[ids] = log_probability(model, 0, ids, is_finished=count < length) / min(count + 1, length) ** penalty
    best = sorted(scores, key=scores.__getitem__, reverse=True)
    hypotheses = search(model, 40, [0], length=length, length_penalty=penalty)[0].hypotheses
    assert [tuple(one.ids) for one in hypotheses[:10]] == best[:10]
    assert [one.score for one in hypotheses[:10]] == pytest.approx([scores[ids] for ids in best[:10]], abs=1e-4)


def log_probability(model, source, ids, is_finished):
    """Of a sentence and, if it is finished, of its end, among the ids that are not suppressed, by reading it anew for every id."""
    total = 0.0
    for position, token in enumerate([*ids, STOP] if is_finished else ids):
        prefix = torch.tensor([[BEGIN, *ids[:position]]])
        logits, _ = model.prefill(prefix, initial_state(model, 1, [source]))
        logits[:, SUPPRESSED] = -torch.inf
        total += float(logits[0].double().log_softmax(-1)[token])
    return total


@pytest.mark.parametrize("name", SMALL)
def test_the_decoder_state_changes_nothing_and_the_best_come_first(name):
    model = model_of(name)
    for number, result in enumerate(search(model)):
        scores = [hypothesis.score for hypothesis in result.hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(hypothesis.ids) for hypothesis in result.hypotheses}) == len(result.hypotheses)
        for hypothesis in result.hypotheses:
            ids, is_finished = hypothesis.ids, hypothesis.is_finished
            assert hypothesis.log_probability == pytest.approx(log_probability(model, number, ids, is_finished), abs=1e-3)
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / (len(ids) + is_finished))
            assert not set(ids) & {*SUPPRESSED, STOP}


@pytest.mark.parametrize("name", ["seq2seq", "transformer"])
def test_sources_whose_search_is_over_leave_and_the_others_stay_the_same(name):
    model = model_of(name).train()
    rows = [source[1:-1] for source in SOURCES]
    batch = replace(next_token_batch(rows, BEGIN, STOP, 0), source=Batch(*pad_rows(SOURCES, 0)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    for _ in range(30):  # to copy, so that long sources take longer
        optimizer.zero_grad()
        model.loss(batch).backward()
        optimizer.step()
    model.eval()
    options = {"length": 12, "tree": True}
    together, alone = search(model, **options), [search(model, numbers=[n], **options)[0] for n in range(len(SOURCES))]
    assert len({len(one.tree) for one in together}) > 1
    for one, other in zip(together, alone, strict=True):
        assert [own.ids for own in one.hypotheses] == [own.ids for own in other.hypotheses]
        assert [own.score for own in one.hypotheses] == pytest.approx([own.score for own in other.hypotheses], abs=1e-5)


def test_the_tree_shows_how_each_hypothesis_was_found():
    model = model_of("transformer")
    (one,) = search(model, numbers=[2], tree=True)
    beginnings, finished = {0: ()}, set()
    for nodes in one.tree:
        finished |= {beginnings[node["parent"]] for node in nodes if node["is_finished"]}
        beginnings = {node["rank"]: (*beginnings[node["parent"]], node["id"]) for node in nodes if node["rank"] is not None}
        values = [node["log_probability"] for node in nodes]
        assert values == sorted(values, reverse=True) and len(nodes) <= 8
    assert {tuple(hypothesis.ids) for hypothesis in one.hypotheses if hypothesis.is_finished} <= finished


@pytest.mark.parametrize(("beam_size", "n_best"), [(0, 1), (4, 5), (4, 0), (1001, 1)])
def test_an_impossible_beam_size_is_refused(beam_size, n_best):
    with pytest.raises(BadInput, match="beam"):
        check_beam_size(beam_size, n_best)
