"""One vector for a row of tokens, which a linear layer reads: BERT's pooler of [CLS], a GPT's last token, the mean for the others."""

from torch import Tensor

from stairs.models.transfer_options import Pooling
from stairs.tasks.parts.encoder_features import pool_tokens
from stairs.tasks.parts.supervised import Supervised
from stairs.text.batch import Batch


class TextVector(Supervised):
    """A task whose head reads one vector of each row."""

    @property
    def pooling(self) -> Pooling:
        trains_whole_encoder = self.transfer.trains_encoder and self.transfer.insert == "head"
        return self.transfer.pooling or (self.model.default_pooling if trains_whole_encoder else "mean")

    def encode(self, batch: Batch) -> Tensor:
        needs_cls_only = self.pooling == "cls" and self.feature_extractor.is_plain
        return self.model.encode_cls(batch) if needs_cls_only else super().encode(batch)

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        if self.pooling == "cls" and (self.feature_extractor.reads_words or self.feature_extractor.mixes):
            return hidden[:, 0]  # the pooler was trained on the last layer
        return pool_tokens(hidden, batch, self.model, self.pooling, self.tokenizer.special_ids)
