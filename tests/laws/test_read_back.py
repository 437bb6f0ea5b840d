"""Measuring a published table is measuring its release: in memory, from Parquet and from CSV."""

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.evaluation.measure.measure import measure_table
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.outputs import MISSING, set_labels, written_members

MEASURED = (
    "discernibility",
    "average-class-size",
    "loss",
    "iloss",
    "ncp",
    "gcp",
    "precision",
    "distortion",
    "geometric-loss",
    "classification",
)
VALUES: dict[str, list[Any]] = {
    "age": [-12, -5, 0, 3, 20, 21, 24, 41],
    "score": [-0.5, 0.0, 0.00001, 0.25, 1.5, 30.0, 1e20],
    "day": [dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(2024, 2, 29)],
    "seen": [
        dt.datetime(2024, 1, 1),
        dt.datetime(2024, 1, 1, 8, 30),
        dt.datetime(2031, 7, 1),
    ],
    "zip": ["1", "12", "123", "130", "53711", "53703"],
    "grade": ["low", "very-low", "high", "top"],
    "job": ["nurse", "surgeon", "clerk", "none"],
    "city": ["Oslo", "Bergen, vest", "{x}", 'y"z', MISSING, " left", "h-i", "1.50"],
}
HIERARCHIES: dict[str, list[Hierarchy]] = {
    "age": [
        Hierarchy.intervals([5, 10]),
        Hierarchy.intervals(cuts=[[0, 20], [20]]),
        Hierarchy.masking(),
        Hierarchy.order([41, 24, 21, 20, 3, 0, -5, -12][::-1]),
    ],
    "score": [Hierarchy.intervals(cuts=[[0.25, 1.75], [1.75]])],
    "day": [Hierarchy.dates(), Hierarchy.dates(["day", "year"])],
    "seen": [Hierarchy.dates(["day", "month", "year"])],
    "zip": [Hierarchy.masking(), Hierarchy.masking("left", levels=2), Hierarchy.suppression()],
    "grade": [Hierarchy.order(["very-low", "low", "middle", "high", "top"])],
    "job": [Hierarchy.tree({"any": {"staff": {"health": ["nurse", "surgeon", "midwife"], "clerk": []}, "none": []}})],
    "city": [Hierarchy.suppression()],
}
ALGORITHMS = (
    "mondrian",
    "mondrian:relaxed=true",
    "mondrian:extent=region",
    "mondrian:numeric=bounds",
    "mondrian:numeric=interval+mean",
    "mondrian:relaxed=true,numeric=bounds",
    "single-dimensional",
    "single-dimensional:extent=region",
    "single-dimensional:numeric=bounds",
)
# Means of dates are published as days, so that classes can look alike which their recoding tells apart.
WITHOUT_DATES = "mondrian:numeric=interval+mean"
laws = settings(deadline=None, max_examples=60)

Case = tuple[pa.Table, ind.Schema, dict[str, Hierarchy], str, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Return a table with its schema, hierarchies, an algorithm and k; some columns have missing values."""
    algorithm = draw(st.sampled_from(ALGORITHMS))
    usable = [name for name in VALUES if algorithm != WITHOUT_DATES or name not in ("day", "seen")]
    quasi = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=3, unique=True))
    rows = draw(st.integers(1, 14))
    k = draw(st.integers(1, min(4, rows)))
    columns: dict[str, list[Any]] = {}
    for name in quasi:
        cell = st.sampled_from([*VALUES[name], *([None] if draw(st.booleans()) else [])])
        columns[name] = draw(
            st.lists(cell, min_size=rows, max_size=rows).filter(lambda cells: any(c is not None for c in cells))
        )
    columns["disease"] = draw(st.lists(st.sampled_from(["flu", "cold"]), min_size=rows, max_size=rows))
    chosen = {name: draw(st.sampled_from([None, *HIERARCHIES[name]])) for name in quasi}
    hierarchies = {name: hierarchy for name, hierarchy in chosen.items() if hierarchy is not None}
    return pa.table(columns), ind.Schema(quasi=quasi, sensitive=["disease"]), hierarchies, algorithm, k


def read_back(table: pa.Table, form: str) -> pa.Table:
    """Return a table after a trip through a file."""
    if form == "memory":
        return table
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"published.{form}")
        if form == "parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            fields = [(f.name, getattr(f.type, "value_type", f.type)) for f in table.schema]
            pyarrow.csv.write_csv(table.cast(pa.schema(fields)), path)
        return ind.open(path).data


@laws
@given(case=cases(), form=st.sampled_from(["memory", "parquet", "csv"]))
@example(
    case=(
        pa.table({"age": [None, None, 3, 3, 20], "disease": ["flu"] * 5}),
        ind.Schema(quasi=["age"], sensitive=["disease"]),
        {},
        "mondrian:numeric=bounds",
        2,
    ),
    form="csv",
)
def test_a_published_table_measures_as_its_release(case: Case, form: str) -> None:
    table, schema, hierarchies, algorithm, k = case
    release = ind.anonymize(
        table,
        schema,
        model=ind.KAnonymity(k),
        algorithm=algorithm,
        hierarchies=hierarchies,
        target="disease",
        seed=1,
    )
    released = ind.measure(release, [*MEASURED[:-1], "classification:target=disease"])
    measured = measure_table(
        read_back(release.table, form),
        schema,
        original=table,
        hierarchies=hierarchies,
        k=k,
        target="disease",
    )
    assert tuple(measured) == MEASURED
    assert dict(measured) == pytest.approx(dict(released), rel=1e-9, abs=1e-9)


texts = st.text(st.sampled_from('ab ,{}"-[].*'), max_size=5) | st.just(MISSING)


@laws
@given(st.lists(st.none() | texts, min_size=2, max_size=5, unique=True))
def test_a_set_is_read_as_it_was_written(members: list[str | None]) -> None:
    indptr, codes = np.array([0, len(members)]), np.arange(len(members))
    (label,) = set_labels(members, indptr, codes).to_pylist()
    assert written_members(label) == tuple(members)
