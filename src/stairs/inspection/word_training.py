"""How word vectors are trained: the windows that slide over a text, and one update with its numbers.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality"; Bengio et al. 2003 for windows before a word.

    windows    a word and those at most `window` words away from it are the training pairs of skip-gram, or one example of CBOW
    update     error = target - sigmoid(x c)          x += rate sum of error c          c += rate error x

The update is that of `models/word2vec.py`: its rows, its targets and its gradient. The compiled loop makes the same one.
"""

from typing import Literal, NamedTuple, TypedDict

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.fast.word2vec_sweep import negative_weights
from stairs.inspection.run_record import recorded_training
from stairs.inspection.tokens import Truncatable, encode, readable_token
from stairs.inspection.views import model_of, view
from stairs.inspection.words import word_id
from stairs.layers.word_contexts import BinaryNLL, context_mask
from stairs.models.base import as_array
from stairs.models.glove import GloVe
from stairs.models.ngram import NGram
from stairs.models.nnlm import NNLM
from stairs.models.word2vec import CBOW, SkipGram, Word2Vec
from stairs.randomness import generator
from stairs.tasks import Task, WordVectors
from stairs.text.special import SPECIAL_TOKENS

WINDOWS_SHOWN = 20
DIGITS = 6
Kind = Literal["pairs", "mean", "counts", "before"]


class ContextWord(TypedDict):
    position: int
    weight: float  # the probability that the window reaches it, its share of a count, or 1


class Window(TypedDict):
    centre: int  # position of the word that is predicted
    context: list[ContextWord]


class WindowsData(Truncatable):
    kind: Kind  # what is made of a window: pairs, one example with the mean of the context, counts, or an example of the words before
    window: int  # words on either side, or before
    tokens: list[str]
    windows: list[Window]


class OutputWord(TypedDict):
    word: str
    target: int  # 1 for a true neighbour, 0 for a negative sample
    dot: float
    sigmoid: float
    error: float
    step: float  # how far its vector moves towards the input's, or if negative away from it
    sigmoid_after: float


class UpdateData(TypedDict):
    input: str
    learning_rate: float
    input_step: float  # how far the input's own vector moves
    loss: float
    loss_after: float
    outputs: list[OutputWord]


class Step(NamedTuple):
    """One update: the rows of the context matrix, and what the gradient makes of them."""

    rows: Tensor  # (N,)
    targets: Tensor
    scores: Tensor
    errors: Tensor
    input_change: Tensor  # (D,)
    output_changes: Tensor  # (N, D); a row that is drawn twice changes by both


# Windows


def slides_a_window(task: Task) -> bool:
    return (task.has_word_vectors or task.predicts_next) and isinstance(model_of(task), Word2Vec | GloVe | NGram | NNLM)


@view(slides_a_window)
def windows(task: Task, text: str) -> WindowsData:
    """The window around each word: which words it is trained with."""
    model = task.model
    if isinstance(model, NGram | NNLM):
        return windows_before(task, text, model.config.order - 1)
    assert isinstance(model, Word2Vec | GloVe)
    ids, reach = encode(task, text), model.config.window
    is_counted = isinstance(model, GloVe)
    words = [i for i in ids if is_counted or i >= len(SPECIAL_TOKENS)]  # word2vec drops unknown words before it makes windows
    if not words:
        raise BadInput("this run knows no word of the text; give one with words of its vocabulary")
    row = torch.tensor([words])
    is_near = context_mask(row, torch.ones_like(row, dtype=torch.bool), reach)[0]
    found: list[Window] = []
    for centre in range(len(words)):
        near = is_near[centre].nonzero().flatten().tolist()
        weights = [1 / abs(at - centre) if is_counted else (reach - abs(at - centre) + 1) / reach for at in near]
        found.append({"centre": centre, "context": context_words(near, weights)})
    kind: Kind = "counts" if is_counted else "mean" if isinstance(model, CBOW) else "pairs"
    data = windows_data(task, words, found, kind, reach)
    if data["truncation"] is None and len(words) < len(ids):
        data["truncation"] = "words that the run does not know are left out, as in training"
    return data


def windows_before(task: Task, text: str, reach: int) -> WindowsData:
    """For a model that predicts each word from those before it."""
    ids = [task.tokenizer.begin, *encode(task, text), task.tokenizer.end]
    spans = [range(max(centre - reach, 0), centre) for centre in range(1, len(ids))]
    found: list[Window] = [{"centre": span.stop, "context": context_words(list(span), [1.0] * len(span))} for span in spans]
    return windows_data(task, ids, found, "before", reach)


def context_words(positions: list[int], weights: list[float]) -> list[ContextWord]:
    return [{"position": position, "weight": round(weight, DIGITS)} for position, weight in zip(positions, weights, strict=True)]


