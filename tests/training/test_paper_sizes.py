"""`--size paper` trains as the paper did where it used Adam, and the header of every model says where we depart from its paper."""

import ast
import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import stairs
from stairs.commands.train_flags import parse_training
from stairs.machine import find_device
from stairs.models.settings import CONFIGS
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import SingleProcess, fit
from stairs.training.gradients import GradientUpdater
from stairs.training.options import TrainingOptions, lr_factor_by_steps, lr_factor_by_time
from tests.support.small_world import SENTENCES

SHAPE = ("--width", "16", "--heads", "2", "--layers", "1", "--context", "32")


def parse(step, *flags):
    data = ("--pairs", "numbers") if step == "transformer" else ("python",)
    return parse_training([step, *data, "--size", "paper", *flags], "train", "").job.with_recipe()[0]


def new_updater(step, *flags):
    options = parse(step, "--steps", "100000", *SHAPE, *flags)
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])
    task = options.new_task(tokenizer)
    pairs = [TranslationPair(sentence, sentence) for sentence in SENTENCES[:20]]
    if step != "transformer":
        task.examples, task.target_counts = lambda *_: SimpleNamespace(lengths=[5] * 20), lambda rows: None
    return GradientUpdater(task, LabelledSplits(pairs, pairs), options.options, SingleProcess(find_device("cpu"))), options.options


@pytest.mark.parametrize(
    ("step", "peak", "betas", "epsilon", "decay", "clip"),
    [
        ("transformer", 512**-0.5 * 4000**-0.5, (0.9, 0.98), 1e-9, 0.0, 0.0),
        ("bert", 1e-4, (0.9, 0.999), 1e-6, 0.01, 1.0),
        ("gpt", 2.5e-4, (0.9, 0.999), 1e-8, 0.01, 1.0),
    ],
)
def test_the_optimizer_of_the_paper_is_built(step, peak, betas, epsilon, decay, clip):
    updater, options = new_updater(step)
    assert updater.peak_lr == pytest.approx(peak) and options.clip == clip
    for group in updater.optimizer.param_groups:
        assert (group["betas"], group["eps"], group["lr_scale"]) == (betas, epsilon, 1.0) and group["weight_decay"] in (0.0, decay)
    assert max(group["weight_decay"] for group in updater.optimizer.param_groups) == decay


def test_no_option_of_a_training_takes_the_name_of_a_setting_of_a_model():
    option_names = {field.name for field in dataclasses.fields(TrainingOptions)}
    for config_class in CONFIGS.values():
        assert not option_names & {field.name for field in dataclasses.fields(config_class)}
    assert parse("bert").config(vocab_size=9).epsilon == 1e-12


def test_the_learning_rate_of_the_paper_at_some_updates():
    def rates(step):
        options = parse(step, "--steps", "100000").options
        return lambda update: options.learning_rate * lr_factor_by_steps(update - 1, 100_000, options)

    transformer, bert, gpt = map(rates, ("transformer", "bert", "gpt"))
    for update in (1, 1000, 4000, 4001, 16_000, 100_000):
        assert transformer(update) == pytest.approx(512**-0.5 * min(update**-0.5, update * 4000**-1.5))
    assert [bert(update) for update in (1, 5000, 10_000)] == pytest.approx([1e-8, 5e-5, 1e-4])
    assert [bert(update) for update in (55_000, 100_000)] == pytest.approx([5e-5, 0], abs=1e-8)
    assert [gpt(update) for update in (1, 1000, 2000)] == pytest.approx([1.25e-7, 1.25e-4, 2.5e-4])
    assert [gpt(update) for update in (51_000, 100_000)] == pytest.approx([1.25e-4, 0], abs=1e-8)


def test_a_warm_up_in_updates_holds_under_a_budget_too():
    for schedule in ("linear", "cosine", "inverse-sqrt", "hold"):
        options = TrainingOptions(schedule=schedule, warmup_steps=40)
        for update, progress in ((5, 0.1), (39, 0.2), (100, 0.5), (160, 0.8)):
            assert lr_factor_by_time(update, progress, options) == pytest.approx(lr_factor_by_steps(update, round(update / progress), options))
    assert lr_factor_by_time(19, 0.5, TrainingOptions(schedule="linear", warmup_steps=40)) == 0.5


def test_options_of_the_user_override_the_paper_and_other_sizes_have_our_defaults():
    options = parse("bert", "--beta2", "0.95", "--learning-rate", "0.01", "--schedule", "constant", "--warmup", "0.05", "--clip", "0").options
    assert (options.beta2, options.learning_rate, options.schedule, options.warmup) == (0.95, 0.01, "constant", 0.05)
    assert options.warmup_steps is None and options.clip == 0
    assert options.adam_epsilon == 1e-6
    ours = TrainingOptions()
    for step in ("elmo", "nnlm"):  # their papers did not use Adam
        assert dataclasses.replace(parse(step).options, learning_rate=None) == ours
    assert parse("skipgram").options == ours
    assert (ours.beta1, ours.beta2, ours.adam_epsilon, ours.schedule, ours.warmup) == (0.9, 0.95, 1e-8, "linear", 0.05)


def test_a_run_records_the_optimizer_of_its_size(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pairs = [TranslationPair(sentence, sentence) for sentence in SENTENCES[:40]]
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])
    words = ["transformer", "--pairs", "numbers", "--out", "run", "--steps", "4", *SHAPE]
    job, recipe = parse_training([*words, "--size", "paper"], "train", "").job.with_recipe()
    task = job.new_task(tokenizer)
    task.recipe = dataclasses.asdict(recipe)
    fit(task, LabelledSplits(pairs[:30], pairs[30:]), "run", job.options)
    training = json.loads(Path("run/run.json").read_text())["training"]
    recorded = [training[name] for name in ("beta2", "adam_epsilon", "warmup_steps", "schedule", "clip")]
    assert recorded == [0.98, 1e-9, 4000, "inverse-sqrt", 0.0]
    again, _ = parse_training(words, "train", "").job.with_recipe()  # the size is that of the run
    assert again.options == job.options
    assert "the learning rate was still rising" in capsys.readouterr().err


MODELS = Path(stairs.__file__).parent / "models"
NOT_PAPERS = ("__init__", "base", "language_model", "registry", "settings", "sizes", "transfer_options")


@pytest.mark.parametrize("path", sorted(path for path in MODELS.glob("*.py") if path.stem not in NOT_PAPERS), ids=lambda path: path.stem)
def test_every_model_says_where_it_departs_from_its_paper(path):
    header = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    _, named, departures = header.partition("\nDepartures:")
    assert named and departures.strip()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt", ("times as fast", "start smaller", "unigram", "batches")),
        ("bert", ("XLNet", "times faster", "unigram", "batches")),
        ("elmo", ("Adagrad", "clip", "schedule")),
        ("seq2seq", ("after", "Adadelta", "maxout")),
        ("nnlm", ("gradient descent", "weight decay")),
        ("transformer", ("width of 512", "batches")),
        ("word2vec", ("frequent word", "linear")),
    ],
)
def test_known_differences_are_in_the_header(model, words):
    departures = ast.get_docstring(ast.parse((MODELS / f"{model}.py").read_text("utf-8"))).partition("Departures:")[2]
    assert all(word in " ".join(departures.split()) for word in words)
