"""Coarser ways to publish a column, and how many members each of them leaves unique, counted on the rows of a release.

A member is a row, or a person where people are known. Members who are unique on some columns are unique on more of
them, so that all unmodified columns with the equivalence class give the largest number.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.frequencies.encode import encode_column, group_rows
from indistinct.frequencies.singled_out import codes_of
from indistinct.hierarchy import Explicit, Hierarchy
from indistinct.job.policy import Policy
from indistinct.job.published import transform_by_policy
from indistinct.machine.arrays import Codes, Floats
from indistinct.recoding.transformations import PERIODS, Transformation, transformed_columns
from indistinct.tables.domain import Kind, kind_of
from indistinct.web.tasks.classes import sorted_rows
from indistinct.web.tasks.published import Files
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk

MIN_ROWS_OF_VALUE = 5
"""Every value of a coarser column has at least this many rows."""
MAX_VALUES = 2_000
"""Columns of text with more values are not offered to be joined: a policy lists all of them."""
MAX_WORK = 200_000_000
"""Rows times columns times ways beyond which nothing is counted."""
# Beyond which share a value is one of few, how far beyond it lies if it is, and rows to a step that crowd it.
EDGE, FAR, CROWD = 0.005, 0.1, 12
OTHER, ROOT = "other", "*"


@dataclass(frozen=True, slots=True)
class Treatment:
    """A coarser way to publish a column, and the members whom it leaves unique.

    `unique` members are unique on the column itself, `together` on all unmodified columns with the equivalence class. A
    `hierarchy` joins rare values on its first level.
    """

    transformation: Transformation
    unique: int
    together: int
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True, slots=True)
class Treatments:
    """What can be done about the columns of a release.

    `ways` has the coarser ways of each column. `dropped` are sets of columns, each with one column more than the one
    before it, and how many members are unique on all others together with the equivalence class. `varying` are the
    quasi-identifiers with several values of one person; without them, equal rows put a person into one class.
    """

    members: int = 0
    ways: Mapping[str, tuple[Treatment, ...]] = field(default_factory=dict)
    dropped: tuple[tuple[tuple[str, ...], int], ...] = ()
    varying: tuple[str, ...] = ()


def find_treatments(desk: Desk, policy: Policy, files: Files) -> Treatments:
    """Return coarser ways for the columns of a release that no generalization touched, with what they reach."""
    insensitive, kept = policy.schema.insensitive, (*policy.schema.insensitive, *policy.schema.sensitive)
    raw, release = table_of(desk, policy).data, sorted_rows(desk, policy, dict(files))
    if not release.structure.whole_rows:
        return Treatments()
    rows = release.order[: release.published]
    owners = _owners(raw, policy)[rows]
    varying = _varying_columns(raw, policy, rows, owners)
    if not kept or raw.num_rows * (len(insensitive) + 1) * (3 * len(kept) + 1) > MAX_WORK:
        return Treatments(varying=varying)
    classes = np.repeat(np.arange(len(release.sizes)), release.sizes)
    published = transform_by_policy(table_of(desk, policy), policy).data
    codes = {name: codes_of(name, published[name].take(pa.array(rows))) for name in insensitive}
    if any(each is None for each in codes.values()):  # values that cannot be compared may all differ
        return Treatments(varying=varying)

    def together(changed: Mapping[str, Codes | None]) -> int:
        left = [each for each in {**codes, **changed}.values() if each is not None]
        return count_unique([classes, *left], owners) if left else 0

    ways = {}
    for name in kept:
        cells = raw[name].take(pa.array(rows))
        judged = []
        for transformation, hierarchy, coarse in coarser_ways(name, cells):
            own = codes_of(name, coarse)
            if own is not None:
                changed = together({name: own} if name in insensitive else {})
                judged.append(Treatment(transformation, count_unique([own], owners), changed, hierarchy))
        ways[name] = tuple(judged)
    return Treatments(len(np.unique(owners)), ways, tuple(_drop_one_by_one(insensitive, together)), varying)


def _varying_columns(raw: pa.Table, policy: Policy, rows: Codes, owners: Codes) -> tuple[str, ...]:
    """Return the quasi-identifiers in which some person has several values among the published rows."""
    if not policy.schema.person or not len(rows):
        return ()
    people = len(np.unique(owners))
    codes = {name: codes_of(name, raw[name].take(pa.array(rows))) for name in policy.schema.quasi}
    return tuple(name for name, each in codes.items() if each is None or _pairs(owners, each) > people)


def _pairs(owners: Codes, codes: Codes) -> int:
    """Count the distinct pairs of a person and a value."""
    return len(group_rows([owners, codes], [int(each.max()) + 1 for each in (owners, codes)]).starts) - 1


def _drop_one_by_one(names: Sequence[str], together: Any) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield growing sets of dropped columns; each step drops the column that leaves the fewest uniques."""
    dropped: tuple[str, ...] = ()
    for _ in names:
        left = [name for name in names if name not in dropped]
        counts = {name: together(dict.fromkeys((*dropped, name))) for name in left}
        best = min(counts, key=lambda name: counts[name])
        dropped = (*dropped, best)
        yield dropped, counts[best]


