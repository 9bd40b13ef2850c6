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
from stairs.models.base import Model, Translator
from stairs.progress import say, track
from stairs.tasks.parts.decoding import Searched, beam_search, check_beams, continuations
from stairs.tasks.parts.generative import Speaking
from stairs.tasks.parts.stream import quality, token_counts
from stairs.tasks.translation_metrics import translations_scored
from stairs.text.batch import Batch, by_length, next_token_batch, padded
from stairs.text.examples import Translation
from stairs.text.tokenizers.bulk_encoding import Encoder
from stairs.text.tokenizers.tokenizer import Tokenizer

BEAM = 4
POSITIONS = 4096  # judged at once
SOURCE_POSITIONS = 1024  # translated at once; each has a beam
JUDGED = 500  # sentences of the held-out part that a finished run translates
LONGER_THAN_TRUE = 1.5  # where the true translation is known, so many times its length and MORE
LONGER, MORE = 2, 20  # how long a translation may become: so many times its source, and so many tokens more


class Pairs:
    """What training goes through: `lengths`, and `batch(numbers, epoch, seed)`."""

    def __init__(self, examples: Sequence[Translation], tokenizer: Tokenizer, context: int) -> None:
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
    def about(self) -> dict[str, Any]:
        """What bits per character need to know of the targets."""
        targets = [example.target for example in self.examples]
        spelt = Encoder(self.tokenizer).encode_documents([[target] for target in targets])
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
    return Batch(*padded([[tokenizer.begin, *ids, tokenizer.end] for ids in sources], tokenizer.pad))


