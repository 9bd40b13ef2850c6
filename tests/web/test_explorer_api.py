"""The explorer's API: what it lists, draws and answers, and what it says to those who ask wrongly."""

import fcntl
import json
import re
from collections import Counter

import pytest

from stairs.pictures.catalogue import PICTURES
from stairs.pictures.pages import PAGES
from stairs.web.requests import MAX_TEXT_LENGTH
from stairs.web.shelf import Shelf, find_folders
from stairs.web.strings import STRINGS
from tests.support.small_world import encoder
from tests.web.explorer_runs import PORT, TRICK

BEGINS = {"json": b"", "svg": b"<svg", "png": b"\x89PNG"}
TEXT = "soup and rain in Rome today ."
TEXTS = {"neighbours": "soup", "strips": "soup\nrain", "map": "soup\nrain", "analogy": "soup - rain + wind", "blanks": "soup and ___ in Rome today ."}
SENSES = "hot: soup and rain\nhot: soup and bread\ncold: soup in Rome\ncold: soup today"


def listed(client):
    return {run["name"]: run for run in client.get("/api/runs").json()["runs"]}


def test_runs_are_listed_with_what_is_wrong(client):
    runs = listed(client)
    assert runs["gpt"]["state"] == "finished" and runs["gpt"]["score"]["name"] == "bits_per_character" and runs["gpt"]["step"] == 20
    assert runs["gpt"]["parameters"] > 1000 and runs["gpt"]["bytes"] > 4000 and runs["gpt"]["problem"] is None
    assert runs["damaged"]["state"] == "damaged" and "bytes where its manifest says" in runs["damaged"]["problem"]
    assert runs["unreadable"]["state"] == "damaged" and "run.json is damaged" in runs["unreadable"]["problem"]
    assert runs["unfinished"]["state"] == "unfinished" and "is not JSON" in runs["unfinished"]["problem"]
    assert {name for name, run in runs.items() if not run["can_answer"]} == {"damaged", "unreadable", "unfinished"}
    assert "tokens" in runs[TRICK]["pictures"]


def test_a_run_whose_settings_name_no_step_is_what_its_model_is(shelf, monkeypatch):
    run = shelf["labels"]
    monkeypatch.setattr(run, "settings", lambda: ({"seed": 0}, None))
    assert (run.summary()["model"], run.summary()["task"]) == ("elmo", "classify")


