"""A view is what can be seen in a run, as plain data: a function of a task and a text. `pictures/catalogue.py` lists them, each with its drawing.

@view(has_attention)
def attention(task: Task, text: str, *, layer: int = 0, head: int = 0) -> AttentionData: ...

The predicate says which tasks the view suits. The keyword-only parameters of the function are the options of the picture; a `text` with a default
means that the picture needs none.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from stairs.layers.attention_positions import AttentionPositions
from stairs.layers.block import Attention
from stairs.layers.patterns import LinformerProjection
from stairs.layers.positions import LearnedPositions, SinusoidalPositions
from stairs.models.base import Model
from stairs.models.seq2seq import Seq2Seq
from stairs.models.vectors import Vectors
from stairs.tasks import Task
from stairs.tasks.parts.supervised import Supervised

P = ParamSpec("P")
D = TypeVar("D", covariant=True)
Suits = Callable[[Task], bool]
Positions = LearnedPositions | SinusoidalPositions | AttentionPositions


class View(Generic[P, D]):
    """A function that shows something of a run, and which tasks it suits."""

    def __init__(self, function: Callable[P, D], suits: Suits) -> None:
        self.function, self.suits = function, suits
        parameters = inspect.signature(function).parameters
        self.options = tuple(parameter.name for parameter in parameters.values() if parameter.kind is parameter.KEYWORD_ONLY)
        self.needs_text = parameters["text"].default is inspect.Parameter.empty
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> D:
        return self.function(*arguments, **options)


def view(suits: Suits) -> Callable[[Callable[P, D]], View[P, D]]:
    return lambda function: View(function, suits)


# Which tasks a view suits


def any_task(task: Task) -> bool:
    return True


def model_of(task: Task) -> Model | None:
    """None for classifiers that have no model, or one for each label."""
    return task.model if task.has_model else None


def is_transformer(task: Task) -> bool:
    return (model := model_of(task)) is not None and model.is_transformer


def has_attention(task: Task) -> bool:
    """Whether there is a weight for each pair of tokens; a Linformer attends to mixtures of them."""
    return is_transformer(task) and linformer_of(task.model) is None


def linformer_of(model: Model) -> LinformerProjection | None:
    """What mixes the keys of the first block, if anything does."""
    attention = model.blocks[0].attention if model.is_transformer else None
    pattern = attention.pattern[0] if isinstance(attention, Attention) else None
    return pattern if isinstance(pattern, LinformerProjection) else None


def has_positions(task: Task) -> bool:
    return (model := model_of(task)) is not None and position_encoding(model) is not None


def position_encoding(model: Model) -> Positions | None:
    """What adds the positions to the token vectors, or what the first attention knows of them."""
    if not model.is_transformer:
        return None
    attention = model.blocks[0].attention
    added: Positions | None = getattr(model, "positions", None)
    return attention.positions if added is None and isinstance(attention, Attention) else added


def reads_a_row(task: Task) -> bool:
    """All models but adopted word vectors, which do not say how they were trained."""
    return (model := model_of(task)) is not None and not isinstance(model, Vectors)


def reads_context(task: Task) -> bool:
    return (model := model_of(task)) is not None and model.reads_context


def has_layers(task: Task) -> bool:
    return (model := model_of(task)) is not None and model.depth > 1


def has_token_vectors(task: Task) -> bool:
    return (model := model_of(task)) is not None and model.encodes


def predicts_next_token(task: Task) -> bool:
    return task.predicts_next


def counts_ngrams(task: Task) -> bool:
    return predicts_next_token(task) and task.model.has_ngrams


def fills_blanks(task: Task) -> bool:
    return task.fills_blanks


def gives_token_probabilities(task: Task) -> bool:
    return predicts_next_token(task) or fills_blanks(task)


def has_word_vectors(task: Task) -> bool:
    return task.has_word_vectors


def translates(task: Task) -> bool:
    return task.translates


def aligns(task: Task) -> bool:
    return translates(task) and (not isinstance(task.model, Seq2Seq) or task.model.attends)


def classifies(task: Task) -> bool:
    return task.gives_labels


def has_text_features(task: Task) -> bool:
    return task.has_text_features


def has_confusion(task: Task) -> bool:
    return task.has_confusion


def mixes_layers(task: Task) -> bool:
    return isinstance(task, Supervised) and bool(task.feature_extractor.mixes)
