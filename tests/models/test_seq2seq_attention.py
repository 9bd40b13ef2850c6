"""Seq2Seq with every attention option: the promises of tests/contract and tests/tasks/test_beam.py, and the formula of Bahdanau et al. 2015."""

import dataclasses

import numpy as np
import pytest
import torch

from stairs import machine
from stairs.cli import main
from stairs.errors import BadInput
from stairs.layers.recurrent import CELLS, STATE_TENSORS, unroll
from stairs.models.seq2seq import Seq2Seq
from stairs.models.settings import SIZES, Seq2SeqConfig
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.training.fit import fit
from stairs.training.run import load
from tests.contract import test_every_model as contract
from tests.support.tiny import TINY, noiseless, tiny
from tests.tasks import test_beam as beams
from tests.tasks import test_translate as translating
from tests.tasks.test_translate import tokenizer  # noqa: F401  a fixture

VARIANTS = {
    "before": tiny("seq2seq", attention_query="before"),
    "before, two layers of GRUs": tiny("seq2seq", attention_query="before", cell="gru", layers=2),
    "before, projected, narrow source": tiny("seq2seq", attention_query="before", cell="rnn", attention="projected", source_width=6, layers=2),
    "before, dot": tiny("seq2seq", attention_query="before", attention="dot"),
    "before, as in the paper": tiny("seq2seq", attention_query="before", cell="gru", hidden=12, source_width=24),
    "wide source": tiny("seq2seq", source_width=20, hidden=11),
    "narrow source, bilinear": tiny("seq2seq", source_width=6, attention="bilinear", layers=2),
    "wide source, scaled-bilinear": tiny("seq2seq", source_width=16, attention="scaled-bilinear"),
    "narrow source, scaled-projected": tiny("seq2seq", source_width=8, attention="scaled-projected"),
    "wide source, no attention": tiny("seq2seq", source_width=20, attention="none"),
}
PROMISES = [
    contract.test_those_that_translate_say_step_by_step_what_they_say_at_once,
    contract.test_padding_changes_nothing,
    contract.test_padding_changes_no_vector,
    contract.test_loss_is_the_mean_negative_log_likelihood_of_the_targets,
    contract.test_only_what_is_asked_is_scored,
    contract.test_saved_tensors_give_equal_outputs,
    contract.test_capture_changes_nothing_and_leaves_nothing,
    contract.test_first_predictions_are_nearly_the_unigram_distribution,
    contract.test_the_seed_decides_the_first_weights_and_training_lowers_the_loss,
]
BEAM_PROMISES = [beams.test_a_beam_of_one_is_greedy, beams.test_the_decoder_state_changes_nothing_and_the_best_come_first]


def name_of(promise):
    return promise.__name__.removeprefix("test_")


@pytest.mark.parametrize("promise", PROMISES, ids=name_of)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_promise_of_every_model_holds_for_every_option(variant, promise, monkeypatch):
    monkeypatch.setitem(TINY, "seq2seq", VARIANTS[variant])
    promise("seq2seq")


@pytest.mark.parametrize("promise", PROMISES, ids=name_of)
def test_cove_takes_the_same_options(promise, monkeypatch):
    monkeypatch.setitem(TINY, "cove", tiny("cove", attention="scaled-bilinear", attention_query="before", source_width=6))
    promise("cove")


@pytest.mark.parametrize("promise", BEAM_PROMISES, ids=name_of)
@pytest.mark.parametrize("variant", VARIANTS)
def test_beams_search_with_every_option(variant, promise, monkeypatch):
    monkeypatch.setitem(beams.SMALL, "seq2seq", VARIANTS[variant])
    promise("seq2seq")


@pytest.mark.parametrize("variant", ["before", "before, projected, narrow source"])
def test_a_wide_beam_is_exhaustive_and_sources_leave_it_where_states_before_attend(variant, monkeypatch):
    monkeypatch.setitem(beams.SMALL, "seq2seq", VARIANTS[variant])
    beams.test_a_wide_beam_is_exhaustive("seq2seq", 1.0)
    beams.test_sources_whose_search_is_over_leave_and_the_others_stay_the_same("seq2seq")


