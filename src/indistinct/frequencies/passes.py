"""What a pass over rows counts about open parts.

The counts of one batch, and how those of several batches are merged.

Rows are keys (`KeyColumn`), parts are leaves of a tree of cuts. Nothing here depends on where batches come from, so
that engines may count them one after another, or in parallel, and merge the results.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError, UnseenValueError
from indistinct.frequencies.encode import check_finite
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, Mask, run_starts, starts_of
from indistinct.tables.dictionaries import share_dictionary
from indistinct.tables.domain import Domain, plain_column

NO_PART = -1
"""The part of a row that belongs to no open part."""


@dataclass(frozen=True, slots=True, eq=False)
class KeySets:
    """Sets of keys at which nodes of a tree are cut: keys in the set go to the left child, all others to the right.

    `of_node` is the set of each node, -1 for none; `members` has the keys of set `i` from `starts[i]` on, ascending.
    """

    of_node: Codes
    starts: Codes
    members: Codes

    @classmethod
    def of(cls, sets: Mapping[int, Codes], nodes: int) -> "KeySets | None":
        """Pack the sets of a tree of `nodes` nodes: number of a node -> keys that go left; None if no node has one."""
        if not sets:
            return None
        of_node = np.full(nodes, -1, dtype=np.int64)
        of_node[list(sets)] = np.arange(len(sets))
        own = [each.astype(np.uint64) for each in sets.values()]
        return cls(of_node, starts_of([len(each) for each in own]), np.concatenate(own))

    def hold(self, nodes: Codes, keys: Codes) -> Mask:
        """Return whether each key is in the set of its node, which must have one."""
        # The key of a value outside the domain is beyond all members, and may be beyond what a word holds times nodes.
        size = np.uint64(1 + int(self.members.max(initial=0)))
        owners = np.repeat(np.arange(len(self.starts) - 1, dtype=np.uint64), np.diff(self.starts))
        known = owners * size + self.members
        wanted = self.of_node[nodes].astype(np.uint64) * size + np.minimum(keys, size - np.uint64(1))
        return (keys < size) & (known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted)

    def is_sound(self, axis: Codes, sizes: Sequence[int | None]) -> bool:
        """Return whether every set belongs to one node and has some keys of the node's column, which ascend.

        `axis` has the column of each node, -1 for leaves; `sizes` the number of keys of each column, None for a column
        that is never cut at sets.
        """
        arrays = (self.of_node, self.starts, self.members)
        if not all(each.dtype.kind in "iu" and each.ndim == 1 for each in arrays) or len(self.of_node) != len(axis):
            return False
        nodes = np.flatnonzero(self.of_node != -1)
        sets = len(nodes)
        if len(self.starts) != sets + 1 or not np.array_equal(np.sort(self.of_node[nodes]), np.arange(sets)):
            return False
        runs = self.starts[0] == 0 and self.starts[-1] == len(self.members) and (np.diff(self.starts) > 0).all()
        if not runs or (axis[nodes] < 0).any():
            return False
        most = np.empty(sets, dtype=np.int64)
        most[self.of_node[nodes]] = [sizes[column] or 0 for column in axis[nodes].tolist()]
        members = self.members.astype(np.float64)  # forged members may have any type
        rises = np.diff(members, prepend=-1.0) > 0
        rises[self.starts[:-1]] = True
        inside = (members >= 0) & (members < np.repeat(most, np.diff(self.starts)))
        return bool(rises.all() and inside.all())


@dataclass(frozen=True, slots=True, eq=False)
class KeyTree:
    """A tree of cuts over keys: an inner node sends keys up to `cut` to its left child, others to its right child.

    A node with one of the `sets` sends the keys of that set to its left child. A leaf has axis -1 and in `left` the
    number of its part, or -1 (no open part).
    """

    axis: Codes
    cut: Codes
    left: Codes
    right: Codes
    sets: KeySets | None = None

    def parts_of(self, keys: Codes) -> Codes:
        """Return the part of every row of a matrix of keys; all rows go down one level of the tree at a time."""
        nodes, moving = np.zeros(len(keys), dtype=np.intp), np.arange(len(keys))
        moving = moving[self.axis[nodes] >= 0]
        while len(moving):
            here = nodes[moving]
            own = keys[moving, self.axis[here]]
            goes_left = own <= self.cut[here]
            if self.sets is not None and (by_set := self.sets.of_node[here] >= 0).any():
                goes_left[by_set] = self.sets.hold(here[by_set], own[by_set])
            below = np.where(goes_left, self.left[here], self.right[here])
            nodes[moving] = below
            moving = moving[self.axis[below] >= 0]
        return self.left[nodes].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The bucket of a key, by part and column: `(key - low) >> shift`, which is below `buckets`."""

    low: Codes
    shift: Codes
    buckets: int

    @classmethod
    def between(cls, low: Codes, high: Codes, buckets: int) -> "Scale":
        """Return the scale that divides the keys between these bounds into at most `buckets`, a power of two."""
        free_bits = buckets.bit_length() - 1
        shift = [max(int(width).bit_length() - free_bits, 0) for width in (high - low).ravel().tolist()]
        return cls(low, np.array(shift, dtype=np.uint64).reshape(low.shape), buckets)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """For each part its rows; for each of its columns the smallest and largest key, and the rows of each bucket."""

    rows: Codes
    low: Codes
    high: Codes
    counts: Codes

    def plus(self, other: "Survey") -> "Survey":
        """Return the survey of two batches together."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Survey(self.rows + other.rows, low, high, self.counts + other.counts)


def survey_rows(keys: Codes, tree: KeyTree, scale: Scale) -> Survey:
    """Return the survey of one batch."""
    rows, order, starts, owners = _by_part(tree.parts_of(keys), len(scale.low))
    parts, columns = scale.low.shape
    low = np.full((parts, columns), LAST_KEY, dtype=np.uint64)
    high = np.zeros((parts, columns), dtype=np.uint64)
    counts = np.zeros((columns, parts, scale.buckets), dtype=np.int64)
    present = np.flatnonzero(rows)
    for column in range(columns) if len(order) else ():
        some = keys[order, column]
        low[present, column] = np.minimum.reduceat(some, starts)
        high[present, column] = np.maximum.reduceat(some, starts)
        bucket = (some - scale.low[owners, column]) >> scale.shift[owners, column]
        words = owners * scale.buckets + bucket.astype(np.int64)
        counts[column] = np.bincount(words, minlength=parts * scale.buckets).reshape(parts, -1)
    return Survey(rows, low, high, counts)


@dataclass(frozen=True, slots=True, eq=False)
class ValueTally:
    """The number of rows with each value of each owner, ascending by owner and then by value."""

    owners: Codes
    values: Codes
    counts: Codes

    @classmethod
    def of(cls, owners: Codes, values: Codes, counts: Codes | None = None) -> "ValueTally":
        """Count pairs of owner and value, each once or `counts` times."""
        order = np.lexsort((values, owners))
        owners, values = owners[order], values[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
        starts = np.flatnonzero(fresh)
        ends = np.append(starts, len(order))
        sums = np.diff(ends) if counts is None else np.diff(starts_of(counts[order])[ends])
        return cls(owners[starts], values[starts], sums.astype(np.int64))

    @classmethod
    def merged(cls, tallies: Sequence["ValueTally"]) -> "ValueTally":
        """Return the tally of several batches together."""
        if len(tallies) == 1:
            return tallies[0]
        parts = ("owners", "values", "counts")
        return cls.of(*(np.concatenate([getattr(tally, part) for tally in tallies]) for part in parts))

    def of_owner(self, owner: int) -> tuple[Codes, Codes]:
        """Return the values of one owner, and the count of each."""
        first, last = np.searchsorted(self.owners, [owner, owner + 1])
        return self.values[first:last], self.counts[first:last]


@dataclass(frozen=True, slots=True, eq=False)
class KeyRanges:
    """One range of keys in each part, along one column, and the number of low bits that are ignored in it."""

    column: Codes
    low: Codes
    high: Codes
    shift: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The rows in a range of each part, by bucket `(key - low) >> shift`; and the largest key before the range.

    `led` is False where there is none.
    """

    tally: ValueTally
    before: Codes
    led: Codes

    @staticmethod
    def merged(several: Sequence["Within"]) -> "Within":
        """Return the counts of several batches together."""
        before = np.maximum.reduce([each.before for each in several])
        led = np.logical_or.reduce([each.led for each in several])
        return Within(ValueTally.merged([each.tally for each in several]), before, led)


