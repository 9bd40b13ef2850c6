"""Classifiers that are no neural networks are loaded and asked without torch, scikit-learn, SciPy and numba, none of which an answer needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stairs.tasks import NGramClassifier, TfidfClassifier
from stairs.tasks.classifier import word_tokenizer
from stairs.text.examples import LabelledText
from stairs.training.run import fit_once

EXAMPLES = [LabelledText(text, label) for text, label in (
    ("a lovely film", "good"), ("great and lovely", "good"), ("真好看", "good"), ("a dull film", "bad"), ("poor and dull", "bad"), ("真难看", "bad"),
)]  # fmt: skip
TEXTS = ("a great , lovely story", "dull 😀", "")
BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "sklearn", "scipy", "numba"):
            raise ImportError(name + " is imported")
sys.meta_path.insert(0, Block())
"""


def save_run(kind, folder: Path):
    task = kind.train(EXAMPLES, word_tokenizer(EXAMPLES))
    fit_once(folder, {**task.describe(), "seed": 0}, train=lambda: task, evaluate=lambda task: {})
    return task


def run_blocked(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


@pytest.mark.parametrize("kind", [TfidfClassifier, NGramClassifier])
def test_a_run_is_asked_without_torch_and_scikit_learn(kind, tmp_path):
    task = save_run(kind, tmp_path / "run")
    code = f"from stairs.cli import main\nsys.exit(main(['ask', {str(tmp_path / 'run')!r}, *{TEXTS!r}, '--json']))"
    answers = [json.loads(line) for line in run_blocked(code).splitlines()]
    assert answers == [task.answer(text) for text in TEXTS]


def test_python_loads_and_asks_without_them_too(tmp_path):
    task = save_run(TfidfClassifier, tmp_path / "run")
    code = f"import stairs\nprint(stairs.load({str(tmp_path / 'run')!r}).predict_proba({TEXTS!r}).tolist())"
    assert json.loads(run_blocked(code)) == task.predict_proba(TEXTS).tolist()
