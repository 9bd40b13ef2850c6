"""stairs check: what is wrong with labelled data; stairs label-next: what to label next."""

import csv
import json
import random

import pytest

from stairs.cli import main

GOOD, BAD = ("wonderful", "lovely", "great", "superb"), ("awful", "boring", "poor", "dreadful")


def texts(count, seed=0):
    """Sentences whose word tells their label."""
    dice = random.Random(seed)
    for number in range(count):
        label = ("pos", "neg")[number % 2]
        word = dice.choice(GOOD if label == "pos" else BAD)
        yield f"film {dice.choice('abcdefgh')} was {word} and {dice.choice(GOOD if label == 'pos' else BAD)} in scene {number}", label


def write(path, rows, header=("id", "text", "label")):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture
def reviews(tmp_path):
    rows = [[f"r{number}", text, label] for number, (text, label) in enumerate(texts(80))]
    rows[10][2] = "neg"  # a mistake, at line 12
    rows += [["x1", rows[3][1], rows[3][2]], ["x2", rows[5][1].upper(), "pos"], ["x3", "", "pos"], ["x4", "=never labelled", ""]]
    return write(tmp_path / "reviews.csv", rows)


def checked(capsys, *arguments):
    assert main(["check", *map(str, arguments), "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def test_each_problem_is_found_with_its_line(reviews, capsys):
    report = checked(capsys, reviews)
    assert (report["rows"], report["without_text"], report["without_label"], report["duplicates"], report["contradictions"]) == (84, 1, 1, 1, 1)
    assert report["labels"] == {"neg": 42, "pos": 40} and report["encoding"] == "utf-8" and report["scripts"] == {"latin": 82}
    surest = report["problems"][0]
    assert (surest["line"], surest["label"], surest["suggestion"]) == (12, "neg", "pos") and report["label_mistakes"] >= 1
    problems = {(problem["line"], problem["problem"].split(":")[0].split(" of ")[0]) for problem in report["problems"]}
    assert {(82, "duplicate"), (83, "contradiction"), (7, "contradiction"), (84, "no text"), (85, "no label")} <= problems
    assert main(["check", str(reviews), "--top", "1"]) == 0
    printed = capsys.readouterr().out
    assert "line 12: 'neg', perhaps 'pos'" in printed and "rows without a label, which stairs ask RUN --file can predict: 1" in printed


def test_the_table_of_problems_has_no_formulas(reviews, tmp_path, capsys):
    out = tmp_path / "problems.csv"
    assert main(["check", str(reviews), "--out", str(out)]) == 0
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert [row["text"] for row in rows if row["problem"] == "no label"] == ["'=never labelled"]
    assert main(["check", str(reviews), "--out", str(reviews)]) == 2 and "is a file that is read" in capsys.readouterr().err
    assert main(["check", str(reviews), "--out", str(tmp_path / "problems.doc")]) == 2


def test_texts_of_the_test_file_that_are_trained_on(reviews, tmp_path, capsys):
    rows = list(csv.DictReader(reviews.open()))
    new = "a completely different sentence about something else entirely and at length"
    near = f"{rows[0]['text']} ."
    test = write(tmp_path / "test.csv", [[rows[1]["text"].upper(), "neg"], [near, "pos"], [new, "pos"]], ("text", "label"))
    report = checked(capsys, reviews, "--test", test)
    assert report["leakage"] == {str(test): {"examples": 3, "same": 1, "near": 1}}


def test_columns_and_words_that_give_the_label_away(tmp_path, capsys):
    rows = [[f"{label}_{n}", n % 7, f"{'rated five' if label == 'pos' else 'rated one'} {text}", label] for n, (text, label) in enumerate(texts(60))]
    report = checked(capsys, write(tmp_path / "leak.csv", rows, ("id", "weekday", "text", "label")))
    assert [(own["column"], own["how"]) for own in report["suspicious_columns"]] == [("id", "the letters it begins with")]
    assert {own["label"] for own in report["telling_words"]} == {"pos", "neg"}


def test_other_tasks_have_what_applies(tmp_path, capsys):
    path = tmp_path / "words.conll"
    path.write_text("".join(f"Anna B-PER\nsat O\nhere{n % 4} O\n\n" for n in range(6)))
    report = checked(capsys, path, "--task", "tag")
    assert report["duplicates"] == 2 and "this is tag" in report["not_cross_validated"] and report["labels"] == {}


def test_the_rows_to_label_next(tmp_path, capsys):
    labelled = write(tmp_path / "labelled.csv", [[n, text, label] for n, (text, label) in enumerate(texts(60))])
    assert main(["tune", "tfidf", str(labelled), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    unsure = ["film a was wonderful and awful", "Film a was  wonderful and awful", "scene superb scene dreadful"]
    known = next(texts(1))[0]
    sure = [text for text, _ in texts(30, seed=5)]
    rows = [[f"00{n}", text] for n, text in enumerate([*sure, known, *unsure])]
    new = write(tmp_path / "new.csv", rows, ("code", "text"))
    out = tmp_path / "next.csv"
    command = ["label-next", str(tmp_path / "run"), str(new), "--count", "2", "--labelled", str(labelled)]
    assert main([*command, "--out", str(out)]) == 0
    assert "2 of 32 texts; left out: 1 repeated, 1 labelled already" in capsys.readouterr().err
    chosen = list(csv.DictReader(out.open()))
    assert {row["text"] for row in chosen} == {unsure[0], unsure[2]} and all(float(row["uncertainty"]) > 0.5 for row in chosen)
    assert {row["code"] for row in chosen} == {"0031", "0033"}
    assert main(["label-next", str(tmp_path / "run"), str(new), "--count", "0"]) == 2
