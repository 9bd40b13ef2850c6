"""How encoders learn from labels in a climb: more pretraining on the texts, rates that are tried, ELMo's BiLSTM, and all of it within their time."""

from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest

from stairs.comparison import beside_words, models
from stairs.comparison.beside_words import better_way
from stairs.comparison.models import pretrain
from stairs.comparison.runner import load_plans, run_climb
from stairs.errors import BadInput
from stairs.tasks import VectorClassifier
from stairs.tasks.paired_evaluation import evaluate_task
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.comparison_data import split_examples
from stairs.training import finetuning_plans
from stairs.training.loop import Loop
from stairs.training.run import Run, load
from stairs.training.run_plans import planned_task
from stairs.training.selection import candidate_costs
from tests.support.small_world import examples


def plans_for_two_candidates(monkeypatch):
    """Time enough for everything, whatever else the machine has to do."""
    monkeypatch.setattr(finetuning_plans, "updates_within", lambda task, data, seconds, seed: 10_000)
    monkeypatch.setattr(finetuning_plans, "ADAPTATION_EPOCHS", 1.0)
    monkeypatch.setattr(finetuning_plans, "WORTHWHILE_UPDATES", 6)


@pytest.mark.parametrize("model", ["gpt", "bert"])
def test_two_rates_are_tried_after_the_texts_were_read_and_all_of_it_is_paid_for(experiment, quick, monkeypatch, model):
    plans_for_two_candidates(monkeypatch)
    (row,) = run_climb(experiment, budget=60, models=[model])["rows"]
    errors = row["validation_errors"]
    assert set(errors) == {"embeddings-10", "embeddings-2"} and row["transfer"] == "full" and row["adaptation_updates"] > 0
    assert row["validation"]["value"] == pytest.approx(1 - min(errors.values()))
    runs = {path.name: Run(path).metrics()[-1]["cpu_seconds"] for path in experiment.out.iterdir() if path.is_dir()}
    assert set(runs) == {row["pretrained_run"], f"classify-{model}-adapted", f"classify-{model}"}
    tried = candidate_costs(experiment.out / f"classify-{model}")
    others = runs[row["pretrained_run"]] + runs[f"classify-{model}-adapted"]
    assert set(tried) == set(errors) and row["cpu_seconds"] == pytest.approx(others + sum(own["cpu_seconds"] for own in tried.values()), abs=0.01)
    task = load(experiment.out / row["run"])
    assert task.transfer.auxiliary_weight == 0 and task.transfer.pooling == "mean"


def test_texts_that_the_corpus_holds_are_not_read_again(experiment, quick, monkeypatch):
    plans_for_two_candidates(monkeypatch)
    (row,) = run_climb(replace(experiment, corpus_has_texts=True), budget=60, models=["gpt"])["rows"]
    assert "adaptation_updates" not in row and not (experiment.out / "classify-gpt-adapted").exists()


@pytest.mark.parametrize("killed_in", ["classify-gpt-adapted", "classify-gpt-embeddings-10", "classify-gpt-embeddings-2"])
def test_a_climb_killed_while_it_tries_goes_on_where_it_was(experiment, quick, monkeypatch, tmp_path, killed_in):
    plans_for_two_candidates(monkeypatch)
    whole = run_climb(replace(experiment, out=tmp_path / "whole"), budget=60, models=["gpt"])
    work, trained = Loop.train, []

    def train(loop, budget, is_killed=True):
        trained.append(loop.run.folder.name)
        if is_killed and loop.run.folder.name == killed_in:
            raise SystemExit(143)
        return work(loop, budget)

    monkeypatch.setattr(Loop, "train", train)
    with pytest.raises(SystemExit):
        run_climb(experiment, budget=60, models=["gpt"])
    before = trained[:-1]
    monkeypatch.setattr(Loop, "train", lambda loop, budget: train(loop, budget, is_killed=False))
    trained.clear()
    (row,) = run_climb(experiment, budget=60, models=["gpt"])["rows"]
    assert trained[0] == killed_in and not set(before) & set(trained)  # what was finished is not trained again
    assert set(row["validation_errors"]) == set(whole["rows"][0]["validation_errors"]) and "score" in row
    # by the clock of the other climb: only what was selected there is trained, to the same bits
    follower = replace(experiment, out=tmp_path / "again", plans=load_plans(tmp_path / "whole"), plans_from=tmp_path / "whole")
    (again,) = run_climb(follower, budget=60, models=["gpt"])["rows"]
    for name in ("validation_errors", "score", "predictions", "finetuning_updates", "adaptation_updates", "bits_per_character"):
        assert again[name] == whole["rows"][0][name]


