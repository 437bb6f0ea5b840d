"""From classes to published values: what each class shows of each quasi-identifier.

The *extent* of a class is the range of its own rows, or the region that the cuts delimit; regions tell an attacker
less and cover the whole domain.
"""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import ParameterError
from indistinct.hierarchy.taxonomy import ROOT, Taxonomy
from indistinct.machine.arrays import Array, Codes, Floats, Mask, starts_of
from indistinct.recoding.columns import INTERVALS, NumericForm, NumericForms, QuasiColumn, numeric_forms
from indistinct.recoding.outputs import (
    PublishedColumn,
    node_labels,
    range_labels,
    region_labels,
    set_labels,
    text_range_labels,
)
from indistinct.tables.domain import Domain, Kind

Extent = Literal["range", "region"]
TreeForm = Literal["node", "set"]


@dataclass(frozen=True, slots=True)
class Style:
    """How classes are summarized: their extent, the form of numbers and dates, and what columns with trees show.

    `extent` is the range of a class's own rows, or the region between cuts. `trees` shows the lowest common node, or
    the set of finer nodes or values inside.
    """

    extent: Extent = "range"
    numeric: NumericForms = INTERVALS
    trees: TreeForm = "node"

    def __post_init__(self) -> None:
        object.__setattr__(self, "numeric", numeric_forms(self.numeric))
        if self.extent not in get_args(Extent):
            raise ParameterError(
                f"`extent` must be one of {', '.join(get_args(Extent))}; got {self.extent!r}",
                hint="extent=range is as tight as the rows",
            )
        if self.trees not in get_args(TreeForm):
            raise ParameterError(
                f"`trees` must be one of {', '.join(get_args(TreeForm))}; got {self.trees!r}",
                hint="trees=node publishes the lowest common node",
            )


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The ranks that classes reach in one column: from `low` to `high`, and whether some rows are missing."""

    low: Codes
    high: Codes
    absent: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Ranges between cuts: their labels, where they end on the line, and how many steps above raw they are at least."""

    labels: pa.Array
    high: Codes
    levels: Codes


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSummary:
    """The published values of a column, and which ranks each one covers.

    `members` (compressed sparse rows of ranks) is there for sets, which may have gaps. `regions` says that published
    ranges are regions between cuts. Those of numbers and dates reach to the next cut, and the first and the last one
    have no end: they cover values that no row has. Those of text, which are measured as sets, end at known values.
    """

    published: PublishedColumn
    low: Codes
    high: Codes
    absent: Mask
    members: tuple[Codes, Codes] | None = None
    regions: bool = False

    def covers(self, codes: Codes, ranks: Codes, *, floor: int) -> Mask:
        """Return whether the published value `codes[i]` covers rank `ranks[i]`: whether it is true of such a row.

        `floor` is the first rank that is a value; a lower one is a missing cell, which ranges cover where `absent`.
        """
        if self.members is not None:
            indptr, members = self.members
            size = 1 + max(int(members.max(initial=0)), int(ranks.max(initial=0)))
            owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
            wanted, known = codes * np.int64(size) + ranks, owners * size + members
            if _sparse(len(self.published) * size, len(wanted)):
                return np.isin(wanted, known)
            table = np.zeros(len(self.published) * size, dtype=bool)
            table[known] = True
            return table[wanted]
        inside = (ranks >= self.low[codes]) & (ranks <= self.high[codes])
        return np.where(ranks < floor, self.absent[codes], inside)


def tight_bounds(
    column: QuasiColumn, ranks: Codes, *, class_ids: Codes, classes: int, starts: Codes | None = None
) -> Bounds:
    """Return the lowest and highest rank of each class; `starts` are the first rows if rows are sorted by class."""
    if starts is not None and not floor_of(column):
        low, high = (reach.reduceat(ranks, starts).astype(np.int32) for reach in (np.minimum, np.maximum))
        return Bounds(low, high, np.zeros(classes, dtype=bool))
    low = np.full(classes, len(column.domain), dtype=np.int32)
    high = np.full(classes, -1, dtype=np.int32)
    absent = np.zeros(classes, dtype=bool)
    floor = floor_of(column)
    if floor or (class_ids < 0).any():
        absent[class_ids[(class_ids >= 0) & (ranks < floor)]] = True
        known = (class_ids >= 0) & (ranks >= floor)
        ranks, class_ids = ranks[known], class_ids[known]
    ranks = ranks.astype(np.int32, copy=False)
    np.minimum.at(low, class_ids, ranks)
    np.maximum.at(high, class_ids, ranks)
    return Bounds(low, high, absent)


