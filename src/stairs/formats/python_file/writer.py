"""Writes a classifier without gradients as one Python file: its words by a regular expression, its numbers compressed, no import of Stairs.

The classes of characters in the regular expression are found by probing the tokenizer with every code point, so that the two cannot drift apart.
"""

import base64
import functools
import re
import textwrap
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from stairs.errors import BadInput, Unsupported
from stairs.formats.output import open_output
from stairs.formats.python_file import template
from stairs.tasks import NGramClassifier, Task, TfidfClassifier, VectorClassifier
from stairs.tasks.classifier import Classifier
from stairs.tasks.parts.tfidf import HAN_SIZES, NGRAM_SIZES, Tfidf
from stairs.tasks.word_vectors import SIF_WEIGHT
from stairs.text.chinese import HAN_RANGES, segmenter_name
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.spec import TokenizerSpec, assemble_backend, build_model
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.version import __version__

CODE_POINTS = (*range(0xD800), *range(0xE000, 0x40000))  # without surrogates, which no text has; beyond, letters of no script are assigned
IMPORTS = {  # each with what needs it
    "import base64": "", "import functools": "functools.", "import math": "math.", "import re": "", "import sys": "", "import zlib": "",
    "from bisect import bisect_left": "bisect_left(", "from collections import Counter": "Counter(",
}  # fmt: skip
CUTS = {"rjieba": "cut", "jieba": "lcut as cut"}
LINE = 120  # characters of a line of compressed numbers


def writable_classifier(task: Task) -> Classifier:
    """The task, if it fits into a file."""
    tokenizer, other = task.tokenizer, "write the run as a .stairs file"
    if not isinstance(task, TfidfClassifier | NGramClassifier | VectorClassifier) or task.example_kind != "classify":
        kind = f"a {task.name} run of {task.model_name}"
        raise Unsupported(f"{kind} cannot be written as a Python file, only tfidf, n-gram and vector classifiers; {other}")
    if isinstance(task, VectorClassifier) and task.encoder is not None:
        raise Unsupported(f"this run reads {task.model_name} beside its word vectors, for which a Python file has no place; {other}")
    if isinstance(task, VectorClassifier) and task.model.has_subwords:
        raise Unsupported(f"the vectors of this run are made of character n-grams, for which a Python file has no place; {other}")
    if type(tokenizer) is not Tokenizer or tokenizer.kind != "words":
        kind = "looks words up in a table of adopted vectors" if tokenizer.kind == "words" else f"cuts text into {tokenizer.kind}"
        raise Unsupported(f"the tokenizer of this run {kind}, and a Python file has words only, cut at spaces and punctuation or by jieba; {other}")
    return task


def write(task: Classifier, path: str) -> int:
    """Returns the number of bytes; nothing is left at `path` if it fails."""
    if path != "-" and not path.endswith(".py"):
        raise BadInput(f"--out {path} does not end in .py; a Python file is written")
    module = Path(path).stem
    source = python_source(task, module if module.isidentifier() else "model").encode()
    with open_output(path) as file:
        file.write(source)
    return len(source)


def python_source(task: Classifier, module: str) -> str:
    parts = {**model_parts(task), **word_parts(task.tokenizer), "LABELS": repr(task.labels), "VERSION": __version__, "MODULE": module}
    code = parts["SCORES"] + parts["SEGMENTER"]
    if "HAN." in code + parts["PREPROCESS"]:
        parts["CHARACTERS"] += fill(template.HAN, {"HAN": literal(["[", *map(escape_range, HAN_RANGES), "]+"])})
    parts["IMPORTS"] = "".join(f"{line}\n" for line, use in IMPORTS.items() if use in code)
    return fill(template.FILE, parts)


def model_parts(task: Classifier) -> dict[str, str]:
    """What it is, its arithmetic, and its numbers."""
    match task:
        case TfidfClassifier():
            return {"TITLE": "Logistic regression over TF-IDF", "SCORES": tfidf_scores(task.tfidf, "scores"), "DATA": tfidf_data(task)}
        case NGramClassifier():
            return {"TITLE": "An n-gram model for each label", "SCORES": template.NGRAM, "DATA": ngram_data(task)}
        case VectorClassifier():
            rest = "BIAS" if task.tfidf is None else "term_scores(words)"
            terms = "" if task.tfidf is None else "\n\n" + tfidf_scores(task.tfidf, "term_scores")
            scores = fill(template.VECTORS, {"REST": rest}) + terms
            return {"TITLE": "Logistic regression over mean word vectors", "SCORES": scores, "DATA": vector_data(task)}
    raise Unsupported(f"{task.name} has no arithmetic in Python")


def fill(text: str, parts: Mapping[str, str]) -> str:
    return re.sub("@([A-Z_]+)@", lambda name: parts[name[1]], text)


