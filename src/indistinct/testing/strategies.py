"""Hypothesis strategies for small tables, hierarchies, models, algorithms and hand-made recodings.

Hypothesis is not a dependency of the library: install it to test an algorithm or an engine of your own.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import count_source
from indistinct.frequencies.count import Counted, Request
from indistinct.hierarchy.value import Hierarchy
from indistinct.models import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    Model,
    RecursiveLDiversity,
    TCloseness,
    XYAnonymity,
)
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.kinds import ByCell, ByColumn, RecodedColumn, Recoding
from indistinct.recoding.summary import floor_of, summarize_sets
from indistinct.schema import Schema
from indistinct.tables.opening import open_table
from indistinct.tables.value import Table
from indistinct.testing.checks.examples import ALGORITHM_EXAMPLES

try:
    from hypothesis import strategies as st
except ImportError:
    raise ImportError("indistinct.testing.strategies needs Hypothesis: pip install hypothesis") from None

TEXTS = ("a", "b", "c, d", "", '"q"', "日本", "missing", "[1-2]")
ORDER = ("none", "low", "high", "top-most")


@dataclass(frozen=True, eq=False)
class Sample:
    """A small table with its schema and the hierarchies of its columns."""

    table: pa.Table
    schema: Schema
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    def count(self, model: Model | None = None, *, joint: bool = False) -> Counted:
        """Return the sample as cells, with the histograms that a model needs."""
        keys = model.table_keys if model is not None else ()
        return count_source(self.source, Request(self.schema.quasi, keys, self.hierarchies, joint=joint))

    @cached_property
    def source(self) -> Table:
        """The sample as an engine opens it."""
        return open_table(self.table)

    def columns(self, counted: Counted) -> tuple[QuasiColumn, ...]:
        """Return the quasi-identifiers with their hierarchies."""
        return columns_of(counted.domains, self.hierarchies)


def trees(values: Sequence[str]) -> st.SearchStrategy[Hierarchy]:
    """Return hierarchies of height 2 over some values."""
    groups = st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values))
    return groups.map(
        lambda chosen: Hierarchy.from_rows(
            [(value, f"group {group}", "*") for value, group in zip(values, chosen, strict=True)]
        )
    )


@st.composite
def quasi_columns(draw: st.DrawFn, rows: int) -> tuple[pa.Array, Hierarchy | None]:
    """Return one quasi-identifier of any kind, and its hierarchy if it has one."""
    kind = draw(st.sampled_from(["integer", "float", "date", "text", "tree", "masked", "declared", "boolean"]))
    hierarchy: Hierarchy | None = None
    values: st.SearchStrategy[Any]
    match kind:
        case "integer":
            values = st.integers(-3, 6)
        case "float":
            values = st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1e-7, 3.0])
        case "date":
            values = st.integers(0, 400).map(lambda day: datetime.date(2020, 2, 1) + datetime.timedelta(days=day))
            hierarchy = draw(st.sampled_from([None, Hierarchy.dates()]))
        case "text":
            values = st.sampled_from(TEXTS)
        case "tree":
            values = st.sampled_from(TEXTS)
            hierarchy = draw(st.one_of(trees(TEXTS), st.just(Hierarchy.suppression())))
        case "masked":
            values = st.sampled_from([4351, 4352, 4361, 512, 7])
            hierarchy = Hierarchy.masking()
        case "declared":
            values = st.sampled_from(ORDER)
            hierarchy = Hierarchy.order(ORDER)
        case _:
            values = st.booleans()
    cells = st.one_of(st.none(), values) if draw(st.booleans()) else values
    drawn = draw(st.lists(cells, min_size=rows, max_size=rows))
    return pa.array([draw(values), *drawn][:rows]), hierarchy


@st.composite
def samples(draw: st.DrawFn, *, most_rows: int = 24, most_columns: int = 3) -> Sample:
    """Return small tables of quasi-identifiers of every kind, a sensitive column, an identifier and a row key."""
    rows = draw(st.integers(1, most_rows))
    width = draw(st.integers(1, most_columns))
    quasi, hierarchies = {}, {}
    for index in range(width):
        array, hierarchy = draw(quasi_columns(rows))
        quasi[f"q{index}"] = array
        if hierarchy is not None:
            hierarchies[f"q{index}"] = hierarchy
    diseases = draw(st.lists(st.sampled_from(["flu", "HIV", "ulcer", None]), min_size=rows, max_size=rows))
    people = draw(st.lists(st.integers(0, 5).map("person {}".format), min_size=rows, max_size=rows))
    table = pa.table(
        {"name": people, **quasi, "disease": pa.array(["flu", *diseases][:rows]), "key": list(range(rows))}
    )
    schema = Schema(identifiers=["name"], quasi=list(quasi), sensitive=["disease"], insensitive=["key"])
    return Sample(table, schema, hierarchies)


def models() -> st.SearchStrategy[Model]:
    """Return models over the columns of a sample, mild enough to be feasible now and then."""
    return st.one_of(
        st.builds(KAnonymity, st.integers(1, 6)),
        st.builds(AlphaK, st.just("disease"), st.sampled_from(["1/2", "2/3", "3/4", 1]), st.integers(1, 4)),
        st.builds(XYAnonymity, st.sampled_from([("name",), ("disease",), ("name", "disease")]), st.integers(1, 3)),
        st.builds(DistinctLDiversity, st.just("disease"), st.integers(1, 3)),
        st.builds(EntropyLDiversity, st.just("disease"), st.floats(1, 2.5)),
        st.builds(RecursiveLDiversity, st.just("disease"), st.sampled_from([1, 2, 3.5]), st.integers(1, 2)),
        st.builds(
            TCloseness, st.just("disease"), st.sampled_from([0.2, 0.5, 1]), st.sampled_from(["equal", "ordered"])
        ),
    )


def algorithms() -> st.SearchStrategy[Algorithm]:
    """Return every registered algorithm of classes in every form."""
    every = [parse_algorithm(form) for some in ALGORITHM_EXAMPLES.values() for form in some]
    return st.sampled_from([form for form in every if form.traits.unit == "class"])


@st.composite
def recodings(draw: st.DrawFn, sample: Sample) -> Recoding:
    """Return recodings by column and by cell, with suppression, that need not come from an algorithm."""
    counted = sample.count()
    columns = sample.columns(counted)
    if draw(st.booleans()):
        grouped = [_by_group(column, draw(_groups(len(column.domain)))) for column in columns]
        published = tuple(assignment for assignment, _ in grouped)
        groups = tuple(codes for _, codes in grouped)
        generalized = np.stack([g[counted.frequencies.vectors[:, j]] for j, g in enumerate(groups)], axis=1)
        dropped = draw(st.sets(st.integers(0, len(generalized) - 1), max_size=2))
        return ByColumn(published, groups, np.unique(generalized[sorted(dropped)], axis=0).astype(np.int32))
    vectors = np.ascontiguousarray(counted.frequencies.vectors)
    class_ids = np.array(draw(st.lists(st.integers(-1, 3), min_size=len(vectors), max_size=len(vectors))), np.int32)
    present = np.unique(class_ids[class_ids >= 0])
    class_ids = np.where(class_ids < 0, -1, np.searchsorted(present, class_ids)).astype(np.int32)
    summaries, values = [], np.zeros((len(present), len(columns)), dtype=np.int32)
    for index, column in enumerate(columns):
        assignment, values[:, index] = _by_label(column, vectors[:, index], class_ids, len(present))
        summaries.append(assignment)
    return ByCell(tuple(summaries), vectors, class_ids, values)


def _groups(size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 2), min_size=size, max_size=size)


def _by_group(column: QuasiColumn, groups: Sequence[int]) -> tuple[RecodedColumn, Any]:
    present = np.unique(groups)
    class_ids = np.searchsorted(present, groups).astype(np.int32)
    assignment, values = _by_label(column, np.arange(len(class_ids), dtype=np.int32), class_ids, len(present))
    return assignment, values[class_ids]


def _by_label(column: QuasiColumn, codes: Any, class_ids: Any, count: int) -> tuple[RecodedColumn, Any]:
    """Publish, for each label, the set of the values that it holds."""
    members = [np.unique(codes[class_ids == class_id]).astype(np.int32) for class_id in range(count)]
    indptr = np.concatenate([[0], np.cumsum([len(some) for some in members])]).astype(np.int64)
    flat = np.concatenate(members) if members else np.zeros(0, dtype=np.int32)
    plain = QuasiColumn(column.domain)
    summary, values = summarize_sets(plain, indptr, flat)
    return RecodedColumn(column.domain, plain.ranks, floor_of(plain), summary), values
