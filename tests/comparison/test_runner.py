"""climb: a row for every model, splits that keep the proportions of the labels, and a recommendation that follows from the numbers."""

import gc
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from stairs import machine
from stairs.climb_job import ClimbJob
from stairs.comparison import models, runner, time_shares
from stairs.comparison.evaluation import why_not_learnt
from stairs.comparison.models import ClimbModel
from stairs.comparison.runner import Observer, load_plans, run_climb
from stairs.comparison.table import report_text
from stairs.comparison.time_shares import allot, hand_on
from stairs.errors import BadInput
from stairs.files import write_lock
from stairs.tasks import NGramClassifier, TfidfClassifier, VectorClassifier
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.comparison_data import split_examples
from stairs.text.embedded.number_names import number_pairs
from stairs.text.examples import LabelledText, TranslationPair
from stairs.text.input_options import TokenizerOptions
from stairs.text.labelled.translation_splits import PairSplits
from stairs.text.tokenizers.tokenizer import TokenizerSpec
from stairs.training import finetuning_plans
from stairs.training.gradients import GradientUpdater
from stairs.training.run import Run, load
from stairs.training.run_folder import run_folder
from tests.comparison.conftest import SHARE, labelled
from tests.support.small_world import examples

KEY = "first_recommendation"


def test_a_row_for_each_model_and_runs_that_can_be_asked(experiment, quick):
    received, first, evaluated = [], [], []

    class Listening(Observer):
        def on_model_end(self, row):
            received.append(row)
            assert "score" not in row and row["validation"]["value"] >= 0 and not evaluated  # the test examples stay closed

        def on_first_recommendation(self, sentence):
            assert [row["model"] for row in received] == ["tfidf", "ngram", "cbow", "skipgram", "glove"]
            assert run_folder(experiment.out).name == f"classify-{json.loads((experiment.out / 'report.json').read_text())[KEY]['model']}"
            first.append(sentence)

        def on_evaluation(self, row):
            evaluated.append(row["model"])

    report = run_climb(experiment, budget=200, observer=Listening())
    found = report[KEY]
    assert len(first) == 1 and found["model"] in first[0] and "by 5 validation examples" in first[0] and found["seconds"] > 0
    assert found["scores"][found["model"]] == max(found["scores"].values()) and evaluated == [row["model"] for row in report["rows"]]
    received.sort(key=lambda row: evaluated.index(row["model"]))
    assert [row["model"] for row in report["rows"]] == ["ngram", "tfidf", "cbow", "skipgram", "glove", "cnn", "nnlm", "elmo", "gpt", "bert"]
    assert not any("failed" in row or "not_tried" in row for row in report["rows"]), report["rows"]
    assert received == report["rows"] == json.loads((experiment.out / "report.json").read_text())["rows"]
    assert {row["model"] for row in report["rows"] if "bits_per_character" in row} == {"ngram", "nnlm", "gpt", "elmo"}
    for row in report["rows"]:
        assert 0 <= row["score"]["low"] <= row["score"]["value"] <= row["score"]["high"] <= 1
        assert row["seconds"] > 0 and row["cpu_seconds"] > 0 and row["ms_per_text"] > 0 and row["training_mb"] >= 0 and row["answering_mb"] >= 0
        assert set(row["outcomes"]) <= {"0", "1"} and row["outcomes"].count("1") / 12 == pytest.approx(row["score"]["value"])
        assert row["parameters"] > 0 and row["megabytes"] >= 0 and len(row["predictions"]) == 12
        run = load(experiment.out / row["run"])  # what it answers is what was counted
        assert [run.answer(example.text)["label"] for example in experiment.test[:4]] == row["predictions"][:4]
        if row["model"] in ("nnlm", "elmo", "gpt", "bert"):
            assert row["updates"] > 0 and (row.get("finetuning_updates", 0) > 0 or row["insert"] == "beside")
            assert row["time"]["given"] >= SHARE  # what cnn leaves of its share goes to the others
            assert row["time"]["used"] >= row["time"]["updates"] + row["time"]["evaluation"] > 0
        assert sum(map(sum, row["details"]["confusion"])) == sum(own["texts"] for own in row["details"]["labels"].values()) == 12
        assert 0 <= row["details"]["calibration"]["error"] <= 1
    assert report["baseline"]["name"] == "majority" and report["baseline"]["score"]["value"] == 0.5
    reported = report["recommendation"]
    assert reported["model"] in reported["as_good"] and reported["rule"]["en"] in report_text(report) and reported["cost"] == "train"
    assert [mix["is_trained"] for mix in load(experiment.out / "classify-elmo").feature_extractor.weights()] == [True]
    assert len(report["test"]) == 12 and report["examples"] == {"train": 43, "dev": 5, "test": 12}


