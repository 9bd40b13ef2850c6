"""A guess about a labelled file is certain, or it is a question: with the flag that answers it, asked at a terminal, refused elsewhere."""

import csv
import io
import json
import random

import pytest

from stairs import questions
from stairs.errors import BadInput
from stairs.text.examples import LabelledText, TaggedSentence, TextPair
from stairs.text.labelled import guess_task, read_examples, table_examples
from stairs.text.labelled.column_names import columns_flag

WORDS = "the film was good bad long short and with a very dull plot but nice actors who play well on stage today"


def prose(seed, count=8):
    return " ".join(random.Random(seed).choices(WORDS.split(), k=count)) + "."


@pytest.fixture
def write(tmp_path):
    def write_file(name, rows, delimiter=","):
        path = tmp_path / name
        if isinstance(rows, str):
            path.write_text(rows, encoding="utf-8")
        else:
            out = io.StringIO()
            csv.writer(out, delimiter=delimiter).writerows(rows)
            path.write_text(out.getvalue(), encoding="utf-8")
        return path

    return write_file


def error_of(function, *arguments, **options) -> str:
    with pytest.raises(BadInput) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


SENTENCES = [(("Iranian", "officials", "say", ","), ("B-gpe", "O", "O", "O")), (("Bush", "met"), ("B-per", "O"))] * 3


@pytest.mark.parametrize("each_row", [True, False])
@pytest.mark.parametrize("index", [True, False])
def test_a_row_for_each_word_and_the_number_of_its_sentence_is_read_as_tags(write, each_row, index):
    rows = [[*[""] * index, "Sentence #", "Word", "POS", "Tag"]]
    for number, (words, tags) in enumerate(SENTENCES):
        for position, (word, tag) in enumerate(zip(words, tags, strict=True)):
            rows.append([*[len(rows) - 1] * index, f"Sentence: {number}" if each_row or not position else "", word, "NN", tag])
    path = write("ner.csv", rows)
    assert guess_task(path) == "tag"
    labelled = read_examples(path, "tag")
    assert [(example.words, example.tags) for example in labelled.examples] == SENTENCES
    assert labelled.examples[1].where == f"{path}:6" and labelled.columns == "sentence from 'Sentence #', word from 'Word', tag from 'Tag' (guessed)"
    assert read_examples(path, "tag", columns="tag=POS").examples[0].tags == ("NN",) * 4


def test_other_tables_of_words(write):
    numbered = write("a.tsv", "sentence_id\tword\ttag\n1\tEU\tB-ORG\n1\t\"\tO\n2\tUN\tB-ORG\n1\tEU\tB-ORG\n")
    labelled = read_examples(numbered, "tag")
    assert [example.words for example in labelled.examples] == [("EU", '"'), ("UN",), ("EU",)] and guess_task(numbered) == "tag"
    assert labelled.notes == ("1 sentence numbers occur again after others; consecutive rows of one number were taken as a sentence",)
    blank_lines = write("b.csv", "token,label\nEU,B-ORG\nsays,O\n\nUN,B-ORG\n")
    assert [example.words for example in read_examples(blank_lines, "tag").examples] == [("EU", "says"), ("UN",)] and guess_task(blank_lines) == "tag"
    named_columns = write("c.csv", "s,t,b\n1,EU,B-ORG\n2,UN,O\n")
    assert len(read_examples(named_columns, "tag", columns="sentence=s,word=t,tag=b").examples) == 2 and guess_task(named_columns,
        columns="sentence=s,word=t,tag=b") == "tag"
    assert f"{blank_lines}:3: an empty tag" in error_of(read_examples, write("b.csv", "token,label\nEU,B-ORG\nsays,\n"), "tag")
    assert "no column 'x' for the sentence; it has 's'" in error_of(read_examples, named_columns, "tag", columns="sentence=x,word=t,tag=b")
    endless = write("d.csv", [["word", "tag"], *[["w", "O"]] * 600])
    assert f"{endless}:502: a sentence of more than 500 words; put a blank line between sentences, or name" in error_of(read_examples, endless, "tag")
    lexicon = write("e.csv", [["word", "label"], *[[f"word{number}", number % 2] for number in range(20)]])
    assert guess_task(lexicon) == "classify"  # words without sentences


