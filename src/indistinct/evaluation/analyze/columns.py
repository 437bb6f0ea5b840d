"""Columns of a study as numbers and categories: exact in the original, ranges and groups in the release.

A column is numeric if the original's type is a number or a date; dates are days. A column of the release is read by its
labels alone: each row has the ends of its range, which are equal where the value is exact.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import ParameterError, did_you_mean
from indistinct.figures import plural
from indistinct.hierarchy.value import Hierarchy
from indistinct.recoding.codebook import Codebook, LabelEntry, codebook_of, distinct_texts, published_columns

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Rule = Literal["imputation", "midpoint", "category"]
RULES: tuple[str, ...] = ("imputation", "midpoint", "category")
UNIX_EPOCH = date(1970, 1, 1).toordinal()
SECONDS_PER_DAY = 86_400
SEPARATOR, ABSENT_CELL = "\x1f", "\x00"


@dataclass(frozen=True, slots=True, eq=False)
class NumericColumn:
    """Numbers of the original, and for each row of the release the ends of its range; nan where a value is missing.

    `whole` says that values are whole numbers, so that the range 20 to 24 has five of them.
    """

    original: Floats
    low: Floats
    high: Floats
    whole: bool

    @property
    def in_ranges(self) -> bool:
        """Whether the release shows a range in at least one row."""
        return bool((self.low < self.high).any())

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The ends on the real line: a whole number covers half a unit on both sides."""
        half = 0.5 if self.whole else 0.0
        ranges = self.low < self.high
        return np.where(ranges, self.low - half, self.low), np.where(ranges, self.high + half, self.high)

    @property
    def midpoints(self) -> Floats:
        """The middle of each range; its known end where the other is open."""
        with np.errstate(invalid="ignore"):
            middle = (self.low + self.high) / 2
        ends = np.where(np.isfinite(self.low), self.low, self.high)
        return np.where(np.isfinite(middle) | np.isnan(self.low), middle, ends)


@dataclass(frozen=True, slots=True, eq=False)
class CategoryColumn:
    """Categories of the original and of the release; -1 where a value is missing.

    `lost` has the categories of the original that the release does not tell apart from others, with their rows there.
    """

    categories: tuple[str, ...]
    original: Integers
    released: Integers
    lost: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Rows of the original for each category."""
        known = self.original[self.original >= 0]
        return dict(
            zip(self.categories, np.bincount(known, minlength=len(self.categories)).tolist(), strict=True)
        ) | dict(self.lost)

    @property
    def regrouped(self) -> bool:
        """Whether categories were joined so that original and release have the same."""
        return bool(self.lost)


StudyColumn = NumericColumn | CategoryColumn


def order_rows(
    columns: Mapping[str, StudyColumn], weights: Floats | None
) -> tuple[dict[str, StudyColumn], Floats | None]:
    """Sort released rows by their values, so that results do not depend on the row order of the release.

    What is drawn for a row depends on its place, and a release shuffles its rows: the same rows give the same figures.
    """
    keys: list[npt.NDArray[Any]] = [] if weights is None else [weights]
    for each in columns.values():
        keys += [each.low, each.high] if isinstance(each, NumericColumn) else [each.released]
    order = np.lexsort(keys)
    ordered: dict[str, StudyColumn] = {
        name: replace(each, low=each.low[order], high=each.high[order])
        if isinstance(each, NumericColumn)
        else replace(each, released=each.released[order])
        for name, each in columns.items()
    }
    return ordered, None if weights is None else weights[order]


@dataclass(frozen=True, slots=True, eq=False)
class ShownLabels:
    """The labels of a released column: an entry for each distinct one, and which of them each row shows."""

    entries: tuple[LabelEntry, ...]
    rows: Integers


def check_rules(rules: Mapping[str, str], columns: Sequence[str]) -> None:
    """Raise `ParameterError` for a rule that is not known or names a column that no analysis has."""
    for name, rule in rules.items():
        if rule not in RULES:
            raise ParameterError(
                f"the rule of column {name!r} must be one of {', '.join(RULES)}; got {rule!r}",
                hint=did_you_mean(str(rule), RULES) or "imputation is the default",
            )
        if name not in columns:
            raise ParameterError(
                f"a rule names the column {name!r}, which no analysis has",
                hint=did_you_mean(name, columns) or f"analyzed: {', '.join(columns)}",
            )


def read_column(
    name: str,
    original: pa.Table,
    release: pa.Table,
    *,
    generalized: bool,
    rule: str | None,
    as_category: bool,
    hierarchies: Mapping[str, Hierarchy],
) -> StudyColumn:
    """Return a column of original and release.

    `generalized` says that the release shows labels, `rule` how ranges enter, and `as_category` that the formula takes
    a number as a category.
    """
    column = _plain(original[name])
    numeric = _is_numeric(column.type)
    if not generalized:
        _require_column(name, release)
        published = _plain(release[name])
        if numeric and _is_numeric(published.type):
            values = _numbers(published)
            exact = NumericColumn(_numbers(column), values, values, _is_whole(column.type))
            return _categories_of_ranges(exact) if as_category else exact
        return _exact_categories(_texts(column), _texts(published))
    labels = _read_labels(name, release, hierarchies)
    if not numeric:
        return _join_categories(name, _texts(column), labels)
    values = _numbers(column)
    read = _ranges(name, values, labels, whole=_is_whole(column.type))
    if as_category or rule == "category":
        return _categories_of_ranges(read)
    if rule == "midpoint":
        return replace(read, low=read.midpoints, high=read.midpoints)
    return read


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_numeric(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are numbers, dates or truth values."""
    types = pa.types
    return any(
        (
            types.is_integer(kind),
            types.is_floating(kind),
            types.is_decimal(kind),
            types.is_date(kind),
            types.is_timestamp(kind),
        )
    )


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_date(kind))


