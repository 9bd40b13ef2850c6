"""Checks a written file of n-grams, word vectors or Python: read back from disk, it must give the same numbers as the run."""

import json
import re
import subprocess
import sys

import numpy as np

from stairs.formats import arpa, word_vectors
from stairs.formats.huggingface.round_trip import Differences, largest_difference, mismatch, test_texts
from stairs.tasks import NextToken, WordVectors
from stairs.tasks.classifier import Classifier
from stairs.text.special import SPECIAL_TOKENS

ODD_TEXTS = ("", "😀 !?", "a\u3000b\u0085c\u200bd", "word " * 500)
ASK_FILE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("written", sys.argv[1])
written = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(written)
print(json.dumps(written.predict_proba(json.load(sys.stdin)).tolist()))
"""


def compare_arpa(task: NextToken, path: str) -> Differences:
    """The log-probabilities of sentences."""
    written, names = NextToken(*arpa.read(path)), arpa.arpa_names(task.tokenizer)
    texts, _ = test_texts(task.tokenizer, None)
    arpa_texts = [" ".join(names[number] for number in task.tokenizer.encode(text)) for text in texts]
    ours = np.array([[task.log_probability(text)] for text in texts])
    theirs = np.array([[written.log_probability(text)] for text in arpa_texts])
    return {"texts": len(texts), "log_probability_difference": largest_difference(ours, theirs, texts, "log-probabilities")}


def compare_vectors(task: WordVectors, path: str) -> Differences:
    """The vectors of all words."""
    written = word_vectors.read(path)
    words = [re.sub(r"\s", "▁", word) for word in task.tokenizer.vocabulary[len(SPECIAL_TOKENS) :]]
    if written.words != words:
        known = set(written.words)
        word = next((word for word in words if word not in known), words[0] if words else "")
        raise mismatch("words", word, f"{len(words)} words became {len(written.words)}, in another order or spelling")
    vectors = np.ascontiguousarray(task.word_model.all_vectors()[len(SPECIAL_TOKENS) :], np.float32)
    differences = np.abs(vectors - written.vectors).max(1) if words else np.zeros(0, np.float32)
    worst = int(differences.argmax()) if words else 0
    return {"difference": largest_difference(differences[worst : worst + 1, None], [np.zeros(1)], words[worst : worst + 1], "vectors")}


def compare_python(task: Classifier, path: str) -> Differences:
    """The probabilities of labels, computed by the file in a process of its own."""
    texts = [*test_texts(task.tokenizer, None)[0], *ODD_TEXTS]
    ended = subprocess.run([sys.executable, "-I", "-c", ASK_FILE, path], input=json.dumps(texts), capture_output=True, text=True)
    if ended.returncode:
        raise mismatch("labels", texts[0], f"it ends with {(ended.stderr.strip().splitlines() or ['an error'])[-1]}")
    theirs = np.array(json.loads(ended.stdout))
    return {"texts": len(texts), "labels_difference": largest_difference(task.probabilities(texts), theirs, texts, "labels")}
