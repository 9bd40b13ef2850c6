"""Text to token shards beside the `tokenizers` library's own encode_batch_fast over the same sentences, with the ids of both compared.

python benchmarks/encode.py [--kinds words bpe byte-bpe wordpiece unigram] [--repeats 3] [--megabytes 60]
"""

import argparse
import lzma
import shutil
import tempfile
from pathlib import Path

import numpy as np

from side_by_side import conditions, data, in_turn
from stairs.text.corpus.corpus import SPLITS, Corpus
from stairs.text.sentences import split_sentences
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

AT_ONCE = 10_000  # sentences per call of the peer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", nargs="+", default=["words", "bpe", "byte-bpe", "wordpiece", "unigram"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        text = there / "wiki.txt"
        with lzma.open(data("corpora/wiki_en.txt.xz")) as packed:
            text.write_bytes(packed.read(options.megabytes * 1_000_000).rsplit(b"\n", 1)[0])
        corpus = Corpus([text])
        cut = [split_sentences(document) for document in corpus.documents()]
        flat = [sentence for document in cut for sentence in document]
        for kind in options.kinds:
            compare(kind, corpus, cut, flat, there / "cache", text.stat().st_size / 1e6, options.repeats)


def compare(kind: str, corpus: Corpus, cut: list, flat: list[str], cache: Path, megabytes: float, repeats: int) -> None:
    tokenizer = Tokenizer.train(TokenizerSpec(kind), lambda: cut[::8])
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        shards = build_shards(corpus, tokenizer, cache=cache)
        found["ours"] = np.concatenate([np.asarray(shards.ids(split)) for split in SPLITS])

    def peer() -> None:
        parts = []
        for start in range(0, len(flat), AT_ONCE):
            encoded = tokenizer.backend.encode_batch_fast(
                [tokenizer.preprocess(text) for text in flat[start : start + AT_ONCE]], add_special_tokens=False
            )
            parts += [np.array(one.ids, np.uint32) for one in encoded]
        found["peer"] = np.concatenate(parts)

    build_shards(corpus, tokenizer, cache=cache)  # warm-up: compiles
    taken = in_turn({"ours": ours, "peer": peer}, repeats)
    same = np.array_equal(np.sort(found["ours"][(found["ours"] != 3) & (found["ours"] != 2)]), np.sort(found["peer"]))
    ratio = taken["peer"]["wall"] / taken["ours"]["wall"]
    print(
        f"{kind:10} ours, read from disk and written to it {megabytes / taken['ours']['wall']:6.1f} MB/s, encode_batch_fast in memory "
        f"{megabytes / taken['peer']['wall']:6.1f} MB/s, {ratio:.2f}x; {'the same ids' if same else 'OTHER IDS'}; {conditions()}"
    )


if __name__ == "__main__":
    main()
