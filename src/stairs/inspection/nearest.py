"""Which labelled texts are nearest to this one, as the classifier sees them: by the cosine of the vectors that its last layer reads.

Labels that agree with the one given are reasons for it. Where others stand among the nearest, the classifier finds the text hard, or the file gives
two labels to texts that are alike.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from stairs.errors import BadInput, preview
from stairs.inspection.tokens import Data, with_note
from stairs.text.examples import LabelledText
from stairs.text.labelled import read_examples

MAX_EXAMPLES = 10_000  # examples that are compared; of more, as many from all parts of the file
LABELS_NAMED = 5  # labels in a sentence
Key = tuple[str, int, int]
FEATURES: WeakKeyDictionary[Any, tuple[Key, Any]] = WeakKeyDictionary()  # of each task those of the file that was looked in last


def nearest(task: Any, text: str, *, labels: str = "", top: int = 10) -> Data:
    """The label of a text, and the examples of the file `labels` that are nearest to it."""
    if not labels:
        raise BadInput("nearest looks among labelled examples, and no file of them came; give the one that the run learnt from with --labels FILE")
    key = file_version(labels)
    examples = examples_in(key)
    check_labels(task, examples, labels)
    step = -(-len(examples) // MAX_EXAMPLES)
    compared = examples[::step]
    if FEATURES.get(task, (None,))[0] != key:
        FEATURES[task] = key, normalize_rows(task.text_features([example.text for example in compared]))
    asked = normalize_rows(task.text_features([text]))
    if not abs(asked).sum():
        raise BadInput(f"this run knows nothing in {preview(text)}, so no text is near to it; give a text with words that it knows")
    cosines = cosines_with(FEATURES[task][1], asked)
    best = [(compared[i], float(cosines[i])) for i in np.argsort(-cosines, kind="stable")[:top].tolist()]
    found = [{"text": own.text, "label": own.label, "cosine": cosine, "where": Path(own.where).name} for own, cosine in best]
    said = task.answer(text)
    cut = f"{Path(labels).name} has {len(examples)} different texts; {len(compared)} from all parts of it were compared" if step > 1 else None
    return with_note({"text": text, "label": said["label"], "probability": said["probabilities"][said["label"]], "near": found}, cut)


def file_version(labels: str) -> Key:
    """A file, and when and how large it was written."""
    try:
        status = Path(labels).stat()
    except OSError:
        raise BadInput(f"there is no file {labels}; give one of labelled examples with --labels") from None
    return labels, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def examples_in(key: Key) -> list[LabelledText]:
    """Each text once for each of its labels."""
    examples: Any = read_examples(key[0], "classify").examples
    found = {(example.text, example.label): example for example in reversed(examples)}
    return list(found.values())[::-1]


def check_labels(task: Any, examples: list[LabelledText], labels: str) -> None:
    own = list(dict.fromkeys(example.label for example in examples))
    if not set(own) & set(task.labels):
        came = f"{labels} has the labels {', '.join(own[:LABELS_NAMED])}, and this run knows {', '.join(task.labels[:LABELS_NAMED])}"
        raise BadInput(f"{came}; give the file that it learnt from")


def normalize_rows(vectors: Any) -> Any:
    """The same of length 1, dense or sparse; zeros stay zeros."""
    from sklearn.preprocessing import normalize

    return normalize(vectors)


def cosines_with(rows: Any, one: Any) -> np.ndarray:
    found = rows @ one.T
    return np.asarray(found.todense() if hasattr(found, "todense") else found).ravel()
