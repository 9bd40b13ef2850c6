"""stairs tune: from a labelled file to an answer, as a user types it."""

import json

import pytest

from stairs.cli import main
from stairs.tasks import BidirectionalLM, Encode, WordVectors
from stairs.tasks.outcomes import evaluate_with_baselines
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import fit_once
from tests.support.small_world import QUESTION, SENTENCES, encoder, examples

QUICK = ("--epochs", "6", "--batch-examples", "8", "--learning-rate", "0.003", "--precision", "fp32", "--threads", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [[*SENTENCES, QUESTION]])
    fit_once(tmp_path / "bert", {"seed": 0}, lambda: Encode(encoder("bert", tokenizer), tokenizer), lambda task: {})
    return tmp_path


def write(folder, example_kind, count=80):
    given = examples(example_kind, count)
    if example_kind in ("classify", "compare"):
        columns = {"classify": ("text", "label"), "compare": ("first", "second", "label")}[example_kind]
        rows = [columns, *([getattr(example, column) for column in columns] for example in given)]
        (folder / "labels.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
        return "labels.tsv"
    if example_kind == "tag":
        (folder / "labels.tsv").write_text("\n".join("".join(f"{a}\t{b}\n" for a, b in zip(e.words, e.tags, strict=True)) for e in given))
        return "labels.tsv"
    if example_kind == "choose":
        records = [{"context": e.context, "choices": e.choices, "label": e.right} for e in given]
        (folder / "labels.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        return "labels.jsonl"
    asked = [
        {"context": e.passage, "qas": [{"id": str(i), "question": e.question, "answers": [{"text": t, "answer_start": a} for a, t in e.answers]}]}
        for i, e in enumerate(given)
    ]
    (folder / "labels.json").write_text(json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": asked}]}))
    return "labels.json"


@pytest.mark.parametrize(
    ("example_kind", "given", "expected"),
    [
        ("classify", ["soup and rice in Rome today ."], "food"),
        ("compare", ["soup today", "--second", "rice today"], "same"),
        ("tag", ["rice and soup in Rome today ."], "rice/O and/O soup/O in/O Rome/B-place today/O ./O"),
        ("span", [QUESTION, "--second", "soup and rice in Kyoto today ."], "Kyoto"),
        ("choose", ["soup and rice", "--choices", "rain today", "rice today", "snow today"], "2: rice today"),
    ],
)
def test_from_a_file_to_an_answer(example_kind, given, expected, folder, capsys):
    file = write(folder, example_kind, 200)
    assert main(["tune", "bert", file, "--task", example_kind, "--out", "run", "--transfer", "full", *QUICK, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["run"] == "run" and 0 <= reported["dev"]["error"]["value"] <= 1
    assert json.loads((folder / "run" / "evaluation.json").read_text())["dev"] == reported["dev"]
    assert main(["ask", "run", *given]) == 0
    printed = capsys.readouterr().out.strip()
    if example_kind == "compare":  # a hard one for so small a model
        assert printed in ("same", "other")
    else:
        assert printed.partition(" (")[0] == expected  # a choice has its probability behind it
    assert main(["score", "run", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["error"]["value"] <= (0.8 if example_kind == "compare" else 0.3)


def test_the_report_for_people(folder, capsys):
    assert main(["tune", "bert", write(folder, "classify"), *QUICK]) == 0
    shown = capsys.readouterr().out
    assert "runs/labels-classify-bert: accuracy" in shown and "macro f1" in shown and "precision  recall" in shown and "calibration error" in shown
    assert "on the validation examples" in shown and "on the test examples" in shown


@pytest.mark.parametrize("transfer", ["features", "frozen", "top"])
def test_other_transfers(transfer, folder, capsys):
    flags = ["--transfer", transfer, "--epochs", "2", "--batch-examples", "8", "--precision", "fp32", "--threads", "1", "--json"]
    assert main(["tune", "bert", write(folder, "classify"), *flags]) == 0
    assert json.loads(capsys.readouterr().out)["dev"]["texts"] == 8


def test_few_examples_are_learnt_in_two_ways_and_the_better_is_kept(folder, capsys):
    file = write(folder, "classify")
    for _ in range(2):
        assert main(["tune", "bert", file, "--out", "run", *QUICK, "--json"]) == 0
    shown = capsys.readouterr()
    first, second = (json.loads(line) for line in shown.out.splitlines())
    assert first == second and set(first["dev"]["selection"]["validation_errors"]) == {"features", "full"}
    assert "error on 8 validation examples: features" in shown.err and "is kept" in shown.err
    assert main(["tune", "bert", file, "--out", "run", "--transfer", "top", *QUICK]) == 2
    assert "was started with transfer." in capsys.readouterr().err


def test_a_sweep_prints_what_it_tried_and_answers_with_the_best(folder, capsys):
    flags = ["--epochs", "2", "--batch-examples", "16", "--precision", "fp32", "--threads", "1"]
    for _ in range(2):  # the second time it is finished
        assert main(["tune", "bert", write(folder, "classify"), "--sweep", "--out", "run", *flags]) == 0
        shown = capsys.readouterr().out
        assert "batch  learning rate  epochs   error  seconds" in shown and shown.count("\n   16  ") == 3 and shown.count("  kept") == 1
    assert len(json.loads((folder / "run" / "selection.json").read_text())["sweep"]) == 3
    assert main(["tune", "tfidf", write(folder, "classify"), "--sweep"]) == 2
    assert "--sweep varies how an encoder is trained, and tfidf is not trained by gradients" in capsys.readouterr().err
    assert main(["tune", "bert", write(folder, "classify"), "--both-orders"]) == 2
    assert "--both-orders is for compare, and labels.tsv holds examples for classify" in capsys.readouterr().err


def write_scores(folder):
    kinds = {**dict.fromkeys(("soup", "rice", "beans"), 0), **dict.fromkeys(("rain", "snow", "wind"), 1)}
    rows = [f"{a} and {a} today .\t{b} in Rome .\t{5 * (kinds[a] == kinds[b])}.5\n" for a in kinds for b in kinds]
    (folder / "scores.tsv").write_text("first\tsecond\tscore\n" + "".join(rows))
    return "scores.tsv"


def test_a_sentence_encoder_learns_scores_through_its_cosine(folder, capsys):
    file = write_scores(folder)
    assert main(["tune", "bert", file, "--task", "compare", "--out", "run", *QUICK, "--json"]) == 0
    shown = capsys.readouterr()
    reported = json.loads(shown.out)
    assert "a sentence encoder learns scores through its cosine" in shown.err
    assert set(reported["dev"]["selection"]["validation_errors"]) == {"features-bi-encoder", "full-bi-encoder"}
    assert reported["dev"]["baseline"]["name"] == "untuned cosine" and reported["dev"]["baseline"]["metric"] == "spearman"
    assert main(["ask", "run", "soup and soup today .", "--second", "rice in Rome ."]) == 0
    assert main(["embed", "run", "soup today"]) == 0
    assert main(["score", "run", file, "--json"]) == 0
    assert "spearman" in capsys.readouterr().out
    assert main(["convert", "run", "sentence-transformers", "--out", "folder"]) == 0
    assert main(["adopt", "folder", "--out", "again"]) == 0
    capsys.readouterr()
    vectors = []
    for run in ("run", "again"):
        assert main(["embed", run, "soup and rice today .", "--json"]) == 0
        vectors.append(json.loads(capsys.readouterr().out)[0]["vector"])
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-5)
    assert main(["tune", "bert", file, "--task", "compare", "--head", "cross-encoder", "--transfer", "full", "--out", "cross", *QUICK]) == 0
    assert json.loads((folder / "cross" / "run.json").read_text())["task"] == "compare"


def test_a_model_that_is_no_better_than_the_cheapest_baseline_is_reported(folder, capsys):
    flags = ("--transfer", "full", "--steps", "1", "--learning-rate", "1e-9", "--precision", "fp32", "--threads", "1")
    assert main(["tune", "bert", write(folder, "classify"), "--out", "run", *flags]) == 0
    shown = capsys.readouterr().out
    assert "the cheapest baseline, tfidf" in shown and "it gives all of the test examples the label " in shown
    baseline = json.loads((folder / "run" / "evaluation.json").read_text())["dev"]["baseline"]
    assert baseline["name"] == "tfidf" and baseline["value"] > 0.9 and not baseline["is_beaten"]


def test_few_examples_are_gone_over_more_often_unless_epochs_are_given(folder, capsys):
    file = write(folder, "classify")
    flags = ("--transfer", "frozen", "--batch-examples", "8", "--precision", "fp32", "--threads", "1")
    assert main(["tune", "bert", file, "--out", "long", *flags]) == 0
    assert "25 epochs instead of 10, since an epoch of 64 rows is 8 updates" in capsys.readouterr().err
    assert main(["tune", "bert", file, "--out", "short", "--epochs", "2", *flags]) == 0
    assert "epochs instead" not in capsys.readouterr().err
    reported = [json.loads((folder / run / "run.json").read_text())["training"]["epochs"] for run in ("long", "short")]
    assert reported == [25.0, 2.0]


def test_a_mix_of_layers_and_a_reader_of_words(folder, capsys):
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[*SENTENCES, QUESTION]])
    fit_once(folder / "elmo", {"seed": 0}, lambda: BidirectionalLM(encoder("elmo", words), words), lambda task: {})
    fit_once(folder / "vectors", {"seed": 0}, lambda: WordVectors(encoder("skipgram", words), words), lambda task: {})
    file = write(folder, "classify", 120)
    flags = ["--transfer", "frozen", "--insert", "both", "--bilstm-width", "16", *QUICK]
    assert main(["tune", "elmo", file, "--word-vectors", "vectors", "--out", "run", *flags]) == 0
    shown = capsys.readouterr().out
    assert shown.count("it reads 0.") == 2 and "of layer 2, times" in shown
    assert json.loads((folder / "run" / "evaluation.json").read_text())["dev"]["accuracy"]["value"] > 0.7
    assert main(["ask", "run", "soup and wombats in Rome today ."]) == 0
    assert main(["tune", "elmo", file, "--word-vectors", "elmo", "--out", "other", *flags]) == 2
    assert "elmo is a run of elmo, which has no static word vectors" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("example_kind", "model"),
    [("classify", "tfidf"), ("classify", "ngram"), ("compare", "tfidf"), ("tag", "hmm"), ("tag", "crf"), ("span", "overlap")],
)
def test_models_that_need_no_run(example_kind, model, folder, capsys):
    file = write(folder, example_kind)
    assert main(["tune", model, file, "--task", example_kind, "--out", "run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["test"]
    metric = "f1" if example_kind in ("tag", "span") else "accuracy"
    assert report[metric]["value"] > (0.4 if example_kind == "compare" else 0.8) and report["baseline"]["name"] != model
    assert main(["score", "run", file]) == 0 and main(["ask", "run", "soup in Rome\train in Rome today ."]) == 0


def test_a_model_of_other_labels_is_refused(folder, capsys):
    for model, example_kind, says in (
        ("ngram", "compare", "ngram learns classify and multilabel only; for compare give tfidf or a run whose model encodes"),
        ("hmm", "classify", "hmm learns tag only; for classify give tfidf, ngram or a run whose model encodes"),
        ("overlap", "tag", "overlap learns span only; for tag give hmm, crf or a run whose model encodes"),
    ):
        assert main(["tune", model, write(folder, example_kind), "--task", example_kind]) == 2
        assert says in capsys.readouterr().err
    assert main(["tune", "bert", write(folder, "classify"), "--crf"]) == 2
    assert "--crf is for tags on top of an encoder, and" in capsys.readouterr().err


def test_it_reads_the_texts_first(folder, capsys):
    file = write(folder, "classify")
    assert main(["tune", "bert", file, "--adapt", "2", "--out", "run", *QUICK, "--json"]) == 0
    capsys.readouterr()
    assert (folder / "run-adapted" / "model").is_dir() and (folder / "run" / "model").is_dir()
    assert main(["ask", "run-adapted", "soup and ___ in Rome today ."]) == 0


def test_the_nearest_of_the_texts_of_a_file(folder, capsys):
    (folder / "texts.txt").write_text("\n".join(SENTENCES[:20]))
    assert main(["tune", "bert", "texts.txt", "--task", "similar", "--out", "near"]) == 0
    assert "near: 20 texts" in capsys.readouterr().out
    assert main(["ask", "near", SENTENCES[3], "--top", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"1.00  {SENTENCES[3]}"


def test_a_finished_run_is_not_trained_again_and_other_data_is_refused(folder, capsys):
    file = write(folder, "classify")
    for _ in range(2):
        assert main(["tune", "bert", file, "--out", "run", *QUICK, "--json"]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == second
    write(folder, "classify", 60)
    assert main(["tune", "bert", file, "--out", "run", *QUICK]) == 2
    assert "was started with data.corpus" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a run and a file of labelled examples are needed"),
        (["bert"], "a run and a file of labelled examples are needed"),
        (["bert", "labels.tsv", "--limit", "0"], "--limit 0 is below 1"),
        (["bert", "labels.tsv", "--adapt", "-1"], "--adapt -1.0 is not between"),
        (["bert", "labels.tsv", "--transfer", "top", "--top-layers", "9"], "--top-layers 9 of bert: it has 2 blocks"),
        (["bert", "labels.tsv", "--layer-decay", "2"], "--layer-decay 2.0 is not between 0 and 1"),
        (["bert", "labels.tsv", "--layers", "7"], "bert has no layer 7; it has 2, numbered from 0"),
        (["bert", "labels.tsv", "--head", "bi-encoder"], "--head bi-encoder is for scores of pairs, and these are examples for classify"),
        (["nowhere", "labels.tsv"], "nowhere"),
        (["bert", "nowhere.tsv"], "nowhere.tsv"),
    ],
)
def test_what_cannot_be(arguments, says, folder, capsys):
    write(folder, "classify")
    assert main(["tune", *arguments]) == 2
    printed = capsys.readouterr().err
    assert says in printed and printed.count("\n") <= 3


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("text\tlabel\nsoup\tfood\nrice\tfood\n" * 1, "have the label 'food'; at least two are needed"),
        ("text\n" + "soup\n" * 5, "no column for label"),
        ("first\nsoup\nrice\n", "no column"),
    ],
)
def test_files_that_cannot_be_learnt_from(rows, says, folder, capsys):
    (folder / "labels.tsv").write_text(rows)
    (folder / "dev.tsv").write_text("text\tlabel\nsoup\tfood\nrain\tweather\n")
    assert main(["tune", "bert", "labels.tsv", "--task", "classify", "--dev", "dev.tsv", "--test", "dev.tsv"]) == 2
    assert says in capsys.readouterr().err


def test_a_label_of_the_test_file_alone(folder, capsys):
    file = write(folder, "classify")
    (folder / "test.tsv").write_text("text\tlabel\nsoup\tfood\nrain\tnews\n")
    assert main(["tune", "bert", file, "--test", "test.tsv", *QUICK]) == 2
    assert "test.tsv:3: the label 'news' is not in the training file" in capsys.readouterr().err


def test_the_metric_that_chooses_the_weights_is_kept_with_the_run(folder, capsys):
    file = write(folder, "classify")
    assert main(["tune", "bert", file, "--out", "run", "--metric", "macro_f1", *QUICK, "--json"]) == 0
    dev = json.loads(capsys.readouterr().out)["dev"]
    assert dev["error"]["value"] == pytest.approx(1 - dev["macro_f1"]["value"])
    assert main(["tune", "bert", file, "--out", "run", *QUICK]) == 2
    assert "settings.metric = 'macro_f1', now it is 'accuracy'" in capsys.readouterr().err
    assert main(["tune", "bert", file, "--out", "other", "--metric", "f1", *QUICK]) == 2
    assert "--metric f1 does not fit these examples for classify; choose accuracy or macro_f1" in capsys.readouterr().err
    assert main(["tune", "bert", file, "--task", "similar", "--metric", "f1"]) == 2
    assert "similar has one only: leave it out" in capsys.readouterr().err


def test_the_test_examples_are_evaluated_and_neither_trained_nor_selected_on(folder, capsys, monkeypatch):
    training, evaluated = [], []

    class RecordedSplits(LabelledSplits):
        def __init__(self, train, validation, *rest):
            super().__init__(train, validation, *rest)
            training.extend((*train, *validation))

    def evaluate(task, own, *rest):
        evaluated.append(list(own))
        return evaluate_with_baselines(task, own, *rest)

    monkeypatch.setattr("stairs.tasks.parts.labelled_splits.LabelledSplits", RecordedSplits)
    monkeypatch.setattr("stairs.tasks.outcomes.evaluate_with_baselines", evaluate)
    assert main(["tune", "bert", write(folder, "classify", 100), "--transfer", "features", "--out", "run", *QUICK, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [report[part]["texts"] for part in ("dev", "test")] == [10, 10] == [len(own) for own in evaluated]
    trained_on = {example.where for example in training}
    assert len(trained_on) == 90 and not {example.where for example in evaluated[1]} & trained_on


def test_at_most_so_many_examples_shrink_what_is_held_out_too(folder, capsys):
    assert main(["tune", "tfidf", write(folder, "classify", 400), "--limit", "80", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [report[part]["texts"] for part in ("dev", "test")] == [10, 10]
    rows = ["text\tlabel", *(f"soup number {i}\t{'food' if i < 50 else 'weather'}" for i in range(100))]
    (folder / "sorted.tsv").write_text("\n".join(rows))
    assert main(["tune", "tfidf", "sorted.tsv", "--limit", "20", "--json"]) == 0, "the first twenty have one label only"


def test_examples_that_the_training_file_holds_as_well_are_counted(folder, capsys):
    file = write(folder, "classify", 100)
    (folder / "test.tsv").write_text((folder / file).read_text().replace(" and ", "  AND "))
    assert main(["tune", "tfidf", file, "--test", "test.tsv", "--out", "run"]) == 0
    assert "90 of the 100 examples of test.tsv are in labels.tsv as well, but for case and spaces" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("writer", "labels.tsv:1: no column 'writer' for --group; name one of"),
        ("one", "all 40 examples have 'a' in --group one"),
        ("two", "--group two makes 2 groups, too few for 3 splits"),
        ("label", "the group 'food' of --group label holds all examples of the label 'food'"),
    ],
)
@pytest.mark.parametrize("command", [["tune", "tfidf", "labels.tsv"], ["climb", "--labels", "labels.tsv", "--budget", "60s"]])
def test_columns_that_cannot_part_the_groups(command, column, says, folder, capsys):
    rows = [f"text {i}\t{('food', 'weather', 'other')[i % 3]}\ta\t{i % 2}" for i in range(40)]
    (folder / "labels.tsv").write_text("\n".join(["text\tlabel\tone\ttwo", *rows]))
    assert main([*command, "--task", "classify", "--group", column]) == 2
    printed = capsys.readouterr().err
    assert says in printed and "Traceback" not in printed
