"""Recoded tables written down by hand: what metrics and models say of a recoding, without an algorithm.

>>> ages = HandColumn("age", size=4, span=3, ranged=True)
>>> young = HandValue("[25-26]", low=25, high=26, leaves=2, level=1)
>>> recoded = assignment_by_hand([ages], [([(25,), (26,)], [young]), ([(28,)], None)])
>>> recoded.suppressed
1
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Codes
from indistinct.recoding.outputs import Assignment, PublishedColumn

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class HandColumn:
    """A quasi-identifier: how large its domain is, and how loss is measured on it."""

    column: str
    size: int
    height: int = 1
    span: float = 0.0
    ranged: bool = False


@dataclass(frozen=True, slots=True)
class HandValue:
    """A published value and what it covers; the fields are those of `PublishedColumn`."""

    text: str
    low: float = 0.0
    high: float = 0.0
    leaves: int = 1
    level: int = 0


Group = tuple[Sequence[Row], Sequence[HandValue] | None]


def assignment_by_hand(
    columns: Sequence[HandColumn],
    groups: Sequence[Group],
    *,
    sensitive: Mapping[str, Sequence[Any]] | None = None,
) -> Assignment:
    """Return the recoded table whose groups of original rows show the given values; None suppresses a group.

    Groups that show the same are one class. `sensitive` gives further columns, with one value for each row in
    the order of the groups; each gets a histogram.
    """
    rows = [tuple(row) for members, _ in groups for row in members]
    shown = [None if values is None else tuple(values) for members, values in groups for _ in members]
    cells = sorted(set(rows), key=_sortable)
    vocabularies = [_vocabulary(column, place, shown) for place, column in enumerate(columns)]
    vectors = [None if s is None else tuple(v[x] for v, x in zip(vocabularies, s, strict=True)) for s in shown]
    classes = sorted({vector for vector in vectors if vector is not None})

    cell_of_row = _places(rows, cells)
    class_of_row = _places(vectors, classes)
    pieces = sorted(Counter(zip(cell_of_row, class_of_row, strict=True)).items())
    extra = sensitive or {}
    width = len(columns)
    return Assignment(
        frequencies=FrequencySet(
            tuple(column.column for column in columns),
            _matrix(_encode(cells, width), width),
            _classes(cell_of_row, len(cells), extra),
        ),
        columns=tuple(_publish(*pair) for pair in zip(columns, vocabularies, strict=True)),
        values=_matrix(classes, width),
        cells=np.array([cell for (cell, _), _ in pieces], dtype=np.int32),
        class_ids=np.array([class_id for (_, class_id), _ in pieces], dtype=np.int32),
        counts=np.array([count for _, count in pieces], dtype=np.int64),
        classes=_classes(class_of_row, len(classes), extra),
    )


def _vocabulary(column: HandColumn, place: int, shown: Sequence[tuple[HandValue, ...] | None]) -> dict[HandValue, int]:
    distinct = sorted({values[place] for values in shown if values is not None}, key=lambda v: (v.low, v.high, v.text))
    if len({value.text for value in distinct}) < len(distinct):
        raise ParameterError(
            f"values of column {column.column!r} that look alike must cover the same",
            hint="give equal texts equal low, high, leaves and level",
        )
    return {value: code for code, value in enumerate(distinct)}


def _publish(column: HandColumn, vocabulary: Mapping[HandValue, int]) -> PublishedColumn:
    return PublishedColumn(
        column=column.column,
        outputs=((column.column, pa.array([value.text for value in vocabulary], pa.string())),),
        low=np.array([value.low for value in vocabulary], dtype=np.float64),
        high=np.array([value.high for value in vocabulary], dtype=np.float64),
        leaves=np.array([value.leaves for value in vocabulary], dtype=np.int64),
        levels=np.array([value.level for value in vocabulary], dtype=np.int64),
        span=column.span,
        size=column.size,
        height=column.height,
        ranged=column.ranged,
    )


def _encode(cells: Sequence[Row], width: int) -> list[tuple[int, ...]]:
    domains = [sorted({cell[place] for cell in cells}, key=_place) for place in range(width)]
    return [tuple(domain.index(value) for domain, value in zip(domains, cell, strict=True)) for cell in cells]


def _classes(owners: Sequence[int], size: int, sensitive: Mapping[str, Sequence[Any]]) -> Classes:
    released = [owner for owner in owners if owner >= 0]
    histograms: dict[Key, Histogram] = {(name,): _histogram(owners, size, values) for name, values in sensitive.items()}
    return Classes(np.bincount(np.array(released, dtype=np.int64), minlength=size), histograms)


def _histogram(owners: Sequence[int], size: int, values: Sequence[Any]) -> Histogram:
    domain = sorted(set(values), key=_place)
    codes = _places(values, domain)
    entries = sorted(Counter(pair for pair in zip(owners, codes, strict=True) if pair[0] >= 0).items())
    indptr = np.searchsorted([owner for (owner, _), _ in entries], np.arange(size + 1))
    return Histogram(
        indptr=indptr,
        codes=np.array([code for (_, code), _ in entries], dtype=np.int32),
        counts=np.array([count for _, count in entries], dtype=np.int64),
        reference=np.bincount(np.array(codes, dtype=np.int64), minlength=len(domain)),
        texts=tuple(None if value is None else str(value) for value in domain),
    )


def _places(values: Sequence[Any], known: Sequence[Any]) -> list[int]:
    place = {value: index for index, value in enumerate(known)}
    return [place.get(value, -1) if value is None else place[value] for value in values]


def _matrix(rows: Sequence[tuple[int, ...]], width: int) -> Codes:
    return np.array(rows, dtype=np.int32).reshape(-1, width)


def _sortable(row: Row) -> tuple[Any, ...]:
    return tuple(_place(value) for value in row)


def _place(value: Any) -> tuple[bool, Any]:
    """Return a key that puts missing first, as every domain does."""
    return (True, value) if value is not None else (False, 0)
