"""Tags that fit together: which tag may follow which, the best sequence of tags for a sentence (Viterbi 1967), and the spans that tags mark."""

from collections.abc import Sequence

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.answers import TagsAnswer
from stairs.text.examples import TaggedSentence

FORBIDDEN = -1e4  # the log-probability of a transition that does not occur


def labels_of_tags(examples: Sequence[TaggedSentence]) -> list[str]:
    """The tags of the training examples, of which there must be two."""
    labels = sorted({tag for example in examples for tag in example.tags})
    if len(labels) < 2:
        raise BadInput(f"{examples[0].where}: every word has the tag {labels[0]!r}; at least two are needed")
    return labels


def check_tags(example: TaggedSentence, labels: Sequence[str]) -> None:
    unknown = next((tag for tag in example.tags if tag not in labels), None)
    if unknown is not None:
        raise BadInput(f"{example.where}: the tag {unknown!r} is not in the training file, which has {', '.join(labels[:8])}; correct it")


def transitions(labels: Sequence[str]) -> np.ndarray:
    """0 where one tag (column) may follow another (row), FORBIDDEN where not; the last row is the beginning of a sentence. Only tags of the form I-X
    depend on the tag before them, and only if there is a B-X."""
    costs = np.zeros((len(labels) + 1, len(labels)), np.float32)
    for column, tag in enumerate(labels):
        if tag.startswith("I-") and f"B-{tag[2:]}" in labels:
            costs[:, column] = FORBIDDEN
            for row, before in enumerate(labels):
                if before in (f"B-{tag[2:]}", tag):
                    costs[row, column] = 0.0
    return costs


def viterbi(scores: np.ndarray, costs: np.ndarray) -> list[int]:
    """The most probable sequence of labels for scores (T, labels)."""
    if not costs.any():
        return [int(label) for label in scores.argmax(1)]
    logs = scores - np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True)) - scores.max(1, keepdims=True)
    best, back_pointers = logs[0] + costs[-1], []
    for own in logs[1:]:
        candidates = best[:, None] + costs[:-1]
        back_pointers.append(candidates.argmax(0))
        best = candidates.max(0) + own
    path = [int(best.argmax())]
    for pointers in reversed(back_pointers):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def spans(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """(label, first word, word after the last) of B-X I-X I-X."""
    marked: list[tuple[str, int, int]] = []
    for number, tag in enumerate(tags):
        if tag.startswith("I-") and marked and marked[-1][0] == tag[2:] and marked[-1][2] == number:
            marked[-1] = (marked[-1][0], marked[-1][1], number + 1)
        elif tag.startswith(("B-", "I-")):
            marked.append((tag[2:], number, number + 1))
    return marked


def tags_answer(
    text: str, words: Sequence[str], tags: list[str], positions: Sequence[tuple[int, int]], segmentation: str, labels: Sequence[str]
) -> TagsAnswer:
    """`positions` are the places of the words in the text; where tags mark spans (B-PER), the answer has the spans as well."""
    answer: TagsAnswer = {"text": text, "words": list(words), "tags": tags, "segmentation": segmentation}
    if any(tag.startswith("B-") for tag in labels):
        answer["spans"] = [
            {"label": label, "text": text[positions[a][0] : positions[b - 1][1]], "start": positions[a][0], "end": positions[b - 1][1]}
            for label, a, b in spans(tags)
        ]
    return answer