def region_bounds(column: QuasiColumn, low: Codes, high: Codes) -> Bounds:
    """Return bounds from the lowest and highest rank of each class's region."""
    floor = floor_of(column)
    return Bounds(np.maximum(low, floor), high, low < floor)


def floor_of(column: QuasiColumn) -> int:
    """Return the first rank that is a value: ranges keep missing apart, trees and sets have it as a member."""
    return int(column.ranged and column.domain.missing)


def summarize_ranges(
    column: QuasiColumn,
    bounds: Bounds,
    *,
    form: NumericForm = "interval",
    means: Codes | None = None,
    regions: bool = False,
) -> tuple[ColumnSummary, Codes]:
    """Publish ranges on a line; return the summary and each class's published code.

    With `regions` the bounds are those of cuts, and intervals of numbers and dates reach to the next cut.
    """
    if means is None:
        distinct, codes = _distinct_bounds(bounds, len(column.domain))
    else:
        keys = [means, bounds.absent, bounds.high, bounds.low]
        order = np.lexsort(keys)
        changed = np.ones(len(order), dtype=bool)
        if len(order):
            changed[1:] = np.any([_differs(key[order]) for key in keys], axis=0)
        codes = np.empty(len(order), dtype=np.int32)
        codes[order] = np.cumsum(changed) - 1
        pick = order[changed]
        distinct, means = Bounds(bounds.low[pick], bounds.high[pick], bounds.absent[pick]), means[pick]
    written = form in ("interval", "interval+mean") and not column.textual and not column.domain.declared
    region = region_of(column, distinct) if regions and written else None
    outputs = range_outputs(column, distinct, form, means, region)
    published = _published_range(column, outputs, distinct, region)
    return ColumnSummary(published, distinct.low, distinct.high, distinct.absent, regions=region is not None), codes


def _distinct_bounds(bounds: Bounds, size: int) -> tuple[Bounds, Codes]:
    """Return the distinct bounds in order of their ends, and the place of each class's own."""
    ends = size + 2  # a class without any value reaches from `size` to -1
    words = (bounds.low * np.int64(ends) + bounds.high + 1) * 2 + bounds.absent
    distinct, codes = distinct_words(words, 2 * ends * ends)
    low, high = np.divmod(distinct >> 1, ends)
    return Bounds(low.astype(np.int32), (high - 1).astype(np.int32), (distinct & 1).astype(bool)), codes


def distinct_words(words: Codes, size: int) -> tuple[Codes, Codes]:
    """Return the distinct words, all below `size`, in ascending order, and the place of every word among them."""
    if _sparse(size, len(words)):
        distinct, inverse = np.unique(words, return_inverse=True)
        return distinct, inverse.astype(np.int32)
    used = np.zeros(size, dtype=bool)
    used[words] = True
    inverse = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used), inverse[words]


def _sparse(size: int, words: int) -> bool:
    """Return whether this number of words is too small to fill a table of `size` entries."""
    return size > 4 * words + 4096