def count_unique(columns: Sequence[Codes], owners: Codes) -> int:
    """Return how many members are unique on columns together.

    >>> count_unique([np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])], np.array([0, 0, 1, 2]))
    3
    """
    if not len(owners):
        return 0
    grouping = group_rows(list(columns), [int(each.max(initial=0)) + 1 for each in columns])
    own, starts = owners[grouping.order], grouping.starts[:-1]
    lowest, highest = np.minimum.reduceat(own, starts), np.maximum.reduceat(own, starts)
    return len(np.unique(lowest[lowest == highest]))


def _owners(raw: pa.Table, policy: Policy) -> Codes:
    """Return the member of each row: a number for each person, or for each row where people are not known."""
    person = [encode_column(name, raw[name], required=False) for name in policy.schema.person]
    if not person:
        return np.arange(raw.num_rows)
    return group_rows([each.codes for each in person], [len(each.domain) for each in person]).group_ids()


# Coarser ways


def coarser_ways(
    name: str, column: pa.ChunkedArray
) -> Iterator[tuple[Transformation, Hierarchy | None, pa.ChunkedArray]]:
    """Yield coarser ways to publish a column, each with the column that it makes; every value has several rows."""
    given = suggest_coarser(column)
    if given is not None:
        transformation = Transformation(**given)
        made = transformed_columns({name: transformation}, {name: column.type}, lambda _name: column)
        yield transformation, None, made.table(pa.table({name: column}))[name]
    joined = join_rare(column) if kind_of(column.type) is Kind.TEXT else None
    if joined is not None:
        labels = {row[0]: row[1] for row in joined.rows}
        texts = column.cast(pa.string()).combine_chunks().dictionary_encode()
        kept = pa.array([labels[text] for text in texts.dictionary.to_pylist()], pa.string())
        yield Transformation(level=1), joined, pa.chunked_array([kept.take(texts.indices)])


