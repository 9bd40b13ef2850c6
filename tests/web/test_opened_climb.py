"""A climb that was opened: whatever its report holds, the page gets rows or a sentence."""

import json

import pytest

from stairs.comparison.messages import advice
from stairs.web.opened_climb import MAX_REPORT_BYTES, OpenedClimb, check_row
from stairs.web.shelf import Shelf, find_folders
from tests.web.explorer_runs import TRICK, climb, scored_row


def test_what_a_page_gets(client, climbed):
    summary = client.get("/api/climb/hill").json()
    assert [row["model"] for row in summary["rows"]] == ["tfidf", TRICK, "bert", "elmo"]
    assert summary["recommended"] == ["tfidf"] and summary["names"]["zh"] == "tfidf" and summary["problem"] is None
    assert summary["rows"][1]["bits"] == 2.0 and "score" not in summary["rows"][2] and "0.8000" in summary["advice"]["zh"]
    assert "8 training, 1 validation and 2 test examples" in summary["data"]["en"] and "Rule:" in summary["data"]["en"]
    assert client.get("/api/runs").json()["climbs"] == ["hill"]


@pytest.mark.parametrize("picture", ["staircase", "frontier"])
def test_pictures(client, climbed, picture):
    climb(climbed, *(scored_row(name, 0.7, 2.0) for name in ("constructor", "toString", "阶梯")))
    address = f"/api/climb/hill/{picture}"
    svg = client.get(address).text
    assert svg.startswith("<svg") and "<img" not in svg and "constructor" in svg and "阶梯" in svg and "macro F1" in svg
    assert client.get(address, params={"format": "png"}).content.startswith(b"\x89PNG")
    assert len(client.get(address, params={"format": "json"}).json()["rows"]) == 5
    assert client.get(address, params={"language": "xx"}).status_code == 422
    report = climb(climbed)
    report["rows"][0]["metric"] = "accuracy"
    (climbed / "report.json").write_text(json.dumps(report))
    assert "准确率" in client.get(address, params={"language": "zh"}).text
    climb(climbed)


def test_wrong_addresses(client):
    for address in ("/api/climb/none", "/api/climb/none/staircase", "/api/climb/..%2f..%2fetc"):
        assert client.get(address).status_code == 404
    assert client.get("/api/climb/hill/map").status_code == 422 and client.get("/api/climb/hill/staircase?format=exe").status_code == 422


@pytest.mark.parametrize(
    "change",
    [
        lambda report: b"{",
        lambda report: b"\xff",
        lambda report: b"[" * 100_000,
        lambda report: b"[]",
        lambda report: b" " * (MAX_REPORT_BYTES + 1),
        lambda report: report | {"rows": {"a": 1}},
        lambda report: report | {"rows": [{"model": "tfidf"}]},
        lambda report: report | {"rows": [{"model": ["tfidf"], "failed": ""}]},
        lambda report: report | {"rows": [scored_row("tfidf", 0.8, -1.0)]},
        lambda report: report | {"rows": [scored_row("tfidf", float("nan"), 1.0)]},
        lambda report: report | {"rows": [scored_row("tfidf", 0.8, 10**400)]},
        lambda report: report | {"recommendation": {"model": "tfidf", "score": "{0}"}},
        lambda report: report | {"recommendation": report["recommendation"] | {"why": {"en": 3, "zh": ""}}},
        lambda report: {name: value for name, value in report.items() if name != "settings"},
    ],
)
def test_a_damaged_report_is_a_sentence(client, climbed, change):
    changed = change(climb(climbed))
    (climbed / "report.json").write_bytes(changed if isinstance(changed, bytes) else json.dumps(changed).encode())
    summary = client.get("/api/climb/hill").json()
    assert "report.json is damaged" in summary["problem"] and summary["rows"] == []
    assert client.get("/api/climb/hill/staircase").status_code == 422


def test_a_climb_without_a_score_has_no_picture_yet(client, climbed, tmp_path):
    report = climb(climbed)
    (climbed / "report.json").write_text(json.dumps(report | {"rows": [], "recommendation": None}))
    assert "No model that learnt something has a score" in client.get("/api/climb/hill").json()["advice"]["en"]
    assert "no model of hill has a score yet" in client.get("/api/climb/hill/frontier").json()["error"]["message"]
    assert "There were no labels" in advice(None, "")["en"]
    (climbed / "report.json").unlink()
    assert "cannot be read" in client.get("/api/climb/hill").json()["problem"]


def test_its_runs_are_opened_in_the_order_of_its_rows_and_new_ones_are_taken_in(tmp_path, monkeypatch):
    monkeypatch.setattr(Shelf, "load", lambda self, runs: None)
    hill = tmp_path / "hill"
    climb(hill, scored_row("../hill", 0.5, 1.0))
    for name in ("another", "next-token-gpt", "classify-tfidf"):
        (hill / name).mkdir()
        (hill / name / "run.json").write_text("{}")
    found = find_folders([str(hill)])
    assert found.climbs == [hill] and [path.name for path in found.runs] == ["classify-tfidf", "next-token-gpt", "another"]
    shelf = Shelf(*found)
    assert shelf.climb_summary("hill")["rows"][0]["runs"] == ["classify-tfidf"]
    (hill / f"classify-{TRICK}").mkdir()
    (hill / f"classify-{TRICK}" / "run.json").write_text("{}")
    shelf.refresh()
    assert list(shelf.runs)[-1] == f"classify-{TRICK}" == shelf.climb_summary("hill")["rows"][1]["runs"][0]
    assert OpenedClimb(tmp_path / "none", "none").runs() == []


def test_an_encoder_that_is_read_beside_words_says_so_and_names_its_runs():
    texts = {"en": "read beside", "zh": "一起使用"}
    row = check_row(scored_row("bert", 0.8, 1.0, alone_run="classify-bert-alone", pretrained_run="masked", beside_words=texts, insert="beside"))
    assert row["runs"] == ["classify-bert", "classify-bert-alone", "masked"] and row["beside_words"] == texts and row["insert"] == "beside"
    with pytest.raises(TypeError):
        check_row(scored_row("bert", 0.8, 1.0, beside_words={"en": 1, "zh": 2}))


def test_climbs_inside_a_folder_are_opened_with_their_runs_and_the_runs_beside_them(tmp_path):
    for name in ("climb-one/classify-tfidf", "climb-two/classify-bert", "notes-gpt"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text("{}")
    climb(tmp_path / "climb-one")
    climb(tmp_path / "climb-two")
    (tmp_path / "notes-gpt" / "report.json").write_text("{}")  # a run is no climb
    found = find_folders([str(tmp_path)])
    assert [path.name for path in found.climbs] == ["climb-one", "climb-two"]
    assert [str(path.relative_to(tmp_path)) for path in found.runs] == ["climb-one/classify-tfidf", "climb-two/classify-bert", "notes-gpt"]


def test_a_report_of_another_format_is_a_sentence(client, climbed):
    (climbed / "report.json").write_text(json.dumps(climb(climbed) | {"format": 7}))
    assert "has the format 7, and this version reads 2" in client.get("/api/climb/hill").json()["problem"]
    climb(climbed)
