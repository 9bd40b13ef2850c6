"""Tasks that are learnt from labelled examples: every encoder carries every task, and what they learn is right."""

import json

import numpy as np
import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS
from stairs.tasks.find_span import best_span, target_span
from stairs.tasks.metrics import choose_metric
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.layer_mix import LinearHead, Standardize
from stairs.tasks.parts.supervised import next_token_targets
from stairs.tasks.parts.tag_sequences import spans, transitions
from stairs.tasks.parts.tag_sequences import viterbi as likeliest_tags
from stairs.text.examples import LabelledText, Question, TaggedSentence, TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import FOOD, QUESTION, SENTENCES, SMALL, WEATHER, encoder, examples, new_task

ENCODERS = sorted(SMALL)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [[*SENTENCES, QUESTION]])


@pytest.fixture(scope="module")
def words():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [[*SENTENCES, QUESTION]])


@pytest.mark.parametrize("example_kind", ["classify", "multilabel", "regress", "compare", "tag", "span"])
@pytest.mark.parametrize("step", ENCODERS)
def test_every_encoder_carries_every_task(step, example_kind, tokenizer, words, tmp_path):
    train = examples(example_kind)
    cutter = words if step in ("cbow", "skipgram", "glove", "vectors", "nnlm", "elmo") else tokenizer
    task = new_task(example_kind, encoder(step, cutter), cutter, train)
    before = task.model.tensors()
    before = {name: tensor.clone() for name, tensor in before.items()}
    options = TrainingOptions(steps=6, batch_examples=8, learning_rate=0.01, precision="fp32", patience=0)
    measured = fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / "run", options)
    assert 0 <= measured["error"]["value"] <= (2 if example_kind == "regress" else 1)
    # what ranks models chooses their weights
    assert measured["error"]["value"] == pytest.approx(1 - measured[choose_metric(example_kind, train)]["value"])
    assert any(not torch.equal(tensor, before[name]) for name, tensor in task.model.tensors().items())
    again = load(tmp_path / "run")
    questions = {"compare": "soup\train", "tag": "soup in Rome .", "span": "where is it ?\tsoup in Rome today ."}
    given = questions.get(example_kind, "soup today")
    assert json.loads(json.dumps(again.answer(given))) == again.answer(given)
    assert again.evaluate_examples(train[40:])["error"] == measured["error"]


@pytest.mark.parametrize(("example_kind", "main"), [("classify", "accuracy"), ("tag", "f1"), ("span", "f1")])
def test_bert_learns_it(example_kind, main, tokenizer, tmp_path):
    train = examples(example_kind, 200)
    torch.manual_seed(0)
    task = new_task(example_kind, encoder("bert", tokenizer), tokenizer, train)
    options = TrainingOptions(epochs=12, batch_examples=16, learning_rate=3e-3, precision="fp32", patience=0)
    assert fit(task, LabelledSplits(train[:150], train[150:]), tmp_path / "run", options)[main]["value"] > 0.9


def test_frozen_and_features_leave_the_encoder_alone_and_agree(tokenizer, tmp_path):
    train = examples("classify")
    result = {}
    for way in ("frozen", "features"):
        model = encoder("bert", tokenizer)
        before = {name: tensor.clone() for name, tensor in model.tensors().items()}
        task = new_task("classify", model, tokenizer, train, transfer=way, head_dropout=0.0)
        fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / way, TrainingOptions(steps=10, batch_examples=8, precision="fp32"))
        assert all(torch.equal(tensor, before[name]) for name, tensor in model.tensors().items())
        result[way] = load(tmp_path / way).probabilities([example.text for example in train[40:]])
    np.testing.assert_allclose(result["frozen"], result["features"], atol=1e-4)


def test_top_layers_only(tokenizer, tmp_path):
    train = examples("classify")
    model = encoder("bert", tokenizer)
    before = {name: tensor.clone() for name, tensor in model.tensors().items()}
    task = new_task("classify", model, tokenizer, train, transfer="top", top_layers=1)
    fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / "run", TrainingOptions(steps=4, batch_examples=8, precision="fp32"))
    moved = {name.split(".")[0] + "." + name.split(".")[1] for name, tensor in model.tensors().items() if not torch.equal(tensor, before[name])}
    assert moved <= {"blocks.1", "pooler.weight", "pooler.bias"} and "blocks.1" in moved


def test_lower_blocks_learn_more_slowly(tokenizer):
    task = new_task("classify", encoder("bert", tokenizer), tokenizer, examples("classify"), layer_decay=0.5)
    paces = task.lr_scales()
    assert paces["model.blocks.1.attention.query.weight"] == 0.5 and paces["model.blocks.0.attention.query.weight"] == 0.25
    assert paces["model.tokens.weight"] == 0.125


