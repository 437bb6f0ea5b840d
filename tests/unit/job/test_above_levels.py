"""Full-domain searches on cells that do not fit: above the finest levels that do, with memory's answer there."""

from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.algorithms.base import run_search
from indistinct.algorithms.registry import parse_algorithm
from indistinct.algorithms.within_levels import find_within
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.passes import Room
from indistinct.job.above_levels import problem_above

ROWS = 3_000
SCHEMA = ind.Schema(quasi=["age", "zipcode", "sex"], sensitive=["disease"], insensitive=["number"])
HIERARCHIES = {
    "age": ind.Hierarchy.intervals([5, 10, 40]),
    "zipcode": ind.Hierarchy.masking(levels=4),
}
MODEL = "k-anonymity:k=8"
ALGORITHMS = [
    "optimal",
    "optimal:metric=discernibility",
    "incognito",
    "samarati",
    "datafly",
    "bottom-up",
]
# Losses count values below labels, which a table of labels does not have.
BY_CLASSES = [name for name in ALGORITHMS if name != "optimal"]


@pytest.fixture(scope="module")
def table():
    chance = np.random.default_rng(11)
    codes = pa.array([f"{code:04d}" for code in chance.integers(0, 300, ROWS) * 31])
    return pa.table(
        {
            "age": pa.array(chance.integers(0, 90, ROWS), mask=chance.random(ROWS) < 0.02),
            "zipcode": codes,
            "sex": pa.array(chance.choice(["f", "m"], ROWS)),
            "disease": pa.array(chance.choice(["flu", "gout", "mumps"], ROWS)),
            "number": pa.array(chance.integers(0, 1000, ROWS)),
        }
    )


@pytest.fixture
def holds(monkeypatch):
    """Let the engine duckdb hold so many cells at once."""

    def hold(cells):
        room = Room(cells=cells, numbers=1000, texts=1000, classes=10**6)
        monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=room))

    return hold


@pytest.fixture
def publish(tmp_path):
    numbers = count()

    def run(table, algorithm, *, model=MODEL, schema=SCHEMA, hierarchies=HIERARCHIES, **options):
        path = tmp_path / f"table-{next(numbers)}.parquet"
        pq.write_table(table, path, row_group_size=400)
        return ind.anonymize(
            path, schema, model=model, hierarchies=hierarchies, algorithm=algorithm, engine="duckdb", **options
        )

    return run


def _levels_of(release):
    (told,) = [warning for warning in release.certificate.warnings if "at or above these levels" in warning]
    pairs = (pair.split("=") for pair in told.rpartition(": ")[2].split(", "))
    return {name: int(level) for name, level in pairs}


def _rows(table):
    return sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("suppression", [0, 0.02])
@pytest.mark.parametrize("model", [MODEL, "k-anonymity:k=4 & distinct-l-diversity:sensitive=disease,l=2"])
def test_the_answer_is_that_of_memory_above_the_levels(table, holds, publish, algorithm, suppression, model):
    holds(700)
    release = publish(table, algorithm, suppression=suppression, model=model)
    levels = _levels_of(release)
    assert release.certificate.holds
    problem = ind.problem(
        table,
        SCHEMA,
        model=model,
        hierarchies=HIERARCHIES,
        suppression=suppression,
        algorithm=algorithm,
        engine="memory",
    )
    least = [levels.get(column.name, 0) for column in problem.columns]
    there = run_search(parse_algorithm(algorithm), problem_above(_through_trees(problem), least), find_within)
    assert release.recoding.levels == there.levels
    assert all(there.levels[name] >= level for name, level in levels.items())
    again = ind.apply(release.recoding, table, suppression=1.0)
    assert _rows(release.table) == _rows(again.table)


def _through_trees(problem):
    return replace(problem, columns=problem.tree_columns())


