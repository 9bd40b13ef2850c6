"""The layers on top of an adopted BERT: those that would be misread are refused in one sentence, and the encoder can be had without them."""

import json

import pytest

from stairs.errors import BadInput, Unsupported
from stairs.formats.huggingface import transformers_folder
from stairs.tasks import Classify, Compare, Encode, MultiLabel, Regress
from tests.formats.folders import TEXTS, bert, change_json, change_tensors, gpt, with_classifier

RAW = {"activation_fn": "torch.nn.modules.linear.Identity"}
MISREAD = [
    (3, {"problem_type": "regression"}, "3 numbers .regression."),
    (1, {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, "a cross-encoder of two texts"),
    (2, {"architectures": ["BertForMultipleChoice"]}, "2 outputs, and a choice has one score"),
    (2, {"architectures": ["BertForNextSentencePrediction"]}, "predicts the next sentence"),
    (2, {"architectures": ["BertForSomethingNew"]}, "BertForSomethingNew"),
    (2, {"architectures": ["BertModel"]}, "names BertModel"),
    (2, {"architectures": None}, "names no architecture"),
]


@pytest.mark.parametrize(("outputs", "settings", "message"), MISREAD)
def test_a_layer_that_would_be_misread_is_refused_and_its_encoder_is_not(tmp_path, command, outputs, settings, message):
    with_classifier(tmp_path / "folder", outputs, **settings)
    with pytest.raises(BadInput, match=message) as refused:
        transformers_folder.read(tmp_path / "folder")
    assert "\n" not in str(refused.value) and "--encoder" in str(refused.value)
    ended = command("adopt", "folder", "--out", "runs/a")
    assert ended.code == 2 and not (tmp_path / "runs").exists()
    assert isinstance(transformers_folder.read(tmp_path / "folder", encoder_only=True), Encode)


def test_the_encoder_alone_from_the_command_line(tmp_path, command):
    with_classifier(tmp_path / "folder", 3, problem_type="multi_label_classification")
    result = command("adopt", "folder", "--encoder", "--out", "runs/a", "--json")
    assert result.code == 0 and json.loads(result.out)["task"] == "encode", result.err
    gpt(tmp_path / "gpt")
    for other in ("gpt", "vectors.txt"):
        ended = command("adopt", other, "--encoder", "--out", "runs/b")
        assert ended.code == 2 and "leave" in ended.err and not (tmp_path / "runs/b").exists()


def test_any_number_of_labels_come_back_with_their_threshold(tmp_path):
    with_classifier(tmp_path / "folder", 3, problem_type="multi_label_classification", id2label={"0": "a", "1": "b", "2": "c"})
    task = transformers_folder.read(tmp_path / "folder")
    assert isinstance(task, MultiLabel) and task.threshold == 0.5 and list(task.answer("the cat")["probabilities"]) != []
    task.head.threshold.fill_(0.25)
    (tmp_path / "again").mkdir()
    transformers_folder.write(task, tmp_path / "again")
    again = transformers_folder.read(tmp_path / "again")
    assert isinstance(again, MultiLabel) and again.threshold == 0.25 and again.answer("the cat") == task.answer("the cat")
    change_json(tmp_path / "again" / "config.json", stairs={"threshold": "high"})
    with pytest.raises(BadInput, match="the threshold is 'high', not a number from 0 to 1"):
        transformers_folder.read(tmp_path / "again")


@pytest.mark.parametrize("settings", [{}, {"problem_type": "regression"}])
def test_one_number_for_a_text_comes_back_on_its_scale(tmp_path, settings):
    with_classifier(tmp_path / "folder", 1, **settings)
    task = transformers_folder.read(tmp_path / "folder")
    assert isinstance(task, Regress)
    before = task.answer("the cat")["value"]
    task.settings |= {"mean": 50.0, "deviation": 20.0}
    assert task.answer("the cat")["value"] == pytest.approx(50 + 20 * before)
    (tmp_path / "again").mkdir()
    transformers_folder.write(task, tmp_path / "again")
    assert transformers_folder.read(tmp_path / "again").answer("the cat")["value"] == pytest.approx(50 + 20 * before, rel=1e-5)


def test_one_number_for_two_texts_is_a_score_where_the_folder_says_so(tmp_path):
    with_classifier(tmp_path, 1, sentence_transformers=RAW)
    task = transformers_folder.read(tmp_path)
    assert isinstance(task, Compare) and isinstance(task.answer("the cat", second="the mat")["score"], float)


def test_labels_of_two_texts_are_a_comparison_and_others_are_not(tmp_path):
    with_classifier(tmp_path / "pairs", 2, id2label={"0": "ENTAILMENT", "1": "neutral"})
    assert type(transformers_folder.read(tmp_path / "pairs")) is Compare
    with_classifier(tmp_path / "texts", 3)
    assert type(transformers_folder.read(tmp_path / "texts")) is Classify


def test_a_comparison_comes_back_as_one(tmp_path):
    with_classifier(tmp_path / "first", 2, stairs={"task": "compare"})
    task = transformers_folder.read(tmp_path / "first")
    (tmp_path / "second").mkdir()
    transformers_folder.write(task, tmp_path / "second")
    assert transformers_folder.read(tmp_path / "second").answer("the cat", second=TEXTS[0]) == task.answer("the cat", second=TEXTS[0])


def test_a_layer_that_is_named_and_missing(tmp_path):
    bert(tmp_path)
    change_json(tmp_path / "config.json", architectures=["BertForTokenClassification"])
    with pytest.raises(BadInput, match="BertForTokenClassification, and the weights have no classifier"):
        transformers_folder.read(tmp_path)
    with_classifier(tmp_path / "other", 2)
    change_tensors(tmp_path / "other", lambda tensors: [tensors.pop(f"bert.pooler.dense.{name}") for name in ("weight", "bias")])
    with pytest.raises(BadInput, match="no pooler"):
        transformers_folder.read(tmp_path / "other")


@pytest.mark.parametrize("name", ["GPT2ForSequenceClassification", "GPT2DoubleHeadsModel"])
def test_other_classes_of_gpt2(tmp_path, name):
    gpt(tmp_path)
    change_json(tmp_path / "config.json", architectures=[name])
    with pytest.raises(Unsupported, match=f"{name}.*GPT2LMHeadModel, GPT2Model can be adopted"):
        transformers_folder.read(tmp_path)
