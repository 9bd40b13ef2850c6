"""Vectors on paper: from many numbers each to two.

`project_pca` is principal component analysis (Pearson 1901): the two directions in which the vectors differ most, so what lies apart in the picture
does lie apart. `project_tsne` is t-SNE (van der Maaten & Hinton 2008): what is near stays near, and distances between groups mean nothing.
"""

import numpy as np

from stairs.errors import BadInput

PERPLEXITY = 30.0  # t-SNE's: about how many neighbours each point has


class PCA:
    """The two principal directions of some vectors (N, D), onto which others may be projected as well."""

    def __init__(self, vectors: np.ndarray) -> None:
        if len(vectors) < 2:
            raise BadInput(f"a map needs at least 2 words, got {len(vectors)}; give more")
        self.centre = vectors.mean(0, dtype=np.float64)
        _, sizes, directions = np.linalg.svd(vectors - self.centre, full_matrices=False)
        directions = directions[:2]
        rows = np.arange(len(directions))
        signs = np.sign(directions[rows, np.abs(directions).argmax(1)])  # either sign is right: the same one each time
        self.directions = directions * np.where(signs == 0, 1, signs)[:, None]
        self.share = float((sizes[:2] ** 2).sum() / max((sizes**2).sum(), 1e-30))  # of what the vectors differ by, how much is seen

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """(N, 2)"""
        flat = (vectors - self.centre) @ self.directions.T
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))  # vectors of a single number lie on a line


def project_pca(vectors: np.ndarray) -> np.ndarray:
    """(N, D) -> (N, 2) by principal components."""
    return PCA(vectors)(vectors)


def project_tsne(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """(N, D) -> (N, 2) by t-SNE of the directions, since words are compared by cosine."""
    if len(vectors) < 4:
        raise BadInput(f"t-SNE needs at least 4 words, got {len(vectors)}; give more, or leave --tsne out")
    from sklearn.manifold import TSNE

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1)
    return TSNE(perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3), init="pca", random_state=seed).fit_transform(units)


def points(words: list[str], places: np.ndarray) -> list[dict[str, object]]:
    """What `pictures.words` draws: a word and its place each."""
    return [{"word": word, "x": float(x), "y": float(y)} for word, (x, y) in zip(words, places, strict=True)]