def word_parts(tokenizer: Tokenizer) -> dict[str, str]:
    """How a text is cut into words."""
    spaces, isolated = character_classes(tokenizer.spec)
    classes = {"SPACES": literal(spaces), "ISOLATED": literal(isolated)}
    characters = fill(template.CHARACTERS if isolated else template.CHARACTERS_BETWEEN_SPACES, classes)
    preprocess = segmenter = needs = ""
    if tokenizer.spec.chinese == "words":
        first, second = sorted(CUTS, key=lambda name: name != segmenter_name())
        names = {"FIRST": first, "SECOND": second, "FIRST_CUT": CUTS[first], "SECOND_CUT": CUTS[second]}
        preprocess, segmenter, needs = template.SEGMENT, fill(template.SEGMENTER, names), template.NEEDS
    if tokenizer.spec.lowercase:
        preprocess += template.LOWERCASE
    return {"CHARACTERS": characters, "NEEDS": needs, "PREPROCESS": preprocess, "SEGMENTER": segmenter}


@functools.cache
def character_classes(spec: TokenizerSpec) -> tuple[list[str], list[str]]:
    """White space, and what is a word of its own whatever stands around it, as ranges of a regular expression."""
    backend = assemble_backend(spec, build_model(spec.kind))
    split, normalizer = backend.pre_tokenizer.pre_tokenize_str, backend.normalizer
    text = "aa".join(map(chr, CODE_POINTS)) + "aa"  # what is no word of its own is longer than a character then
    spaces = set(text).difference(*(word for word, _ in split(text)))
    isolated = {word for word, _ in split(normalizer.normalize_str(text) if normalizer else text) if len(word) == 1}
    return escape_ranges(spaces), escape_ranges(isolated)


def escape_ranges(characters: Iterable[str]) -> list[str]:
    points = sorted(map(ord, characters))
    starts = [point for before, point in pairwise([-2, *points]) if point != before + 1]
    ends = [point for point, after in pairwise([*points, -2]) if after != point + 1]
    return list(map(escape_range, zip(starts, ends, strict=True)))


def escape_range(ends: tuple[int, int]) -> str:
    """As it stands within the brackets of a regular expression."""
    points = dict.fromkeys(ends)  # one for a range of one
    return "-".join(f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}" for point in points)


def literal(parts: Sequence[str]) -> str:
    """A raw string of several lines."""
    lines = textwrap.wrap(" ".join(parts), LINE, break_long_words=False, break_on_hyphens=False)
    return "(\n" + "".join(f'    r"{line.replace(" ", "")}"\n' for line in lines) + ")"


def tfidf_scores(tfidf: Tfidf, name: str) -> str:
    sizes = {"NAME": name, "ORDER": str(tfidf.order), "NGRAM_SIZES": repr(NGRAM_SIZES), "HAN_SIZES": repr(HAN_SIZES)}
    return fill(template.TFIDF_WITH_CHARACTERS if tfidf.first_word else template.TFIDF, {**sizes, "SCALED": template.SCALED})


def tfidf_data(task: TfidfClassifier) -> str:
    return "\n".join([*term_data(task.tfidf, task.weight), f"BIAS = {pack_array(task.bias)}"])


def term_data(tfidf: Tfidf, weight: np.ndarray) -> list[str]:
    return [
        f"COLUMNS = {{term: column for column, term in enumerate({pack_lines(tfidf.terms)})}}",
        f"IDF = {pack_array(tfidf.idf.astype(np.float32))}.astype(float)",
        f"WEIGHT = {pack_array(weight.T)}.reshape({len(tfidf.terms)}, {len(weight)})",
    ]


def ngram_data(task: NGramClassifier) -> str:
    tokenizer = task.tokenizer
    tries = "".join("    tuple(map(memoryview, (" + ", ".join(map(pack_array, trie.lookup_arrays)) + "))),\n" for trie in task.tries)
    return "\n".join([
        f"IDS = {{word: number for number, word in enumerate({pack_lines(tokenizer.vocabulary)})}}",
        f"UNKNOWN, BEGIN, END = {tokenizer.unknown}, {tokenizer.begin}, {tokenizer.end}",
        f"PRIORS = {task.priors!r}",
        f"TRIES = [  # of each label: words, log10s, suffixes, backoffs and first\n{tries}]",
    ])  # fmt: skip


def vector_data(task: VectorClassifier) -> str:
    """A label's score is linear in the vectors, so a word needs no more than its scores."""
    first = len(SPECIAL_TOKENS)
    weights = SIF_WEIGHT / (SIF_WEIGHT + task.words.frequencies[first:])
    scores = weights[:, None] * (task.words.word_model.all_vectors()[first:].astype(np.float64) @ task.weight.T.astype(np.float64))
    return "\n".join([
        f"ROWS = {{word: row for row, word in enumerate({pack_lines(task.tokenizer.vocabulary[first:])})}}",
        f"WORD_SCORES = {pack_array(scores.astype(np.float32))}.reshape({len(scores)}, {len(task.labels)}).astype(float)",
        f"BIAS = {pack_array(task.bias)}",
        *([] if task.tfidf is None else term_data(task.tfidf, task.term_weight)),
    ])  # fmt: skip


def pack_lines(lines: Sequence[str]) -> str:
    """Words hold no line break, since they are cut at white space."""
    return f"read_lines({pack_bytes(chr(10).join(lines).encode())})"


def pack_array(array: np.ndarray) -> str:
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return f'read_array("{little.dtype.str}", {pack_bytes(little.tobytes())})'


def pack_bytes(content: bytes) -> str:
    text = base64.b64encode(zlib.compress(content, 9)).decode()
    return '"""\n' + "\n".join(textwrap.wrap(text, LINE)) + '\n"""'