def windows_data(task: Task, ids: list[int], found: list[Window], kind: Kind, reach: int) -> WindowsData:
    """The first windows, and the tokens that they reach."""
    shown = found[:WINDOWS_SHOWN]
    stop = max(max([window["centre"], *(word["position"] for word in window["context"])]) for window in shown) + 1
    tokens = [readable_token(task.tokenizer, number) for number in ids[:stop]]
    truncation = f"the first {len(shown)} of {len(found)} windows are shown" if len(shown) < len(found) else None
    return {"kind": kind, "window": reach, "tokens": tokens, "windows": shown, "truncation": truncation}


# One update


def samples_negatives(task: Task) -> bool:
    model = model_of(task)
    return task.has_word_vectors and isinstance(model, SkipGram) and model.config.softmax == "negative"


@view(samples_negatives)
def update(task: WordVectors, text: str, *, seed: int = 0, run: str = "") -> UpdateData:
    """One training step of skip-gram: the first word is the input, the second its true neighbour, the others are negative samples. What is not given
    the run chooses: the neighbour that it finds most probable, and negatives drawn as in training."""
    model = task.model
    assert isinstance(model, SkipGram)
    words = [word_id(task.tokenizer, word) for word in text.split()]
    if not words:
        raise BadInput('no word given; give an input word and its neighbour, as in "not thou"')
    neighbour = words[1] if len(words) > 1 else likeliest_neighbour(model, words[0])
    negatives = torch.tensor(words[2:]) if len(words) > 2 else drawn_negatives(model, seed)
    recorded = recorded_training(run).learning_rate
    rate = model.learning_rate if recorded is None else recorded
    step = negative_sampling_step(model, words[0], neighbour, negatives, rate)
    length = float(input_vector(model, words[0]).norm())
    after = scores_after(model, words[0], step)
    outputs: list[OutputWord] = [
        {
            "word": readable_token(task.tokenizer, row), "target": int(target), "dot": dot, "sigmoid": sigmoid, "error": error,
            "step": rate * error * length, "sigmoid_after": sigmoid_after,
        }
        for row, target, dot, sigmoid, error, sigmoid_after in zip(
            step.rows.tolist(), step.targets.tolist(), step.scores.tolist(), step.scores.sigmoid().tolist(), step.errors.tolist(),
            after.sigmoid().tolist(), strict=True,
        )
    ]  # fmt: skip
    return {
        "input": readable_token(task.tokenizer, words[0]), "learning_rate": rate, "input_step": float(step.input_change.norm()),
        "loss": loss_of(step.scores, step.targets), "loss_after": loss_of(after, step.targets), "outputs": outputs,
    }  # fmt: skip


def negative_sampling_step(model: SkipGram, word: int, neighbour: int, negatives: Tensor, rate: float) -> Step:
    """What one update changes."""
    rows, targets, is_compared = (part[0] for part in model.comparison_rows(torch.tensor([neighbour]), negatives))
    rows, targets = rows[is_compared], targets[is_compared]
    x, contexts = input_vector(model, word).requires_grad_(), model.contexts[rows].detach().requires_grad_()
    scores = (x * contexts).sum(-1)
    scores.retain_grad()
    BinaryNLL.apply(scores, targets).sum().backward()
    assert x.grad is not None and contexts.grad is not None and scores.grad is not None
    return Step(rows, targets, scores.detach(), -scores.grad, -rate * x.grad, -rate * contexts.grad)


def input_vector(model: SkipGram, word: int) -> Tensor:
    """x: of a word with subwords, the mean of its parts, each of which takes the whole change."""
    return model.compose(torch.tensor(word)).detach().clone()


def scores_after(model: SkipGram, word: int, step: Step) -> Tensor:
    unique, inverse = step.rows.unique(return_inverse=True)
    changes = torch.zeros(len(unique), step.output_changes.shape[1]).index_add(0, inverse, step.output_changes)
    return (model.contexts[step.rows].detach() + changes[inverse]) @ (input_vector(model, word) + step.input_change)


def loss_of(scores: Tensor, targets: Tensor) -> float:
    """Nats."""
    return float(BinaryNLL.apply(scores, targets).sum())


def likeliest_neighbour(model: SkipGram, word: int) -> int:
    scores = (model.contexts.detach() @ input_vector(model, word)).clone()
    scores[[*range(len(SPECIAL_TOKENS)), word]] = -torch.inf
    return int(scores.argmax())


def drawn_negatives(model: SkipGram, seed: int) -> Tensor:
    """By count^power, as in training."""
    weights = torch.from_numpy(np.asarray(negative_weights(as_array(model.counts), model.config.power)))
    return weights.multinomial(model.config.negatives, True, generator=generator(seed, "negatives"))
