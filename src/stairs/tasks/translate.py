"""Translate: a sentence in, the same in another language out; or any other text to text.

In training the decoder reads the true sentence, whatever it would have predicted itself ("teacher forcing"); in use it reads its own output so far:

    input [CLS]           output What
    input [CLS] What      output is
    input [CLS] What is   output the ...                                     until the output is [SEP]
"""

import functools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch

from stairs.data import TrainingData
from stairs.errors import BadInput, no_tokens, preview
from stairs.fast.corpus_slice import token_counts
from stairs.models.language_model import EncoderDecoder
from stairs.progress import track
from stairs.tasks.answers import Alignment, Answer, DecoderStep, TranslationAnswer, TreeNode
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.measurements import LanguageModelMetrics, Measurements, TranslationMetrics
from stairs.tasks.metrics import without_intervals
from stairs.tasks.parts.beam import BeamResult, beam_search, check_beam_size
from stairs.tasks.parts.decoding import generate_batch
from stairs.tasks.parts.generative import Generative
from stairs.tasks.parts.labelled_splits import labelled_data
from stairs.tasks.parts.stream import language_model_metrics
from stairs.tasks.parts.translation_pairs import TranslationRows, source_batch
from stairs.tasks.task import TrainingExamples
from stairs.tasks.translation_metrics import bleu_and_chrf
from stairs.text.batch import batches_by_length, next_token_batch
from stairs.text.examples import TranslationPair

BEAM_SIZE = 4
POSITIONS = 4096  # in a batch
SOURCE_POSITIONS = 1024  # in a batch that is translated; each has a beam
EVALUATED_SENTENCES = 500  # of a held-out split that a finished run translates
CONTEXTS_READ = 8  # of a source, by a model whose positions go beyond its context
REFERENCE_RATIO, SOURCE_RATIO, EXTRA_TOKENS = 1.5, 2, 20  # a translation has at most ratio times the tokens of its reference or source, and some more


