"""A run in one file: what is packed comes out again, and a file that somebody else made is read as an enemy's."""

import json
import stat
import struct
import zipfile

import pytest

import stairs
from stairs.cache import cache_folder
from stairs.errors import BadInput
from stairs.training.run_file import open_run_file, write_run_file

ROWS = [("a good film", "pos"), ("a fine film", "pos"), ("a bad film", "neg"), ("a dull film", "neg")] * 6


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "reviews"
    rows = [(f"{text} {number}", label) for number, (text, label) in enumerate(ROWS)]
    stairs.tune("tfidf", rows, out=folder)
    return folder


@pytest.fixture
def packed(run, tmp_path):
    write_run_file(run, tmp_path / "reviews.stairs")
    return tmp_path / "reviews.stairs"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rewritten(packed, change):
    """The file with other members: `change` gets those there are, by name."""
    with zipfile.ZipFile(packed) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed


def nothing_unpacked():
    return not [path for path in cache_folder().rglob("*") if path.is_file()]


def test_a_run_file_answers_as_its_run(run, packed):
    texts = ["a fine good film", "bad and dull"]
    assert stairs.load(packed).predict_proba(texts).tolist() == stairs.load(run).predict_proba(texts).tolist()


def test_the_same_run_is_the_same_file(run, packed, tmp_path):
    write_run_file(run, tmp_path / "again.stairs")
    assert packed.read_bytes() == (tmp_path / "again.stairs").read_bytes()


def test_convert_writes_a_file_that_it_has_loaded_and_other_commands_take(run, tmp_path):
    out = tmp_path / "model.stairs"
    stairs.load(run).convert("file", out)
    assert stairs.load(out).convert("file", tmp_path / "copy.stairs")["files"] > 3
    assert [path.name for path in tmp_path.glob(".tmp-*")] == []
    with pytest.raises(BadInput, match=r"does not end in \.stairs"):
        stairs.load(run).convert("file", tmp_path / "model.zip")


def test_weights_have_the_permissions_of_their_neighbours(run):
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (run / "model").iterdir()}
    assert len(modes) == 1


ODD_NAMES = ["../../outside.json", "/tmp/outside.json", "model/../../outside.json", "model/code.py", "model/weights.pkl", "extra.json"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_member_that_is_no_file_of_a_run_is_refused(packed, name):
    with pytest.raises(BadInput, match="no file of a run"):
        open_run_file(rewritten(packed, lambda members: members.update({name: b"{}"})))
    assert nothing_unpacked()


def test_a_bomb_is_refused_before_it_is_inflated(packed):
    with pytest.raises(BadInput, match="claim to hold"):
        open_run_file(rewritten(packed, lambda members: members.update({"model/strings.json": b" " * 50_000_000})))
    assert nothing_unpacked()


def test_members_that_share_their_bytes_are_refused(packed):
    """As in bombs whose members overlap: the central directory claims more compressed bytes than the file has."""
    data = bytearray(packed.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<II", data, at + 20, len(data), len(data))
    packed.write_bytes(data)
    with pytest.raises(BadInput, match=r"overlap|damaged"):
        open_run_file(packed)


def test_changed_weights_are_noticed(packed):
    def flip(members):
        weights = bytearray(members["model/model.safetensors"])
        weights[-1] ^= 1
        members["model/model.safetensors"] = bytes(weights)

    with pytest.raises(BadInput, match="not what its manifest says"):
        open_run_file(rewritten(packed, flip))
    assert nothing_unpacked()


def test_a_file_that_is_missing_or_added_is_noticed(packed):
    with pytest.raises(BadInput, match=r"metrics\.jsonl"):
        open_run_file(rewritten(packed, lambda members: members.pop("metrics.jsonl")))


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all", b"<html>404</html>" * 100])
def test_what_is_no_zip_is_one_sentence(tmp_path, content):
    path = tmp_path / "odd.stairs"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"no \.stairs file"):
        stairs.load(path)


def test_every_cut_of_the_file_is_refused(packed):
    content = packed.read_bytes()
    for length in range(0, len(content), max(len(content) // 40, 1)):
        packed.write_bytes(content[:length])
        with pytest.raises(BadInput):
            open_run_file(packed)


def test_a_newer_format_says_so(packed):
    def newer(members):
        members["manifest.json"] = json.dumps({**json.loads(members["manifest.json"]), "format": 99, "stairs": "9.0"}).encode()

    with pytest.raises(BadInput, match="newer than this"):
        open_run_file(rewritten(packed, newer))
