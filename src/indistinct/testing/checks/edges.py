"""Edge cases of algorithms: one row, one class, equal rows, odd values, many columns."""

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.errors import InfeasibleError, InputError
from indistinct.hierarchy.value import Hierarchy
from indistinct.models import KAnonymity
from indistinct.schema import Schema
from indistinct.testing.checks.case import (
    Case,
    Publish,
    complete_hierarchies,
    expect,
    expect_refusal,
    project_rows,
    publish_case,
)
from indistinct.testing.checks.promises import check_model_holds
from indistinct.testing.checks.values import check_other_columns, check_values_cover

Edge = Callable[..., None]


def edge_no_rows(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """A table without rows is an error."""
    empty = pa.array([], pa.int64())
    expect_refusal(Case(pa.table({"a": empty, "key": empty}), SCHEMA, KAnonymity(1), algorithm), InputError, publish)


def edge_one_row(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """One row is its own class with k = 1, and infeasible with k = 2."""
    sizes = _sizes(_case({"a": [5]}, algorithm, k=1), publish)
    expect(sizes == [1], "one row must be one class of one row")
    expect_refusal(_case({"a": [5]}, algorithm, k=2), InfeasibleError, publish)


def edge_k_one(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """With k = 1 every value may be unmodified, and everything published is still true."""
    sizes = _sizes(_case({"a": [1, 1, 2, 3, 5, 8]}, algorithm, k=1), publish)
    expect(sum(sizes) == 6, "rows were lost")
    expect(algorithm.traits.splits or len(sizes) == 5, "k = 1 must tell all values apart")


def edge_k_all(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """With k equal to the number of rows there is one class; one more is infeasible."""
    values = {"a": [1, 4, 2, 2, 9]}
    expect(_sizes(_case(values, algorithm, k=5), publish) == [5], "k = n must give one class")
    expect_refusal(_case(values, algorithm, k=6), InfeasibleError, publish)


def edge_constant_column(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """A constant column is published unmodified."""
    sizes = _sizes(_case({"a": [7] * 9}, algorithm, k=2), publish)
    expect(sizes == [9], "equal rows must be one class for those who read the release")


def edge_all_unique(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """Unique values are grouped."""
    sizes = _sizes(_case({"a": list(range(17))}, algorithm, k=4), publish)
    expect(min(sizes) >= 4, "a class is too small")
    by_cuts = not algorithm.traits.hierarchies
    expect(len(sizes) > 1 or not by_cuts, "seventeen values in a row have a cut with four on each side")


def edge_missing(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """Missing values are a value of their own, in every kind of column."""
    some: list[Any] = [1, None, 3, None, 2, None, 5, 5]
    _sizes(_case({"a": some}, algorithm, k=2), publish)
    _sizes(_case({"a": [None if value is None else f"v{value}" for value in some]}, algorithm, k=2), publish)
    expect_refusal(_case({"a": pa.array([None] * 4, pa.int64())}, algorithm, k=2), InputError, publish)


def edge_not_a_number(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """NaN and infinities have no place in an order."""
    for value in (float("nan"), float("inf"), float("-inf")):
        expect_refusal(_case({"a": [1.0, 2.0, value, 4.0]}, algorithm, k=2), InputError, publish)


def edge_odd_texts(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """Quotes, separators, brackets, emptiness and any script survive being published."""
    texts = ["", " ", "a,b", '"', "{x}", "missing", "日本", "e\u0301", "é", "🦄", "[1-2]", "[1 .. 2]", "\n", "null"]
    _sizes(_case({"a": texts * 2}, algorithm, k=2), publish)
    _sizes(_case({"a": texts * 2}, algorithm, k=5), publish)
    tree = Hierarchy.suppression()
    _sizes(_case({"a": texts * 2}, algorithm, k=5, hierarchies={"a": tree}), publish)


def edge_huge_numbers(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """Numbers at the ends of 64 bits keep their last digit."""
    ends = [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 0, 1, 2**53 + 1, 2**53]
    _sizes(_case({"a": pa.array(ends * 2, pa.int64())}, algorithm, k=2), publish)
    _sizes(_case({"a": pa.array(ends * 2, pa.int64())}, algorithm, k=5), publish)
    large = pa.array([2**64 - 1, 2**64 - 2, 2**64 - 9, None] * 2, pa.uint64())
    _sizes(_case({"a": large}, algorithm, k=2), publish)


def edge_many_columns(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """Twenty quasi-identifiers with more combinations than 64 bits can number; a lattice of them has no end."""
    width = 6 if algorithm.traits.hierarchies else 20
    columns = {f"c{index}": [(row * (index + 3)) % 23 for row in range(40)] for index in range(width)}
    _sizes(_case(columns, algorithm, k=5), publish)


SCHEMA = Schema(quasi=["a"], insensitive=["key"])

EDGES: Mapping[str, Edge] = MappingProxyType(
    {
        edge.__name__.removeprefix("edge_"): edge
        for edge in (
            edge_no_rows,
            edge_one_row,
            edge_k_one,
            edge_k_all,
            edge_constant_column,
            edge_all_unique,
            edge_missing,
            edge_not_a_number,
            edge_odd_texts,
            edge_huge_numbers,
            edge_many_columns,
        )
    }
)
"""Every edge by its name; each is given an algorithm."""


def _case(
    columns: Mapping[str, Any], algorithm: Algorithm, *, k: int, hierarchies: Mapping[str, Hierarchy] | None = None
) -> Case:
    """Return a case with the given columns as quasi-identifiers."""
    rows = len(next(iter(columns.values())))
    table = pa.table({**columns, "key": list(range(rows))})
    chosen = complete_hierarchies(hierarchies or {}, columns, algorithm=algorithm)
    return Case(table, Schema(quasi=list(columns), insensitive=["key"]), KAnonymity(k), algorithm, chosen)


def _sizes(case: Case, publish: Publish) -> list[int]:
    """Check a case and return the sizes of its published classes."""
    release = publish(case)
    for check in (check_model_holds, check_values_cover, check_other_columns):
        check(case, publish=lambda _case: release)
    return sorted(Counter(project_rows(release.table.to_pylist(), release.schema.quasi)).values())
