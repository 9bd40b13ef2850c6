"""Positions inside an attention: what a query may know of how far away a key stands.

Rotary     Su et al. 2021: the pair (x_i, x_{i+D/2}) of queries and keys is rotated by p / 10000^(2i/D), so that their product depends on the distance
Relative   Shaw et al. 2018: e_ij = q_i (k_j + a_{j-i}) / sqrt(D),  z_i = sum_j w_ij (v_j + b_{j-i}),  one vector a, b for each distance up to a
           largest one, which stands for all beyond
Buckets    Raffel et al. 2020 (T5): e_ij = q_i k_j / sqrt(D) + c_{bucket(j-i)}, a number for each head and bucket; near distances have a bucket each,
           far ones share buckets whose borders grow exponentially
Transformer-XL   Dai et al. 2019: e_ij = ((q_i + u) k_j + (q_i + v) W R_{i-j}) / sqrt(D), R the sines and cosines of the distance; u and v one
           for each head. XLNet (Yang et al. 2019) adds (q_i + w) s / sqrt(D), s one of two vectors: of keys in the same segment, and in others

None of them has a (T, S, D) tensor: the products of a query with all a or all W R are computed once, (T, 2 * largest + 1), and picked by distance,
where Transformer-XL shifts them, and the weights of each distance are summed before they meet b. All work beyond the length of training.

Departures: Rotary pairs the halves of a head, as GPT-NeoX and Llama do, not neighbours; the two differ by a fixed order of the columns. Shaw et al.
share a and b among heads, and so do we. T5 shares the buckets of the first block among all blocks; here each block has its own. Transformer-XL's
projections have no biases, and ours have: u is that of the query, so that v and w are here what is added to it; all blocks have their own u, v and w,
as in XLNet.
"""

import math

import torch
from torch import Tensor, nn

from stairs.layers.attention import Score
from stairs.layers.positions import BASE, angles, length_of

BUCKETS, BUCKETS_REACH = 32, 128  # T5's: so many buckets, the last of which begins at this distance
SEGMENT_STRIDE = 1 << 20  # where segments matter, the positions of each begin so far after those of the one before


class AttentionPositions(nn.Module):
    """What positions may do in an attention: rotate queries and keys, add to the scores, add to the mixed values."""

    kind = ""
    needs_distances = True

    def rotate(self, vectors: Tensor, position_ids: Tensor) -> Tensor:
        """Queries or keys (B, H, T, D) at these positions, (T,) or (B, T)."""
        return vectors

    def distances(self, query_ids: Tensor, key_ids: Tensor) -> Tensor | None:
        """Those of keys from queries at these positions, if they matter."""
        return distances_between(query_ids, key_ids) if self.needs_distances else None

    def bias(self, query: Tensor, distances: Tensor, score: Score) -> Tensor | None:
        """What is added to the scores (B, H, T, S) of queries (B, H, T, D), for key minus query position, (T, S) or (B, T, S)."""
        return None

    def values(self, weights: Tensor, distances: Tensor) -> Tensor | None:
        """What is added to the mixed values (B, H, T, D)."""
        return None

    def as_table(self) -> Tensor:
        """A row for each position or distance, for pictures."""
        raise NotImplementedError


class RotaryPositions(AttentionPositions):
    """Rotates queries and keys."""

    kind = "rotary"
    needs_distances = False
    cosines: Tensor
    sines: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.width = width
        for name, table in self.tables(length).items():
            self.register_buffer(name, table, persistent=False)

    def tables(self, length: int) -> dict[str, Tensor]:
        rotation = angles(length, self.width)
        return {"cosines": rotation.cos().float(), "sines": rotation.sin().float()}

    def rotate(self, vectors: Tensor, position_ids: Tensor) -> Tensor:
        if position_ids.numel() and int(position_ids.max()) >= len(self.cosines):
            for name, table in self.tables(length_of(position_ids)).items():
                setattr(self, name, table.to(self.cosines))
        cosines, sines = (table[position_ids].to(vectors.dtype) for table in (self.cosines, self.sines))
        if position_ids.dim() == 2:
            cosines, sines = cosines[:, None], sines[:, None]  # the same for every head
        first, second = vectors.chunk(2, -1)
        return torch.cat([first * cosines - second * sines, first * sines + second * cosines], -1)

    def as_table(self) -> Tensor:
        return self.cosines


