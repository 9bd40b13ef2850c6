"""Examples are split by groups: no group is split, the labels keep their shares, and the seed alone decides."""

from collections import Counter
from itertools import combinations

import pytest

from stairs.errors import BadInput
from stairs.text.comparison_data import split_examples
from stairs.text.examples import LabelledText, Question, TaggedSentence, TextPair, TranslationPair, normalize_text
from stairs.text.labelled import read_examples
from stairs.text.labelled.split import count_overlap, find_groups, split

SIZES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def sizes(examples, **shares):
    return {part: share * len(examples) for part, share in (shares or SIZES).items()}


def texts(count, labels=("good", "bad"), **more):
    return [LabelledText(f"text number {i}", labels[i % len(labels)], f"f.csv:{i + 2}", **more) for i in range(count)]


def torn(parts, name):
    """The names that stand in two parts."""
    sets = [{name(example) for example in parts[part]} for part in ("train", "dev", "test")]
    return set().union(*(a & b for a, b in combinations(sets, 2)))


def test_single_examples_keep_the_shares_of_their_labels_and_the_seed_decides():
    labelled = [*texts(900, ("a", "b", "a")), *texts(100, ("c",))]
    labelled = [LabelledText(f"{example.text} {i}", example.label) for i, example in enumerate(labelled)]
    parts = split(labelled, sizes(labelled), 0)
    counts = {part: Counter(example.label for example in own) for part, own in parts.items()}
    assert counts == {"train": {"a": 480, "b": 240, "c": 80}, "dev": {"a": 60, "b": 30, "c": 10}, "test": {"a": 60, "b": 30, "c": 10}}
    assert parts == split(labelled, sizes(labelled), 0) and parts != split(labelled, sizes(labelled), 1)
    assert sorted(map(id, labelled)) == sorted(id(example) for own in parts.values() for example in own)
    assert all(own == sorted(own, key=labelled.index) for own in parts.values())


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_any_size_stay_whole_and_shares_are_kept_as_well_as_they_allow(seed):
    labelled = [LabelledText(f"{g} {i}", "ab"[(i + g) % 3 == 0], group=f"author {g}") for g in range(60) for i in range(1 + g % 12)]
    parts = split(labelled, sizes(labelled), seed, column="author")
    assert not torn(parts, lambda example: example.group)
    share = sum(example.label == "a" for example in labelled) / len(labelled)
    for part, own in parts.items():
        assert len(own) / len(labelled) == pytest.approx(SIZES[part], abs=0.01)
        assert sum(example.label == "a" for example in own) / len(own) == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (lambda text: LabelledText(text, "x"), lambda e: normalize_text(e.text)),
        (lambda text: TextPair(text, "one and the same", "x"), lambda e: normalize_text(e.first)),
        (lambda text: TaggedSentence(tuple(text.split()), ("O",) * len(text.split())), lambda e: normalize_text(" ".join(e.words))),
        (lambda text: Question(f"why {text}", "Since it is so.", ((0, "Since"),)), lambda e: normalize_text(e.question)),
        (lambda text: TranslationPair(text, text), lambda e: normalize_text(e.source)),
    ],
)
def test_texts_that_differ_only_in_case_and_spaces_stay_together(kind, name, capsys):
    spellings = (str, str.upper, lambda text: text.replace(" ", "  "), lambda text: text.replace(" number", "number"))
    labelled = [kind(spell(f"text number {i} .")) for spell in spellings for i in range(40)]
    parts = split(labelled, sizes(labelled), 0)
    assert not torn(parts, name) and [len(own) for own in parts.values()] == [128, 16, 16]


def test_groups_and_texts_join_into_one():
    labelled = [LabelledText("one", "x", group="a"), LabelledText("ONE", "x", group="b"), LabelledText("two", "x", group="b"), LabelledText("three",
        "x"), LabelledText("four", "x", group="c")]
    assert find_groups(labelled) == [[0, 1, 2], [3], [4]]


