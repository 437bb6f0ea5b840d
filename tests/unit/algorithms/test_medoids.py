"""Partitioning around medoids: the cheapest clusters where they are plain, one answer where they are not."""

from itertools import combinations

import numpy as np
import pytest

from indistinct.algorithms.bucket.attributes import cluster_medoids


def on_a_line(*places):
    return np.abs(np.subtract.outer(places, places)).astype(float)


def cost(distances, clusters):
    """Return the sum of distances to the best medoid of each cluster."""
    return sum(distances[np.ix_(cluster, cluster)].sum(axis=0).min() for cluster in clusters)


def cheapest(distances, count):
    """Return the lowest cost over every choice of medoids."""
    return min(distances[list(chosen)].min(axis=0).sum() for chosen in combinations(range(len(distances)), count))


def random_distances(seed, size):
    points = np.random.default_rng(seed).random((size, 3))
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_separated_groups_are_found():
    distances = on_a_line(0, 50, 1, 101, 51, 100, 2)
    assert cluster_medoids(distances, 3) == ((0, 2, 6), (1, 4), (3, 5))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [2, 3])
def test_separated_groups_cost_what_brute_force_finds(seed, count):
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.random((4, 2)) + 10 * group for group in range(count)])[rng.permutation(4 * count)]
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    clusters = cluster_medoids(distances, count)
    assert cost(distances, clusters) == pytest.approx(cheapest(distances, count))
    assert sorted(map(len, clusters)) == [4] * count


def test_swapping_mends_what_building_chose():
    # BUILD starts in the middle, at 4.9, which serves neither group; two of the best pairs cost 6.4, the first wins.
    distances = on_a_line(0, 0.5, 1, 4.9, 9, 9.5, 10)
    clusters = cluster_medoids(distances, 2)
    assert cost(distances, clusters) == pytest.approx(cheapest(distances, 2))
    first = int(distances.sum(axis=1).argmin())
    assert first == 3
    greedy = min(np.minimum(distances[first], row).sum() for row in distances)
    assert greedy > cheapest(distances, 2) + 1
    assert clusters == ((0, 1, 2, 3), (4, 5, 6))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 2, 4, 9, 10])
def test_no_exchange_of_a_medoid_helps(seed, count):
    distances = random_distances(seed, 10)
    clusters = cluster_medoids(distances, count)
    assert sorted(item for cluster in clusters for item in cluster) == list(range(10))
    assert all(cluster == tuple(sorted(cluster)) and cluster for cluster in clusters)
    assert [cluster[0] for cluster in clusters] == sorted(cluster[0] for cluster in clusters)
    assert len(clusters) == count
    medoids = [cluster[distances[np.ix_(cluster, cluster)].sum(axis=0).argmin()] for cluster in clusters]
    reached = distances[medoids].min(axis=0).sum()
    for place in range(count):
        for item in set(range(10)) - set(medoids):
            exchanged = [*medoids[:place], *medoids[place + 1 :], item]
            assert distances[exchanged].min(axis=0).sum() >= reached - 1e-9


def test_ties_fall_to_the_smallest_index():
    # Each corner of a square serves as well; 2 is as near to medoid 0 as to 1.
    distances = np.ones((4, 4)) - np.eye(4)
    assert cluster_medoids(distances, 2) == ((0, 2, 3), (1,))
    assert cluster_medoids(distances, 3) == ((0, 3), (1,), (2,))


def test_rounding_does_not_decide_a_tie():
    distances = np.ones((4, 4)) - np.eye(4)
    distances[3, :3] = distances[:3, 3] = 1 - 1e-14
    assert cluster_medoids(distances, 2) == ((0, 2, 3), (1,))


def test_items_at_no_distance_leave_no_cluster_empty():
    assert cluster_medoids(np.zeros((4, 4)), 3) == ((0, 3), (1,), (2,))
    assert cluster_medoids(np.zeros((3, 3)), 3) == ((0,), (1,), (2,))


def test_one_cluster_and_one_each():
    distances = random_distances(1, 6)
    assert cluster_medoids(distances, 1) == (tuple(range(6)),)
    assert cluster_medoids(distances, 6) == tuple((item,) for item in range(6))


def test_distances_are_left_as_they_were():
    distances = random_distances(2, 7)
    before = distances.copy()
    cluster_medoids(distances, 3)
    assert (distances == before).all()


def test_two_hundred_items():
    distances = random_distances(4, 200)
    clusters = cluster_medoids(distances, 12)
    assert len(clusters) == 12
    assert cost(distances, clusters) < 0.6 * distances.sum(axis=1).min()
