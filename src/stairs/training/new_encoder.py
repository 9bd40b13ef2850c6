"""Encoders that nothing was trained into before the labels: a model that learns from labelled examples alone, and a run with new weights.

    stairs tune cnn labels.csv                         its vocabulary is the words of the examples; with --word-vectors it starts from those of a run
    stairs tune RUN labels.csv --transfer scratch      the same architecture and tokenizer, weights drawn by the seed: what is pretraining worth?

Words that are not among the pretrained ones get vectors of the same variance, as in Kim 2014; here all of them have that of new vectors.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput, Unsupported
from stairs.models.registry import MODELS
from stairs.models.settings import SIZES, make_config
from stairs.models.settings.cnn import DILATED_LAYERS
from stairs.tasks import Task, WordVectors, pretraining_task
from stairs.text.examples import Example, example_texts
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import load

KEEPS_CHARACTERS = ("tag", "span")  # tasks that point into a text, in which Chinese must not be cut into words


def encoder_of_words(
    model: str, size: str, settings: Mapping[str, object], examples: Sequence[Example], example_kind: str, word_vectors: str | None, seed: int
) -> Callable[[], Task]:
    """Makes an untrained model for the words of the examples, the same one each time. `settings` are of its config."""
    spec = TokenizerSpec("words", chinese="characters" if example_kind in KEEPS_CHARACTERS else "words")
    tokenizer = Tokenizer.train(spec, lambda: (list(example_texts(example)) for example in examples))
    vectors = None if word_vectors is None else initial_word_vectors(word_vectors, tokenizer.vocabulary)[1:]
    by_kind: dict[str, object] = {"dilated_layers": DILATED_LAYERS.get(example_kind, 0)}
    width: dict[str, object] = {} if vectors is None else {"word_width": vectors.shape[1]}
    config = make_config(model, tokenizer.vocabulary_settings, **{**by_kind, **SIZES[model][size], **settings, **width})

    def encoder() -> Task:
        new = MODELS[model](config)
        new.initialize(seed)
        if vectors is not None:
            copy_known_rows(new.get_parameter("tokens.weight"), torch.from_numpy(vectors))
        return pretraining_task(new.eval(), tokenizer)

    return encoder


@torch.no_grad()
def copy_known_rows(table: Tensor, vectors: Tensor) -> None:
    """The rows of `vectors` that are not 0, scaled to the deviation of the others. Those of skipgram are three times as long as new ones, and the
    same learning rate would hardly move them (SST-2 after an epoch, validation error: 0.306 as they are, 0.253 scaled)."""
    is_known = vectors.any(1)
    if is_known.any():
        table[is_known] = vectors[is_known] * (table.std() / vectors[is_known].std())


def with_new_weights(source: Task, seed: int) -> Task:
    """The task of a run, its encoder as it was before any training."""
    if source.model.learns_by not in ("gradient", "sweeping"):
        raise Unsupported(f"--transfer scratch draws new weights, and {source.model_name} has none to draw; use full or features")
    source.model.initialize(seed)
    return source


def initial_word_vectors(run: str, words: Sequence[str]) -> np.ndarray:
    """The vectors of a run for these words, after one for words it does not know, (1 + words, D); 0 where it has none."""
    source = load(run)
    if not isinstance(source, WordVectors):
        advice = "which has no static word vectors; give a run of cbow, skipgram or glove"
        raise BadInput(f"--word-vectors {run} is a run of {source.model_name}, {advice}")
    own = source.tokenizer
    ids = [own.id(word) for word in ("", *words)]
    ids = [own.id(word.lower()) if i == own.unknown else i for i, word in zip(ids, ("", *words), strict=True)]
    vectors: np.ndarray = source.rows(np.array(ids)) * (np.array(ids) != own.unknown)[:, None]
    return vectors.astype(np.float32)