def test_models_that_need_one_pass_do_not_see_the_validation_examples(experiment, quick, monkeypatch):
    given = {}
    for kind in (NGramClassifier, TfidfClassifier, VectorClassifier):

        def learned(examples, *rest, name=kind.__name__, work=kind.train):
            given[name] = list(examples)
            return work(examples, *rest)

        monkeypatch.setattr(kind, "train", learned)
    run_climb(experiment, budget=60, models=["ngram", "tfidf", "skipgram"])
    assert given == {name: list(experiment.train) for name in ("NGramClassifier", "TfidfClassifier", "VectorClassifier")}


def test_how_many_more_labels_would_help_is_measured_without_the_test_examples(experiment, quick, monkeypatch):
    more = [LabelledText(f"the {('happy', 'sad')[i % 2]} dog number {i}", ("good", "bad")[i % 2]) for i in range(60)]
    seen = set()
    train = TfidfClassifier.train
    monkeypatch.setattr(TfidfClassifier, "train", lambda examples, *rest, **more: seen.update(examples) or train(examples, *rest, **more))
    bigger = replace(experiment, train=[*experiment.train, *more])
    report = run_climb(bigger, budget=60, models=["tfidf"])
    (curve,) = report["label_curves"]
    assert curve["model"] == "tfidf" and len(curve["points"]) == 4 and [own["labels"] for own in curve["forecasts"]] == [103, 206, 412]
    assert not seen & set(experiment.test) and "label_note" not in report
    assert "too few" in run_climb(replace(experiment, out=experiment.out / "small"), budget=60, models=["tfidf"])["label_note"]["en"]


@pytest.mark.parametrize(("example_kind", "model"), [("compare", "skipgram"), ("tag", "bert"), ("span", "skipgram"), ("choose", "skipgram")])
def test_labels_of_any_task(experiment, quick, example_kind, model):
    other = replace(experiment, **split_examples(examples(example_kind, 60), example_kind, 0))
    report = run_climb(other, budget=60, models=["ngram", model])
    assert not any("failed" in row for row in report["rows"]), report["rows"]
    assert ["score" in row for row in report["rows"]] == [False, True]
    assert all(isinstance(printed, str) for printed in report["rows"][1]["predictions"])
    assert ("tags" in report["rows"][1]["details"]) == (example_kind == "tag")


def test_a_model_that_guesses_among_choices_has_not_learnt(experiment):
    other = replace(experiment, **split_examples(examples("choose", 60), "choose", 0))
    level = sum(1 / len(example.choices) for example in other.test) / len(other.test)
    row = {"model": "bert", "run": "run", "metric": "accuracy", "score": {"value": level}, "finetuning_updates": 500}
    assert "no better than guessing" in str(why_not_learnt(row, other))
    assert why_not_learnt({**row, "score": {"value": level + 0.1}}, other) is None


