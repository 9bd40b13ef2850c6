"""What others get from a written file of n-grams or of word vectors, beside what the run gives. The file is read back from disk."""

import re
from typing import Any

import numpy as np

from stairs.formats.arpa import arpa_writer
from stairs.formats.huggingface.round_trip import largest_difference, mismatch, test_texts
from stairs.formats.word_vectors import vector_writer
from stairs.tasks import NextToken, Task
from stairs.text.special import SPECIAL_TOKENS


def compare_arpa(task: Any, path: str) -> dict[str, Any]:
    """Of the log-probabilities of sentences."""
    again, names = NextToken(*arpa_writer.read(path)), arpa_writer.arpa_names(task.tokenizer)
    texts, _ = test_texts(task.tokenizer, None)
    spelt = [" ".join(names[number] for number in task.tokenizer.encode(text)) for text in texts]
    ours, read = (np.array([one.log_probability(text) for text in given])[:, None] for one, given in ((task, texts), (again, spelt)))
    return {"texts": len(texts), "log_probability_difference": largest_difference(ours, read, texts, "log-probabilities")}


def compare_vectors(task: Task, path: str) -> dict[str, Any]:
    """Of the vectors of all words."""
    found = vector_writer.read(path)
    model: Any = task.model
    words = [re.sub(r"\s", "▁", word) for word in task.tokenizer.vocabulary[len(SPECIAL_TOKENS) :]]
    if found.words != words:
        known = set(found.words)
        word = next((word for word in words if word not in known), words[0] if words else "")
        raise mismatch("words", word, f"{len(words)} words became {len(found.words)}, in another order or spelling")
    vectors = np.ascontiguousarray(model.all_vectors()[len(SPECIAL_TOKENS) :], np.float32)
    worst = np.abs(vectors - found.vectors).max(1) if words else np.zeros(0, np.float32)
    place = int(worst.argmax()) if words else 0
    return {"difference": largest_difference(worst[place : place + 1, None], [np.zeros(1)], words[place : place + 1], "vectors")}
