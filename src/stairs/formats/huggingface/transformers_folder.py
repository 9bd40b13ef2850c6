"""Folders of Hugging Face's `transformers`: BERT, GPT-2, Marian and Pegasus, with their tokenizers, both ways.

config.json           settings, and the architecture: what stands on top of the blocks
model.safetensors     weights, see tensors.py; bert.py, gpt2.py and marian.py have the names
tokenizer.json        and tokenizer_config.json: text/tokenizers/adopted_tokenizer.py reads them, exported.py writes them
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.huggingface import architectures, bert_mapping, gpt2_mapping, marian_mapping, task_heads, tensors, tokenizer_export
from stairs.layers.positions import sinusoidal
from stairs.models.bert import BERT
from stairs.models.gpt import GPT
from stairs.models.transformer import Transformer
from stairs.tasks import TASKS, Encode, Task
from stairs.tasks.parts.supervised import Supervised
from stairs.text.tokenizers.adopted_tokenizer import AdoptedTokenizer
from stairs.text.tokenizers.spec import CONFIG_FILE as TOKENIZER_CONFIG
from stairs.text.tokenizers.spec import read_json
from stairs.text.tokenizers.tokenizer import Tokenizer

CONFIG, GENERATION = "config.json", "generation_config.json"
SUPPORTED = "BERT (model_type bert), GPT-2 (gpt2), Marian (marian) and Pegasus (pegasus)"
ENCODER_DECODERS = ("marian", "pegasus")
SIDES = ("encoder_attention_heads", "encoder_layers", "encoder_ffn_dim")
REQUIRED_COUNTS = {
    "bert": ("vocab_size", "max_position_embeddings", "hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size"),
    "gpt2": ("vocab_size", "n_positions", "n_embd", "n_head", "n_layer"),
    **dict.fromkeys(ENCODER_DECODERS, ("vocab_size", "max_position_embeddings", "d_model", *SIDES)),
}
FRACTIONS = ("layer_norm_eps", "hidden_dropout_prob", "layer_norm_epsilon", "resid_pdrop")


def is_folder(folder: Path) -> bool:
    return (folder / CONFIG).is_file() or (folder / "modules.json").is_file()


def read(folder: Path, encoder_only: bool = False) -> Task:
    """The model of a folder, ready to answer: BERT with its layer for words fills blanks, without it gives vectors; GPT-2 continues; Marian
    and Pegasus translate. `encoder_only`: a BERT for vectors, whatever stands on top of it."""
    settings = read_config(folder)
    if encoder_only and settings["model_type"] != "bert":
        raise Unsupported(f"{folder / CONFIG} describes a {settings['model_type']}, and only a bert has an encoder by itself; leave --encoder out")
    if not encoder_only:
        architectures.check_architecture(settings, str(folder / CONFIG))
    tokenizer = read_tokenizer(folder)
    if tokenizer.vocab_size > settings["vocab_size"]:
        raise vocabulary_mismatch(folder, tokenizer, settings["vocab_size"])
    found = tensors.read_tensors(folder)
    if settings["model_type"] == "gpt2":
        generator = gpt2_from(settings, found, tokenizer, folder)
        return TASKS[generator.pretrains_with](generator, fit_vocabulary(tokenizer, settings["vocab_size"], folder))
    if settings["model_type"] in ENCODER_DECODERS:
        translator = marian_from(settings, found, tokenizer, folder)
        return TASKS[translator.pretrains_with](translator, fit_vocabulary(tokenizer, translator.config.vocab_size, folder))
    model, head = bert_from(settings, found, folder, encoder_only)
    tokenizer = fit_vocabulary(tokenizer, settings["vocab_size"], folder)
    if head is not None:
        return task_heads.task_with_head(model, tokenizer, head)
    return Encode(model, tokenizer) if model.word_head is None else TASKS[model.pretrains_with](model, tokenizer)


def read_config(folder: Path) -> dict[str, Any]:
    """config.json, checked as far as it is needed."""
    path = folder / CONFIG
    if not path.is_file():
        raise BadInput(f"{folder} has no {CONFIG}; give a folder that transformers wrote")
    settings = read_json(path)
    kind = settings.get("model_type")
    if kind not in REQUIRED_COUNTS:
        built = settings.get("architectures") or kind or "nothing"
        name = built[0] if isinstance(built, list) and built else built
        raise Unsupported(f"{path} describes {preview(name)}, which has no place on these stairs; {SUPPORTED} can be adopted")
    for name in REQUIRED_COUNTS[kind]:
        value = settings.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise BadInput(f"{path}: {name} is {preview(value)} where a count was expected; restore the file")
    for name in FRACTIONS:
        value = settings.get(name, 0)
        if not isinstance(value, int | float) or not 0 <= value < 1:
            raise BadInput(f"{path}: {name} is {preview(value)} where a number from 0 to 1 was expected; restore the file")
    return settings


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer, one of ours if we wrote the folder."""
    ours = (folder / TOKENIZER_CONFIG).is_file() and "stairs" in read_json(folder / TOKENIZER_CONFIG)
    return Tokenizer.load(folder) if ours else AdoptedTokenizer.read(folder)


def fit_vocabulary(tokenizer: Tokenizer, rows: int, folder: Path) -> Tokenizer:
    """With a token for every row of the weights; some tools add rows for speed."""
    if tokenizer.vocab_size == rows:
        return tokenizer
    if not isinstance(tokenizer, AdoptedTokenizer):
        raise vocabulary_mismatch(folder, tokenizer, rows)
    return tokenizer.pad_vocabulary(rows)


