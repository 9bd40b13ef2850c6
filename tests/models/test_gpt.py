"""GPT: its cache, its limits, its positions, and generation from prompts of different lengths."""

import pytest
import torch

from stairs.errors import BadInput
from stairs.models import language_model
from stairs.models.gpt import GPT
from stairs.models.settings import SIZES, GPTConfig
from stairs.text.batch import Batch, next_token_batch, pad_rows
from tests.support.tiny import tiny

SMALL = tiny("gpt", vocab_size=40, context=12)


def small(**settings):
    return GPT(GPTConfig(**{**SMALL, **settings})).eval()


def last_logits(model, row):
    ids = torch.tensor([row])
    return model.predict(Batch(ids, torch.ones_like(ids, dtype=torch.bool)))[0, -1]


@pytest.mark.parametrize("settings", [{}, {"positions": "rotary"}, {"positions": "sinusoidal"}, {"norm_first": False}, {"tie_embeddings": False}],
    ids=str)
def test_prompts_of_different_lengths_are_continued_as_if_alone(settings):
    model = small(**settings)
    rows = [[2, 5, 6, 7, 8, 9], [2, 30, 31], [2, 11, 12, 13]]
    for right in (True, False):
        ids, real = torch.zeros(3, 6, dtype=torch.int64), torch.zeros(3, 6, dtype=torch.bool)
        for i, row in enumerate(rows):
            columns = slice(0, len(row)) if right else slice(6 - len(row), 6)
            ids[i, columns], real[i, columns] = torch.tensor(row), True
        logits, state = model.prefill(ids, real=real)
        expected_logits = [list(row) for row in rows]
        for word in (20, 21, 22):
            for i, row in enumerate(expected_logits):
                assert torch.allclose(logits[i], last_logits(model, row), atol=1e-5)
                row.append(word + i)
            logits, state = model.decode_step(torch.tensor([word, word + 1, word + 2]), state)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
def test_rows_beside_others_are_read_as_if_alone(positions):
    model = small(positions=positions)
    rows = [[2, 5, 6, 7, 8, 9], [2, 30], [2, 11, 12, 13]]
    ids, real = pad_rows(rows, 0)
    together = model.encode(Batch(ids, real))
    for row, own in zip(rows, together, strict=True):
        alone = torch.tensor([row])
        torch.testing.assert_close(own[: len(row)], model.encode(Batch(alone, torch.ones_like(alone, dtype=torch.bool)))[0], atol=1e-5, rtol=1e-5)


def test_a_prompt_that_does_not_fit_is_refused_with_what_to_do():
    model = small()
    ids = torch.full((1, 13), 5)
    everything = torch.ones_like(ids, dtype=torch.bool)
    for use in (lambda: model.prefill(ids), lambda: model.encode(Batch(ids, everything)), lambda: model.loss(Batch(ids, everything, ids))):
        with pytest.raises(BadInput, match=r"GPT reads at most 12 tokens, got 13; shorten the text or train with --context 16"):
            use()


def test_what_outgrows_the_context_goes_on_from_its_newer_half():
    model = small()
    row = [2, *range(5, 40)][:12]
    _, state = model.prefill(torch.tensor([row]))
    logits, state = model.decode_step(torch.tensor([33]), state)
    assert torch.allclose(logits[0], last_logits(model, [*row[-6:], 33]), atol=1e-5)
    for word in range(5, 30):
        logits, state = model.decode_step(torch.tensor([word]), state)
    assert torch.isfinite(logits).all() and state.length <= 12


def test_a_full_prompt_can_follow_another():
    model = small()
    row = [2, *range(5, 16)]
    _, state = model.prefill(torch.tensor([[2, 5, 6]]))
    logits, _ = model.prefill(torch.tensor([row]), state)
    assert torch.allclose(logits[0], last_logits(model, row), atol=1e-5)


def test_loss_needs_no_table_of_all_logits(monkeypatch):
    """Only what is asked reaches the output layer."""
    rows, real = [], language_model.linear_cross_entropy
    monkeypatch.setattr(language_model, "linear_cross_entropy", lambda hidden, *others: rows.append(len(hidden)) or real(hidden, *others))
    model = small()
    batch = next_token_batch([[5, 6, 7, 8]], 2, 3, 0)
    targets = torch.full_like(batch.targets, -100)
    targets[0, 2] = 9
    loss = model.loss(Batch(batch.ids, batch.real, targets))
    assert rows == [1]
    assert loss.item() == pytest.approx(-model.predict(batch)[0, 2].log_softmax(-1)[9].item(), rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 3}, "3 heads cannot share a width of 16.*try 4 heads"),
        ({"layers": 0}, "layers 0 is not between 1"),
        ({"context": 0}, "context 0 is not between 1"),
        ({"dropout": 1.0}, "dropout 1.0"),
        ({"dropout": float("nan")}, "dropout nan"),
        ({"width": 6, "heads": 2, "positions": "rotary"}, "even width"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        small(**settings)


def test_the_paper_size_has_the_papers_number_of_weights():
    with torch.device("meta"):
        model = GPT(GPTConfig(vocab_size=40_478, **SIZES["gpt"]["paper"]))
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(117e6, rel=0.01)


def test_tied_tables_are_saved_once():
    assert "output.weight" not in small().tensors()
    assert "output.weight" in small(tie_embeddings=False).tensors()


@pytest.mark.parametrize("settings", [{}, {"positions": "rotary"}, {"norm_first": False}, {"tie_embeddings": False}], ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_prepared_for_inference_it_says_the_same(settings, rows):
    model = small(**settings)
    prompt = torch.randint(5, 40, (rows, 4))
    for precision, within in (("fp32", 1e-5), ("bf16", 0.05)):
        fast = model.for_inference(precision)
        expected, state = model.prefill(prompt)
        logits, fast_state = fast.prefill(prompt)
        for word in range(5, 12):
            assert logits.dtype == torch.float32 and torch.allclose(logits, expected, atol=within)
            expected, state = model.decode_step(torch.full((rows,), word), state)
            logits, fast_state = fast.decode_step(torch.full((rows,), word), fast_state)
        batch = next_token_batch([[5, 6, 7]], 2, 3, 0)
        assert torch.allclose(fast.log_likelihood(batch).float(), model.log_likelihood(batch), atol=within)


def test_the_prepared_copy_leaves_the_model_as_it_was():
    model = small()
    before = {name: tensor.clone() for name, tensor in model.tensors().items()}
    fast = model.for_inference("bf16")
    model.for_inference("fp32").prefill(torch.tensor([[2, 5]]))
    assert all(torch.equal(before[name], tensor) and tensor.dtype == torch.float32 for name, tensor in model.tensors().items())
    assert all(parameter.requires_grad for parameter in model.parameters()) and not any(p.requires_grad for p in fast.parameters())


def test_logits_may_be_changed_by_who_gets_them():
    logits, state = small().prefill(torch.tensor([[2, 5]]))
    logits[0, 3] = -torch.inf
    assert not logits.requires_grad and torch.isfinite(small().decode_step(torch.tensor([6]), state)[0]).all()