def summarize_tree(column: QuasiColumn, bounds: Bounds, *, regions: bool = False) -> tuple[ColumnSummary, Codes]:
    """Publish the lowest common ancestor of each class; return the summary and each class's published code.

    With `regions` the highest ancestor that has no further value is published: it covers more values that no row has.
    """
    taxonomy = column.taxonomy
    if taxonomy is None:
        raise ValueError(f"column {column.name!r} has no hierarchy")
    ancestors = taxonomy.ancestors[column.by_rank]
    levels = meeting_levels(ancestors, bounds.low, bounds.high)
    if regions:
        levels = _highest_equal_levels(taxonomy, ancestors)[bounds.low, levels]
    nodes = ancestors[bounds.low, levels]
    keys, codes = np.unique(levels.astype(np.int64) << 32 | nodes, return_inverse=True)
    level, node = (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
    return node_summary(column, level, node), codes.astype(np.int32)


def _highest_equal_levels(taxonomy: Taxonomy, ancestors: Codes) -> Codes:
    """Return, for each rank and level, the highest level on which the node of that level has the same ranks.

    Of levels with the same label it is the lowest, as readers take it: a mask leaves short values unmodified.
    """
    highest = np.empty(ancestors.shape, dtype=np.int32)
    highest[:, -1] = taxonomy.height
    number = {label: code for code, label in enumerate(dict.fromkeys(chain.from_iterable(taxonomy.labels)))}
    labels = [np.array([number[label] for label in each])[ancestors[:, j]] for j, each in enumerate(taxonomy.labels)]
    texts, ranks = np.stack(labels, axis=1), np.arange(len(ancestors))
    above = node_runs(ancestors[:, -1], len(taxonomy.labels[-1]))
    for level in range(taxonomy.height - 1, -1, -1):
        own = node_runs(ancestors[:, level], len(taxonomy.labels[level]))
        here, over = ancestors[:, level], ancestors[:, level + 1]
        same = (own[0][here] == above[0][over]) & (own[1][here] == above[1][over])
        climbs = same & (texts[ranks, highest[:, level + 1]] != texts[:, level])
        highest[:, level] = np.where(climbs, highest[:, level + 1], level)
        above = own
    return highest


def node_summary(column: QuasiColumn, level: Codes, node: Codes) -> ColumnSummary:
    """Publish nodes of a hierarchy, each as its label."""
    taxonomy = column.taxonomy
    if taxonomy is None:
        raise ValueError(f"column {column.name!r} has no hierarchy")
    pairs = list(zip(level.tolist(), node.tolist(), strict=True))
    low, high = np.empty(len(node), dtype=np.int32), np.empty(len(node), dtype=np.int32)
    for at in np.unique(level).tolist():
        first, last = node_runs(taxonomy.ancestors[column.by_rank, at], len(taxonomy.labels[at]))
        low[level == at], high[level == at] = first[node[level == at]], last[node[level == at]]
    labels = pa.array([taxonomy.labels[at][which] for at, which in pairs], pa.string())
    values = labels if level.any() else raw_values(column.domain, column.by_rank[low])
    ends = (column.positions[column.by_rank[low]], column.positions[column.by_rank[high]])
    leaves = np.array([taxonomy.leaves[at][which] for at, which in pairs], dtype=np.int64)
    published = published_as(column, ((column.name, values),), ends, leaves=leaves, levels=level)
    return ColumnSummary(published, low, high, np.zeros(len(low), dtype=bool))


def node_runs(nodes: Codes, count: int) -> tuple[Codes, Codes]:
    """Return the first and last rank of every node, given the node of each rank."""
    first, last = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    positions = np.arange(len(nodes), dtype=np.int32)
    last[nodes] = positions
    first[nodes[::-1]] = positions[::-1]
    return first, last


def summarize_sets(column: QuasiColumn, indptr: Codes, members: Codes) -> tuple[ColumnSummary, Codes]:
    """Publish the set of values of each class; return the summary and each class's published code."""
    pick, codes = distinct_sets(indptr, members, len(column.domain))
    # Hashes have no meaning: number the sets by their first and last member and their size.
    order = np.lexsort((np.diff(indptr)[pick], members[indptr[pick + 1] - 1], members[indptr[pick]]))
    positions = np.empty(len(order), dtype=np.int32)
    positions[order] = np.arange(len(order), dtype=np.int32)
    pick, codes = pick[order], positions[codes]
    sizes = np.diff(indptr)[pick]
    starts = starts_of(sizes)
    inner = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes) + np.repeat(indptr[pick], sizes)
    kept = members[inner]
    low, high = kept[starts[:-1]], kept[starts[1:] - 1]
    levels: Codes | Mask = sizes > 1
    labels = set_labels(column.domain.texts(), starts, column.by_rank[kept])
    if column.tree and column.taxonomy is not None:
        levels = meeting_levels(column.taxonomy.ancestors[column.by_rank], low, high)
        labels = node_labels(column.taxonomy, levels, column.by_rank[low], sizes=sizes, others=labels)
    positions = column.positions[column.by_rank[kept]]
    ends = (np.minimum.reduceat(positions, starts[:-1]), np.maximum.reduceat(positions, starts[:-1]))
    published = published_as(column, ((column.name, labels),), ends, leaves=sizes, levels=levels)
    return ColumnSummary(published, low, high, np.zeros(len(low), dtype=bool), (starts, kept)), codes


