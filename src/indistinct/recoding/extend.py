"""A recoding over the values of another table: what it says of values that the first table did not have.

A value is covered where the recoding would publish something true of it: a node of a hierarchy, a range that it lies
in, a region between two cuts or beyond the last one. What nothing covers has no class; an engine never publishes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from indistinct.hierarchy import Hierarchy, Suppression
from indistinct.hierarchy.builders import declared_order
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.extend_trees import extend_tree, keep_column
from indistinct.recoding.kinds import ByCell, ByColumn, ByRegion, RecodedColumn, Recoding
from indistinct.recoding.regions import Cuts
from indistinct.recoding.summary import ColumnSummary
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Extended:
    """A recoding that speaks of more values than the one that was stored, and publishes the same for all of those.

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
        """Return what published codes are now."""
        return codes if self.published is None else self.published[codes]


def as_stored(recoding: Recoding) -> Extended:
    """Return a recoding for a table that has no values but those that it knows."""
    nothing = {column.domain.column: np.zeros(len(column.domain), dtype=bool) for column in recoding.columns}
    return Extended(recoding, nothing)


def with_hierarchies(recoding: Recoding, hierarchies: Mapping[str, Hierarchy]) -> Recoding:
    """Return a recoding whose columns know the hierarchies that give labels to further values.

    Listed vectors and rows need none: no label is true of a vector that is not listed.
    """
    if not isinstance(recoding, ByColumn | ByRegion):
        return recoding
    columns = []
    for column in recoding.columns:
        declared = hierarchies.get(column.domain.column)
        if is_tree(column.summary):
            declared = declared or Suppression()
        elif declared_order(declared) is None:
            declared = None
        settled = None if declared is None else declared.complete_for(column.domain)
        columns.append(replace(column, hierarchy=settled))
    return replace(recoding, columns=tuple(columns))


def is_tree(summary: ColumnSummary) -> bool:
    """Return whether the published values of a column are nodes of a hierarchy."""
    return not summary.published.ranged and summary.members is None and not summary.regions


def extend_recoding(recoding: Recoding, domains: Mapping[str, Domain]) -> Extended:
    """Return a recoding that also speaks of the values of other domains, by column.

    One that assigns the rows of one table, or into buckets, fits no other and stays as it is.
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
    """Return a column over a larger domain of which it covers no further value."""
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
    """Return a tree whose cuts stand right before the first known value behind them; so do the runs of a set."""
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
