"""Our tokenizer as other tools expect it: with special tokens around a text, and the vocabulary as a file of its own for older readers."""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Library
from tokenizers import processors

from stairs.files import write_atomically, write_json
from stairs.progress import say
from stairs.text.tokenizers.adopted_tokenizer import ROLES
from stairs.text.tokenizers.spec import CONFIG_FILE, TOKENIZER_FILE, read_json
from stairs.text.tokenizers.tokenizer import Tokenizer


def write(tokenizer: Tokenizer, folder: Path, *, max_length: int, adds_end_token: bool, pairs: bool, pad: str | None = None) -> None:
    """tokenizer.json, tokenizer_config.json, and vocab.txt, or vocab.json and merges.txt. `adds_end_token`: a text ends with a
    special token; `pairs`: two texts get different segments; `pad`: another padding token, added to the vocabulary."""
    if tokenizer.spec.chinese == "words":
        say("the exported tokenizer does not segment Chinese: segment it with jieba and join the words with spaces before you give it to other tools")
    tokenizer.save(folder)
    library = Library.from_str(tokenizer.backend.to_str())
    if pad is not None:
        library.add_special_tokens([pad])
    begin, end = tokenizer.token(tokenizer.begin), tokenizer.token(tokenizer.end)
    before, after = f"{begin} " if tokenizer.adds_begin else "", f" {end}" if adds_end_token else ""
    library.post_processor = processors.TemplateProcessing(
        single=f"{before}$A{after}",
        pair=f"{before}$A{after} $B:1{after and after + ':1'}",
        special_tokens=[(begin, tokenizer.begin), (end, tokenizer.end)],
    )
    write_atomically(folder / TOKENIZER_FILE, library.to_str().encode())
    names: dict[str, Any] = {keys[0]: tokenizer.token(getattr(tokenizer, role)) for role, (keys, _) in ROLES.items()}
    names |= {} if pairs else {"bos_token": begin, "eos_token": end}
    names |= {} if pad is None else {"pad_token": pad}
    inputs = ["input_ids", *(["token_type_ids"] if pairs else []), "attention_mask"]
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, "model_input_names": inputs}
    begin_setting = {} if pairs or adds_end_token else {"add_bos_token": tokenizer.adds_begin}  # transformers then ignores any other special token
    config = {**read_json(folder / CONFIG_FILE), **settings, **names, **begin_setting}
    write_json(folder / CONFIG_FILE, config)
    if tokenizer.spec.kind in ("wordpiece", "bpe", "byte-bpe"):
        library.model.save(str(folder))
