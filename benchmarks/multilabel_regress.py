"""Any number of labels, and a number, for a text: our models beside scikit-learn's, on the same training and test examples.

python benchmarks/multilabel_regress.py [--sets news scores] [--examples 3000] [--encoder RUN]

news      two news titles of two topics in one text, with both topics as labels    THUCNews, 10 topics
scores    two sentences in one text, and how similar they are, 0 to 5              STS-B

scikit-learn: TfidfVectorizer(tokenizer: the words of ours, ngram_range=(1, 2), sublinear_tf=True) with OneVsRestClassifier(LogisticRegression(C=10)),
and with Ridge(); both train on all training examples, as ours do but for a tenth that chooses weights. The skipgram reads the training texts only,
and a head learns on its mean vectors. `--encoder` is the run of an encoder to tune as well. CPU seconds are those of training and evaluation, and for
ours also of the start of the process and of the baselines beside it; those of skipgram include its vectors.
"""

import argparse
import csv
import json
import random
import sys
import tempfile
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from side_by_side import conditions, cpu_seconds, data, stairs
from stairs.tasks.measurements import Measurements, interval
from stairs.tasks.outcomes import all_metrics
from stairs.text.labelled import read_examples
from stairs.text.tokenizers.tokenizer import TOKENIZERS, Tokenizer

METRICS = {"multilabel": ("micro_f1", "macro_f1", "exact_match"), "regress": ("spearman", "r2", "rmse")}
TEST_EXAMPLES = 1000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", nargs="+", default=["news", "scores"])
    options.add_argument("--examples", type=int, default=3000)
    options.add_argument("--encoder", default=None)
    given = options.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory() as place:
        for name in given.sets:
            compare(name, Path(place), given)


def compare(name: str, folder: Path, given: argparse.Namespace) -> None:
    """One set: scikit-learn, then each of ours."""
    task = {"news": "multilabel", "scores": "regress"}[name]
    train, test = (folder / f"{name}-{split}.csv" for split in ("train", "test"))
    {"news": write_news, "scores": write_scores}[name](train, test, given.examples)
    print(" | ".join([name, *METRICS[task], "CPU s"]))
    began = cpu_seconds()
    measured = by_scikit_learn(task, train, test)
    row("scikit-learn", task, measured, cpu_seconds() - began)
    models = ["tfidf", *(["ngram"] if task == "multilabel" else []), "skipgram", "cnn", *([given.encoder] if given.encoder else [])]
    for model in models:
        began = cpu_seconds()
        source = model
        if model == "skipgram":
            source = str(folder / f"{name}-skipgram")
            stairs("train", "skipgram", train, "--text", "text", "--threads", 1, "--out", source, "--quiet", cache=folder / "cache")
        arguments = ["tune", source, train, "--task", task, "--test", test, "--threads", 1, "--out", folder / f"{name}-{Path(model).name}-tuned"]
        arguments += ["--transfer", "features"] if model == "skipgram" else []
        report = json.loads(stairs(*arguments, "--json", "--quiet", cache=folder / "cache"))["test"]
        row(Path(model).name, task, report, cpu_seconds() - began)


def row(model: str, task: str, measured: Measurements, seconds: float) -> None:
    cells = []
    for metric in METRICS[task]:
        own = interval(measured, metric)
        cells.append(f"{own['value']:.3f} ({own['low']:.3f} to {own['high']:.3f})")
    print(" | ".join([model, *cells, f"{seconds:.1f}"]))
    sys.stdout.flush()


def by_scikit_learn(task: str, train: Path, test: Path) -> Measurements:
    train_examples, test_examples = (list(read_examples(str(path), task).examples) for path in (train, test))
    texts, test_texts = ([getattr(example, "text", "") for example in part] for part in (train_examples, test_examples))
    tokenizer = Tokenizer.train(TOKENIZERS["words"], lambda: [texts])
    vectorizer = TfidfVectorizer(tokenizer=tokenizer.words, token_pattern=None, lowercase=False, ngram_range=(1, 2), sublinear_tf=True)
    features, test_features = vectorizer.fit_transform(texts), vectorizer.transform(test_texts)
    if task == "regress":
        values = [getattr(example, "value", 0.0) for example in train_examples]
        return all_metrics(task, test_examples, Ridge().fit(features, values).predict(test_features).tolist())
    binarizer = MultiLabelBinarizer()
    targets = binarizer.fit_transform([getattr(example, "labels", ()) for example in train_examples])
    classifier = OneVsRestClassifier(LogisticRegression(C=10, max_iter=1000)).fit(features, targets)
    return all_metrics(task, test_examples, [list(own) for own in binarizer.inverse_transform(classifier.predict(test_features))])


def write_news(train: Path, test: Path, examples: int) -> None:
    for path, split, count in ((train, "train", examples), (test, "test", TEST_EXAMPLES)):
        with data(f"classify/thucnews/{split}.tsv").open(encoding="utf-8", newline="") as file:
            titles = [line.rstrip("\n").split("\t") for line in file][1:]
        random.Random(0).shuffle(titles)
        pairs = [(a, b) for a, b in zip(titles[::2], titles[1::2], strict=False) if a[1] != b[1]]
        write_table(path, "topics", [(f"{a[0]} {b[0]}", ";".join(sorted((a[1], b[1])))) for a, b in pairs[:count]])


def write_scores(train: Path, test: Path, examples: int) -> None:
    for path, split, count in ((train, "train", examples), (test, "test", TEST_EXAMPLES)):
        with data(f"pairs/stsb/{split}.tsv").open(encoding="utf-8", newline="") as file:
            pairs = [line.rstrip("\n").split("\t") for line in file][1:]
        random.Random(0).shuffle(pairs)
        write_table(path, "score", [(f"{first} ||| {second}", score) for first, second, score in pairs[:count]])


def write_table(path: Path, label: str, rows: list[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", label), *rows])


if __name__ == "__main__":
    main()
