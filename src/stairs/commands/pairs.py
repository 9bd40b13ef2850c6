"""Pairs of sentences that translate one another, for `stairs train` and `stairs score`: from files, or number names made by rule."""

from pathlib import Path
from typing import Any

from stairs.commands.options import run_name, spec_from
from stairs.errors import BadInput
from stairs.text.numbers import COUNTS, number_pairs

HELD_OUT, MOST_HELD_OUT = 0.05, 1000  # of the pairs, unless a file of others to judge by is given


def read_pairs(paths: tuple[str, ...], columns: str | None = None, encoding: str | None = None) -> list[Any]:
    if len(paths) == 1 and paths[0] in COUNTS and not Path(paths[0]).exists():
        return number_pairs(paths[0])
    from stairs.text.labelled import read

    return list(read(paths, "translate", columns=columns, encoding=encoding).examples)


def divided(options: Any) -> tuple[list[Any], list[Any]]:
    """Pairs to learn from and to judge by; the same ones for the same seed."""
    import numpy as np

    pairs = read_pairs(options.pairs, encoding=options.encoding)
    if options.dev:
        return pairs, read_pairs(options.dev, encoding=options.encoding)
    held = max(min(int(len(pairs) * HELD_OUT), MOST_HELD_OUT), 1)
    if len(pairs) <= held:
        raise BadInput(f"{' '.join(options.pairs)} has {len(pairs)} pairs, too few to hold some back; give more, or --dev FILE")
    order = np.random.default_rng(options.seed).permutation(len(pairs))
    return [pairs[i] for i in sorted(order[held:])], [pairs[i] for i in sorted(order[:held])]


def spec_of(options: Any) -> Any:
    """How both languages are cut: into subwords, but names of numbers, which have few words, into words and Chinese characters."""
    import dataclasses

    spec = spec_from(options, options.step)
    by_rule = options.pairs[0] in COUNTS and options.tokenizer is None
    return dataclasses.replace(spec, kind="words", vocab_size=options.vocab_size, chinese="characters") if by_rule else spec


def name_of(options: Any) -> str:
    return run_name(options.pairs[0])