@pytest.mark.parametrize(("updates", "rates"), [(10_000, ["rate-1", "rate-0.4"]), (100, [])])
def test_two_rates_of_adopted_weights_are_tried_where_there_is_time(experiment, monkeypatch, updates, rates):
    monkeypatch.setattr(finetuning_plans, "updates_within", lambda task, data, seconds, seed: updates)
    shards = experiment.shards_for("bert")
    encoder = planned_task("bert", shards.tokenizer, {"size": "nano", "settings": {}, "training": {}})
    task_with = partial(finetuning_plans.transfer_task, "classify", encoder, experiment.train)
    data = LabelledSplits(experiment.train, experiment.dev)
    plan = finetuning_plans.plan_finetuning("bert", "classify", task_with, data, 60.0, 0, is_new=False)
    assert list(plan.get("candidates", {})) == rates and "learning_rate" not in plan["training"]


@pytest.mark.parametrize("example_kind", ["classify", "tag", "regress"])
def test_elmo_is_read_by_a_bilstm_where_there_is_time(experiment, quick, monkeypatch, example_kind):
    plans_for_two_candidates(monkeypatch)
    other = replace(experiment, **split_examples(examples(example_kind, 60), example_kind, 0))
    (row,) = run_climb(other, budget=60, models=["elmo"])["rows"]
    assert (row["transfer"], row["insert"]) == ("features", "input") and "adaptation_updates" not in row
    assert set(row["validation_errors"]) == {"rate-0.004", "rate-0.002"} and row["pretrained_run"] == "bidirectional-lm-elmo"
    task = load(other.out / row["run"])
    skipgram = load(other.out / "word-vectors-skipgram")  # beside its layers, as GloVe's in its paper
    assert task.feature_extractor.words.embedding_dim == skipgram.model.config.width
    assert task.feature_extractor.reads_words and task.feature_extractor.weights()[0]["is_trained"]


def test_the_bilstm_starts_from_word_vectors_of_one_length(experiment, quick):
    pretrained = pretrain(experiment, "skipgram", 5.0)
    shards = experiment.shards_for("elmo")
    encoder = planned_task("elmo", shards.tokenizer, {"size": "nano", "settings": {}, "training": {}})
    run = experiment.out / pretrained["run"]
    task = finetuning_plans.transfer_task("classify", encoder, experiment.train, "features", "input", is_new=True, word_vectors=run)
    task.start(0)
    rows = task.feature_extractor.words.weight.detach()
    assert rows[rows.any(1)].std().item() == pytest.approx(finetuning_plans.BILSTM_WORD_DEVIATION, rel=0.01)


def test_elmo_learns_new_word_vectors_where_skipgram_finds_none(experiment, quick, monkeypatch):
    def refuse(experiment, model, seconds, **settings):
        if model == "skipgram":
            raise BadInput("all words are rare")
        return pretrain(experiment, model, seconds, **settings)

    plans_for_two_candidates(monkeypatch)
    monkeypatch.setattr(models, "pretrain", refuse)
    (row,) = run_climb(experiment, budget=60, models=["elmo"])["rows"]
    assert row["insert"] == "input" and "failed" not in row


def test_a_head_reads_elmo_where_there_is_no_time_for_a_bilstm(experiment, quick, monkeypatch):
    monkeypatch.setattr(finetuning_plans, "updates_within", lambda task, data, seconds, seed: 10)
    (row,) = run_climb(experiment, budget=60, models=["elmo"])["rows"]
    assert row["transfer"] == "features" and "insert" not in row