class RelativePositions(AttentionPositions):
    """A key and a value for each distance."""

    kind = "relative"

    def __init__(self, max_distance: int, width: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.key_vectors, self.value_vectors = (nn.Embedding(2 * max_distance + 1, width) for _ in range(2))

    def rows(self, distances: Tensor, like: Tensor) -> Tensor:
        """The row of each distance in the tables, for the shape (B, H, T, S) of scores or weights."""
        return for_each_head(distances.clamp(-self.max_distance, self.max_distance) + self.max_distance, like)

    def bias(self, query: Tensor, distances: Tensor, score: Score) -> Tensor:
        """score(q, k + a) = score(q, k) + score(q, a): so it is for every score but the additive one."""
        products = score(query, self.key_vectors.weight.to(query.dtype))
        return products.gather(-1, self.rows(distances, query))

    def values(self, weights: Tensor, distances: Tensor) -> Tensor:
        by_distance = weights.new_zeros(*weights.shape[:-1], 2 * self.max_distance + 1)
        return by_distance.scatter_add(-1, self.rows(distances, weights), weights) @ self.value_vectors.weight.to(weights.dtype)

    def as_table(self) -> Tensor:
        return self.key_vectors.weight


class BucketPositions(AttentionPositions):
    """A number for each head and bucket of distances."""

    kind = "buckets"

    def __init__(self, heads: int, is_causal: bool) -> None:
        super().__init__()
        self.is_causal = is_causal  # all buckets for the positions behind
        self.table = nn.Embedding(BUCKETS, heads)

    def bias(self, query: Tensor, distances: Tensor, score: Score) -> Tensor:
        added = self.table(distance_buckets(distances, self.is_causal)).to(query.dtype)  # (..., T, S, H)
        return added.movedim(-1, -3)

    def as_table(self) -> Tensor:
        return self.table.weight


class TransformerXLPositions(AttentionPositions):
    """A query meets the sinusoids of the distance, which each block projects in its own way; perhaps also whether the segment is the same."""

    kind = "transformer-xl"

    def __init__(self, width: int, heads: int, is_causal: bool, has_segments: bool = False) -> None:
        super().__init__()
        self.width, self.heads, self.is_causal = width, heads, is_causal
        self.projection = nn.Linear(width, width, bias=False)  # W
        self.position_bias = nn.Embedding(heads, width // heads)  # v - u
        self.segment_vectors = nn.Embedding(2 * heads, width // heads) if has_segments else None  # same segment, then others
        self.segment_bias = nn.Embedding(heads, width // heads) if has_segments else None  # w - u

    def vectors(self, distances: Tensor) -> Tensor:
        """W R of distances (N,), key minus query position: (N, D)."""
        frequencies = BASE ** (-torch.arange(0, self.width, 2, dtype=torch.float64, device=distances.device) / self.width)
        waves = -distances[:, None] * frequencies
        return self.projection(torch.cat([waves.sin(), waves.cos()], -1).to(self.position_bias.weight.dtype))

    def bias(self, query: Tensor, distances: Tensor, score: Score) -> Tensor:
        crossed = (distances + SEGMENT_STRIDE // 2) // SEGMENT_STRIDE  # how many segments lie between
        near = distances - crossed * SEGMENT_STRIDE
        near = near.clamp(max=0) if self.is_causal else near
        low, high = int(near.min()), int(near.max())
        keys = self.vectors(torch.arange(low, high + 1, device=near.device)).unflatten(-1, (self.heads, -1)).transpose(0, 1)  # (H, N, D)
        products = score(query + self.position_bias.weight[:, None], keys.to(query.dtype))
        added = products.gather(-1, for_each_head(near - low, query))
        if self.segment_vectors is None or self.segment_bias is None:
            return added
        pair = self.segment_vectors.weight.unflatten(0, (2, self.heads)).transpose(0, 1)  # (H, 2, D)
        both = score(query + self.segment_bias.weight[:, None], pair.to(query.dtype))
        return added + both.gather(-1, for_each_head((crossed != 0).long(), query))

    def as_table(self) -> Tensor:
        return self.vectors(torch.arange(-BUCKETS_REACH, 1 if self.is_causal else BUCKETS_REACH + 1))


def for_each_head(rows: Tensor, like: Tensor) -> Tensor:
    """(T, S) or (B, T, S) to (B, H, T, S), as the scores or weights are."""
    return (rows if rows.dim() == 2 else rows[:, None]).expand(*like.shape[:-1], -1)


def distance_buckets(distances: Tensor, is_causal: bool) -> Tensor:
    """T5's bucket of each distance, key minus query position."""
    count = BUCKETS if is_causal else BUCKETS // 2  # half of them for the keys ahead
    offset = torch.zeros_like(distances) if is_causal else (distances > 0) * count
    far = -distances.clamp(max=0) if is_causal else distances.abs()
    exact = count // 2
    growth = (far.clamp(min=1) / exact).log() / math.log(BUCKETS_REACH / exact) * (count - exact)
    return offset + torch.where(far < exact, far, (exact + growth.long()).clamp(max=count - 1))


def distances_between(query_ids: Tensor, key_ids: Tensor) -> Tensor:
    """Key minus query position: (T, S), or (B, T, S) if the positions differ by row."""
    return key_ids[..., None, :] - query_ids[..., :, None]