def test_records_with_a_list_of_words_and_one_of_tags(write):
    path = write("a.jsonl", "\n".join(json.dumps({"id": "0", "tokens": words, "ner_tags": tags}) for words, tags in SENTENCES))
    assert guess_task(path) == "tag" and read_examples(path, "tag").examples[1] == TaggedSentence(("Bush", "met"), ("B-per", "O"), f"{path}:2")
    assert f"{path}:1: 2 words and 1 tags" in error_of(read_examples, write("a.jsonl", '{"words": ["a", "b"], "tags": ["O"]}\n'), "tag")
    uneven = write("a.jsonl", '{"words": ["a"], "tags": ["O"]}\n{"words": ["a"], "tags": "O"}')
    assert "the field 'tags' is a string, not a list" in error_of(read_examples, uneven, "tag")
    numbers = read_examples(write("b.jsonl", '{"tokens": ["a", "b"], "tags": [0, 3]}\n'), "tag")
    assert numbers.examples[0].tags == ("0", "3") and "the tags are numbers" in numbers.notes[0]
    several = write("c.jsonl", '{"tokens": ["a"], "pos_tags": ["X"], "ner_tags": ["O"]}\n')
    message = error_of(guess_task, several)
    assert "several columns hold tags: tag from 'pos_tags' or tag from 'ner_tags'? Choose with --label=pos_tags" in message
    assert guess_task(several, columns="tag=ner_tags") == "tag" and read_examples(several, "tag", columns="tag=ner_tags").examples[0].tags == ("O",)


def test_tags_in_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"tokens": [["EU", "says"]], "tags": [["B-ORG", "O"]]}), path)
    assert guess_task(path) == "tag" and read_examples(path, "tag").examples[0].words == ("EU", "says")


def test_lists_written_into_cells_are_no_labels(write):
    path = write("a.csv", [["Sentence", "Tag"], ["a b c", "['O', 'O', 'B-x']"]])
    assert f"{path}:2: the label 'Tag' is a list written as text; give one label, or for tags" in error_of(read_examples, path, "classify")
    marked = write("a.jsonl", '{"text": "a", "label": [[0, 1, "x"]]}')
    assert "is a list; give one label, or CoNLL" in error_of(read_examples, marked, "classify")


@pytest.mark.parametrize("header", ["anchor,positive,negative", "sent0,sent1,hard_neg", "query,pos,neg", "first,second,third", "text1,text2,other"])
def test_the_negative_of_a_triplet_is_no_label(write, header):
    path = write("a.csv", [header.split(","), *[[prose(number), prose(1000 + number), prose(99 + number)] for number in range(1, 9)]])
    message = error_of(read_examples, path, "compare")
    assert "makes these triplets, which have no label; write each as two pairs" in message or "no column for label among" in message
    assert "triplets" in (message := error_of(guess_task, path)) or "cannot tell the task" in message


@pytest.mark.parametrize("labels", ["01", ["pos", "neg"], ["DESC:manner", "HUM:ind", "ENTY:animal"]])
@pytest.mark.parametrize("text", ["{}, it says", "这家酒店的{}服务很好，价格也不贵。"])
def test_lines_that_begin_with_one_of_a_few_labels(write, labels, text):
    lines = [(labels[number % len(labels)], text.format(prose(number))) for number in range(24)]
    path = write("reviews.txt", "".join(f"{label} {text}\n" for label, text in lines))
    assert guess_task(path) == "classify"
    labelled = read_examples(path, "classify")
    assert [(example.label, example.text) for example in labelled.examples] == lines
    assert labelled.columns == "label from the first word of each line, the rest is text (guessed)"


def test_prose_and_tables_do_not_begin_with_labels(write):
    assert "cannot tell the task" in error_of(guess_task, write("a.txt", "\n".join(prose(number) for number in range(40))))
    path = write("b.csv", [["text", "label"], *[[f"The {prose(number)}", number % 2] for number in range(20)]])
    assert read_examples(path, "classify").examples[0] == LabelledText(f"The {prose(0)}", "0", f"{path}:2")


HEADLESS = [
    ([[("neg", "pos")[number % 2], prose(number)] for number in range(12)], "text=2,label=1"),
    ([[prose(number), number % 3] for number in range(12)], "text=1,label=2"),
    ([["1", "this movie review is bad"], *[[number % 2, prose(number)] for number in range(12)]], "text=2,label=1"),  # a part of a known name
    ([[number % 2, 14678 + 7 * number, "NO_QUERY", f"user{number}", prose(number)] for number in range(12)], "text=5,label=1"),
]


def flags_of(columns: str) -> str:
    """text=2,label=1 as the flags that say the same."""
    return columns_flag(dict(part.split("=") for part in columns.split(",")))


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize(("rows", "columns"), HEADLESS)
def test_a_first_line_like_the_others_is_no_header(write, rows, columns, delimiter, monkeypatch):
    path = write("a.txt", rows, delimiter)
    assert guess_task(path) == "classify"
    message = error_of(read_examples, path, "classify")
    assert f"{path}:1: the first line looks like the others, so there is no header: text from" in message
    assert f"Choose with {flags_of(columns)}, or take the first with --yes" in message
    examples = read_examples(path, "classify", columns=columns).examples
    text = int(columns.split(",")[0][-1]) - 1
    assert len(examples) == len(rows) and examples[0].text == rows[0][text] and examples[0].where == f"{path}:1"
    monkeypatch.setattr(questions, "assume_yes", True)
    assert list(read_examples(path, "classify").examples) == list(examples)


