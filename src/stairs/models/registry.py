"""Every step by its name."""

from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.models.elmo import ELMo
from stairs.models.glove import GloVe
from stairs.models.gpt import GPT
from stairs.models.ngram import NGram
from stairs.models.nnlm import NNLM
from stairs.models.seq2seq import CoVe, Seq2Seq
from stairs.models.transformer import Transformer
from stairs.models.vectors import Vectors
from stairs.models.word2vec import CBOW, SkipGram

MODELS: dict[str, type[Model]] = {
    "ngram": NGram,
    "nnlm": NNLM,
    "gpt": GPT,
    "bert": BERT,
    "seq2seq": Seq2Seq,
    "cove": CoVe,
    "elmo": ELMo,
    "transformer": Transformer,
    "cbow": CBOW,
    "skipgram": SkipGram,
    "glove": GloVe,
    "vectors": Vectors,
}
