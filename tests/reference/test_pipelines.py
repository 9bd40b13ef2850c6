"""What `stairs tune` makes of a BERT opens in the pipelines of transformers, with the same answers."""

import pytest

from stairs.formats.huggingface import transformers_folder
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import QUESTION, SENTENCES, encoder, examples, new_task

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.reference


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [[*SENTENCES, QUESTION]])


def exported(example_kind, tokenizer, tmp_path, given=None):
    train = given or examples(example_kind, 100)
    options = TrainingOptions(epochs=4, batch_examples=8, learning_rate=3e-3, precision="fp32", patience=0)
    fit(new_task(example_kind, encoder("bert", tokenizer), tokenizer, train), LabelledSplits(train[:80], train[80:]), tmp_path / "run", options)
    task = load(tmp_path / "run")
    (tmp_path / "folder").mkdir()
    transformers_folder.write(task, tmp_path / "folder")
    return task, str(tmp_path / "folder")


def test_a_classifier(tokenizer, tmp_path):
    task, folder = exported("classify", tokenizer, tmp_path)
    theirs = transformers.pipeline("text-classification", model=folder, tokenizer=folder, top_k=None)
    for text in SENTENCES[:5]:
        expected = task.answer(text)["probabilities"]
        assert {result["label"]: pytest.approx(result["score"], abs=1e-5) for result in theirs([text])[0]} == expected


def test_a_comparison(tokenizer, tmp_path):
    task, folder = exported("compare", tokenizer, tmp_path)
    theirs = transformers.pipeline("text-classification", model=folder, tokenizer=folder, top_k=None)
    for first, second in zip(SENTENCES[:3], SENTENCES[3:6], strict=True):
        expected = task.answer(first, second=second)["probabilities"]
        result = theirs({"text": first, "text_pair": second})
        assert {one["label"]: pytest.approx(one["score"], abs=1e-5) for one in result} == expected


def test_a_score(tokenizer, tmp_path):
    pairs = [TextPair(a, b, None, 1.0 + 4 * (a[0] == b[0])) for a in SENTENCES[:10] for b in SENTENCES[::30]]
    task, folder = exported("compare", tokenizer, tmp_path, pairs)
    model, cut = transformers.AutoModelForSequenceClassification.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    output = model(**cut(SENTENCES[0], SENTENCES[9], return_tensors="pt")).logits.item()
    assert task.answer(SENTENCES[0], second=SENTENCES[9])["score"] == pytest.approx(output, abs=1e-4)


def test_tags(tokenizer, tmp_path):
    task, folder = exported("tag", tokenizer, tmp_path)
    theirs = transformers.pipeline("token-classification", model=folder, tokenizer=folder, ignore_labels=[])
    text = SENTENCES[11]
    firsts = [result["entity"] for result in theirs(text) if not result["word"].startswith("##")]
    assert firsts == task.answer(text)["tags"]


def test_answers(tokenizer, tmp_path):
    task, folder = exported("span", tokenizer, tmp_path)
    model, cut = transformers.AutoModelForQuestionAnswering.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    given = cut(QUESTION, SENTENCES[11], return_tensors="pt", return_offsets_mapping=True)
    offsets = given.pop("offset_mapping")[0].tolist()
    output = model(**given)
    inside = [place for place, side in enumerate(given.sequence_ids(0)) if side == 1]
    first = max(inside, key=lambda place: output.start_logits[0, place])
    last = max((place for place in inside if place >= first), key=lambda place: output.end_logits[0, place])
    answer = task.answer(QUESTION, second=SENTENCES[11])
    assert answer["answer"] == SENTENCES[11][offsets[first][0] : offsets[last][1]]