def rows_within(keys: Codes, tree: KeyTree, ranges: KeyRanges) -> Within:
    """Count the rows of one batch whose key is in their part's range, by bucket; find the largest key before it.

    Passes narrow the range, bucket by bucket, until the median of each part is known.
    """
    rows, order, starts, owners = _by_part(tree.parts_of(keys), len(ranges.column))
    before, led = np.zeros(len(rows), dtype=np.uint64), np.zeros(len(rows), dtype=bool)
    some = keys[order, ranges.column[owners]]
    low = ranges.low[owners]
    inside, earlier = (some >= low) & (some <= ranges.high[owners]), some < low
    if len(order):
        present = np.flatnonzero(rows)
        before[present] = np.maximum.reduceat(np.where(earlier, some, np.uint64(0)), starts)
        led[present] = np.logical_or.reduceat(earlier, starts)
    buckets = (some[inside] - low[inside]) >> ranges.shift[owners[inside]]
    return Within(ValueTally.of(owners[inside], buckets), before, led)


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Where each part is to be divided along one column: a segment up to each of its ends, and one after the last.

    Part `i` has the ends `ends[starts[i]:starts[i + 1]]`, which ascend.
    """

    column: Codes
    starts: Codes
    ends: Codes

    @property
    def firsts(self) -> Codes:
        """Return the number of each part's first segment, and the number of all segments as the last entry."""
        return self.starts + np.arange(len(self.starts))


