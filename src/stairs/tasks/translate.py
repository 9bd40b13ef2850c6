"""Translate: a sentence in, the same in another language out; or any other text to text.

In training the decoder reads the true sentence, whatever it would have said itself ("teacher forcing"); in use it reads what it has said so far:

    reads [CLS]           says What
    reads [CLS] What      says is
    reads [CLS] What is   says the ...                                     until it says [SEP]
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from stairs.errors import BadInput, preview
from stairs.fast.corpus_slice import token_counts
from stairs.models.base import Model
from stairs.models.language_model import EncoderDecoder
from stairs.progress import say, track
from stairs.tasks.parts.decoding import BeamResult, beam_search, check_beam_size, generate_batch
from stairs.tasks.parts.generative import Generative
from stairs.tasks.parts.stream import language_model_metrics
from stairs.tasks.translation_metrics import bleu_and_chrf
from stairs.text.batch import Batch, batches_by_length, next_token_batch, pad_rows
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.bulk_encoding import BulkEncoder
from stairs.text.tokenizers.tokenizer import Tokenizer

BEAM = 4
POSITIONS = 4096  # judged at once
SOURCE_POSITIONS = 1024  # translated at once; each has a beam
JUDGED = 500  # sentences of the held-out part that a finished run translates
LONGER_THAN_TRUE = 1.5  # where the true translation is known, so many times its length and MORE
LONGER, MORE = 2, 20  # how long a translation may become: so many times its source, and so many tokens more


class Pairs:
    """What training goes through: `lengths`, and `batch(numbers, epoch, seed)`."""

    def __init__(self, examples: Sequence[TranslationPair], tokenizer: Tokenizer, context: int) -> None:
        self.tokenizer = tokenizer
        sources, targets = (tokenizer.encode_batch([getattr(example, side) for example in examples]) for side in ("source", "target"))
        fits = [i for i, (one, other) in enumerate(zip(sources, targets, strict=True)) if 0 < len(one) <= context - 2 and len(other) < context]
        if len(fits) < len(examples):
            say(f"{len(examples) - len(fits)} of {len(examples)} pairs are longer than {context} tokens, or empty, and left out")
        if not fits:
            raise BadInput(f"all {len(examples)} pairs are longer than {context} tokens, or empty; give shorter ones, or a larger --context")
        self.examples = [examples[i] for i in fits]
        self.rows = [(sources[i], targets[i]) for i in fits]
        self.lengths = np.array([len(source) + len(target) + 3 for source, target in self.rows], np.int64)

    @functools.cached_property
    def metadata(self) -> dict[str, Any]:
        """What bits per character need to know of the targets."""
        targets = [example.target for example in self.examples]
        spelt = BulkEncoder(self.tokenizer).encode_documents([[target] for target in targets])
        return {
            "characters": sum(len(target) + 1 for target in targets),
            "spelling_bits": spelt.spelling_bits,
            "unknown_words": spelt.unknown_words,
        }

    def batch(self, numbers: Sequence[int] | np.ndarray, epoch: int = 0, seed: int = 0) -> Batch:
        tokenizer = self.tokenizer
        asked = next_token_batch([self.rows[n][1] for n in numbers], tokenizer.begin, tokenizer.end, tokenizer.pad)
        return replace(asked, source=source_batch([self.rows[n][0] for n in numbers], tokenizer))


def source_batch(sources: Sequence[Sequence[int]], tokenizer: Tokenizer) -> Batch:
    """[CLS] source [SEP], as every task reads a text."""
    return Batch(*pad_rows([[tokenizer.begin, *ids, tokenizer.end] for ids in sources], tokenizer.pad))


class Translate(Generative):
    """An encoder, a decoder, and one tokenizer for both languages."""

    name = "translate"
    example_kind = "translate"
    monitor = "bits_per_character"
    model: EncoderDecoder
    backwards = False  # from the second sentence of a pair into the first

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"backwards": self.backwards}

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        task = super().open(folder, described)
        task.backwards = bool(described.get("backwards"))
        return task

    def oriented(self, examples: Sequence[TranslationPair]) -> list[TranslationPair]:
        """In the direction of this run."""
        return [TranslationPair(one.target, one.source, one.where) for one in examples] if self.backwards else list(examples)

    def pairs(self, examples: Sequence[TranslationPair]) -> Pairs:
        return Pairs(self.oriented(examples), self.tokenizer, self.model.config.context)

    def examples(self, shards: Any, split: str = "train") -> Pairs:
        if split == "train":
            return self.pairs(shards.train)
        if split not in self.held_out_pairs:
            self.held_out_pairs[split] = self.pairs(shards.split(split))
        return self.held_out_pairs[split]

    def target_counts(self, examples: Pairs) -> np.ndarray:
        """Of the second sentences, each with its end."""
        counts = token_counts(np.concatenate([target for _, target in examples.rows]).astype(np.int64), self.model.config.vocab_size)
        counts[self.tokenizer.end] += len(examples.rows)
        return counts

    def sample(self, seed: int) -> str:
        if "validation" not in self.held_out_pairs:
            return ""
        source = self.held_out_pairs["validation"].examples[0].source
        return f"{source} -> {self.translate_texts([source], beam_size=1, model=self.model)[0]}"

    # Judging

    evaluates_generation = True

    @functools.cached_property
    def held_out_pairs(self) -> dict[str, Pairs]:
        """The validation and test pairs of a training, each cut once."""
        return {}

    def evaluate_split(self, shards: Any, split: str = "validation", limit: int | None = None, sentences: int | None = None) -> dict[str, Any]:
        """On the way only how surprising the true translations are; at the end also what it says itself, for some of them."""
        pairs = self.examples(shards, split)
        measured = self.likelihood_metrics(pairs, limit)
        if sentences is None:
            sentences = 0 if limit is not None else JUDGED
        return measured | self.metrics_from(pairs.examples[:sentences]) if sentences else measured

    def count_positions(self, shards: Any, split: str = "validation") -> int:
        return int(self.examples(shards, split).lengths.sum())

    def generate_for_timing(self, shards: Any, sentences: int) -> None:
        self.metrics_from(self.examples(shards, "validation").examples[:sentences])

    def evaluate(self, examples: Sequence[TranslationPair], beam_size: int = BEAM) -> dict[str, Any]:
        pairs = self.pairs(examples)
        return self.likelihood_metrics(pairs, None) | self.metrics_from(pairs.examples, beam_size)

    def metrics_from(self, examples: Sequence[TranslationPair], beam_size: int = BEAM) -> dict[str, Any]:
        return bleu_and_chrf([example.target for example in examples], self.translations(examples, beam_size))

    def predict(self, examples: Sequence[TranslationPair]) -> list[str]:
        """A translation of each, in the direction of this run; nothing for a sentence that is empty or longer than the model reads."""
        found = [""] * len(examples)
        turned, most = self.oriented(examples), self.model.config.context - 2
        fits = [i for i, ids in enumerate(self.tokenizer.encode_batch([example.source for example in turned])) if 0 < len(ids) <= most]
        for number, said in zip(fits, self.translations([turned[i] for i in fits]), strict=True):
            found[number] = said
        return found

    def translations(self, examples: Sequence[TranslationPair], beam_size: int = BEAM) -> list[str]:
        """The best translation of each source, no longer than the true one suggests."""
        on_cpu = next(self.model.parameters()).device.type == "cpu"
        speaker = self.model.for_inference(self.precision) if on_cpu else self.model  # a new one: the weights may have changed
        bounds = [LONGER_THAN_TRUE * len(ids) + MORE for ids in self.tokenizer.encode_batch([example.target for example in examples])]
        with track("translating", total=len(examples), unit="sentences") as advance:
            return self.translate_texts([example.source for example in examples], beam_size=beam_size, model=speaker, advance=advance, bounds=bounds)

    @torch.no_grad()
    def likelihood_metrics(self, pairs: Pairs, limit: int | None) -> dict[str, Any]:
        numbers = np.arange(len(pairs.rows))
        positions = int(pairs.lengths.sum())
        if limit is not None and positions > limit:
            numbers = np.unique(np.linspace(0, len(numbers) - 1, max(limit * len(numbers) // positions, 1)).astype(np.int64))
        device = next(self.model.parameters()).device
        bits = np.zeros(len(numbers))
        for group in batches_by_length(pairs.lengths[numbers].tolist(), POSITIONS):
            scores = self.model.log_likelihood(pairs.batch(numbers[group]).to(device))
            bits[group] = -scores.double().sum(1).cpu().numpy() / math.log(2)
        tokens = np.array([len(target) + 1 for _, target in pairs.rows])
        return language_model_metrics(bits, tokens[numbers], all_tokens=int(tokens.sum()), **pairs.metadata)

    # Translating

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        most = self.model.config.context - 2
        found = self.tokenizer.encode_batch(list(texts))
        for ids, text in zip(found, texts, strict=True):
            if not ids:
                raise BadInput(f"there are no tokens in {preview(text)}; give a text with words")
            if len(ids) > most:
                came = f"{preview(text)} has {len(ids)} tokens, and this {self.model_name} reads at most {most}"
                raise BadInput(f"{came}; cut it into sentences, or train with --context {2 * most + 4}")
        return found

    def translate_texts(
        self, texts: Sequence[str], *, beam_size: int = BEAM, model: Model | None = None, advance: Any = lambda count: None,
        bounds: Sequence[float] | None = None,
    ) -> list[str]:  # fmt: skip
        """The best translation of each, of at most so many tokens as `bounds` says of the longest that is translated beside it."""
        check_beam_size(beam_size, 1)
        sources, found = self.encode_texts(texts), [""] * len(texts)
        for numbers in batches_by_length([len(ids) for ids in sources], SOURCE_POSITIONS):
            bound = int(max(bounds[n] for n in numbers)) if bounds else None
            searched = self.search([sources[n] for n in numbers], beam_size, model, bound=bound)
            for number, one in zip(numbers, searched, strict=True):
                found[number] = self.tokenizer.decode(one.hypotheses[0].ids)
            advance(len(numbers))
        return found

    @torch.no_grad()
    def search(
        self, sources: list[list[int]], beam_size: int, model: Any = None, length_penalty: float = 1.0, tree: bool = False, bound: int | None = None
    ) -> list[BeamResult]:
        """All that beam search found for sources of about one length."""
        model, tokenizer = model or self.inference_model, self.tokenizer
        device = next(self.model.parameters()).device
        batch = source_batch(sources, tokenizer).to(device)
        first = torch.full((len(sources),), tokenizer.begin, device=device)
        length = min(self.max_output_tokens(sources), bound or self.model.config.context)
        return beam_search(
            model, model.initial_state(batch, beam_size, length), first,
            beam_size=beam_size, length=length, stop=tokenizer.end, suppressed_ids=tokenizer.suppressed_ids, length_penalty=length_penalty, tree=tree,
        )  # fmt: skip

    def max_output_tokens(self, sources: Sequence[Sequence[int]]) -> int:
        """Tokens that a translation may have: as in training, it is read again behind [CLS]."""
        return min(LONGER * max(map(len, sources)) + MORE, self.model.config.context - 1)

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
    ) -> dict[str, Any]:
        """The best translations; with `inside` also how they came about: what was read and said at each step, who looked at what, and the tree
        of beginnings that were tried. With a temperature one translation is drawn by chance instead."""
        beam_size = max(BEAM, n_best) if beam_size is None else beam_size
        check_beam_size(beam_size, n_best)
        (source,), tokenizer = self.encode_texts([text]), self.tokenizer
        if temperature:
            probability: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
            drawn = generate_batch(
                self.inference_model, [[tokenizer.begin]], length=self.max_output_tokens([source]), stop=tokenizer.end,
                    suppressed_ids=tokenizer.suppressed_ids,
                initial_state=lambda rows: self.inference_model.initial_state(source_batch([source], tokenizer)), **probability,
            )  # fmt: skip
            best, found, searched = drawn[0], [], None
        else:
            searched = self.search([source], beam_size, length_penalty=length_penalty, tree=details)[0]
            best, found = searched.hypotheses[0].ids, searched.hypotheses[:n_best]
        answer: dict[str, Any] = {"text": text, "translation": tokenizer.decode(best)}
        if found:
            answer["translations"] = [{"translation": tokenizer.decode(one.ids), "score": one.score, "log_probability": one.log_probability}
                for one in found]
        if details:
            answer["trace"] = self.trace(best)
            answer["alignment"] = self.alignment(source, best)
            if searched is not None:
                answer["tree"] = [[{**node, "token": tokenizer.display_token(node["id"])} for node in step] for step in searched.steps]
        return answer

    def trace(self, said: list[int]) -> list[dict[str, str]]:
        """What the decoder reads at each step, and what it says then."""
        names = [self.tokenizer.display_token(i).strip() for i in (self.tokenizer.begin, *said, self.tokenizer.end)]
        return [{"input": " ".join(names[:step]), "output": names[step]} for step in range(1, len(names))]

    def alignment(self, source: list[int], said: list[int]) -> dict[str, Any] | None:
        """How much each token that was said looked at each of the source; None for a model that looks at the whole only."""
        tokenizer = self.tokenizer
        spoken = (*said, tokenizer.end)[: self.model.config.context]  # one that was cut off has no end
        read = next_token_batch([list(spoken[:-1])], tokenizer.begin, spoken[-1], tokenizer.pad)
        asked = replace(read, source=source_batch([source], tokenizer))
        weights = self.model.alignment(asked)
        if weights is None:
            return None
        names = [[tokenizer.display_token(i) for i in ids] for ids in ((tokenizer.begin, *source, tokenizer.end), spoken)]
        return {"source": names[0], "target": names[1], "weights": weights[0].tolist()}
