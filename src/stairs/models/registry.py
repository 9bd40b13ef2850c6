"""Every step by its name."""

from stairs.models.base import Model
from stairs.models.gpt import GPT
from stairs.models.ngram import NGram
from stairs.models.nnlm import NNLM

MODELS: dict[str, type[Model]] = {"ngram": NGram, "nnlm": NNLM, "gpt": GPT}
