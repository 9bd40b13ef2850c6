"""VectorClassifier: one label for a text from the mean of its words' vectors, and from what tuning the words changes, by logistic regression.

    P(label | text) = softmax(H mean(text) + D tfidf(text) + b)

The vectors were learnt from plain text, so words that no labelled text has are understood by words they are similar to. The mean is that of
`word_vectors.py`, in which frequent words count little. It is standardized first, since vectors come in any length; that scaling is folded into the
weights that are stored. `vector_choice.py` says what D is, and what held-out examples choose.

An encoder that reads whole texts can stand beside the words, as ELMo does beside GloVe in its paper: its mean vector of the text is read as well.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from stairs.models import MODELS
from stairs.models.base import as_array
from stairs.progress import quiet
from stairs.tasks.classifier import Classifier, labels_of, softmax
from stairs.tasks.config_file import CONFIG, WEIGHTS, Settings, TaskConfig
from stairs.tasks.parts.saved_model import load_weights, open_prefixed, save_prefixed
from stairs.tasks.parts.tfidf import Tfidf
from stairs.tasks.task import Task
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from stairs.tasks.linear_mixture import Mixture
    from stairs.tasks.vector_choice import VectorChoice

VECTORS_PREFIX = "words."  # before the names of the tensors of the word vectors
TERMS_FILE = "terms.json"
ENCODER_PREFIX = "encoder."  # before the names of the files of the encoder


class VectorClassifier(Classifier):
    """softmax of a linear function of the mean word vector, that of an `encoder`, if there is one, and TF-IDF; `term_weight` (labels, terms)."""

    name = "classify-vectors"
    has_text_features = True
    choice: Settings
    tfidf: Tfidf | None = None  # None without terms
    term_weight: np.ndarray

    def __init__(self, words: WordVectors, labels: list[str], weight: np.ndarray, bias: np.ndarray, encoder: Task | None = None) -> None:
        super().__init__(words.model, words.tokenizer)
        self.words, self.labels, self.weight, self.bias, self.choice, self.encoder = words, labels, weight, bias, {}, encoder

    @classmethod
    def train(
        cls, examples: Sequence[LabelledText], words: WordVectors, validation: Sequence[LabelledText] = (),
        mixture: "Mixture[VectorChoice] | None" = None, encoder: Task | None = None,
    ) -> Self:  # fmt: skip
        """`validation` chooses what tuning changes, if `mixture` does not say it; without both, folds of the examples do."""
        from stairs.tasks.vector_choice import MEAN_ALONE, TRIALS, VectorTable  # an answer needs none of it

        table = VectorTable(examples, labels_of(examples), words, validation, mixture, encoder)
        mixture = mixture or table.choose(TRIALS, MEAN_ALONE)
        term_weight, weight, bias = (array.astype(np.float32) for array in table.fit_parts(mixture))
        task = cls(words, table.labels, weight, bias, encoder)
        task.choice = mixture.settings
        if mixture.widest.words:
            task.tfidf, task.term_weight = table.tfidf(mixture.widest), term_weight
        return task

    @property
    def model_name(self) -> str:
        return super().model_name if self.encoder is None else self.encoder.model_name

    def text_features(self, texts: Sequence[str]) -> np.ndarray:
        """The mean word vector of each text, and that of the encoder, (N, D)."""
        vectors = self.words.vectors(list(texts))
        if self.encoder is None:
            return vectors
        return np.concatenate([vectors, encoder_vectors(self.encoder, texts, self.weight.shape[1] - vectors.shape[1])], 1)

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """What softmax turns into probabilities, (N, labels)."""
        scores: np.ndarray = self.text_features(texts) @ self.weight.T + self.bias
        return scores if self.tfidf is None else scores + self.tfidf.features(texts).times(self.term_weight)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return softmax(self.scores(texts))

    def describe(self) -> TaskConfig:
        return {**super().describe(), "model": self.model.name, "config": self.model.describe(), "choice": self.choice}

    def save(self, folder: Path) -> None:
        arrays = {VECTORS_PREFIX + name: as_array(tensor) for name, tensor in self.model.tensors().items()}
        if self.tfidf is not None:
            arrays |= {"idf": self.tfidf.idf.astype(np.float32), "term_weight": self.term_weight}
            (folder / TERMS_FILE).write_text(json.dumps(self.tfidf.terms, ensure_ascii=False), "utf-8")
        self.write(folder, {**arrays, "weight": self.weight, "bias": self.bias})
        if self.encoder is not None:
            save_prefixed(self.encoder, folder, ENCODER_PREFIX)

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        tensors = load_weights(folder / WEIGHTS)
        of_model = {name.removeprefix(VECTORS_PREFIX): tensor for name, tensor in tensors.items() if name.startswith(VECTORS_PREFIX)}
        model = MODELS[described["model"]].from_saved(described["config"], of_model, folder / CONFIG)
        words = WordVectors(model.eval(), Tokenizer.load(folder))
        encoder = open_prefixed(folder, ENCODER_PREFIX) if (folder / f"{ENCODER_PREFIX}{CONFIG}").exists() else None
        task = cls(words, described["labels"], tensors["weight"].numpy(), tensors["bias"].numpy(), encoder)
        task.choice = described.get("choice", {})
        if "term_weight" in tensors:
            terms = json.loads((folder / TERMS_FILE).read_text("utf-8"))
            task.tfidf, task.term_weight = Tfidf(words.tokenizer, terms, tensors["idf"].numpy()), tensors["term_weight"].numpy()
        return task


def encoder_vectors(encoder: Task, texts: Sequence[str], width: int = 0) -> np.ndarray:
    """The mean vector of each text, (N, D); zeros for one without a token. Of a long text an encoder reads as much as it can, and nothing is said
    about it: words and terms are those of all of the text."""
    has_tokens = np.array([bool(ids) for ids in encoder.tokenizer.encode_batch(list(texts))], bool)
    with quiet():
        vectors = encoder.vectors([text for text, has in zip(texts, has_tokens, strict=True) if has]) if has_tokens.any() else np.zeros((0, width))
    found = np.zeros((len(texts), vectors.shape[1]), np.float32)
    found[has_tokens] = vectors
    return found