def test_what_the_labels_do_not_need_is_left_for_the_text(experiment, monkeypatch):
    monkeypatch.setattr(finetuning_plans, "updates_within", lambda task, data, seconds, seed: int(100 * seconds))
    monkeypatch.setattr(finetuning_plans, "seconds_to_encode", lambda task, data: 20.0)
    data, shards = LabelledSplits(experiment.train, experiment.dev), experiment.shards_for("gpt")
    cases = ((100, False), (100, True), (4, True))
    needed = [finetuning_plans.finetuning_seconds("gpt", shards, "classify", data, seconds, 0, adapts) for seconds, adapts in cases]
    assert needed == pytest.approx([12.5, 12.5 / 0.6, 4], rel=0.02)  # 500 updates for each of two rates, slower than timed, and a part to adapt
    alone = finetuning_plans.finetuning_seconds("gpt", shards, "classify", data, 8, 0, False)
    assert alone == pytest.approx(5, rel=0.02)  # where two rates do not fit, no time is kept for the second
    needed = finetuning_plans.finetuning_seconds("elmo", experiment.shards_for("elmo"), "classify", data, 100, 0, False)
    assert needed == pytest.approx(24.5, rel=0.02)  # to encode all, and 500 updates for each of two rates


@pytest.mark.parametrize(("model", "kind", "seconds", "is_slow"), [("bert", "classify", 30, True), ("bert", "tag", 30, False),
                                                                   ("bert", "classify", 600, False), ("gpt", "classify", 30, False)])  # fmt: skip
def test_a_bert_of_a_minute_stays_near_skipgram_where_labels_are_of_texts(experiment, monkeypatch, model, kind, seconds, is_slow):
    plans = []
    monkeypatch.setattr(models, "train_run", lambda experiment, folder, plan, new_task, data: plans.append(plan) or {"step": 1})
    monkeypatch.setattr(models, "costs", lambda experiment, folder, last_line: {})
    monkeypatch.setattr(models, "unigram_bits", lambda shards: 8.0)
    other = replace(experiment, example_kind=kind)
    with suppress(KeyError):  # of a measurement that was not made
        pretrain(other, model, seconds)
    assert plans[0]["training"].get("embedding_lr_scale") == (0.2 if is_slow else None)


def test_encoding_is_timed_on_more_texts_where_that_is_quick(experiment, monkeypatch):
    """ELMo computes a word once for a batch, so that few texts take longer each."""
    shards = experiment.shards_for("bert")
    encoder = planned_task("bert", shards.tokenizer, {"size": "nano", "settings": {}, "training": {}})
    task = finetuning_plans.transfer_task("classify", encoder, experiment.train, "features", is_new=True)
    many = (list(experiment.train) * 320)[:320]
    data, now, timed = LabelledSplits(many, experiment.dev), [0.0], []

    def compute(rows, each):
        timed.append(len(rows))
        now[0] += 0.1 + each * len(rows)

    monkeypatch.setattr(finetuning_plans.time, "monotonic", lambda: now[0])
    for each, counts in ((0.001, [32, 96, 320]), (0.008, [32]), (0.1, [32])):
        monkeypatch.setattr(task, "compute_vectors", lambda rows, each=each: compute(rows, each))
        timed.clear()
        seconds = finetuning_plans.seconds_to_encode(task, data)
        assert timed == [8, *counts]
        texts = len(data.train) + len(data.validation)
        assert seconds == pytest.approx((0.1 / counts[-1] + each) * texts / finetuning_plans.ENCODING_SHARE)


def cost_of(folder):
    return Run(folder).metrics()[-1]["cpu_seconds"]


@pytest.mark.parametrize("model", ["gpt", "bert", "elmo"])
def test_an_encoder_is_also_read_beside_the_skipgram_of_the_climb(experiment, quick, monkeypatch, model):
    monkeypatch.setattr(beside_words, "seconds_needed", lambda experiment, encoder: 0.01)
    words, row = run_climb(experiment, budget=60, models=["skipgram", model])["rows"]
    errors, out = row["validation_errors"], experiment.out
    together, alone = 1 - errors["beside"], 1 - min(error for name, error in errors.items() if name != "beside")
    assert row["validation"]["value"] == pytest.approx(max(together, alone))
    folders = [row["pretrained_run"], "word-vectors-skipgram", f"classify-{model}", f"classify-{model}-beside"]
    assert row["pretrained_run"] not in folders[1:] and row["cpu_seconds"] == pytest.approx(sum(cost_of(out / name) for name in folders), abs=0.01)
    task = load(out / f"classify-{model}-beside")
    assert task.model_name == model and task.encoder is not None
    if together > alone:
        assert (row["run"], row["insert"], row["alone_run"]) == (f"classify-{model}-beside", "beside", f"classify-{model}")
        assert "finetuning_updates" not in row
        assert_report_says_what_the_encoder_adds(experiment, row, words)
    else:
        assert row["run"] == f"classify-{model}" and "beside_words" not in row


