"""Translate: training on pairs, evaluation, and the details of an answer."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.layers.score_names import ScoreName
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.tasks import TASKS
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.translation_pairs import TranslationRows
from stairs.tasks.translate import Translate
from stairs.tasks.translation_metrics import bleu_and_chrf
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.tiny import tiny

WORDS = dict(zip("1234567", ["one", "two", "three", "four", "five", "six", "seven"], strict=True))
SMALL = {
    "seq2seq": tiny("seq2seq", context=32, width=32, hidden=64, dropout=0.0),
    "cove": tiny("cove", context=32, width=32, hidden=64, layers=1, attention="dot", dropout=0.0),
    "transformer": tiny("transformer", context=32, width=32, dropout=0.0),
}
QUICK = TrainingOptions(steps=160, batch_tokens=512, learning_rate=5e-3, precision="fp32", threads=1, evaluate_every=80)


def pairs(count, seed=0, max_length=5):
    random = np.random.default_rng(seed)
    rows = [random.choice(list(WORDS), random.integers(1, max_length + 1)) for _ in range(count)]
    return [TranslationPair(" ".join(row), " ".join(WORDS[word] for word in row), f"pairs:{n}") for n, row in enumerate(rows)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [[pair.source, pair.target] for pair in pairs(50)])


def untrained(model, tokenizer, **settings):
    special_ids = {"vocab_size": tokenizer.vocab_size, "begin": tokenizer.begin, "end": tokenizer.end}
    return Translate(MODELS[model](CONFIGS[model](**special_ids, **{**SMALL[model], **settings})), tokenizer)


@pytest.fixture(scope="module", params=SMALL)
def trained(request, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / request.param
    measured = fit(untrained(request.param, tokenizer), LabelledSplits(pairs(600), pairs(60, seed=1)), folder, QUICK)
    return load(folder), measured


def test_it_learns_and_is_evaluated_and_stored(trained):
    task, measured = trained
    assert isinstance(task, TASKS["translate"]) and measured["bleu"]["low"] <= measured["bleu"]["value"] <= measured["bleu"]["high"]
    assert measured["exact_match"]["value"] > 0.8 and measured["bits_per_character"]["value"] < 0.5
    assert task.translate_texts(["3 1 2", "7"]) == ["three one two", "seven"]
    again = task.evaluate_examples(pairs(60, seed=1))
    assert again["exact_match"] == measured["exact_match"] and again["perplexity"] == measured["perplexity"]


def test_an_answer_has_its_details(trained):
    task, _ = trained
    answer = task.answer("4 5 6", beam_size=3, n_best=2)
    assert answer["translation"] == "four five six" == answer["translations"][0]["translation"] and len(answer["translations"]) == 2
    assert answer["translations"][0]["score"] >= answer["translations"][1]["score"]
    assert answer["trace"][0] == {"input": "[CLS]", "output": "four"} and answer["trace"][2] == {"input": "[CLS] four five", "output": "six"}
    assert answer["trace"][-1]["output"] == "[SEP]"
    weights = np.array(answer["alignment"]["weights"])
    assert weights.shape == (len(answer["alignment"]["target"]), len(answer["alignment"]["source"])) == (4, 5)
    assert np.allclose(weights.sum(1), 1, atol=1e-5)
    assert all(node["token"] for step in answer["tree"] for node in step)
    json.dumps(answer)


def test_the_same_seed_samples_the_same_translation(trained):
    task, _ = trained
    one, two = (task.answer("4 5 6", temperature=1.5, seed=3, details=False) for _ in range(2))
    assert one == two and "translations" not in one
    assert len({task.answer("4 5 6", temperature=5.0, seed=seed, details=False)["translation"] for seed in range(6)}) > 1


def test_backwards_is_the_other_direction(tokenizer, tmp_path):
    task = untrained("transformer", tokenizer)
    task.backwards = True
    fit(task, LabelledSplits(pairs(600), pairs(30, seed=1)), tmp_path / "run", QUICK)
    task = load(tmp_path / "run")
    assert task.backwards and task.translate_texts(["three one"]) == ["3 1"]
    assert task.evaluate_examples(pairs(30, seed=1))["exact_match"]["value"] > 0.7


def test_a_translation_that_was_cut_off_is_aligned_without_an_end(tokenizer):
    task = untrained("transformer", tokenizer, context=8)
    alignment = task.alignment([7, 8], [9] * 8)
    assert len(alignment["target"]) == len(alignment["weights"]) == 8 and "[SEP]" not in alignment["target"]
    assert len(task.alignment([7, 8], [9] * 7)["target"]) == 8


def test_sinusoidal_positions_translate_beyond_the_context(tokenizer):
    long = " ".join("123456789" * 2)
    task = untrained("transformer", tokenizer, context=8)
    answer = task.answer(long)
    assert isinstance(answer["translation"], str) and len(answer["alignment"]["source"]) > 8
    assert len(task.translate_texts([long, "1 2"])) == 2
    with pytest.raises(BadInput, match="reads at most 6"):
        untrained("transformer", tokenizer, context=8, positions="learned").answer(long)
    with pytest.raises(BadInput, match="reads at most 62"):
        task.answer(" ".join("1" * 80))


def test_without_attention_there_is_no_alignment(tokenizer):
    task = untrained("seq2seq", tokenizer, attention="none")
    assert task.answer("1 2")["alignment"] is None


@pytest.mark.parametrize("attention", get_args(ScoreName))
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_every_score_and_cell_has_gradients_everywhere(attention, cell, tokenizer):
    task = untrained("seq2seq", tokenizer, attention=attention, cell=cell, layers=2)
    rows = TranslationRows(pairs(8), tokenizer, 32)
    loss, count = task.training_loss(rows.batch(range(8)))
    loss.backward()
    assert count == int(sum(len(target) + 1 for _, target in rows.rows))
    assert all(weight.grad is not None and torch.isfinite(weight.grad).all() for weight in task.model.parameters())


def test_smoothing_is_what_pytorch_computes(tokenizer):
    task = untrained("transformer", tokenizer, label_smoothing=0.2)
    batch = TranslationRows(pairs(8), tokenizer, 32).batch(range(8))
    logits = task.model.train().predict(batch)
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), label_smoothing=0.2)
    assert float(task.model.loss(batch).detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    expected.backward()
    expected_gradients = {name: weight.grad.clone() for name, weight in task.model.named_parameters()}
    task.model.zero_grad()
    task.model.loss(batch).backward()
    assert all(torch.allclose(weight.grad, expected_gradients[name], atol=1e-5) for name, weight in task.model.named_parameters())


def test_pairs_that_are_too_long_are_left_out_and_texts_refused(tokenizer, capsys):
    examples = [*pairs(5), TranslationPair(" ".join("1" * 40), "one", "pairs:6")]
    assert len(TranslationRows(examples, tokenizer, 32).rows) == 5
    with pytest.raises(BadInput, match="all 1 pairs are empty or longer than 32 tokens"):
        TranslationRows(examples[-1:], tokenizer, 32)
    task = untrained("transformer", tokenizer, positions="learned")
    with pytest.raises(BadInput, match="has 40 tokens, and this transformer reads at most 30"):
        task.answer(" ".join("1" * 40))
    with pytest.raises(BadInput, match="no tokens"):
        task.answer(" ")
    with pytest.raises(BadInput, match="5 best of a beam of 4"):
        task.answer("1", beam_size=4, n_best=5)


def test_bleu_is_sacrebleus_and_chinese_is_counted_by_characters():
    sacrebleu = pytest.importorskip("sacrebleu")
    references = ["the cat sat on the mat .", "a dog barked at the moon"]
    hypotheses = ["the cat sat on a mat .", "a dog barked"]
    metrics = bleu_and_chrf(references, hypotheses)
    assert metrics["bleu"]["value"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references]).score)
    assert metrics["chrf"]["value"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    assert metrics["exact_match"]["value"] == 0 and "tok:13a" in metrics["signature"]
    assert "tok:zh" in bleu_and_chrf(["一百零五"], ["一百零五"])["signature"]


def test_bleu_and_chrf_are_sacrebleus_on_sentences_that_share_little():
    sacrebleu = pytest.importorskip("sacrebleu")
    random = np.random.default_rng(0)
    references, hypotheses = ([" ".join(random.choice(list("abcdefgh"), random.integers(1, 9))) for _ in range(6)] for _ in range(2))
    for count in range(1, 7):
        metrics = bleu_and_chrf(references[:count], hypotheses[:count])
        assert metrics["bleu"]["value"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses[:count], [references[:count]]).score)
        assert metrics["chrf"]["value"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses[:count], [references[:count]]).score)


@pytest.mark.parametrize(("references", "cut"), [(["the word 猫 means cat", "a dog", "a cow"], "13a"), (["一只猫", "一条狗", "a cow"], "zh")])
def test_chinese_is_counted_by_characters_where_most_references_are_chinese(references, cut):
    assert f"tok:{cut}" in bleu_and_chrf(references, references)["signature"]


def test_real_pairs_have_a_place(data: Path):
    from stairs.text.labelled import read_examples

    lines = read_examples(data / "translate" / "multi30k_en_fr" / "val.en", "translate").examples
    assert len(lines) == 1014 and lines[0].source.startswith("A group of men") and lines[0].target.startswith("Un groupe")