def summarize_text_regions(column: QuasiColumn, low: Codes, high: Codes) -> tuple[ColumnSummary, Codes]:
    """Publish regions of text, given by their lowest and highest ranks, as ranges by code points.

    They say as much as a set of all values between would, which grows with the table.
    """
    floor = int(column.domain.missing)
    distinct, codes = _distinct_bounds(Bounds(np.maximum(low, floor), high, low < floor), len(column.domain))
    outputs = ((column.name, interval_labels(column.domain, distinct)),)
    published = replace(_published_range(column, outputs, distinct, None), ranged=False)
    return ColumnSummary(published, distinct.low, distinct.high, distinct.absent, regions=True), codes


def distinct_sets(indptr: Codes, members: Codes, size: int) -> tuple[Codes, Codes]:
    """Return one class for each distinct set of members, and the number of the set of every class.

    Sets are distinguished by a sum of random words and then compared member by member, so that a collision is noticed.
    """
    for attempt in range(8):
        words = np.random.default_rng(attempt).integers(0, 1 << 63, size, dtype=np.uint64)
        sums = np.add.reduceat(words[members], indptr[:-1]) if len(indptr) > 1 else words[:0]
        _, pick, codes = np.unique(sums, return_index=True, return_inverse=True)
        sizes = np.diff(indptr)
        if (sizes == sizes[pick][codes]).all():
            offsets = np.arange(len(members)) - np.repeat(indptr[:-1], sizes)
            twins = members[np.repeat(indptr[pick][codes], sizes) + offsets]
            if (twins == members).all():
                return pick, codes.astype(np.int32)
    raise AssertionError("eight independent hashes collided")


def meeting_levels(ancestors: Codes, low: Codes, high: Codes) -> Codes:
    """Return the lowest level on which each pair of values has one ancestor."""
    levels = np.zeros(len(low), dtype=np.int32)
    apart = np.arange(len(low))
    for level in range(ancestors.shape[1] - 1):
        apart = apart[ancestors[low[apart], level] != ancestors[high[apart], level]]
        levels[apart] = level + 1
    return levels


def published_as(
    column: QuasiColumn,
    outputs: tuple[tuple[str, pa.Array], ...],
    ends: tuple[Codes | Floats, Codes | Floats],
    *,
    leaves: Codes | Floats,
    levels: Codes | Floats | Mask,
    ranged: bool = False,
) -> PublishedColumn:
    """Return the published values of a column with the measures of its whole domain."""
    whole = (column.span, column.size, column.height)
    parts = (*ends, leaves.astype(np.int64), levels.astype(np.int32))
    return PublishedColumn(column.name, outputs, *parts, *whole, ranged)


def _published_range(
    column: QuasiColumn, outputs: tuple[tuple[str, pa.Array], ...], bounds: Bounds, region: Region | None
) -> PublishedColumn:
    """Describe ranges for publishing: labels, ends, and how many values and levels they cover."""
    known = bounds.low <= bounds.high
    low, high = np.where(known, bounds.low, 0), np.where(known, bounds.high, 0)
    leaves = np.where(known, bounds.high - bounds.low + 1, 0) + bounds.absent
    levels: Codes | Mask = leaves > 1
    if column.taxonomy is not None:
        levels = meeting_levels(column.taxonomy.ancestors, np.where(bounds.absent, 0, low), high)
    ends = (column.positions[low], column.positions[high])
    if region is not None:
        ends, levels = (ends[0], np.where(known, region.high, ends[1])), np.maximum(levels, region.levels)
    return published_as(column, outputs, ends, leaves=leaves, levels=levels, ranged=True)


def _differs(key: Array) -> Mask:
    """Mark entries that differ from the one before; NaN equals NaN."""
    if key.dtype.kind == "f":
        return (key[1:] != key[:-1]) & ~(np.isnan(key[1:]) & np.isnan(key[:-1]))
    return key[1:] != key[:-1]