def assert_report_says_what_the_encoder_adds(experiment, row, words):
    alone = evaluate_task(load(experiment.out / row["alone_run"]), "classify", "accuracy", experiment.test, ())
    added = row["score"]["value"] - words["score"]["value"]
    assert row["alone_score"] == alone.metrics["accuracy"] and row["added_score"]["difference"] == pytest.approx(added)
    figures = (f"{added:+.4f}", f"{row['alone_score']['value']:.4f}")
    assert all(figure in row["beside_words"][language] for figure in figures for language in ("en", "zh"))


def test_an_encoder_that_is_read_beside_words_says_what_it_adds_to_them(experiment, quick, monkeypatch):
    monkeypatch.setattr(beside_words, "seconds_needed", lambda experiment, encoder: 0.01)
    best = {"validation": {"value": 2.0}}
    monkeypatch.setattr(models, "better_way", lambda alone, beside, experiment: better_way(alone, {**beside, **best}, experiment))
    words, row = run_climb(experiment, budget=60, models=["skipgram", "gpt"])["rows"]
    assert row["run"] == "classify-gpt-beside"
    assert_report_says_what_the_encoder_adds(experiment, row, words)


def test_the_better_way_is_the_row_and_both_are_paid_for(experiment, quick):
    run_climb(experiment, budget=60, models=["skipgram"])
    experiment = replace(experiment, metric="accuracy")
    alone = {"run": "a", "seconds": 1.0, "cpu_seconds": 2.0, "training_mb": 5.0, "validation": {"value": 0.5}, "training": [{}]}
    beside = {"run": "b", "seconds": 0.5, "cpu_seconds": 0.25, "training_mb": None, "validation": {"value": 0.75}}
    row = better_way(alone, beside, experiment)
    assert row["run"] == "b" and (row["seconds"], row["cpu_seconds"], row["training_mb"]) == (1.5, 2.25, 5.0) and row["training"] == [{}]
    assert "0.7500 on the validation examples; by itself 0.5000" in row["beside_words"]["en"] and "0.7500" in row["beside_words"]["zh"]
    row = better_way(alone, {**beside, "validation": {"value": 0.5}}, experiment)  # of equal ones the encoder by itself
    assert row["run"] == "a" and row["cpu_seconds"] == 2.25 and row["validation_errors"] == {"alone": 0.5, "beside": 0.5}
    assert better_way(alone, {}, experiment) == alone


def test_it_is_not_tried_without_skipgram_or_without_time(experiment, quick, monkeypatch):
    (row,) = run_climb(experiment, budget=60, models=["gpt"])["rows"]
    assert "beside_words" not in row and not (experiment.out / "classify-gpt-beside").exists()
    monkeypatch.setattr(beside_words, "seconds_needed", lambda experiment, encoder: 1e6)
    other = replace(experiment, out=experiment.out.with_name("short"))
    report = run_climb(other, budget=60, models=["skipgram", "gpt"])
    assert report["plans"]["classify-gpt-beside"]["examples"] == 0 and not (other.out / "classify-gpt-beside").exists()
    assert "beside" not in report["rows"][1].get("validation_errors", {})


def test_a_climb_killed_while_it_reads_beside_words_goes_on(experiment, quick, monkeypatch):
    monkeypatch.setattr(beside_words, "seconds_needed", lambda experiment, encoder: 0.01)
    work = VectorClassifier.train

    def killed(*given, encoder=None, **more):
        if encoder is not None:
            raise SystemExit(143)
        return work(*given, encoder=encoder, **more)

    monkeypatch.setattr(VectorClassifier, "train", killed)
    with pytest.raises(SystemExit):
        run_climb(experiment, budget=60, models=["skipgram", "gpt"])
    monkeypatch.setattr(VectorClassifier, "train", work)
    row = run_climb(experiment, budget=60, models=["skipgram", "gpt"])["rows"][1]
    assert "beside" in row["validation_errors"] and "score" in row
