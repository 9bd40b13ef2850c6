"""Attention to near positions as others have it: PyTorch's fused kernel under a band mask, its `flex_attention`, and the layers of Longformer and
BigBird in `transformers` with the weights of ours."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stairs.fast.block import FastAttention
from stairs.layers.patterns import SparsePattern, WindowPattern

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # of query, key and value, (B, H, T, D)


def full(is_causal: bool) -> Attend:
    return lambda query, key, value: F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def band(pattern: WindowPattern, length: int, is_causal: bool) -> Attend:
    """The mask is made once, as a model would that keeps it; (T, T) it is nevertheless."""
    ids = torch.arange(length)
    mask = pattern.allows(ids, ids, is_causal)
    return lambda query, key, value: F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def flex(pattern: WindowPattern, length: int, is_causal: bool) -> Attend:
    """Compiled: without that it would compute all (T, T) scores."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    radius = pattern.radius

    def near(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query - key <= radius) & (key <= query if is_causal else key - query <= radius)

    mask = create_block_mask(near, None, None, length, length, device="cpu")
    attend = torch.compile(flex_attention, dynamic=False)
    return lambda query, key, value: attend(query, key, value, block_mask=mask)


def flex_refusal(pattern: WindowPattern, is_causal: bool) -> str:
    """What it says to a backward pass. To be asked last: after an error PyTorch runs it without compiling."""
    vectors = torch.randn(1, 1, 512, 64, requires_grad=True)
    try:
        flex(pattern, 512, is_causal)(vectors, vectors, vectors).sum().backward()
    except Exception as error:
        return str(error).strip().splitlines()[0]
    return "it has a backward pass on this machine; measure it"


class Longformer(nn.Module):
    """LongformerSelfAttention and the output projection that follows it."""

    def __init__(self, ours: FastAttention, pattern: WindowPattern, length: int) -> None:
        super().__init__()
        from transformers import LongformerConfig
        from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

        width, window = ours.output.weight.shape[0], 2 * pattern.radius
        if length % window:
            raise ValueError(f"Longformer needs a multiple of its window of {window} positions")
        config = LongformerConfig(hidden_size=width, num_attention_heads=ours.heads, attention_window=[window], attention_probs_dropout_prob=0.0)
        self.attention, self.output = LongformerSelfAttention(config, 0), ours.output
        self.attention.load_state_dict(projections(ours), strict=False)
        self.mask = torch.zeros(1, length)  # 0: attends within the window

    def forward(self, x: Tensor) -> Tensor:
        none = self.mask > 0
        mixed = self.attention(x, attention_mask=self.mask, is_index_masked=none, is_index_global_attn=none, is_global_attn=False)
        return self.output(mixed[0])


class BigBird(nn.Module):
    """BigBirdBlockSparseAttention and the output projection that follows it."""

    def __init__(self, ours: FastAttention, pattern: SparsePattern, length: int, most_gigabytes: float) -> None:
        super().__init__()
        from transformers import BigBirdConfig
        from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

        fewest, gigabytes = (5 + 2 * pattern.random_blocks) * pattern.block, 2 * ours.heads * length * length * 4 / 1e9
        if length <= fewest:
            raise ValueError(f"BigBird takes full attention up to {fewest} positions")
        if gigabytes > most_gigabytes:
            raise ValueError(f"BigBird makes (T, T) tensors of about {gigabytes:.0f} GB")
        config = BigBirdConfig(
            hidden_size=ours.output.weight.shape[0], num_attention_heads=ours.heads, block_size=pattern.block,
            num_random_blocks=pattern.random_blocks, max_position_embeddings=length, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        self.attention, self.output = BigBirdBlockSparseAttention(config, seed=0), ours.output
        self.attention.load_state_dict(projections(ours))
        self.masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, length), pattern.block)

    def forward(self, x: Tensor) -> Tensor:
        blocked, band_mask, from_mask, to_mask = self.masks
        return self.output(self.attention(x, band_mask, from_mask, to_mask, blocked, blocked)[0])


def projections(ours: FastAttention) -> dict[str, Tensor]:
    return {name: weight for name, weight in ours.state_dict().items() if not name.startswith("output")}