def by_the_formula(model, batch):
    """The logits and the alignment of one pair as in the appendix of Bahdanau et al., position by position and number by number: additive scores,
    the state before, the context in the cell. A cell is `unroll`, which tests/layers/test_recurrent.py proves."""
    (source,), (ids,) = batch.source.ids[:, batch.source.real[0]], batch.ids
    table, root = model.tokens.weight, model.config.width**0.5
    h = table[source] * root
    for layer in model.encoder:
        from_left, from_right = unroll(layer.forwards, h[None])[0][0], unroll(layer.backwards, h.flip(0)[None])[0][0].flip(0)
        h = torch.cat([from_left, from_right], 1)
    ends = torch.cat([from_left[-1], from_right[0]])
    tensors, score = STATE_TENSORS[model.config.cell], model.decoder_score
    start = torch.tanh(model.decoder_start.weight @ ends + model.decoder_start.bias).view(model.config.layers, tensors, -1)
    states = [tuple(part[None] for part in layer) for layer in start]
    logits, alignment = [], []
    for token in ids:
        s, y = states[-1][0][0], table[token] * root
        energies = torch.stack([score.value.weight[0] @ torch.tanh(score.query.weight @ s + score.key.weight @ h_j) for h_j in h])
        a = energies.exp() / energies.exp().sum()
        context = sum(a_j * h_j for a_j, h_j in zip(a, h, strict=True))
        x = torch.cat([y, context])
        for index, layer in enumerate(model.decoder):
            output, states[index] = unroll(layer, x[None, None], states[index])
            x = output[0, 0]
        readout = torch.tanh(model.decoder_readout.weight @ torch.cat([x, context, y]) + model.decoder_readout.bias)
        logits.append(table @ readout)
        alignment.append(a)
    return torch.stack(logits), torch.stack(alignment)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_the_state_before_attends_as_bahdanaus_formula_says(cell, layers):
    settings = noiseless("seq2seq", cell=cell, layers=layers, attention_query="before", hidden=10, source_width=14)
    model = Seq2Seq(Seq2SeqConfig(vocab_size=contract.VOCABULARY, **settings)).double().eval()
    batch = contract.batch_of("seq2seq", [[5, 6, 7, 20, 21, 22, 5]])
    logits, alignment = by_the_formula(model, batch)
    assert torch.allclose(model.predict(batch)[0], logits, atol=1e-10)
    assert torch.allclose(model.alignment(batch)[0], alignment, atol=1e-10)
    logits.logsumexp(-1).sum().backward()
    by_hand = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    model.predict(batch).logsumexp(-1).sum().backward()
    assert all(torch.allclose(weight.grad, by_hand[name], atol=1e-10) for name, weight in model.named_parameters())


def test_a_query_before_the_token_cannot_depend_on_it():
    """The row of weights of a position is the same whatever token was read there; after it, it is not."""
    for query, independent in (("before", True), ("after", False)):
        model = Seq2Seq(Seq2SeqConfig(vocab_size=contract.VOCABULARY, **noiseless("seq2seq", attention_query=query))).eval()
        one, other = (contract.batch_of("seq2seq", [contract.ROWS[2]]) for _ in range(2))
        other.ids[0, 3] = 11
        one, other = model.alignment(one)[0], model.alignment(other)[0]
        assert torch.equal(one[:3], other[:3]) and torch.equal(one[3], other[3]) == independent and not torch.equal(one[4], other[4])


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("variant", ["before", "before, two layers of GRUs", "wide source, scaled-bilinear"])
def test_copies_for_inference_say_the_same(variant, precision, monkeypatch):
    monkeypatch.setitem(TINY, "seq2seq", VARIANTS[variant])
    model, batch = contract.trained("seq2seq"), contract.batch_of("seq2seq")
    copy = model.for_inference(precision)
    expected, _ = model.decode_step(batch.ids[:, 0], model.initial_state(batch.source))
    stepped, _ = copy.decode_step(batch.ids[:, 0], copy.initial_state(batch.source))
    assert torch.allclose(stepped, expected, atol=1e-5 if precision == "fp32" else 0.1)