def suggest_coarser(column: pa.ChunkedArray) -> dict[str, Any] | None:
    """Suggest a masking of numbers or dates that gives every value several rows; None if there is none.

    Dates become months or years. Numbers are rounded to a step of 1, 2 or 5, and bounded where few lie beyond.

    >>> suggest_coarser(pa.chunked_array([list(range(10_000))]))
    {'round': 20}
    """
    plain = column.drop_null()
    match kind_of(column.type):
        case Kind.DATE if len(plain):
            units = [unit for unit in PERIODS if unit != "day"]
            fewest = {unit: _fewest(pc.floor_temporal(plain, unit=unit)) for unit in units}
            unit = next((unit for unit, rows in fewest.items() if rows >= MIN_ROWS_OF_VALUE), None)
            return None if unit is None else {"truncate": unit}
        case Kind.NUMBER if len(plain):
            return _coarser_numbers(plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        case _:
            return None


def _fewest(values: pa.ChunkedArray) -> int:
    """Return the number of rows of the rarest value."""
    return int(values.value_counts().field("counts").to_numpy(zero_copy_only=False).min())


def _coarser_numbers(values: Codes) -> dict[str, Any] | None:
    """Suggest the finest rounding, with bounds for outliers, that gives every value several rows."""
    there = values[np.isfinite(values)]
    if len(there) < MIN_ROWS_OF_VALUE:
        return None
    low, high = np.quantile(there, [EDGE, 1 - EDGE])
    for step in (digit * 10.0**power for power in range(-3, 13) for digit in (1, 2, 5)):
        if (high - low) / step > len(there) / CROWD:
            continue
        rounded = np.round(there / step) * step
        for bound in (_bounds(there, step, low, high), _wider_bounds(rounded), _bounds(there, step, low, high, far=0)):
            clipped = np.clip(rounded, bound.get("bottom", -np.inf), bound.get("top", np.inf))
            _, counts = np.unique(clipped, return_counts=True)
            if counts.min() >= MIN_ROWS_OF_VALUE and len(counts) > 1:
                return {"round": _whole(step), **bound}
    return None


def _bounds(values: Codes, step: float, low: float, high: float, *, far: float = FAR) -> dict[str, Any]:
    """Return multiples of a step as bounds for values far beyond nearly all others."""
    bounds = {}
    top, bottom = float(np.floor(high / step) * step), float(np.ceil(low / step) * step)
    if values.max() > high + far * (high - low) and top > bottom:
        bounds["top"] = _whole(top)
    if values.min() < low - far * (high - low) and top > bottom:
        bounds["bottom"] = _whole(bottom)
    return bounds


def _wider_bounds(rounded: Floats) -> dict[str, Any]:
    """Return bounds at the first rounded values, from both ends, that have enough rows beyond them."""
    steps, counts = np.unique(rounded, return_counts=True)
    top = int(np.searchsorted(np.cumsum(counts[::-1]), MIN_ROWS_OF_VALUE))
    bottom = int(np.searchsorted(np.cumsum(counts), MIN_ROWS_OF_VALUE))
    if bottom >= len(steps) - 1 - top:
        return {}
    bounds = {"top": _whole(float(steps[-1 - top]))} if top else {}
    return {**bounds, **({"bottom": _whole(float(steps[bottom]))} if bottom else {})}


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else round(value, 6)


def join_rare(column: pa.ChunkedArray) -> Explicit | None:
    """Return a hierarchy that merges rare values of a text; None if none is rare, or all are.

    >>> join_rare(pa.chunked_array([["a"] * 9 + ["b"] * 6 + list("cdefg")])).rows[2]
    ('c', 'other', '*')
    """
    counted = column.cast(pa.string()).drop_null().value_counts()
    return join_values(
        dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)),
        least=MIN_ROWS_OF_VALUE,
    )


def join_values(rows: Mapping[str, int], *, least: int) -> Explicit | None:
    """Return a hierarchy that merges values with fewer than `least` rows; `rows` has the rows by value.

    There is none where fewer than two values are rare, where joined ones would still be, or where hardly any other
    value is left.
    """
    if not 0 < len(rows) <= MAX_VALUES:
        return None
    frequent = {text for text, count in rows.items() if count >= least}
    rare = [count for text, count in rows.items() if text not in frequent]
    if len(rare) < 2 or sum(rare) < MIN_ROWS_OF_VALUE or len(frequent) < 2 or "" in rows:
        return None
    other = next(word for word in (OTHER, "other values", "all others", "(joined)") if word not in rows)
    return Explicit(tuple((text, text if text in frequent else other, ROOT) for text in sorted(rows)))