@pytest.mark.parametrize(("example_kind", "floors"), [("compare", ["tfidf"]), ("tag", ["hmm", "crf"]), ("span", ["overlap"])])
def test_tags_pairs_and_spans_have_a_ground_floor(experiment, example_kind, floors):
    names = [model.name for model in models.models_for(example_kind, [])]
    assert names[: 2 + len(floors)] == ["ngram", *floors, "cbow"]
    other = replace(experiment, **split_examples(examples(example_kind, 60), example_kind, 0))
    report = run_climb(other, budget=60, models=floors)
    assert [row["model"] for row in report["rows"]] == floors and not any("failed" in row for row in report["rows"]), report["rows"]
    for row in report["rows"]:
        assert row["score"]["low"] <= row["score"]["value"] and row["cpu_seconds"] > 0 and row["ms_per_text"] > 0 and row["parameters"] > 0
        run = load(experiment.out / row["run"])
        predictions = run.predict_examples(other.test[:4])
        assert [" ".join(own) if example_kind == "tag" else own for own in predictions] == row["predictions"][:4]
    assert report["recommendation"]["model"] in floors


@pytest.mark.parametrize("example_kind", ["classify", "tag"])
def test_cnn_starts_from_the_vectors_of_skipgram_and_pays_for_them(experiment, quick, example_kind):
    other = replace(experiment, **split_examples(examples(example_kind, 60), example_kind, 0))
    row = run_climb(other, budget=60, models=["skipgram", "cnn"])["rows"][1]
    assert "failed" not in row and row["transfer"] == "scratch" and row["finetuning_updates"] > 0 and row["pretrained_run"] == "word-vectors-skipgram"
    run, source = load(experiment.out / row["run"]), load(experiment.out / "word-vectors-skipgram")
    assert run.model.name == "cnn" and run.model.config.word_width == source.model.config.width
    assert row["seconds"] > json.loads((experiment.out / row["run"] / "metrics.jsonl").read_text().splitlines()[-1])["seconds"]
    alone = run_climb(replace(other, out=experiment.out / "alone"), budget=60, models=["cnn"])["rows"]
    assert [row["model"] for row in alone] == ["cnn"] and "score" in alone[0]


def test_cove_has_a_row_where_there_are_pairs_to_pretrain_on(experiment, quick):
    assert "cove" not in [model.name for model in models.models_for("classify", [])]
    numbers = number_pairs("numbers")
    pairs = PairSplits(numbers[:150], numbers[150:170], [])
    other = replace(experiment, pairs=pairs, pair_tokenizer=TokenizerSpec("byte-bpe", vocab_size=300))
    assert other.fingerprint != experiment.fingerprint
    row = run_climb(other, budget=60, models=["cove"])["rows"][0]
    assert "failed" not in row and row["updates"] > 0 and row["finetuning_updates"] > 0 and "score" in row
    assert row["run"] == "classify-cove" and row["pretrained_run"] == "translate-cove"
    assert load(experiment.out / "translate-cove").answer("one hundred five")["translation"] is not None


def test_pairs_of_sentences_are_climbed_by_those_that_translate(experiment, quick):
    cut = TokenizerSpec("words", chinese="characters")
    other = replace(experiment, pair_tokenizer=cut, **split_examples(number_pairs("numbers")[:200], "translate", 0))
    report = run_climb(other, budget=90)
    assert [row["model"] for row in report["rows"]] == ["seq2seq", "attention", "transformer"]
    assert all(row["metric"] == "bleu" and "bits_per_character" in row and len(row["predictions"]) == 40 for row in report["rows"]), report["rows"]
    assert load(experiment.out / "translate-attention").answer("one hundred five")["alignment"] is not None
    assert load(experiment.out / "translate-seq2seq").answer("one hundred five")["alignment"] is None


