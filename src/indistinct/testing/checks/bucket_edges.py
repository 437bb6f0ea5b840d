"""The edges of what an algorithm that publishes buckets may be given: one row, odd values, nothing to tell apart."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.errors import InfeasibleError, InputError
from indistinct.models import KAnonymity
from indistinct.schema import Schema
from indistinct.testing.checks.buckets import (
    check_bucket_columns,
    check_bucket_metadata,
    check_diversity,
    check_preserved,
)
from indistinct.testing.checks.case import Case, Publish, publish_case, refused

TEXTS = ["", " ", "a,b", '"', "{x}", "missing", "日本", "é", "🦄", "1:2", "22:2,33:1", "\n", "null", "a:b"]
ENDS = [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 0, 1, 2**53 + 1, 2**53]
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=day) for day in range(8)]
COLUMNS: Mapping[str, Any] = MappingProxyType(
    {
        "constant_column": [7] * 12,
        "all_unique": list(range(12)),
        "missing": [1, None, 3, None, 2, None, 5, 5],
        "odd_texts": TEXTS * 2,
        "huge_numbers": pa.array(ENDS * 2, pa.int64()),
        "dates": DAYS,
    }
)


def edge_one_row(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """One row cannot be diverse."""
    refused(_case([5], algorithm), InfeasibleError, publish)


def edge_without_values(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """No rows, no value in any of them, and a value without an order are errors."""
    for values in ([1.0, float("nan"), 2.0, 3.0], [None] * 4, []):
        refused(_case(pa.array(values, pa.float64()), algorithm), InputError, publish)


def _edge_of(column: Any) -> Callable[..., None]:
    def edge(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
        case = _case(column, algorithm)
        release = publish(case)
        for check in (check_bucket_columns, check_bucket_metadata, check_diversity, check_preserved):
            check(case, publish=lambda _case: release)

    return edge


BUCKET_EDGES: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "one_row": edge_one_row,
        "without_values": edge_without_values,
        **{name: _edge_of(column) for name, column in COLUMNS.items()},
    }
)
"""Every edge of releases in buckets by its name; each is given an algorithm."""


def _case(column: Sequence[Any] | pa.Array, algorithm: Algorithm) -> Case:
    rows = len(column)
    table = pa.table({"a": column, "s": [f"ill {row % 4}" for row in range(rows)], "key": list(range(rows))})
    schema = Schema(quasi=["a"], sensitive=["s"], insensitive=["key"])
    return Case(table, schema, KAnonymity(1), algorithm)