def test_scores_are_learnt_on_their_own_scale(tokenizer, tmp_path):
    pairs = [TextPair(f"{a} today", f"{b} today", None, 2.0 * (a in FOOD) + (b in FOOD) + 1) for a in FOOD + WEATHER for b in FOOD + WEATHER]
    task = new_task("compare", encoder("bert", tokenizer), tokenizer, pairs, pooling="mean")
    options = TrainingOptions(epochs=20, batch_examples=16, learning_rate=3e-3, precision="fp32", patience=0)
    measured = fit(task, LabelledSplits(pairs, pairs[::7]), tmp_path / "run", options)
    assert measured["spearman"]["value"] > 0.8
    high, low = (load(tmp_path / "run").answer(a, second=b)["score"] for a, b in (("soup today", "bread today"), ("rain today", "wind today")))
    assert low < 2.5 < high and abs(high - 4) < 1.5


def test_a_gpt_learns_its_language_besides(tokenizer):
    train = examples("classify")
    batch = new_task("classify", encoder("gpt", tokenizer), tokenizer, train).examples(LabelledSplits(train, train)).batch(np.arange(4), 0, 0)
    settings = ({"auxiliary_weight": weight, "head_dropout": 0.0} for weight in (0.5, 0.0))
    with_it, without = (new_task("classify", encoder("gpt", tokenizer), tokenizer, train, **given) for given in settings)
    for task in (with_it, without):
        task.start(0)
        task.trained_module.eval()
    result = with_it.training_loss(batch)[0]
    torch.testing.assert_close(result, without.training_loss(batch)[0] + 4 * 0.5 * with_it.model.loss(next_token_targets(batch)))


def test_whitened_features_differ_as_much_in_every_direction():
    torch.manual_seed(0)
    features = torch.randn(500, 4) @ torch.diag(torch.tensor([4.0, 2.0, 1.0, 0.7])) @ torch.randn(4, 4) + 3.0
    head = LinearHead(4, 2, TransferOptions(transfer="features", whiten=True)).eval()
    head.fit_to(features)
    torch.testing.assert_close(torch.cov(head.standardize(features).T), torch.eye(4), atol=0.1, rtol=0.0)
    weight, bias = head.fold()
    torch.testing.assert_close(features @ weight.T + bias, head(features), atol=1e-3, rtol=1e-3)


def test_a_run_with_whitened_features_is_opened_again(tokenizer, tmp_path):
    train = examples("classify")
    task = new_task("classify", encoder("bert", tokenizer), tokenizer, train, transfer="features", whiten=True)
    fit(task, LabelledSplits(train, train[::5]), tmp_path / "run", TrainingOptions(epochs=3, precision="fp32"))
    assert load(tmp_path / "run").evaluate_examples(train) == task.evaluate_examples(train)
    with pytest.raises(BadInput, match="--whiten is for --transfer features"):
        new_task("classify", encoder("bert", tokenizer), tokenizer, train, whiten=True)


def test_rare_labels_count_as_much(tokenizer):
    train = [LabelledText("soup", "food")] * 9 + [LabelledText("rain", "weather")]
    task = new_task("classify", encoder("bert", tokenizer), tokenizer, train, class_weights="balanced")
    torch.testing.assert_close(task.class_weights(torch.device("cpu")), torch.tensor([10 / 18, 5.0]))


def test_tags_fit_together():
    labels = ["B-A", "B-B", "I-A", "I-B", "O"]
    costs = transitions(labels)
    logits = np.array([[0.0, 0, 3, 0, 1], [0.0, 0, 3, 0, 1], [0.0, 2.0, 0, 0, 1], [0.0, 0, 0, 3, 2.5]], np.float32)
    tags = [labels[i] for i in likeliest_tags(logits, costs)]
    assert tags == ["B-A", "I-A", "B-B", "I-B"]
    assert spans(tags) == [("A", 0, 2), ("B", 2, 4)]


