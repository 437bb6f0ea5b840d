"""A recoding over the values of another table: what it says of values that the first table did not have.

A value is covered where the recoding would publish something true of it: a node of a hierarchy, a range that it lies
in, a region between two cuts or beyond the last one. What nothing covers has no class; an engine never publishes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import HierarchyError
from indistinct.hierarchy.explicit import declared_order
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.kinds import ByCell, ByColumn, ByRegion, Cuts, RecodedColumn, Recoding, is_tree
from indistinct.recoding.outputs import PublishedColumn
from indistinct.recoding.summary import ColumnSummary, node_runs
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Extended:
    """A recoding with more values than the stored one, which publishes the same for all known values.

    `unseen` marks the values that the stored one does not know, by column. What is not covered `assign` tells.
    """

    recoding: Recoding
    unseen: Mapping[str, Codes]


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """A column over a larger domain: `codes` and `ranks` are the new ones of old codes and ranks.

    For recodings by column `groups` has the published code of each value, -1 where nothing covers it, and `published`
    the new code of each published value, where that changed.
    """

    column: RecodedColumn
    codes: Codes
    ranks: Codes
    groups: Codes | None
    published: Codes | None = None

    def moved(self, codes: Codes) -> Codes:
        """Translate published codes to their new numbers."""
        return codes if self.published is None else self.published[codes]


def as_stored(recoding: Recoding) -> Extended:
    """Return a recoding for a table that has no values but those that it knows."""
    nothing = {column.domain.column: np.zeros(len(column.domain), dtype=bool) for column in recoding.columns}
    return Extended(recoding, nothing)


def extend_recoding(recoding: Recoding, domains: Mapping[str, Domain]) -> Extended:
    """Return a recoding that also covers the values of other domains, by column.

    A recoding that assigns the rows of one table, or into buckets, fits no other table and is returned unchanged.
    """
    if not isinstance(recoding, ByColumn | ByRegion | ByCell):
        return as_stored(recoding)
    levels = recoding.levels if isinstance(recoding, ByColumn) else None
    groups = recoding.groups if isinstance(recoding, ByColumn) else (None,) * len(recoding.columns)
    grown = [
        _known_only(column, _join_domains(column, domains[column.domain.column]))
        if isinstance(recoding, ByCell)
        else _grow(
            column, _join_domains(column, domains[column.domain.column]), groups=group, full_domain=levels is not None
        )
        for column, group in zip(recoding.columns, groups, strict=True)
    ]
    columns = tuple(each.column for each in grown)
    larger: Recoding
    match recoding:
        case ByColumn():
            star, suppressed = recoding.star, recoding.suppressed.copy()
            for j, each in enumerate(grown):
                suppressed[:, j] = each.moved(suppressed[:, j])
            if star is not None:
                star = np.array([each.moved(star[j : j + 1])[0] for j, each in enumerate(grown)], dtype=np.int32)
            kept = tuple(each.groups for each in grown if each.groups is not None)
            larger = replace(recoding, columns=columns, groups=kept, suppressed=suppressed, star=star)
        case ByRegion():
            larger = replace(recoding, columns=columns, cuts=_move_cuts(recoding.cuts, grown))
        case _:
            vectors = np.stack([each.codes[recoding.vectors[:, j]] for j, each in enumerate(grown)], axis=1)
            larger = replace(recoding, columns=columns, vectors=vectors.astype(np.int32))
    unseen = {}
    for each in grown:
        new = np.ones(len(each.column.domain), dtype=bool)
        new[each.codes] = False
        unseen[each.column.domain.column] = new
    return Extended(larger, unseen)


def _join_domains(column: RecodedColumn, other: Domain) -> Domain:
    order = declared_order(column.hierarchy)
    return column.domain.union(other, order=order)


def _grow(column: RecodedColumn, domain: Domain, *, groups: Codes | None, full_domain: bool) -> Growth:
    """Extend a column to a larger domain; nodes and ranges then cover the new values that belong to them."""
    codes = column.domain.translate(domain)
    if len(codes) == len(domain):
        return Growth(column, codes, np.arange(len(domain)), groups)
    if not is_tree(column.summary) and not np.array_equal(column.ranks, np.arange(len(codes))):
        return _known_only(column, domain, groups)  # no search orders a line in another way
    on_a_line = column.summary.published.ranged or column.summary.regions
    floor, published = int(on_a_line and domain.missing), None
    if is_tree(column.summary):
        tree = extend_tree(column, domain, codes, groups=groups, full_domain=full_domain)
        order, summary, groups, published = tree.ranks, tree.summary, tree.groups, tree.published
    else:
        order, summary = np.arange(len(domain), dtype=np.int32), _line_summary(column, domain, codes)
        groups = (
            None if groups is None else _on_a_line(groups, codes, order, summary=summary, old=column.floor, floor=floor)
        )
    old_ranks = np.empty(len(codes), dtype=np.int64)
    old_ranks[column.ranks] = order[codes]
    larger = RecodedColumn(domain, order, floor, summary, column.hierarchy)
    return Growth(larger, codes, old_ranks, groups, published)


def _known_only(column: RecodedColumn, domain: Domain, groups: Codes | None = None) -> Growth:
    """Move a column to a larger domain; new values stay uncovered."""
    codes = column.domain.translate(domain)
    kept = keep_column(column, domain, codes, groups)
    larger = RecodedColumn(domain, kept.ranks, column.floor, column.summary, column.hierarchy)
    return Growth(larger, codes, np.arange(len(codes)), kept.groups)


def _on_a_line(groups: Codes, codes: Codes, ranks: Codes, *, summary: ColumnSummary, old: int, floor: int) -> Codes:
    """Return the group of each value: a new one joins the known value before it, or the first, if that covers it."""
    before = np.searchsorted(codes, ranks, side="right") - 1
    own = groups[np.clip(before, min(old, len(codes) - 1), None)]
    own[codes] = groups
    covered = summary.covers(own, ranks, floor=floor)
    covered[codes] = True
    return np.where(covered, own, -1).astype(np.int32)


def _line_summary(column: RecodedColumn, domain: Domain, codes: Codes) -> ColumnSummary:
    """Return which ranks published ranges and sets cover, now that there are more of them.

    A region ends before the first known value behind the cut, so that it has everything between.
    """
    summary, size, last = column.summary, len(domain), len(codes) - 1
    if summary.members is not None:
        starts, members = summary.members
        return replace(
            summary, low=codes[summary.low], high=codes[summary.high], members=(starts, codes[members].astype(np.int32))
        )
    empty = summary.low > summary.high
    low, high = np.where(empty, 0, summary.low), np.where(empty, 0, summary.high)
    first, end, absent = codes[low], codes[high], summary.absent
    if summary.regions and summary.published.ranged:
        lowest, highest = low == column.floor, high == last
        first = np.where(lowest, int(domain.missing), first)
        end = np.where(highest, size - 1, codes[np.minimum(high + 1, last)] - 1)
        if domain.missing and not column.domain.missing:
            absent = absent | (lowest & highest & ~empty)  # published as *, which says nothing
    first, end = np.where(empty, size, first), np.where(empty, -1, end)
    return replace(summary, low=first.astype(np.int32), high=end.astype(np.int32), absent=absent)


def _move_cuts(cuts: Cuts, grown: list[Growth]) -> Cuts:
    """Move each cut to the position right before the known value that follows it; the runs of sets likewise."""
    cut, size = cuts.cut.copy(), len(cuts.members[0]) - 1 if cuts.members is not None else 0
    axis_of = np.zeros(size, dtype=np.int64)
    axis_of[-1 - cuts.cut[(cuts.axis >= 0) & (cuts.cut < 0)]] = cuts.axis[(cuts.axis >= 0) & (cuts.cut < 0)]
    runs = []
    for axis, each in enumerate(grown):
        here = (cuts.axis == axis) & (cuts.cut >= 0)
        ends = np.append(each.ranks[1:], len(each.column.domain)) - 1
        if each.column.floor and each.codes[0] == 0:
            ends[0] = 0  # nothing lies between missing and the values
        cut[here] = ends[cuts.cut[here]]
        runs.append((each.ranks, ends))
    return replace(cuts, cut=cut, members=_moved_sets(cuts.members, axis_of, runs))


def _moved_sets(
    members: tuple[Codes, Codes] | None, axis_of: Codes, runs: list[tuple[Codes, Codes]]
) -> tuple[Codes, Codes] | None:
    """Insert new values after the known value that precedes them; `runs` has, by known rank, its run of new ranks."""
    if members is None:
        return None
    starts, ranks = members
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    first, last = np.empty(len(ranks), dtype=np.int64), np.empty(len(ranks), dtype=np.int64)
    for axis, (begin, end) in enumerate(runs):
        here = axis_of[owners] == axis
        first[here], last[here] = begin[ranks[here]], end[ranks[here]]
    sizes = last - first + 1
    offsets = starts_of(sizes)
    moved = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)
    return offsets[starts], moved.astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class TreeGrowth:
    """A tree column over a larger domain; `groups` has -1 where no published node covers a value.

    `published` has the new code of each published value, where there are more of them.
    """

    ranks: Codes
    summary: ColumnSummary
    groups: Codes | None
    published: Codes | None = None


def extend_tree(
    column: RecodedColumn, domain: Domain, codes: Codes, *, groups: Codes | None, full_domain: bool
) -> TreeGrowth:
    """Extend a column recoded by a hierarchy to a larger domain; `codes` has the new code of each of its values.

    `groups` has the published code of each value, None for a recoding by region. In a full-domain recoding a new value
    is published as its node on the level of the column, even if no known value lies there. Elsewhere it needs a
    published node above it. Where the hierarchy is not known, or says other things of known values than the recoding
    does, nothing new is covered.
    """
    levels, lows = column.summary.published.levels, column.summary.low
    bound = None if column.hierarchy is None else _bind(column.hierarchy, column.domain, domain)
    if bound is None or lows.min() < 0 or lows.max() >= len(codes) or levels.max() > bound.taxonomy.height:
        return keep_column(column, domain, codes, groups)
    nodes = bound.ancestors[codes[np.argsort(column.ranks)[lows]], levels]
    if not _agrees(column, bound, nodes, codes=codes, groups=groups):
        return keep_column(column, domain, codes, groups)
    ranks = _ranks(column, bound.ancestors, codes)
    if groups is None or not full_domain:
        if groups is not None:
            groups = _lowest_published(bound.ancestors, groups, codes, levels, nodes)
        return TreeGrowth(ranks, _summary(column, bound, domain, ranks, levels, nodes), groups)
    groups, levels, nodes = _on_one_level(bound.ancestors, groups, codes, levels, nodes)
    summary = _summary(column, bound, domain, ranks, levels, nodes)
    # Rows are published in the order of codes, which must not tell what is new.
    order = np.lexsort((nodes, levels))
    moved = np.empty(len(order), dtype=np.int32)
    moved[order] = np.arange(len(order), dtype=np.int32)
    groups = np.where(groups < 0, np.int32(-1), moved[groups])
    return TreeGrowth(ranks, _taken(summary, order), groups, moved)


@dataclass(frozen=True, slots=True, eq=False)
class _BoundHierarchy:
    """A hierarchy over a domain: `ancestors[code, level]` is a node, -1 for a value that it does not cover."""

    ancestors: Codes
    taxonomy: Taxonomy


def _bind(hierarchy: Hierarchy, known: Domain, domain: Domain) -> _BoundHierarchy | None:
    """Lay a hierarchy over the values that it covers; None where it does not even cover the known ones."""
    fresh = pc.invert(pc.is_in(domain.values, value_set=known.values))
    covered = _covered_values(hierarchy, Domain(domain.column, domain.values.filter(fresh), declared=domain.declared))
    keep = pc.or_(pc.invert(fresh), pc.is_in(domain.values, value_set=covered))
    part = replace(domain, values=domain.values.filter(keep))
    try:
        taxonomy = hierarchy.bind(part)
    except HierarchyError:
        return None
    rows = np.concatenate([[True] * domain.missing, keep.to_numpy(zero_copy_only=False)]).astype(bool)
    ancestors = np.full((len(domain), taxonomy.ancestors.shape[1]), -1, dtype=np.int32)
    ancestors[rows] = taxonomy.ancestors
    return _BoundHierarchy(ancestors, taxonomy)


def _covered_values(hierarchy: Hierarchy, domain: Domain) -> pa.Array:
    """Return the values of a domain that a hierarchy covers."""
    if not len(domain.values):
        return domain.values
    try:
        hierarchy.bind(domain)
    except HierarchyError as error:
        strangers = pa.array([str(value) for value in error.values], pa.string())
        rest = domain.values.filter(pc.invert(pc.is_in(domain.values.cast(pa.string()), value_set=strangers)))
        if len(rest) < len(domain.values):
            return _covered_values(hierarchy, replace(domain, values=rest))
        if len(rest) == 1:
            return rest[:0]
        middle = len(rest) // 2  # the error does not say which: look at halves
        halves = (rest[:middle], rest[middle:])
        return pa.concat_arrays([_covered_values(hierarchy, replace(domain, values=half)) for half in halves])
    return domain.values


def _agrees(column: RecodedColumn, bound: _BoundHierarchy, nodes: Codes, *, codes: Codes, groups: Codes | None) -> bool:
    """Return whether a hierarchy gives known values the labels that the recoding publishes."""
    published = column.summary.published
    labels, levels = published.outputs[0][1].cast(pa.string()).to_pylist(), published.levels
    pairs = zip(levels.tolist(), nodes.tolist(), strict=True)
    if (nodes < 0).any() or labels != [bound.taxonomy.labels[level][node] for level, node in pairs]:
        return False
    return groups is None or np.array_equal(bound.ancestors[codes, levels[groups]], nodes[groups])


def keep_column(column: RecodedColumn, domain: Domain, codes: Codes, groups: Codes | None) -> TreeGrowth:
    """Return a column that covers its known values only; others come last."""
    ranks = np.full(len(domain), -1, dtype=np.int32)
    ranks[codes] = column.ranks
    ranks[ranks < 0] = np.arange(len(codes), len(domain))
    if groups is None:
        return TreeGrowth(ranks, column.summary, None)
    own = np.full(len(domain), -1, dtype=np.int32)
    own[codes] = groups
    return TreeGrowth(ranks, column.summary, own)


def _ranks(column: RecodedColumn, ancestors: Codes, codes: Codes) -> Codes:
    """Rank old and new values so that known ones keep their order and each node is one run.

    A new value follows the last known one of the lowest node that has any; uncovered values come last.
    """
    size, height = ancestors.shape[0], ancestors.shape[1] - 1
    anchor = np.where(ancestors[:, 0] < 0, len(codes) + 1, len(codes))
    depth = np.full(size, height + 1, dtype=np.int64)
    for level in range(height, -1, -1):
        last = np.full(int(ancestors[:, level].max(initial=0)) + 1, -1, dtype=np.int64)
        np.maximum.at(last, ancestors[codes, level], column.ranks)
        here = np.where(ancestors[:, level] < 0, -1, last[ancestors[:, level]])
        anchor, depth = np.where(here >= 0, here, anchor), np.where(here >= 0, level, depth)
    anchor[codes], depth[codes] = column.ranks, -1
    inner = tuple(ancestors[:, level] for level in range(height + 1))
    order = np.lexsort((*inner, depth, anchor))
    ranks = np.empty(size, dtype=np.int32)
    ranks[order] = np.arange(size, dtype=np.int32)
    return ranks


def _on_one_level(
    ancestors: Codes, groups: Codes, codes: Codes, levels: Codes, nodes: Codes
) -> tuple[Codes, Codes, Codes]:
    """Return each value's published code on the level of the column, with a code for every new node there."""
    level = int(levels[groups[0]])
    own = np.full(len(ancestors), -1, dtype=np.int64)
    published = np.full(int(ancestors[:, level].max(initial=0)) + 1, -1, dtype=np.int64)
    published[ancestors[codes, level]] = groups
    covered = ancestors[:, level] >= 0
    fresh = np.unique(ancestors[covered, level][published[ancestors[covered, level]] < 0])
    published[fresh] = len(levels) + np.arange(len(fresh))
    own[covered] = published[ancestors[covered, level]]
    own = own.astype(np.int32)
    return own, np.append(levels, np.full(len(fresh), level)).astype(np.int32), np.append(nodes, fresh)


