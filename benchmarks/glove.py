"""GloVe beside the authors' program: one iteration over the same pairs, and counting them.

python benchmarks/glove.py [--pairs 20000000] [--width 100] [--repeats 3] [--threads 2]

Pairs are those of wiki_en, as many as asked for. The peer is the program `glove` of github.com/stanfordnlp/GloVe, where it is on the path; without it
only ours is timed. Its time is that of two iterations less that of one, so that reading and writing files do not count against it.
"""

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from side_by_side import conditions, data
from stairs.fast.corpus_slice import CorpusSlice
from stairs.kernels.cooccurrence import BLOCKS
from stairs.models.glove import GloVe
from stairs.models.settings import make_config
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec

RECORD = np.dtype([("word", "<i4"), ("context", "<i4"), ("count", "<f8")])


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, usual in (("pairs", 20_000_000), ("width", 100), ("repeats", 3), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    shards = build_shards(Corpus([data("corpora/wiki_en.txt.xz")]), TokenizerSpec("words", min_count=5))
    model = GloVe(make_config("glove", shards.tokenizer.vocabulary_settings, width=options.width))
    model.prepare(shards.ids("train"), [], 0)  # warm-up, so that compiling is not timed
    began = time.perf_counter()
    model.prepare(shards.ids("train"), [], 0)
    print(f"counting {len(shards.ids('train')):,} tokens: {time.perf_counter() - began:.2f} s, {len(model.pairs):,} pairs of words; {conditions()}")
    whole = CorpusSlice(0, 1, 0, model.learning_rate, model.learning_rate, seed=0, threads=options.threads, deterministic=False)
    model.sweep(replace(whole, slices=1000))
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        peer = shutil.which("glove")
        records = write(model, Path(folder), options.pairs) if peer else 0
        for epoch in range(options.repeats):
            began = time.perf_counter()
            _, pairs, _ = model.sweep(replace(whole, epoch=epoch))
            ours.append((time.perf_counter() - began) / pairs * options.pairs)
            if peer:
                once, twice = (seconds_of(peer, Path(folder), options, iterations) for iterations in (1, 2))
                theirs.append((twice - once) / records * options.pairs)
    print(f"one iteration over {options.pairs:,} pairs, width {options.width}, {options.threads} threads; {conditions()}")
    print(f"  ours   {statistics.median(ours):.2f} s")
    if theirs:
        print(f"  glove  {statistics.median(theirs):.2f} s   {statistics.median(theirs) / statistics.median(ours):.1f}x")
    else:
        print("  glove  is not on the path")


def write(model: GloVe, folder: Path, most: int) -> int:
    """The pairs as the peer reads them, in any order, and its vocabulary; how many there are."""
    first = np.repeat(np.concatenate([np.full(a + 1, a) for a in range(BLOCKS)]), np.diff(model.starts))
    second = np.repeat(np.concatenate([np.arange(a + 1) for a in range(BLOCKS)]), np.diff(model.starts))
    words = (model.pairs >> np.uint64(48)).astype(np.int64) * BLOCKS + first
    contexts = ((model.pairs >> np.uint64(32)) & np.uint64(0xFFFF)).astype(np.int64) * BLOCKS + second
    counts = np.exp((model.pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32).astype(np.float64))
    chosen = np.random.default_rng(0).permutation(len(words))[: most // 2]
    records = np.empty(2 * len(chosen), RECORD)
    for half, (one, other) in zip((records[::2], records[1::2]), ((words, contexts), (contexts, words)), strict=True):
        half["word"], half["context"], half["count"] = one[chosen] + 1, other[chosen] + 1, counts[chosen]
    records.tofile(folder / "pairs.bin")
    (folder / "vocabulary.txt").write_text("".join(f"w{i} 1\n" for i in range(model.config.vocab_size)))
    return len(records)


def seconds_of(peer: str, folder: Path, options: argparse.Namespace, iterations: int) -> float:
    files = ("-input-file", folder / "pairs.bin", "-vocab-file", folder / "vocabulary.txt", "-save-file", folder / "vectors", "-binary", 1)
    settings = ("-vector-size", options.width, "-threads", options.threads, "-iter", iterations, "-x-max", 10, "-verbose", 0)
    began = time.perf_counter()
    subprocess.run([peer, *map(str, files + settings)], check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
