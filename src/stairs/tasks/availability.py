"""Which tasks have a verb, by their claims, and who has it, in words: `dir(task)` shows the verbs that it has, the others say who does."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from stairs.errors import Unsupported
from stairs.tasks import TEXT_KINDS

if TYPE_CHECKING:
    from stairs.tasks.task import Task


class Availability(NamedTuple):
    has: "Callable[[Task], bool]"
    who: str


def encodes(task: "Task") -> bool:
    return task.has_model and task.model.encodes


def compares(task: "Task") -> bool:
    return task.example_kind == "compare" and not task.searches_texts


def predicts_targets(task: "Task") -> bool:
    """Whether it predicts what labelled texts, or pairs of texts, have beside them."""
    return task.example_kind in TEXT_KINDS or compares(task)


def gives_probabilities(task: "Task") -> bool:
    return bool(getattr(task, "labels", None)) and predicts_targets(task)


def scores_tokens(task: "Task") -> bool:
    return "likelihood" in task.answer_options()


def judges_pairs(task: "Task") -> bool:
    return scores_tokens(task) and task.model.takes_pairs


VERBS: dict[str, Availability] = {
    "fill": Availability(lambda task: task.fills_blanks, "a pretrained bert run has it"),
    "next_sentence": Availability(judges_pairs, "a pretrained bert run has it"),
    "pseudo_log_likelihood": Availability(scores_tokens, "a pretrained bert run has it"),
    "generate": Availability(lambda task: task.predicts_next and task.generates, "the run of a language model has it, such as gpt or ngram"),
    "log_probability": Availability(lambda task: task.predicts_next, "the run of a language model has it, such as gpt or ngram"),
    "embed": Availability(encodes, "runs whose model encodes have it, such as bert, gpt, elmo and word vectors"),
    "embed_tokens": Availability(encodes, "runs whose model encodes have it, such as bert, gpt and elmo"),
    "similarity": Availability(encodes, "runs whose model encodes have it, such as bert, gpt and word vectors"),
    "nearest": Availability(lambda task: task.has_word_vectors or task.searches_texts, "word vectors and runs tuned for the task similar have it"),
    "predict": Availability(predicts_targets, "a run that was tuned on labels has it"),
    "predict_proba": Availability(gives_probabilities, "a run that was tuned on labels has it"),
    "predict_file": Availability(lambda task: True, "every run has it"),
    "tag": Availability(lambda task: task.example_kind == "tag", "a run that was tuned on tagged words has it"),
    "find_span": Availability(lambda task: task.example_kind == "span", "a run that was tuned on questions and answers has it"),
    "choose": Availability(lambda task: task.example_kind == "choose", "a run that was tuned on multiple choice has it"),
    "find_sense": Availability(lambda task: task.example_kind == "sense", "a run that was tuned on word senses has it"),
    "translate": Availability(lambda task: task.translates, "seq2seq and transformer runs have it"),
    "tune": Availability(encodes, 'runs whose model encodes have it, such as bert; stairs.tune("tfidf", data) needs no run'),
    "evaluate": Availability(lambda task: True, "every run has it"),
    "draw": Availability(lambda task: True, "every run has it"),
    "convert": Availability(lambda task: True, "every run has it"),
}


def check_verb(task: "Task", verb: str) -> None:
    if not VERBS[verb].has(task):
        raise Unsupported(f"a {task.name} run of {task.model_name} has no {verb}; {VERBS[verb].who}")


def shown_names(task: "Task") -> list[str]:
    """The verbs and attributes that people use."""
    shown = ["answer", "answers", "folder", "name", "save", "summary", "tokenizer", *(["model"] if task.has_model else [])]
    shown += ["labels"] if getattr(task, "labels", None) else []
    return sorted([*shown, *(verb for verb, availability in VERBS.items() if availability.has(task))])
