"""How much of a pretrained encoder learns together with the head on top of it.

auto       for few examples features and full, and what does better on validation examples is kept; for many full
full       all of it (Devlin et al. 2018)
top        its last blocks only
frozen     nothing of it: the head learns on vectors that are computed anew at every step
features   nothing of it: every text is encoded once, and the head learns on the vectors that were kept, in seconds; where layers are mixed, those of
           each layer are kept, and the mix learns with the head

With `decay` below 1 a block learns more slowly the further down it stands (Howard & Ruder 2018, "discriminative fine-tuning").
"""

from dataclasses import dataclass
from typing import Literal

SUPERVISED_TASKS = {"classify": "classify", "compare": "compare", "tag": "tag", "span": "find-span"}  # what labels ask, and the task that learns it
TransferMode = Literal["auto", "full", "top", "frozen", "features"]
Pooling = Literal["cls", "last", "mean"]
Insert = Literal["head", "input", "output", "both", "none"]


@dataclass(frozen=True, kw_only=True)
class TransferOptions:
    transfer: TransferMode = "full"  # what learns: everything, the top blocks and the head, or the head alone (frozen, features)
    top_layers: int = 2  # blocks that learn with --transfer top
    layer_decay: float = 1.0  # learning rate of each block as a share of the one above it
    pooling: Pooling | None = None  # the vector of a text: that of its first token, of its last, or their mean; the step's own if not given
    auxiliary_weight: float = 0.5  # gpt: weight of its own loss on the same texts
    class_weights: Literal["none", "balanced"] = "none"  # balanced: a rare label counts as much as a frequent one
    head_dropout: float = 0.1  # before the head
    whiten: bool = False  # features: no two of their numbers tell the same any more; for an encoder that has read little
    layers: str | None = None  # which are read: last, all (mixed as the task learns), or numbers as 1 or 0,2; elmo: all, others: the step's own
    mix_penalty: float = 0.001  # lambda of ELMo's paper: weight of |s|^2 in the loss, which pulls the shares of mixed layers towards equal ones
    mix_lr_scale: float = 50.0  # learning rate of the shares and gamma of a mix, as a multiple of the head's
    mix_norm: bool = False  # layer norm of every layer before the mix, so that no layer weighs more by the length of its vectors
    fix_gamma: bool = False  # gamma of a mix, the scale of the whole, stays at 1; only the shares are learnt
    insert: Insert = "head"  # where the encoder's vectors go: to the head, or to a BiLSTM over word vectors, at its input, its output, both, or none
    bilstm_width: int = 256  # width of that BiLSTM
    word_vectors: str | None = None  # a run whose vectors of words the BiLSTM begins with; new ones if not given
    word_width: int | None = None  # of its vectors of words, if they are new; 100 if not given
    max_length: int | None = None  # tokens that are read at once; as many as the encoder can if not given

    @property
    def trains_encoder(self) -> bool:
        return self.transfer in ("full", "top")
