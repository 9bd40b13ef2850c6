"""`stairs tune RUN labels --word-dropout 0.2`: while an encoder learns, some of its tokens are hidden, others at each update."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.masking import hide_tokens
from stairs.text.batch import Batch
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import QUESTION, SENTENCES, encoder, examples, new_task, stop_at_update

OPTIONS = TrainingOptions(steps=30, batch_examples=8, precision="fp32", patience=0, save_every=5)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [[*SENTENCES, QUESTION]])


def many_tokens(tokenizer):
    ids = torch.randint(len(tokenizer.special_ids), tokenizer.vocab_size, (40, 100))
    ids[:, 0], ids[:, -1] = tokenizer.begin, tokenizer.pad
    return Batch(ids, ids != tokenizer.pad)


def test_the_share_is_hidden_and_what_is_no_word_stays(tokenizer):
    torch.manual_seed(0)
    batch = many_tokens(tokenizer)
    shown = hide_tokens(batch, 0.2, tokenizer)
    is_hidden = shown.ids == tokenizer.mask
    assert 0.17 < is_hidden.float().mean() < 0.23
    assert torch.equal(shown.ids[~is_hidden], batch.ids[~is_hidden]) and not is_hidden[:, [0, -1]].any()
    assert not torch.equal(hide_tokens(batch, 0.2, tokenizer).ids, shown.ids)
    assert hide_tokens(batch, 0.0, tokenizer) is batch


def test_both_texts_of_a_pair_that_is_read_apart_are_hidden(tokenizer):
    batch = many_tokens(tokenizer)
    shown = hide_tokens(replace(batch, source=batch), 0.5, tokenizer)
    assert (shown.ids == tokenizer.mask).any() and (shown.source.ids == tokenizer.mask).any() and not torch.equal(shown.ids, shown.source.ids)


def test_a_gpt_still_predicts_the_words_themselves(tokenizer):
    train = examples("classify")
    task = new_task("classify", encoder("gpt", tokenizer), tokenizer, train, word_dropout=0.9, head_dropout=0.0, auxiliary_weight=1.0)
    seen = []
    loss = task.model.loss
    task.model.loss = lambda batch, hidden=None: seen.append(batch.targets) or loss(batch, hidden)
    task.start(0)
    task.training_loss(task.examples(LabelledSplits(train, train)).batch(np.arange(8), 0, 0))
    assert not (seen[0] == tokenizer.mask).any()


def test_stopped_and_resumed_it_ends_with_the_same_bits_and_answers_read_everything(tokenizer, tmp_path):
    train = examples("classify")
    data = LabelledSplits(train[:40], train[40:])

    def learn(folder, **transfer):
        fit(new_task("classify", encoder("bert", tokenizer), tokenizer, train, **transfer), data, tmp_path / folder, OPTIONS)
        return load(tmp_path / folder)

    whole, without = learn("whole", word_dropout=0.3), learn("without")
    with stop_at_update(13):
        learn("stopped", word_dropout=0.3)
    stopped = learn("stopped", word_dropout=0.3)
    weights, again = whole.model.tensors(), stopped.model.tensors()
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert any(not torch.equal(weights[name], tensor) for name, tensor in without.model.tensors().items())
    texts = [example.text for example in train[40:]]
    np.testing.assert_array_equal(whole.probabilities(texts), whole.probabilities(texts))


REFUSED = [({"word_dropout": 1.0}, "not between 0 and 0.99"), ({"word_dropout": 0.2, "transfer": "features"}, "use --transfer full")]


@pytest.mark.parametrize(("given", "named"), REFUSED)
def test_what_makes_no_sense_is_refused(given, named, tokenizer):
    with pytest.raises(BadInput, match=named):
        new_task("classify", encoder("bert", tokenizer), tokenizer, examples("classify"), **given)
