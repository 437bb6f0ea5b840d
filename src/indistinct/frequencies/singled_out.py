"""Members who are unique on published columns: on one, on two, and on all of them together.

Values are compared as published, and missing is a value. A member is a row, or a person where there is a person ID; a
member is *alone* (unique) on some columns if no other member has the same values in them. Where classes are given, each
set of columns is also counted together with the class of the row. A member who is alone on some columns is alone on
more of them, so that all columns with the class decide how many are alone; smaller sets show which columns are the
reason.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import Grouping, encode_column, from_dictionary, group_rows, pack
from indistinct.frequencies.value import CLASS, Key
from indistinct.machine.arrays import Codes, Mask
from indistinct.machine.threads import is_large, spread

MAX_ROW_PAIRS = 1_000_000_000
"""Rows times pairs of columns that are counted. With more, only pairs of the columns with the most values are."""
MAX_CELLS_AT_ONCE = 20_000_000
"""Cells that an engine beyond memory returns at once. With more, it counts each set of columns by a query."""
MAX_ROW_PAIRS_BY_QUERY = 20_000_000
"""Rows times pairs that such an engine counts one by one; pairs only show which columns are the reason."""
MAX_TABLE_ENTRIES = 1 << 21
"""Number of pairs of values up to which a table of all pairs is faster than a sort."""
PAIRS_PER_CHECK = 4
"""Number of pairs counted between two checks of whether all members who are alone are explained."""
MAX_SETS_REPORTED = 10
"""Number of sets of columns that are named, those with the most unique members first."""


@dataclass(frozen=True, slots=True)
class SingledOut:
    """The number of members who are unique on some columns together: from `least` to `most` of all `members`.

    Both are the same where all columns were counted. `by_columns` are the sets of columns with the most unique members;
    a set is only listed if it has a unique member that no smaller set has. A key that begins with `CLASS` is counted
    with the class of the row. `counted` of `sets` sets were counted.
    """

    unit: str
    members: int
    columns: Key
    least: int
    most: int
    by_columns: Mapping[Key, int] = field(default_factory=dict)
    counted: int = 0
    sets: int = 0

    @property
    def exact(self) -> bool:
        """Whether the number of unique members is exact."""
        return self.least == self.most

    def share(self, alone: int) -> float:
        """Return a number of members as a share of all."""
        return alone / self.members if self.members else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return {
            "unit": self.unit,
            "columns": list(self.columns),
            "alone": self.least,
            "alone_at_most": self.most,
            "share": self.share(self.least),
            "share_at_most": self.share(self.most),
            "sets": [
                {
                    "columns": list(without_class(key)),
                    "with_class": CLASS in key,
                    "alone": alone,
                    "share": self.share(alone),
                }
                for key, alone in self.by_columns.items()
            ],
            "counted_sets": self.counted,
            "possible_sets": self.sets,
        }


def without_class(key: Key) -> Key:
    """Return the columns of a set, without the mark for the class.

    >>> without_class((CLASS, "region"))
    ('region',)
    """
    return tuple(name for name in key if name != CLASS)


def codes_of(name: str, column: pa.ChunkedArray) -> Codes | None:
    """Return a column as codes from 0, None for a type whose values cannot be compared."""
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return None
    if pa.types.is_floating(kind):  # NaN is treated as missing here and raises no error: the column is only published
        wide = column.cast(pa.float32()) if pa.types.is_float16(kind) else column
        column = pc.if_else(pc.is_finite(wide), wide, pa.scalar(None, wide.type))
    try:
        return encode_column(name, column, required=False).codes
    except (InputError, pa.ArrowException):
        return None


def singled_out(
    columns: Mapping[str, Codes | None],
    owners: Codes,
    *,
    members: int,
    people: bool = False,
    classes: Codes | None = None,
) -> SingledOut:
    """Return the members who are unique on columns, given as codes; `owners` has the member of each entry, from 0.

    `classes` has the equivalence class of each entry. An entry for several rows has a negative owner and makes no
    member unique. Columns that are None cannot be compared, so that any member may be unique on them.

    >>> codes = {"cost": np.array([0, 1, 2, 2]), "ward": np.array([0, 0, 1, 0])}
    >>> found = singled_out(codes, np.arange(4), members=4)
    >>> found.least, found.exact, dict(found.by_columns)
    (4, True, {('cost',): 2, ('cost', 'ward'): 4, ('ward',): 1})
    >>> found = singled_out({"ward": np.array([0, 0, 1, 1])}, np.arange(4), members=4, classes=np.array([0, 1, 0, 1]))
    >>> found.least, found.by_columns == {(CLASS, "ward"): 4}
    (4, True)
    """
    counting = _Counting(columns, owners, people=people, classes=classes)
    alone = counting.alone_on(*counting.names, with_class=True)
    least = counting.members(alone)
    whole = least == members or len(counting.names) == len(columns)
    by_columns, counted = _explain(counting, alone) if least else ({}, 1)
    return SingledOut(
        "people" if people else "rows",
        members,
        tuple(columns),
        least,
        least if whole else members,
        by_columns,
        counted,
        _number_of_sets(len(columns), with_class=classes is not None),
    )


def _number_of_sets(columns: int, *, with_class: bool) -> int:
    """Return the number of sets: columns, pairs, and all together, each without and with the class."""
    return (columns * (columns + 1) // 2 + (columns > 2)) * (1 + with_class)


def _explain(counting: "_Counting", alone: Mask) -> tuple[dict[Key, int], int]:
    """Return the sets of columns with the most of the `alone` members, and the number of sets that were counted.

    Columns come first, then pairs until every entry that is alone is explained, then all columns together.
    """
    sets = _Sets(counting)
    kinds = (False, True) if counting.classes is not None else (False,)
    for with_class in kinds:
        for name in counting.names:
            sets.add((name,), counting.alone_on(name, with_class=with_class), with_class=with_class)
    pairs = counting.chosen()
    for with_class in kinds:
        for run in counting.runs_of_pairs(pairs, with_class=with_class):
            if not (alone > sets.union).any():
                break
            count = partial(counting.alone_on_pair, with_class=with_class)
            masks = spread(count, run, rows=len(alone), weight=len(run))
            for pair, mask in zip(run, masks, strict=True):
                sets.add(counting.in_order(*pair), mask, with_class=with_class)
    if len(counting.names) > 2:
        every = counting.in_order(*counting.names)
        if counting.classes is not None:
            sets.add(every, counting.alone_on(*counting.names), with_class=False)
        sets.add(every, alone, with_class=counting.classes is not None)
    return most_telling(sets.alone), sets.counted


class _Sets:
    """Sets of columns during counting: the unique members of each, and the entries that are unique on any of them."""

    def __init__(self, counting: "_Counting") -> None:
        self.counting = counting
        self.alone: dict[Key, int] = {}
        self.single: dict[Key, Mask] = {}
        self.union = self.plain = np.zeros(
            len(counting.owners), dtype=bool
        )  # on any set, and on sets without the class
        self.counted = 0

    def add(self, names: Key, mask: Mask, *, with_class: bool) -> None:
        """Add a set and its unique entries; it is kept unless a part of it explains all of them."""
        key = (CLASS, *names) if with_class else names
        parts = [part for part in parts_of_set(key) if part in self.single]
        known = np.logical_or.reduce([np.zeros(len(mask), dtype=bool), *(self.single[part] for part in parts)])
        if len(names) > 2:
            known = self.union if with_class else self.plain
        if (mask > known).any():
            self.alone[key] = self.counting.members(mask)
        if len(names) == 1:
            self.single[key] = mask
        self.union = self.union | mask
        self.plain = self.plain if with_class else self.plain | mask
        self.counted += 1


def parts_of_set(key: Key) -> list[Key]:
    """Return the single columns of a set, each with the class where the set is counted with it.

    >>> parts_of_set(("a", "b"))
    [('a',), ('b',)]
    """
    names = without_class(key)
    plain = [(name,) for name in names if len(key) > 1]
    return plain + ([(CLASS, name) for name in names if len(names) > 1] if CLASS in key else [])


def count_apart(
    columns: Sequence[str],
    rows: int,
    once: Callable[[Sequence[str]], int],
    *,
    classes: Sequence[str] = (),
    finer: Collection[str] = (),
) -> SingledOut:
    """Count unique members where each set of columns is counted by a query; `once` returns the unique rows of a set.

    `classes` are the columns that identify equivalence classes. All columns together are counted first. In `finer`
    columns the query distinguishes more values than this module, such as zeros of both signs: with them its count is
    only an upper bound, and the lower bound is counted without them.

    >>> counts = {("a",): 1, ("b",): 0, ("a", "b"): 3}
    >>> found = count_apart(["a", "b"], 9, lambda names: counts[tuple(names)])
    >>> found.least, found.most, dict(found.by_columns)
    (3, 3, {('a', 'b'): 3, ('a',): 1})
    """
    every = tuple(columns)
    counted: dict[Key, int] = {}

    def count(names: Key, *, with_class: bool = False) -> int:
        key = (CLASS, *names) if with_class else names
        if key not in counted:
            counted[key] = once((*(name for name in classes if with_class), *names))
        return counted[key]

    kinds = (False, True) if classes else (False,)
    least = most = count(every, with_class=bool(classes))
    if most and {*every, *classes} & {*finer}:
        alike = [name for name in (*classes, *every) if name not in finer]
        least = once(alike) if alike else 0
    if most:
        for with_class in kinds:
            for name in columns:
                count((name,), with_class=with_class)
            count(every, with_class=with_class)
        pairs = sorted(combinations(columns, 2), key=lambda pair: -sum(counted[(name,)] for name in pair))
        reached = any(counted.get(key, 0) == most for key in counted if len(without_class(key)) == 1)
        for pair in [] if reached else pairs[: MAX_ROW_PAIRS_BY_QUERY // max(rows * len(kinds), 1)]:
            for with_class in kinds:
                count(pair, with_class=with_class)
    parts = {key: max((counted.get(part, 0) for part in parts_of_set(key)), default=0) for key in counted}
    beyond_parts = {key: number for key, number in counted.items() if number > parts[key]}
    exact = {key: n for key, n in beyond_parts.items() if not {*key, *(classes if CLASS in key else ())} & {*finer}}
    sets = _number_of_sets(len(every), with_class=bool(classes))
    return SingledOut("rows", rows, every, least, most, most_telling(exact), len(counted), sets)


def most_telling(alone: Mapping[Key, int]) -> dict[Key, int]:
    """Return the sets with the most unique members, not counting members who are unique on a part of the set."""

    def gain(item: tuple[Key, int]) -> tuple[int, int]:
        key, count = item
        names, parts = without_class(key), parts_of_set(key)
        if len(names) > 2:
            parts = [other for other in alone if CLASS in key or CLASS not in other]
        return max((alone.get(part, 0) for part in (*parts, names) if part != key), default=0) - count, len(key)

    ordered = sorted(alone.items(), key=gain)
    return dict([(key, count) for key, count in ordered if count][:MAX_SETS_REPORTED])


class _Counting:
    """Columns as codes, and the class of each entry, from which unique members are counted.

    Columns with the most values come first: where there are too many pairs, theirs are counted.
    """

    def __init__(
        self, columns: Mapping[str, Codes | None], owners: Codes, *, people: bool, classes: Codes | None
    ) -> None:
        codes = {name: each for name, each in columns.items() if each is not None}
        self.sizes = {name: int(each.max(initial=0)) + 1 for name, each in codes.items()}
        self.names = sorted(codes, key=lambda name: -self.sizes[name])
        self.codes, self.owners, self.people, self.classes = codes, owners.astype(np.int32), people, classes
        # Codes of the first column of the current pairs, joined with the class or not, and rows grouped by them.
        self.outer: tuple[Codes, int] = (owners, 0)
        self.grouping: Grouping | None = None

    def chosen(self) -> list[str]:
        """The columns whose pairs are counted."""
        names, rows = self.names, max(len(self.owners), 1) * (1 if self.classes is None else 2)
        while len(names) > 1 and rows * len(names) * (len(names) - 1) // 2 > MAX_ROW_PAIRS:
            names = names[:-1]
        return names

    def members(self, entries: Mask) -> int:
        """Return the number of members of some entries."""
        if not self.people:
            return int(np.count_nonzero(entries))
        return int(np.count_nonzero(np.bincount(self.owners[entries])))

    def alone_on(self, *names: str, with_class: bool = False) -> Mask:
        """Return which entries are unique on some columns, together with the class if requested."""
        columns, sizes = [self.codes[name] for name in names], [self.sizes[name] for name in names]
        if with_class and self.classes is not None:
            columns, sizes = [self.classes, *columns], [int(self.classes.max(initial=0)) + 1, *sizes]
        alone = np.zeros(len(self.owners), dtype=bool)
        if len(alone) and columns:
            grouping = group_rows(columns, sizes)
            own, starts = self.owners[grouping.order], grouping.starts[:-1]
            lowest, highest = (reduce.reduceat(own, starts) for reduce in (np.minimum, np.maximum))
            alone[grouping.order] = np.repeat((lowest == highest) & (lowest >= 0), grouping.counts)
        return alone

    def runs_of_pairs(self, names: Sequence[str], *, with_class: bool = False) -> Iterator[list[tuple[str, str]]]:
        """Yield all pairs of columns in lists of a few that share their first column."""
        for first, outer in enumerate(names[:-1]):
            self.outer, self.grouping = self._codes_of_outer(outer, with_class=with_class), None
            for start in range(first + 1, len(names), PAIRS_PER_CHECK):
                yield [(outer, inner) for inner in names[start : start + PAIRS_PER_CHECK]]

    def _codes_of_outer(self, name: str, *, with_class: bool) -> tuple[Codes, int]:
        """Return the codes of the first column of pairs, joined with the class if requested, and their number."""
        codes, size = self.codes[name], self.sizes[name]
        if not with_class or self.classes is None or not is_large(len(codes)):
            return codes, size
        joined = group_rows([self.classes, codes], [int(self.classes.max(initial=0)) + 1, size])
        return joined.group_ids(), len(joined)

    def alone_on_pair(self, pair: tuple[str, str], *, with_class: bool = False) -> Mask:
        """Return which entries are unique on two columns, together with the class if requested."""
        outer, inner = pair
        if not is_large(len(self.owners)):
            return self.alone_on(outer, inner, with_class=with_class)
        (one, own), two, size = self.outer, self.codes[inner], self.sizes[inner]
        alone = np.zeros(len(self.owners), dtype=bool)
        if own * size <= MAX_TABLE_ENTRIES:
            owner_of = np.full(own * size, -2, dtype=np.int32)
            _kernels.mark_alone_by_table(one, two, size, owner_of, self.owners, alone)
            return alone
        grouping = self.grouping = self.grouping or group_rows([one], [own])
        _kernels.mark_alone(grouping.order, grouping.starts, two, size, self.owners, alone)
        return alone

    def in_order(self, *names: str) -> Key:
        """Return columns in the order of the table."""
        return tuple(name for name in self.codes if name in names)


NEARLY_UNIQUE = 0.5
"""Share of rows with a unique value from which a column is nearly unique.

