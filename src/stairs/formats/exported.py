"""A tokenizer of ours as other tools expect it: with the marks around a text, and the vocabulary by itself for older readers."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Library
from tokenizers import processors

from stairs.progress import say
from stairs.text import tokenizer_files as files
from stairs.text.adopted import ROLES
from stairs.text.tokenizer import Tokenizer


def write(tokenizer: Tokenizer, folder: Path, *, longest: int, marked: bool, pairs: bool) -> None:
    """tokenizer.json, tokenizer_config.json, and vocab.txt, or vocab.json and merges.txt. `marked`: a text begins and ends with a mark; `pairs`: its
    tokens are told apart from those of a second one."""
    if tokenizer.spec.chinese == "words":
        say("the exported tokenizer does not know Chinese words: cut Chinese text with jieba, spaces between, before you give it to other tools")
    tokenizer.save(folder)
    library = Library.from_str(tokenizer.library.to_str())
    begin, end = tokenizer.token(tokenizer.begin), tokenizer.token(tokenizer.end)
    if marked:
        library.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {end}", pair=f"{begin} $A {end} $B:1 {end}:1", special_tokens=[(begin, tokenizer.begin), (end, tokenizer.end)]
        )
    files.write(folder / files.TOKENIZER, library.to_str())
    names: dict[str, Any] = {keys[0]: tokenizer.token(getattr(tokenizer, role)) for role, (keys, _) in ROLES.items()}
    names |= {} if pairs else {"bos_token": begin, "eos_token": end}
    inputs = ["input_ids", *(["token_type_ids"] if pairs else []), "attention_mask"]
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": longest, "model_input_names": inputs}
    config = {**files.read_json(folder / files.CONFIG), **about, **names}
    files.write(folder / files.CONFIG, json.dumps(config, ensure_ascii=False, indent=2) + "\n")
    if tokenizer.spec.kind in ("wordpiece", "bpe", "byte-bpe"):
        library.model.save(str(folder))