def vocabulary_mismatch(folder: Path, tokenizer: Tokenizer, rows: int) -> BadInput:
    came = f"the tokenizer in {folder} has {tokenizer.vocab_size} tokens and the weights have vectors for {rows}"
    return BadInput(f"{came}; they belong to different models, so give a folder in which they fit")


def gpt2_from(settings: dict[str, Any], found: dict[str, Tensor], tokenizer: Tokenizer, folder: Path) -> GPT:
    found = gpt2_mapping.normalize_names(found)
    config = build_config(gpt2_mapping.our_config, settings, found, folder)
    config = type(config)(**{**vars(config), "begin": tokenizer.begin, "end": tokenizer.end, "unknown": tokenizer.unknown})
    return build_model(GPT, config, found, gpt2_mapping.tensor_pairs, folder)


def marian_from(settings: dict[str, Any], found: dict[str, Tensor], tokenizer: Tokenizer, folder: Path) -> Transformer:
    config = build_config(marian_mapping.our_config, settings, found, folder)
    config = replace(config, begin=tokenizer.begin, end=tokenizer.end)
    own = marian_mapping.remove_marian_tensors(found, config, sinusoidal(config.context, config.width), str(folder))
    return build_model(Transformer, config, own, marian_mapping.tensor_pairs, folder)


def bert_from(settings: dict[str, Any], found: dict[str, Tensor], folder: Path, encoder_only: bool) -> tuple[BERT, dict[str, Any] | None]:
    found = bert_mapping.normalize_names(architectures.drop_head(found) if encoder_only else found, str(folder))
    head = None if encoder_only else architectures.take_head(settings, found, str(folder / CONFIG))
    config = build_config(bert_mapping.our_config, settings, found, folder)
    return build_model(BERT, config, found, bert_mapping.tensor_pairs, folder), head


def build_config(config_of: Any, settings: dict[str, Any], found: dict[str, Tensor], folder: Path) -> Any:
    where = str(folder / CONFIG)
    try:
        return config_of(settings, found, where)
    except TypeError as error:
        raise BadInput(f"{where}: a setting is not of its kind ({preview(str(error), 80)}); restore the file") from None
    except BadInput as error:
        raise error if where in str(error) else BadInput(f"{where}: {error}") from None



def build_model(kind: type[Any], config: Any, found: dict[str, Tensor], same: Any, folder: Path) -> Any:
    """A model with their weights. It is made only when they fit, so that no config can ask for more memory than its weights have."""
    if config.layers > len(found):
        raise BadInput(f"{folder / CONFIG} says {config.layers} layers and there are {len(found)} tensors in all; give a whole folder")
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in kind(config).state_dict().items()}
    renamed = tensors.to_our_names(found, same(config), shapes, folder)
    model = kind(config)
    model.restore(renamed)
    return model.eval()


def write(task: Task, folder: Path) -> dict[str, Any]:
    """Write config.json, weights and tokenizer into an empty folder, and say what was written."""
    model, tokenizer = task.model, task.tokenizer
    ids = {role: getattr(tokenizer, role) for role in ("pad", "begin", "end")}
    head = task_heads.exported_head(task)
    generation: dict[str, Any] | None = None
    if isinstance(model, BERT):
        settings = bert_mapping.hf_config(model.config, ids, head)
        found = tensors.to_their_names(model.tensors(), bert_mapping.tensor_pairs(model.config))
        if head is not None:  # in place of the other layers
            others = ("cls.", "bert.pooler.") if head["example_kind"] in ("tag", "find-span") else ("cls.",)
            found = {name: tensor for name, tensor in found.items() if not name.startswith(others)} | head["tensors"]
        if settings["architectures"] == ["BertModel"]:
            found = {name.removeprefix("bert."): tensor for name, tensor in found.items()}
    elif isinstance(model, GPT):
        settings, generation = gpt2_mapping.hf_config(model.config, ids), gpt2_mapping.hf_generation_config(ids, tokenizer.suppressed_ids)
        table = {} if model.config.positions == "learned" else {"positions.weight": model.get_buffer("positions.table")}
        found = tensors.to_their_names(model.tensors() | table, gpt2_mapping.tensor_pairs(model.config))
    elif isinstance(model, Transformer):
        settings = marian_mapping.hf_config(model.config, ids)
        waves = sinusoidal(model.config.context, model.config.width)
        ours = tensors.to_their_names(model.tensors(), marian_mapping.tensor_pairs(model.config))
        found = marian_mapping.add_marian_tensors(ours, model.config, waves, ids, tokenizer.suppressed_ids)
        generation = marian_mapping.hf_generation_config(model.config, ids)
    else:
        raise Unsupported(f"{task.model_name} has no form in transformers; bert, gpt and transformer runs can be written as huggingface")
    if generation is not None:
        (folder / GENERATION).write_text(json.dumps(generation, indent=2) + "\n", "utf-8")
    (folder / CONFIG).write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", "utf-8")
    save_file(found, folder / tensors.WEIGHTS, metadata={"format": "pt"})
    pad = marian_mapping.PAD if settings["model_type"] == "marian" else None
    tokenizer_export.write(tokenizer, folder, max_length=max_length(task), adds_end_token=model.adds_end_token, pairs=isinstance(model, BERT),
        pad=pad)
    return {"architecture": settings["architectures"][0], "tensors": len(found)}


def max_length(task: Task) -> int:
    """Tokens of a text that the run reads, marks counted."""
    context = task.model.config.context
    return task.max_length if isinstance(task, Encode) else task.max_tokens or context if isinstance(task, Supervised) else context