def test_numbers_name_columns_under_a_header_too(write):
    path = write("a.csv", "alpha,beta\nx y,1\nz,2\n")
    assert read_examples(path, "classify", columns="text=1,label=2").examples[0] == LabelledText("x y", "1", f"{path}:2")
    assert "no column '3' for the label; it has 'alpha', 'beta'" in error_of(read_examples, path, "classify", columns="text=1,label=3")


CERTAIN = [
    ("alpha,beta", [[prose(number), "ab"[number % 2]] for number in range(12)], "text from 'alpha', label from 'beta' (guessed)"),
    ("v1,v2,,", [["ab"[number % 2], prose(number), "", ""] for number in range(12)], "text from 'v2', label from 'v1' (guessed)"),
    ("Unnamed: 0,text,label", [[number, prose(number), number % 2] for number in range(12)], "text from 'text', label from 'label' (guessed)"),
    ("text,class,label_text", [[prose(n), n % 2, "ny"[n % 2]] for n in range(12)], "text from 'text', label from 'class' (guessed)"),
    ("my_sentiment,my_sentiment_confidence,tweet_text", [["ab"[number % 2], number / 7, prose(number)] for number in range(12)],
     "text from 'tweet_text', label from 'my_sentiment' (guessed)"),
    ("no,id,review,sentiment", [[n, 3 * n, prose(n), n % 2] for n in range(12)], "text from 'review', label from 'sentiment' (guessed)"),
    ("Title,Review Text,Rating", [[prose(99 + n, 3), prose(n), n % 5] for n in range(30)], "text from 'Review Text', label from 'Rating' (guessed)"),
    ("UserName,OriginalTweet,Sentiment", [[n, prose(n), n % 2] for n in range(12)], "text from 'OriginalTweet', label from 'Sentiment' (guessed)"),
    ("Id,Score,Summary,Text", [[n, n % 5, prose(1000 + n, 3), prose(n)] for n in range(30)], "text from 'Text', label from 'Score' (guessed)"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "rows", "message"), CERTAIN)
def test_a_guess_is_certain_when_one_reading_fits_every_row(write, header, rows, message):
    path = write("a.csv", [header.split(","), *rows])
    assert guess_task(path) == "classify" and read_examples(path, "classify").columns == message


SEVERAL = [
    ("classify", "text,sentiment,topic", lambda n: [prose(n), n % 2, n % 3], ["label=sentiment", "label=topic"]),
    ("classify", "review,comment,label", lambda n: [prose(n), prose(1000 + n), n % 2], ["text=review", "text=comment"]),
    ("classify", "id,comment_text,toxic,obscene", lambda n: [n, prose(n), n % 2, n % 3 % 2], ["label=toxic", "label=obscene"]),
    ("compare", "sentence_A,sentence_B,relatedness_score,entailment_judgment", lambda n: [prose(n), prose(1000 + n), n / 3, "ab"[n % 2]],
     ["score=relatedness_score", "label=entailment_judgment"]),
]  # fmt: skip


@pytest.mark.parametrize(("task", "header", "row", "flags"), SEVERAL)
def test_several_readings_are_a_question_with_the_flags_that_answer_it(write, monkeypatch, task, header, row, flags):
    path = write("a.csv", [header.split(","), *map(row, range(18))])
    assert guess_task(path) == task
    message = error_of(read_examples, path, task)
    assert f"{path}:1: several columns fit: " in message
    assert f"Choose with {flags_of(flags[0])} or {flags_of(flags[1])}, or take the first with --yes" in message
    taken = [read_examples(path, task, columns=flag).examples[5] for flag in flags]
    assert taken[0] != taken[1]
    monkeypatch.setattr(questions, "assume_yes", True)
    assert read_examples(path, task).examples[5] == taken[0]


