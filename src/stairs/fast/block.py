"""A Transformer block on the fast paths of attention; equal to `layers/block.py` by tests/fast/test_fast_attention.py."""

from torch import Tensor

from stairs.fast.attention import FastAttention
from stairs.layers.block import Block


class FastBlock(Block):
    """A Block whose attention is a FastAttention."""

    attention_type = FastAttention
    attention: FastAttention
    cross_attention: FastAttention

    def forward_first(self, x: Tensor, mask: Tensor) -> Tensor:
        """What `forward` gives for the first position, (B, 1, D): it attends to all of (B, T, D), and nothing is computed for the others."""
        key_value = self.attention_norm(x) if self.norm_first else x
        y = self.residual(x[:, :1], lambda y: self.attention(y, key_value, mask), self.attention_norm)
        return self.residual(y, self.feed_forward, self.feed_forward_norm)
