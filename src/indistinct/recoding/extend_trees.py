"""New leaves in the hierarchy of a recoded column: which published node each lies below, if any."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import HierarchyError
from indistinct.hierarchy.value import Hierarchy, Taxonomy
from indistinct.machine.arrays import Codes
from indistinct.recoding.outputs import PublishedColumn
from indistinct.recoding.summary import ColumnSummary, node_runs
from indistinct.tables.domain import Domain

if TYPE_CHECKING:
    from indistinct.recoding.kinds import RecodedColumn


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
    column: "RecodedColumn", domain: Domain, codes: Codes, *, groups: Codes | None, full_domain: bool
) -> TreeGrowth:
    """Return a tree column over a larger domain; `codes` are the new ones of its own values.

    In a full-domain recoding a new value is published as its node on the level of the column, even if no known value
    lies there. Elsewhere it needs a published node above it. Where the hierarchy is not known, or says other things of
    known values than the recoding does, nothing new is covered.
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
class _Bound:
    """A hierarchy over a domain: `ancestors[code, level]` is a node, -1 for a value that it does not cover."""

    ancestors: Codes
    taxonomy: Taxonomy


def _bind(hierarchy: Hierarchy, known: Domain, domain: Domain) -> _Bound | None:
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
    return _Bound(ancestors, taxonomy)


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


def _agrees(column: "RecodedColumn", bound: _Bound, nodes: Codes, *, codes: Codes, groups: Codes | None) -> bool:
    """Return whether a hierarchy gives known values the labels that the recoding publishes."""
    published = column.summary.published
    labels, levels = published.outputs[0][1].cast(pa.string()).to_pylist(), published.levels
    pairs = zip(levels.tolist(), nodes.tolist(), strict=True)
    if (nodes < 0).any() or labels != [bound.taxonomy.labels[level][node] for level, node in pairs]:
        return False
    return groups is None or np.array_equal(bound.ancestors[codes, levels[groups]], nodes[groups])


def keep_column(column: "RecodedColumn", domain: Domain, codes: Codes, groups: Codes | None) -> TreeGrowth:
    """Return a column that covers its known values only; others come last."""
    ranks = np.full(len(domain), -1, dtype=np.int32)
    ranks[codes] = column.ranks
    ranks[ranks < 0] = np.arange(len(codes), len(domain))
    if groups is None:
        return TreeGrowth(ranks, column.summary, None)
    own = np.full(len(domain), -1, dtype=np.int32)
    own[codes] = groups
    return TreeGrowth(ranks, column.summary, own)


def _ranks(column: "RecodedColumn", ancestors: Codes, codes: Codes) -> Codes:
    """Return an order in which known values stand as before and every node is one run.

    A new value stands behind the last known one of the lowest node that has any; what is not covered comes last.
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
        found = np.where(ancestors[:, level] < 0, -1, published[ancestors[:, level]])
        own = np.where(found >= 0, found, own)
    own[codes] = groups
    return own.astype(np.int32)


def _summary(
    column: "RecodedColumn", bound: _Bound, domain: Domain, ranks: Codes, levels: Codes, nodes: Codes
) -> ColumnSummary:
    """Return what is published: the nodes of the recoding with the ranks that they cover now, and new ones."""
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
    shown = summary.published
    (name, values), parts = shown.outputs[0], ("low", "high", "leaves", "levels")
    moved = {part: getattr(shown, part)[order] for part in parts}
    published = replace(shown, outputs=((name, values.take(pa.array(order))),), **moved)
    return ColumnSummary(published, summary.low[order], summary.high[order], summary.absent[order])


def _more(
    published: PublishedColumn, taxonomy: Taxonomy, domain: Domain, low: Codes, high: Codes, levels: Codes, nodes: Codes
) -> PublishedColumn:
    """Return published values with those of new nodes behind them."""
    (name, values), places = published.outputs[0], slice(len(published), None)
    fresh = list(zip(levels[places].tolist(), nodes[places].tolist(), strict=True))
    if values.type == domain.values.type and not levels[places].any() and not pa.types.is_string(values.type):
        raw = low[places] - domain.missing
        labels = domain.values.take(pa.array(raw, pa.int64(), mask=raw < 0))
    else:
        labels = pa.array([taxonomy.labels[level][node] for level, node in fresh], pa.string())
    line = domain.positions()
    leaves = np.array([taxonomy.leaves[level][node] for level, node in fresh], dtype=np.int64)
    return replace(
        published,
        outputs=((name, pa.concat_arrays([values, labels.cast(values.type)])),),
        low=np.append(published.low, line[low[places]]),
        high=np.append(published.high, line[high[places]]),
        leaves=np.append(published.leaves, leaves),
        levels=levels,
        span=max(published.span, float(line.max() - line.min())),
        size=max(published.size, taxonomy.size),
    )
