"""What a climb is given: one table with texts and labels, text alone, or both in files of their own."""

import pytest

from stairs import progress, questions
from stairs.climb_job import ClimbJob
from stairs.errors import BadInput
from stairs.questions import AmbiguousInput

WORDS = ["the", "film", "was", "good", "bad", "long", "short", "plot", "actor", "scene", "never", "always", "fine", "dull", "bright"]


def sentence(number):
    return " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 2, 3, 5, 7)) + f" {number}"


def write(path, header, row, count=40, delimiter=","):
    lines = [delimiter.join(header)] if header else []
    path.write_text("\n".join(lines + [delimiter.join(map(str, row(number))) for number in range(count)]) + "\n")
    return path


@pytest.fixture
def messages(monkeypatch):
    lines = []
    monkeypatch.setattr(progress, "messages_enabled", True)
    monkeypatch.setattr(progress, "listener", lines.append)
    return lines


def inputs(*files, **keywords):
    return ClimbJob.from_keywords(tuple(map(str, files)), keywords).inputs()


def test_one_table_with_labels_is_the_labels_and_more_text_is_the_corpus(tmp_path, messages):
    reviews = write(tmp_path / "reviews.csv", ("review", "stars"), lambda i: (sentence(i), "good" if i % 2 else "bad"))
    found = inputs(reviews)
    assert (found.name, found.corpus, found.labels, found.example_kind, len(found.examples)) == ("reviews", (), str(reviews), "classify", 40)
    assert messages == [f"{reviews}: 40 examples; text from 'review', label from 'stars' (guessed)"]
    assert inputs(reviews, corpus="notes.txt").corpus == ("notes.txt",) and inputs(reviews, corpus="notes.txt").name == "reviews"
    assert inputs(labels=str(reviews)).name == "reviews" and inputs(labels=str(reviews)).corpus == ()


@pytest.mark.parametrize(
    ("name", "header", "row", "kind"),
    [
        ("fast.txt", (), lambda i: (f"__label__{'ab'[i % 2]} {sentence(i)}",), "classify"),
        ("lines.txt", (), lambda i: (f"{i % 2} {sentence(i)}",), "classify"),
        ("tags.txt", (), lambda i: (f"film {i} B-x\n" if i % 2 else f"the {i} O",), "tag"),
        ("words.conll", (), lambda i: ("film\tB-x\n" if i % 2 else "the\tO",), "tag"),
    ],
)
def test_labelled_lines_are_found_without_a_suffix_that_says_so(tmp_path, name, header, row, kind):
    path = write(tmp_path / name, header, row)
    assert (inputs(path).labels, inputs(path).example_kind, inputs(path).corpus) == (str(path), kind, ())


def test_text_alone_is_a_corpus_and_a_table_without_labels_says_so(tmp_path, messages):
    prose = tmp_path / "notes.txt"
    prose.write_text("\n".join(f"{sentence(i)}. {sentence(i + 1)}." for i in range(40)))
    assert inputs(prose)[:3] == ("notes", (str(prose),), None) and not messages
    equal = write(tmp_path / "verse.txt", (), lambda i: (sentence(i) + "\n",))  # as many words in every line, like tagged words
    assert inputs(equal).labels is None and not messages
    table = write(tmp_path / "bare.csv", ("text", "id"), lambda i: (sentence(i), i))
    assert inputs(table)[:3] == ("bare", (str(table),), None)
    assert len(messages) == 1 and "no column of labels, so it is text to pretrain on" in messages[0]
    assert inputs(prose, table).corpus == (str(prose), str(table))


def test_text_and_labels_apart(tmp_path):
    reviews = write(tmp_path / "reviews.csv", ("review", "stars"), lambda i: (sentence(i), "good" if i % 2 else "bad"))
    other = write(tmp_path / "other.csv", ("body", "topic"), lambda i: (sentence(i), "xy"[i % 2]))
    found = inputs("notes.txt", labels=str(reviews), corpus="more.txt")
    assert (found.name, found.corpus, found.labels) == ("notes", ("notes.txt", "more.txt"), str(reviews))
    assert inputs(other, labels=str(reviews)).corpus == (str(other),)  # a table, too, is text beside --labels


def test_named_columns_are_those_of_the_table(tmp_path, monkeypatch):
    table = write(tmp_path / "two.csv", ("review", "sentiment", "topic"), lambda i: (sentence(i), "pn"[i % 2], "xyz"[i % 3]))
    with pytest.raises(AmbiguousInput, match="--label=sentiment or --label=topic"):
        inputs(table)
    found = inputs(table, columns={"text": "review", "label": "topic"}, corpus="notes.txt")
    assert {example.label for example in found.examples} == {"x", "y", "z"} and found.text is None
    monkeypatch.setattr(questions, "assume_yes", True)
    assert {example.label for example in inputs(table).examples} == {"p", "n"}


@pytest.mark.parametrize(
    ("header", "row", "sentence_of_error"),
    [
        (("id", "price"), lambda i: (i, i * 1.5), "no column for text among 'id', 'price'; .* name them with --text"),
        (("label", "price"), lambda i: ("ab"[i % 2], i * 1.5), "no word in any text, such as '0.0'; name the column of the texts with --text"),
        (("text", "label"), lambda i: (sentence(i), f"r{i}"), "40 different values in 40 rows, such as 'r0', so it looks like an id"),
        (("text", "label"), lambda i: (sentence(i), "x"), "all 40 rows have the label 'x'; give rows of another label"),
    ],
)
def test_a_table_that_nothing_can_be_learnt_from_is_refused_before_anything_is_written(tmp_path, monkeypatch, header, row, sentence_of_error):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "data.csv", header, row)
    with pytest.raises(BadInput, match=sentence_of_error) as error:
        ClimbJob.from_keywords((str(path),), {}).climb()
    assert len(str(error.value)) < 300 and [own.name for own in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("keywords", [{"task": "tag"}, {"group": "author"}, {"columns": {"label": "stars"}}])
def test_flags_about_labels_need_a_file_with_labels(tmp_path, keywords):
    with pytest.raises(BadInput, match="is about labels; give a file with labels"):
        inputs("one.txt", "two.txt", **keywords)


def test_training_texts_stay_in_their_corpus_though_they_share_sentences_with_test_texts(tmp_path, messages):
    endings = ("We will be back.", "Never again.")
    reviews = write(tmp_path / "reviews.csv", ("review", "stars"), lambda i: (f"{sentence(i)}. {endings[i % 2]}", i % 2))
    job = ClimbJob.from_keywords((str(reviews),), {})
    experiment = job.experiment(job.inputs(), tmp_path / "climb")
    assert experiment.removed_text == {} and not [line for line in messages if "Left out of the corpus" in line]
