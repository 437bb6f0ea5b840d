"""C_AVG is in units of the k that a release promised, whoever asks and however it is spelled."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.metrics import AverageClassSize

TABLE = pa.table({"age": list(range(20, 40)), "sex": ["m", "f"] * 10, "ill": ["a", "b", "c", "d"] * 5})
ROLES = ind.Schema(quasi=["age", "sex"], sensitive=["ill"])
NAME = "average-class-size"


@pytest.fixture
def release():
    return ind.anonymize(TABLE, ROLES, model="k-anonymity:k=2", algorithm="mondrian")


def expected_size(release):
    return release.certificate.rows / release.certificate.classes / 2


@pytest.mark.parametrize("metric", [NAME, AverageClassSize()])
def test_the_promise_gives_k_where_the_metric_is_named(release, metric):
    assert ind.measure(release)[NAME] == expected_size(release)
    assert ind.measure(release, [metric])[NAME] == expected_size(release)


def test_a_k_that_is_named_stays(release):
    assert ind.measure(release, [f"{NAME}:k=1"])[NAME] == 2 * expected_size(release)


def test_the_certificate_beside_a_file_gives_k(release, tmp_path):
    release.write(tmp_path / "published.csv")
    given = ind.published(tmp_path / "published.csv", ROLES, original=TABLE)
    for metrics in (None, [NAME]):
        assert ind.measure(given, metrics)[NAME] == expected_size(release)
        beside = ind.measure_table(tmp_path / "published.csv", ROLES, original=TABLE, metrics=metrics)
        assert beside[NAME] == expected_size(release)
        assert ind.measure_table(given, k=1, metrics=metrics)[NAME] == 2 * expected_size(release)


def test_explore_gives_what_measure_gives():
    trees = {"age": ind.Hierarchy.intervals([5, 10]), "sex": ind.Hierarchy.suppression()}
    found = ind.explore(TABLE, ROLES, model="k-anonymity:k=2", hierarchies=trees, metrics=[NAME])
    index = int(found.satisfied.argmax())
    node = "|".join(map(str, found.levels[index].tolist()))
    made = ind.anonymize(TABLE, ROLES, model="k-anonymity:k=2", hierarchies=trees, algorithm=f"node:levels={node}")
    assert found.metrics[NAME][index] == ind.measure(made)[NAME]