@pytest.mark.parametrize("algorithm", BY_CLASSES)
@pytest.mark.parametrize("suppression", [0, 0.02])
def test_it_is_the_search_on_the_table_with_these_labels(table, holds, publish, algorithm, suppression):
    holds(700)
    release = publish(table, algorithm, suppression=suppression)
    levels = _levels_of(release)
    labels, hierarchies = table, {}
    for column in ind.problem(table, SCHEMA, model=MODEL, hierarchies=HIERARCHIES).tree_columns():
        level, taxonomy = levels.get(column.name, 0), column.taxonomy
        codes = column.domain.encode(table[column.name])
        texts = [["" if label is None else label for label in own] for own in taxonomy.labels]
        shown = pa.array([texts[level][node] for node in taxonomy.ancestors[codes, level]])
        labels = labels.set_column(labels.column_names.index(column.name), column.name, shown)
        rows = {tuple(texts[at][own[at]] for at in range(level, len(texts))) for own in taxonomy.ancestors}
        hierarchies[column.name] = ind.Hierarchy.from_rows(sorted(rows))
    memory = ind.anonymize(
        labels,
        SCHEMA,
        model=MODEL,
        hierarchies=hierarchies,
        algorithm=algorithm,
        suppression=suppression,
        engine="memory",
    )
    mine = {name: level - levels.get(name, 0) for name, level in release.recoding.levels.items()}
    assert mine == dict(memory.recoding.levels)
    names = ["disease", "number"]
    assert _rows(release.table.select(names)) == _rows(memory.table.select(names))


def test_levels_follow_from_counts_and_not_from_the_order_of_rows(table, holds, publish):
    found = []
    for cells in (700, 700, 150):
        holds(cells)
        shuffled = table.take(np.random.default_rng(cells + len(found)).permutation(ROWS))
        found.append(publish(shuffled, "datafly"))
    assert found[0].recoding == found[1].recoding
    assert _levels_of(found[0]) == _levels_of(found[1])
    fine, coarse = _levels_of(found[0]), _levels_of(found[2])
    assert all(coarse[name] >= level for name, level in fine.items())
    assert fine != coarse


def test_levels_are_the_finest_of_their_chain_that_fit(table, holds, publish):
    """One cell more, and the next finer levels would be counted."""
    holds(700)
    levels = _levels_of(publish(table, "samarati"))
    problem = _through_trees(ind.problem(table, SCHEMA, model=MODEL, hierarchies=HIERARCHIES))
    least = [levels.get(column.name, 0) for column in problem.columns]
    nodes = [
        column.taxonomy.ancestors[problem.frequencies.vectors[:, j], level]
        for j, (column, level) in enumerate(zip(problem.columns, least, strict=True))
    ]
    cells = len(np.unique(np.stack(nodes), axis=1).T)
    assert cells <= 700
    holds(cells)
    assert _levels_of(publish(table, "samarati")) == levels
    holds(cells - 1)
    assert _levels_of(publish(table, "samarati")) != levels


def test_what_fits_is_counted_as_it_is(table, holds, publish):
    holds(ROWS)
    release = publish(table, "datafly")
    memory = ind.anonymize(table, SCHEMA, model=MODEL, hierarchies=HIERARCHIES, algorithm="datafly", engine="memory")
    assert release.recoding == memory.recoding
    assert not any("these levels" in warning for warning in release.certificate.warnings)


@pytest.mark.parametrize("algorithm", ["kaca", "top-down", "refine", "tds:target=disease", "value-suppression"])
def test_other_searches_say_what_they_would_need_and_what_would_do(table, holds, publish, algorithm):
    holds(700)
    with pytest.raises(ind.OutOfMemoryError, match=r"about [\d,]+ different combinations .* MB of `memory`") as caught:
        publish(table, algorithm)
    assert "mondrian needs no more" in (caught.value.hint or "")


def test_people_are_refused_by_name(table, holds, publish):
    holds(700)
    schema = ind.Schema(quasi=SCHEMA.quasi, sensitive=["disease"], person=["number"])
    with pytest.raises(
        ind.OutOfMemoryError, match=r"not with people \(role person\): rows are counted before they are joined"
    ):
        publish(table, "datafly", schema=schema)


def test_sensitive_values_that_are_too_many_are_said(table, holds, publish):
    holds(600)
    schema = ind.Schema(quasi=SCHEMA.quasi, sensitive=["number"], insensitive=["disease"])
    with pytest.raises(ind.OutOfMemoryError, match="even as one combination"):
        publish(table, "datafly", schema=schema, model="distinct-l-diversity:sensitive=number,l=2")
