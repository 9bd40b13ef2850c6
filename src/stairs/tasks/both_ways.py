"""BothWays: what comes next, and what came before? Two language models that share the words, as ELMo has them.

    loss = sum over k of -ln p(t_k | t_1 .. t_k-1) - ln p(t_k | t_k+1 .. t_N)

Each direction by itself is a language model of the text and can be compared with the other steps: a word that cannot be said costs what the unknown
word costs, and its spelling.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput, preview
from stairs.tasks.next_token import NextToken
from stairs.tasks.stream import StreamExamples, quality, surprise_of_rows
from stairs.text.batch import Batch
from stairs.text.open_words import OpenWords
from stairs.text.shards import Shards


class BothWays(NextToken):
    """Continues a text from the left, is judged from both ends, and gives every token vectors that know both sides."""

    name = "both-ways"
    tokenizer: OpenWords

    def token_vectors(self, texts: list[str], encode: Callable[[Batch], Tensor] | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        """With both marks around the text, since it is read from either end."""
        for text in texts:
            ids = self.tokenizer.encode(text)
            if not ids:
                raise BadInput(f"there are no tokens in {preview(text)}; give a text with words")
            row = torch.tensor([[self.tokenizer.begin, *ids, self.tokenizer.end]])
            with torch.no_grad():
                found = (encode or self.model.encode)(Batch(row, torch.ones_like(row, dtype=torch.bool)))
            yield [self.tokenizer.token(i) for i in ids], found[0, 1:-1].float().numpy()

    def examples(self, shards: Shards, split: str = "train") -> StreamExamples:
        config = self.model.config
        self.tokenizer.tell_of_long(self.tokenizer.vocabulary)
        return StreamExamples(shards, split, config.context, config.carry)

    def evaluate_stream(self, ids: np.ndarray, most: int | None = None, **known: Any) -> dict[str, Any]:
        bits, count = self.unsaid_words(ids)
        known = {**known, "spelling_bits": known["spelling_bits"] + bits, "unknown_words": known["unknown_words"] + count}
        found = quality(*surprise_of_rows(self.model, ids, most), **known)
        turned = quality(*surprise_of_rows(self.model, ids[::-1], most, backwards=True), **known)
        return {**found, "backward_perplexity": turned["perplexity"], "backward_bits_per_character": turned["bits_per_character"]}

    def unsaid_words(self, ids: np.ndarray) -> tuple[float, int]:
        """What the spelling of all words costs that can be read and not said, in bits, and how many there are."""
        numbers, counts = np.unique(ids[ids >= self.model.outputs], return_counts=True)
        costs = [self.tokenizer.spelling_bits(self.tokenizer.token(number)) for number in numbers.tolist()]
        return float(np.dot(costs, counts)) if costs else 0.0, int(counts.sum())
