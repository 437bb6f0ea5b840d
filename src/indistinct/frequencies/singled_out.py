"""Members whom one or two columns single out: each column and each pair is counted as it stands in the table.

Nothing is recoded here. Missing is a value, as in every other count. A member is a row, or a person where people are
told apart; one is alone on some columns if nobody else has the same values in them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import Grouping, encode_column, from_dictionary, group_rows, pack
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, is_large, spread

MOST_WORK = 1_000_000_000
"""Rows times pairs of columns that are looked at. Of more, the pairs of columns with the most values are."""
MOST_CELLS = 20_000_000
"""An engine beyond memory gives so many cells at once; of more it counts column by column and pair by pair."""
MOST_COUNTED = 200_000_000
"""Rows times pairs that such an engine counts one by one."""
LARGEST_TABLE = 1 << 21
"""Pairs of values up to which a table of all of them is faster than a sort."""
TOGETHER = 4
"""Pairs that are looked at before anybody asks whether everybody is alone by now."""
REPORTED = 10
"""Sets of columns that are named, those that single out most first."""


@dataclass(frozen=True, slots=True)
class SingledOut:
    """The number of members who are alone on one or two of some columns: between `least` and `most` of all `members`.

    Both are the same where every pair was counted for everybody together. `by_columns` are the sets that single out
    most, a pair only if it singles out somebody whom neither of its columns does. `counted` of `sets` sets were looked
    at.
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
        """Whether it is known exactly how many are singled out."""
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
                {"columns": list(names), "alone": alone, "share": self.share(alone)}
                for names, alone in self.by_columns.items()
            ],
            "counted_sets": self.counted,
            "possible_sets": self.sets,
        }


def codes_of(name: str, column: pa.ChunkedArray) -> Codes | None:
    """Return a column as codes from 0, None for a type whose values cannot be compared."""
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return None
    if pa.types.is_floating(kind):  # what is no number is missing here, and no error: the column is only published
        wide = column.cast(pa.float32()) if pa.types.is_float16(kind) else column
        column = pc.if_else(pc.is_finite(wide), wide, pa.scalar(None, wide.type))
    try:
        return encode_column(name, column, required=False).codes
    except (InputError, pa.ArrowException):
        return None


def singled_out(
    columns: Mapping[str, Codes | None], owners: Codes, *, members: int, people: bool = False
) -> SingledOut:
    """Return whom one or two columns single out, given as codes; `owners` say whose each entry is, from 0.

    An entry that stands for several rows has a negative owner, and singles out nobody. Columns that are None were not
    counted, so that anybody may be alone on them.

    >>> codes = {"cost": np.array([0, 1, 2, 2]), "ward": np.array([0, 0, 1, 0])}
    >>> found = singled_out(codes, np.arange(4), members=4)
    >>> found.least, found.exact, dict(found.by_columns)
    (4, True, {('cost',): 2, ('cost', 'ward'): 4, ('ward',): 1})
    """
    counting = _Counting(columns, owners, people=people)
    names, complete = counting.chosen(), len(counting.names) == len(columns)
    single = {name: counting.alone_on(name) for name in counting.names}
    union = np.logical_or.reduce([np.zeros(len(owners), dtype=bool), *single.values()])
    alone: dict[Key, int] = {(name,): counting.members(mask) for name, mask in single.items()}
    looked_at = len(single)
    for pairs in counting.runs_of_pairs(names):
        if union.all():
            break
        masks = spread(counting.alone_on_pair, pairs, rows=len(owners), weight=len(pairs))
        for (one, other), mask in zip(pairs, masks, strict=True):
            # A pair is worth telling if it singles out somebody whom none of its columns does.
            if (mask > (single[one] | single[other])).any():
                alone[counting.in_order(one, other)] = counting.members(mask)
            union |= mask
        looked_at += len(pairs)
    least = counting.members(union)
    whole = least == members or (complete and len(names) == len(counting.names))
    every = len(columns) * (len(columns) + 1) // 2
    most = least if whole else members
    unit = "people" if people else "rows"
    return SingledOut(unit, members, tuple(columns), least, most, _most(alone), looked_at, every)


