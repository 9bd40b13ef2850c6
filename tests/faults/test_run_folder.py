"""The run folder under faults: two writers, damage, other settings, full disks, kills. A run is complete, or the same command makes it so."""

import hashlib
import json
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stairs.files import MANIFEST, checksum
from tests.faults.refusals import TRAIN, model, sentences, tree

HOLDER = """
import sys
from pathlib import Path
from stairs.files import write_lock
with write_lock(Path("run")):
    print("locked", flush=True)
    sys.stdin.read()
"""


def rewrite_file(run: Path, name: str, content: bytes) -> None:
    """Replace a file, and its entry in the manifest."""
    (run / "model" / name).write_bytes(content)
    manifest = json.loads((run / "model" / MANIFEST).read_text())
    manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest.pop("checksum")
    (run / "model" / MANIFEST).write_text(json.dumps({**manifest, "checksum": checksum(manifest)}))


# One writer


def test_a_second_writer_is_refused_at_once_and_a_killed_one_does_not_count(command, refused, stairs, run, corpus):
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"locked\n"
            started = time.process_time()  # its own time: other processes may keep the machine busy
            refused(*TRAIN, code=5, words=(f"process {process.pid} ", "run is being written by"))
            refused("adopt", "notes.txt", "--out", "run", code=5, words=(f"process {process.pid} ",))
            assert time.process_time() - started < 1
            assert command("ask", "run", "the cat").code == 0  # readers never wait
            assert stairs(*TRAIN).returncode == 5
        finally:
            process.send_signal(signal.SIGKILL)
    assert command(*TRAIN).code == 0


def test_the_lock_is_held_while_training(command, corpus, monkeypatch):
    from stairs.tasks.next_token import NextToken

    evaluate, codes = NextToken.evaluate_split, []

    def meanwhile(task, shards, split):
        codes.append(command(*TRAIN).code)
        return evaluate(task, shards, split)

    monkeypatch.setattr(NextToken, "evaluate_split", meanwhile)
    assert command(*TRAIN).code == 0
    assert codes == [5, 5]


# Damage


def damage(run: Path, how: str) -> None:
    weights = run / "model/model.safetensors"
    content = weights.read_bytes()
    if how.startswith("cut"):
        weights.write_bytes(content[: int(how.split()[1]) if how != "cut 1 byte" else -1])
    elif how == "flipped bit":
        weights.write_bytes(content[:-100] + bytes([content[-100] ^ 4]) + content[-99:])
    elif how == "zeros":
        weights.write_bytes(bytes(len(content)))
    elif how == "zeros at the end":
        weights.write_bytes(content[:-200] + bytes(200))
    elif how == "longer":
        weights.write_bytes(content + b"\0")
    elif how.endswith("missing"):
        (run / "model" / how.split()[0]).unlink()
    elif how == "manifest empty":
        (run / "model" / MANIFEST).write_bytes(b"")
    elif how == "manifest not JSON":
        (run / "model" / MANIFEST).write_text("{'files'")
    elif how == "manifest of nothing":
        (run / "model" / MANIFEST).write_text('{"files": {"config.json": 5}}')
    elif how == "pickle":
        weights.write_bytes(pickle.dumps({"weight": [1.0, 2.0]}))
    elif how == "page":
        weights.write_text("<!DOCTYPE html><html><body>404 Not Found</body></html>")


DAMAGES = [
    *(f"cut {n}" for n in ("0", "7", "100", "4096", "1 byte")), "flipped bit", "zeros", "zeros at the end", "longer", "config.json missing",
    "model.safetensors missing", "tokenizer.json missing", "tokenizer_config.json missing", f"{MANIFEST} missing", "manifest empty",
    "manifest not JSON", "manifest of nothing", "pickle", "page",
]  # fmt: skip


@pytest.mark.parametrize("how", DAMAGES)
def test_damage_is_detected_and_the_same_command_repairs_it(command, refused, run, trained, how):
    damage(run, how)
    refused("ask", "run", "the cat", words=("run/model",))
    result = command("train", "ngram", "notes.txt", "--out", "run")
    assert result.code == 0 and "it is trained again" in result.err
    assert model(run) == model(trained)
    assert len((run / "metrics.jsonl").read_text().splitlines()) == 1
    assert command("ask", "run", "the cat").code == 0


