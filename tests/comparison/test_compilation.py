"""Kernels are compiled ahead, once: what a climb calls afterwards is there."""

import json
import os
import subprocess
import sys

import pytest

from stairs.cache import cache_folder
from stairs.comparison import compilation

# Prints the kernels of ours that a command had to compile.
LISTENING = """
import sys
from numba.core import event
class Compiled(event.Listener):
    def on_start(self, heard): pass
    def on_end(self, heard): names.append(heard.data["dispatcher"].py_func)
names = []
event.register("numba:compile", Compiled())
from stairs.cli import main
code = main(sys.argv[1:])
print(*(own.__qualname__ for own in names if own.__module__.startswith("stairs.")), sep="\\n")
sys.exit(code)
"""


def test_a_second_time_nothing_is_done(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compilation, "TINY_MODELS", compilation.TINY_MODELS[:1])
    monkeypatch.setattr(compilation, "train_tiny_translator", lambda out: None)
    compilation.compile_kernels()
    (note,) = cache_folder().glob("kernels-*")
    files = json.loads(note.read_text())
    assert files and all(map(os.path.exists, files)) and not list(cache_folder().glob("shards-*"))
    monkeypatch.setattr(compilation, "train_tiny", None)  # it would fail
    compilation.compile_kernels()
    note.write_text(json.dumps([*files, "a file that is gone"]))
    with pytest.raises(TypeError):
        compilation.compile_kernels()


def test_the_key_knows_the_processor(monkeypatch):
    before = compilation.kernels_key()
    monkeypatch.setenv("NUMBA_CPU_NAME", "another")
    assert compilation.kernels_key() != before == (monkeypatch.undo() or compilation.kernels_key())


@pytest.mark.slow
def test_nothing_is_left_for_commands_to_compile(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(f"The cat {i} sat on the mat. It was cat number {i}." for i in range(40_000)))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-m", "stairs.comparison.compilation"], env=environment, check=True)
    for model, *more in (("ngram",), ("cbow", "--epochs", "1"), ("skipgram", "--epochs", "1"), ("glove", "--epochs", "1"), ("bert", "--steps", "2")):
        words = [sys.executable, "-c", LISTENING, "train", model, str(text), "--out", str(tmp_path / model), "--quiet", *more]
        ended = subprocess.run(words, env=environment, capture_output=True, text=True)
        assert ended.returncode == 0 and not ended.stdout.split(), (model, ended.stdout, ended.stderr)


def test_after_the_warm_up_nothing_is_left_to_load_for_a_classifier():
    """Or the first model of a climb would be charged with it."""
    from numba.core import event

    from stairs.tasks import NGramClassifier, TfidfClassifier
    from stairs.text.examples import LabelledText
    from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

    compilation.warm_up(["ngram", "tfidf"])
    loaded, received = set(sys.modules), []

    class Listening(event.Listener):
        def on_start(self, reported):
            received.append(reported.data["dispatcher"].py_func.__qualname__)

        def on_end(self, reported): ...

    examples = [LabelledText(f"the {word} cat {i}", word) for i in range(10) for word in ("happy", "sad")]
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [[example.text for example in examples]])
    with event.install_listener("numba:compile", Listening()):
        for classifier in (NGramClassifier, TfidfClassifier):
            classifier.train(examples, tokenizer).predict_examples(examples)
    assert not received and not {name for name in set(sys.modules) - loaded if name.startswith(("sklearn", "scipy", "numba", "stairs"))}
