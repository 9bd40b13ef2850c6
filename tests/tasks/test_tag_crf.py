"""`stairs tune RUN tags --crf`: transitions between tags are learnt with the head, kept, resumed and used in answers."""

import itertools

import numpy as np
import pytest
import torch

from stairs.errors import Unsupported
from stairs.formats.huggingface.task_heads import exported_head
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import TaggedSentence
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import SENTENCES, encoder, new_task, stop_at_update

# Words that do not tell their tags, which alternate: only the tag before does.
ALTERNATING = [TaggedSentence(("soup",) * length, tuple("AB"[(start + t) % 2] for t in range(length)), f"file:{length}")
               for length in range(3, 9) for start in (0, 0, 0)]  # fmt: skip
OPTIONS = TrainingOptions(steps=40, batch_examples=6, precision="fp32", patience=0, learning_rate=2e-3, save_every=5)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])


def new_crf(tokenizer, train=ALTERNATING, kind="skipgram", **transfer):
    return new_task("tag", encoder(kind, tokenizer), tokenizer, train, crf=True, **transfer)


@pytest.mark.parametrize("transfer", ["full", "features"])
def test_transitions_are_learnt_saved_and_loaded(transfer, tokenizer, tmp_path):
    task = new_crf(tokenizer, transfer=transfer)
    data = LabelledSplits(ALTERNATING, ALTERNATING[::3])
    measured = fit(task, data, tmp_path / "run", OPTIONS)
    assert measured["accuracy"]["value"] == 1
    again = load(tmp_path / "run")
    learned = again.crf.transitions
    assert learned[0, 1] > learned[0, 0] and learned[1, 0] > learned[1, 1] and torch.equal(learned, task.crf.transitions)
    assert again.answer("soup soup soup soup")["tags"] == ["A", "B", "A", "B"]
    assert again.describe()["transfer"]["crf"] is True


def test_stopped_and_resumed_it_ends_with_the_same_bits(tokenizer, tmp_path):
    data = LabelledSplits(ALTERNATING, ALTERNATING[::3])
    fit(new_crf(tokenizer), data, tmp_path / "whole", OPTIONS)
    with stop_at_update(13):
        fit(new_crf(tokenizer), data, tmp_path / "stopped", OPTIONS)
    fit(new_crf(tokenizer), data, tmp_path / "stopped", OPTIONS)
    whole, stopped = (load(tmp_path / name).head.state_dict() for name in ("whole", "stopped"))
    assert all(torch.equal(whole[name], stopped[name]) for name in whole)


def test_forbidden_tags_stay_forbidden_and_a_window_may_begin_inside_a_span(tokenizer):
    words = ("soup",) * 40
    train = [TaggedSentence(words, ("B-X", *["I-X"] * 39), "a"), TaggedSentence(words, ("O",) * 40, "b")]
    task = new_crf(tokenizer, train, kind="bert")  # reads 32 tokens: each sentence is two windows
    rows = task.rows(train)
    assert len(rows) == 4
    labelled = task.labelled_rows(train)
    with torch.no_grad():
        loss, count = task.training_loss(labelled.batch(np.arange(4), 0, 0))
    assert count == 80 and 0 < loss / count < 10
    tags = task.predict_examples(train)[0]
    assert len(tags) == 40 and all(tag != "I-X" or before in ("B-X", "I-X") for before, tag in itertools.pairwise(["O", *tags]))


def test_transformers_has_no_crf(tokenizer):
    with pytest.raises(Unsupported, match="tune it without --crf"):
        exported_head(new_crf(tokenizer, kind="bert"))