def _lowest_published(ancestors: Codes, groups: Codes, codes: Codes, levels: Codes, nodes: Codes) -> Codes:
    """Return each value's published code: its own if it is known, else that of the lowest published node above it."""
    own = np.full(len(ancestors), -1, dtype=np.int64)
    used = np.unique(groups)
    for level in np.unique(levels[used])[::-1].tolist():
        published = np.full(int(ancestors[:, level].max(initial=0)) + 1, -1, dtype=np.int64)
        here = used[levels[used] == level]
        published[nodes[here]] = here
        ancestors_published = np.where(ancestors[:, level] < 0, -1, published[ancestors[:, level]])
        own = np.where(ancestors_published >= 0, ancestors_published, own)
    own[codes] = groups
    return own.astype(np.int32)


def _summary(
    column: RecodedColumn, bound: _BoundHierarchy, domain: Domain, ranks: Codes, levels: Codes, nodes: Codes
) -> ColumnSummary:
    """Return the published nodes with the ranks that they now cover, including new nodes."""
    order = np.argsort(ranks)
    low, high = np.empty(len(levels), dtype=np.int32), np.empty(len(levels), dtype=np.int32)
    for level in np.unique(levels).tolist():
        here, by_rank = levels == level, bound.ancestors[order, level]
        covered = int((by_rank >= 0).sum())  # what is not covered comes last
        first, last = node_runs(by_rank[:covered], len(bound.taxonomy.labels[level]))
        low[here], high[here] = first[nodes[here]], last[nodes[here]]
    published = column.summary.published
    if len(levels) > len(published):
        published = _more(published, bound.taxonomy, domain, order[low], order[high], levels, nodes)
    return ColumnSummary(published, low, high, np.zeros(len(low), dtype=bool))


