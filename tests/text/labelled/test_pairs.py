"""Tables of pairs and translations, fastText lines, and remarks about labels."""


from stairs.text.examples import TextPair, TranslationPair
from stairs.text.labelled import guess_task, read_examples, unseen_labels
from tests.support.labelled_files import error_of, texts_and_labels


def test_fasttext_lines(write):
    path = write("train.txt", "__label__pos good film\n\n__label__neg , bad\n")
    assert texts_and_labels(read_examples(path, "classify")) == [("good film", "pos"), (", bad", "neg")] and guess_task(path) == "classify"
    path = write("b.txt", "__label__pos good\nbad\n")
    assert f"{path}:2: 'bad' where __label__NAME should be" in error_of(path)
    assert "b.txt:1: more than one label" in error_of(write("b.txt", "__label__pos __label__neg good\n"))


def notes_of(path, task="classify"):
    return " | ".join(read_examples(path, task).notes)


def test_labels_and_texts_that_deserve_a_look_are_noted(write):
    def rows(pairs):
        return write("a.csv", "text,label\n" + "".join(f"{text},{label}\n" for text, label in pairs))

    assert "all 3 examples have the label 'a'" in notes_of(rows([("one two", "a")] * 3))
    assert "50 labels for 50 examples" in notes_of(rows([("one two", number) for number in range(50)]))
    assert "2 examples have the label 'nan'" in notes_of(rows([("one two", "nan"), ("three four", "a"), ("five six", "nan")]))
    noted = notes_of(rows([("one two", "1"), ("b c", "1.0"), ("d e", "1"), ("f g", "0")]))
    assert "the labels '1' (2) and '1.0' (1) are taken as two" in noted
    assert "the texts look like ids ('id-1')" in notes_of(rows([("id-1", "a"), ("id-2", "b"), ("id-3", "b")]))
    noted = notes_of(path := rows([("one two", "a"), (" ", "b"), ("three four", "b")]))
    assert f"1 row has no text and is left out, the first at {path}:3" in noted
    assert notes_of(rows([("one two", "a"), ("2024", "b"), ("b", "b")])) == ""


def test_labels_never_trained_on_are_counted(write):
    train, test = (read_examples(write(f"{label}.csv", f"text,label\none two,a\nthree four,{label}\n"), "classify") for label in "bc")
    assert unseen_labels(train, train) is None
    assert unseen_labels(train, test) == "1 of 2 examples have labels that the training data does not have: 'c'"


def test_pairs_with_labels_and_with_scores(write):
    path = write("a.tsv", 'sentence1\tsentence2\tlabel\n"a" b\tc d\t1\ne f\tg h\t0\n')
    assert read_examples(path, "compare").examples[0] == TextPair('"a" b', "c d", "1", None, f"{path}:2") and guess_task(path) == "compare"
    path = write("b.tsv", "sentence1\tsentence2\tlabel\na b\tc d\t3.8\ne f\tg h\t5\n")
    assert [pair.score for pair in read_examples(path, "compare").examples] == [3.8, 5.0]
    path = write("c.csv", "Quality;#1 ID;#2 ID;#1 String;#2 String\n1;2;3;a b;c d\n")
    assert read_examples(path, "compare").examples[0] == TextPair("a b", "c d", "1", None, f"{path}:2")
    path = write("d.csv", "premise;hypothesis;similarity\na b;c d;3,8\n")
    assert read_examples(path, "compare").examples[0].score == 3.8
    for bad in ("high", "nan", "inf", "1e999"):
        path = write("e.csv", f"premise,hypothesis,score\na b,c d,1\ne f,g h,{bad}\n")
        assert f"{path}:3: the score 'score' is '{bad}', not a number" in error_of(path, "compare")
    path = write("f.csv", "premise,hypothesis,label\na b,c d,yes\n")
    assert "f.csv:2: the score 'label' is 'yes'" in error_of(path, "compare", columns="first=premise,second=hypothesis,score=label")
    path = write("g.csv", "first,label,x,y\na,b,c,d\n")
    assert f"{path}:1: no column for first and second among 'first', 'label'" in error_of(path, "compare")


def test_translations_in_a_table(write):
    path = write("a.tsv", "en\tzh\nHi.\t嗨。\n")
    assert list(read_examples(path, "translate").examples) == [TranslationPair("Hi.", "嗨。", f"{path}:2")] and guess_task(path) == "translate"
    path = write("b.txt", "Go, now.\tVa.\tCC-BY\nRun!\tCours !\tCC-BY\n")
    assert [example.where for example in read_examples(path, "translate").examples] == [f"{path}:1", f"{path}:2"] and guess_task(path) == "translate"
    assert "b.txt:2: 2 fields where line 1 has 3" in error_of(write("b.txt", "Go.\tVa.\tCC-BY\nRun!\tCours !\n"), "translate")
    assert "c.tsv:1: one field; put the source, a tab and its translation" in error_of(write("c.tsv", "Go.\nRun.\n"), "translate")


def test_how_a_file_was_read_and_what_to_check_are_on_stderr(write, monkeypatch, capsys):
    monkeypatch.setattr("stairs.progress.messages_enabled", True)
    path = write("a.csv", "text,label\none two,a\nthree four,a\n")
    read_examples(path, "classify")
    message = capsys.readouterr()
    assert message.out == "" and f"{path}: 2 examples; text from 'text', label from 'label' (guessed)\n" in message.err
    assert "all 2 examples have the label 'a'" in message.err
