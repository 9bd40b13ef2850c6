"""Folders of sentence-transformers: a BERT, the pooling of its token vectors, and whether the result is normalised.

modules.json                the modules in order: Transformer, Pooling, and perhaps Normalize, each with the subfolder of its settings
sentence_bert_config.json   max_seq_length: how many tokens are read
1_Pooling/config.json       the mean of the token vectors, or that of [CLS]
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.huggingface import transformers_folder
from stairs.formats.huggingface.architectures import ENCODERS
from stairs.models.bert import BERT
from stairs.tasks import BiEncoder, Encode, Task
from stairs.tasks.encode import SentencePooling
from stairs.text.tokenizers.spec import CONFIG_FILE as TOKENIZER_CONFIG
from stairs.text.tokenizers.spec import read_json

MODULES, SENTENCE_BERT_CONFIG, SENTENCE_TRANSFORMERS_CONFIG = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
TYPES = "sentence_transformers.models."  # names that old and new versions know
MODES = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}  # as older versions write it; newer ones write pooling_mode


def is_folder(folder: Path) -> bool:
    return (folder / MODULES).is_file()


def read(folder: Path) -> Encode:
    """The sentence model of a folder."""
    kinds, folders = read_modules(folder)
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise Unsupported(f"{folder / MODULES} lists {', '.join(map(preview, kinds))}; Transformer, Pooling and Normalize can be adopted")
    inner = folders[0]
    kind = transformers_folder.read_config(inner)["model_type"]
    if kind not in ENCODERS:
        raise Unsupported(f"{inner} holds a {kind}, and sentence vectors can be adopted only from {' and '.join(ENCODERS)}; adopt it by itself")
    task = transformers_folder.read(inner, encoder_only=True)
    settings = read_json_if_there(inner / SENTENCE_BERT_CONFIG)
    if settings.get("do_lower_case") and not task.tokenizer.spec.lowercase:
        raise Unsupported(f"{inner / SENTENCE_BERT_CONFIG} lowercases texts before a tokenizer that does not; choose another model")
    if read_json_if_there(folder / SENTENCE_TRANSFORMERS_CONFIG).get("default_prompt_name") is not None:
        raise Unsupported(f"{folder / SENTENCE_TRANSFORMERS_CONFIG} puts a prompt before every text, which is not supported; choose another model")
    length = settings.get("max_seq_length") or read_json_if_there(inner / TOKENIZER_CONFIG).get("model_max_length")
    max_length = length if isinstance(length, int) and length > 2 else None
    pooling = read_pooling(folders[1] / transformers_folder.CONFIG)
    return Encode(task.model, task.tokenizer, pooling=pooling, normalize=len(kinds) > 2, max_length=max_length)


def read_modules(folder: Path) -> tuple[list[str], list[Path]]:
    """The kind of each module, and its folder."""
    path = folder / MODULES
    try:
        entries = sorted(json.loads(path.read_bytes()), key=lambda entry: entry["idx"])
        kinds, names = [str(entry["type"]).rpartition(".")[2] for entry in entries], [entry["path"] for entry in entries]
        if not all(isinstance(name, str) and name in ("", Path(name).name) and name != ".." for name in names):
            raise ValueError("a path leaves the folder")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise BadInput(f"{path} is not a list of modules ({preview(str(error), 80)}); restore the file") from None
    return kinds, [folder / name for name in names]


def read_pooling(path: Path) -> SentencePooling:
    settings = read_json(path)
    mode = settings.get("pooling_mode")
    modes = [mode] if isinstance(mode, str) else [str(entry) for entry in mode or ()]
    modes = modes or [MODES.get(name, name) for name, value in settings.items() if name.startswith("pooling_mode_") and value is True]
    if modes not in (["mean"], ["cls"]):
        raise Unsupported(f"{path} pools by {', '.join(map(preview, modes)) or 'nothing'}; mean and cls can be adopted")
    return cast(SentencePooling, modes[0])


def read_json_if_there(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def write(task: Task, folder: Path) -> dict[str, Any]:
    """Write a bert run into an empty folder, and return what was written."""
    if not isinstance(task.model, BERT):
        raise Unsupported(f"{task.model_name} has no counterpart in sentence-transformers; bert runs can be converted to it")
    encoder = task if isinstance(task, Encode) else task.sentence_encoder if isinstance(task, BiEncoder) else Encode(task.model, task.tokenizer)
    written = transformers_folder.write(Encode(without_heads(task.model), task.tokenizer, max_length=encoder.max_length), folder)
    kinds = ["Transformer", "Pooling", *(["Normalize"] if encoder.normalize else [])]
    modules = [
        {"idx": number, "name": str(number), "path": f"{number}_{kind}" if number else "", "type": TYPES + kind} for number, kind in enumerate(kinds)
    ]
    write_json(folder / MODULES, modules)
    write_json(folder / SENTENCE_BERT_CONFIG, {"max_seq_length": encoder.max_length, "do_lower_case": False})
    write_json(folder / SENTENCE_TRANSFORMERS_CONFIG, {"__version__": {}, "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    modes = {name: mode == encoder.pooling for name, mode in MODES.items()}
    others = {"pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False}
    for module in modules[1:]:
        (folder / str(module["path"])).mkdir()
        write_json(folder / str(module["path"]) / transformers_folder.CONFIG, pooling_settings(task, modes | others) if module["idx"] == 1 else {})
    return {**written, "pooling": encoder.pooling, "normalize": encoder.normalize}


def pooling_settings(task: Task, modes: dict[str, bool]) -> dict[str, Any]:
    return {"word_embedding_dimension": task.model.config.width, **modes}


def without_heads(model: BERT) -> BERT:
    """Without the output layers for words and sentence pairs, which no sentence vector needs."""
    heads = tuple(head for head in model.config.output_heads or () if head == "pooler")
    dropped = [f"{name}." for name in ("word_head", "next_head")]
    kept = {name: tensor for name, tensor in model.tensors().items() if not name.startswith(tuple(dropped))}
    return type(model).from_tensors(replace(model.config, objective="none", output_heads=heads), kept).eval()


def write_json(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=2) + "\n", "utf-8")
