"""A classifier as one Python file gives the probabilities of its run, with numpy alone."""

import ast
import importlib.util
import json
import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from stairs.convert_job import convert_run
from stairs.errors import BadInput, Unsupported
from stairs.formats.python_file import writer
from stairs.tasks import NextToken, NGramClassifier, TfidfClassifier, VectorClassifier
from stairs.tasks.classifier import word_tokenizer
from stairs.tasks.linear_mixture import Mixture
from stairs.tasks.tfidf_choice import TfidfChoice
from stairs.tasks.vector_choice import VectorChoice
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.tasks.test_vector_classifier import learned as learned_vectors
from tests.tasks.test_vector_classifier import vectors

SHOWN = {
    "good": ["a lovely film", "what a lovely story", "great and lovely", "a great film", "电影真好看", "故事很好看，喜欢"],
    'b"ad\n@LABELS@': ["a dull film", "what a dull story", "poor and dull", "don't see it !", "电影真难看", "故事很难看，讨厌"],
}
EXAMPLES = [LabelledText(text, label) for label, texts in SHOWN.items() for text in texts]
TEXTS = [
    "a lovely , great story", "poor", "", " ", "😀😀 ok", "film " * 5000, "x" * 100_000, "故事真好看！电影很难看。", "don't—stop…“quoted” 3.5%",
    "a\x85b\u2028c\x1cd\u200be\u3000f", "İstanbul ΟΔΟΣ", "𠀀𠀁〇", "[CLS] lovely [UNK]", "\ue000 \U000e0041 👩\u200d💻",
]  # fmt: skip
BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("stairs", "torch", "tokenizers", "sklearn", "scipy", "numba"):
            raise ImportError(name + " is imported")
sys.meta_path.insert(0, Block())
import json, runpy
print(json.dumps(runpy.run_path(sys.argv[1])["predict_proba"](json.load(sys.stdin)).tolist()))
"""


def trained(name: str):
    if name == "vectors":
        return learned_vectors()
    if name == "tuned vectors":
        return VectorClassifier.train(EXAMPLES, vectors(), mixture=Mixture((VectorChoice(words=2, characters=True, c=4.0),)))
    if name == "tfidf of words":
        return TfidfClassifier.train(EXAMPLES, word_tokenizer(EXAMPLES), mixture=Mixture((TfidfChoice(words=3, characters=False),)))
    return {"tfidf": TfidfClassifier, "ngram": NGramClassifier}[name].train(EXAMPLES, word_tokenizer(EXAMPLES))


def load(path):
    spec = importlib.util.spec_from_file_location("written", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["tfidf", "tfidf of words", "ngram", "vectors", "tuned vectors"])
def test_it_gives_the_probabilities_of_the_run_in_english_and_chinese(name, tmp_path):
    task, path = trained(name), tmp_path / "model.py"
    written = convert_run(task, "python", str(path))
    assert written.facts["labels_difference"] < 1e-6 and written.facts["bytes"] == path.stat().st_size
    ended = subprocess.run([sys.executable, "-c", BLOCKED, str(path)], input=json.dumps(TEXTS), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    np.testing.assert_allclose(json.loads(ended.stdout), task.probabilities(TEXTS), atol=1e-4 if "vectors" in name else 1e-6)
    module = load(path)
    assert task.labels == module.LABELS and module.predict(TEXTS) == task.predict_labels(TEXTS)
    assert module.predict_proba([]).shape == (0, 2) and module.predict("lovely") == task.predict_labels(["lovely"])


def test_it_reads_lines_and_prints_label_and_probability(tmp_path):
    task, path = trained("tfidf"), tmp_path / "model.py"
    writer.write(task, str(path))
    ended = subprocess.run([sys.executable, str(path)], input="a lovely film\n真难看\n".encode(), capture_output=True)
    assert ended.returncode == 0, ended.stderr
    answers = [task.answer(text) for text in ("a lovely film", "真难看")]
    assert ended.stdout.decode() == "".join(f"{answer['label']}\t{answer['probabilities'][answer['label']]:.6f}\n" for answer in answers)


@pytest.mark.parametrize(
    "settings",
    [{}, {"chinese": "characters", "lowercase": True}, {"chinese": "characters", "split": "spaces"}],
    ids=["jieba", "characters", "spaces"],
)
def test_words_are_cut_as_by_the_tokenizer_whatever_the_characters(settings, tmp_path):
    tokenizer = Tokenizer.train(TokenizerSpec("words", **settings), lambda: [[example.text for example in EXAMPLES]])
    path = tmp_path / "model.py"
    writer.write(TfidfClassifier.train(EXAMPLES, tokenizer), str(path))
    points = [chr(point) for point in (*range(0x3400), *range(0xA000, 0xD800, 7), *range(0xE000, 0x20010, 3), *range(0x2A6D0, 0x2A710))]
    points = [character for character in points if unicodedata.category(character) != "Cn"]  # this Python knows no lower case of newer letters
    random = np.random.default_rng(0)
    texts = ["".join(f"b{character}" for character in points), *("".join(random.choice(points, 50)) for _ in range(200))]
    module = load(path)
    for text in texts:
        assert module.words_of(text) == tokenizer.words(text)


def test_it_has_no_import_of_ours_and_nothing_that_runs_data(tmp_path):
    path = tmp_path / "it's a \"\"\" model.py"
    writer.write(trained("ngram"), str(path))
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    imports = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imports |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert imports == {"base64", "bisect", "functools", "jieba", "math", "numpy", "re", "rjieba", "sys", "zlib"}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__", "open"}


def test_what_it_cannot_hold_is_refused_in_a_sentence(tmp_path):
    path = str(tmp_path / "model.py")
    subwords = Tokenizer.train(TokenizerSpec("bpe", vocab_size=60), lambda: [[example.text for example in EXAMPLES]])
    with pytest.raises(Unsupported, match="cuts text into bpe"):
        convert_run(TfidfClassifier.train(EXAMPLES, subwords), "python", path)
    from stairs.models import MODELS
    from stairs.models.settings import NGramConfig

    tokenizer = word_tokenizer(EXAMPLES)
    with pytest.raises(Unsupported, match="next-token run of ngram"):
        convert_run(NextToken(MODELS["ngram"](NGramConfig(**tokenizer.vocabulary_settings)), tokenizer), "python", path)
    with pytest.raises(BadInput, match=r"does not end in \.py"):
        convert_run(trained("tfidf"), "python", str(tmp_path / "model.txt"))
    assert not list(tmp_path.iterdir())


def test_a_file_that_answers_differently_is_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(writer.template, "SCALED", writer.template.SCALED.replace("np.log(counts) + 1", "-counts"))
    with pytest.raises(Unsupported, match="give other labels"):
        convert_run(trained("tfidf"), "python", str(tmp_path / "model.py"))
    monkeypatch.setattr(writer.template, "TFIDF_WITH_CHARACTERS", "def scores(words):\n    raise KeyError(1)\n")
    with pytest.raises(Unsupported, match="KeyError"):
        convert_run(trained("tfidf"), "python", str(tmp_path / "model.py"))
    assert not list(tmp_path.iterdir())
