"""The recipe of a training: that of the run that it goes on with, that of its size, or what fits into its time on this machine, for this text."""

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from stairs.models.settings import DEFAULT_TOKENIZER, SIZES
from stairs.progress import say
from stairs.text.input_options import is_embedded, text_bytes
from stairs.training.options import TrainingOptions
from stairs.training.recipe import MASKED_MODELS, MIN_TOKENS, MUCH_TEXT, VOCABULARY, Recipe, choose_recipe, recipe_of_size
from stairs.training.run import RUN_FILE

if TYPE_CHECKING:
    from stairs.train_job import TrainJob

SHAPE = ("width", "heads", "layers", "hidden", "filters", "order")  # who gives one of these describes a model of their own
NUMBER_NAME_WORDS = 64  # about so many different words are in the names of numbers


def recipe_for(job: "TrainJob") -> Recipe:
    """What the job leaves open. A run that exists, or one whose weights it starts from, keeps its own recipe."""
    size = None if job.size == "auto" else job.size
    init_from = job.options.init_from
    source = job.folder if os.path.exists(job.folder / RUN_FILE) else Path(init_from) if init_from else None
    if source is not None:
        from stairs.training.run import Run

        known = Run(source).settings.get("recipe")
        restore: Callable[..., Recipe] = Recipe
        return restore(**known) if known and size in (None, known["size"]) else recipe_of_size(job.model, size or "mini")
    has_own_shape = any(name in job.settings for name in SHAPE if name in SIZES[job.model].get("nano", ()))
    if not job.options.is_timed or has_own_shape or job.model not in MIN_TOKENS or size == "paper" or computes_elsewhere(job.options):
        return recipe_of_size(job.model, size or "mini")
    job.validated_options()  # refuses what the model has no use for before anything is measured or said
    from stairs import machine

    characters = count_characters(job)
    recipe = choose_recipe(
        job.model, job.options.budget_seconds, characters, machine.gigaflops(job.options.threads),
        bf16=job.options.precision != "fp32" and machine.has_bf16(), vocabulary=known_vocabulary(job, characters), size=size,
    )  # fmt: skip
    say(recipe.reason)
    return recipe


def computes_elsewhere(options: TrainingOptions) -> bool:
    """On a GPU, or on many machines, which would have to agree: the probe of one processor says nothing about those."""
    import torch

    device = options.device
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 or device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())


def count_characters(job: "TrainJob") -> int | None:
    """Of the pairs; of a corpus about so many, from the sizes of its files, and None for stdin, which can be read only once, and for the embedded
    prose."""
    if job.pairs:
        return sum(len(pair.source) + len(pair.target) for pair in job.translations)
    if "-" in job.corpus or is_embedded(job.corpus):
        return None
    from stairs.text.corpus.corpus import open_corpus

    return round(text_bytes(open_corpus(job.corpus, job.reading)))


def known_vocabulary(job: "TrainJob", characters: int | None) -> int | None:
    """The vocabulary size, where there is nothing to choose: Chinese pairs need a token for each of their characters, and Chinese text has not many
    more of them."""
    if job.tokenizing.tokenizer is None and job.has_number_names:
        return NUMBER_NAME_WORDS
    is_long = job.model in MASKED_MODELS and (characters or 0) >= MUCH_TEXT
    is_chinese = job.has_chinese_pairs or (is_long and is_chinese_corpus(job))
    return job.tokenizing.vocab_size or (VOCABULARY[DEFAULT_TOKENIZER[job.model]] if is_chinese else None)


def is_chinese_corpus(job: "TrainJob") -> bool:
    """By its first documents."""
    from stairs.text.corpus.corpus import open_corpus
    from stairs.text.language import SAMPLED_EXAMPLES, language_of

    return language_of(list(islice(open_corpus(job.corpus, job.reading).documents(), SAMPLED_EXAMPLES))) == "zh"
