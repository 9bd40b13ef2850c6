r"""ARPA: the text format in which n-gram tools exchange models.

\data\ with the number of n-grams of each order; then for each order lines of log10 probability, words and log10 back-off weight; \end\. <s> and </s>
are the begin and end of a sentence, <unk> stands for all other words.

A token of ours may hold white space (the space of a character model), which ARPA does not allow: it is written as ▁ (U+2581).
"""

import re

import numpy as np

from stairs.fast.kneser_ney_trie import NEVER
from stairs.formats.output import open_output
from stairs.models.ngram import NGram
from stairs.progress import track
from stairs.text.tokenizers.tokenizer import Tokenizer

BLOCK = 1 << 16  # n-grams written at a time


def write(model: NGram, tokenizer: Tokenizer, path: str) -> list[int]:
    """Write the model; returns the number of n-grams of each order. Nothing is left at `path` if it fails."""
    words, log10s, _, backoffs, first_children = model.trie.lookup_arrays
    names = arpa_names(tokenizer)
    is_listed = log10s[: len(names)] > NEVER
    is_listed[[tokenizer.begin, tokenizer.unknown]] = True
    sizes = [int(is_listed.sum()), *model.sizes.tolist()[1:]]
    with open_output(path) as file, track("writing", total=sum(sizes), unit="n-grams") as advance:
        file.write(("\\data\\\n" + "".join(f"ngram {order}={size}\n" for order, size in enumerate(sizes, 1)) + "\n").encode())
        contexts, start = names, 0  # the n-grams of the order below as text, and the first node of this order
        for order, size in enumerate(model.sizes.tolist(), 1):
            is_highest = order == len(sizes)
            file.write(f"\\{order}-grams:\n".encode())
            if order == 1:
                nodes, parents = np.flatnonzero(is_listed), np.zeros(0, np.int64)
            else:
                nodes = np.arange(start, start + size)
                parents = np.repeat(np.arange(len(contexts)), np.diff(first_children[start - len(contexts) : start + 1]))
            ngrams: list[str] = []
            for at in range(0, len(nodes), BLOCK):
                block = nodes[at : at + BLOCK]
                if order == 1:
                    texts = [names[node] for node in block.tolist()]
                else:
                    pairs = zip(parents[at : at + BLOCK].tolist(), words[block].tolist(), strict=True)
                    texts = [f"{contexts[parent]} {names[word]}" for parent, word in pairs]
                    ngrams += [] if is_highest else texts
                weights = [""] * len(block) if is_highest else [f"\t{backoff:.7g}" for backoff in backoffs[block].tolist()]
                rows = zip(log10s[block].tolist(), texts, weights, strict=True)
                file.write("".join(f"{log10:.7g}\t{text}{weight}\n" for log10, text, weight in rows).encode())
                advance(len(block))
            file.write(b"\n")
            contexts = names if order == 1 else ngrams
            start += size
        file.write(b"\\end\\\n")
    return sizes


def arpa_names(tokenizer: Tokenizer) -> list[str]:
    """The tokens as ARPA writes them."""
    names = [re.sub(r"\s", "▁", token) for token in tokenizer.vocabulary]
    for number, name in ((tokenizer.begin, "<s>"), (tokenizer.end, "</s>"), (tokenizer.unknown, "<unk>")):
        names[number] = name
    return names