def test_adopted_weights_are_a_model_too(experiment, quick, tmp_path):
    run_climb(replace(experiment, out=tmp_path / "first"), budget=60, models=["bert", "skipgram"])
    runs = [str(tmp_path / "first" / name) for name in ("masked-token-bert", "word-vectors-skipgram")]
    rows = run_climb(experiment, budget=60, models=["tfidf"], adopted=runs)["rows"]
    assert [row["model"] for row in rows] == ["tfidf", "word-vectors-skipgram", "masked-token-bert"] and all("score" in row for row in rows)
    assert [row.get("is_adopted", False) for row in rows] == [False, True, True]


@pytest.mark.parametrize(("model", "place", "name"), [("glove", VectorClassifier, "train"), ("gpt", GradientUpdater, "update")])
def test_killed_and_begun_again_it_is_the_same_report(experiment, quick, tmp_path, monkeypatch, model, place, name):
    wanted = ["ngram", "tfidf", model]
    whole = run_climb(replace(experiment, out=tmp_path / "whole"), budget=60, models=wanted)
    # its clock, whatever else the machine has to do
    experiment = replace(experiment, plans=load_plans(tmp_path / "whole"), plans_from=tmp_path / "whole")
    work, calls = getattr(place, name), []

    def stopped(*given):
        calls.append(1)
        if len(calls) == (1 if model == "glove" else whole["rows"][-1]["finetuning_updates"]):
            raise SystemExit(143)
        return work(*given)

    monkeypatch.setattr(place, name, stopped)
    with pytest.raises(SystemExit):
        run_climb(experiment, budget=60, models=wanted)
    assert ["score" in row for row in json.loads((experiment.out / "report.json").read_text())["rows"]] == [False, False]
    monkeypatch.setattr(place, name, work)
    again = run_climb(experiment, budget=60, models=wanted)
    timing = ("ms_per_text", "seconds", "cpu_seconds", "training_mb", "answering_mb", "time", "pretraining")
    for a, b in zip(whole["rows"], again["rows"], strict=True):
        assert {k: v for k, v in a.items() if k not in timing} == {k: v for k, v in b.items() if k not in timing}
    assert again["plans"] == whole["plans"] and run_climb(experiment, budget=60, models=wanted)["rows"] == again["rows"]


def test_rows_behind_one_that_is_climbed_again_are_not_lost_by_a_kill(experiment, quick, monkeypatch):
    broken = TfidfClassifier.train
    monkeypatch.setattr(TfidfClassifier, "train", lambda *given: 1 / 0)
    run_climb(experiment, budget=60, models=["ngram", "tfidf", "glove"])

    def killed(*given):
        raise SystemExit(143)

    monkeypatch.setattr(TfidfClassifier, "train", killed)
    with pytest.raises(SystemExit):
        run_climb(experiment, budget=60, models=["ngram", "tfidf", "glove"])
    assert ["score" in row for row in json.loads((experiment.out / "report.json").read_text())["rows"]] == [True, False, True]
    monkeypatch.setattr(TfidfClassifier, "train", broken)
    assert ["score" in row for row in run_climb(experiment, budget=60, models=["ngram", "tfidf", "glove"])["rows"]] == [True] * 3