def test_pairs_that_share_a_text_stay_together_unless_that_binds_the_whole_file():
    premises = [TextPair(f"premise {i // 3}", f"hypothesis {i}", "yes") for i in range(60)]
    assert {len(group) for group in find_groups(premises)} == {3}
    crossed = [TextPair(f"premise {i // 3}", f"topic {i % 2}", "yes") for i in range(60)]
    assert {len(group) for group in find_groups(crossed)} <= {1, 2, 3} and len(find_groups(crossed)) == 20


def test_the_questions_of_a_passage_stay_together(data):
    labelled = read_examples(data / "spans" / "xquad.en.json", "span").examples
    parts = split_examples(labelled, "span", 0)
    assert not torn(parts, lambda example: example.passage) and len(parts["test"]) == pytest.approx(0.2 * len(labelled), rel=0.03)


def test_the_sentences_of_a_document_stay_together(tmp_path):
    documents = "".join("-DOCSTART- O\n\n" + "".join(f"word{d} O\nnumber{s} B-x\n\n" for s in range(d % 5 + 1)) for d in range(40))
    (tmp_path / "a.conll").write_text(documents)
    row = "1\tword{0}\t_\tNOUN\t_\t_\t0\t_\t_\t_\n2\tnumber{1}\t_\tVERB\t_\t_\t0\t_\t_\t_\n\n"
    marks = ("# newdoc\n", "# newdoc id = name {0}\n")
    documents = (marks[d % 2].format(d) + "".join(row.format(d, s) for s in range(d % 5 + 1)) for d in range(40))
    (tmp_path / "a.conllu").write_text("".join(documents))
    for file in ("a.conll", "a.conllu"):
        labelled = read_examples(tmp_path / file, "tag").examples
        assert len({example.group for example in labelled}) == 40 and labelled[0].group
        assert not torn(split_examples(labelled, "tag", 0), lambda example: example.words[0])


def test_documents_of_universal_dependencies(data):
    labelled = read_examples(next((data / "tags" / "ud_ewt").glob("*dev*.conllu*")), "tag").examples
    parts = split_examples(labelled, "tag", 0)
    assert len({example.group for example in labelled}) > 100 and not torn(parts, lambda example: example.group)


def test_a_single_document_is_split_with_a_word_about_it(capsys, monkeypatch):
    monkeypatch.setattr("stairs.progress.messages_enabled", True)
    labelled = [TaggedSentence((f"w{i}",), ("O",), group="all") for i in range(50)]
    assert [len(own) for own in split(labelled, sizes(labelled), 0, source="a.conll").values()] == [40, 5, 5]
    assert "a.conll: 1 documents or passages are too few for 3 splits" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["author", "3"])
def test_a_column_of_groups(column, tmp_path):
    rows = [f"text number {i},{'good' if i % 2 else 'bad'},writer {i // 7}" for i in range(140)]
    (tmp_path / "a.csv").write_text("\n".join(["text,label,author", *rows, "a lonely text,good,"]))
    labelled = read_examples(tmp_path / "a.csv", "classify", group=column).examples
    assert labelled[0].group == "writer 0" and labelled[-1].group == ""
    assert not torn(split(labelled[:-1], sizes(labelled), 0, column=column), lambda example: example.group)


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        (lambda i: "anna", "all 40 examples have 'anna' in --group by; name a column that tells groups apart"),
        (lambda i: "anna" if i < 20 else "bob", "--group by makes 2 groups, too few for 3 splits; name another column, or give more"),
        (lambda i: "anna" if i % 2 else f"bob {i % 8}", "the group 'anna' of --group by holds all examples of the label 'bad'"),
    ],
)
def test_groups_that_cannot_be_split(groups, says):
    labelled = [LabelledText(f"text {i}", ("good", "bad")[i % 2], group=groups(i)) for i in range(40)]
    with pytest.raises(BadInput, match=says):
        split(labelled, sizes(labelled), 0, source="a.csv", column="by")


