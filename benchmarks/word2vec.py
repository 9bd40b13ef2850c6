"""Word vectors beside gensim and fastText: words per second in turn, and how good the vectors are.

python benchmarks/word2vec.py [--kinds skipgram cbow characters] [--widths 100 300] [--repeats 9] [--words 20000000] [--epochs 5]

Ours and the peer read the same sentences of wiki_en in lower case, words seen five times or more, window 5, 5 negatives, with as many threads and
the same learning rate, which falls linearly to the same value. Each run is one epoch and is evaluated on Google's analogies and
WordSim-353, so the quality has as many runs as the speed; then both train once for `--epochs` epochs. gensim reads from lists in memory, where
its rate falls as it should; `--file` lets it read a file of lines, where it does not, for the speed alone. fastText is compared from text to
vectors, on the first `--short` words.
"""

import argparse
import lzma
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from side_by_side import conditions, data
from stairs.fast.corpus_slice import CorpusSlice
from stairs.models import MODELS
from stairs.models.settings import VectorsConfig, Word2VecConfig
from stairs.tasks.word_benchmarks import evaluate_benchmark, read_benchmark
from stairs.tasks.word_vectors import WordVectors
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards, is_sentence_end
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.tokenizer import TokenizerSpec

RATE, LOWEST = 0.025, 1e-4
THREADS = os.cpu_count() or 1
SETS = {"analogies": ("words/questions-words.txt", "accuracy"), "WordSim-353": ("words/wordsim353.tsv", "spearman")}
STRETCH = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", nargs="+", default=["skipgram", "cbow", "subwords"])
    parser.add_argument("--widths", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--words", type=int, default=1 << 40)
    parser.add_argument("--short", type=int, default=3_000_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--file", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        with lzma.open(data("corpora/wiki_en.txt.xz")) as packed, (there / "wiki.txt").open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        text = Text(there / "wiki.txt", TokenizerSpec("words", min_count=5, lowercase=True), there / "shards", options.words)
        sentences = text.sentences()
        print(f"{sum(map(len, sentences)):,} words, {text.tokenizer.vocab_size - len(SPECIAL_TOKENS):,} of them different; {THREADS} threads")
        for kind in options.kinds:
            if kind == "subwords":
                compare_characters(sentences, there, options)
            else:
                for width in options.widths:
                    compare(kind, width, text, sentences, there, options)


class Text:
    """The same sentences as ids and as lists of words."""

    def __init__(self, path: Path, spec: TokenizerSpec, cache: Path, most: int = 1 << 40) -> None:
        shards = build_shards(Corpus([path]), spec, cache=cache)
        self.tokenizer = shards.tokenizer
        self.ids = shards.ids("train")[:most]

    def sentences(self) -> list[list[str]]:
        ids, names = np.array(self.ids), self.tokenizer.vocabulary
        cut = np.split(ids, np.flatnonzero(is_sentence_end(ids)) + 1)
        return [[names[i] for i in part.tolist() if i >= len(SPECIAL_TOKENS)] for part in cut]

    def evaluate(self, model) -> dict[str, float]:
        """The scores on the evaluation sets, in per cent."""
        task, found = WordVectors(model, self.tokenizer), {}
        for name, (path, measure) in SETS.items():
            lines = data(path).read_text("utf-8").splitlines()
            found[name] = 100 * evaluate_benchmark(task, read_benchmark(lines, path))[measure]["value"]
        return found

    def evaluate_table(self, words: list[str], vectors: np.ndarray) -> dict[str, float]:
        """The same for a peer's vectors."""
        known = self.tokenizer.ids_by_token
        rows = np.zeros((self.tokenizer.vocab_size, vectors.shape[1]), np.float32)
        rows[[known[word] for word in words if word in known]] = vectors[[word in known for word in words]]
        table = MODELS["vectors"](VectorsConfig(*rows.shape))
        table.restore({"vectors": torch.from_numpy(rows), "lengths": torch.from_numpy(np.linalg.norm(rows, axis=1))})
        return self.evaluate(table)


def train(kind: str, width: int, text: Text, epochs: int, seed: int, rate: float, **settings):
    """Ours, and the seconds of its sweeps."""
    model = MODELS[kind](Word2VecConfig(text.tokenizer.vocab_size, width=width, **settings))
    model.initialize(seed)
    model.prepare(text.ids, text.tokenizer.vocabulary, seed)
    slices = -(-len(text.ids) // STRETCH)
    steps = slices * epochs
    rates = [rate + (LOWEST - rate) * step / steps for step in range(steps + 1)]
    began = time.perf_counter()
    for step in range(steps):
        epoch, number = divmod(step, slices)
        model.sweep(CorpusSlice(number, slices, epoch, rates[step], rates[step + 1], seed, THREADS, deterministic=False))
    return model, time.perf_counter() - began


def compare(kind: str, width: int, text: Text, sentences: list[list[str]], there: Path, options: argparse.Namespace) -> None:
    from gensim.models import Word2Vec

    lines, words = there / "sentences.txt", sum(map(len, sentences))
    lines.write_text("\n".join(map(" ".join, sentences)), "utf-8")

    def ours(epochs: int, seed: int) -> tuple[float, dict[str, float]]:
        model, seconds = train(kind, width, text, epochs, seed, options.rate)
        return seconds, text.evaluate(model)

    def peer(epochs: int, seed: int) -> tuple[float, dict[str, float]]:
        settings = {"window": 5, "negative": 5, "sample": 1e-3, "min_count": 1, "alpha": options.rate, "min_alpha": LOWEST}
        model = Word2Vec(vector_size=width, sg=int(kind == "skipgram"), workers=THREADS, epochs=epochs, seed=seed, **settings)
        model.build_vocab(sentences)
        given = {"corpus_file": str(lines)} if options.file else {"corpus_iterable": sentences}
        began = time.perf_counter()
        model.train(total_words=words, total_examples=len(sentences), epochs=epochs, **given)
        return time.perf_counter() - began, text.evaluate_table(model.wv.index_to_key, model.wv.vectors)

    train(kind, width, text, 1, 0, options.rate)  # warm-up: compiles
    report(f"{kind}, width {width}", {"ours": ours, "gensim": peer}, words, options)


def compare_characters(sentences: list[list[str]], there: Path, options: argparse.Namespace) -> None:
    import fasttext

    given, same, width, buckets = there / "short.txt", there / "same.txt", options.widths[0], 2_000_000
    kept = sentences[: int(np.searchsorted(np.cumsum([len(sentence) for sentence in sentences]), options.short)) + 1]
    given.write_text("\n".join(map(" ".join, kept)) + "\n", "utf-8")
    spec = TokenizerSpec("words", min_count=5, chinese="characters", split="spaces")
    text = Text(given, spec, there / "first")
    learnt = text.sentences()  # without the splits that ours holds out
    same.write_text("\n".join(map(" ".join, learnt)) + "\n", "utf-8")

    def ours(epochs: int, seed: int) -> tuple[float, dict[str, float]]:
        shutil.rmtree(there / "again", ignore_errors=True)
        began = time.perf_counter()
        read = Text(given, spec, there / "again")
        model, _ = train("skipgram", width, read, epochs, seed, options.rate, subwords="3-6", buckets=buckets)
        model.all_vectors()
        return time.perf_counter() - began, text.evaluate(model)

    def peer(epochs: int, seed: int) -> tuple[float, dict[str, float]]:
        began = time.perf_counter()
        model = fasttext.train_unsupervised(
            str(same), model="skipgram", dim=width, ws=5, neg=5, epoch=epochs, lr=options.rate, thread=THREADS, minn=3, maxn=6,
            minCount=5, bucket=buckets, t=1e-3, verbose=0,
        )  # fmt: skip
        found = model.words
        vectors = np.stack([model.get_word_vector(word) for word in found])
        return time.perf_counter() - began, text.evaluate_table(found, vectors)

    ours(1, 0)
    report(f"skipgram with characters 3-6, width {width}, from text to vectors", {"ours": ours, "fastText": peer}, sum(map(len, learnt)), options)


def report(title: str, jobs: dict[str, Callable], words: int, options: argparse.Namespace) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    quality: dict[str, list[dict[str, float]]] = {name: [] for name in jobs}
    for repeat in range(options.repeats):
        for name, job in jobs.items():
            taken, found = job(1, repeat + 1)
            seconds[name].append(taken)
            quality[name].append(found)
    ours, peer = jobs
    print(f"\n{title}; {conditions()}")
    for name in jobs:
        middle = statistics.median(seconds[name])
        within = f"{words / max(seconds[name]) / 1e6:.2f} to {words / min(seconds[name]) / 1e6:.2f}"
        print(f"  speed           {name:10} {middle:8.2f} s {words / middle / 1e6:6.2f} M words/s ({within})")
    ratios = [b / a for a, b in zip(seconds[ours], seconds[peer], strict=True)]
    print(f"  speed           ratio      {statistics.median(ratios):8.2f}x ({min(ratios):.2f} to {max(ratios):.2f} in {options.repeats} pairs)")
    for measure in SETS:
        for name in jobs:
            values = [found[measure] for found in quality[name]]
            print(f"  {measure:15} {name:10} {statistics.mean(values):8.2f} ({min(values):.2f} to {max(values):.2f}) after 1 epoch")
    if options.epochs > 1:
        for name, job in jobs.items():
            found = job(options.epochs, 1)[1]
            print(f"  {'quality':15} {name:10} {', '.join(f'{what} {value:.2f}' for what, value in found.items())} after {options.epochs} epochs")


if __name__ == "__main__":
    main()
