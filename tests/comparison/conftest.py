"""A small climb: cats that are happy or sad, and models that learn them in a second or two."""

import pytest

from stairs.comparison import other_encoders, runner  # noqa: F401  # the first, if a test imported it late, would keep what that test replaced
from stairs.comparison.experiment import Experiment
from stairs.models.settings import DEFAULT_TOKENIZER, SIZES
from stairs.text.comparison_data import split_examples
from stairs.text.corpus.corpus import Corpus
from stairs.text.examples import LabelledText
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec
from stairs.training import run_plans
from stairs.training.recipe import Recipe
from tests.support.tiny import tiny

SHARE = 2.5  # seconds of each that learns by gradients
SMALL = {
    "nnlm": tiny("nnlm", context=16),
    "elmo": tiny("elmo"),
    "gpt": tiny("gpt", width=8, layers=1),
    "bert": tiny("bert", width=8, layers=1),
    "seq2seq": {"width": 8, "context": 32},
    "transformer": tiny("transformer", width=8, layers=1, context=32),
    "cove": tiny("cove", context=32),
    **{name: tiny(name) for name in ("cbow", "skipgram", "glove", "cnn")},
}


def labelled():
    texts = [(f"the {word} cat number {i}", label) for i in range(30) for word, label in (("happy", "good"), ("sad", "bad"))]
    return [LabelledText(text, label, f"cats.csv:{i}") for i, (text, label) in enumerate(texts, 2)]


@pytest.fixture
def experiment(tmp_path):
    text = tmp_path / "cats.txt"
    text.write_text("\n\n".join(f"The cat {i} sat on the mat. It was cat number {i}." for i in range(200)))

    def shards_for(model):
        spec = TokenizerSpec(DEFAULT_TOKENIZER[model], vocab_size=None if model == "ngram" else 300)
        return build_shards(Corpus([text]), spec, cache=tmp_path / "cache")

    return Experiment(shards_for, tmp_path / "out", **split_examples(labelled(), "classify", 0))


@pytest.fixture
def quick(monkeypatch):
    """Tiny models, each for a second or two."""
    monkeypatch.setattr(runner, "FIRST_SECONDS", float("inf"))  # on a busy machine, too, all quick models come before the first recommendation
    monkeypatch.setattr(runner, "models_within", lambda models, budget, megabytes: (list(models), ""))
    monkeypatch.setattr(runner, "allot", lambda models, left, evaluated: {model.name: SHARE for model in models if model.learns_by == "gradient"})
    monkeypatch.setattr(run_plans, "choose_recipe", lambda *given, **more: Recipe("mini", None, 256, None, ""))
    for model, settings in SMALL.items():
        monkeypatch.setitem(SIZES, model, {**SIZES[model], "mini": settings})
