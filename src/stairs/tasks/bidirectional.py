"""BidirectionalLM: what comes next, and what came before? Two language models that share their word embeddings, as in ELMo.

    loss = sum over k of -ln p(t_k | t_1 .. t_k-1) - ln p(t_k | t_k+1 .. t_N)

Each direction by itself is a language model and can be compared with others: a word outside the output vocabulary costs what [UNK] costs, and its
spelling.
"""

import numpy as np

from stairs.data import TrainingData
from stairs.fast.decode_state import CharacterState
from stairs.models.elmo import ELMo
from stairs.tasks.measurements import Measurements
from stairs.tasks.next_token import NextToken
from stairs.tasks.parts.labelled_splits import text_data
from stairs.tasks.parts.stream import StreamExamples, TextStatistics, bits_of_rows, language_model_metrics
from stairs.text.batch import TrainingRows
from stairs.text.tokenizers.open_vocabulary import OpenVocabulary


class BidirectionalLM(NextToken):
    """Continues a text from the left, is evaluated in both directions, and gives every token a vector that depends on both sides."""

    name = "bidirectional-lm"
    model: ELMo
    tokenizer: OpenVocabulary

    def examples(self, data: TrainingData, split: str = "train") -> TrainingRows:
        config = self.model.config
        self.tokenizer.warn_of_long_words(self.tokenizer.vocabulary)
        return StreamExamples(text_data(data), split, config.context, config.burn_in, config.burn_in)

    def initial_state(self, rows: list[int]) -> CharacterState:
        return CharacterState(self.tokenizer.character_ids)

    def evaluate_ids(self, ids: np.ndarray, text: TextStatistics, limit: int | None = None, all_tokens: int | None = None) -> Measurements:
        text = text.with_unknown(*self.spelling_outside_output(ids))
        forward = language_model_metrics(*bits_of_rows(self.model, ids, limit, self.add_characters), text, all_tokens)
        backward = language_model_metrics(*bits_of_rows(self.model, ids[::-1], limit, self.add_characters, backwards=True), text, all_tokens)
        return {**forward, "backward_perplexity": backward["perplexity"], "backward_bits_per_character": backward["bits_per_character"]}

    def spelling_outside_output(self, ids: np.ndarray) -> tuple[float, int]:
        """The bits to spell all words that the model reads but cannot predict, and the number of such words."""
        numbers, counts = np.unique(ids[ids >= self.model.output_vocab], return_counts=True)
        costs = [self.tokenizer.spelling_bits(self.tokenizer.token(number)) for number in numbers.tolist()]
        return float(np.dot(costs, counts)) if costs else 0.0, int(counts.sum())
