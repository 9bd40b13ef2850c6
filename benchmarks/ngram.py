"""n-grams beside KenLM: from text to a model that answers queries, estimation alone, and queries; perplexity of both.

python benchmarks/ngram.py [--orders 3 5] [--repeats 3] [--kenlm FOLDER]

FOLDER holds KenLM's lmplz and build_binary, built from its source; without it ours runs alone. The peer is given the same text, already tokenized.
"""

import argparse
import itertools
import math
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from side_by_side import conditions, data, in_turn, stairs
from stairs.fast.kneser_ney_trie import estimate
from stairs.text.batch import next_token_batch
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec
from stairs.training.run import load as load_run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kenlm", default=str(Path(shutil.which("lmplz") or "/nowhere/lmplz").parent))
    options = parser.parse_args()
    kenlm = Path(options.kenlm)
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        text = there / "wiki.txt"
        import lzma

        with lzma.open(data("corpora/wiki_en.txt.xz")) as packed, text.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        shards = build_shards(Corpus([text]), TokenizerSpec("words"), cache=there / "shards")
        tokens = write_tokens(shards, "train", there / "train.tokens")
        write_tokens(shards, "test", there / "test.tokens")
        stairs("train", "ngram", text, "--out", there / "warm", "--order", 2, cache=there / "warm-cache")  # warm-up: compiles
        for order in options.orders:
            compare(order, there, text, shards, tokens, kenlm if (kenlm / "lmplz").exists() else None, options.repeats)


def compare(order: int, there: Path, text: Path, shards, tokens: int, kenlm: Path | None, repeats: int) -> None:
    arpa, binary, run = there / "peer.arpa", there / "peer.bin", there / f"ours-{order}"

    def ours() -> None:
        shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(there / "cache", ignore_errors=True)
        stairs("train", "ngram", text, "--order", order, "--out", run, "--quiet", cache=there / "cache")

    def peer() -> None:
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "check": True}
        subprocess.run([kenlm / "lmplz", "-o", str(order), "--text", there / "train.tokens", "--arpa", arpa, "-S", "4G"], **quiet)
        subprocess.run([kenlm / "build_binary", arpa, binary], **quiet)

    jobs = {"ours": ours} | ({"lmplz + build_binary": peer} if kenlm else {})
    taken = in_turn(jobs, repeats)
    print(f"\norder {order}, {tokens:,} tokens; {conditions()}")
    for name, seconds in taken.items():
        print(f"  text to model   {name:22} {seconds['wall']:7.2f} s wall {seconds['cpu']:7.2f} s CPU")
    if kenlm:
        print(f"  text to model   ratio                  {taken['lmplz + build_binary']['wall'] / taken['ours']['wall']:7.2f}x wall")
    estimation(order, shards, tokens)
    queries(run, shards, there, binary if kenlm else None)


def estimation(order: int, shards, tokens: int) -> None:
    ids, seconds = shards.ids("train"), []
    for _ in range(3):
        began = time.perf_counter()
        estimate(ids, order=order, vocab_size=shards.tokenizer.vocab_size, begin=2, end=3, unknown=1)
        seconds.append(time.perf_counter() - began)
    print(f"  estimation      ours                   {tokens / sorted(seconds)[1] / 1e6:7.2f} M tokens/s")


def queries(run: Path, shards, there: Path, binary: Path | None) -> None:
    task = load_run(run)
    rows = [row[(row != 2) & (row != 3)] for row in sentences(shards, "test")]
    rows.sort(key=len)
    count = sum(len(row) + 1 for row in rows)
    seconds, total = [], 0.0
    for _ in range(3):
        batches = [next_token_batch(rows[i : i + 512], 2, 3, 0) for i in range(0, len(rows), 512)]
        began = time.perf_counter()
        total = sum(float(task.model.log_likelihood(batch).sum()) for batch in batches)
        seconds.append(time.perf_counter() - began)
    print(
        f"  queries         ours                   {count / sorted(seconds)[1] / 1e6:7.2f} M tokens/s   perplexity {math.exp(-total / count):.4f}"
    )
    if binary:
        import kenlm

        model = kenlm.Model(str(binary))
        lines = (there / "test.tokens").read_text().splitlines()
        began = time.perf_counter()
        score = sum(model.score(line) for line in lines)
        took = time.perf_counter() - began
        print(f"  queries         kenlm from Python      {count / took / 1e6:7.2f} M tokens/s   perplexity {10 ** (-score / count):.4f}")


def sentences(shards, split: str) -> list[np.ndarray]:
    ids = np.asarray(shards.ids(split))
    bounds = [*shards.sentence_starts(split), len(ids)]
    return [ids[a:b] for a, b in itertools.pairwise(bounds)]


def write_tokens(shards, split: str, path: Path) -> int:
    """Write the tokens as the peer reads them, one sentence per line, separated by spaces; returns their number, ends of sentences included."""
    names = np.array(shards.tokenizer.vocabulary, dtype=object)
    names[1] = "word-that-never-occurs"
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in sentences(shards, split):
            words = names[row[(row != 2) & (row != 3)]]
            count += len(words) + 1
            file.write(" ".join(words) + "\n")
    return count


if __name__ == "__main__":
    main()
