"""Predictions begin at the shares of the training targets: how the tasks count them, and that weights which are kept stay as they are."""

import numpy as np
import pytest
import torch

from stairs.fast.corpus_slice import token_counts
from stairs.models import MODELS
from stairs.models.settings import make_config
from stairs.tasks import TASKS
from stairs.tasks.parts.adapt import adaptation_task
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.batch import IGNORE_INDEX
from stairs.text.corpus.corpus import Corpus
from stairs.text.examples import LabelledText, TranslationPair
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.tiny import tiny

SENTENCES = [f"The {a} cat sat on the {b} mat." for a in ("old", "big", "red") for b in ("new", "wet", "dry")]
SMALL = {
    "gpt": tiny("gpt", context=8, width=32, layers=1),
    "bert": tiny("bert", context=64, width=32, layers=1),
    "elmo": tiny("elmo", context=8, filters=(4, 4), output_vocab=10),
    "nnlm": tiny("nnlm", context=8),
}


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "cats.txt").write_text("\n\n".join(" ".join(SENTENCES[n:] + SENTENCES[:n]) for n in range(9)) * 6)
    return build_shards(Corpus([folder / "cats.txt"]), TokenizerSpec("words"), cache=folder)


def task_of(name, tokenizer):
    return TASKS[MODELS[name].pretrains_with](MODELS[name](make_config(name, tokenizer.vocabulary_settings, **SMALL[name])), tokenizer)


def shares(counts):
    return torch.tensor((counts + 0.5) / (counts + 0.5).sum())


@pytest.mark.parametrize("name", SMALL)
def test_tokens_are_counted_as_they_are_asked_for(shards, name):
    task = task_of(name, shards.tokenizer)
    examples = task.examples(shards)
    counts = task.target_counts(examples)
    targets = [examples.batch(np.arange(len(examples.lengths)), epoch, 0).targets for epoch in range(3)]
    target_totals = token_counts(np.concatenate([part[part != IGNORE_INDEX].numpy() for part in targets]), len(counts))
    assert set(np.flatnonzero(counts)) == set(np.flatnonzero(target_totals))
    assert np.abs(counts / counts.sum() - target_totals / target_totals.sum()).max() < 0.03


@pytest.mark.parametrize("name", SMALL)
def test_an_untrained_model_knows_how_frequent_tokens_are(shards, name):
    task = task_of(name, shards.tokenizer)
    examples = task.examples(shards)
    task.start(3, examples)
    batch = examples.batch(np.arange(20), 0, 0)
    mean = task.model.predict(task.add_characters(batch)).detach()[batch.real].softmax(-1).mean(0)
    expected_shares = shares(task.target_counts(examples))
    if name == "elmo":  # what cannot be said is the unknown word
        expected_shares = torch.cat([expected_shares[:10], expected_shares[10:].sum()[None]])
        expected_shares[1] += expected_shares[10]
        expected_shares = expected_shares[:10]
    assert torch.allclose(mean.double(), expected_shares, atol=0.03)
    before = [weight.clone() for weight in task.model.parameters()]
    task.start(3, examples)
    assert all(torch.equal(a, b) for a, b in zip(before, task.model.parameters(), strict=True))


def test_pairs_count_what_is_translated_into():
    pairs = [TranslationPair("one two", "eins zwei"), TranslationPair("two", "zwei")]
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [[pair.source, pair.target] for pair in pairs])
    task = TASKS["translate"](MODELS["transformer"](make_config("transformer", tokenizer.vocabulary_settings, width=16, heads=2, layers=1)),
        tokenizer)
    counts = task.target_counts(task.examples(LabelledSplits(pairs, pairs)))
    assert {tokenizer.token(i): int(n) for i, n in enumerate(counts) if n} == {"[SEP]": 2, "eins": 1, "zwei": 2}


def test_weights_that_are_kept_stay_as_they_are(shards):
    task = adaptation_task(task_of("gpt", shards.tokenizer))
    before = [weight.clone() for weight in task.model.parameters()]
    task.start(0, task.examples(LabelledSplits([LabelledText("The old cat", "a")], [])))
    assert all(torch.equal(a, b) for a, b in zip(before, task.model.parameters(), strict=True))


def test_norms_after_the_sum_leave_the_weights_as_the_paper_has_them():
    for name in ("gpt", "transformer"):
        model = MODELS[name](make_config(name, {"vocab_size": 20}, width=16, heads=2, layers=1, norm_first=False))
        before = [weight.clone() for weight in model.parameters()]
        model.start_at_unigram(torch.arange(20.0).neg().log_softmax(0))
        assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