@dataclass(frozen=True, slots=True, eq=False)
class Segmented:
    """The rows of each segment, and the count of each value of a key in it."""

    sizes: Codes
    tallies: Mapping[Key, ValueTally]

    @staticmethod
    def merged(several: Sequence["Segmented"]) -> "Segmented":
        """Return the counts of several batches together."""
        sizes = np.sum([each.sizes for each in several], axis=0)
        keys = several[0].tallies
        return Segmented(sizes, {key: ValueTally.merged([each.tallies[key] for each in several]) for key in keys})


def rows_by_segment(keys: Codes, codes: Mapping[Key, Codes], tree: KeyTree, segments: Segments) -> Segmented:
    """Return the counts of one batch by segment; `codes` has the value of every row for some keys."""
    rows, order, starts, owners = _by_part(tree.parts_of(keys), len(segments.column))
    some, own = keys[order, segments.column[owners]], np.empty(len(order), dtype=np.int64)
    firsts, bounds = segments.firsts, np.append(starts, len(order))
    for index, part in enumerate(np.flatnonzero(rows).tolist()):
        run = slice(bounds[index], bounds[index + 1])
        ends = segments.ends[segments.starts[part] : segments.starts[part + 1]]
        own[run] = firsts[part] + np.searchsorted(ends, some[run])
    sizes = np.bincount(own, minlength=int(firsts[-1]))
    return Segmented(sizes, {key: ValueTally.of(own, each[order].astype(np.uint64)) for key, each in codes.items()})


@dataclass(frozen=True, slots=True, eq=False)
class SampledRows:
    """Some rows of a table as keys and codes: distinct rows with their counts."""

    keys: Codes
    codes: Mapping[Key, Codes]
    counts: Codes

    @classmethod
    def of(cls, keys: Codes, codes: Mapping[Key, Codes], counts: Codes) -> "SampledRows":
        """Return rows with equal ones merged."""
        rows = np.column_stack([keys, *(each.astype(np.uint64) for each in codes.values())])
        rows, owners = np.unique(rows, axis=0, return_inverse=True)
        counts = np.bincount(np.asarray(owners).ravel(), weights=counts, minlength=len(rows)).astype(np.int64)
        width = keys.shape[1]
        own = {key: rows[:, width + index].astype(np.int64) for index, key in enumerate(codes)}
        return cls(np.ascontiguousarray(rows[:, :width]), own, counts)

    @staticmethod
    def merged(several: Sequence["SampledRows"]) -> "SampledRows":
        """Return the sample of several batches together."""
        codes = {key: np.concatenate([each.codes[key] for each in several]) for key in several[0].codes}
        keys, counts = (np.concatenate([getattr(each, name) for each in several]) for name in ("keys", "counts"))
        return SampledRows.of(keys, codes, counts)


def sample_rows(keys: Codes, codes: Mapping[Key, Codes], limit: int) -> SampledRows:
    """Return the rows of a batch whose content hashes to at most a limit below 2^64.

    The sample depends neither on the order of rows nor on their partitions, so every engine draws the same one. Equal
    rows are in it together or not at all.
    """
    words: Codes = np.zeros(len(keys), dtype=np.uint64)
    for column in [*keys.T, *codes.values()]:
        words = _mix(words ^ column.astype(np.uint64))
    chosen = np.flatnonzero(words <= np.uint64(limit))
    some = {key: each[chosen] for key, each in codes.items()}
    return SampledRows.of(keys[chosen], some, np.ones(len(chosen), dtype=np.int64))