def count_apart(columns: Sequence[str], rows: int, once: Callable[[Sequence[str]], int]) -> SingledOut:
    """Return whom one or two columns single out where each set is counted apart: `once` counts the rows alone on one.

    At least as many are alone as on the best set, and at most as many as on all sets together.

    >>> found = count_apart(["a", "b"], 9, lambda names: {("a",): 1, ("b",): 0, ("a", "b"): 3}[tuple(names)])
    >>> found.least, found.most
    (3, 4)
    """
    alone: dict[Key, int] = {(name,): once([name]) for name in columns}
    pairs = sorted(combinations(columns, 2), key=lambda pair: -sum(alone[(name,)] for name in pair))
    everybody = max(alone.values(), default=0) == rows
    looked_at = [] if everybody else pairs[: MOST_COUNTED // max(rows, 1)]
    alone |= {pair: once(pair) for pair in looked_at}
    least = max(alone.values(), default=0)
    whole = everybody or len(looked_at) == len(pairs)
    most = min(sum(alone.values()), rows) if whole and not everybody else rows
    told = {key: count for key, count in alone.items() if len(key) == 1 or count > max(alone[(name,)] for name in key)}
    return SingledOut("rows", rows, tuple(columns), least, most, _most(told), len(alone), len(columns) + len(pairs))


def _most(alone: Mapping[Key, int]) -> dict[Key, int]:
    """Return the sets that single out most; of a pair those count whom none of its columns singles out."""

    def weight(item: tuple[Key, int]) -> tuple[int, int]:
        names, count = item
        known = max(alone.get((name,), 0) for name in names) if len(names) > 1 else 0
        return known - count, len(names)

    ordered = sorted(alone.items(), key=weight)
    return dict([(names, count) for names, count in ordered if count][:REPORTED])


class _Counting:
    """Columns as codes, while members are looked for who are alone on them.

    Columns with the most values come first: where there are too many pairs, theirs are looked at.
    """

    def __init__(self, columns: Mapping[str, Codes | None], owners: Codes, *, people: bool) -> None:
        codes = {name: each for name, each in columns.items() if each is not None}
        self.sizes = {name: int(each.max(initial=0)) + 1 for name, each in codes.items()}
        self.names = sorted(codes, key=lambda name: -self.sizes[name])
        self.codes, self.owners, self.people = codes, owners.astype(np.int32), people
        self.grouping: Grouping | None = None  # the rows by the first column of the pairs that are looked at

    def chosen(self) -> list[str]:
        """Return the columns whose pairs are looked at."""
        names, rows = self.names, max(len(self.owners), 1)
        while len(names) > 1 and rows * len(names) * (len(names) - 1) // 2 > MOST_WORK:
            names = names[:-1]
        return names

    def members(self, entries: Codes) -> int:
        """Return how many members some entries are."""
        if not self.people:
            return int(np.count_nonzero(entries))
        return int(np.count_nonzero(np.bincount(self.owners[entries])))

    def alone_on(self, *names: str) -> Codes:
        """Return which entries have values in some columns that nobody else has."""
        grouping = group_rows([self.codes[name] for name in names], [self.sizes[name] for name in names])
        own, starts = self.owners[grouping.order], grouping.starts[:-1]
        alone = np.zeros(len(own), dtype=bool)
        if len(own):
            lowest, highest = (reduce.reduceat(own, starts) for reduce in (np.minimum, np.maximum))
            alone[grouping.order] = np.repeat((lowest == highest) & (lowest >= 0), grouping.counts)
        return alone

    def runs_of_pairs(self, names: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
        """Yield all pairs of columns, a few that share their first one at a time."""
        for first, outer in enumerate(names):
            self.grouping = None
            for start in range(first + 1, len(names), TOGETHER):
                yield [(outer, inner) for inner in names[start : start + TOGETHER]]

    def alone_on_pair(self, pair: tuple[str, str]) -> Codes:
        """Return which entries have values in two columns that nobody else has."""
        outer, inner = pair
        if not is_large(len(self.owners)):
            return self.alone_on(outer, inner)
        one, two, size = self.codes[outer], self.codes[inner], self.sizes[inner]
        alone = np.zeros(len(self.owners), dtype=bool)
        if self.sizes[outer] * size <= LARGEST_TABLE:
            owner_of = np.full(self.sizes[outer] * size, -2, dtype=np.int32)
            _kernels.mark_alone_by_table(one, two, size, owner_of, self.owners, alone)
            return alone
        grouping = self.grouping = self.grouping or group_rows([one], [self.sizes[outer]])
        _kernels.mark_alone(grouping.order, grouping.starts, two, size, self.owners, alone)
        return alone

    def in_order(self, *names: str) -> Key:
        """Return columns as they stand in the table."""
        return tuple(name for name in self.codes if name in names)


NEARLY_UNIQUE = 0.5
"""Share of rows with a value of their own from which a column is nearly unique.

From half on, whoever knows somebody's value is more likely than not to have found one row.
"""
# Of fewer rows, a share says little: a handful of costs always differ.
ENOUGH_ROWS = 20
# Of larger tables so many rows are looked at first.
SAMPLE = 10_000
# What is alone in the table is alone in a sample. This is ten deviations of chance below the share that matters.
LIKELY = 0.9 * NEARLY_UNIQUE


def is_nearly_unique(alone: int, rows: int) -> bool:
    """Return whether so many rows with a value of their own make a column nearly unique.

    >>> is_nearly_unique(3871, 4000), is_nearly_unique(30, 4000), is_nearly_unique(5, 5)
    (True, False, False)
    """
    return rows >= ENOUGH_ROWS and alone >= NEARLY_UNIQUE * rows


def rows_alone(column: pa.ChunkedArray) -> int:
    """Return how many rows have a value that no other row has; 0 where a sample shows that they are few.

    Missing is no value. Lists and the like, and intervals of time, are not looked at.
    """
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return 0
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):  # Arrow cannot take cells of these
        column = column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    places = sample_of(len(column))
    if len(places) < len(column) and _alone(column.take(pa.array(places))) < LIKELY * len(places):
        return 0
    return _alone(column)


def vectors_alone(columns: Sequence[Codes], counts: Codes, *, missing: bool = False) -> int:
    """Return how many rows have a vector of codes that no other row has; 0 where a sample shows that they are few.

    Entry `i` stands for `counts[i]` rows, and a vector may have several entries. Of one column, code 0 may be
    `missing`, which is no value.
    """
    rows, sizes = int(counts.sum()), [int(column.max(initial=0)) + 1 for column in columns]
    if math.prod(sizes) < NEARLY_UNIQUE * rows:
        return 0
    places = sample_of(len(counts))
    if len(places) < len(counts):
        likely = _vectors_alone([column[places] for column in columns], counts[places], sizes, missing=missing)
        if likely / len(places) * len(counts) < LIKELY * rows:
            return 0
    return _vectors_alone(columns, counts, sizes, missing=missing)


def _vectors_alone(columns: Sequence[Codes], counts: Codes, sizes: Sequence[int], *, missing: bool) -> int:
    words, _ = pack(columns, sizes)
    several = words[counts > 1]
    nothing = np.zeros(2 if missing else 0, dtype=words.dtype)  # the code of missing is never alone then
    words = np.concatenate([words, several, nothing])
    return _singles(np.sort(words))


def sample_of(rows: int) -> Codes:
    """Return the places of a sample, of all rows where they are not many."""
    if rows <= 2 * SAMPLE:
        return np.arange(rows)
    step = rows // SAMPLE
    # One of every stretch, so that nothing that repeats in the order of rows is met each time.
    return np.arange(SAMPLE) * step + np.random.default_rng(1).integers(0, step, SAMPLE)


def _alone(column: pa.ChunkedArray) -> int:
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        return _alone_in_dictionaries(column)
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        cells = column.drop_null().to_numpy()
        # What is not a number equals nothing. Sorting is far faster than to hash what hardly repeats.
        return _singles(np.sort(cells[cells == cells]))
    return _once(column.drop_null().value_counts().field("counts").to_numpy())


def _alone_in_dictionaries(column: pa.ChunkedArray) -> int:
    (first, *more) = column.chunks or [pa.array([], column.type)]
    if not more and len(first.dictionary.unique()) == len(first.dictionary) and not first.dictionary.null_count:
        cells = first.indices.drop_null().to_numpy(zero_copy_only=False)
        return _once(np.bincount(cells, minlength=len(first.dictionary)))
    distinct = from_dictionary(column)
    counts = np.zeros(len(distinct.values) + 1, dtype=np.int64)
    for cells, places in zip(distinct.chunks, distinct.places, strict=True):
        counts += np.bincount(places[cells] + 1, minlength=len(counts))
    return _once(counts[1:])


def _singles(ordered: Codes) -> int:
    """Return how many entries of a sorted array equal none of their neighbours."""
    fresh = np.ones(len(ordered) + 1, dtype=bool)
    fresh[1:-1] = ordered[1:] != ordered[:-1]
    return int((fresh[1:] & fresh[:-1]).sum())


def _once(counts: Codes) -> int:
    return int((counts == 1).sum())