CONFIGS = {
    "unknown task": {"task": "juggling"},
    "unknown model": {"task": "next-token", "model": "juggling", "config": {}},
    "no model": {"task": "next-token"},
    "unknown setting": {"task": "next-token", "model": "ngram", "config": {"vocab_size": 75, "zebra": 1}},
    "other size": {"task": "next-token", "model": "ngram", "config": {"vocab_size": 9}},
    "wrong kind": {"task": "next-token", "model": "ngram", "config": {"vocab_size": "many", "order": "three"}},
    "a list": [1, 2],
    "task a list": {"task": ["next-token"]},
    "null": None,
    "another task": {"task": "classify-tfidf", "model": "tfidf", "labels": ["a", "b"]},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_crafted_config(refused, run, name):
    rewrite_file(run, "config.json", json.dumps(CONFIGS[name]).encode())
    refused("ask", "run", "the cat", words=("run/model", "juggling" if name == "unknown task" else ""))


def header(content: dict) -> bytes:
    text = json.dumps(content).encode()
    return len(text).to_bytes(8, "little") + text


WEIGHTS = {
    "a pickle": pickle.dumps({"weight": [1.0]}),
    "a page": b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
    "nothing": b"",
    "a header of a terabyte": (1 << 40).to_bytes(8, "little") + b"{}",
    "no tensors": header({}),
    "a shape that overflows": header({"words": {"dtype": "I32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 4]}}) + bytes(4),
    "another tensor": header({"zebra": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]}}) + bytes(4),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_crafted_weights(refused, run, name):
    rewrite_file(run, "model.safetensors", WEIGHTS[name])
    refused("ask", "run", "the cat")


@pytest.mark.parametrize("name", ["log10s", "backoffs"])
def test_weights_that_are_not_finite(refused, run, name):
    from safetensors.torch import load_file, save

    tensors = load_file(run / "model/model.safetensors")
    tensors[name][3] = float("nan")
    rewrite_file(run, "model.safetensors", save(tensors))
    refused("ask", "run", "the cat")


@pytest.mark.parametrize("content", ["", "[]", "null", "{", '{"format": "new"}', "{}", "[" * 100_000, "\0"])
def test_a_damaged_run_file(refused, run, content):
    (run / "run.json").write_text(content)
    refused("ask", "run", "the cat", words=("run/run.json is damaged",))
    refused(*TRAIN, words=("run/run.json is damaged",))


def test_a_newer_format(refused, run):
    settings = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**settings, "format": 99, "versions": {"stairs": "99.1"}}))
    for arguments in (("ask", "run", "the cat"), TRAIN, ("score", "run", "notes.txt")):
        refused(*arguments, words=("run/run.json was written by stairs '99.1'", "update stairs"))


def test_an_older_format(refused, run):
    settings = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**settings, "format": 1}))
    for arguments in (("ask", "run", "the cat"), TRAIN, ("score", "run", "notes.txt")):
        refused(*arguments, words=("run/run.json has format 1", "reads format 2", "train the run again"))


def test_a_run_that_was_not_finished(refused, run):
    shutil.rmtree(run / "model")
    refused("ask", "run", "the cat", words=("no finished model", "same stairs train command"))


def test_a_measurement_that_was_cut_short(command, run, trained):
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2, "tok')
    result = command("train", "ngram", "notes.txt", "--out", "run", "--json")
    assert result.code == 0 and "is finished" in result.err
    assert json.loads(result.out)["step"] == 1


# The same command, and another


def test_the_same_command_again(command, run):
    before = tree(run)
    result = command("train", "ngram", "notes.txt", "--out", "run")
    assert result.code == 0
    assert result.err == "run is finished; nothing to do\n"
    assert {**tree(run), "run.lock": ""} == {**before, "run.lock": ""}


def test_changed_settings(refused, run, corpus, tmp_path):
    refused(*TRAIN, "--order", "2", words=("config.order = 3", "now it is 2"))
    refused(*TRAIN, "--prune", "0", "1", words=("config.prune = [0]", "now it is [0, 1]"))
    refused(*TRAIN, "--seed", "4", words=("seed = 0", "now it is 4"))
    refused(*TRAIN, "--lowercase", words=("data.tokenizer",))
    old = json.loads((run / "run.json").read_text())["data"]["corpus"]
    corpus.write_text(sentences() + " and one more sentence .")
    refused(*TRAIN, words=("data.corpus", old[:12]))


def test_a_corpus_under_another_name_is_the_same(command, run, corpus):
    corpus.rename("renamed.txt")
    result = command("train", "ngram", "renamed.txt", "--out", "run")
    assert result.code == 0 and "is finished" in result.err
