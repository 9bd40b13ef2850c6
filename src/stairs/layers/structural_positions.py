"""Structural positions: attention that knows where words stand in the dependency tree of their sentence.

Wang et al. 2019, "Self-Attention with Structural Position Representations", with the depth of a word and the signed distance d(i, j) of two of
them as `text/trees.py` defines them:

    h_0 = ... + D[depth]
    e_ij = q_i (k_j + a_d(i,j)) / sqrt(D),   z_i = sum_j w_ij (v_j + b_d(i,j))                    as Shaw et al. 2018, by distance in the tree

Departures: the paper has sines and cosines of the depth and joins them with those of the word order by a small network; here depths have learned
vectors D, added like those of any position. D, a and b start at 0, so that a model that was trained without trees starts as it is. Distances and
depths beyond the largest share its vectors, and a token that is no word ([CLS], [SEP]) has vectors of its own. a and b take the place of positions
inside the attention, so the order of words is known from positions that are added to the token vectors, and from the sign of d.
"""

import torch
from torch import Tensor, nn

from stairs.layers.attention_positions import RelativePositions


class StructuralPositions(RelativePositions):
    """A key and a value for each distance in a tree, -`tree_distance` to `tree_distance`, and at `tree_distance` + 1 those of what is no word."""

    kind = "structural"

    def __init__(self, tree_distance: int, width: int) -> None:
        super().__init__(tree_distance + 1, width)

    def distances(self, query_ids: Tensor, key_ids: Tensor) -> Tensor:
        """The tree says them, (B, T, T): they come in place of position ids."""
        return query_ids


class DepthEmbedding(nn.Embedding):
    """A vector for each depth, 0 to `tree_distance`, and at -1 that of what is no word."""

    def __init__(self, tree_distance: int, width: int) -> None:
        super().__init__(tree_distance + 2, width)

    def forward(self, depths: Tensor) -> Tensor:
        return super().forward(depths + 1)


@torch.no_grad()
def start_at_zero(model: nn.Module) -> None:
    """Let structural positions change nothing yet."""
    for part in model.modules():
        if isinstance(part, StructuralPositions | DepthEmbedding):
            for weight in part.parameters():
                weight.zero_()
