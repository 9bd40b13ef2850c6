"""The texts of validation and test examples are not in the corpus that language models are pretrained on."""

import json

import pytest

from stairs.cli import main
from stairs.comparison import compilation
from stairs.errors import BadInput
from stairs.text.corpus.corpus import Corpus
from stairs.text.corpus.decontamination import DecontaminatedCorpus
from stairs.text.examples import LabelledText, TaggedSentence, TextPair
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec

OTHERS = [f"The cat {i} sat on the mat.\nIt was cat number {i}." for i in range(40)]


def corpus_of(folder, *documents):
    (folder / "corpus.txt").write_text("\n\n".join(documents))
    return Corpus(folder / "corpus.txt")


@pytest.mark.parametrize(
    ("document", "rest"),
    [
        ("A film that  nobody\twill remember.", ""),
        ("A FILM THAT NOBODY WILL REMEMBER .", ""),
        ("It begins well.\nA film that nobody will remember.\nThe end.", "It begins well.\nThe end."),
        ("It begins well. A film that nobody will remember. The end.\nAnother one.", "Another one."),
        ("A film that nobody will remember. It is too long.", ""),
        ("Two texts,\nboth of them short.", ""),
        ("这部电影没有人会记得，真的。", ""),
        ("今天天气很好。这部电影没有人会记得，真的。\n再见。", "再见。"),
        ("Yes.", ""),
        ("He said it. Yes. She did not.", "He said it. Yes. She did not."),
        ("A film that everybody will remember.", "A film that everybody will remember."),
    ],
)
def test_paragraphs_that_hold_a_held_out_text(document, rest, tmp_path):
    held_out = [LabelledText("A film that nobody will remember.", "bad"), LabelledText("Yes.", "good"), LabelledText("这部电影没有人会记得，真的。",
        "bad")]
    held_out = [*held_out, LabelledText("Two texts, both of them short.", "bad")]
    clean = DecontaminatedCorpus(corpus_of(tmp_path, *OTHERS, document), held_out)
    assert list(clean.documents()) == [*OTHERS, *([rest] if rest else [])]
    assert clean.removed_text["documents"] == (rest != document) and clean.removed_text["of_documents"] == 41


def test_any_sentence_of_a_long_held_out_text_and_either_side_of_a_pair(tmp_path):
    held_out = [LabelledText("The first thing to say is this. The second is a little longer.\nAnd a third.", "x")]
    tagged = TaggedSentence(("Prague", "is", "the", "capital", "of", "Bohemia", "."), ("O",) * 7)
    held_out = [*held_out, TextPair("An apple a day keeps doctors away.", "B", "x"), tagged]
    lost = ["The second is a little longer.", "And a third.", "An apple a day keeps doctors away. So they say.", "Prague is the capital of Bohemia."]
    assert list(DecontaminatedCorpus(corpus_of(tmp_path, *lost, *OTHERS), held_out).documents()) == OTHERS


def test_nothing_removed_is_the_same_corpus_and_something_is_another(tmp_path):
    corpus = corpus_of(tmp_path, *OTHERS)
    same = DecontaminatedCorpus(corpus, [LabelledText("What nobody wrote in this corpus.", "x")])
    assert same.content_hash == corpus.content_hash and same.removed_text["paragraphs"] == 0 and list(same.documents()) == OTHERS
    less = DecontaminatedCorpus(corpus, [LabelledText("It was cat number 3.", "x")])
    assert less.content_hash not in (corpus.content_hash, DecontaminatedCorpus(corpus, [LabelledText("It was cat number 4.", "x")]).content_hash)
    assert less.content_hash == DecontaminatedCorpus(corpus, [LabelledText("it was cat number 3 .", "y")]).content_hash
    assert (less.name, less.size) == (corpus.name, corpus.size)
    with pytest.raises(BadInput, match="examples hold all of the corpus"):
        DecontaminatedCorpus(corpus_of(tmp_path, "All of it."), [LabelledText("All of it.", "x")]).content_hash  # noqa: B018


def test_shards_are_made_of_what_is_left(tmp_path):
    corpus = corpus_of(tmp_path, "The wombat slept in its burrow all day.", *OTHERS)
    clean = DecontaminatedCorpus(corpus, [LabelledText("the wombat slept in its burrow all day", "x"),
        LabelledText("The wombat slept in its burrow all day.", "x")])
    shards = [build_shards(one, TokenizerSpec("words"), cache=tmp_path / "cache") for one in (corpus, clean)]
    assert shards[0].folder != shards[1].folder
    assert [own.tokenizer.id("wombat") != own.tokenizer.unknown for own in shards] == [True, False]


def test_a_climb_says_what_it_removed_and_keeps_the_count(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compilation, "compile_kernels", lambda *_, **__: None)
    texts = [f"the {word} cat number {i} sat on the mat" for i in range(30) for word in ("happy", "sad")]
    (tmp_path / "cats.csv").write_text("\n".join(["text,label", *(f"{text},{'good' if 'happy' in text else 'bad'}" for text in texts)]))
    (tmp_path / "corpus.txt").write_text("\n\n".join([*(text.capitalize() for text in texts), *OTHERS]))
    assert main(["climb", "corpus.txt", "--labels", "cats.csv", "--models", "tfidf", "--out", "out", "--budget", "60s"]) == 0
    assert "17 paragraphs of 17 documents (of 100)" in capsys.readouterr().err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["removed_text"] == {"documents": 17, "of_documents": 100, "paragraphs": 17}
    assert "17 paragraphs of 17 documents" in (tmp_path / "out" / "report.html").read_text()
