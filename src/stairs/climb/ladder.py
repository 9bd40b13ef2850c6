"""climb: the steps on the same text and the same labels, judged on the same held-out data, and the cheapest one that is good enough."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stairs.errors import BadInput, StairsError
from stairs.files import write_json
from stairs.models import MODELS
from stairs.models.configs import configured
from stairs.models.sizes import SIZES, USUAL_TOKENIZER
from stairs.progress import say
from stairs.tasks import TASKS, ByNGram, ByVectors, ByWords, NextToken, Task, Window
from stairs.tasks.ground import Classifier
from stairs.text.examples import Text
from stairs.text.shards import Shards
from stairs.text.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.at_once import learn_at_once
from stairs.training.fit import fit, plan
from stairs.training.folder import RUN, check_writable
from stairs.training.options import TrainingOptions
from stairs.training.run import MODEL, Run, load, versions

TEST_SHARE = 0.2
TEXTS_TIMED = 200
LEARNING_SHARE = 0.9  # of the time left, for the steps that learn by gradients, in equal parts; the rest is for cutting text and for judging
SHORTEST = 10.0  # seconds below which such a step is not worth beginning


@dataclass(frozen=True)
class Job:
    """One row of the table: something to train and to judge."""

    step: str
    asks: str  # next-token or classify
    run: Callable[[Path, float], dict[str, Any]]  # trains into a folder within so many seconds, measures
    learns: bool = False  # for as long as it may; steps that count take what they take


def climb(
    shards_for: Callable[[str], Shards],
    labelled: Sequence[Text] | None,
    out: Path,
    *,
    budget: float,
    steps: Sequence[str] | None,
    order: int = 3,
    seed: int = 0,
) -> dict[str, Any]:
    """Train and judge each step within `budget` seconds; one that fails is listed with the reason and never stops the rest.

    `shards_for(step)` is the corpus, cut as the step wants it: the same held-out characters for all of them.
    """
    check_writable(out)
    jobs = jobs_for(shards_for, labelled, order, seed)
    known = list(dict.fromkeys(job.step for job in jobs))
    strangers = [step for step in steps or [] if step not in known]
    if strangers:
        raise BadInput(f"there is no step {strangers[0]!r} to climb; there are {', '.join(known)}")
    jobs = [job for job in jobs if not steps or job.step in steps]
    ends = time.monotonic() + budget
    rows = []
    for number, job in enumerate(jobs):
        left = ends - time.monotonic()
        learning = sum(waiting.learns for waiting in jobs[number:])
        rows.append(row_of(job, out, budget, left, left * LEARNING_SHARE / learning if job.learns else 0.0))
    report = {
        "rows": rows,
        "recommendation": recommendation([row for row in rows if "accuracy" in row]),
        "budget": budget,
        "labelled": len(labelled or []),
        "seed": seed,
        "versions": versions(),
    }
    write_json(out / "report.json", report)
    return report


def row_of(job: Job, out: Path, budget: float, left: float, share: float) -> dict[str, Any]:
    """The row of one job: what it measured, or why it did not."""
    row: dict[str, Any] = {"step": job.step, "asks": job.asks}
    if left <= 0:
        return row | {"not_tried": f"the budget of {budget:.0f} s was used up"}
    if job.learns and share < SHORTEST:
        return row | {"not_tried": f"its share of the budget, {share:.0f} s, is below the {SHORTEST:.0f} s it needs"}
    say(f"{job.step}: {job.asks}")
    try:
        return row | job.run(out / f"{job.asks}-{job.step}", share)
    except StairsError as error:
        return row | {"failed": str(error)}


def jobs_for(shards_for: Callable[[str], Shards], labelled: Sequence[Text] | None, order: int, seed: int) -> list[Job]:
    def language_model(step: str) -> Callable[[Path, float], dict[str, Any]]:
        def run(folder: Path, seconds: float) -> dict[str, Any]:
            shards = shards_for(step)
            task = untrained(step, shards, **({"order": order} if step == "ngram" else SIZES[step]["mini"]))
            options = TrainingOptions(**(begun(folder) or {"budget": f"{seconds:.3f}s" if seconds else None}), seed=seed)
            measured = fit(task, shards, folder, options)
            return {name: measured[name] for name in ("bits_per_character", "perplexity", "seconds")} | {"megabytes": megabytes(folder)}

        return run

    predicting = [step for step in USUAL_TOKENIZER if MODELS[step].pretrains_with == NextToken.name]
    jobs = [Job(step, "next-token", language_model(step), MODELS[step].learns_by == "gradient") for step in predicting]
    if labelled:
        train, test = split(labelled, seed)
        words = Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in train))
        began_with: dict[str, Any] = {"seed": seed, "order": order, "data": {"labelled": digest(labelled), "tokenizer": words.hash}}

        def classifier(learn: Callable[[], Classifier]) -> Callable[[Path, float], dict[str, Any]]:
            return lambda folder, seconds: judged(learn, test, folder, began_with)

        def by_vectors(step: str) -> Callable[[Path, float], dict[str, Any]]:
            def run(folder: Path, seconds: float) -> dict[str, Any]:
                shards = shards_for(step)
                words = folder.with_name(f"{Window.name}-{step}")  # a run of its own, for `stairs near`
                task, asked = untrained(step, shards, **SIZES[step]["mini"]), begun(words)
                if asked is None:  # its usual number of epochs, or as many as there is time for
                    needed = plan(task, shards, TrainingOptions(seed=seed))["minutes"] * 60
                    asked = {"budget": f"{seconds:.3f}s"} if needed > seconds else {}
                measured = fit(task, shards, words, TrainingOptions(**asked, seed=seed))
                learnt_from = {**began_with, "data": {**began_with["data"], "corpus": shards.manifest["corpus"]}}
                row = judged(lambda: ByVectors.learned(train, vectors_in(words)), test, folder, learnt_from)
                return row | {"seconds": round(row["seconds"] + measured["seconds"], 3)}

            return run

        vectors = [step for step in USUAL_TOKENIZER if MODELS[step].pretrains_with == Window.name]
        jobs[1:1] = [  # what costs little comes first, should the budget be used up
            Job("ngram", "classify", classifier(lambda: ByNGram.learned(train, words, order))),
            Job("words", "classify", classifier(lambda: ByWords.learned(train, words))),
            *(Job(step, "classify", by_vectors(step), learns=True) for step in vectors),
        ]
    return jobs


def untrained(step: str, shards: Shards, **settings: Any) -> Task:
    """The task on which a step learns from plain text, with weights that know nothing."""
    kind = MODELS[step]
    return TASKS[kind.pretrains_with](kind(configured(step, shards.tokenizer.roles, **settings)), shards.tokenizer)


def begun(folder: Path) -> dict[str, Any] | None:
    """How long a run that was begun was to be trained: it goes on only with the same."""
    if not (folder / RUN).exists():
        return None
    asked = Run(folder).settings.get("training", {})
    return {name: asked.get(name) for name in ("epochs", "budget")}


def vectors_in(folder: Path) -> Window:
    found = load(folder)
    assert isinstance(found, Window)
    return found


def judged(learn: Callable[[], Classifier], test: Sequence[Text], folder: Path, began_with: dict[str, Any]) -> dict[str, Any]:
    """Train a classifier into a run folder and measure what it is worth and what it costs."""
    measured = learn_at_once(folder, began_with, learn, lambda task: task.evaluate(test))
    opened = load(folder)
    assert isinstance(opened, Classifier)
    timed = [example.text for example in test[:TEXTS_TIMED]]
    started = time.monotonic()
    opened.guesses(timed)
    per_text = (time.monotonic() - started) / len(timed) * 1000
    return {name: measured[name] for name in ("accuracy", "macro_f1", "seconds")} | {
        "ms_per_text": round(per_text, 3),
        "megabytes": megabytes(folder),
    }


def digest(examples: Sequence[Text]) -> str:
    """Of the texts and their labels, wherever they came from."""
    return hashlib.sha256(json.dumps([(example.text, example.label) for example in examples]).encode()).hexdigest()


def split(examples: Sequence[Text], seed: int) -> tuple[list[Text], list[Text]]:
    """The same fifth of every label for the test, whatever the order of the file."""
    order = np.random.default_rng(seed).permutation(len(examples))
    by_label: dict[str, list[int]] = {}
    for i in order:
        by_label.setdefault(examples[i].label, []).append(int(i))
    test = {i for places in by_label.values() for i in places[: round(len(places) * TEST_SHARE)]}
    if not test:
        raise BadInput(
            f"{examples[0].where}: {len(examples)} labelled texts are too few to hold some back for a test; give at least 5 of a label"
        )
    return [e for i, e in enumerate(examples) if i not in test], [e for i, e in enumerate(examples) if i in test]


def recommendation(rows: list[dict[str, Any]]) -> dict[str, str] | None:
    """The cheapest step whose score lies within the interval of the best one."""
    if not rows:
        return None
    best = max(rows, key=lambda row: row["accuracy"]["value"])
    enough = [row for row in rows if row["accuracy"]["value"] >= best["accuracy"]["low"]]
    chosen = min(enough, key=lambda row: (row["seconds"], row["ms_per_text"]))
    share = f"{100 * chosen['accuracy']['value']:.1f} %"
    if chosen is best:
        why = f"{chosen['step']} is right on {share} of the held-out texts, and no cheaper step comes within its 95 % interval"
        why = (
            why
            if len(rows) > 1
            else f"{chosen['step']} is right on {share} of the held-out texts; there was no other step to compare it with"
        )
    else:
        low, high = (f"{100 * best['accuracy'][bound]:.1f}" for bound in ("low", "high"))
        interval = f"within the 95 % interval of the best ({best['step']}, {low} to {high} %)"
        cost = f"trains in {chosen['seconds']:.1f} s instead of {best['seconds']:.1f} s"
        why = f"{chosen['step']} is right on {share} of the held-out texts, {interval}, and {cost}"
    return {"step": chosen["step"], "why": why}


def megabytes(folder: Path) -> float:
    return round(sum(path.stat().st_size for path in (folder / MODEL).iterdir()) / 1e6, 2)
