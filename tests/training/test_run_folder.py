"""The folder of a climb stands for the run that it recommends, wherever a run is asked for."""

import json

import pytest

import stairs
from stairs.errors import BadInput
from stairs.training.run_folder import run_folder


def write_climb(folder, **changes):
    folder.mkdir(exist_ok=True)
    rows = [{"model": "tfidf", "run": "classify-tfidf"}, {"model": "bert", "run": "classify-bert"}, {"model": "gpt", "failed": "it diverged"}]
    report = {"rows": rows, "recommendation": {"model": "tfidf"}} | changes
    (folder / "report.json").write_text(json.dumps(report))
    return folder


def test_a_climb_is_the_run_of_its_recommended_model_and_a_run_is_itself(tmp_path):
    hill = write_climb(tmp_path / "hill")
    assert run_folder(hill) == hill / "classify-tfidf"
    assert run_folder(write_climb(hill, recommendation=None, first_recommendation={"model": "bert"})) == hill / "classify-bert"
    (hill / "run.json").write_text("{}")
    assert run_folder(hill) == hill and run_folder(tmp_path / "none") == tmp_path / "none"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"recommendation": None}, "recommends no model; give the folder of one of its runs, such as .*classify-tfidf"),
        ({"recommendation": {"model": "gpt"}}, "recommends no model"),
        ({"recommendation": {"model": ["tfidf"]}}, "recommends no model"),
        ({"rows": [{"model": "tfidf", "run": "../elsewhere"}]}, "recommends no model; run stairs climb again"),
        ({"rows": [{"model": "tfidf", "run": ".."}]}, "recommends no model"),
        ({"rows": {"model": "tfidf"}}, "is not the report of a climb"),
    ],
)
def test_a_report_without_a_usable_recommendation_is_refused_in_a_sentence(tmp_path, changes, sentence):
    with pytest.raises(BadInput, match=sentence):
        run_folder(write_climb(tmp_path / "hill", **changes))


def test_load_gives_the_recommended_model_and_its_own_folder(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("text,label\n" + "".join(f"{word} film {i},{word}\n" for i in range(20) for word in ("good", "bad")))
    stairs.tune("tfidf", labels, out=tmp_path / "hill" / "classify-tfidf")
    task = stairs.load(write_climb(tmp_path / "hill"))
    assert task.predict("a good film") == "good" and task.folder == tmp_path / "hill" / "classify-tfidf"
