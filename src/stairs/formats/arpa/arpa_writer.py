r"""ARPA: the text format in which n-gram tools exchange models.

\data\ with the number of n-grams of each order; then for each order lines of log10 probability, the words, and log10 back-off weight; <s>
and </s> are the begin and end of a sentence, <unk> stands for every other word; \end\.

A token of ours may hold white space (a character model's space), which ARPA cannot say: it is written as ▁ (U+2581).
"""

import re

import numpy as np

from stairs.fast.kneser_ney_trie import NEVER
from stairs.formats.arpa.arpa_reader import read
from stairs.formats.output import open_output
from stairs.models.ngram import NGram
from stairs.progress import track
from stairs.text.tokenizers.tokenizer import Tokenizer

__all__ = ["read", "write"]

BLOCK = 1 << 16


def write(model: NGram, tokenizer: Tokenizer, path: str) -> list[int]:
    """Write the model; returns how many n-grams of each order there are. Nothing is left at `path` if it fails."""
    words, log10s, _, backoffs, first = model.trie
    named = arpa_names(tokenizer)
    listed = log10s[: len(named)] > NEVER
    listed[[tokenizer.begin, tokenizer.unknown]] = True
    sizes = [int(listed.sum()), *model.sizes.tolist()[1:]]
    with open_output(path) as file, track("writing", total=sum(sizes), unit="n-grams") as advance:
        file.write(("\\data\\\n" + "".join(f"ngram {n}={size}\n" for n, size in enumerate(sizes, 1)) + "\n").encode())
        texts = [named]  # the words of each n-gram of the order below
        start = 0
        for n, size in enumerate(model.sizes.tolist(), 1):
            places = np.arange(start, start + size) if n > 1 else np.flatnonzero(listed)
            file.write(f"\\{n}-grams:\n".encode())
            if n > 1:
                below = start - len(texts[-1])
                counts = np.diff(first[below : start + 1])
                contexts = np.repeat(np.arange(len(texts[-1])), counts)
                texts.append([])
            for block in range(0, len(places), BLOCK):
                part = places[block : block + BLOCK]
                if n > 1:
                    pairs = zip(contexts[block : block + BLOCK].tolist(), words[part].tolist(), strict=True)
                    said = [f"{texts[-2][context]} {named[word]}" for context, word in pairs]
                    if n < len(sizes):
                        texts[-1] += said
                else:
                    said = [named[i] for i in part.tolist()]
                probabilities = log10s[part].tolist()
                if n < len(sizes):
                    lines = [f"{p:.7g}\t{text}\t{b:.7g}\n" for p, text, b in zip(probabilities, said, backoffs[part].tolist(), strict=True)]
                else:
                    lines = [f"{p:.7g}\t{text}\n" for p, text in zip(probabilities, said, strict=True)]
                file.write("".join(lines).encode())
                advance(len(part))
            file.write(b"\n")
            texts = texts[-1:]
            start += size
        file.write(b"\\end\\\n")
    return sizes


def arpa_names(tokenizer: Tokenizer) -> list[str]:
    """The tokens as ARPA writes them."""
    named = [re.sub(r"\s", "▁", token) for token in tokenizer.vocabulary]
    for place, name in ((tokenizer.begin, "<s>"), (tokenizer.end, "</s>"), (tokenizer.unknown, "<unk>")):
        named[place] = name
    return named
