"""Runs of every kind, small and not trained, in one folder; some of them in a bad state, and names that would be HTML elsewhere."""

import json
import shutil
from dataclasses import replace

from tests.support.small_world import SENTENCES, encoder, examples, new_task

PORT = 8642
TRICK = "<img src=x onerror=alert(1)>"
TRICKS = [TRICK, "<script>alert(1)</script>", "<svg onload=alert(1)>", "javascript:alert(1)", '"><iframe srcdoc=x>', "{{alert(1)}}"]


def keep(folder, task):
    """A finished run of a task, as training would leave it."""
    from stairs.files import write_json
    from stairs.training.run import FORMAT, Run

    folder.mkdir(parents=True)
    write_json(folder / "run.json", {"format": FORMAT, "model": task.model_name, "task": task.name, "config": task.describe()["config"], "seed": 0})
    lines = [{"step": n, "loss": 5 / n, "bits": "", "targets": 10} for n in range(1, 21)]
    evaluations = [{"step": n, "seconds": n, "bits_per_character": {"value": 9 / n, "low": 8 / n, "high": 10 / n}} for n in (10, 20)]
    rows = [*lines, *evaluations, {**evaluations[-1], "trained_steps": 20}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    Run(folder).save_model(task)


def make(place):
    """Fill the folder of runs."""
    from stairs.tasks import BidirectionalLM, MaskedToken, NextToken, Translate, WordVectors
    from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

    pieces = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [[*SENTENCES, *TRICKS]])
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[*SENTENCES, *TRICKS]])
    kinds = {"gpt": (NextToken, pieces), "bert": (MaskedToken, pieces), "skipgram": (WordVectors, words), "transformer": (Translate, pieces)}
    for step, (kind, tokenizer) in {**kinds, "nnlm": (NextToken, words), "elmo": (BidirectionalLM, words)}.items():
        model = encoder(step, tokenizer)
        model.initialize(1)
        keep(place / step, kind(model.eval(), tokenizer))
    keep(place / "labels", new_task("classify", encoder("elmo", words), words, labelled(), transfer="frozen"))
    report = {"dev": {"labels": {TRICK: {}, "weather": {}}, "confusion": [[3, 1], [0, 4]]}}
    (place / "labels" / "evaluation.json").write_text(json.dumps(report))
    shutil.copytree(place / "gpt", place / TRICK)
    bad(place)


def labelled():
    return [replace(example, label=TRICK) if example.label == "food" else example for example in examples("classify")]


def write_labels(path):
    path.write_text("text,label\n" + "".join(f"{example.text},{example.label}\n" for example in labelled()), "utf-8")
    return path


def bad(place):
    """Three runs that cannot be body."""
    for name in ("damaged", "unreadable", "unfinished"):
        shutil.copytree(place / "gpt", place / name)
    weights = place / "damaged" / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    (place / "unreadable" / "run.json").write_text("{")
    shutil.rmtree(place / "unfinished" / "model")
    with (place / "unfinished" / "metrics.jsonl").open("a") as file:
        file.write("not JSON\n")


def climb(place, *more):
    """The folder of a climb: two steps that were evaluations, one that failed, one that was not tried, and more."""
    from stairs.comparison.messages import message
    from stairs.comparison.schema import FORMAT as REPORT_FORMAT

    place.mkdir(exist_ok=True)
    rows = [
        scored_row("tfidf", 0.80, 1.0),
        scored_row(TRICK, 0.81, 600.0, bits_per_character={"value": 2.0, "low": 1.9, "high": 2.1}, pretrained_run="next-token-gpt"),
        {"model": "bert", "not_tried": "its share of the budget was too small"},
        {"model": "elmo", "failed": f"it broke on {TRICKS[1]}"},
        *more,
    ]
    why = {"en": f"tfidf scores 0.8000, as good as {TRICK}", "zh": "tfidf 得分 0.8000，与最好的一样好"}
    reported = {"model": "tfidf", "models": ["tfidf"], "names": {"en": "tfidf", "zh": "tfidf"}, "score": 0.8, "best": TRICK,
            "detectable_difference": 0.05, "why": why, "rule": message("rule_train")}  # fmt: skip
    counts = {"train": 8, "dev": 1, "test": 2}
    report = {"format": REPORT_FORMAT, "rows": rows, "recommendation": reported, "settings": {"task": "classify"}, "examples": counts}
    (place / "report.json").write_text(json.dumps(report))
    return report


def scored_row(step, value, seconds, **more):
    score = {"value": value, "low": value - 0.02, "high": value + 0.02}
    return {"model": step, "run": f"classify-{step}", "metric": "macro_f1", "score": score, "seconds": seconds,
            "cpu_seconds": seconds, "ms_per_text": 0.5, "training_mb": 50.0, "answering_mb": None,
            "parameters": 1000, "megabytes": 1.5, **more}  # fmt: skip