def _require_column(name: str, release: pa.Table) -> None:
    """Raise unless the release has the column."""
    if name not in release.column_names:
        raise ParameterError(
            f"the release does not have the column {name!r}: it was suppressed",
            hint="analyze columns that are published",
        )


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Return numbers, and dates as days; nan where a value is missing."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz))
        moments = np.asarray(column.cast(pa.int64()).cast(pa.float64()).to_numpy())
        return moments / (SECONDS_PER_DAY * 1e6) + UNIX_EPOCH
    if pa.types.is_date(kind):
        return np.asarray(column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64()).to_numpy()) + UNIX_EPOCH
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def _texts(column: pa.ChunkedArray) -> pa.Array:
    whole = column.cast(pa.string()).combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)


def _exact_categories(original: pa.Array, released: pa.Array) -> CategoryColumn:
    distinct = pc.unique(pa.concat_arrays([original, released])).drop_null().sort()
    return CategoryColumn(tuple(distinct.to_pylist()), _index_in(original, distinct), _index_in(released, distinct))


def _index_in(values: pa.Array, distinct: pa.Array) -> Integers:
    return np.asarray(pc.fill_null(pc.index_in(values, value_set=distinct), -1), np.int64)


def _read_labels(name: str, release: pa.Table, hierarchies: Mapping[str, Hierarchy]) -> ShownLabels:
    """Read the published labels of a column with what they cover."""
    outputs = dict(published_columns(release.column_names, [name])).get(name)
    if outputs is None:
        raise ParameterError(
            f"the release does not have the column {name!r}: it was suppressed",
            hint="analyze columns that are published",
        )
    book: Codebook = codebook_of(release.select(outputs), columns=[name], hierarchies=hierarchies)
    distinct = distinct_texts(release, outputs)
    keys = [pa.array([row[index] for row in distinct], pa.string()) for index in range(len(outputs))]
    texts = [_texts(_plain(release[output])) for output in outputs]
    rows = _index_in(_join_texts(texts), _join_texts(keys))
    return ShownLabels(book.of(name), rows)


def _join_texts(columns: Sequence[pa.Array]) -> pa.Array:
    """Return one text for each row, different for different rows."""
    if len(columns) == 1:
        return pc.fill_null(columns[0], ABSENT_CELL)
    filled = [pc.fill_null(column, ABSENT_CELL) for column in columns]
    return pc.binary_join_element_wise(*filled, SEPARATOR)


def _ranges(name: str, original: Floats, labels: ShownLabels, *, whole: bool) -> NumericColumn:
    """Return a column of ranges with the ends of each published row."""
    ends = np.array([_ends_of(name, entry, whole=whole) for entry in labels.entries], np.float64).reshape(-1, 2)
    row_ends = ends[labels.rows]
    return NumericColumn(original, row_ends[:, 0].copy(), row_ends[:, 1].copy(), whole)


def _ends_of(name: str, entry: LabelEntry, *, whole: bool) -> tuple[float, float]:
    """Return the smallest and the largest number that a label covers; open ends are infinite."""
    if entry.kind in ("missing", "everything"):
        return float("nan"), float("nan")
    if entry.kind in ("range", "value") and not (entry.low is None and entry.high is None):
        low = -np.inf if entry.low is None else _number(entry.low)
        high = np.inf if entry.high is None else _number(entry.high)
        if whole and not entry.high_inside and high > low:
            high -= 1
        return low, high
    try:
        members = [float(text) for text in entry.values]
    except ValueError:
        members = []
    if not members:
        raise ParameterError(
            f"a label of column {name!r} does not say which numbers it covers",
            hint="pass the hierarchies of the release: hierarchies=… or --policy",
            values=(entry.label,),
        )
    return min(members), max(members)