def test_which_task_is_a_question_where_no_header_tells(write):
    news = write("news.csv", [[number % 4, prose(number, 4), prose(1000 + number)] for number in range(16)])
    assert "two texts and how they relate or a text and its label? Choose with --task compare or --task classify" in error_of(guess_task, news)
    pairs = write("pairs.tsv", [[prose(number), prose(1000 + number), number % 2] for number in range(16)], "\t")
    assert "Choose with --task compare or --task translate" in error_of(guess_task, pairs)  # it was read as translations before
    assert read_examples(pairs, "compare", columns="1,2,3").examples[0] == TextPair(prose(0), prose(1000), "0", None, f"{pairs}:1")
    moods = write("moods.tsv", [[prose(number), ("very good", "not good")[number % 2]] for number in range(16)], "\t")
    assert "a text and its label or a sentence and its translation? Choose with --task classify or" in error_of(guess_task, moods)
    questions_in_passages = write("boolq.csv", [["question", "passage", "answer"], *[[prose(n, 4), prose(1000 + n), n % 2] for n in range(16)]])
    assert guess_task(questions_in_passages) == "compare"  # a pair that the header names
    message = error_of(read_examples, questions_in_passages, "classify")
    assert "text from 'question' or text from 'passage'" in message  # a question is seldom the text where there is another
    half = write("half.csv", [["input", "output"], *[[prose(n) if n % 2 else "", prose(1000 + n)] for n in range(16)]])
    assert "'input' is often empty: a sentence and its translation?" in error_of(guess_task, half)
    answers = write("answers.csv", [["input", "output"], *[[prose(number), ("yes", "no")[number % 2]] for number in range(16)]])
    assert "'output' has few values: a text from 'input' and its label from 'output' or a sentence" in error_of(guess_task, answers)
    assert guess_task(answers, columns="text=input,label=output") == "classify"


def test_a_row_that_contradicts_the_guess_is_refused_at_its_line(write, monkeypatch):
    monkeypatch.setattr(table_examples, "SAMPLE", 5)
    path = write("a.csv", [["sentence1", "sentence2", "label"], *[[prose(n), prose(1000 + n), n] for n in range(6)], ["a b", "c d", 3.5]])
    assert f"{path}:8: '3.5' after whole numbers that were taken for labels; move a row" in error_of(read_examples, path, "compare")
    assert read_examples(path, "compare", columns="score=label").examples[-1].score == 3.5


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_at_a_terminal_the_question_is_asked_once(write, monkeypatch):
    monkeypatch.setattr(questions, "ANSWERS", {})
    rows = [["text", "sentiment", "topic"], *[[prose(number), number % 2, number % 3] for number in range(12)]]
    train, test = write("train.csv", rows), write("test.csv", rows)
    monkeypatch.setattr("sys.stdin", Terminal("perhaps\n2\n"))
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    assert [example.label for example in read_examples(train, "classify").examples[:3]] == ["0", "1", "2"]
    assert [example.label for example in read_examples(test, "classify").examples[:3]] == ["0", "1", "2"]  # the file to test on is read the same way
    assert terminal.getvalue().count("Which one? 1 to 2:") == 2 and "2  label from 'topic'   (--label=topic)" in terminal.getvalue()


@pytest.mark.parametrize(("answer", "is_read"), [("yes\n", True), ("y\n", True), ("no\n", False), ("", False)])
def test_one_reading_is_answered_with_yes_or_no(write, monkeypatch, answer, is_read):
    monkeypatch.setattr(questions, "ANSWERS", {})
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", Terminal())
    path = write("a.csv", HEADLESS[0][0])
    if is_read:
        assert len(read_examples(path, "classify").examples) == 12
    else:
        assert "not read, since the first line looks like the others" in error_of(read_examples, path, "classify")


def test_commands_refuse_an_uncertain_guess_and_take_the_flags(write, command, tmp_path):
    path = write("a.csv", [[("neg", "pos")[number % 2], prose(number)] for number in range(120)])
    fault = "a.csv:1: the first line looks like the others, so there is no header"
    message = f"{fault}: text from '2', label from '1'? Choose with --text=2 --label=1"
    ended = command("tune", "tfidf", path, "--out", tmp_path / "a")
    assert ended.code == 2 and message in ended.err and not (tmp_path / "a").exists()
    ended = command("tune", "tfidf", path, "--out", tmp_path / "b", "--yes")
    assert ended.code == 0 and "--yes takes text from '2', label from '1'" in ended.err
    assert command("tune", "tfidf", path, "--out", tmp_path / "c", "--text", "2", "--label", "1").code == 0
    for arguments in (["score", tmp_path / "b", path], ["climb", "--labels", path, "--out", tmp_path / "d"]):
        ended = command(*arguments)
        assert ended.code == 2 and message in ended.err
    assert command("score", tmp_path / "b", path, "--yes").code == 0


def test_the_encoding_is_known_to_the_guess(tmp_path):
    from stairs.climb_job import ClimbJob

    path = tmp_path / "ner.csv"
    path.write_bytes("Sentence #,Word,Tag\n1,année,O\n1,là,O\n2,été,B-x\n".encode("latin-1"))
    assert ClimbJob.from_keywords((), {"labels": str(path), "encoding": "latin-1"}).inputs().example_kind == "tag"