def _taken(summary: ColumnSummary, order: Codes) -> ColumnSummary:
    """Return published values in another order."""
    own = summary.published
    (name, values), parts = own.outputs[0], ("low", "high", "leaves", "levels")
    moved = {part: getattr(own, part)[order] for part in parts}
    published = replace(own, outputs=((name, values.take(pa.array(order))),), **moved)
    return ColumnSummary(published, summary.low[order], summary.high[order], summary.absent[order])


def _more(
    published: PublishedColumn, taxonomy: Taxonomy, domain: Domain, low: Codes, high: Codes, levels: Codes, nodes: Codes
) -> PublishedColumn:
    """Return published values with those of new nodes behind them."""
    (name, values), positions = published.outputs[0], slice(len(published), None)
    fresh = list(zip(levels[positions].tolist(), nodes[positions].tolist(), strict=True))
    if values.type == domain.values.type and not levels[positions].any() and not pa.types.is_string(values.type):
        raw = low[positions] - domain.missing
        labels = domain.values.take(pa.array(raw, pa.int64(), mask=raw < 0))
    else:
        labels = pa.array([taxonomy.labels[level][node] for level, node in fresh], pa.string())
    line = domain.positions()
    leaves = np.array([taxonomy.leaves[level][node] for level, node in fresh], dtype=np.int64)
    return replace(
        published,
        outputs=((name, pa.concat_arrays([values, labels.cast(values.type)])),),
        low=np.concatenate([published.low, line[low[positions]]]),
        high=np.concatenate([published.high, line[high[positions]]]),
        leaves=np.append(published.leaves, leaves),
        levels=levels,
        span=max(published.span, float(line.max() - line.min())),
        size=max(published.size, taxonomy.size),
    )
