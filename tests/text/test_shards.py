import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs import progress
from stairs.errors import BadInput, EnvironmentFault
from stairs.text import shards
from stairs.text.corpus.corpus import SPLITS, document_split, split_corpus
from stairs.text.sentences import split_sentences
from stairs.text.shards import Shards, build_shards
from stairs.text.tokenizers.tokenizer import KINDS, Tokenizer, TokenizerSpec


class Texts:
    """A corpus in memory, with the interface of text/corpus/corpus.py."""

    name = "texts"

    def __init__(self, documents):
        self.all = documents
        self.size = sum(len(document.encode()) for document in documents)
        self.content_hash = hashlib.sha256("\0".join(documents).encode()).hexdigest()
        self.position = 0
        self.passes = 0

    def documents(self):
        self.passes += 1
        self.position = 0
        for document in self.all:
            self.position += len(document.encode())
            yield document


DOCUMENTS = [f"Document {number} says hello. It's number {number % 7}!\n中文文档第{number}号。好。" for number in range(120)]


def spec(kind):
    return TokenizerSpec(kind, vocab_size=None if kind in ("words", "characters") else 400)


def split_all(documents):
    by_split = {split: [] for split in SPLITS}
    for sentences, split in split_corpus(documents):
        by_split[split].append(sentences)
    return by_split


@pytest.mark.parametrize("kind", KINDS)
def test_shards_hold_every_sentence_of_all_splits(kind, tmp_path):
    made = build_shards(Texts(DOCUMENTS), spec(kind), cache=tmp_path)
    parts = split_all(DOCUMENTS)
    assert sum(map(len, parts.values())) == len(DOCUMENTS) and all(parts.values())
    for split, documents in parts.items():
        expected = [[*made.tokenizer.encode(sentence), 3] for document in documents for sentence in document]
        assert [ids.tolist() for ids in made.documents(split)] == [
            [one for sentence in document for one in [*made.tokenizer.encode(sentence), 3]] for document in documents
        ]
        starts = made.sentence_starts(split).tolist()
        ids = made.ids(split)
        assert isinstance(ids, np.memmap) and ids.dtype == np.uint16
        last = np.cumsum([len(document) for document in documents]) - 1
        closed = [[*sentence[:-1], 2] if number in last else sentence for number, sentence in enumerate(expected)]
        assert [ids[start : start + len(sentence)].tolist() for start, sentence in zip(starts, closed, strict=True)] == closed
        info = made.info(split)
        assert info["tokens"] == sum(map(len, expected)) == len(ids)
        assert info["sentences"] == len(expected) and info["documents"] == len(documents)
        assert info["characters"] == sum(len(sentence) + 1 for document in documents for sentence in document)
        assert info["unknown_words"] == sum(len(made.tokenizer.unknown_words(s)) for document in documents for s in document)
    held_out = [made.tokenizer.unknown_words(s) for document in parts["test"] for s in document]
    assert made.info("test")["spelling_bits"] == pytest.approx(sum(made.tokenizer.spelling_bits(w) for words in held_out for w in words))


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokenizer_is_trained_on_the_train_split_only(kind, tmp_path):
    documents = [*DOCUMENTS, *(f"Snowman ☃{number} here." for number in range(100) if document_split(f"Snowman ☃{number} here.") != "train")]
    made = build_shards(Texts(documents), spec(kind), cache=tmp_path)
    train = split_all(documents)["train"]
    alone = Tokenizer.train(spec(kind), lambda: train)
    assert made.tokenizer.hash == alone.hash


def test_words_take_one_pass_over_the_text_and_one_look_at_its_start(tmp_path):
    corpus = Texts(DOCUMENTS)
    build_shards(corpus, spec("words"), cache=tmp_path)
    assert corpus.passes == 2


def test_shards_are_used_again(tmp_path):
    first = build_shards(Texts(DOCUMENTS), spec("bpe"), cache=tmp_path)
    corpus = Texts(DOCUMENTS)
    second = build_shards(corpus, spec("bpe"), cache=tmp_path)
    assert second.folder == first.folder and corpus.passes == 0
    assert build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path).folder != first.folder
    assert build_shards(Texts(DOCUMENTS[:-1]), spec("bpe"), cache=tmp_path).folder != first.folder


