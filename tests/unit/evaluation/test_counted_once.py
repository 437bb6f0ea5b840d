"""Verbs that work on distinct combinations give the answers of the same verbs on rows."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import open_source
from indistinct.engines.groups import ValueGroups, groups_of
from indistinct.evaluation.assess.membership import membership_by_kind
from indistinct.evaluation.measure import distributions as module
from indistinct.exploration.scan import columns as scanned
from indistinct.inspection import combinations
from indistinct.inspection.unique_sets import minimal_uniques
from indistinct.release.published import describe_release
from indistinct.view.value import View

SCHEMA = ind.Schema(quasi=["age", "sex", "zip"], sensitive=["ill"], insensitive=["cost"])


def people(rows=400, *, missing=True):
    rng = np.random.default_rng(5)

    def holes(values):
        return [None if missing and rng.random() < 0.1 else value for value in values.tolist()]

    return pa.table(
        {
            "age": pa.array(holes(rng.integers(20, 40, rows)), pa.int64()),
            "sex": holes(rng.choice(["f", "m", "*"], rows)),
            "zip": holes(rng.choice(["a21", "b22", "=x"], rows)),
            "ill": holes(rng.choice(["flu", "cold", "ulcer", "asthma"], rows)),
            "cost": pa.array(holes(rng.choice([-0.0, 0.0, 1.5, 2.5], rows)), pa.float64()),
        }
    )


def every_row(source, columns):
    """Return each row as a group of its own, as a table in memory was counted before."""
    table = source.in_memory.select(list(columns))
    return ValueGroups(table, np.ones(table.num_rows, dtype=np.int64))


@pytest.mark.parametrize("rows", [1, 400])
def test_groups_of_a_table_in_memory_have_its_rows(rows):
    source = open_source(people(rows))[1]
    found = groups_of(source, ["age", "sex"])
    expected = people(rows).select(["age", "sex"]).group_by(["age", "sex"]).aggregate([([], "count_all")])
    assert found.counts.sum() == rows
    counted = {tuple(row.values()): n for row, n in zip(found.table.to_pylist(), found.counts.tolist(), strict=True)}
    assert counted == {(row["age"], row["sex"]): row["count_all"] for row in expected.to_pylist()}
    assert len(groups_of(open_source(people(rows).slice(0, 0))[1], ["age"]).counts) == 0


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:relaxed=true", "mondrian:numeric=bounds", "kaca"])
def test_measures_and_membership_are_those_of_rows(algorithm, monkeypatch):
    table = people()
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=4", algorithm=algorithm, seed=1)
    found = []
    for way in (groups_of, every_row):
        monkeypatch.setattr("indistinct.release.published.groups_of", way)
        given = describe_release(release.table, SCHEMA, original=table)
        members = membership_by_kind(given)["quasi-identifiers"].to_json()
        found.append((dict(ind.measure(given)), dict(ind.measure(given, ["classification:target=ill"])), members))
    assert _numbers(found[0]) == pytest.approx(_numbers(found[1]))


@pytest.mark.parametrize("algorithm", ["mondrian", "slicing:l=2", "anatomy:l=2"])
def test_distributions_are_those_of_rows(algorithm, monkeypatch):
    table = people(missing=False)
    model = {} if "l=" in algorithm else {"model": "k-anonymity:k=4"}
    release = ind.anonymize(table, SCHEMA, algorithm=algorithm, seed=1, **model)
    joined = ind.distributions(release, table).to_json()
    monkeypatch.setattr(View, "joined", lambda shown: shown)
    monkeypatch.setattr(module, "COUNTED_DIRECTLY", 0)
    by_rows = ind.distributions(release, table).to_json()
    assert _numbers(joined) == pytest.approx(_numbers(by_rows), nan_ok=True)


def _numbers(found):
    """Return every figure of a document, in order."""
    if isinstance(found, dict):
        return [number for value in found.values() for number in _numbers(value)]
    if isinstance(found, list | tuple):
        return [number for value in found for number in _numbers(value)]
    return [] if found is None or isinstance(found, str) else [float(found)]


@pytest.mark.parametrize("sampled", [False, True])
def test_column_sets_single_out_as_many_on_cells_as_on_rows(sampled, monkeypatch):
    rng = np.random.default_rng(2)
    columns = {name: rng.integers(0, size, 600) for name, size in (("a", 12), ("b", 9), ("c", 5), ("d", 3))}
    if sampled:
        monkeypatch.setattr(combinations, "MAX_WORK_FOR_ALL", 0)
        monkeypatch.setattr(combinations, "SAMPLE_MEMBERS", 200)
    found = combinations.risky_combinations(columns, rows=600)
    cells = combinations._frequencies(columns, np.arange(600), 600)[0]
    sought = combinations._sample(600, None) if sampled else None
    expected = minimal_uniques(cells, size=combinations.SIZE, sought=sought)
    assert found.found.sets == expected.sets
    assert (found.found.people, found.found.by_size) == (expected.people, expected.by_size)


def test_whole_numbers_are_looked_for_in_the_first_cells_and_in_all(monkeypatch):
    monkeypatch.setattr(scanned, "CELLS_TRIED_FIRST", 2)
    assert scanned.whole_numbers(pa.chunked_array([["1", "2", "3.0"]])).tolist() == [1, 2, 3]
    assert scanned.whole_numbers(pa.chunked_array([["1", "2", "x"]])) is None
    assert scanned.whole_numbers(pa.chunked_array([["x", "2", "3"]])) is None
