"""Every option of attention in every model that has it: does it train, resume exactly after a kill, answer and convert, and how good is it?

python benchmarks/attention_options.py [--models gpt bert transformer] [--options relative window ...] [--steps 200] [--size nano]

All runs of a model have the same text, seed and updates, one thread and float32. "Resumes": a training of 20 updates is killed with SIGKILL at a
checkpoint on its way and started again, and its weights are compared bit by bit with those of one that was not disturbed. "Converts": what
`stairs convert RUN huggingface` says, which reads the folder again and compares its outputs. Quality after so few updates ranks nothing finely, and
a nano bert is then still near the unigram distribution. gpt: bits per character of test text; bert: loss of masked words of test text, in nats;
transformer: bits per character and BLEU of number names.
"""

import argparse
import hashlib
import json
import lzma
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from side_by_side import conditions, cpu_seconds, data
from stairs import cli

OPTIONS = {
    "default": "",
    "learned": "--positions learned",
    "sinusoidal": "--positions sinusoidal",
    "rotary": "--positions rotary",
    "relative": "--positions relative",
    "buckets": "--positions buckets",
    "no positions": "--positions none",
    "window": "--attention-pattern window --radius 16",
    "sparse": "--attention-pattern sparse --block 8 --radius 16",
    "linformer": "--attention-pattern linformer --rank 32",
    "linformer per layer": "--attention-pattern linformer --rank 32 --linformer-projection per-layer",
    "window and relative": "--attention-pattern window --radius 16 --positions relative",
    "dot": "--score dot",
    "folded (T5)": "--score folded",
    "additive": "--score additive",
    "scaled-bilinear": "--score scaled-bilinear",
    "scaled-projected": "--score scaled-projected",
    "query = key": "--share-projections qk",
    "key = value": "--share-projections kv",
    "query = key = value": "--share-projections all",
    "4 cross heads": "--cross-heads 4",
    "no residual": "--residual False",
    "no activation": "--activation none",
}
USUAL_POSITIONS = {"gpt": "learned", "bert": "learned", "transformer": "sinusoidal"}
TEXT = {"gpt": "The first", "bert": "The first ___ of the year.", "transformer": "one hundred five"}
CHARACTERS = 400_000
RESUMED_STEPS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["gpt", "bert", "transformer"])
    parser.add_argument("--options", nargs="+", default=list(OPTIONS), choices=OPTIONS)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--size", default="nano")
    given = parser.parse_args()
    for name in ("stairs.train_job", "stairs.training.fit", "torch._dynamo"):  # what takes long to import, once for all forks
        import_module(name)
    os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    print(conditions())
    print("| model | option | quality | resumes | answers | converts | CPU s |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        with lzma.open(data("corpora/wiki_en.txt.xz"), "rt", encoding="utf-8") as file:
            (folder / "wiki.txt").write_text(file.read(CHARACTERS), "utf-8")
        for model in given.models:
            for option in given.options:
                if OPTIONS[option] == f"--positions {USUAL_POSITIONS[model]}":
                    continue  # the default
                print(f"| {model} | {option} | " + " | ".join(row(model, OPTIONS[option].split(), folder, given)) + " |", flush=True)


def row(model: str, flags: list[str], folder: Path, given: argparse.Namespace) -> list[str]:
    source = ["--pairs", "numbers"] if model == "transformer" else [str(folder / "wiki.txt")]
    train = ["train", model, *source, "--size", given.size, "--patience", "0", "--seed", "0", "--threads", "1", "--precision", "fp32"]
    train += ["--vocab-size", "1000", "--quiet", "--json", *flags]
    first, undisturbed, killed, of_others = (Path(tempfile.mkdtemp(dir=folder)) / name for name in ("run", "undisturbed", "killed", "folder"))
    began = cpu_seconds()
    trained = run(*train, "--steps", given.steps, "--out", first)
    used = cpu_seconds() - began
    if trained.code:
        return [trained.sentence, "-", "-", "-", "-"]
    short = [*train, "--steps", RESUMED_STEPS, "--save-every", 5]
    run(*short, "--out", undisturbed)
    was_killed = run(*short, "--out", killed, kill=lambda: any(killed.glob("step-*[1-9]5"))).code == -signal.SIGKILL
    run(*short, "--out", killed)
    same = was_killed and weights(undisturbed) == weights(killed)
    answered = run("ask", first, TEXT[model])
    converted = run("convert", first, "huggingface", "--out", of_others, "--json")
    return [
        quality(json.loads(trained.output)), "same bits" if same else "OTHER BITS",
        "yes" if not answered.code and answered.output.strip() else answered.sentence,
        "equal outputs" if not converted.code else converted.sentence, f"{used:.0f}",
    ]  # fmt: skip


class Finished(NamedTuple):
    """A command that ended: by a signal if the code is negative."""

    code: int
    output: str
    errors: str

    @property
    def sentence(self) -> str:
        """The last line of what it said."""
        lines = [line for line in self.errors.strip().splitlines() if line.strip()]
        return re.sub(r"\s+", " ", lines[-1]).removeprefix("stairs: error: ") if lines else "?"


def run(*arguments: object, kill: Callable[[], bool] = lambda: False) -> Finished:
    """A command of Stairs in a fork of this process, which has imported PyTorch but computed nothing; killed as soon as `kill` says so."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = os.fork()
        if not process:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            os._exit(cli_code([str(argument) for argument in arguments]))
        while (ended := os.waitpid(process, os.WNOHANG))[0] == 0:
            if kill():
                os.kill(process, signal.SIGKILL)
            time.sleep(0.01)
        output.seek(0)
        errors.seek(0)
        return Finished(os.waitstatus_to_exitcode(ended[1]), output.read(), errors.read())


def cli_code(arguments: list[str]) -> int:
    try:
        code = cli.main(arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


def weights(folder: Path) -> str:
    path = folder / "model" / "model.safetensors"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else f"no {path.name}"


def quality(report: dict[str, object]) -> str:
    """The measurements of the test split."""
    test = report.get("test", report)
    assert isinstance(test, dict)
    names = {"bits_per_character": "{:.3f} bits", "masked_loss": "{:.3f} nats", "loss": "{:.3f} nats", "bleu": "BLEU {:.1f}"}
    found = [form.format(value_of(test[name])) for name, form in names.items() if name in test]
    return ", ".join(found[:2] if "bleu" in test else found[:1]) or "?"


def value_of(measurement: object) -> float:
    return float(measurement["value"] if isinstance(measurement, dict) else measurement)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
