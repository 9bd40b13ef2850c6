"""How much of a pretrained encoder is trained together with the head on top of it.

auto       for few examples features and full, and the one that does better on validation examples; for many full
full       all of it (Devlin et al. 2018)
scratch    all of it, from new weights instead of the pretrained ones: a baseline that tells what pretraining is worth
top        its last blocks
frozen     none of it: the head is trained on vectors that are computed at every update
features   none of it: every text is encoded once, and the head is trained on the stored vectors, in seconds; where layers are mixed, the vectors of
           each layer are stored, and the mix is trained with the head, and so is a BiLSTM that reads it (`insert`)

With `layer_decay` below 1 a block learns more slowly the lower it is (Howard & Ruder 2018, "discriminative fine-tuning").
"""

from dataclasses import dataclass
from typing import Literal

TransferMode = Literal["auto", "full", "scratch", "top", "frozen", "features"]
Pooling = Literal["cls", "last", "mean", "max"]
Insert = Literal["head", "input", "output", "both", "none"]


@dataclass(frozen=True, kw_only=True)
class TransferOptions:
    transfer: TransferMode = "full"  # what is trained: everything, also from new weights (scratch), the top blocks and the head, or the head alone
    top_layers: int = 2  # blocks that are trained with --transfer top
    layer_decay: float = 1.0  # learning rate of each block, as a share of that of the block above it
    pooling: Pooling | None = None  # vector of a text: that of its first token, its last, the mean or the maximum; the model's own if not given
    auxiliary_weight: float = 0.5  # gpt: weight of the language-model loss on the same texts
    class_weights: Literal["none", "balanced"] = "none"  # balanced: a rare label counts as much as a frequent one
    head_dropout: float = 0.1  # dropout before the head
    word_dropout: float = 0.0  # share of the tokens that are hidden behind [MASK] at each update of the encoder; helps where examples are few
    whiten: bool = False  # whiten the features (decorrelate them); helps an encoder with little pretraining
    layers: str | None = None  # layers to use: last, all (mixed, with learned weights), or indices as 1 or 0,2; if not given, all for elmo, else last
    mix_penalty: float = 0.001  # lambda of ELMo's paper: weight of |s|^2 in the loss, which pulls the weights of mixed layers together
    mix_lr_scale: float = 50.0  # learning rate of the weights and gamma of a mix, as a multiple of the head's
    mix_norm: bool = False  # layer norm of every layer before the mix, so that long vectors do not dominate
    fix_gamma: bool = False  # keep gamma, the scale of a mix, at 1 and train only the weights
    insert: Insert = "head"  # where the encoder's vectors go: to the head, or to a BiLSTM over word vectors, at its input, its output, both, or none
    bilstm_width: int = 256  # width of the BiLSTM of --insert
    word_vectors: str | None = None  # run with the word vectors that cnn, or the BiLSTM, starts from; new ones if not given
    word_width: int | None = None  # width of new word vectors of cnn, or the BiLSTM; 100 if not given
    max_length: int | None = None  # maximum tokens of an input; the context of the encoder if not given
    both_orders: bool = False  # gpt, compare: read the two texts in both orders and add their vectors, so that the order does not matter
    crf: bool = False  # tag: learn how well one tag follows another, by a conditional random field on top of the head
    structural_positions: bool = False  # bert, tag: attention knows how far words are apart in the dependency trees of CoNLL-U files

    @property
    def trains_encoder(self) -> bool:
        return self.transfer in ("full", "scratch", "top")