def test_a_tagger_is_asked_by_words_when_words_are_given(tokenizer):
    by_words = [TaggedSentence(("我", "喜欢", "北京", "。"), ("O", "O", "B-place", "O"))] * 3
    task = new_task("tag", encoder("bert", tokenizer), tokenizer, by_words)
    assert task.answer("我 喜欢 北京")["words"] == ["我", "喜欢", "北京"] and task.answer("我 喜欢 北京")["segmentation"] == "given"
    assert task.answer("我喜欢北京。")["words"] == ["我", "喜欢", "北京", "。"] and task.answer("我喜欢北京。")["segmentation"] == "dictionary"
    recorded = [row.ids for row in task.rows([TaggedSentence(("我", "喜欢", "北京", "。"), ())])]
    assert [row.ids for row in task.rows([TaggedSentence(tuple(task.answer("我喜欢北京。")["words"]), ())])] == recorded
    by_characters = [TaggedSentence(tuple("我喜欢北京。"), ("O", "O", "O", "B-place", "I-place", "O"))] * 3
    task = new_task("tag", encoder("bert", tokenizer), tokenizer, by_characters)
    assert task.answer("我 喜欢 北京")["words"] == ["我", "喜欢", "北京"]
    assert task.answer("我喜欢北京。")["words"] == list("我喜欢北京。") and task.answer("我喜欢北京。")["segmentation"] == "characters"


def test_long_sentences_are_tagged_in_windows(tokenizer):
    words = tuple(["soup"] * 70 + ["Rome"])
    task = new_task("tag", encoder("bert", tokenizer), tokenizer, [TaggedSentence(words, tuple(["O"] * 70 + ["B-place"]))])
    rows = task.rows([TaggedSentence(words, ())])
    assert len(rows) > 1 and sorted(word for row in rows for word in row.metadata["words"]) == list(range(71))
    assert len(task.answer(" ".join(words))["tags"]) == 71


def test_where_an_answer_stands_in_a_window():
    example = Question("q", "the cat sat", ((4, "cat"),))
    assert target_span(example, [(0, 3), (4, 7), (8, 11)], 5) == (6, 6)
    assert target_span(example, [(8, 11)], 5) == (0, 0)
    assert best_span(np.array([0.0, 3, 1]), np.array([4.0, 1, 2])) == (5.0, 1, 2)
    assert best_span(np.array([0.0, 3, 1]), np.array([6.0, 1, 2])) == (6.0, 0, 0)


def test_long_passages_are_read_in_windows(tokenizer):
    passage = " ".join(["rain"] * 60 + ["Rome"])
    train = [Question("where is it ?", passage, ((passage.index("Rome"), "Rome"),))]
    task = new_task("span", encoder("bert", tokenizer), tokenizer, train)
    rows = task.rows(train)
    assert len(rows) > 2 and sum(row.target != (0, 0) for row in rows) >= 1
    assert max(len(row.ids) for row in rows) <= 32


@pytest.mark.parametrize(
    ("example_kind", "given", "says"),
    [
        ("classify", [LabelledText("a", "x", "file:1"), LabelledText("b", "x", "file:2")], "all 2 examples have the label 'x'"),
        ("compare", [TextPair("a", "b", None, 1.0, "file:1"), TextPair("c", "d", None, 1.0, "file:2")], "all 2 pairs have the score 1"),
        ("tag", [TaggedSentence(("a",), ("O",), "file:1")], "every word has the tag 'O'"),
        ("span", [Question("q", "p", (), where="file:1")], "none of the 1 questions has an answer"),
    ],
)
def test_nothing_to_learn(example_kind, given, says, tokenizer):
    with pytest.raises(BadInput, match=says):
        TASKS[{"span": "find-span"}.get(example_kind, example_kind)].settings_from(given)


def test_a_label_of_the_test_file_alone(tokenizer):
    task = new_task("classify", encoder("bert", tokenizer), tokenizer, examples("classify"))
    with pytest.raises(BadInput, match=r"test:3: the label 'news' is not in the training file, which has food, weather"):
        task.evaluate_examples([LabelledText("soup", "news", "test:3")])


def test_a_model_without_vectors(words):
    from stairs.models.ngram import NGram
    from stairs.models.settings import NGramConfig

    with pytest.raises(Unsupported, match="ngram has no token vectors"):
        new_task("classify", NGram(NGramConfig(**words.vocabulary_settings)), words, examples("classify"))


def test_texts_that_are_missing(tokenizer):
    task = new_task("compare", encoder("bert", tokenizer), tokenizer, examples("compare"))
    with pytest.raises(BadInput, match="only one text was given"):
        task.answer("soup")
    task = new_task("span", encoder("bert", tokenizer), tokenizer, examples("span"))
    with pytest.raises(BadInput, match="the question has no passage"):
        task.answer("where?")


def test_features_that_are_all_alike_are_whitened_to_zeros():
    scale = Standardize(4, True)
    scale.fit_to(torch.full((8, 4), 0.5))
    assert torch.equal(scale(torch.full((2, 4), 0.5)), torch.zeros(2, 4))