class Translate(Generative):
    """An encoder, a decoder, and one tokenizer for both languages."""

    name = "translate"
    example_kind = "translate"
    monitor = "bits_per_character"
    translates = True
    evaluates_generation = True
    model: EncoderDecoder
    backwards = False  # from the second sentence of a pair to the first

    def describe(self) -> TaskConfig:
        return super().describe() | {"backwards": self.backwards}

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        task = super().open(folder, described)
        task.backwards = bool(described.get("backwards"))
        return task

    def in_direction(self, examples: Sequence[TranslationPair]) -> list[TranslationPair]:
        """In the direction of this run."""
        return [TranslationPair(pair.target, pair.source, pair.where) for pair in examples] if self.backwards else list(examples)

    def rows(self, examples: Sequence[Any]) -> TranslationRows:
        return TranslationRows(self.in_direction(examples), self.tokenizer, self.model.config.context)

    def examples(self, data: TrainingData, split: str = "train") -> TranslationRows:
        pairs = labelled_data(data)
        if split == "train":
            return self.rows(pairs.train)
        if split not in self.held_out_rows:
            self.held_out_rows[split] = self.rows(pairs.split(split))
        return self.held_out_rows[split]

    @functools.cached_property
    def held_out_rows(self) -> dict[str, TranslationRows]:
        """The validation and test pairs of a training, each encoded once."""
        return {}

    def target_counts(self, examples: TrainingExamples) -> np.ndarray:
        """Of the target sentences, each with its end."""
        rows = cast(TranslationRows, examples).rows
        counts = token_counts(np.concatenate([target for _, target in rows]).astype(np.int64), self.model.config.vocab_size)
        counts[self.tokenizer.end] += len(rows)
        return counts

    def sample(self, seed: int) -> str:
        if "validation" not in self.held_out_rows:
            return ""
        source = self.held_out_rows["validation"].examples[0].source
        return f"{source} -> {self.translate_texts([source], beam_size=1, model=self.model)[0]}"

    # Evaluation

    def evaluate_split(
        self, data: TrainingData, split: str = "validation", limit: int | None = None, sentences: int | None = None
    ) -> Measurements:
        """During training only the likelihood of the references; of a finished run also BLEU of some of its translations."""
        rows = self.examples(data, split)
        metrics = self.likelihood_metrics(rows, limit)
        if sentences is None:
            sentences = 0 if limit is not None else EVALUATED_SENTENCES
        return {**metrics, **self.translation_metrics(rows.examples[:sentences])} if sentences else metrics

    def count_positions(self, data: TrainingData, split: str = "validation") -> int:
        return int(self.examples(data, split).lengths.sum())

    def generate_for_timing(self, data: TrainingData, sentences: int) -> None:
        with without_intervals():
            self.translation_metrics(self.examples(data, "validation").examples[:sentences])

    def evaluate_examples(self, examples: Sequence[Any], beam_size: int = BEAM_SIZE) -> Measurements:
        rows = self.rows(examples)
        return {**self.likelihood_metrics(rows, None), **self.translation_metrics(rows.examples, beam_size)}

    def translation_metrics(self, examples: Sequence[TranslationPair], beam_size: int = BEAM_SIZE) -> TranslationMetrics:
        return bleu_and_chrf([example.target for example in examples], self.translations(examples, beam_size))

    def predict_examples(self, examples: Sequence[TranslationPair]) -> list[str]:
        """A translation of each source; "" for one that is empty or longer than the model reads."""
        predictions = [""] * len(examples)
        pairs, limit = self.in_direction(examples), self.max_source_tokens
        fitting = [i for i, ids in enumerate(self.tokenizer.encode_batch([pair.source for pair in pairs])) if 0 < len(ids) <= limit]
        for number, translation in zip(fitting, self.translations([pairs[i] for i in fitting]), strict=True):
            predictions[number] = translation
        return predictions

    def translations(self, examples: Sequence[TranslationPair], beam_size: int = BEAM_SIZE) -> list[str]:
        """The best translation of each source, in a length that fits its reference."""
        on_cpu = next(self.model.parameters()).device.type == "cpu"
        model = self.model.for_inference(self.precision) if on_cpu else self.model  # a new copy: the weights may have changed
        limits = [REFERENCE_RATIO * len(ids) + EXTRA_TOKENS for ids in self.tokenizer.encode_batch([example.target for example in examples])]
        with track("translating", total=len(examples), unit="sentences") as advance:
            return self.translate_texts([example.source for example in examples], beam_size=beam_size, model=model, advance=advance, limits=limits)

    @torch.no_grad()
    def likelihood_metrics(self, rows: TranslationRows, limit: int | None) -> LanguageModelMetrics:
        """Perplexity and bits per character of the references."""
        numbers = np.arange(len(rows.rows))
        positions = int(rows.lengths.sum())
        if limit is not None and positions > limit:
            numbers = np.unique(np.linspace(0, len(numbers) - 1, max(limit * len(numbers) // positions, 1)).astype(np.int64))
        device = next(self.model.parameters()).device
        bits = np.zeros(len(numbers))
        for group in batches_by_length(rows.lengths[numbers].tolist(), POSITIONS):
            log_likelihood = self.model.log_likelihood(rows.batch(numbers[group]).to(device))
            bits[group] = -log_likelihood.double().sum(1).cpu().numpy() / math.log(2)
        tokens = np.array([len(target) + 1 for _, target in rows.rows])
        return language_model_metrics(bits, tokens[numbers], rows.target_statistics, int(tokens.sum()))

    # Translating

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        limit = self.max_source_tokens
        ids_of_texts = self.tokenizer.encode_batch(list(texts))
        for number, (ids, text) in enumerate(zip(ids_of_texts, texts, strict=True), 1):
            if not ids:
                raise no_tokens(text, f"text {number}" if len(texts) > 1 else "")
            if len(ids) > limit:
                reason = f"{preview(text)} has {len(ids)} tokens, and this {self.model_name} reads at most {limit}"
                raise BadInput(f"{reason}; cut it into sentences, or train with --context {2 * limit + 4}")
        return ids_of_texts

    def translate_texts(
        self, texts: Sequence[str], *, beam_size: int = BEAM_SIZE, model: EncoderDecoder | None = None,
        advance: Callable[[int], None] = lambda count: None, limits: Sequence[float] | None = None,
    ) -> list[str]:  # fmt: skip
        """The best translation of each; `limits` are tokens, of which the largest holds for a whole batch."""
        check_beam_size(beam_size, 1)
        sources, translations = self.encode_texts(texts), [""] * len(texts)
        for numbers in batches_by_length([len(ids) for ids in sources], SOURCE_POSITIONS):
            limit = int(max(limits[n] for n in numbers)) if limits else None
            results = self.search([sources[n] for n in numbers], beam_size, model, limit=limit)
            for number, result in zip(numbers, results, strict=True):
                translations[number] = self.tokenizer.decode(result.hypotheses[0].ids)
            advance(len(numbers))
        return translations

    @torch.no_grad()
    def search(
        self, sources: list[list[int]], beam_size: int, model: EncoderDecoder | None = None, length_penalty: float = 1.0, tree: bool = False,
        limit: int | None = None,
    ) -> list[BeamResult]:  # fmt: skip
        """What beam search finds for sources of about one length."""
        model, tokenizer = model or self.inference_translator, self.tokenizer
        device = next(self.model.parameters()).device
        batch = source_batch(sources, tokenizer).to(device)
        first = torch.full((len(sources),), tokenizer.begin, device=device)
        length = min(self.max_output_tokens(sources), limit or sys.maxsize)
        return beam_search(
            model, model.initial_state(batch, beam_size, length), first,
            beam_size=beam_size, length=length, stop=tokenizer.end, suppressed_ids=tokenizer.suppressed_ids, length_penalty=length_penalty, tree=tree,
        )  # fmt: skip

    @property
    def inference_translator(self) -> EncoderDecoder:
        return cast(EncoderDecoder, self.inference_model)

    def max_output_tokens(self, sources: Sequence[Sequence[int]]) -> int:
        """The longest translation: as in training, the decoder reads it again after [CLS]; longer for a source beyond the context."""
        longest, context = max(map(len, sources)), self.model.config.context
        wanted = int(SOURCE_RATIO * longest + EXTRA_TOKENS)
        return wanted if longest > context - 2 else min(wanted, context - 1)

    @property
    def max_source_tokens(self) -> int:
        """Without its two special tokens; several contexts if the positions go beyond it."""
        config = self.model.config
        return config.context * (CONTEXTS_READ if config.reads_beyond_context else 1) - 2

    def answer(
        self,
        text: str,
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        length_penalty: float = 1.0,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        details: bool = True,
    ) -> TranslationAnswer:
        """The best translations; with `details` also how they came about: what the decoder read and gave at each step, what it attended to, and the
        search tree. With a temperature one translation is sampled instead."""
        beam_size = max(BEAM_SIZE, n_best) if beam_size is None else beam_size
        check_beam_size(beam_size, n_best)
        (source,), tokenizer = self.encode_texts([text]), self.tokenizer
        result = None
        if temperature:
            best = generate_batch(
                self.inference_model, [[tokenizer.begin]], length=self.max_output_tokens([source]), stop=tokenizer.end,
                suppressed_ids=tokenizer.suppressed_ids, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
                initial_state=lambda rows: self.inference_translator.initial_state(source_batch([source], tokenizer)),
            )[0]  # fmt: skip
        else:
            result = self.search([source], beam_size, length_penalty=length_penalty, tree=details)[0]
            best = result.hypotheses[0].ids
        answer: TranslationAnswer = {"text": text, "translation": tokenizer.decode(best)}
        if result is not None:
            answer["translations"] = [
                {"translation": tokenizer.decode(hypothesis.ids), "score": hypothesis.score, "log_probability": hypothesis.log_probability}
                for hypothesis in result.hypotheses[:n_best]
            ]
        if details:
            answer["trace"] = self.trace(best)
            answer["alignment"] = self.alignment(source, best)
            if result is not None:
                answer["tree"] = [[self.spelt(node) for node in nodes] for nodes in result.tree]
        return answer

    def answers(self, texts: Sequence[str], **options: object) -> Iterator[Answer]:
        """Of several texts in batches, where only their best translations are asked for."""
        if options.keys() <= {"beam_size", "details"} and not options.get("details", True):
            beam_size = cast(int | None, options.get("beam_size"))
            translations = self.translate_texts(texts, beam_size=BEAM_SIZE if beam_size is None else beam_size)
            yield from ({"text": text, "translation": translation} for text, translation in zip(texts, translations, strict=True))
        else:
            yield from super().answers(texts, **options)

    def summary(self, answer: Answer) -> str:
        shown = cast(TranslationAnswer, answer)
        return "\n  ".join([one["translation"] for one in shown["translations"]] if "translations" in shown else [shown["translation"]])

    def spelt(self, node: TreeNode) -> TreeNode:
        return {**node, "token": self.tokenizer.display_token(node["id"])}

    def trace(self, output_ids: list[int]) -> list[DecoderStep]:
        """What the decoder reads at each step, and what it then gives."""
        tokens = [self.tokenizer.display_token(i).strip() for i in (self.tokenizer.begin, *output_ids, self.tokenizer.end)]
        return [{"input": " ".join(tokens[:step]), "output": tokens[step]} for step in range(1, len(tokens))]

    def alignment(self, source: list[int], output_ids: list[int]) -> Alignment | None:
        """How much each output token attends to each source token; None for a model whose decoder reads one vector of the source."""
        tokenizer = self.tokenizer
        target = (*output_ids, tokenizer.end)[: self.max_output_tokens([source]) + 1]  # one that was cut off has no end
        batch = next_token_batch([list(target[:-1])], tokenizer.begin, target[-1], tokenizer.pad)
        weights = self.model.alignment(replace(batch, source=source_batch([source], tokenizer)))
        if weights is None:
            return None
        tokens = [[tokenizer.display_token(i) for i in ids] for ids in ((tokenizer.begin, *source, tokenizer.end), target)]
        return {"source": tokens[0], "target": tokens[1], "weights": weights[0].tolist()}
