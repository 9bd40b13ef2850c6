"""The usual of every step: how its text is cut, and named sets of the settings in `configs.py`. It imports nothing, as that does not."""

from typing import Any

# Of the steps that can be trained, in the order of the staircase; `vectors` can only be adopted.
DEFAULT_TOKENIZER = {
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

TRANSLATION_MODELS = ("seq2seq", "cove", "transformer")  # steps that learn from pairs of sentences

DEFAULT_MIN_COUNT = {"cbow": 5, "skipgram": 5, "glove": 5}  # a word seen less often has too few neighbours to learn from; 1 for all others

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "ngram": {"mini": {}, "small": {"order": 4}, "base": {"order": 5}, "paper": {"order": 5}},
    "nnlm": {
        "nano": {"order": 4, "width": 32, "hidden": 64},
        "micro": {"width": 32, "hidden": 128},
        "mini": {},
        "small": {"width": 128, "hidden": 512},
        "base": {"order": 8, "width": 256, "hidden": 1024},
        "paper": {"order": 6, "width": 100, "hidden": 60, "softmax": "full"},
    },
    "gpt": {
        "nano": {"context": 128, "width": 64, "heads": 2, "layers": 2},
        "micro": {"context": 128, "width": 128, "heads": 4, "layers": 3},
        "mini": {},
        "small": {"width": 384, "heads": 6, "layers": 6},
        "base": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1},
        "paper": {"context": 512, "width": 768, "heads": 12, "layers": 12, "dropout": 0.1, "norm_first": False},
    },
    "bert": {
        "nano": {"width": 64, "heads": 2, "layers": 2, "dropout": 0.0},
        "micro": {"width": 128, "layers": 3, "dropout": 0.0},
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
        "nano": {"width": 64, "hidden": 128},
        "micro": {"width": 128, "hidden": 256},
        "mini": {},
        "small": {"width": 512, "layers": 2},
        "base": {"width": 512, "hidden": 1024, "layers": 2},
        "paper": {"width": 620, "hidden": 2000, "cell": "gru", "attention": "additive", "dropout": 0.0, "label_smoothing": 0.0},
    },
    "cove": {
        "nano": {"width": 64, "hidden": 128, "layers": 2, "attention": "bilinear"},
        "micro": {"width": 128, "hidden": 256, "layers": 2, "attention": "bilinear"},
        "mini": {"layers": 2, "attention": "bilinear"},
        "small": {"width": 300, "layers": 2, "attention": "bilinear"},
        "base": {"width": 300, "hidden": 600, "layers": 2, "attention": "bilinear"},
        "paper": {"width": 300, "hidden": 600, "layers": 2, "attention": "bilinear", "label_smoothing": 0.0},
    },
    "elmo": {
        "nano": {"width": 32, "hidden": 128, "filters": (16, 16, 32, 32), "samples": 1024, "dropout": 0.0},
        "micro": {"width": 64, "hidden": 256, "filters": (16, 16, 32, 64, 64), "samples": 1024, "dropout": 0.0},
        "mini": {},
        "small": {"width": 256, "hidden": 1024, "filters": (32, 32, 64, 128, 256)},
        "base": {"width": 512, "hidden": 2048, "filters": (32, 32, 64, 128, 256, 512), "max_word_length": 30, "highways": 2},
        "paper": {
            "width": 512,
            "hidden": 4096,
            "filters": (32, 32, 64, 128, 256, 512, 1024),
            "highways": 2,
            "character_set": "bytes",
            "max_word_length": 48,
            "softmax": "sampled",
            "samples": 8192,
            "output_vocab": 793471,
            "context": 20,
            "burn_in": 20,
        },
    },
    "transformer": {
        "nano": {"width": 64, "heads": 2, "layers": 2},
        "micro": {"width": 128, "layers": 2},
        "mini": {},
        "small": {"width": 512, "heads": 8},
        "base": {"context": 512, "width": 512, "heads": 8, "layers": 6},
        "large": {"context": 512, "width": 1024, "heads": 16, "layers": 6, "dropout": 0.3},
        "paper": {"context": 512, "width": 512, "heads": 8, "layers": 6, "norm_first": False},
    },
    "glove": {"mini": {}, "small": {"width": 200}, "base": {"width": 300}, "paper": {"width": 300, "x_max": 100.0}},
    "vectors": {"mini": {}, "small": {}, "base": {}, "paper": {}},
}

# How the papers that used Adam trained, as far as they or their programs say, by the names of `training/options.py`. The others keep our AdamW, see
# the departures in each model's header. Batches stay ours: theirs, of 25,000 to 131,072 tokens, do not fit most machines.
GPT_PAPER = {
    "learning_rate": 2.5e-4, "schedule": "cosine", "warmup_steps": 2000, "beta1": 0.9, "beta2": 0.999, "adam_epsilon": 1e-8, "weight_decay": 0.01,
    "clip": 1.0, "embedding_lr_scale": 1.0,
}  # fmt: skip
BERT_PAPER = {
    "learning_rate": 1e-4, "schedule": "linear", "warmup_steps": 10_000, "beta1": 0.9, "beta2": 0.999, "adam_epsilon": 1e-6, "weight_decay": 0.01,
    "clip": 1.0, "embedding_lr_scale": 1.0,
}  # fmt: skip
TRANSFORMER_PAPER = {
    "learning_rate": (512 * 4000) ** -0.5, "schedule": "inverse-sqrt", "warmup_steps": 4000, "beta1": 0.9, "beta2": 0.98, "adam_epsilon": 1e-9,
    "weight_decay": 0.0, "clip": 0.0, "embedding_lr_scale": 1.0,
}  # fmt: skip

# How a size is trained where the model's own learning rate and the usual batch do not fit it: a small model learns from more updates of fewer tokens.
TRAINING_DEFAULTS: dict[str, dict[str, dict[str, Any]]] = {
    "nnlm": {"nano": {"batch_tokens": 1024}, "micro": {"batch_tokens": 1024}},
    "gpt": {
        "nano": {"learning_rate": 5e-3, "batch_tokens": 1024},
        "micro": {"learning_rate": 2e-3, "batch_tokens": 1024},
        "paper": GPT_PAPER,
    },
    "bert": {
        "nano": {"learning_rate": 2e-3, "batch_tokens": 1024},
        "micro": {"learning_rate": 1e-3, "batch_tokens": 1024},
        "paper": BERT_PAPER,
    },
    "seq2seq": {"nano": {"learning_rate": 5e-3, "batch_tokens": 512}, "micro": {"learning_rate": 3e-3, "batch_tokens": 512}},
    "cove": {"nano": {"learning_rate": 5e-3, "batch_tokens": 512}, "micro": {"learning_rate": 3e-3, "batch_tokens": 512}},
    "elmo": {"nano": {"learning_rate": 5e-3, "batch_tokens": 1024}, "micro": {"learning_rate": 3e-3, "batch_tokens": 1024}},
    "transformer": {
        "nano": {"learning_rate": 5e-3, "batch_tokens": 512},
        "micro": {"learning_rate": 3e-3, "batch_tokens": 512},
        "paper": TRANSFORMER_PAPER,
    },
}
