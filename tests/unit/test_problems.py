"""Problems that researchers build, distances between their tuples, and columns that matter more than others."""

import itertools

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.base import run_search
from indistinct.algorithms.registry import parse_algorithm
from indistinct.metrics import Distortion, tuple_distance
from indistinct.recoding.assign import assign

PEOPLE = pa.table(
    {
        "age": [20, 21, 30, 31, 40, 41, 20, 31],
        "sex": ["f", "m", "f", "m", "f", "m", "m", "f"],
        "ill": ["a", "b", "c", "a", "b", "c", "a", "b"],
    }
)
ROLES = ind.Schema(quasi=["age", "sex"], sensitive=["ill"])
TREES = {"age": ind.Hierarchy.intervals([10, 20]), "sex": ind.Hierarchy.suppression()}
GIVEN = {"model": "k-anonymity:k=2", "hierarchies": TREES}


def test_a_problem_gives_what_publishing_gives():
    problem = ind.problem(PEOPLE, ROLES, **GIVEN)
    nodes = ind.Incognito().satisfying(problem)
    explored = ind.explore(PEOPLE, ROLES, **GIVEN)
    assert nodes == {tuple(levels) for levels in explored.levels[explored.satisfied].tolist()}
    assert ind.Incognito().minimal(problem) == {tuple(each) for each in explored.levels[explored.minimal].tolist()}
    assert ind.Incognito().rounds(problem)[-1] == nodes


@pytest.mark.parametrize("algorithm", ["optimal", "kaca", "kaca:stub=false", "mondrian", "two-level", "top-down"])
def test_a_search_finds_what_it_publishes(algorithm):
    problem = ind.problem(PEOPLE, ROLES, **GIVEN, algorithm=algorithm)
    found = assign(problem.frequencies, run_search(parse_algorithm(algorithm), problem))
    release = ind.anonymize(PEOPLE, ROLES, **GIVEN, algorithm=algorithm)
    assert found.classes.sizes.tolist() == release.assignment.classes.sizes.tolist()
    assert Distortion().value(found) == Distortion().value(release.assignment)


def test_the_budget_of_a_problem_is_a_number():
    assert ind.problem(PEOPLE, ROLES, **GIVEN, suppression="3 rows").suppression == 3
    assert ind.problem(PEOPLE, ROLES, **GIVEN, suppression=0.25).suppression == 2
    with pytest.raises(ind.SchemaError, match="which the schema does not name"):
        ind.problem(PEOPLE, ROLES, model="distinct-l-diversity:sensitive=cost,l=2")


def test_distances_of_values_and_labels():
    problem = ind.problem(PEOPLE, ROLES, **GIVEN)
    first, second = problem.tuple_of({"age": 20, "sex": "f"}), problem.tuple_of({"age": 31, "sex": "f"})
    whole = problem.tuple_of({"age": "*", "sex": "*"})
    given = {"taxonomies": problem.taxonomies}
    assert tuple_distance(first, first, **given) == 0
    height = problem.taxonomies[0].height
    level = next(n for n in range(height + 1) if len({problem.taxonomies[0].ancestors[c][n] for c in (0, 3)}) == 1)
    assert tuple_distance(first, second, **given) == pytest.approx(2 * level / height)
    assert tuple_distance(first, second, **given, importance={"age": 3}) == pytest.approx(6 * level / height)
    assert tuple_distance(first, whole, **given) == pytest.approx(2)
    with pytest.raises(ind.ParameterError, match="'age' has no such value"):
        problem.tuple_of({"age": 99, "sex": "f"})
    with pytest.raises(ind.ParameterError, match="missing: sex"):
        problem.tuple_of({"age": 20})


def distortion_by_column(release):
    return [Distortion(importance={name: 1e9}).value(release.assignment) // 1e9 for name in ROLES.quasi]


def test_kaca_spares_the_columns_that_matter():
    plain, age, sex = (
        distortion_by_column(ind.anonymize(PEOPLE, ROLES, **GIVEN, algorithm=algorithm))
        for algorithm in (
            "kaca:stub=false",
            ind.KACA(stub=False, importance={"age": 50}),
            'kaca:stub=false,importance="sex=50"',
        )
    )
    assert age[0] <= plain[0]
    assert sex[1] <= plain[1]
    assert (age, sex) != (plain, plain)


@pytest.mark.parametrize("scale", [2, 0.5, 1 / 3, 1e6])
def test_kaca_looks_at_importance_by_proportion(scale):
    one, other = (
        ind.anonymize(PEOPLE, ROLES, **GIVEN, algorithm=ind.KACA(stub=False, importance=importance)).recoding
        for importance in ({"age": 3, "sex": 1}, {"age": 3 * scale, "sex": scale})
    )
    assert one == other


def test_equal_importance_is_none():
    for stub in (True, False):
        made = [
            ind.anonymize(PEOPLE, ROLES, **GIVEN, algorithm=ind.KACA(stub=stub, importance=importance), seed=1).recoding
            for importance in ({}, {"age": 1}, {"age": 7, "sex": 7})
        ]
        assert all(one == other for one, other in itertools.pairwise(made))


def test_importance_of_another_column_is_refused():
    with pytest.raises(ind.ParameterError, match="'agee', which is not a quasi-identifier"):
        ind.anonymize(PEOPLE, ROLES, **GIVEN, algorithm=ind.KACA(importance={"agee": 2}))
    with pytest.raises(ind.ParameterError, match="quasi-identifier"):
        ind.anonymize(PEOPLE, ROLES, **GIVEN, algorithm='optimal:metric="distortion:importance=""agee=2"""')
    with pytest.raises(ind.ParameterError, match="form column=number"):
        parse_algorithm("kaca:importance=age")
