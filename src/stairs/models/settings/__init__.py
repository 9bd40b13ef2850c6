"""The settings of every model: its config, sizes and default training, without importing torch. A new model joins with a line in `SETTINGS`.

The flags of `stairs train` are made of the fields of the configs and the comments behind them.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

from stairs.errors import BadInput
from stairs.models.settings import bert, cnn, elmo, glove, gpt, ngram, nnlm, seq2seq, transformer, vectors, word2vec
from stairs.models.settings.bert import BERTConfig, RoBERTaConfig, UniLMConfig, XLNetConfig
from stairs.models.settings.cnn import CNNConfig
from stairs.models.settings.common import ModelConfig, ModelSettings
from stairs.models.settings.elmo import ELMoConfig
from stairs.models.settings.glove import GloVeConfig
from stairs.models.settings.gpt import GPTConfig
from stairs.models.settings.ngram import NGramConfig
from stairs.models.settings.nnlm import NNLMConfig
from stairs.models.settings.seq2seq import Seq2SeqConfig
from stairs.models.settings.transformer import TransformerConfig
from stairs.models.settings.vectors import VectorsConfig
from stairs.models.settings.word2vec import Word2VecConfig

__all__ = [
    "CONFIGS",
    "DEFAULT_MIN_COUNT",
    "DEFAULT_TOKENIZER",
    "FROM_TOKENIZER",
    "LABEL_MODELS",
    "PAIR_MODELS",
    "SETTINGS",
    "SIZES",
    "TRAINING_DEFAULTS",
    "TRANSLATION_MODELS",
    "BERTConfig",
    "CNNConfig",
    "ELMoConfig",
    "GPTConfig",
    "GloVeConfig",
    "ModelConfig",
    "ModelSettings",
    "NGramConfig",
    "NNLMConfig",
    "RoBERTaConfig",
    "Seq2SeqConfig",
    "TransformerConfig",
    "UniLMConfig",
    "VectorsConfig",
    "Word2VecConfig",
    "XLNetConfig",
    "make_config",
    "saved_config",
]

# In the order of the staircase; `cnn` learns from labels alone, and `vectors` can only be adopted.
SETTINGS: dict[str, ModelSettings] = {
    "ngram": ngram.SETTINGS,
    "cbow": word2vec.CBOW,
    "skipgram": word2vec.SKIPGRAM,
    "glove": glove.SETTINGS,
    "cnn": cnn.SETTINGS,
    "nnlm": nnlm.SETTINGS,
    "seq2seq": seq2seq.SEQ2SEQ,
    "cove": seq2seq.COVE,
    "transformer": transformer.SETTINGS,
    "elmo": elmo.SETTINGS,
    "gpt": gpt.SETTINGS,
    "bert": bert.SETTINGS,
    "roberta": bert.ROBERTA,
    "unilm": bert.UNILM,
    "xlnet": bert.XLNET,
    "vectors": vectors.SETTINGS,
}
CONFIGS = {name: settings.config for name, settings in SETTINGS.items()}
SIZES = {name: settings.sizes for name, settings in SETTINGS.items()}
TRAINING_DEFAULTS = {name: settings.training for name, settings in SETTINGS.items() if settings.training}
DEFAULT_TOKENIZER = {name: settings.tokenizer for name, settings in SETTINGS.items() if settings.tokenizer is not None}
DEFAULT_MIN_COUNT = {name: settings.min_count for name, settings in SETTINGS.items() if settings.min_count > 1}
TRANSLATION_MODELS = ("seq2seq", "cove", "transformer")  # they learn from pairs of sentences
PAIR_MODELS = (*TRANSLATION_MODELS, "unilm")  # they can learn from pairs: UniLM from text or from pairs of a source and a target
LABEL_MODELS = ("cnn",)  # they learn from labelled examples alone: `stairs tune cnn labels.csv`
FROM_TOKENIZER = ("vocab_size", "begin", "end", "unknown", "impossible_ids", "mask", "output_heads", "tree_distance")  # fields without a flag


def make_config(model: str, special_ids: Mapping[str, object], **options: object) -> ModelConfig:
    """The config of a model: what the tokenizer knows, as far as the config has a field for it, and the options."""
    kind: Callable[..., ModelConfig] = CONFIGS[model]
    names = {field.name for field in fields(CONFIGS[model])}
    return kind(**{name: value for name, value in special_ids.items() if name in names}, **options)


def saved_config(model: str, values: Mapping[str, object], path: Path) -> ModelConfig:
    """The config of these values; what does not fit is blamed on the file they were read from."""
    kind: Callable[..., ModelConfig] = CONFIGS[model]
    try:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
    except TypeError as error:
        raise BadInput(f"{path} does not fit {model}: {error}; it may come from another version") from None
