"""Vectors in two dimensions.

`project_pca`: principal component analysis (Pearson 1901), the two directions in which the vectors vary most; points that are far apart in the
picture are far apart. `project_tsne`: t-SNE (van der Maaten & Hinton 2008), which keeps neighbours together; distances between groups mean nothing.
"""

from typing import NotRequired, TypedDict

import numpy as np

from stairs.errors import BadInput

PERPLEXITY = 30.0  # of t-SNE: about how many neighbours each point has


class Point(TypedDict):
    word: str
    x: float
    y: float
    group: NotRequired[str]  # words of one group have one colour
    epoch: NotRequired[int]


class PCA:
    """The first two principal components of some vectors (N, D), onto which others can be projected as well."""

    def __init__(self, vectors: np.ndarray) -> None:
        if len(vectors) < 2:
            raise BadInput(f"a map needs at least 2 words, got {len(vectors)}; give more")
        self.mean = vectors.mean(0, dtype=np.float64)
        _, singular_values, components = np.linalg.svd(vectors - self.mean, full_matrices=False)
        components = components[:2]
        rows = np.arange(len(components))
        signs = np.sign(components[rows, np.abs(components).argmax(1)])  # both signs are right; take the same one each time
        self.components = components * np.where(signs == 0, 1, signs)[:, None]
        self.explained_variance = float((singular_values[:2] ** 2).sum() / max((singular_values**2).sum(), 1e-30))

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """(N, 2)"""
        projected = (vectors - self.mean) @ self.components.T
        return np.pad(projected, ((0, 0), (0, 2 - projected.shape[1])))  # vectors with one dimension lie on a line


def project_pca(vectors: np.ndarray) -> np.ndarray:
    """(N, D) -> (N, 2) by principal components."""
    return PCA(vectors)(vectors)


def project_tsne(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """(N, D) -> (N, 2) by t-SNE of the unit vectors, since words are compared by cosine."""
    if len(vectors) < 4:
        raise BadInput(f"t-SNE needs at least 4 words, got {len(vectors)}; give more, or leave --tsne out")
    from sklearn.manifold import TSNE

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1)
    return TSNE(perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3), init="pca", random_state=seed).fit_transform(units)


def points(words: list[str], coordinates: np.ndarray) -> list[Point]:
    return [{"word": word, "x": float(x), "y": float(y)} for word, (x, y) in zip(words, coordinates, strict=True)]
