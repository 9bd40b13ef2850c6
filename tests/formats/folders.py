"""Small folders as other tools write them, made without those tools."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from stairs.formats.huggingface import task_heads, transformers_folder
from stairs.models.bert import BERT
from stairs.models.gpt import GPT
from stairs.models.settings import BERTConfig, GPTConfig
from stairs.tasks import Encode, NextToken
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TEXTS = ["The cat sat on the mat, didn't it?", "我来到北京清华大学。"]
PIECES = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"), "the", "cat", "北", "京", ",", "."]


def vocabulary(folder: Path) -> int:
    """BERT's vocabulary with special tokens that are not the first ones."""
    tokens = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    return len(tokens)


def far(model):
    """Far from the shy beginning, so that a difference would show."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.2)
    return model.eval()


def bert(folder: Path, parts=("pooler",), head=None, width=24):
    """A folder of BERT with word pieces; `head` is a layer on top, as transformers names it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=90), lambda: [TEXTS * 9])
    model = far(BERT(BERTConfig(tokenizer.vocab_size, context=40, width=width, heads=3, layers=2, objective="none", output_heads=parts)))
    task = Encode(model, tokenizer) if head is None else task_heads.task_with_head(model, tokenizer, head)
    transformers_folder.write(task, folder)
    return task


def gpt(folder: Path) -> NextToken:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=270), lambda: [TEXTS * 9])
    task = NextToken(far(GPT(GPTConfig(tokenizer.vocab_size, context=32, width=24, heads=3, layers=2))), tokenizer)
    transformers_folder.write(task, folder)
    return task


def change_json(path: Path, **values) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def change_tensors(folder: Path, change) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def with_classifier(folder: Path, outputs: int, **settings) -> None:
    """A folder of BertForSequenceClassification whose config.json says something else besides."""
    labels = [f"LABEL_{number}" for number in range(outputs)]
    weights = {"classifier.weight": torch.randn(outputs, 24), "classifier.bias": torch.randn(outputs)}
    two = {"task": "classify", "labels": ["a", "b"], "tensors": {"classifier.weight": torch.randn(2, 24), "classifier.bias": torch.randn(2)}}
    bert(folder, head=two)
    change_tensors(folder, lambda tensors: tensors.update(weights))
    change_json(folder / "config.json", **{"id2label": dict(enumerate(labels)), "label2id": None, **settings})