def test_a_run_that_is_being_written_is_in_training(client, folder):
    with (folder / "unfinished" / "run.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert listed(client)["unfinished"]["state"] == "training"
    assert listed(client)["unfinished"]["state"] == "unfinished"


def test_every_picture_that_is_offered_can_be_drawn(client):
    drawn: Counter[str] = Counter()
    for run in listed(client).values():
        for name, picture in (run["pictures"] or {}).items():
            body = {"run": run["name"], "text": SENSES if name == "senses" else TEXTS.get(name, TEXT)}
            body |= {"options": {"word": "soup"}} if name == "senses" else {}
            kinds = {0: ("json", "svg", "png"), 1: ("json", "svg")}.get(drawn[name], ("json",))  # drawing takes longer than looking
            for kind in kinds:
                response = client.post(f"/api/picture/{name}", json={**body, "format": kind})
                assert response.status_code == 200, (run["name"], name, response.text)
                assert response.content.startswith(BEGINS[kind]) and response.headers["content-disposition"].startswith("attachment")
            assert set(picture["options"]) <= set(PICTURES[name].view.options)
            drawn[name] += 1
    assert drawn.keys() >= {"tokens", "surprise", "next", "neighbours", "alignment", "tree", "confusion", "mix", "nearest"}


def test_curves_of_the_dimensions_that_are_asked_for(client):
    body = {"run": "gpt", "text": "", "format": "json"}
    assert client.post("/api/picture/waves", json={**body, "options": {"dimensions": "0,2-3"}}).json()["dimensions"] == [0, 2, 3]
    refused = client.post("/api/picture/waves", json={**body, "options": {"dimensions": "3-2"}})
    assert refused.status_code == 422 and "write 4-7 or 0,2,8" in refused.json()["error"]["message"]


def test_which_file_is_looked_in_no_request_decides(client, folder):
    body = {"run": "labels", "text": TEXT, "format": "json"}
    assert {one["label"] for one in client.post("/api/picture/nearest", json=body).json()["near"]} <= {TRICK, "weather"}
    refused = client.post("/api/picture/nearest", json={**body, "options": {"labels": "/etc/passwd"}})
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "options.labels"
    from starlette.testclient import TestClient

    from stairs.web.app import application

    alone = TestClient(application(Shelf([folder / "labels"]), PORT), base_url=f"http://127.0.0.1:{PORT}")
    while (without := alone.post("/api/picture/nearest", json=body)).status_code == 503:
        pass
    assert without.status_code == 422 and "--labels" in without.json()["error"]["message"]


def test_every_picture_has_a_page_in_both_languages():
    assert set(PICTURES) == set(PAGES)
    assert STRINGS["en"].keys() == STRINGS["zh"].keys()
    for page in PAGES.values():
        assert page["group"] in STRINGS["en"]
        assert all(set(page[part]) == {"en", "zh"} and all(page[part].values()) for part in ("title", "example", "presets", "description"))
        assert all(page["presets"][language][0] == page["example"][language] for language in ("en", "zh"))


def test_answers_of_all_kinds(client):
    def output(run, text, **more):
        response = client.post("/api/answer", json={"run": run, "text": text, **more})
        assert response.status_code == 200, response.text
        return response.json()["answer"]

    assert output("gpt", "soup and ___ in Rome")["text"] == "soup and"
    assert output("bert", "soup and ___ in Rome")["blanks"] and output("bert", "soup and rain", second="in Rome")["verdict"]
    assert output("skipgram", "soup ___")["near"] and output("transformer", "soup")["translation"] is not None
    assert set(output("labels", "soup")["probabilities"]) == {TRICK, "weather"} and output("elmo", "soup")["next"]


def test_tokens_of_bytes_are_written_for_people():
    from stairs.inspection.probabilities import readable_vocabulary_token
    from stairs.tasks import NextToken
    from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
    from stairs.web.studio import answer

    pieces = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=280), lambda: [["我们 北京 北京 北京"] * 9])
    result = answer(NextToken(encoder("gpt", pieces), pieces), "北京", "")["next"]
    every = {readable_vocabulary_token(NextToken(encoder("gpt", pieces), pieces), pieces.token(i)) for i in range(pieces.vocab_size)}
    assert len(result) == 8 and all(entry["readable"] in every for entry in result)
    assert " 北京" in every and "<E4>" in every and not any("å" in token or "Ġ" in token or "\ufffd" in token for token in every)


def test_curves(client):
    data = client.get("/api/curves/gpt").json()
    assert [point["step"] for point in data["held_out"]] == [10, 20] and len(data["training"]) == 20 and data["metric"] == "bits_per_character"
    assert client.get("/api/curves/gpt", params={"format": "svg"}).content.startswith(b"<svg")
    assert client.get("/api/curves/unreadable").status_code == 200 and client.get("/api/curves/none").status_code == 404
    assert client.get("/api/curves/gpt", params={"format": "exe"}).status_code == 422


def test_a_model_that_is_not_loaded_yet_is_asked_for_again(folder, monkeypatch):
    from stairs.web import opened_run

    monkeypatch.setattr(opened_run, "PATIENCE", 0.0)
    run = Shelf([folder / "gpt"]).runs["gpt"]
    with run.loading, pytest.raises(opened_run.RequestError) as refused, run.open_task():
        pass
    assert refused.value.status == 503
    run.load()
    with run.open_task() as task:
        assert task.model_name == "gpt"


