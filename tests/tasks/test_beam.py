"""Beam search: greedy when narrow, exhaustive when wide, the same together and alone."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.tasks.parts.decoding import beam_search, check_beam_size, generate_batch
from stairs.text.batch import Batch, next_token_batch, pad_rows
from tests.support.tiny import tiny

BEGIN, STOP, FORBIDDEN = 2, 3, [0, 1, 2, 4]
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
    else:  # new weights make all words almost equally likely, and a search needs something to find
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.0 if weight.ndim == 1 else sharp if name in ("gpt", "nnlm") else 1.7)
    return model


def opened(model, rows, numbers=range(3)):
    """A state for each source, for those that have one."""
    if model.pretrains_with != "translate":
        return None
    with torch.no_grad():
        return model.initial_state(Batch(*pad_rows([SOURCES[n] for n in numbers], 0)), rows)


def search(model, rows=4, numbers=range(3), **options):
    options = {"length": 8, "stop": STOP, "forbidden": FORBIDDEN, **options}
    numbers = list(numbers)
    return beam_search(model, opened(model, rows, numbers), torch.full((len(numbers),), BEGIN), beam_size=rows, **options)


@pytest.mark.parametrize("name", SMALL)
def test_a_beam_of_one_is_greedy(name):
    model = model_of(name)
    options = {"length": 8, "stop": STOP, "forbidden": FORBIDDEN}
    greedy = generate_batch(model, [[BEGIN]] * len(SOURCES), initial_state=lambda rows: opened(model, 1, rows), **options)
    assert [one.hypotheses[0].ids for one in search(model, 1)] == greedy


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_wide_beam_is_exhaustive(name, penalty):
    model, length = model_of(name, vocabulary=8), 3
    words = [word for word in range(8) if word not in (*FORBIDDEN, STOP)]
    scores = {}
    for count in range(length + 1):
        for said in itertools.product(words, repeat=count):
            scores[said] = log_probability(model, 0, said, ended=count < length) / min(count + 1, length) ** penalty
    best = sorted(scores, key=scores.__getitem__, reverse=True)
    found = search(model, 40, [0], length=length, length_penalty=penalty)[0].hypotheses
    assert [tuple(one.ids) for one in found[:10]] == best[:10]
    assert [one.score for one in found[:10]] == pytest.approx([scores[said] for said in best[:10]], abs=1e-4)


def log_probability(model, source, said, ended):
    """Of a sentence and, if it has ended, of its end, among all that may be said, by reading it anew for every word."""
    total = 0.0
    for position, word in enumerate([*said, STOP] if ended else said):
        read = torch.tensor([[BEGIN, *said[:position]]])
        logits, _ = model.prefill(read, opened(model, 1, [source]))
        logits[:, FORBIDDEN] = -torch.inf
        total += float(logits[0].double().log_softmax(-1)[word])
    return total


@pytest.mark.parametrize("name", SMALL)
def test_what_is_kept_between_steps_changes_nothing_and_the_best_come_first(name):
    model = model_of(name)
    for number, one in enumerate(search(model)):
        assert [said.score for said in one.hypotheses] == sorted((said.score for said in one.hypotheses), reverse=True)
        assert len({tuple(said.ids) for said in one.hypotheses}) == len(one.hypotheses)
        for said in one.hypotheses:
            assert said.log_probability == pytest.approx(log_probability(model, number, said.ids, said.is_finished), abs=1e-3)
            assert said.score == pytest.approx(said.log_probability / (len(said.ids) + said.is_finished))
            assert not set(said.ids) & {*FORBIDDEN, STOP}


@pytest.mark.parametrize("name", ["seq2seq", "transformer"])
def test_sources_that_are_done_leave_and_the_others_do_not_notice(name):
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
    assert len({len(one.steps) for one in together}) > 1
    for one, other in zip(together, alone, strict=True):
        assert [said.ids for said in one.hypotheses] == [said.ids for said in other.hypotheses]
        assert [said.score for said in one.hypotheses] == pytest.approx([said.score for said in other.hypotheses], abs=1e-5)


def test_the_tree_tells_how_each_sentence_came_about():
    model = model_of("transformer")
    (one,) = search(model, numbers=[2], tree=True)
    said, found = {0: ()}, set()
    for step in one.steps:
        for node in step:
            if node["is_finished"]:
                found.add(said[node["parent"]])
        said = {node["rank"]: (*said[node["parent"]], node["id"]) for node in step if node["rank"] is not None}
        values = [node["log_probability"] for node in step]
        assert values == sorted(values, reverse=True) and len(step) <= 8
    assert {tuple(sentence.ids) for sentence in one.hypotheses if sentence.is_finished} <= found


@pytest.mark.parametrize(("beam", "top"), [(0, 1), (4, 5), (4, 0), (1001, 1)])
def test_a_beam_that_cannot_be_is_refused(beam, top):
    with pytest.raises(BadInput, match="beam"):
        check_beam_size(beam, top)