class Translate(Speaking):
    """An encoder, a decoder, and one tokenizer for both languages."""

    name = "translate"
    asks = "translate"
    watched = "bits_per_character"
    model: Translator
    backwards = False  # from the second sentence of a pair into the first

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"backwards": self.backwards}

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        task = super().open(folder, described)
        task.backwards = bool(described.get("backwards"))
        return task

    def turned(self, examples: Sequence[Translation]) -> list[Translation]:
        """In the direction of this run."""
        return [Translation(one.target, one.source, one.where) for one in examples] if self.backwards else list(examples)

    def pairs(self, examples: Sequence[Translation]) -> Pairs:
        return Pairs(self.turned(examples), self.tokenizer, self.model.config.context)

    def examples(self, shards: Any, split: str = "train") -> Pairs:
        if split == "train":
            return self.pairs(shards.train)
        if split not in self.judged_by:
            self.judged_by[split] = self.pairs(shards.part(split))
        return self.judged_by[split]

    def target_counts(self, examples: Pairs) -> np.ndarray:
        """Of the second sentences, each with its end."""
        counts = token_counts(np.concatenate([target for _, target in examples.rows]).astype(np.int64), self.model.config.vocab_size)
        counts[self.tokenizer.end] += len(examples.rows)
        return counts

    def sample(self, seed: int) -> str:
        if "validation" not in self.judged_by:
            return ""
        source = self.judged_by["validation"].examples[0].source
        return f"{source} -> {self.translated([source], beams=1, speaker=self.model)[0]}"

    # Judging

    generates = True

    @functools.cached_property
    def judged_by(self) -> dict[str, Pairs]:
        """The validation and test pairs of a training, each cut once."""
        return {}

    def evaluate_shards(self, shards: Any, split: str = "validation", most: int | None = None, sentences: int | None = None) -> dict[str, Any]:
        """On the way only how surprising the true translations are; at the end also what it says itself, for some of them."""
        pairs = self.examples(shards, split)
        measured = self.surprise_of(pairs, most)
        if sentences is None:
            sentences = 0 if most is not None else JUDGED
        return measured | self.scored(pairs.examples[:sentences]) if sentences else measured

    def positions(self, shards: Any, split: str = "validation") -> int:
        return int(self.examples(shards, split).lengths.sum())

    def generate_some(self, shards: Any, sentences: int) -> None:
        self.scored(self.examples(shards, "validation").examples[:sentences])

    def evaluate(self, examples: Sequence[Translation], beams: int = BEAM) -> dict[str, Any]:
        pairs = self.pairs(examples)
        return self.surprise_of(pairs, None) | self.scored(pairs.examples, beams)

    def scored(self, examples: Sequence[Translation], beams: int = BEAM) -> dict[str, Any]:
        return translations_scored([example.target for example in examples], self.translations(examples, beams))

    def predict(self, examples: Sequence[Translation]) -> list[str]:
        """A translation of each, in the direction of this run; nothing for a sentence that is empty or longer than the model reads."""
        found = [""] * len(examples)
        turned, most = self.turned(examples), self.model.config.context - 2
        fits = [i for i, ids in enumerate(self.tokenizer.encode_batch([example.source for example in turned])) if 0 < len(ids) <= most]
        for number, said in zip(fits, self.translations([turned[i] for i in fits]), strict=True):
            found[number] = said
        return found

    def translations(self, examples: Sequence[Translation], beams: int = BEAM) -> list[str]:
        """The best translation of each source, no longer than the true one suggests."""
        on_cpu = next(self.model.parameters()).device.type == "cpu"
        speaker = self.model.prepared_for_inference(self.precision) if on_cpu else self.model  # a new one: the weights may have changed
        bounds = [LONGER_THAN_TRUE * len(ids) + MORE for ids in self.tokenizer.encode_batch([example.target for example in examples])]
        with track("translating", total=len(examples), unit="sentences") as advance:
            return self.translated([example.source for example in examples], beams=beams, speaker=speaker, advance=advance, bounds=bounds)

    @torch.no_grad()
    def surprise_of(self, pairs: Pairs, most: int | None) -> dict[str, Any]:
        numbers = np.arange(len(pairs.rows))
        positions = int(pairs.lengths.sum())
        if most is not None and positions > most:
            numbers = np.unique(np.linspace(0, len(numbers) - 1, max(most * len(numbers) // positions, 1)).astype(np.int64))
        device = next(self.model.parameters()).device
        bits = np.zeros(len(numbers))
        for group in by_length(pairs.lengths[numbers].tolist(), POSITIONS):
            scores = self.model.log_likelihood(pairs.batch(numbers[group]).to(device))
            bits[group] = -scores.double().sum(1).cpu().numpy() / math.log(2)
        tokens = np.array([len(target) + 1 for _, target in pairs.rows])
        return quality(bits, tokens[numbers], all_tokens=int(tokens.sum()), **pairs.about)

    # Translating

    def encoded(self, texts: Sequence[str]) -> list[list[int]]:
        most = self.model.config.context - 2
        found = self.tokenizer.encode_batch(list(texts))
        for ids, text in zip(found, texts, strict=True):
            if not ids:
                raise BadInput(f"there are no tokens in {preview(text)}; give a text with words")
            if len(ids) > most:
                came = f"{preview(text)} has {len(ids)} tokens, and this {self.step} reads at most {most}"
                raise BadInput(f"{came}; cut it into sentences, or train with --context {2 * most + 4}")
        return found

    def translated(
        self, texts: Sequence[str], *, beams: int = BEAM, speaker: Model | None = None, advance: Any = lambda count: None,
        bounds: Sequence[float] | None = None,
    ) -> list[str]:  # fmt: skip
        """The best translation of each, of at most so many tokens as `bounds` says of the longest that is translated beside it."""
        check_beams(beams, 1)
        sources, found = self.encoded(texts), [""] * len(texts)
        for numbers in by_length([len(ids) for ids in sources], SOURCE_POSITIONS):
            bound = int(max(bounds[n] for n in numbers)) if bounds else None
            searched = self.searched([sources[n] for n in numbers], beams, speaker, bound=bound)
            for number, one in zip(numbers, searched, strict=True):
                found[number] = self.tokenizer.decode(one.found[0].ids)
            advance(len(numbers))
        return found

    @torch.no_grad()
    def searched(
        self, sources: list[list[int]], beams: int, speaker: Any = None, length_penalty: float = 1.0, tree: bool = False, bound: int | None = None
    ) -> list[Searched]:
        """All that beam search found for sources of about one length."""
        speaker, tokenizer = speaker or self.speaker, self.tokenizer
        device = next(self.model.parameters()).device
        batch = source_batch(sources, tokenizer).to(device)
        first = torch.full((len(sources),), tokenizer.begin, device=device)
        length = min(self.room(sources), bound or self.model.config.context)
        return beam_search(
            speaker, speaker.opened(batch, beams, length), first,
            beam_size=beams, length=length, stop=tokenizer.end, forbidden=tokenizer.unsaid, length_penalty=length_penalty, tree=tree,
        )  # fmt: skip

    def room(self, sources: Sequence[Sequence[int]]) -> int:
        """Tokens that a translation may have: as in training, it is read again behind [CLS]."""
        return min(LONGER * max(map(len, sources)) + MORE, self.model.config.context - 1)

    def answer(
        self,
        text: str,
        *,
        beams: int | None = None,
        top_beams: int = 1,
        length_penalty: float = 1.0,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        inside: bool = True,
    ) -> dict[str, Any]:
        """The best translations; with `inside` also how they came about: what was read and said at each step, who looked at what, and the tree
        of beginnings that were tried. With a temperature one translation is drawn by chance instead."""
        beams = max(BEAM, top_beams) if beams is None else beams
        check_beams(beams, top_beams)
        (source,), tokenizer = self.encoded([text]), self.tokenizer
        if temperature:
            chance: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
            drawn = continuations(
                self.speaker, [[tokenizer.begin]], length=self.room([source]), stop=tokenizer.end, forbidden=tokenizer.unsaid,
                opened=lambda rows: self.speaker.opened(source_batch([source], tokenizer)), **chance,
            )  # fmt: skip
            best, found, searched = drawn[0], [], None
        else:
            searched = self.searched([source], beams, length_penalty=length_penalty, tree=inside)[0]
            best, found = searched.found[0].ids, searched.found[:top_beams]
        answer: dict[str, Any] = {"text": text, "translation": tokenizer.decode(best)}
        if found:
            answer["beams"] = [{"translation": tokenizer.decode(one.ids), "score": one.score, "log_chance": one.log_probability} for one in found]
        if inside:
            answer["trace"] = self.trace(best)
            answer["alignment"] = self.alignment(source, best)
            if searched is not None:
                answer["tree"] = [[{**node, "token": tokenizer.shown(node["id"])} for node in step] for step in searched.steps]
        return answer

    def trace(self, said: list[int]) -> list[dict[str, str]]:
        """What the decoder reads at each step, and what it says then."""
        names = [self.tokenizer.shown(i).strip() for i in (self.tokenizer.begin, *said, self.tokenizer.end)]
        return [{"reads": " ".join(names[:step]), "says": names[step]} for step in range(1, len(names))]

    def alignment(self, source: list[int], said: list[int]) -> dict[str, Any] | None:
        """How much each token that was said looked at each of the source; None for a model that looks at the whole only."""
        tokenizer = self.tokenizer
        spoken = (*said, tokenizer.end)[: self.model.config.context]  # one that was cut off has no end
        read = next_token_batch([list(spoken[:-1])], tokenizer.begin, spoken[-1], tokenizer.pad)
        asked = replace(read, source=source_batch([source], tokenizer))
        weights = self.model.alignment(asked)
        if weights is None:
            return None
        names = [[tokenizer.shown(i) for i in ids] for ids in ((tokenizer.begin, *source, tokenizer.end), spoken)]
        return {"source": names[0], "target": names[1], "weights": weights[0].tolist()}
