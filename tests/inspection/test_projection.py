"""From many numbers to two."""

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.inspection.projection import PCA, points, project_pca, project_tsne


def in_a_plane(count=40, width=20):
    random = np.random.default_rng(0)
    corners = np.linalg.qr(random.normal(size=(width, 2)))[0].T
    flat = random.normal(size=(count, 2)) * [5, 2]
    return flat, flat @ corners + random.normal(size=width)


def test_what_lies_in_a_plane_keeps_its_distances():
    flat, vectors = in_a_plane()
    plane = PCA(vectors)
    assert plane.explained_variance == pytest.approx(1)
    distances = [np.linalg.norm(positions[:, None] - positions[None], axis=-1) for positions in (flat, plane(vectors))]
    assert np.allclose(*distances)
    assert np.ptp(plane(vectors)[:, 0]) > np.ptp(plane(vectors)[:, 1])


def test_the_same_vectors_lie_the_same_way_round_each_time():
    _, vectors = in_a_plane()
    assert np.allclose(project_pca(vectors), project_pca(vectors.astype(np.float32)), atol=1e-4)


def test_others_are_projected_onto_the_same_plane():
    _, vectors = in_a_plane()
    plane = PCA(vectors)
    assert np.allclose(plane(vectors[:3]), plane(vectors)[:3])
    assert np.allclose(plane(plane.mean[None]), 0)


def test_vectors_of_one_number_lie_on_a_line():
    assert project_pca(np.array([[1.0], [2.0], [4.0]])).shape == (3, 2)


def test_neighbours_stay_neighbours():
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 15)
    vectors = random.normal(size=(3, 30))[groups] + 0.1 * random.normal(size=(45, 30))
    positions = project_tsne(vectors)
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    assert (groups[distances.argmin(1)] == groups).all() and np.allclose(positions, project_tsne(vectors))


def test_too_few_words():
    with pytest.raises(BadInput, match="at least 2 words, got 1"):
        project_pca(np.ones((1, 3)))
    with pytest.raises(BadInput, match="at least 4 words, got 3"):
        project_tsne(np.ones((3, 5)))


def test_points_are_plain_data():
    assert points(["猫"], np.array([[1, 2]], np.float32)) == [{"word": "猫", "x": 1.0, "y": 2.0}]