def _number(value: Any) -> float:
    """Convert a number, date or moment to a float; dates are ordinals."""
    if isinstance(value, datetime):
        midnight = datetime(value.year, value.month, value.day, tzinfo=value.tzinfo)
        return value.toordinal() + (value - midnight).total_seconds() / SECONDS_PER_DAY
    return float(value.toordinal()) if isinstance(value, date) else float(value)


def _join_categories(name: str, original: pa.Array, labels: ShownLabels) -> CategoryColumn:
    """Return the finest categories that every label of the release falls into whole.

    A label that covers several values joins them, in the original too, so that both sides have the same categories.
    """
    values = pc.unique(original).drop_null().sort()
    texts = values.to_pylist()
    covered = [_covered(name, entry, texts) for entry in labels.entries]
    return _join(texts, _index_in(original, values), labels, covered)


def _covered(name: str, entry: LabelEntry, texts: Sequence[str]) -> Integers | None:
    """Return which values of the original a label covers; None where it says nothing."""
    if entry.kind in ("missing", "everything"):
        return None
    index = {text: position for position, text in enumerate(texts)}
    label = entry.label or ""
    if label in index and entry.kind == "value":
        return np.array([index[label]])
    if entry.values:
        return np.array([index[text] for text in entry.values if text in index], np.int64)
    if entry.kind == "group" and "*" in label:
        pattern = re.compile("".join("." if mark == "*" else re.escape(mark) for mark in label), re.DOTALL)
        return np.array([position for position, text in enumerate(texts) if pattern.fullmatch(text)], np.int64)
    if entry.kind == "range" and entry.low is not None and entry.high is not None:
        return np.array(
            [position for position, text in enumerate(texts) if str(entry.low) <= text <= str(entry.high)], np.int64
        )
    raise ParameterError(
        f"a label of column {name!r} does not say which values it covers",
        hint="pass the hierarchies of the release: hierarchies=… or --policy",
        values=(entry.label,),
    )


def _join(
    texts: Sequence[str], original: Integers, labels: ShownLabels, covered: Sequence[Integers | None]
) -> CategoryColumn:
    """Return categories as the connected components of values that a label shows together."""
    parent = np.arange(len(texts))

    def root(value: int) -> int:
        while parent[value] != value:
            parent[value] = parent[parent[value]]
            value = int(parent[value])
        return value

    for members in covered:
        for member in members[1:] if members is not None and len(members) else ():
            parent[root(int(member))] = root(int(members[0]))  # type: ignore[index]  # not None here
    roots = np.array([root(value) for value in range(len(texts))], np.int64)
    distinct, component = np.unique(roots, return_inverse=True)
    grouped = [
        [text for text, own in zip(texts, component, strict=True) if own == index] for index in range(len(distinct))
    ]
    names = [
        own[0] if len(own) == 1 else _name_of_group(own, index, covered, component, labels)
        for index, own in enumerate(grouped)
    ]
    own = np.array([-1 if each is None or not len(each) else component[each[0]] for each in covered], np.int64)
    rows = np.bincount(original[original >= 0], minlength=len(texts))
    size = np.bincount(component, minlength=len(distinct))
    lost = {text: int(rows[position]) for position, text in enumerate(texts) if size[component[position]] > 1}
    before = np.where(original >= 0, component[original], -1) if len(texts) else original
    return CategoryColumn(tuple(names), before, own[labels.rows], lost)


def _name_of_group(
    members: Sequence[str], index: int, covered: Sequence[Integers | None], component: Integers, labels: ShownLabels
) -> str:
    """Return the label that covers a whole group, or its first values."""
    for each, entry in zip(covered, labels.entries, strict=True):
        if each is not None and len(each) == len(members) and component[each[0]] == index and entry.label:
            return entry.label
    return f"{members[0]} … {members[-1]} ({plural(len(members), 'value')})"


def _categories_of_ranges(column: NumericColumn) -> CategoryColumn:
    """Return ranges as categories: ranges that overlap are joined, and the original has the same."""
    own = np.unique(column.original[~np.isnan(column.original)])
    ranges = np.column_stack([column.low, column.high])[~np.isnan(column.low)]
    starts = np.unique(np.concatenate([ranges, np.column_stack([own, own])]), axis=0)
    edges: list[list[float]] = []
    for low, high in starts:
        if edges and low <= edges[-1][1]:
            edges[-1][1] = max(edges[-1][1], high)
        else:
            edges.append([low, high])
    lows, highs = (np.array([edge[side] for edge in edges]) for side in (0, 1))
    names = tuple(f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in edges)

    def place(values: Floats) -> Integers:
        index = np.searchsorted(lows, values, side="right") - 1
        inside = (index >= 0) & ~np.isnan(values)
        inside &= np.where(inside, values <= highs[np.maximum(index, 0)], False)
        return np.where(inside, index, -1).astype(np.int64)

    joined = {f"{low:g} to {high:g}": len(column.original) for low, high in edges if low < high}
    return CategoryColumn(names, place(column.original), place(column.low), joined)