@pytest.mark.parametrize("has_bf16", [True, False])
@pytest.mark.parametrize("variant", ["before", "before, as in the paper", "before, projected, narrow source"])
def test_where_states_before_attend_it_trains_in_bf16(variant, has_bf16, monkeypatch):
    """By the machine's own products if it has any, with cells in float32 if it has none."""
    if has_bf16 and not machine.has_bf16():
        pytest.skip("this machine has no products in bfloat16")
    monkeypatch.setattr(machine, "has_bf16", lambda: has_bf16)
    monkeypatch.setitem(TINY, "seq2seq", VARIANTS[variant])
    model, batch = contract.trained("seq2seq").train(), contract.batch_of("seq2seq")
    expected = float(model.loss(batch).detach())
    with torch.autocast("cpu", torch.bfloat16):
        loss = model.loss(batch)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(expected, rel=0.02)
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize("settings", [{"attention_query": "before", "source_width": 32}, {"attention": "scaled-projected", "source_width": 96}])
def test_it_learns_and_answers_and_is_stored(settings, tokenizer, tmp_path):  # noqa: F811
    task = translating.untrained("seq2seq", tokenizer, **settings)
    measured = fit(task, LabelledSplits(translating.pairs(600), translating.pairs(60, seed=1)), tmp_path / "run", translating.QUICK)
    assert measured["exact_match"]["value"] > 0.8
    again = load(tmp_path / "run")
    assert settings.items() <= dataclasses.asdict(again.model.config).items()
    answer = again.answer("4 5 6", beam_size=3, n_best=2)
    assert answer["translation"] == "four five six"
    weights = np.array(answer["alignment"]["weights"])
    assert weights.shape == (4, 5) and np.allclose(weights.sum(1), 1, atol=1e-5)
    assert again.evaluate_examples(translating.pairs(60, seed=1))["perplexity"] == measured["perplexity"]


def test_the_size_of_the_paper_is_bahdanaus():
    config = Seq2SeqConfig(vocab_size=9, **SIZES["seq2seq"]["paper"])
    assert (config.width, config.hidden, config.encoder_width, config.layers, config.cell) == (620, 1000, 2000, 1, "gru")
    assert (config.attention, config.attention_query) == ("additive", "before")
    with torch.device("meta"):
        model = Seq2Seq(config)
    assert model.decoder[0].fused.input_size == 620 + 2000 and model.decoder_score.value.in_features == 1000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention_query": "before", "attention": "none"}, "attention_query before needs an attention score"),
        ({"attention": "dot", "source_width": 6}, "attention dot .* as wide as it, not a query of width 12 by keys of width 6"),
        ({"attention": "scaled", "source_width": 6}, "attention scaled .* take additive, bilinear or projected"),
        ({"source_width": 7}, "^source_width 7 is shared by two directions; give an even number"),
        ({"hidden": 13}, "^hidden 13 is shared by two directions; give an even number"),
        ({"source_width": 0}, "source_width 0 is not between 1 and"),
    ],
)
def test_options_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        Seq2SeqConfig(vocab_size=9, **tiny("seq2seq", **settings))


def test_the_command_says_so_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for flags in (["--attention-query", "before"], ["--attention", "dot", "--source-width", "64"]):
        assert main(["train", "seq2seq", "--pairs", "numbers", "--steps", "1", "--size", "nano", *flags]) == 2
        error = capsys.readouterr().err.strip()
        assert "attention" in error.splitlines()[-1] and "Traceback" not in error
