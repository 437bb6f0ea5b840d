"""Population uniqueness from a sample: each estimator on populations drawn as it assumes, and the rule that chooses."""

import numpy as np
import pytest

from indistinct.errors import ParameterError
from indistinct.models.uniqueness_estimators import estimate_uniques

CLASSES = 40_000


def sample(population, fraction, *, seed=1):
    """Return the true share of population uniques, the class sizes of a sample, and the population's size."""
    rng = np.random.default_rng(seed)
    members = np.repeat(np.arange(len(population)), population)
    drawn = rng.choice(members, int(fraction * len(members)), replace=False)
    sizes = np.bincount(drawn)
    return (population == 1).sum() / len(members), sizes[sizes > 0], len(members)


def pitman_population(theta, alpha, rows, *, seed):
    """Draw a population by Pitman's rule: somebody opens a class of their own or joins one."""
    rng, sizes = np.random.default_rng(seed), []
    members = []
    for total, drawn in enumerate(rng.random(rows)):
        # A uniform draw over members, less α for every class, is the same as a draw over classes of size - α.
        place = drawn * (theta + total)
        if place < theta + alpha * len(sizes):
            members.append(len(sizes))
            sizes.append(1)
        else:
            weights = place - theta - alpha * len(sizes)
            choice = members[int(weights / (total - alpha * len(sizes)) * total)]
            while rng.random() > (sizes[choice] - alpha) / sizes[choice]:
                choice = members[int(rng.random() * total)]
            sizes[choice] += 1
            members.append(choice)
    return np.array(sizes)


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.7])
def test_sliding_negative_binomial_finds_its_own_populations(fraction):
    population = 1 + np.random.default_rng(5).negative_binomial(0.5, 0.1, CLASSES)
    true, sizes, people = sample(population, fraction)
    assert estimate_uniques(sizes, people).snb == pytest.approx(true, rel=0.2)


@pytest.mark.parametrize("fraction", [0.02, 0.1, 0.4])
def test_pitman_finds_its_own_populations(fraction):
    true, sizes, people = sample(pitman_population(50.0, 0.6, 60_000, seed=7), fraction)
    assert estimate_uniques(sizes, people).pitman == pytest.approx(true, rel=0.25)


def test_zayatz_is_near_where_most_of_the_population_is_in_the_sample():
    population = np.random.default_rng(3).geometric(0.2, CLASSES)
    true, sizes, people = sample(population, 0.8)
    assert estimate_uniques(sizes, people).zayatz == pytest.approx(true, rel=0.05)


def test_zayatz_is_bayes_rule_with_the_sizes_of_the_sample():
    # Two classes of one row and one of two, drawn from ten: P(one row | size 1) = 4/10, P(one row | size 2) = 2·4·6/90.
    chances = {1: 4 / 10, 2: 2 * 4 * 6 / 90}
    conditional = 2 / 3 * chances[1] / (2 / 3 * chances[1] + 1 / 3 * chances[2])
    assert estimate_uniques(np.array([1, 1, 2]), 10).zayatz == pytest.approx(conditional * 2 / 4)


def test_a_sample_that_is_the_population_tells_its_uniques():
    found = estimate_uniques(np.array([1, 1, 2, 5, 9]), 18)
    assert (found.zayatz, found.snb, found.dankar) == (2 / 18, 2 / 18, 2 / 18)


def test_without_sample_uniques_nobody_is_unique():
    found = estimate_uniques(np.array([2, 2, 3]), 1_000)
    assert (found.zayatz, found.pitman, found.snb, found.dankar) == (0, 0, 0, 0)


def test_the_rule_takes_pitman_for_small_samples_and_the_smaller_of_two_for_others():
    population = 1 + np.random.default_rng(5).negative_binomial(0.5, 0.1, CLASSES)
    _, small, people = sample(population, 0.05)
    _, large, _ = sample(population, 0.5)
    assert estimate_uniques(small, people).used == "pitman"
    found = estimate_uniques(large, people)
    assert found.used in ("snb", "zayatz")
    assert found.dankar == min(found.snb, found.zayatz)


def test_where_pitman_has_no_optimum_the_rule_takes_zayatz():
    found = estimate_uniques(np.ones(50, dtype=np.int64), 10_000)
    assert found.pitman is None
    assert not found.converged["pitman"]
    assert (found.used, found.dankar) == ("zayatz", 1.0)


@pytest.mark.parametrize("sizes", [[1], [1, 1], [5], [1, 10**6], [1, 1, 1, 2, 3, 10**7]])
def test_awkward_sizes_give_shares(sizes):
    sizes = np.array(sizes)
    for people in (int(sizes.sum()), int(sizes.sum()) + 1, 10**10):
        found = estimate_uniques(sizes, people)
        shares = [share for share in (*found.by_name.values(), found.dankar) if share is not None]
        assert all(0 <= share <= 1 for share in shares)


def test_a_population_smaller_than_its_sample_is_refused():
    with pytest.raises(ParameterError, match="population has 5 people, and the sample 6 rows"):
        estimate_uniques(np.array([1, 2, 3]), 5)
    with pytest.raises(ParameterError, match="no rows"):
        estimate_uniques(np.array([], dtype=np.int64), 5)
