"""CoNLL columns, tag schemes, and CoNLL-U."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.text.examples import ParsedSentence, TaggedSentence, example_hash
from stairs.text.labelled import guess_task, read_examples, spool, unseen_labels
from stairs.text.labelled.notes import DataNotes
from stairs.text.labelled.tag_schemes import START, TagScheme
from tests.support.labelled_files import error_of


def write_file(folder, content, name="a.conll"):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def tags(folder, *sentences):
    """Read sentences given as 'B-PER I-PER O', a word a tag."""
    path = write_file(folder, "\n\n".join("\n".join(f"w{number}\t{tag}" for number, tag in enumerate(tags.split())) for tags in sentences))
    labelled = read_examples(path, "tag")
    return [" ".join(example.tags) for example in labelled.examples], " | ".join(labelled.notes)


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
@pytest.mark.parametrize("part", ["\t", " ", "   "])
def test_words_and_tags_with_their_lines(tmp_path, part, end):
    path = write_file(tmp_path, f"EU{part}B-ORG\nrejects{part}O\n\n\nPeter{part}B-PER\nBlackburn{part}I-PER{end}")
    labelled = read_examples(path, "tag")
    assert list(labelled.examples) == [
        TaggedSentence(("EU", "rejects"), ("B-ORG", "O"), f"{path}:1"), TaggedSentence(("Peter", "Blackburn"), ("B-PER", "I-PER"), f"{path}:5"),
    ]  # fmt: skip
    assert labelled.columns == "words from column 1, tags from column 2 of 2" and labelled.notes == ()
    assert guess_task(path) == "tag"


def test_the_conll_2003_layout_and_other_columns(tmp_path):
    path = write_file(tmp_path, "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n-DOCSTART- -X- O O\n\n# NN I-NP O\n", "a.txt")
    assert [example.tags for example in read_examples(path, "tag").examples] == [("B-ORG", "O"), ("O",)] and guess_task(path) == "tag"
    assert [example.tags for example in read_examples(path, "tag", columns="tag=2").examples] == [("NNP", "VBZ"), ("NN",)]
    assert "a.txt:3: no column '5'; name one of 1 to 4" in error_of(path, "tag", columns={"tag": "5"})
    path = write_file(tmp_path, "word\tpos\ttag\nEU\tNNP\tB-ORG\n")
    assert list(read_examples(path, "tag").examples) == [TaggedSentence(("EU",), ("B-ORG",), f"{path}:2")]
    assert read_examples(path, "tag", columns="word,pos").examples[0].tags == ("NNP",)


def test_comments_are_before_sentences_and_a_hash_may_be_a_word(tmp_path):
    path = write_file(tmp_path, "# id = 1\n# a remark\n# O\nEU B-ORG\n\n# another remark here\n#1 O\n# O\n")
    assert [example.words for example in read_examples(path, "tag").examples] == [("#", "EU"), ("#1", "#")]
    path = write_file(tmp_path, "#\t#\n1\tCD\n\n　\tSP\n")
    assert [example.words for example in read_examples(path, "tag").examples] == [("#", "1"), ("　",)]


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        ("EU\tB-ORG\nrejects\n", 2, "1 columns where the first line has 2; give each word its tag"),
        ("EU\tB-ORG\nrejects\tVBZ\tO\n", 2, "3 columns where the first line has 2"),
        ("EU\tB-ORG\nrejects O\n", 2, "spaces between the columns where the file has tabs"),
        ("- O\n\n- O O\n", 3, "3 columns where the first line has 2"),
        ("EU\tB-ORG\n\tO\n", 2, "an empty word"),
        ("EU\tB-ORG\na\t \n", 2, "an empty tag"),
        ("EU\nrejects\n", 1, "one column, 'EU'; put a word and its tag on each line"),
        ("EU\tB-ORG\nrejects\tX\n", 2, "the tag 'X' is neither O nor like B-NAME or I-NAME"),
        ("EU\tB-ORG\nrejects\tB-\n", 2, "the tag 'B-' is neither"),
        ("EU\tB-ORG\nrejects\tO\nthe\tI-ORG\n", 3, "I-ORG after O in BIO tags, where an entity begins with B-; write B-ORG"),
        ("EU\tB-ORG\nrejects\tI-PER\n", 2, "I-PER after B-ORG in BIO tags"),
        ("a\tO\n\nb\tI-PER\nEU\tB-ORG\n", 3, "I-PER at the start of a sentence in BIO tags"),
        ("a\tB-PER\nb\tE-PER\nc\tE-PER\n", 3, "E-PER after E-PER in BIOES tags, where an entity begins with B-; write S-PER"),
        ("w\tO\n" * 10_001, 10_001, "a sentence of more than 10,000 words; put a blank line"),
    ],
)
def test_a_bad_line_is_refused_by_its_number(tmp_path, content, line, sentence):
    path = write_file(tmp_path, content)
    assert f"{path}:{line}: {sentence}" in error_of(path, "tag")


def test_a_file_without_words_is_refused(tmp_path):
    assert "no text in" in error_of(write_file(tmp_path, "\n \n"), "tag")
    assert "no examples in" in error_of(write_file(tmp_path, "word\ttag\n"), "tag")


def test_schemes_are_turned_into_bio(tmp_path):
    bio = ["B-PER I-PER O B-LOC B-LOC", "O B-PER"]
    assert tags(tmp_path, *bio) == (bio, "")
    assert tags(tmp_path, "I-PER I-PER O I-LOC B-LOC", "O I-PER") == (bio, "the tags are IOB1 and are read as BIO")
    assert tags(tmp_path, "B-PER E-PER O S-LOC S-LOC", "O S-PER") == (bio, "the tags are BIOES and are read as BIO")
    assert tags(tmp_path, "B-PER L-PER O U-LOC U-LOC", "O U-PER") == (bio, "the tags are BIOES and are read as BIO")
    assert tags(tmp_path, "B-PER I-PER M-PER E-PER", "S-LOC O")[0] == ["B-PER I-PER I-PER I-PER", "B-LOC O"]
    assert tags(tmp_path, "B_PER I_PER O") == (["B-PER I-PER O"], "the tags are written B_NAME and are read as B-NAME")
    assert tags(tmp_path, "NOUN B O E", "S O") == (["NOUN B O E", "S O"], "")  # no names: not stretches
    assert tags(tmp_path, "I-PER I-LOC", "I-LOC O")[0] == ["B-PER B-LOC", "B-LOC O"]


def test_a_sentence_cut_inside_an_entity_gets_its_beginning(tmp_path):
    data, notes = tags(tmp_path, "O B-PER", "I-PER I-PER O", "O B-PER I-PER")
    assert data == ["O B-PER", "B-PER I-PER O", "O B-PER I-PER"]
    assert "1 sentences begin inside an entity of the sentence before, the first at" in notes and "a.conll:4;" in notes


stretches = st.lists(st.tuples(st.sampled_from(["O", "PER", "LOC"]), st.integers(1, 3)), min_size=1, max_size=5)


def sentence_text(sentence, scheme):
    data, before = [], ""
    for name, length in sentence:
        if name == "O":
            data += ["O"] * length
        elif scheme == "IOB1":
            data += [("B-" if before == name else "I-") + name] + [f"I-{name}"] * (length - 1)
        elif scheme == "BIOES":
            data += [f"S-{name}"] if length == 1 else [f"B-{name}"] + [f"I-{name}"] * (length - 2) + [f"E-{name}"]
        else:
            data += [f"B-{name}"] + [f"I-{name}"] * (length - 1)
        before = name
    return data


@settings(derandomize=True, max_examples=80, deadline=None)
@given(sentences=st.lists(stretches, min_size=1, max_size=4), scheme=st.sampled_from(["IOB1", "BIOES", "BIO"]))
def test_every_scheme_says_the_same(sentences, scheme):
    counts, spelling = TagScheme("f"), [sentence_text(sentence, scheme) for sentence in sentences]
    for line, sentence in enumerate(spelling, 1):
        counts.add(sentence, line)
    conversion = counts.conversion(DataNotes())
    for sentence, tags_found in zip(sentences, spelling, strict=True):
        pairs = list(zip([START, *tags_found], tags_found, strict=False))
        assert [conversion[pair] if conversion else pair[1] for pair in pairs] == sentence_text(sentence, "BIO")


def test_converted_tags_from_disk_too(tmp_path, monkeypatch):
    monkeypatch.setattr(spool, "MAX_MEMORY_BYTES", 0)
    data, _ = tags(tmp_path, *["I-PER I-PER O I-LOC B-LOC"] * 3)
    assert data == ["B-PER I-PER O B-LOC B-LOC"] * 3


CONLLU = """# text = Don't!
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t1:x\t_
3\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_

