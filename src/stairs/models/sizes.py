"""The usual of every step: how its text is cut, and named sets of the settings in `configs.py`. It imports nothing, as that does not."""

from typing import Any

# Of the steps that can be trained, in the order of the staircase; `vectors` can only be adopted.
USUAL_TOKENIZER = {
    "ngram": "words",
    "cbow": "words",
    "skipgram": "words",
    "glove": "words",
    "nnlm": "byte-bpe",
    "seq2seq": "byte-bpe",
    "cove": "byte-bpe",
    "transformer": "byte-bpe",
    "elmo": "words",
    "gpt": "byte-bpe",
    "bert": "wordpiece",
}

TRANSLATING = ("seq2seq", "cove", "transformer")  # steps that learn from pairs of sentences

USUAL_MIN_COUNT = {"cbow": 5, "skipgram": 5, "glove": 5}  # a word seen less often has too few neighbours to learn from; 1 for all others

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "ngram": {"mini": {}, "small": {"order": 4}, "base": {"order": 5}, "paper": {"order": 5}},
    "nnlm": {
        "mini": {},
        "small": {"width": 128, "hidden": 512},
        "base": {"order": 8, "width": 256, "hidden": 1024},
        "paper": {"order": 6, "width": 100, "hidden": 60, "softmax": "full"},
    },
    "gpt": {
        "mini": {},
        "small": {"width": 384, "heads": 6, "layers": 6},
        "base": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1},
        "paper": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1, "norm_first": False},
    },
    "bert": {
        "mini": {},
        "small": {"width": 512, "heads": 8},
        "base": {"context": 512, "width": 768, "heads": 12, "layers": 12},
        "large": {"context": 512, "width": 1024, "heads": 16, "layers": 24},
        "paper": {"context": 512, "width": 768, "heads": 12, "layers": 12},
    },
    "cbow": {
        "mini": {},
        "small": {"width": 200},
        "base": {"width": 300, "buckets": 2_000_000},
        "paper": {"width": 300, "window": 4, "softmax": "hierarchical", "subsample": 0.0},
    },
    "skipgram": {
        "mini": {},
        "small": {"width": 200},
        "base": {"width": 300, "buckets": 2_000_000},
        "paper": {"width": 300, "subsample": 1e-5},
    },
    "seq2seq": {
        "mini": {},
        "small": {"width": 512, "layers": 2},
        "base": {"width": 512, "hidden": 1024, "layers": 2},
        "paper": {"width": 620, "hidden": 2000, "cell": "gru", "attention": "additive", "smoothing": 0.0},
    },
    "cove": {
        "mini": {"layers": 2, "attention": "bilinear"},
        "small": {"width": 300, "layers": 2, "attention": "bilinear"},
        "base": {"width": 300, "hidden": 600, "layers": 2, "attention": "bilinear"},
        "paper": {"width": 300, "hidden": 600, "layers": 2, "attention": "bilinear"},
    },
    "elmo": {
        "mini": {},
        "small": {"width": 256, "hidden": 1024, "filters": (32, 32, 64, 128, 256)},
        "base": {"width": 512, "hidden": 2048, "filters": (32, 32, 64, 128, 256, 512), "longest": 30, "highways": 2},
        "paper": {
            "width": 512,
            "hidden": 4096,
            "filters": (32, 32, 64, 128, 256, 512, 1024),
            "highways": 2,
            "letters": "bytes",
            "longest": 48,
            "softmax": "sampled",
            "samples": 8192,
            "outputs": 793471,
            "context": 20,
            "carry": 20,
        },
    },
    "transformer": {
        "mini": {},
        "small": {"width": 512, "heads": 8},
        "base": {"context": 512, "width": 512, "heads": 8, "layers": 6},
        "large": {"context": 512, "width": 1024, "heads": 16, "layers": 6, "dropout": 0.3},
        "paper": {"context": 512, "width": 512, "heads": 8, "layers": 6, "norm_first": False},
    },
    "glove": {"mini": {}, "small": {"width": 200}, "base": {"width": 300}, "paper": {"width": 300, "most": 100.0}},
    "vectors": {"mini": {}, "small": {}, "base": {}, "paper": {}},
}