@pytest.mark.parametrize(
    ("file", "content", "task", "says"),
    [
        ("a.csv", "text,label\na,b\n", "classify", "a.csv:1: no column 'author' for --group; name one of 'text', 'label', or its number"),
        ("a.txt", "__label__x a\n", "classify", "lines that begin with their label have no columns; leave --group out, or give a table"),
        ("a.conll", "a O\nb B-x\n", "tag", "-DOCSTART- and # newdoc begin their documents; leave --group out"),
        ("a.json", '{"data": []}', "span", "those of one passage stay together anyway; leave --group out"),
    ],
)
def test_files_without_such_a_column(file, content, task, says, tmp_path):
    (tmp_path / file).write_text(content)
    with pytest.raises(BadInput, match=says.replace("#", r"\#")):
        read_examples(tmp_path / file, task, group="author")


def test_at_most_so_many_are_drawn_from_the_whole_file_and_keep_their_shares():
    labelled = texts(1000, ("a", "b", "a", "a"))
    parts = split_examples(labelled, "classify", 0, limit=100)
    counts = {part: Counter(example.label for example in parts[part]) for part in ("train", "dev", "test")}
    assert counts == {"train": {"a": 54, "b": 18}, "dev": {"a": 6, "b": 2}, "test": {"a": 15, "b": 5}}
    assert max(labelled.index(example) for example in parts["train"]) > 900
    assert parts == split_examples(labelled, "classify", 0, limit=100) != split_examples(labelled, "classify", 1, limit=100)
    many = [LabelledText(f"t {i}", "ab"[i % 2], group=f"g {i // 9}") for i in range(900)]
    whole = split_examples(many, "classify", 0, limit=200)
    assert not torn(whole, lambda example: example.group) and sum(len(whole[part]) for part in ("train", "dev", "test")) <= 200


def test_too_few_to_hold_some_back():
    with pytest.raises(BadInput, match=r"f\.csv: 4 labelled examples are too few"):
        split_examples(texts(4), "classify", 0)
    with pytest.raises(BadInput, match="--limit 3 is too few"):
        split_examples(texts(40), "classify", 0, limit=3)
    with pytest.raises(BadInput, match=r"f\.csv has 1 different examples"):
        split([LabelledText("The same", "a")] * 9, sizes(range(9)), 0, source="f.csv")
    assert all(len(parts) for parts in split(texts(5), sizes(range(5)), 0).values())


def test_examples_that_another_file_holds_as_well_are_counted():
    assert count_overlap([Question("Who?", "It was he.", ())], [Question("When?", "it was  he.", ()), Question("Who?", "It was she.", ())]) == 1
    assert count_overlap(texts(10), [LabelledText("TEXT  number 3", "x"), LabelledText("text number 30", "x"), LabelledText("textnumber4", "x")]) == 2


@pytest.mark.parametrize("seed", range(20))
def test_a_label_that_is_evaluated_is_trained_on_as_well(seed):
    rare = [LabelledText("seldom and strange", "rare")] * 3 + [LabelledText("Seldom, and stranger", "rare")]
    parts = split([*texts(60), *rare, *(LabelledText(f"many {i}", f"label {i % 20}") for i in range(60))], sizes(range(124)), seed)
    trained = {example.label for example in parts["train"]}
    assert {example.label for part in parts.values() for example in part} == trained


@pytest.mark.parametrize("seed", range(10))
def test_with_a_column_every_label_is_trained_on_and_evaluated(seed):
    labelled = [LabelledText(f"text {i} of {g}", "common" if i else f"rare {g % 15}", group=f"g{g}") for g in range(30) for i in range(9)]
    parts = split(labelled, sizes(labelled), seed, column="g")
    labels = {example.label for example in labelled}
    assert not torn(parts, lambda example: example.group) and labels == {example.label for example in parts["train"]}
    assert labels == {example.label for part in ("dev", "test") for example in parts[part]}
    assert len(split(labelled, {"train": 50}, seed, column="g")["train"]) == 50, "what is only drawn from need not be split"