def test_a_ready_tokenizer_is_taken_as_it_is(tmp_path):
    tokenizer = Tokenizer.train(spec("wordpiece"), lambda: [["Some other text."]])
    made = build_shards(Texts(DOCUMENTS), tokenizer, cache=tmp_path)
    assert made.tokenizer.hash == tokenizer.hash == made.manifest["tokenizer"]
    assert made.info("test")["unknown_words"] > 0


def test_large_vocabularies_take_four_bytes(tmp_path):
    documents = [" ".join(f"w{number}" for number in range(start, start + 100)) for start in range(0, 70_000, 100)]
    made = build_shards(Texts(documents), TokenizerSpec(), cache=tmp_path)
    assert made.tokenizer.vocab_size > 65536 and made.ids("train").dtype == np.uint32
    assert made.info("train")["bytes"] <= 4 * len(made.ids("train"))


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def shorten(path):
    path.write_bytes(path.read_bytes()[:-3])


NAMES = ["train.bin", "validation.bin", "test.bin", "tokenizer.json", "tokenizer_config.json", "manifest.json"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("spoil", [flip, Path.unlink, shorten, lambda path: path.write_bytes(b"")])
def test_damaged_shards_are_built_again(name, spoil, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "messages_enabled", True)
    first = build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path)
    content = {name: (first.folder / name).read_bytes() for name in NAMES}
    capsys.readouterr()
    spoil(first.folder / name)
    again = build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path)
    message = capsys.readouterr().err
    assert {name: (again.folder / name).read_bytes() for name in NAMES} == content
    assert name in message and "again" in message
    assert sorted(os.listdir(tmp_path)) == [first.folder.name]


def test_a_manifest_that_is_not_one_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"manifest\.json"):
        Shards(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(BadInput, match="damaged"):
        Shards(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "files": 3}))
    with pytest.raises(BadInput, match="damaged"):
        Shards(tmp_path)


def test_one_document_is_split_itself(tmp_path):
    text = " ".join(f"This is number {number}." for number in range(40))
    made = build_shards(Texts([text]), TokenizerSpec(), cache=tmp_path)
    assert [made.info(split)["sentences"] for split in SPLITS] == [36, 2, 2]
    assert [len(part) for _, (part,) in split_all(["One. Two. Three."]).items()] == [1, 1, 1]


def test_of_two_documents_the_last_is_split():
    one, two, six = ["One cat.", "Two dogs."], ["Three cows."], ["Four hens.", "Five pigs.", "Six bees."]
    assert split_all([" ".join(one), " ".join(six)]) == {"train": [one], "validation": [six[:1]], "test": [six[1:]]}
    assert split_all([" ".join(one), " ".join(two)]) == {"train": [one[:1]], "validation": [one[1:]], "test": [two]}


