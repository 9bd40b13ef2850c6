"""Encode: vectors of texts, the same one by one and many at once, in one thread and in several."""

import json

import numpy as np
import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.inspection.layers import layer_encoder
from stairs.models.bert import BERT
from stairs.models.settings import BERTConfig
from stairs.tasks import Encode
from stairs.tasks import encode as module
from stairs.text.batch import Batch, batches_by_length
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "the", "dog", "run", "to", "the", "house", "by", "the", "sea"]
TEXTS = [" ".join(WORDS[start:stop]) for start in range(4) for stop in range(5, len(WORDS) + 1, 2)]


@pytest.fixture(scope="module")
def task():
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=120), lambda: [TEXTS])
    model = BERT(BERTConfig(tokenizer.vocab_size, context=32, width=48, heads=4, layers=2, objective="none", output_heads=("pooler",)))
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.3)
    return Encode(model.eval(), tokenizer)


def by_hand(task, text, pooling):
    ids = torch.tensor([[task.tokenizer.begin, *task.tokenizer.encode(text), task.tokenizer.end]])
    hidden = task.model.encode(Batch(ids, torch.ones_like(ids, dtype=torch.bool)))[0]
    return (hidden[0] if pooling == "cls" else hidden.mean(0)).detach().numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_at_once_are_the_same_as_one_by_one(task, pooling, threads, monkeypatch):
    monkeypatch.setattr(module, "TOKENS_PER_BATCH", 64)
    torch.set_num_threads(threads)
    result = Encode(task.model, task.tokenizer, pooling=pooling).vectors(TEXTS)
    assert torch.get_num_threads() == threads
    assert np.allclose(result, [by_hand(task, text, pooling) for text in TEXTS], atol=1e-4)
    unit = Encode(task.model, task.tokenizer, pooling=pooling, normalize=True).vectors(TEXTS)
    assert np.allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-5) and np.allclose(unit * np.linalg.norm(result, axis=1)[:, None], result, atol=1e-4)


def test_faster_and_nearly_the_same(task):
    plain = task.vectors(TEXTS)
    for precision, nearest in (("fp32", 0.999999), ("bf16", 0.999), ("int8", 0.99)):
        result = task.for_inference(precision).vectors(TEXTS)
        cosines = (plain * result).sum(1) / np.linalg.norm(plain, axis=1) / np.linalg.norm(result, axis=1)
        assert cosines.min() > nearest, precision
    assert task.precision == "fp32" and np.array_equal(task.vectors(TEXTS), plain)


def test_batches_hold_every_text_once():
    lengths = [5, 3000, 7, 7, 1, 2048, 600, 600, 600, 600]
    result = list(batches_by_length(lengths, module.TOKENS_PER_BATCH))
    assert sorted(number for batch in result for number in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[number] for number in batch) <= module.TOKENS_PER_BATCH for batch in result if len(batch) > 1)


def test_long_texts_are_cut_and_that_is_said(task, capsys, monkeypatch):
    monkeypatch.setattr("stairs.progress.messages_enabled", True)
    long = " ".join(WORDS * 9)
    assert np.allclose(task.vectors([long]), task.vectors([long + " zebra"]))
    assert "longer than 30 tokens" in capsys.readouterr().err
    assert len(task.rows([long])[0]) == 32 and Encode(task.model, task.tokenizer, max_length=9).rows([long])[0][-1] == task.tokenizer.end


def test_the_end_of_a_long_text_can_be_read_instead(task):
    other = Encode(task.model, task.tokenizer)
    text, ids = " ".join(WORDS * 9), task.tokenizer.encode(" ".join(WORDS * 9))
    for rule, expected in (("head", ids[:30]), ("tail", ids[-30:]), ("head+tail", [*ids[:15], *ids[-15:]])):
        other.long_text = rule
        assert other.rows([text])[0][1:-1] == expected
    other.long_text = "window"
    with pytest.raises(Unsupported, match="head, tail"):
        other.vectors([text])
    with pytest.raises(Unsupported, match="purpose"):
        other.evaluate_texts([text])


def test_tokens_layers_and_answers(task):
    (tokens, vectors), = task.token_vectors(["the cat"])
    assert len(tokens) == len(vectors) and task.tokenizer.token(task.tokenizer.begin) not in tokens
    assert task.vectors(["the cat"], layer_encoder(task.model, 0)).shape == (1, 48)
    assert task.answer("the cat")["vector"] == pytest.approx(task.vectors(["the cat"])[0].tolist())
    assert task.similarity("the cat", "the cat") == pytest.approx(1)
    assert task.vectors([]).shape == (0, 48)
    with pytest.raises(BadInput, match="no tokens"):
        task.vectors([" "])


def test_save_and_open(task, tmp_path):
    first = Encode(task.model, task.tokenizer, pooling="cls", normalize=True, max_length=20)
    first.save(tmp_path)
    again = Encode.open(tmp_path, json.loads((tmp_path / "config.json").read_text()))
    assert (again.pooling, again.normalize, again.max_length) == ("cls", True, 20)
    assert np.array_equal(again.vectors(TEXTS), first.vectors(TEXTS))


def test_a_model_without_blocks_has_no_precision():
    from stairs.models.ngram import NGram
    from stairs.models.settings import NGramConfig
    from stairs.tasks import NextToken

    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [TEXTS])
    with pytest.raises(Unsupported, match="precision"):
        NextToken(NGram(NGramConfig(tokenizer.vocab_size)), tokenizer).for_inference("bf16")