def test_equal_names_are_told_apart_and_a_folder_of_runs_is_opened(folder, tmp_path):
    shelf = Shelf([folder / "gpt", folder / "." / "gpt", folder / "bert"])
    assert list(shelf.runs) == ["gpt", "gpt (2)", "bert"]
    assert len(find_folders([str(folder), str(folder / "gpt")]).runs) == len(list(folder.iterdir()))


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 400, None),
        (b"{", 400, None),
        (b"\xff\xfe", 400, None),
        (b"[]", 422, None),
        (b"[" * 100_000, 400, None),
        (b'{"run": "gpt", "text": NaN}', 400, None),
        (b'{"run": "gpt", "run": "gpt", "text": "a"}', 400, None),
        (b'{"run": "gpt", "text": "\\ud800"}', 422, "text"),
        (b'{"run": "gpt", "text": "a", "options": {"top": 1' + b"0" * 5000 + b"}}", 400, None),
        (b'{"text": "a"}', 422, "run"),
        (b'{"run": "gpt"}', 422, "text"),
        (b'{"run": 7, "text": "a"}', 422, "run"),
        (b'{"run": "none", "text": "a"}', 404, "run"),
        (b'{"run": "../gpt", "text": "a"}', 404, "run"),
        (b'{"run": "damaged", "text": "a"}', 422, "run"),
        (b'{"run": "unfinished", "text": "a"}', 422, "run"),
        (b'{"run": "gpt", "text": ""}', 422, "text"),
        (b'{"run": "gpt", "text": "  "}', 422, "text"),
        (b'{"run": "gpt", "text": ["a"]}', 422, "text"),
        (b'{"run": "gpt", "text": "a", "more": 1}', 422, "more"),
        (b'{"run": "gpt", "text": "a", "format": "html"}', 422, "format"),
        (b'{"run": "gpt", "text": "a", "format": ["svg"]}', 422, "format"),
        (b'{"run": "gpt", "text": "a", "side_by_side": "bert"}', 422, "side_by_side"),
        (b'{"run": "gpt", "text": "a", "side_by_side": ["bert"]}', 422, "side_by_side"),
        (b'{"run": "gpt", "text": "a", "side_by_side": ["none"]}', 404, "run"),
        (b'{"run": "gpt", "text": "a", "options": []}', 422, "options"),
        (b'{"run": "gpt", "text": "a", "options": {"top": "many"}}', 422, "options.top"),
        (b'{"run": "gpt", "text": "a", "options": {"top": 0}}', 422, "options.top"),
        (b'{"run": "gpt", "text": "a", "options": {"top": 1e999}}', 422, "options.top"),
        (b'{"run": "gpt", "text": "a", "options": {"top": true}}', 422, "options.top"),
        (b'{"run": "gpt", "text": "a", "options": {"run": "/etc"}}', 422, "options.run"),
        (json.dumps({"run": "gpt", "text": "a" * (MAX_TEXT_LENGTH + 1)}).encode(), 413, "text"),
        (b'{"text": "' + b"a" * (1 << 18) + b'"}', 413, None),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(client, body, status, field):
    response = client.post("/api/picture/next", content=body, headers={"content-type": "application/json"})
    error = response.json()["error"]
    assert (response.status_code, error["field"]) == (status, field), error
    assert set(error) == {"code", "message", "field"} and 10 < len(error["message"]) < 300 and "\n" not in error["message"]


def test_wrong_addresses_methods_and_kinds(client):
    body = {"run": "gpt", "text": "a"}
    for response, status in [
        (client.get("/nowhere"), 404),
        (client.get("/static/../app.py"), 404),
        (client.get("/static/%2e%2e%2fapp.py"), 404),
        (client.get("/static//start.js"), 404),
        (client.get("/picture/none"), 404),
        (client.get("/openapi.json"), 404),
        (client.post("/"), 405),
        (client.delete("/api/runs"), 405),
        (client.post("/api/picture/none", json=body), 404),
        (client.post("/api/picture/neighbours", json=body), 422),
        (client.post("/api/answer", content="run=gpt", headers={"content-type": "text/plain"}), 415),
        (client.post("/api/answer", json={**body, "run": "bert"}), 422),
        (client.post("/api/answer", json={**body, "second": 3}), 422),
    ]:
        assert response.status_code == status and response.json()["error"]["message"], response.text


def test_text_stays_text_in_svg(client):
    for name in ("tokens", "surprise"):
        trick = f"soup {TRICK} <script>alert(1)</script> ]]> <![CDATA[ \x00\x07"
        svg = client.post(f"/api/picture/{name}", json={"run": "nnlm", "text": trick}).text
        assert "<img" not in svg and "<script" not in svg
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", "".join(static_sources(client)))


def static_sources(client):
    return [client.get(f"/static/{name}.js").text for name in ("start", "shared", "drawing", "runs", "picture", "compare", "curves", "staircase")]


def test_a_text_that_is_longer_than_the_model_reads(client):
    long = " ".join(["soup and rain in Rome today ."] * 74)
    for run in ("gpt", "bert", "nnlm", "elmo"):
        for name in listed(client)[run]["pictures"]:
            if name not in ("senses", "blanks"):
                response = client.post(f"/api/picture/{name}", json={"run": run, "text": long, "format": "json"})
                assert response.status_code == 200 or (response.status_code == 422 and response.json()["error"]["message"]), (run, name)
