"""The recipe: what fits into a time on a machine; it is reported and recorded, and options of the user override it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stairs import machine
from stairs.commands import train
from stairs.commands.train_flags import parse_training
from stairs.errors import BadInput
from stairs.models.settings import SIZES, TRAINING_DEFAULTS
from stairs.training.recipe import MIN_TOKENS, SIZES_ASCENDING, choose_recipe, min_tokens, recipe_of_size
from stairs.training.records import refuse_changes
from stairs.training.run import FORMAT
from stairs.training.training_cost import multiply_adds, tokens_per_second

ORDINARY = 70.0  # billions of operations a second of one core of the ordinary kind
TIMES = (1, 10, 60, 180, 600, 3600, 36_000, 1e6, 1e8)


def flags(*words):
    return parse_training(list(words), "train", train.ABOUT).job


@pytest.fixture
def ordinary(monkeypatch, tmp_path):
    """One ordinary core, a text of four million characters, and no runs."""
    monkeypatch.chdir(tmp_path)
    with Path("text.txt").open("wb") as file:
        file.truncate(4_000_000)
    monkeypatch.setattr(machine, "gigaflops", lambda threads=None: ORDINARY)
    monkeypatch.setattr(machine, "has_bf16", lambda: False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)


def test_choosing_needs_no_torch():
    code = "import sys, stairs.training.recipe; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("model", MIN_TOKENS)
def test_more_time_or_a_faster_machine_never_chooses_a_smaller_size(model):
    def rank(seconds, gigaflops):
        return SIZES_ASCENDING.index(choose_recipe(model, seconds, None, gigaflops).size)

    by_time = [rank(seconds, ORDINARY) for seconds in TIMES]
    assert by_time == sorted(by_time) and by_time[0] == 0 and by_time[-1] == len(SIZES_ASCENDING) - 1
    by_speed = [rank(600, gigaflops) for gigaflops in (1, 10, 100, 1000, 10_000, 100_000)]
    assert by_speed == sorted(by_speed) and by_speed[0] == 0


@pytest.mark.parametrize("model", MIN_TOKENS)
def test_larger_sizes_are_slower_and_need_more_text(model):
    speeds = [tokens_per_second(model, size, 8192, ORDINARY) for size in SIZES_ASCENDING]
    assert speeds == sorted(speeds, reverse=True)
    needed = [min_tokens(model, size, 8192) for size in SIZES_ASCENDING[1:]]
    assert needed == sorted(needed) and needed[0] > 0
    assert tokens_per_second(model, "base", 8192, ORDINARY, bf16=True) > speeds[-1]
    assert multiply_adds(model, "mini", 16_384) >= multiply_adds(model, "mini", 8192)


@pytest.mark.parametrize("model", ["nnlm", "gpt", "bert", "elmo", "transformer"])
def test_a_minute_of_an_ordinary_core_is_for_nano(model):
    assert choose_recipe(model, 60, 4_000_000, ORDINARY).size == "nano"


def test_little_text_gets_a_small_model_and_few_subwords():
    much, little = (choose_recipe("gpt", 36_000, characters, ORDINARY) for characters in (100_000_000, 50_000))
    assert SIZES_ASCENDING.index(little.size) < SIZES_ASCENDING.index(much.size)
    assert little.vocab_size < much.vocab_size == 8192
    assert "times this text" in little.reason and "times this text" not in much.reason


def test_the_reason_is_one_line_that_says_what_and_why():
    recipe = choose_recipe("gpt", 60, None, ORDINARY)
    assert "\n" not in recipe.reason
    for words in ("gpt in 60 s", "tokens/s", "size nano (2 x 64)", f"batches of {recipe.batch_tokens}", "because it can train on", "micro needs"):
        assert words in recipe.reason


def test_a_size_brings_its_batch_and_learning_rate_and_mini_keeps_the_defaults():
    assert recipe_of_size("gpt", "nano").learning_rate == TRAINING_DEFAULTS["gpt"]["nano"]["learning_rate"]
    for model in SIZES:
        assert recipe_of_size(model, "mini") == type(recipe_of_size(model, "mini"))("mini", None, 2048, None, "")
    assert choose_recipe("skipgram", 60, None, ORDINARY).size == "mini"


def test_the_probe_is_short_and_cached():
    machine.gigaflops.cache_clear()
    started = time.process_time()  # its own time: other processes may keep the machine busy
    first = machine.gigaflops(1)
    assert first > 0 and time.process_time() - started < 2
    assert machine.gigaflops(1) == first


@pytest.mark.parametrize("model", ["gpt", "bert", "roberta", "unilm", "xlnet", "transformer"])
def test_blocks_are_trained_by_muon(model):
    recipe = choose_recipe(model, 60, 4_000_000, ORDINARY)
    assert recipe.training["optimizer"] == "muon" and "optimizer muon" in recipe.reason
    assert "optimizer" not in recipe_of_size(model, "mini").training  # with a number of updates, as ever


def test_bert_masks_more_and_predicts_no_next_sentence_and_says_so():
    recipe = choose_recipe("bert", 60, 4_000_000, ORDINARY)
    assert recipe.settings == {"objective": "none", "mask_prob": 0.3}
    assert "objective none, 30% of the tokens masked" in recipe.reason


def test_bert_mini_has_many_subwords_where_there_is_much_text_that_is_not_chinese(ordinary, tmp_path):
    much, little, unknown = (choose_recipe("bert", 600, characters, ORDINARY, size="mini") for characters in (60_000_000, 4_000_000, None))
    assert (much.vocab_size, little.vocab_size, unknown.vocab_size) == (32_768, 8192, 8192) and "vocabulary 32768" in much.reason
    assert choose_recipe("bert", 60, 60_000_000, ORDINARY).vocab_size == 8192  # nano
    assert choose_recipe("gpt", 600, 60_000_000, ORDINARY, size="mini").vocab_size == 8192  # its softmax is computed for every token
    sizes = []
    for line in ("The dog is at the door of the house, and it has been there.\n\n", "今天天气很好，我们去公园散步。\n\n"):
        Path("much.txt").write_text(line * (22_000_000 // len(line.encode())), "utf-8")
        sizes.append(flags("bert", "much.txt", "--size", "mini", "--budget", "10m").with_recipe()[0].tokenizing.vocab_size)
    assert sizes == [32_768, None]  # None: the default, 8192


def test_few_passes_over_a_text_need_no_dropout():
    few, many, unknown = (choose_recipe("bert", 600, characters, ORDINARY, size="mini") for characters in (60_000_000, 400_000, None))
    assert few.settings["dropout"] == 0.0 and "dropout 0 for 0." in few.reason
    assert "dropout" not in many.settings and "dropout" not in unknown.settings
    assert "dropout" not in choose_recipe("bert", 60, 60_000_000, ORDINARY, size="nano").settings  # it has none


def test_a_size_that_is_given_stays_and_a_paper_keeps_to_its_word(ordinary):
    job, recipe = flags("bert", "text.txt", "--budget", "60s", "--size", "mini").with_recipe()
    assert job.size == "mini" and job.options.optimizer == "muon" and job.config(vocab_size=9).objective == "none"
    job, recipe = flags("bert", "text.txt", "--budget", "60s", "--size", "paper").with_recipe()
    assert not recipe.settings and job.options.optimizer == "auto" and job.config(vocab_size=9).objective == "next-sentence"


def test_settings_of_the_user_override_the_recipe(ordinary):
    words = ("bert", "text.txt", "--budget", "60s", "--objective", "sentence-order", "--mask-prob", "0.2", "--optimizer", "adamw")
    job, _ = flags(*words).with_recipe()
    config = job.config(vocab_size=9)
    assert (config.objective, config.mask_prob, job.options.optimizer) == ("sentence-order", 0.2, "adamw")


# The command


def test_without_a_size_the_time_chooses_it_with_a_message(ordinary, messages):
    job, recipe = flags("gpt", "text.txt", "--budget", "60s").with_recipe()
    assert (job.size, job.options.batch_tokens, job.options.learning_rate, job.tokenizing.vocab_size) == ("nano", 1024, 5e-3, 8192)
    assert messages == [recipe.reason] and job.config(vocab_size=9).width == SIZES["gpt"]["nano"]["width"]
    assert flags("gpt", "text.txt").with_recipe()[0].size in ("nano", "micro")  # ten minutes


@pytest.mark.parametrize("how_long", [("--steps", "5"), ("--epochs", "1")])
def test_a_number_of_steps_is_trained_with_mini(ordinary, messages, how_long):
    job, recipe = flags("gpt", "text.txt", *how_long).with_recipe()
    assert (job.size, job.options.batch_tokens, job.options.learning_rate, job.tokenizing.vocab_size) == ("mini", 2048, None, None)
    assert not messages and not recipe.reason


def test_options_of_the_user_override_the_recipe(ordinary, messages):
    words = ("gpt", "text.txt", "--budget", "60s")
    job, _ = flags(*words, "--batch-tokens", "300", "--learning-rate", "0.01", "--vocab-size", "500", "--context", "32").with_recipe()
    assert (job.size, job.options.batch_tokens, job.options.learning_rate) == ("nano", 300, 0.01)
    assert job.tokenizing.vocab_size == 500 and job.settings["context"] == 32
    assert flags(*words, "--size", "small").with_recipe()[0].size == "small"
    assert flags(*words, "--size", "micro").with_recipe()[0].options.batch_tokens == TRAINING_DEFAULTS["gpt"]["micro"]["batch_tokens"]
    assert flags(*words, "--width", "32").with_recipe()[0].size == "mini"  # a model of the user
    assert flags(*words, "--tokenizer", "words").with_recipe()[0].tokenizing.vocab_size is None  # all words
    assert len(messages) == 4  # also for a size that was given: it says how that is trained


def test_with_several_workers_nothing_is_chosen(ordinary, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert flags("gpt", "text.txt", "--budget", "60s").with_recipe()[0].size == "mini"


def test_few_translations_get_few_subwords_but_chinese_all_of_its_characters(ordinary, tmp_path):
    pair = {"french": "The dog runs.\tLe chien court.\n", "chinese": "The dog runs.\t狗在跑。\n"}
    sizes = {}
    for name, count in (("french", 4000), ("french", 40_000), ("chinese", 4000)):
        (tmp_path / "pairs.tsv").write_text(pair[name] * count, "utf-8")
        sizes[name, count] = flags("transformer", "--pairs", "pairs.tsv", "--budget", "3m").with_recipe()[0].tokenizing.vocab_size
    assert sizes == {("french", 4000): 2048, ("french", 40_000): 4096, ("chinese", 4000): None}
    assert choose_recipe("transformer", 180, 60_000_000, ORDINARY).vocab_size == 8192


def test_number_names_are_known_to_have_few_words(ordinary, tmp_path):
    (tmp_path / "file.tsv").write_text("The dog runs.\tLe chien court.\n" * 60_000)
    sizes = [flags("transformer", "--pairs", pairs, "--budget", "150s").with_recipe()[0].size for pairs in ("numbers", "file.tsv")]
    assert sizes == ["micro", "nano"]


def test_a_resumed_run_keeps_its_recipe(ordinary, messages, monkeypatch):
    words = ("gpt", "text.txt", "--budget", "10m", "--out", "run")
    job, recipe = flags(*words).with_recipe()
    Path("run").mkdir()
    settings = {"format": FORMAT, "recipe": recipe.__dict__}
    Path("run/run.json").write_text(json.dumps(settings))
    monkeypatch.setattr(machine, "gigaflops", lambda threads=None: ORDINARY / 1000)
    again, same = flags(*words).with_recipe()
    assert again == job and same == recipe and len(messages) == 1
    assert flags("gpt", "text.txt", "--out", "other", "--init-from", "run").with_recipe()[1] == recipe
    assert flags("gpt", "text.txt").with_recipe()[1] != recipe
    Path("run/run.json").write_text(json.dumps({"format": FORMAT}))  # of a run without a recipe
    assert flags(*words).with_recipe()[0].size == "mini"
    refuse_changes(settings, {"format": FORMAT, "recipe": None}, Path("run"))


def test_the_recipe_is_recorded_in_the_run(ordinary, monkeypatch):
    Path("text.txt").write_text("The old cat sat on the new mat. The new dog ran.\n\n" * 300)
    arguments = {}
    monkeypatch.setattr("stairs.training.fit.fit", lambda task, shards, out, options: arguments.update(task=task, options=options) or {})
    assert train.main(["gpt", "text.txt", "--budget", "60s", "--quiet"]) == 0
    assert arguments["task"].describe()["recipe"]["size"] == "nano" and arguments["options"].batch_tokens == 1024
    assert train.main(["gpt", "text.txt", "--steps", "1", "--size", "micro", "--quiet"]) == 0
    assert arguments["task"].describe()["recipe"]["size"] == "micro"
    assert train.main(["gpt", "text.txt", "--steps", "1", "--quiet"]) == 0
    assert "recipe" not in arguments["task"].describe() and arguments["options"].batch_tokens == 2048


def test_a_size_that_a_model_does_not_have_is_refused_with_those_it_has(ordinary):
    with pytest.raises(BadInput, match="gpt has no size large; it has nano, micro, mini, small, base, paper"):
        flags("gpt", "text.txt", "--size", "large")
    with pytest.raises(BadInput, match="ngram has no size nano"):
        flags("ngram", "text.txt", "--size", "nano")