def _mix(words: Codes) -> Codes:
    """Return words mixed so that every bit depends on every bit of the input (splitmix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def keys_behind(keys: Codes, cuts: Sequence[Codes]) -> list[Codes]:
    """Return, by column, the smallest key of a batch after each of some cuts.

    Answers of several batches are merged by their minimum; `LAST_KEY` means that there is none.
    """
    keys_of_columns = []
    for index, own in enumerate(cuts):
        some = np.sort(keys[:, index]) if len(own) else keys[:0, index]
        first = np.searchsorted(some, own, side="right")
        keys_of_columns.append(np.append(some, LAST_KEY)[first])
    return keys_of_columns


def _by_part(parts: Codes, size: int) -> tuple[Codes, Codes, Codes, Codes]:
    """Return (rows of each part, rows of open parts in order, where each part with rows begins, owners)."""
    chosen = np.flatnonzero(parts >= 0)
    order = chosen[np.argsort(parts[chosen].astype(np.int32), kind="stable")]
    owners = parts[order]
    starts = run_starts(owners)[:-1] if len(order) else np.zeros(0, dtype=np.int64)
    return np.bincount(owners, minlength=size), order, starts, owners


MISSING_KEY = 0
"""The key of a missing value in a column without a domain: smaller than all others."""
SIGN = np.uint64(1 << 63)
LAST_KEY = np.uint64((1 << 64) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class KeyColumn:
    """A column as sort keys: the ranks of its codes where there is a `domain`, otherwise a bit pattern of each value.

    `kind` is the Arrow type of values in a domain. With `strange`, values outside the domain are allowed and get the
    last key instead of a rank. With `between`, a number between two known ones has the rank of the larger.

    >>> numbers = KeyColumn("height", pa.float64())
    >>> keys = numbers.keys(pa.chunked_array([[1.5, None, -0.0, 0.0, -2.0]]))
    >>> np.argsort(keys, kind="stable").tolist(), numbers.values(keys).to_pylist()
    ([1, 4, 2, 3, 0], [1.5, None, 0.0, 0.0, -2.0])
    """

    name: str
    kind: pa.DataType
    domain: Domain | None = None
    ranks: Codes | None = None
    strange: bool = False
    between: bool = False

    def keys(self, cells: pa.ChunkedArray) -> Codes:
        """Return the key of every cell; raise `UnseenValueError` for a value outside the domain."""
        if self.domain is not None and self.ranks is not None:
            try:
                return self.ranks[self.domain.encode(cells)].astype(np.uint64)
            except UnseenValueError as error:
                if not self.strange:
                    raise
                return self._keys_beside(cells, error.values)
        plain = plain_column(self.name, cells)
        numbers = plain.cast(_counting(self.kind))
        absent = numbers.is_null().to_numpy() if numbers.null_count else None
        plain_numbers = (numbers if absent is None else numbers.fill_null(0)).to_numpy()
        keys = self._ordered(plain_numbers)
        if not pa.types.is_floating(self.kind) and (keys == LAST_KEY).any():
            raise InputError(
                f"column {self.name!r} holds the largest number of its type, which leaves no room for missing values",
                hint="make such marks missing (null), or give the column another type",
                column=self.name,
            )
        keys += np.uint64(1)
        if absent is not None:
            keys[absent] = MISSING_KEY
        return keys

    def _keys_beside(self, cells: pa.ChunkedArray, strangers: Sequence[Any]) -> Codes:
        """Return the key of every cell, `LAST_KEY` for values outside the domain."""
        if self.domain is None or self.ranks is None:
            raise AssertionError("values are strange to a domain")
        plain = plain_column(self.name, cells)
        plain = plain.cast(plain.type.value_type) if isinstance(plain.type, pa.DictionaryType) else plain
        unknown = pc.is_in(plain, value_set=pa.array(strangers, plain.type)).to_numpy()
        keys = np.full(len(plain), LAST_KEY, dtype=np.uint64)
        keys[~unknown] = self.ranks[self.domain.encode(plain.filter(pa.array(~unknown)))]
        if self.between:
            bits, new = KeyColumn(self.name, self.kind), np.flatnonzero(unknown & plain.is_valid().to_numpy())
            known = bits.keys(pa.chunked_array([self.domain.values]))
            positions = np.searchsorted(known, bits.keys(plain.take(pa.array(new))))
            keys[new] = np.where(
                positions == len(known), LAST_KEY, (positions + int(self.domain.missing)).astype(np.uint64)
            )
        return keys

    def _ordered(self, numbers: Codes) -> Codes:
        """Return for each number 64 bits in the same order as the numbers."""
        if pa.types.is_unsigned_integer(self.kind):
            return numbers.astype(np.uint64)
        if not pa.types.is_floating(self.kind):
            return numbers.astype(np.int64).view(np.uint64) ^ SIGN
        if not np.isfinite(numbers).all():
            check_finite(self.name, numbers)
        bits = (numbers + 0.0).view(np.int64)  # -0.0 and 0.0 are one value
        # Negative numbers ascend as their bits descend: all their bits are inverted; otherwise only the sign is.
        return (bits ^ (bits >> 63 | SIGN.view(np.int64))).view(np.uint64)

    def values(self, keys: Codes) -> pa.Array:
        """Return the values of keys of a column without a domain, null for missing ones."""
        absent, bits = keys == MISSING_KEY, keys - np.uint64(1)
        if pa.types.is_unsigned_integer(self.kind):
            numbers = bits
        elif pa.types.is_floating(self.kind):
            numbers = np.where(bits >= SIGN, bits ^ SIGN, ~bits).view(np.float64)
        else:
            numbers = (bits ^ SIGN).view(np.int64)
        numbers = np.where(absent, numbers.dtype.type(0), numbers)
        return pa.array(numbers, mask=absent).cast(_narrow(self.kind)).cast(self.kind)


def has_keys(kind: pa.DataType) -> bool:
    """Return whether values of a type can be ordered by 64 bits."""
    return (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    )


def plain_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type that the column's values have in a domain."""
    return plain_column(name, pa.chunked_array([], type=kind)).type