def range_outputs(
    column: QuasiColumn, bounds: Bounds, form: NumericForm, means: Codes | None, region: Region | None
) -> tuple[tuple[str, pa.Array], ...]:
    """Return the published columns of a range in the form that was asked for."""
    name, domain = column.name, column.domain
    interval = region.labels if region else interval_labels(domain, bounds)
    low, high = (np.where(bounds.low > bounds.high, 0, ranks) for ranks in (bounds.low, bounds.high))
    if domain.kind is Kind.TEXT or form == "interval":
        raw = bool((bounds.low >= bounds.high).all()) and not (bounds.absent & (bounds.low <= bounds.high)).any()
        raw = raw and region is None
        return ((name, raw_values(domain, low) if raw else interval),)
    missing = ((f"{name}_missing", pa.array(bounds.absent)),) if domain.missing else ()
    match form:
        case "bounds":
            return ((f"{name}_min", raw_values(domain, low)), (f"{name}_max", raw_values(domain, high)), *missing)
        case "mean":
            return ((name, _mean(domain, means)), *missing)
        case "interval+mean":
            return ((name, interval), (f"{name}_mean", _mean(domain, means)))
        case _:
            raise AssertionError(form)


def interval_labels(domain: Domain, bounds: Bounds) -> pa.Array:
    """Return the label of each range; only values that are an end of one are written as text."""
    positions, low, high = np.zeros(len(domain), dtype=np.int32), *(ends.copy() for ends in (bounds.low, bounds.high))
    known = low <= high
    positions[low[known]] = positions[high[known]] = 1
    ends = np.flatnonzero(positions)
    positions[ends] = np.arange(len(ends))
    low[known], high[known] = positions[low[known]], positions[high[known]]
    texts = pc.fill_null(raw_values(domain, ends).cast(pa.string()), "") if len(ends) else pa.array([""])
    return (range_labels if domain.ordered else text_range_labels)(texts, low, high, bounds.absent)


def _mean(domain: Domain, means: Codes | None) -> pa.Array:
    """Return means as published: numbers, or dates; a class without any value has none."""
    values = pa.array(means, pa.float64(), from_pandas=True)
    if domain.kind is Kind.NUMBER or means is None:
        return values
    days = pa.array(np.floor(np.nan_to_num(means)).astype(np.int32), pa.int32(), mask=np.isnan(means))
    return days.cast(pa.date32())


def raw_values(domain: Domain, codes: Codes) -> pa.Array:
    """Return values of the domain in their own type; code 0 of a domain with missing is null."""
    positions = pa.array(codes - domain.missing, pa.int64(), mask=(codes < domain.missing))
    return domain.values.take(positions)


def region_of(column: QuasiColumn, bounds: Bounds) -> Region:
    """Widen ranges up to the next cut, so that they also cover values between and beyond the known ones.

    A range ends before the first value behind the cut. Whole numbers and days name the last one before it.
    """
    domain, floor, end = column.domain, int(column.domain.missing), len(column.domain)
    empty = bounds.low > bounds.high
    low, after = np.where(empty, floor, bounds.low), np.where(empty, end, bounds.high + 1)
    closed = pa.types.is_integer(domain.values.type) or pa.types.is_date32(domain.values.type)
    first = raw_values(domain, np.where(low == floor, -1, low))
    last = domain.values.take(pa.array(np.minimum(after, end - 1) - floor, mask=after == end))
    high = column.positions[np.minimum(after, end - 1)]
    if closed:
        whole = last if pa.types.is_integer(last.type) else last.cast(pa.int32())
        whole = pc.subtract(whole, pa.scalar(1, whole.type))
        line = whole.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        last, high = whole.cast(last.type), np.where(after == end, high, line)
    labels = region_labels(first.cast(pa.string()), last.cast(pa.string()), closed=closed, absent=bounds.absent)
    everything = (low == floor) & (after == end) & ~empty & (bounds.absent == domain.missing)
    everything &= end - floor > 1  # of one value a line has no length, while * would cost all of it
    labels = pc.if_else(pa.array(everything), ROOT, labels)
    labels = pc.if_else(pa.array(empty), pa.scalar(None, pa.string()), labels)
    single = pc.fill_null(pc.equal(first, last), False).to_numpy(zero_copy_only=False)
    wide = ~empty & ~(closed & single & ~bounds.absent)
    return Region(labels, high, np.where(everything, column.height, wide))