From one half on, an attacker who knows a person's value is more likely than not to have found that person's row.
"""
# With fewer rows a share means little: a handful of costs always differ.
MIN_ROWS_FOR_SHARE = 20
# Sample size with which larger tables are checked first.
SAMPLE_ROWS = 10_000
# A value that is unique in the table is unique in a sample. This is ten standard deviations below NEARLY_UNIQUE.
MIN_SHARE_IN_SAMPLE = 0.9 * NEARLY_UNIQUE


def is_nearly_unique(alone: int, rows: int) -> bool:
    """Return whether this number of rows with a unique value makes a column nearly unique.

    >>> is_nearly_unique(3871, 4000), is_nearly_unique(30, 4000), is_nearly_unique(5, 5)
    (True, False, False)
    """
    return rows >= MIN_ROWS_FOR_SHARE and alone >= NEARLY_UNIQUE * rows


def rows_alone(column: pa.ChunkedArray) -> int:
    """Return the number of rows with a unique value; 0 where a sample shows that they are few.

    Missing is no value. Lists, other nested types and intervals of time are not counted.
    """
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return 0
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):  # Arrow cannot hash or sort cells of these
        column = column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    positions = sample_of(len(column))
    if len(positions) < len(column) and _alone(column.take(pa.array(positions))) < MIN_SHARE_IN_SAMPLE * len(positions):
        return 0
    return _alone(column)


def vectors_alone(columns: Sequence[Codes], counts: Codes, *, missing: bool = False) -> int:
    """Return the number of rows with a unique vector of codes; 0 where a sample shows that they are few.

    Entry `i` counts as `counts[i]` rows, and a vector may have several entries. With a single column, code 0 may be
    `missing`, which is no value.
    """
    rows, sizes = int(counts.sum()), [int(column.max(initial=0)) + 1 for column in columns]
    if math.prod(sizes) < NEARLY_UNIQUE * rows:
        return 0
    positions = sample_of(len(counts))
    if len(positions) < len(counts):
        likely = _vectors_alone([column[positions] for column in columns], counts[positions], sizes, missing=missing)
        if likely / len(positions) * len(counts) < MIN_SHARE_IN_SAMPLE * rows:
            return 0
    return _vectors_alone(columns, counts, sizes, missing=missing)


def _vectors_alone(columns: Sequence[Codes], counts: Codes, sizes: Sequence[int], *, missing: bool) -> int:
    """Count the unique rows of several columns; rows counted several times are not unique."""
    words, _ = pack(columns, sizes)
    several = words[counts > 1]
    nothing = np.zeros(2 if missing else 0, dtype=words.dtype)  # the code of missing is then never unique
    words = np.concatenate([words, several, nothing])
    return _singles(np.sort(words))


def sample_of(rows: int) -> Codes:
    """Return the indices of a sample of the rows, of all rows if they are few."""
    if rows <= 2 * SAMPLE_ROWS:
        return np.arange(rows)
    step = rows // SAMPLE_ROWS
    # One row of every stretch, so that a pattern in the order of rows is not hit each time.
    return np.arange(SAMPLE_ROWS) * step + np.random.default_rng(1).integers(0, step, SAMPLE_ROWS)


def _alone(column: pa.ChunkedArray) -> int:
    """Count the values of a column that occur once."""
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        return _alone_in_dictionaries(column)
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        cells = column.drop_null().to_numpy()
        # NaN is unequal to everything. Sorting is far faster than hashing values that rarely repeat.
        return _singles(np.sort(cells[cells == cells]))
    return _once(column.drop_null().value_counts().field("counts").to_numpy())


def _alone_in_dictionaries(column: pa.ChunkedArray) -> int:
    """Count the values of a dictionary column that occur once."""
    (first, *more) = column.chunks or [pa.array([], column.type)]
    if not more and len(first.dictionary.unique()) == len(first.dictionary) and not first.dictionary.null_count:
        cells = first.indices.drop_null().to_numpy(zero_copy_only=False)
        return _once(np.bincount(cells, minlength=len(first.dictionary)))
    distinct = from_dictionary(column)
    counts = np.zeros(len(distinct.values) + 1, dtype=np.int64)
    for cells, positions in zip(distinct.chunks, distinct.places, strict=True):
        counts += np.bincount(positions[cells] + 1, minlength=len(counts))
    return _once(counts[1:])


def _singles(ordered: Codes) -> int:
    """Return the number of entries of a sorted array that differ from both neighbors."""
    fresh = np.ones(len(ordered) + 1, dtype=bool)
    fresh[1:-1] = ordered[1:] != ordered[:-1]
    return int((fresh[1:] & fresh[:-1]).sum())


def _once(counts: Codes) -> int:
    return int((counts == 1).sum())
