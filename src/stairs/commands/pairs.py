"""Pairs of sentences that translate one another, for `stairs train` and `stairs score`: from files, or number names made by rule."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from stairs.commands.flags import tokenizer_spec
from stairs.text.embedded.number_names import SET_SIZES, number_pairs
from stairs.text.labelled.split import split

HELD_OUT, MOST_HELD_OUT = 0.05, 1000  # of the pairs, for validation and as many for the test, unless a file of others to judge by is given


def by_rule(paths: tuple[str, ...]) -> bool:
    """Whether number names are meant, and not a file that is called so."""
    return len(paths) == 1 and paths[0] in SET_SIZES and not Path(paths[0]).exists()


def read_pairs(paths: tuple[str, ...], columns: str | None = None, encoding: str | None = None) -> list[Any]:
    if by_rule(paths):
        return number_pairs(paths[0])
    from stairs.text.labelled import read_examples

    return list(read_examples(paths, "translate", columns=columns, encoding=encoding).examples)


def divided(options: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Pairs to learn from, to choose the weights by, and to judge those by once; the same ones for the same seed."""
    pairs, source = read_pairs(options.pairs, encoding=options.encoding), " ".join(options.pairs)
    if options.dev:
        given, source = read_pairs(options.dev, encoding=options.encoding), " ".join(options.dev)
        halves = split(given, {"validation": len(given) / 2, "test": len(given) / 2}, options.seed, source=source)
        return pairs, halves["validation"], halves["test"]
    held = max(min(int(len(pairs) * HELD_OUT), MOST_HELD_OUT), 1)
    sizes = {"train": len(pairs) - 2 * held, "validation": held, "test": held}
    parts = split(pairs, sizes, options.seed, source=source, advice="give more, or --dev FILE")
    return parts["train"], parts["validation"], parts["test"]


def spec_of(options: Any, model: str, numbers: bool) -> Any:
    """How both languages are cut: into subwords, but names of numbers, which have few words, into words and Chinese characters."""
    spec = tokenizer_spec(options, model)
    few = numbers and options.tokenizer is None
    return replace(spec, kind="words", vocab_size=options.vocab_size, chinese="characters") if few else spec