def test_too_little_text_is_refused(tmp_path):
    too_few = {"1 sentence cannot be split": ["One sentence."], "2 sentences cannot be split": ["One.", "Two."], "no sentence": ["  \n "]}
    for message, documents in [*too_few.items(), ("no sentence", [])]:
        for kind in ("words", "bpe"):
            with pytest.raises(BadInput, match=message):
                build_shards(Texts(documents), spec(kind), cache=tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("documents", [
    ["same text."] * 500, ["One day. Another day."] * 2, ["This is it. That is all.", "z."], [f"{n}." for n in range(3)],
])  # fmt: skip
def test_every_split_always_holds_something(documents):
    for candidate in (documents, [text + " 中" for text in documents], [text + "!" * 7 for text in documents]):
        parts = split_all(candidate)
        assert all(parts.values())
        assert max(len(parts["validation"]), len(parts["test"])) <= 1 + len(candidate) // 20


@pytest.mark.parametrize("split", ["validation", "test"])
def test_about_one_document_in_fifty_is_held_out_wherever_it_is(split):
    documents = [f"Text number {number}." for number in range(20_000)]
    held_out = [text for text in documents if document_split(text) == split]
    assert 300 < len(held_out) < 500
    forwards = {sentences[0] for sentences in split_all(documents)[split]}
    backwards = {sentences[0] for sentences in split_all(documents[::-1])[split]}
    assert len(forwards & backwards) > 0.95 * len(held_out)


@settings(derandomize=True, max_examples=50, deadline=None)
@given(documents=st.lists(st.text("ab .!\n中。", max_size=30), max_size=8))
def test_dividing_loses_nothing(documents):
    expected = [sentence for document in documents for sentence in split_sentences(document)]
    if len(expected) < 3:
        with pytest.raises(BadInput):
            split_all(documents)
    else:
        by_split = [sentence for sentences, _ in split_corpus(documents) for sentence in sentences]
        assert by_split == expected


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(self, encoded):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shards.SplitWriter, "write", full)
    for kind in ("words", "byte-bpe"):
        with pytest.raises(EnvironmentFault, match="no space left on device"):
            build_shards(Texts(DOCUMENTS), spec(kind), cache=tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_disk_space_needed_is_reported_and_checked_first(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "messages_enabled", True)
    build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path / "one")
    assert "on the disk" in capsys.readouterr().err
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 100, 0))
    with pytest.raises(EnvironmentFault, match="free"):
        build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path / "two")


def test_a_cache_that_is_a_file_is_the_environments_fault(tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(EnvironmentFault, match="cache"):
        build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path / "cache")


def test_the_cache_follows_xdg(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert build_shards(Texts(DOCUMENTS), spec("words")).folder.parent == tmp_path / "stairs"


def test_a_second_builder_that_comes_late_leaves_whole_shards(tmp_path, monkeypatch):
    early = build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path / "elsewhere")
    original = shards.write_counting_vocabulary

    def overtaken(*arguments):
        shutil.copytree(early.folder, tmp_path / "cache" / early.folder.name)
        return original(*arguments)

    monkeypatch.setattr(shards, "write_counting_vocabulary", overtaken)
    made = build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path / "cache")
    assert Shards(made.folder).manifest == early.manifest and os.listdir(tmp_path / "cache") == [made.folder.name]


def test_what_a_killed_process_left_is_removed(tmp_path):
    first = build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path)
    left = tmp_path / f".tmp-{2**22 + 7}-{first.folder.name}"  # no process has so high a number
    first.folder.rename(left)
    (left / "manifest.json").unlink()
    assert build_shards(Texts(DOCUMENTS), spec("words"), cache=tmp_path).manifest == first.manifest
    assert os.listdir(tmp_path) == [first.folder.name]


@pytest.mark.parametrize("kind", KINDS)
def test_the_estimate_of_the_disk_is_of_the_right_size(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "messages_enabled", True)
    made = build_shards(Texts(DOCUMENTS * 20), TokenizerSpec(kind), cache=tmp_path)
    number, unit = capsys.readouterr().err.split("about ")[1].split(" on")[0].split()
    message = float(number) * {"kB": 1e3, "MB": 1e6}[unit]
    size_on_disk = sum(made.info(split)["bytes"] for split in SPLITS)
    assert 0.5 * size_on_disk < message < 8 * size_on_disk


def test_an_interrupted_pass_removes_what_it_wrote(tmp_path):
    class Failing(Texts):
        def documents(self):
            for number, document in enumerate(super().documents()):
                if number == 100 and self.passes > 1:
                    raise BadInput("texts.txt:7: bad byte")
                yield document

    with pytest.raises(BadInput, match=r"texts\.txt:7"):
        build_shards(Failing(DOCUMENTS), spec("words"), cache=tmp_path)
    assert os.listdir(tmp_path) == []


def test_many_blocks_give_the_same_shards(tmp_path, monkeypatch):
    made = {}
    for block in (50, 4_000_000):
        monkeypatch.setattr(shards, "BLOCK", block)
        for kind in ("words", "byte-bpe"):
            made[kind, block] = build_shards(Texts(DOCUMENTS), spec(kind), cache=tmp_path / str(block)).manifest
    assert made["words", 50] == made["words", 4_000_000] and made["byte-bpe", 50] == made["byte-bpe", 4_000_000]
