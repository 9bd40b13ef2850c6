"""What one answer costs from a cold start: the processor time of `stairs ask RUN TEXT`, nearly all of it imports and the loading of the run.

python benchmarks/ask_startup.py [RUN ...] [--text TEXT] [--rounds 5] [--source src]

Prints the median of user and system time, with one thread, of each run, beside that of `stairs ask --help` and of Python alone, and which of the
large libraries the answer imported. Without runs, small ones are trained on the texts below: tfidf, ngram and vectors as classifiers, and an n-gram
model of text. `--source` is the folder that holds the package, as that of an older checkout.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARIES = ("numpy", "tokenizers", "numba", "scipy", "sklearn", "torch")
GOOD, BAD = ("lovely", "great", "moving", "fresh"), ("dull", "poor", "flat", "stale")
ASK = "import sys\nfrom stairs.cli import main\nmain(['ask', *sys.argv[1:]])\nprint(*(n for n in {names!r} if n in sys.modules), file=sys.stderr)"


def train_runs(folder: Path) -> list[Path]:
    """Runs of classifiers and of an n-gram model."""
    import stairs
    from stairs.tasks import VectorClassifier
    from stairs.text.examples import LabelledText
    from stairs.training.run import fit_once

    texts = [(f"a {word} film with a {other} story , number {n} .", label) for label, words in (("good", GOOD), ("bad", BAD)) for word in words
             for other in words for n in range(20)]  # fmt: skip
    corpus, labels = folder / "corpus.txt", folder / "labels.csv"
    corpus.write_text("".join(f"{text}\n\n" for text, _ in texts), "utf-8")
    labels.write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in texts), "utf-8")
    for model in ("tfidf", "ngram"):
        stairs.tune(model, str(labels), out=folder / model)
    stairs.train("ngram", str(corpus), out=folder / "text-ngram")
    words = stairs.train("skipgram", str(corpus), out=folder / "skipgram", width=16, min_count=1, epochs=1)
    vectors = VectorClassifier.train([LabelledText(text, label) for text, label in texts], words)  # type: ignore[arg-type]
    fit_once(folder / "vectors", {**vectors.describe(), "seed": 0}, train=lambda: vectors, evaluate=lambda task: {})
    return [folder / name for name in ("tfidf", "ngram", "vectors", "text-ngram")]


def processor_seconds(command: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """User and system time of a command, and the last line that it wrote to stderr."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise SystemExit(ended.stderr[-2000:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, (ended.stderr.splitlines() or [""])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--text", default="a lovely film with a great story .")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--source", default=str(Path(__file__).parents[1] / "src"))
    given = parser.parse_args()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "PYTHONPATH": given.source}
    with tempfile.TemporaryDirectory() as folder:
        ask = ASK.format(names=LIBRARIES)
        commands = {"python -c pass": ["-c", "pass"], "stairs ask --help": ["-m", "stairs", "ask", "--help"]}
        commands |= {str(run): ["-c", ask, str(run), given.text] for run in given.runs or train_runs(Path(folder))}
        for name, arguments in commands.items():
            command = [sys.executable, *arguments]
            processor_seconds(command, environment)  # files are read, and kernels compiled, for the first time
            timed = [processor_seconds(command, environment) for _ in range(given.rounds)]
            print(f"{statistics.median(seconds for seconds, _ in timed):6.2f} s  {Path(name).name:20} {timed[-1][1] if '-c' in arguments else ''}")


if __name__ == "__main__":
    main()