def test_ctrl_c_ends_with_a_whole_report_of_what_is_done_and_the_same_command_goes_on(experiment, quick, monkeypatch):
    work, published = VectorClassifier.train, []

    def stopped(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(VectorClassifier, "train", stopped)
    wanted = ["ngram", "tfidf", "glove", "bert"]
    report = run_climb(experiment, budget=60, models=wanted, publish=published.append)
    assert report["is_stopped"] and report["recommendation"]["model"] in ("ngram", "tfidf") and published == [report]
    assert ["score" in row for row in report["rows"]] == [True, True, False, False] and "the same command goes on" in report["rows"][3]["not_tried"]
    assert run_folder(experiment.out) == experiment.out / f"classify-{report['recommendation']['model']}"
    monkeypatch.setattr(VectorClassifier, "train", work)
    again = run_climb(experiment, budget=60, models=wanted)
    assert "is_stopped" not in again and all("score" in row for row in again["rows"]) and again["rows"][:2] == report["rows"][:2]


def test_what_there_was_no_time_for_is_not_tried_when_the_same_command_is_repeated(experiment, monkeypatch):
    monkeypatch.setattr(machine, "gigaflops", lambda: 100.0)
    report = run_climb(experiment, budget=12, models=["tfidf", "gpt"])
    assert "not_tried" in report["rows"][1] and run_climb(experiment, budget=12, models=["tfidf", "gpt"])["rows"] == report["rows"]


def test_a_folder_without_plans_is_refused(tmp_path):
    with pytest.raises(BadInput, match="name the folder of one"):
        load_plans(tmp_path)


@pytest.mark.parametrize(("error", "printed"), [(BadInput("it cannot be"), "it cannot be"), (IndexError("0"), "a bug: IndexError: 0; train it")])
def test_one_model_that_fails_does_not_stop_the_rest(experiment, quick, monkeypatch, error, printed):
    def broken(*given):
        raise error

    monkeypatch.setattr(TfidfClassifier, "train", broken)
    rows = run_climb(experiment, budget=60, models=["tfidf", "ngram"])["rows"]
    assert "score" in rows[0] and rows[1]["model"] == "tfidf" and rows[1]["failed"].startswith(printed)
    assert rows[1].get("is_bug", False) == isinstance(error, IndexError)


def test_models_for_which_there_is_no_time_are_said_before_it_starts(experiment, monkeypatch):
    received = []
    monkeypatch.setattr(runner, "say", received.append)
    monkeypatch.setattr(machine, "gigaflops", lambda: 100.0)
    with pytest.raises(BadInput, match=r"a budget of 1 s is too short.*ngram alone needs about \d+ s, all models \dm"):
        run_climb(experiment, budget=1, models=["ngram", "gpt"])
    rows = run_climb(experiment, budget=12, models=["ngram", "tfidf", "gpt", "bert"])["rows"]
    assert ["score" in row for row in rows] == [True, True, False, False]
    assert received[0] == "12 s leave no time for gpt and bert; all models take --budget 1m" == rows[2]["not_tried"]


def test_every_model_that_learns_by_gradients_has_the_same_share_whatever_the_others_did():
    found = [ClimbModel("ngram", None, "counting"), *(ClimbModel(name, None, "gradient") for name in ("nnlm", "gpt", "bert", "elmo"))]
    shares = allot(found, 100.0)
    assert set(shares) == {"nnlm", "gpt", "bert", "elmo"} and len(set(shares.values())) == 1 and 90 < sum(shares.values()) < 100


def test_time_is_kept_for_evaluating_all_models_on_the_test_examples():
    found = [ClimbModel("gpt", None, "gradient")]
    whole = allot(found, 200.0)["gpt"]
    assert allot(found, 200.0, evaluated=10)["gpt"] == pytest.approx(whole - 10 * time_shares.EVALUATION_SECONDS)
    assert allot(found, 20.0, evaluated=10)["gpt"] == pytest.approx(0.1 * whole - 2.0)  # of a short time, a tenth


def test_what_a_model_without_a_corpus_leaves_goes_to_those_after_it():
    found = [ClimbModel("cnn", None, "gradient", reads_corpus=False), ClimbModel("gpt", None, "gradient"), ClimbModel("bert", None, "gradient")]
    shares = {"cnn": 30.0, "gpt": 60.0, "bert": 60.0}
    hand_on(shares, found[0], {"time": {"given": 30.0, "used": 10.0}}, found[1:])
    assert shares == {"cnn": 30.0, "gpt": 70.0, "bert": 70.0}
    hand_on(shares, found[1], {"time": {"given": 70.0, "used": 10.0}}, found[2:])  # one that reads the corpus
    hand_on(shares, found[0], {"time": {"given": 30.0, "used": 31.0}}, found[1:])
    hand_on(shares, found[0], {"failed": "it"}, found[1:])
    assert shares == {"cnn": 30.0, "gpt": 70.0, "bert": 70.0}


def test_a_climb_leaves_the_garbage_collector_as_it_was(experiment, quick):
    run_climb(experiment, budget=60, models=["ngram"])
    assert gc.get_freeze_count() == 0


def test_cnn_has_half_a_share_for_texts_since_it_reads_no_corpus():
    halves = {kind: {model.name: model.share for model in models.models_for(kind, [])} for kind in ("classify", "tag")}
    assert halves["classify"]["cnn"] == 0.5 and {*halves["tag"].values()} == {1.0}
    shares = allot([ClimbModel("cnn", None, "gradient", share=0.5), ClimbModel("gpt", None, "gradient")], 100.0)
    assert shares["gpt"] == pytest.approx(2 * shares["cnn"], rel=1e-3) and 90 < sum(shares.values()) < 100


def test_what_did_not_learn_is_not_recommended_and_says_so(experiment):
    score = {"value": 0.9, "low": 0.8, "high": 1.0}
    assert "only 30 updates" in why_not_learnt({"metric": "accuracy", "score": score, "updates": 500, "finetuning_updates": 30}, experiment)["en"]
    assert why_not_learnt({"metric": "accuracy", "score": score, "finetuning_updates": 30, "is_adopted": True}, experiment) is None
    assert "most frequent label (0.5000)" in why_not_learnt({"metric": "accuracy", "score": {**score, "value": 0.5}}, experiment)["en"]
    assert "0.0000" in why_not_learnt({"metric": "bleu", "score": {**score, "value": 0.0}, "updates": 60}, experiment)["en"]
    assert "always predicting the mean" in why_not_learnt({"metric": "spearman", "score": {**score, "value": -0.1}}, experiment)["en"]
    assert "3.5000 bits" in why_not_learnt({"unigram_bits": 3.5, "bits_per_character": {"value": 3.6}, "updates": 60}, experiment)["en"]
    assert why_not_learnt({"metric": "accuracy", "score": score, "updates": 50, "unigram_bits": 3.5}, experiment) is None


def test_an_unknown_model(experiment):
    with pytest.raises(BadInput, match="'bret'"):
        run_climb(experiment, budget=60, models=["bret"])


def test_the_splits_keep_every_label_and_depend_on_the_seed_alone():
    found = split_examples(labelled(), "classify", 0)
    assert [len(found[name]) for name in ("train", "dev", "test")] == [43, 5, 12] and sum(e.label == "good" for e in found["test"]) == 6
    assert len({id(example) for name in ("train", "dev", "test") for example in found[name]}) == 60
    assert split_examples(labelled(), "classify", 0) == found != split_examples(labelled(), "classify", 1)
    with pytest.raises(BadInput, match="too few"):
        split_examples(labelled()[:2], "classify", 0)


def test_a_bug_in_one_model_ends_the_command_with_1_after_the_others(files, monkeypatch, capsys):
    from stairs.cli import main

    def broken(*given):
        raise IndexError("0")

    monkeypatch.setattr(TfidfClassifier, "train", broken)
    given = ["climb", *files, "--models", "ngram,tfidf"]
    assert main(given) == 1
    printed = capsys.readouterr()
    assert "ngram" in printed.out and printed.err.splitlines()[-1] == "stairs: error: a bug stopped tfidf; the other models are done"


@pytest.fixture
def files(tmp_path):
    """A text and labels, as a command takes them."""
    text, labels = tmp_path / "cats.txt", tmp_path / "cats.csv"
    text.write_text("\n\n".join(f"The cat {i} sat on the mat. It was cat number {i}." for i in range(50)))
    labels.write_text("text,label\n" + "\n".join(f"{example.text},{example.label}" for example in labelled()))
    return [str(text), "--labels", str(labels), "--out", str(tmp_path / "out"), "--budget", "10m"]  # enough on a busy machine, too


def test_a_second_climb_in_a_folder_that_is_being_climbed_ends_with_5_and_touches_nothing(files, tmp_path, stairs, command):
    out = tmp_path / "out"
    with write_lock(out):
        before = {path: path.read_bytes() for path in out.iterdir()}
        ended = stairs("climb", *files, "--models", "tfidf")
        assert ended.returncode == 5 and "is being written by process" in ended.stderr.splitlines()[-1], ended.stderr
        assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert command("climb", *files, "--models", "tfidf").code == 0


def test_a_climb_that_was_refused_leaves_no_folder(files, tmp_path, command):
    ended = command("climb", *files, "--models", "bret")
    assert ended.code == 2 and "'bret'" in ended.err and not (tmp_path / "out").exists()


def test_a_folder_of_another_climb_is_refused_with_what_is_different(files, tmp_path, command):
    assert command("climb", *files, "--models", "tfidf").code == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["format"] == 2 and report["settings"]["metric"] == "accuracy" == report["rows"][0]["metric"]
    for option, printed in ((("--metric", "macro_f1"), "metric = 'accuracy', now it is 'macro_f1'"), (("--seed", "1"), "was started with")):
        ended = command("climb", *files, "--models", "tfidf", *option)
        assert ended.code == 2 and printed in ended.err, ended.err
    (tmp_path / "out" / "report.json").write_text(json.dumps(report | {"format": 7}))
    ended = command("climb", *files, "--models", "tfidf")
    assert ended.code == 2 and "has the format 7, and this version writes 2" in ended.err


def test_a_metric_of_another_task_is_refused_with_those_there_are(files, command):
    ended = command("climb", *files, "--metric", "bleu")
    assert ended.code == 2 and "--metric bleu does not fit these examples for classify; choose accuracy or macro_f1" in ended.err


def test_the_metric_that_was_asked_for_ranks_and_chooses_the_weights(experiment, quick):
    row = run_climb(replace(experiment, metric="macro_f1"), budget=60, models=["bert"])["rows"][0]
    assert row["metric"] == "macro_f1" and row["score"] == row["macro_f1"]
    lines = [line for line in Run(experiment.out / row["run"]).metrics() if "error" in line]
    assert lines and all(line["error"]["value"] == pytest.approx(1 - line["macro_f1"]["value"]) for line in lines)
    assert load(experiment.out / row["run"]).settings["metric"] == "macro_f1"


def test_where_there_is_no_time_to_encode_all_examples_training_and_validation_shrink_alike(monkeypatch):
    monkeypatch.setattr(finetuning_plans, "seconds_to_encode", lambda task, examples: 40.0)
    head = SimpleNamespace(model=SimpleNamespace(default_layers="all"), training_defaults={"epochs": 40.0})
    data = LabelledSplits(range(400), range(200))
    planned = finetuning_plans.plan_finetuning("elmo", "compare", lambda mode: head, data, 10.0, 0, True)
    assert (planned["examples"], planned["validation"]) == (100, 50) and "insert" not in planned


def test_pairs_are_tokenized_by_their_language_and_by_how_many_there_are():
    french, chinese = TranslationPair("The dog runs.", "Le chien court."), TranslationPair("The dog runs.", "狗在跑。")
    specs = [ClimbJob().pair_tokenizer([pair] * count, False) for pair, count in ((french, 100), (french, 40_000), (chinese, 100))]
    assert [(spec.kind, spec.vocab_size) for spec in specs] == [("byte-bpe", 2048), ("byte-bpe", 4096), ("bpe", 8192)]
    named = ClimbJob(tokenizing=TokenizerOptions(tokenizer="byte-bpe")).pair_tokenizer([chinese], False)
    assert (named.kind, named.vocab_size) == ("byte-bpe", 8192) and ClimbJob().pair_tokenizer([chinese], True).kind == "words"
