"""Folders of Hugging Face's `transformers`: BERT, RoBERTa, XLNet, GPT-2, Marian and Pegasus, with their tokenizers, both ways.

config.json           settings and architecture, see architectures.py
model.safetensors     weights, see tensors.py; the files named after a model and mapping list the names
tokenizer.json        and tokenizer_config.json: text/tokenizers/adopted_tokenizer.py reads them, tokenizer_export.py writes them
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.huggingface import (
    architectures,
    bert_mapping,
    gpt2_mapping,
    marian_mapping,
    roberta_mapping,
    task_heads,
    tensors,
    tokenizer_export,
    xlnet_mapping,
)
from stairs.formats.huggingface.architectures import OutputLayer, Settings
from stairs.formats.huggingface.plain_attention import plain_tensors
from stairs.formats.huggingface.tensors import TensorPair
from stairs.layers.positions import sinusoidal
from stairs.models.base import Model
from stairs.models.bert import BERT, RoBERTa, XLNet
from stairs.models.gpt import GPT
from stairs.models.settings import ModelConfig
from stairs.models.transformer import Transformer
from stairs.tasks import TASKS, Encode, Task
from stairs.tasks.parts.supervised import Supervised
from stairs.text.tokenizers.adopted_tokenizer import AdoptedTokenizer
from stairs.text.tokenizers.spec import CONFIG_FILE as TOKENIZER_CONFIG
from stairs.text.tokenizers.spec import read_json
from stairs.text.tokenizers.tokenizer import Tokenizer

Weights = dict[str, Tensor]  # by name
C = TypeVar("C", bound=ModelConfig)
M = TypeVar("M", bound=Model)
CONFIG, GENERATION = "config.json", "generation_config.json"
SUPPORTED = "BERT (model_type bert), RoBERTa (roberta), XLNet (xlnet), GPT-2 (gpt2), Marian (marian) and Pegasus (pegasus)"
ENCODER_DECODERS = ("marian", "pegasus")
SIDES = ("encoder_attention_heads", "encoder_layers", "encoder_ffn_dim")
ENCODER_COUNTS = ("vocab_size", "max_position_embeddings", "hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size")
REQUIRED_COUNTS = {
    **dict.fromkeys(architectures.ENCODERS, ENCODER_COUNTS),
    "xlnet": ("vocab_size", "d_model", "n_head", "n_layer", "d_inner"),
    "gpt2": ("vocab_size", "n_positions", "n_embd", "n_head", "n_layer"),
    **dict.fromkeys(ENCODER_DECODERS, ("vocab_size", "max_position_embeddings", "d_model", *SIDES)),
}
FRACTIONS = ("layer_norm_eps", "dropout", "hidden_dropout_prob", "layer_norm_epsilon", "resid_pdrop")


def is_folder(folder: Path) -> bool:
    return (folder / CONFIG).is_file() or (folder / "modules.json").is_file()


def read(folder: Path, encoder_only: bool = False) -> Task:
    """The model of a folder with its task: BERT fills blanks, or gives vectors if it has no output layer for words; GPT-2 continues; Marian and
    Pegasus translate. `encoder_only`: a BERT for vectors, whatever its output layer is."""
    settings = read_config(folder)
    if encoder_only and settings["model_type"] not in architectures.ENCODERS:
        described = f"{folder / CONFIG} describes a {settings['model_type']}"
        raise Unsupported(f"{described}, and only {' and '.join(architectures.ENCODERS)} have an encoder of their own; leave --encoder out")
    if not encoder_only:
        architectures.check_architecture(settings, str(folder / CONFIG))
    tokenizer = read_tokenizer(folder)
    if tokenizer.vocab_size > settings["vocab_size"]:
        raise vocabulary_mismatch(folder, tokenizer, settings["vocab_size"])
    weights = tensors.read_tensors(folder)
    if settings["model_type"] == "gpt2":
        generator = read_gpt2(settings, weights, tokenizer, folder)
        return TASKS[generator.pretrains_with](generator, fit_vocabulary(tokenizer, settings["vocab_size"], folder))
    if settings["model_type"] in ENCODER_DECODERS:
        translator = read_marian(settings, weights, tokenizer, folder)
        return TASKS[translator.pretrains_with](translator, fit_vocabulary(tokenizer, translator.config.vocab_size, folder))
    if settings["model_type"] == "xlnet":
        model, head = read_xlnet(settings, architectures.drop_head(weights) if encoder_only else weights, tokenizer, folder), None
    else:
        model, head = read_bert(settings, weights, folder, encoder_only)
    tokenizer = fit_vocabulary(tokenizer, settings["vocab_size"], folder)
    if head is not None:
        if isinstance(model, RoBERTa) and head["task"] in roberta_mapping.PAIR_HEADS and isinstance(tokenizer, AdoptedTokenizer):
            problem = f"{folder} compares two texts that two </s> separate, and here one does"
            raise Unsupported(f"{problem}; {architectures.ENCODER_ONLY}")
        return task_heads.task_with_head(model, tokenizer, head)
    return TASKS[model.pretrains_with](model, tokenizer) if model.fills_blanks else Encode(model, tokenizer)


def read_config(folder: Path) -> Settings:
    """config.json, checked as far as it is needed."""
    path = folder / CONFIG
    if not path.is_file():
        raise BadInput(f"{folder} has no {CONFIG}; give a folder that transformers wrote")
    settings = read_json(path)
    kind = settings.get("model_type")
    if kind not in REQUIRED_COUNTS:
        described = settings.get("architectures") or kind or "nothing"
        name = described[0] if isinstance(described, list) and described else described
        raise Unsupported(f"{path} describes {preview(name)}, which is not supported; {SUPPORTED} can be adopted")
    for name in REQUIRED_COUNTS[kind]:
        value = settings.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise BadInput(f"{path}: {name} is {preview(value)}, not a positive whole number; restore the file")
    for name in FRACTIONS:
        value = settings.get(name, 0)
        if not isinstance(value, int | float) or not 0 <= value < 1:
            raise BadInput(f"{path}: {name} is {preview(value)}, not a number from 0 to 1; restore the file")
    return settings


def read_tokenizer(folder: Path) -> Tokenizer:
    """One of ours if Stairs wrote the folder."""
    is_ours = (folder / TOKENIZER_CONFIG).is_file() and "stairs" in read_json(folder / TOKENIZER_CONFIG)
    return Tokenizer.load(folder) if is_ours else AdoptedTokenizer.read(folder)


def fit_vocabulary(tokenizer: Tokenizer, rows: int, folder: Path) -> Tokenizer:
    """A tokenizer with a token for every row of the embeddings; some tools pad the rows for speed."""
    if tokenizer.vocab_size == rows:
        return tokenizer
    if not isinstance(tokenizer, AdoptedTokenizer):
        raise vocabulary_mismatch(folder, tokenizer, rows)
    return tokenizer.pad_vocabulary(rows)


def vocabulary_mismatch(folder: Path, tokenizer: Tokenizer, rows: int) -> BadInput:
    sizes = f"the tokenizer in {folder} has {tokenizer.vocab_size} tokens, and the weights have vectors for {rows}"
    return BadInput(f"{sizes}; they belong to different models, so give a folder in which they match")


def read_gpt2(settings: Settings, weights: Weights, tokenizer: Tokenizer, folder: Path) -> GPT:
    weights = gpt2_mapping.normalize_names(weights)
    config = build_config(gpt2_mapping.our_config, settings, weights, folder)
    config = replace(config, begin=tokenizer.begin, end=tokenizer.end, unknown=tokenizer.unknown)
    return build_model(GPT, config, weights, gpt2_mapping.tensor_pairs(config), folder)


def read_marian(settings: Settings, weights: Weights, tokenizer: Tokenizer, folder: Path) -> Transformer:
    config = build_config(marian_mapping.our_config, settings, weights, folder)
    config = replace(config, begin=tokenizer.begin, end=tokenizer.end)
    own = marian_mapping.remove_marian_tensors(weights, config, sinusoidal(config.context, config.width), str(folder))
    return build_model(Transformer, config, own, marian_mapping.tensor_pairs(config), folder)


def read_bert(settings: Settings, weights: Weights, folder: Path, encoder_only: bool) -> tuple[BERT, OutputLayer | None]:
    is_roberta, where = settings["model_type"] == "roberta", str(folder / CONFIG)
    if is_roberta:
        weights = architectures.drop_head(weights) if encoder_only else weights
        settings, weights = roberta_mapping.as_bert_settings(settings, where), roberta_mapping.as_bert_tensors(weights, settings, where)
    weights = bert_mapping.normalize_names(architectures.drop_head(weights) if encoder_only else weights, str(folder))
    head = None if encoder_only else architectures.take_head(settings, weights, where)
    config = build_config(roberta_mapping.our_config if is_roberta else bert_mapping.our_config, settings, weights, folder)
    return build_model(RoBERTa if is_roberta else BERT, config, weights, bert_mapping.tensor_pairs(config), folder), head


def read_xlnet(settings: Settings, weights: Weights, tokenizer: Tokenizer, folder: Path) -> BERT:
    weights = xlnet_mapping.normalize_names(weights, str(folder))
    config = replace(build_config(xlnet_mapping.our_config, settings, weights, folder), mask=tokenizer.mask)
    return build_model(XLNet, config, weights, xlnet_mapping.tensor_pairs(config), folder, lambda own: xlnet_mapping.complete(own, config))


def build_config(our_config: Callable[[Settings, Weights, str], C], settings: Settings, weights: Weights, folder: Path) -> C:
    where = str(folder / CONFIG)
    try:
        config = our_config(settings, weights, where)
    except TypeError as error:
        raise BadInput(f"{where}: a setting has the wrong type ({preview(str(error), 80)}); restore the file") from None
    except BadInput as error:
        raise error if where in str(error) else BadInput(f"{where}: {error}") from None
    if config.layers > len(weights):  # before anything is listed layer by layer
        raise BadInput(f"{where} says {config.layers} layers, and there are only {len(weights)} tensors; give a complete folder")
    return config


def build_model(
    kind: type[M], config: ModelConfig, weights: Weights, pairs: list[TensorPair], folder: Path, complete: Callable[[Weights], Weights] = dict
) -> M:
    """A model with their weights. It has no memory before they fit, so that no config can ask for more than its weights have. `complete` makes all
    of our tensors from those that they have under our names."""
    with torch.device("meta"):
        model = kind(config)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    model.restore(complete(tensors.to_our_names(weights, pairs, shapes, folder)))
    return model.eval()


def write(task: Task, folder: Path) -> dict[str, Any]:
    """Write config.json, weights and tokenizer into an empty folder, and return what was written."""
    model, tokenizer = task.model, task.tokenizer
    ids = {role: getattr(tokenizer, role) for role in ("pad", "begin", "end")}
    head = task_heads.exported_head(task)
    generation: dict[str, Any] | None = None
    if isinstance(model, XLNet):
        weights, settings = xlnet_mapping.hf_tensors(model.tensors(), model.config), xlnet_mapping.hf_config(model.config, ids)
        if settings["architectures"] == ["XLNetModel"]:
            weights = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    elif isinstance(model, BERT):
        own = plain_tensors(model, model.config, tuple(bert_mapping.ACTIVATIONS.values()))
        settings = bert_mapping.hf_config(model.config, ids, head)
        weights = tensors.to_their_names(own, bert_mapping.tensor_pairs(model.config))
        if head is not None:  # it replaces the other output layers
            others = ("cls.", "bert.pooler.") if head["task"] in ("tag", "find-span") else ("cls.",)
            weights = {name: tensor for name, tensor in weights.items() if not name.startswith(others)} | head["tensors"]
        if settings["architectures"] == ["BertModel"]:
            weights = {name.removeprefix("bert."): tensor for name, tensor in weights.items()}
        if isinstance(model, RoBERTa):
            settings = roberta_mapping.hf_config(settings, ids)
            weights = roberta_mapping.hf_tensors(weights, ids, settings["architectures"][0])
    elif isinstance(model, GPT):
        own = plain_tensors(model, model.config, ("gelu-tanh",))
        settings, generation = gpt2_mapping.hf_config(model.config, ids), gpt2_mapping.hf_generation_config(ids, tokenizer.suppressed_ids)
        weights = tensors.to_their_names(own, gpt2_mapping.tensor_pairs(model.config))
    elif isinstance(model, Transformer):
        own = plain_tensors(model, model.config, ("relu",))
        settings = marian_mapping.hf_config(model.config, ids)
        positions = sinusoidal(model.config.context, model.config.width)
        ours = tensors.to_their_names(own, marian_mapping.tensor_pairs(model.config))
        weights = marian_mapping.add_marian_tensors(ours, model.config, positions, ids, tokenizer.suppressed_ids)
        generation = marian_mapping.hf_generation_config(model.config, ids)
    else:
        convertible = "bert, roberta, xlnet, gpt and transformer runs can be converted to huggingface"
        raise Unsupported(f"{model.name} has no counterpart in transformers; {convertible}")
    if generation is not None:
        (folder / GENERATION).write_text(json.dumps(generation, indent=2) + "\n", "utf-8")
    (folder / CONFIG).write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", "utf-8")
    save_file(weights, folder / tensors.WEIGHTS, metadata={"format": "pt"})
    pad = marian_mapping.PAD if settings["model_type"] == "marian" else None
    pairs = isinstance(model, BERT) and model.config.segments > 1
    tokenizer_export.write(tokenizer, folder, max_length=max_length(task), adds_end_token=model.adds_end_token, pairs=pairs, pad=pad)
    return {"architecture": settings["architectures"][0], "tensors": len(weights)}


def max_length(task: Task) -> int:
    """How many tokens of a text the run reads, special tokens included."""
    context = task.model.config.context
    return task.max_length if isinstance(task, Encode) else task.max_tokens or context if isinstance(task, Supervised) else context