def key_matrix(batch: pa.Table, columns: Sequence[KeyColumn], needed: Iterable[int]) -> Codes:
    """Return the keys of a batch, rows × columns; only the needed columns are filled."""
    keys = np.empty((batch.num_rows, len(columns)), dtype=np.uint64, order="F")
    for index in needed:
        keys[:, index] = columns[index].keys(batch[columns[index].name])
    return keys


def _counting(kind: pa.DataType) -> pa.DataType:
    """Return the number type whose bits the keys are taken from."""
    if pa.types.is_unsigned_integer(kind):
        return pa.uint64()
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def _narrow(kind: pa.DataType) -> pa.DataType:
    """Return the number type from which values are converted back."""
    return pa.int32() if pa.types.is_date32(kind) else kind if not pa.types.is_timestamp(kind) else pa.int64()


@dataclass(frozen=True, slots=True, eq=False)
class KnownValues:
    """The distinct values of a column seen so far, None if there are more than `most`.

    For a `keyed` column the smallest and largest keys are recorded, and whether values are missing.
    """

    name: str
    kind: pa.DataType
    most: int
    distinct: pa.ChunkedArray | None
    keyed: bool = False
    low: int = int(LAST_KEY)
    high: int = 0
    missing: bool = False

    @classmethod
    def nothing(cls, name: str, kind: pa.DataType, most: int, *, keyed: bool) -> "KnownValues":
        """Return the state of a column of an Arrow type before its first row."""
        plain = plain_type(name, kind)
        plain = plain.value_type if isinstance(plain, pa.DictionaryType) else plain
        return cls(name, plain, most, pa.chunked_array([], type=plain), keyed)

    def plus(self, cells: pa.ChunkedArray) -> "KnownValues":
        """Return the state after further rows."""
        low, high, missing = self.low, self.high, self.missing
        if self.keyed:
            keys = KeyColumn(self.name, self.kind).keys(cells)
            known: Codes = keys[keys != MISSING_KEY]
            low, high = min(low, int(known.min(initial=LAST_KEY))), max(high, int(known.max(initial=np.uint64(0))))
            missing = missing or len(known) < len(keys)
        more = (
            self.distinct
            if self.distinct is None
            else _join_distinct(self.distinct, _own_cells(self.name, self.kind, cells))
        )
        return replace(self, distinct=self._if_few(more), low=low, high=high, missing=missing)

    def merged(self, other: "KnownValues") -> "KnownValues":
        """Return the state for the rows of both."""
        both = None
        if self.distinct is not None and other.distinct is not None:
            both = _join_distinct(self.distinct, other.distinct)
        low, high = min(self.low, other.low), max(self.high, other.high)
        return replace(self, distinct=self._if_few(both), low=low, high=high, missing=self.missing or other.missing)

    def _if_few(self, distinct: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
        return None if distinct is None or len(distinct) > self.most else distinct


def values_of(known: Mapping[str, KnownValues], batch: pa.Table, columns: Sequence[str]) -> dict[str, KnownValues]:
    """Return the states of columns after the rows of one more batch."""
    return {name: known[name].plus(batch[name]) for name in columns}


def _own_cells(name: str, kind: pa.DataType, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    distinct = share_dictionary(plain_column(name, cells)).unique()
    return pa.chunked_array([distinct.cast(kind) if distinct.type != kind else distinct])


def _join_distinct(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.chunked_array([*one.chunks, *other.chunks], one.type).unique()])
