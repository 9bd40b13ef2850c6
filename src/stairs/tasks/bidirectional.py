"""BothWays: what comes next, and what came before? Two language models that share the words, as ELMo has them.

    loss = sum over k of -ln p(t_k | t_1 .. t_k-1) - ln p(t_k | t_k+1 .. t_N)

Each direction by itself is a language model of the text and can be compared with the other steps: a word that cannot be said costs what the unknown
word costs, and its spelling.
"""

from typing import Any

import numpy as np

from stairs.fast.decode_state import CharacterState
from stairs.models.elmo import ELMo
from stairs.tasks.next_token import NextToken
from stairs.tasks.parts.stream import StreamExamples, bits_of_rows, language_model_metrics
from stairs.text.shards import Shards
from stairs.text.tokenizers.open_vocabulary import OpenVocabulary


class BidirectionalLM(NextToken):
    """Continues a text from the left, is judged from both ends, and gives every token vectors that know both sides."""

    name = "bidirectional-lm"
    model: ELMo
    tokenizer: OpenVocabulary

    def examples(self, shards: Shards, split: str = "train") -> StreamExamples:
        config = self.model.config
        self.tokenizer.warn_of_long_words(self.tokenizer.vocabulary)
        return StreamExamples(shards, split, config.context, config.burn_in)

    def initial_state(self, rows: list[int]) -> CharacterState:
        return CharacterState(self.tokenizer.character_ids)

    def evaluate_ids(self, ids: np.ndarray, limit: int | None = None, **known: Any) -> dict[str, Any]:
        bits, count = self.unsaid_words(ids)
        known = {**known, "spelling_bits": known["spelling_bits"] + bits, "unknown_words": known["unknown_words"] + count}
        found = language_model_metrics(*bits_of_rows(self.model, ids, limit, self.add_characters), **known)
        turned = language_model_metrics(*bits_of_rows(self.model, ids[::-1], limit, self.add_characters, backwards=True), **known)
        return {**found, "backward_perplexity": turned["perplexity"], "backward_bits_per_character": turned["bits_per_character"]}

    def unsaid_words(self, ids: np.ndarray) -> tuple[float, int]:
        """What the spelling of all words costs that can be read and not said, in bits, and how many there are."""
        numbers, counts = np.unique(ids[ids >= self.model.output_vocab], return_counts=True)
        costs = [self.tokenizer.spelling_bits(self.tokenizer.token(number)) for number in numbers.tolist()]
        return float(np.dot(costs, counts)) if costs else 0.0, int(counts.sum())
