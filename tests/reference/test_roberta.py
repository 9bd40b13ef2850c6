"""Folders of RoBERTa, both ways: the same weights give the same numbers in `transformers` and here."""

import json

import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.formats.huggingface import transformers_folder
from stairs.models.bert import RoBERTa
from stairs.models.settings import RoBERTaConfig
from stairs.tasks import TASKS
from stairs.text.batch import Batch
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.reference.test_transformers import TEXTS, far, near, read_by_both, written

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.reference
OURS, THEIRS = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"), ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def write_tokenizer(folder):
    """Our byte-level BPE with RoBERTa's special tokens and their ids, as vocab.json and merges.txt."""
    ours = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=300), lambda: [TEXTS * 9])
    model = json.loads(ours.backend.to_str())["model"]
    ordinary = [token for token in sorted(model["vocab"], key=model["vocab"].get) if token not in OURS]
    vocabulary = {token: number for number, token in enumerate([*THEIRS[:4], *ordinary, THEIRS[4]])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{' '.join(pair)}\n" for pair in model["merges"]))
    return len(vocabulary)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "theirs"
    path.mkdir()
    return path


def saved(folder, kind, **settings):
    size = write_tokenizer(folder)
    config = transformers.RobertaConfig(
        vocab_size=size, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48, max_position_embeddings=42,
        type_vocab_size=1, layer_norm_eps=1e-5, **settings,
    )
    theirs = far(getattr(transformers, kind)(config))
    theirs.save_pretrained(folder)
    return theirs


def same_weights(again, theirs):
    """Rows 0 and 1 of the positions belong to no token of a text."""
    for name, tensor in theirs.state_dict().items():
        start = 2 if name.endswith("position_embeddings.weight") else 0
        assert torch.equal(again.state_dict()[name][start:], tensor[start:]), name


@pytest.mark.parametrize("writes_tokenizer_json", [True, False])
def test_masked_words_both_ways(folder, tmp_path, writes_tokenizer_json):
    theirs = saved(folder, "RobertaForMaskedLM")
    if writes_tokenizer_json:
        transformers.RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt")).save_pretrained(folder)
    task = transformers_folder.read(folder)
    assert (task.name, task.model_name, task.model.config.context, task.model.config.objective) == ("masked-token", "roberta", 40, "full-sentences")
    given, batch = read_by_both(folder)
    roles = [getattr(task.tokenizer, role) for role in ("begin", "pad", "end", "unknown", "mask")]
    assert roles == [0, 1, 2, 3, task.tokenizer.vocab_size - 1]
    rows = [task.tokenizer.with_special_ids(task.tokenizer.encode(text), adds_end_token=True)[0] for text in TEXTS]
    assert rows == [row[: sum(real)] for row, real in zip(given["input_ids"].tolist(), given["attention_mask"].tolist(), strict=True)]
    again = written(task, tmp_path / "again", "AutoModelForMaskedLM")
    assert type(again).__name__ == "RobertaForMaskedLM"
    for model in (theirs, again):
        assert near(task.model.predict(batch)[batch.real], model(**given).logits[batch.real])
    same_weights(again, theirs)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "again")(TEXTS)["input_ids"] == rows
    assert len(task.answer("the cat ___", top=3)["blanks"][0]["words"]) == 3


@pytest.mark.parametrize(("kind", "task"), [("RobertaModel", "encode"), ("RobertaForSequenceClassification", "classify"),
                                            ("RobertaForTokenClassification", "tag")])  # fmt: skip
def test_other_classes_both_ways(folder, tmp_path, kind, task):
    labels = {"id2label": {0: "bad", 1: "good", 2: "so-so"}, "label2id": {"bad": 0, "good": 1, "so-so": 2}} if task != "encode" else {}
    theirs = saved(folder, kind, **labels)
    found = transformers_folder.read(folder)
    assert found.name == task and isinstance(found.model, RoBERTa)
    given, batch = read_by_both(folder)
    body = theirs if task == "encode" else theirs.roberta
    assert near(found.model.encode(batch)[batch.real], body(**given).last_hidden_state[batch.real])
    if task == "classify":
        expected = theirs(**given).logits.softmax(-1).detach()
        assert near(found.predict_proba(TEXTS), expected)
    same_weights(written(found, tmp_path / "again", kind), theirs)
    assert transformers_folder.read(folder, encoder_only=True).name == "encode"


def test_our_roberta_there_and_back(tmp_path):
    tokenizer = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=290), lambda: [TEXTS * 9])
    model = far(RoBERTa(RoBERTaConfig(tokenizer.vocab_size, context=32, width=24, heads=3, layers=2)))
    theirs = written(TASKS["masked-token"](model, tokenizer), tmp_path / "out", "AutoModelForMaskedLM")
    given, batch = read_by_both(tmp_path / "out")
    assert type(theirs).__name__ == "RobertaForMaskedLM" and "token_type_ids" not in given
    assert near(model.predict(batch)[batch.real], theirs(**given).logits[batch.real])
    again = transformers_folder.read(tmp_path / "out")
    assert again.model_name == "roberta" and again.tokenizer.hash == tokenizer.hash
    assert all(torch.equal(again.model.state_dict()[name], tensor) for name, tensor in model.state_dict().items())
    ids = torch.randint(5, tokenizer.vocab_size, (2, 32))  # a whole context
    assert near(model.predict(Batch(ids, ids > 0)), theirs(ids).logits)


def test_what_would_be_misread_is_refused(folder):
    theirs = saved(folder, "RobertaForQuestionAnswering")
    with pytest.raises(Unsupported, match="two </s> separate"):
        transformers_folder.read(folder)
    config = json.loads((folder / "config.json").read_text())
    for change, error, message in (
        ({"architectures": ["RobertaForCausalLM"], "is_decoder": True}, Unsupported, "reads from left to right; .* choose another model"),
        ({"pad_token_id": None}, BadInput, "pad_token_id is None"),
        ({"pad_token_id": 41}, BadInput, "leave no position for a text"),
    ):
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(error, match=message):
            transformers_folder.read(folder)
    assert theirs.config.pad_token_id == 1