1\t5 000\t5000\tNUM\tCD\t_\t0\troot\t_\t_
"""


def test_conllu_words_have_their_upos(tmp_path):
    path = write_file(tmp_path, CONLLU, "a.conllu")
    labelled = read_examples(path, "tag")
    assert list(labelled.examples) == [
        TaggedSentence(("Do", "n't", "!"), ("AUX", "PART", "PUNCT"), f"{path}:3"), TaggedSentence(("5 000",), ("NUM",), f"{path}:8"),
    ]  # fmt: skip
    assert labelled.notes == ("2 multiword tokens and empty nodes were skipped; the words of the tokens are read",)
    assert read_examples(path, "tag", columns={"tag": "XPOS"}).examples[0].tags == ("VB", "RB", ".")
    unnamed = write_file(tmp_path, CONLLU, "a.tsv")
    assert len(read_examples(unnamed, "tag").examples) == 2 and guess_task(unnamed) == guess_task(path) == "tag"


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("3\t!", "5\t!", 6, "the id '5' where 3 was expected"),
        ("3\t!", "x\t!", 6, "the id 'x' where 3 was expected"),
        ("\tAUX\t", "\t", 3, "9 columns where CoNLL-U has 10"),
        ("\tAUX\t", "\t_\t", 3, "no upos; fill in the column"),
    ],
)
def test_bad_conllu_is_refused_at_its_line(tmp_path, old, new, line, sentence):
    path = write_file(tmp_path, CONLLU.replace(old, new), "a.conllu")
    assert f"{path}:{line}: {sentence}" in error_of(path, "tag")
    assert "no column 'colour'; CoNLL-U has id, form" in error_of(path, "tag", columns={"tag": "colour"})


def test_trees_are_read_where_they_are_asked_for(tmp_path):
    """Heads number the words: neither the token 1-2 nor the empty node 2.1 counts."""
    path = write_file(tmp_path, CONLLU, "a.conllu")
    labelled = read_examples(path, "tag", trees=True)
    assert list(labelled.examples) == [
        ParsedSentence(("Do", "n't", "!"), ("AUX", "PART", "PUNCT"), f"{path}:3", "", (0, 1, 1)),
        ParsedSentence(("5 000",), ("NUM",), f"{path}:8", "", (0,)),
    ]
    assert labelled.columns == "CoNLL-U: words from form, tags from upos, trees from head"
    plain = read_examples(path, "tag").examples
    assert not any(isinstance(example, ParsedSentence) for example in plain)
    assert list(map(example_hash, plain)) == list(map(example_hash, labelled.examples))


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("VB\t_\t0", "VB\t_\t_", 3, "the word 'Do' has no head; parse the text first, or leave --structural-positions out"),
        ("RB\t_\t1", "RB\t_\tx", 4, "the head 'x' is not a number; give that of a word, or 0 for the root"),
        ("RB\t_\t1", "RB\t_\t-1", 4, "the head '-1' is not a number"),
        ("RB\t_\t1", "RB\t_\t1.1", 4, "the head '1.1' is not a number"),
        ("RB\t_\t1", "RB\t_\t4", 4, "the head 4 is no word of the sentence, which ends with 3"),
        ("VB\t_\t0", "VB\t_\t2", 3, "no word of the sentence has the head 0; give it to the root"),
        (".\t_\t1", ".\t_\t0", 6, "word 3 has the head 0, and so has word 1; a tree has one root"),
        (".\t_\t1", ".\t_\t3", 6, "the heads go round in a circle, 3 > 3; a tree has no cycle"),
        ("CD\t_\t0", "CD\t_\t999999999", 8, "the head 9999999 is no word of the sentence"),
    ],
)
def test_what_is_no_tree_is_refused_at_its_line_only_where_trees_are_asked_for(tmp_path, old, new, line, sentence):
    path = write_file(tmp_path, CONLLU.replace(old, new), "a.conllu")
    assert f"{path}:{line}: {sentence}" in error_of(path, "tag", trees=True)
    assert [example.tags for example in read_examples(path, "tag").examples] == [("AUX", "PART", "PUNCT"), ("NUM",)]


def test_a_file_without_trees_is_refused_where_they_are_asked_for(tmp_path):
    path = write_file(tmp_path, "EU\tB-ORG\nrejects\tO\n")
    assert "no dependency trees, which --structural-positions needs; give a CoNLL-U file" in error_of(path, "tag", trees=True)


def test_tags_never_trained_on_are_counted(tmp_path):
    train, test = (read_examples(write_file(tmp_path, f"a\tO\nb\t{tag}\n"), "tag") for tag in ("B-PER", "B-LOC"))
    assert unseen_labels(train, test) == "1 of 1 examples have labels that the training data does not have: 'B-LOC'"
