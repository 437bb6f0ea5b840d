"""Partitioning where it used to take much longer: models with histograms, distinct values, text, single dimensions."""

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.algorithms.base import Problem
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.recoding.columns import columns_of

SENSITIVE = {"ten": 10, "thousand": 1_000, "many": 100_000}
MODELS = (
    *(ind.DistinctLDiversity(name, l=3) for name in SENSITIVE),
    ind.KAnonymity(5) & ind.DistinctLDiversity("ten", l=3),
    ind.EntropyLDiversity("ten", l=3),
    ind.RecursiveLDiversity("ten", c=2, l=3),
    ind.AlphaK("ten", alpha=0.5, k=5),
    ind.TCloseness("ten", t=0.5),
    ind.TCloseness("thousand", t=0.5),
    ind.TCloseness("order", t=0.2, distance="ordered"),
)
K = "k-anonymity:k=5"


def partition_cliff_lines(rows: int) -> Iterator[Line]:
    yield from model_lines(rows)
    yield from float_lines(rows)
    yield from text_lines(rows // 10)
    yield from single_dimensional_lines(rows)


def model_lines(rows: int) -> Iterator[Line]:
    """The search with each model against the search for k alone, in seconds of both processors together."""
    random, table = np.random.default_rng(3), pq.read_table(census(rows)).select(QUASI)
    for name, size in SENSITIVE.items():
        shares = 1 / np.arange(1, size + 1)
        drawn = random.choice(size, rows, p=shares / shares.sum())
        table = table.append_column(name, pa.array(drawn.astype(str)))
    table = ind.open(table.append_column("order", pa.array(random.integers(0, 50, rows)))).data

    def seconds(model: ind.Model) -> float:
        counted = count_source(table, Request(QUASI, model.keys))
        columns = columns_of(counted.domains, {})

        def search() -> None:
            ind.Mondrian().search(Problem(counted.frequencies, columns, model))

        search()  # compiles
        return best(search, clock=time.process_time)

    alone = seconds(ind.KAnonymity(5))
    for model in MODELS:
        yield Line(f"Mondrian, {model.spec()[-44:]}", seconds(model), "the same search for k = 5 alone", alone, 3)


def float_lines(rows: int) -> Iterator[Line]:
    """Ten columns in which every value is different: as many cells as rows."""
    random = np.random.default_rng(0)
    table = pa.table({f"q{j}": random.normal(size=rows) for j in range(10)})
    ours = _published(table, "mondrian")
    sorts = best(lambda: [np.sort(column.to_numpy()) for column in table.columns])
    yield Line(f"Mondrian, {rows:,} rows × 10 floats, verified", ours, "six seconds", 6.0, 1)
    yield Line("  the same", ours, "np.sort of the ten columns", sorts, None)


def text_lines(rows: int) -> Iterator[Line]:
    """Regions of text are ranges, and take no longer than the sets of values that the rows have."""
    random = np.random.default_rng(0)
    table = pa.table({f"q{j}": [f"name {value:09d}" for value in random.permutation(rows)] for j in range(3)})
    tight = _published(table, "mondrian")
    ours = _published(table, "mondrian:extent=region")
    yield Line(f"regions of text, {rows:,} rows × 3 columns", ours, "extent=range", tight, 1.5)


def single_dimensional_lines(rows: int) -> Iterator[Line]:
    random = np.random.default_rng(0)
    table = pa.table({f"q{j}": random.normal(size=rows) for j in range(5)})
    exact = _published(table.select(["q0"]), "single-dimensional:search=optimal")
    yield Line(f"single-dimensional:search=optimal, {rows:,} floats", exact, "three seconds", 3.0, 1)
    greedy = _published(table, "single-dimensional")
    yield Line(f"single-dimensional, {rows:,} rows × 5 floats", greedy, "fifteen seconds", 15.0, 1)


def _published(table: pa.Table, algorithm: str) -> float:
    """Return the seconds from a table in memory to a verified release in memory."""
    schema = ind.Schema(quasi=table.column_names)
    publish = partial(ind.anonymize, schema=schema, model=K, algorithm=algorithm)
    publish(table.slice(0, 1000))  # compiles
    return best(lambda: publish(table), repeat=2)
