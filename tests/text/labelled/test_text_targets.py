"""Any number of labels for a text, and a number for a text: how files say so, what is guessed, and what is refused."""

import json

import pytest

from stairs.text.examples import MultiLabelText, ScoredText
from stairs.text.labelled import read_examples
from stairs.text.labelled.split import split
from tests.support.labelled_files import error_of

GENRES = ["drama;war", "drama", "comedy", "comedy;drama", "war", "", "war;drama", "comedy"]
TEXTS = [f"the {word} film was long and told a story" for word in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")]


def write(path, labels, header="text,label", texts=TEXTS):
    cells = (label if isinstance(label, str) and "," not in label else f'"{label}"' for label in labels)
    path.write_text("\n".join([header, *(f"{text},{cell}" for text, cell in zip(texts, cells, strict=True))]) + "\n", encoding="utf-8")
    return path


def label_sets(path, task=None, **options):
    found = read_examples(path, task, **options)
    assert found.task == "multilabel" and all(isinstance(example, MultiLabelText) for example in found.examples)
    return [example.labels for example in found.examples]


@pytest.mark.parametrize("separator", [";", "|", ", ", "；", "、"])
def test_labels_with_something_between_them_are_several(tmp_path, separator):
    path = write(tmp_path / "films.csv", [cell.replace(";", separator) for cell in GENRES], "text,genres")
    assert label_sets(path) == [tuple(cell.split(";")) if cell else () for cell in GENRES]
    notes = " ".join(read_examples(path).notes)
    assert f"'genres' has several labels in a cell, separated by {separator.strip()!r} (multilabel, guessed)" in notes
    assert "take each cell for a label with --task classify" in notes and "1 rows have no label" in notes


def test_lists_in_json_and_lists_that_were_written_into_a_cell(tmp_path):
    rows = [{"text": text, "labels": [part for part in cell.split(";") if part]} for text, cell in zip(TEXTS, GENRES, strict=True)]
    path = tmp_path / "films.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    expected = [tuple(row["labels"]) for row in rows]
    assert label_sets(path) == expected
    assert label_sets(write(tmp_path / "films.csv", [str(row["labels"]) for row in rows], "text,labels")) == expected


def test_several_labels_of_fasttext(tmp_path):
    path = tmp_path / "films.txt"
    path.write_text("__label__war __label__drama a long film\n__label__drama a short one\n", encoding="utf-8")
    assert label_sets(path) == [("war", "drama"), ("drama",)]
    assert read_examples(path).examples[0].text == "a long film"
    path.write_text("__label__war a long film\n__label__drama a short one\n", encoding="utf-8")
    assert read_examples(path).task == "classify"


def test_a_comma_within_a_label_is_none_between_two(tmp_path):
    labels = ["Clothing, Shoes & Jewelry", "Books", "Clothing, Shoes & Jewelry", "Home, Garden", "Books", "Home, Garden", "Books", "Books"]
    assert read_examples(write(tmp_path / "shop.csv", labels)).task == "classify"
    assert label_sets(write(tmp_path / "shop.csv", labels), "multilabel")[0] == ("Clothing", "Shoes & Jewelry")


def test_one_label_in_every_row_is_said_to_be_a_classification(tmp_path):
    labels = ["a", "b"] * 4
    assert read_examples(write(tmp_path / "one.csv", labels)).task == "classify"
    assert "every row has exactly one label; --task classify fits that better" in read_examples(tmp_path / "one.csv", "multilabel").notes


@pytest.mark.parametrize(
    ("labels", "header", "task"),
    [
        ([0.5, 1, 2.5, 4, 4.5, 5, 1, 2], "text,stars", "regress"),
        (["3,5", "4", "1,5", "2", "3", "1", "2", "5"], "text,score", "regress"),
        ([1, 2, 3, 4, 5, 1, 2, 3], "text,stars", "classify"),
        (["0.0", "1.0"] * 4, "text,label", "classify"),
        ([0.25, 0.75] * 4, "text,label", "classify"),
    ],
)
def test_numbers_with_fractions_are_predicted_and_a_few_whole_ones_are_labels(tmp_path, labels, header, task):
    assert read_examples(write(tmp_path / "numbers.csv", labels, header)).task == task


def test_many_whole_numbers_are_predicted_unless_they_count_classes(tmp_path):
    texts = [f"the film number {number} was good" for number in range(100)]
    prices = [(17 * number) % 100 + 100 for number in range(100)]
    found = read_examples(write(tmp_path / "prices.csv", prices, "text,price", texts))
    assert found.task == "regress" and found.examples[1] == ScoredText(texts[1], 117.0, f"{tmp_path / 'prices.csv'}:3")
    notes = " ".join(found.notes)
    assert "'price' has 100 different numbers, so a number is predicted (regress, guessed); take each for a label with --task classify" in notes
    classes = [number % 30 for number in range(100)]
    found = read_examples(write(tmp_path / "classes.csv", classes, "text,label", texts))
    assert found.task == "classify" and "30 different whole numbers, each of which is a label (guessed); predict a number" in " ".join(found.notes)
    assert read_examples(write(tmp_path / "prices.csv", prices, "text,price", texts), "classify").task == "classify"


def test_a_number_for_each_row_is_an_index(tmp_path):
    path = write(tmp_path / "rows.csv", [number + 0.0 for number in range(30)], "text,label", [f"film {n} is good ." for n in range(30)])
    assert "'label' numbers the rows and cannot be learnt; name another column with --label" in error_of(path, None)


@pytest.mark.parametrize("cell", ["four", "nan", "inf", "1e999", "--"])
def test_what_is_no_number_is_refused_with_its_line(tmp_path, cell):
    path = write(tmp_path / "stars.csv", [4.5, 3, cell, 1, 2, 3, 4, 5], "text,stars")
    assert f"stars.csv:4: 'stars' is {cell!r}, not a number; write it like 3.8, or leave the cell empty" in error_of(path, "regress")


def test_rows_without_a_number_are_left_out_and_counted(tmp_path):
    path = write(tmp_path / "stars.csv", [4.5, "", 2, 1, "", 3, 4, 5], "text,stars")
    found = read_examples(path, "regress")
    assert [example.value for example in found.examples] == [4.5, 2, 1, 3, 4, 5]
    assert f"2 rows without a number were left out, the first at {path}:3" in found.notes


def test_labels_that_are_objects_or_lists_of_lists_are_refused(tmp_path):
    path = tmp_path / "films.jsonl"
    for labels, message in (({"a": 1}, "the labels 'label' are an object"), ([["a"]], "the label 'label' is a list")):
        path.write_text("\n".join(json.dumps({"text": text, "label": labels}) for text in TEXTS), encoding="utf-8")
        assert message in error_of(path, "multilabel")


def test_each_split_has_its_share_of_every_label_and_of_every_size_of_numbers():
    sets = [("a",), ("a", "b"), ("b",), ("c", "a"), ()]
    texts = [MultiLabelText(f"text {number}", sets[number % 5], "f:1") for number in range(100)]
    found = split(texts, {"train": 80, "test": 20}, 0)
    assert {name: sum("c" in example.labels for example in own) for name, own in found.items()} == {"train": 16, "test": 4}
    numbers = [ScoredText(f"text {number}", float(number), "f:1", str(number // 2)) for number in range(100)]
    found = split(numbers, {"train": 80, "test": 20}, 0, column="g")
    assert sorted(example.value // 10 for example in found["test"]) == sorted([*range(10)] * 2)
    assert not {example.group for example in found["train"]} & {example.group for example in found["test"]}


def test_a_label_that_occurs_once_is_trained_on():
    texts = [MultiLabelText(f"text {number}", ("a", "rare") if number == 7 else ("a", "b") if number % 2 else (), "f:1") for number in range(30)]
    for seed in range(5):
        assert any("rare" in example.labels for example in split(texts, {"train": 20, "dev": 5, "test": 5}, seed)["train"])
