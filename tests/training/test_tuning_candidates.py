"""Which ways to learn are tried."""

import pytest

from stairs.errors import BadInput
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import BiEncoder, Classify, Compare, Encode, MaskedToken
from stairs.tasks.parts.fine_tuning import epochs_for_updates
from stairs.text.examples import TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.finetuning_plans import transfer_task
from stairs.training.tuning import FEW_EXAMPLES, tuning_candidates
from tests.support.small_world import SENTENCES, encoder, examples

TEXTS = examples("classify", 20)
SCORES = [TextPair("soup today", "rice today", None, 4.0), TextPair("soup today", "rain today", None, 1.0), TextPair("wind today", "snow today",
    None, 3.0)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [SENTENCES])


def names(kind, train, transfer, source=None, head="auto", forked=False):
    return [way.name for way in tuning_candidates(kind, source, train, train, transfer, head, forked)]


def test_few_examples_are_learnt_by_a_head_and_by_all_weights_and_many_by_all_weights():
    auto = TransferOptions(transfer="auto")
    assert names(Classify, TEXTS, auto) == ["features", "full"]
    assert names(Classify, TEXTS * (FEW_EXAMPLES // len(TEXTS)), auto) == ["full"]


@pytest.mark.parametrize(
    ("transfer", "forked", "expected"),
    [
        (TransferOptions(transfer="top"), False, ["top"]),
        (TransferOptions(transfer="auto", whiten=True), False, ["features"]),
        (TransferOptions(transfer="auto", insert="input"), False, ["full"]),
        (TransferOptions(transfer="auto"), True, ["full"]),
    ],
)
def test_where_only_one_way_makes_sense_nothing_else_is_tried(transfer, forked, expected):
    assert names(Classify, TEXTS, transfer, forked=forked) == expected


def test_a_sentence_encoder_learns_scores_through_its_cosine_as_it_pools(tokenizer):
    source = Encode(encoder("bert", tokenizer), tokenizer, pooling="cls", max_length=20)
    candidates = tuning_candidates(Compare, source, SCORES, SCORES, TransferOptions(transfer="auto"), "auto", False)
    assert [way.task_class for way in candidates] == [BiEncoder, BiEncoder]
    assert {(way.transfer.pooling, way.transfer.max_length) for way in candidates} == {("cls", 20)}


def test_in_a_climb_a_sentence_encoder_learns_scores_through_its_cosine_and_labels_otherwise(tokenizer):
    source = Encode(encoder("bert", tokenizer), tokenizer, pooling="cls", max_length=20)
    task = transfer_task("compare", source, SCORES, "features")
    assert type(task) is BiEncoder and (task.transfer.pooling, task.transfer.max_length) == ("cls", 20)
    labels = [TextPair(pair.first, pair.second, "same" if pair.score > 2 else "other") for pair in SCORES]
    task = transfer_task("compare", source, labels, "features")
    assert type(task) is Compare and task.transfer.pooling == "cls"
    assert type(transfer_task("compare", MaskedToken(encoder("bert", tokenizer), tokenizer), SCORES, "full")) is Compare


def test_an_encoder_is_tried_with_both_heads_unless_its_cosine_is_good(tokenizer, monkeypatch):
    source = MaskedToken(encoder("bert", tokenizer), tokenizer)
    bi_encoders = ["features-bi-encoder", "full-bi-encoder"]
    for cosine, expected in ((0.2, [*bi_encoders, "features", "full"]), (0.6, bi_encoders)):
        monkeypatch.setattr("stairs.training.tuning.cosine_correlation", lambda *given, cosine=cosine: {"value": cosine})
        assert names(Compare, SCORES, TransferOptions(transfer="auto"), source) == expected


def test_two_texts_in_both_orders_are_read_in_one_row_by_a_trained_encoder():
    both = TransferOptions(transfer="auto", both_orders=True)
    assert names(Compare, SCORES, both) == ["full"]
    with pytest.raises(BadInput, match="--both-orders reads two texts in one row, and --head bi-encoder each alone"):
        names(Compare, SCORES, both, head="bi-encoder")


def test_the_head_that_is_asked_for(tokenizer):
    source = Encode(encoder("bert", tokenizer), tokenizer)
    assert names(Compare, SCORES, TransferOptions(transfer="full"), source, "cross-encoder") == ["full"]
    assert names(Compare, SCORES, TransferOptions(transfer="full"), source, "bi-encoder") == ["full-bi-encoder"]
    with pytest.raises(BadInput, match="--head bi-encoder is for scores of pairs"):
        names(Classify, TEXTS, TransferOptions(transfer="full"), source, "bi-encoder")


def test_auto_is_no_way_of_one_task(tokenizer):
    with pytest.raises(BadInput, match="give full, scratch, top, frozen or features"):
        Classify(encoder("bert", tokenizer), tokenizer, TransferOptions(transfer="auto"), **Classify.settings_from(TEXTS))


def test_few_updates_in_an_epoch_make_more_epochs():
    assert [epochs_for_updates(updates, 3.0, 200) for updates in (1000, 67, 16, 1, 0)] == [3.0, 3.0, 12.5, 200.0, 200.0]
    assert epochs_for_updates(16, 40.0, 200) == 40.0
