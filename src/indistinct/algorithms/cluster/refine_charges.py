"""Tables of what a metric charges the classes of a local search, so that no recoding is built to compute a cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from indistinct.algorithms.cluster._refine_kernels import LINE, PAIRS, SET, TREE, Charges
from indistinct.algorithms.partition._by_loss_kernels import BITS
from indistinct.machine.arrays import Codes, Floats, starts_of
from indistinct.metrics.base import CellMetric
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.outputs import PublishedColumn
from indistinct.recoding.summary import floor_of, meeting_levels

# Domains of up to this number of values have a table with the charge of every pair of values.
PAIRS_UP_TO = 512
BY_LEVEL = ("distortion", "precision")


def charges_of(columns: Sequence[QuasiColumn], metric: CellMetric) -> Charges:
    """Tabulate the loss of each column by the lowest and highest rank of a class."""
    kinds, strides, tables, nodes = zip(*(_column_charges(column, metric) for column in columns), strict=True)
    floors = [0 if metric.name in BY_LEVEL else floor_of(column) for column in columns]
    table = np.concatenate(tables).astype(np.float64)
    kind, floor, stride = (np.array(head, dtype=np.int64) for head in (kinds, floors, strides))
    offset = starts_of([len(each) for each in tables])[:-1]
    narrow = np.isin(kind, (PAIRS, SET)) & (stride <= BITS)
    return Charges(kind, narrow, floor, offset, stride, table, np.concatenate(nodes))


def _column_charges(column: QuasiColumn, metric: CellMetric) -> tuple[int, int, Floats, Codes]:
    """Return (kind, stride, table of charges, nodes of each rank) of a column."""
    size = len(column.domain)
    if not column.tree and not column.ranged:
        # Charges of classes with one, two, three … distinct values.
        leaves = np.arange(1, size + 1)
        ranks = np.zeros_like(leaves)
        table = metric.charge(
            _published_column(column, ranks, ranks, levels=(leaves > 1).astype(np.int64), leaves=leaves)
        )
        return SET, size, np.concatenate([[0.0], table]), np.zeros(size + 1, dtype=np.int64)
    if size <= PAIRS_UP_TO:
        first, second = np.divmod(np.arange(size * size), max(size, 1))
        low, high = np.minimum(first, second), np.maximum(first, second)
        return PAIRS, size, metric.charge(_probe(column, low, high)), np.zeros(size * size, dtype=np.int64)
    ranks = np.arange(size)
    if not column.tree and metric.name not in BY_LEVEL:
        return LINE, 1, metric.charge(_probe(column, np.zeros_like(ranks), ranks)), np.zeros(size, dtype=np.int64)
    ancestors = _ancestors(column)
    each = [metric.charge(at_level(column, level)) for level in range(ancestors.shape[1])]
    return TREE, ancestors.shape[1], np.stack(each, axis=1).ravel(), ancestors.astype(np.int64).ravel()


def _ancestors(column: QuasiColumn) -> Codes:
    """Return the node of every rank on each level; without a hierarchy the levels are the value and the star."""
    if column.taxonomy is not None:
        return column.taxonomy.ancestors[column.by_rank]
    ranks = np.arange(len(column.domain))
    return np.stack([ranks, np.zeros_like(ranks)], axis=1)


def _probe(column: QuasiColumn, low: Codes, high: Codes) -> PublishedColumn:
    """Return the published form of classes that cover each range of ranks."""
    ancestors = _ancestors(column)
    levels = meeting_levels(ancestors, low, high)
    leaves: Codes = high - low + 1
    if column.tree and column.taxonomy is not None:
        leaves = _leaves(column, ancestors[low, levels], levels)
    return _published_column(column, low, high, levels=levels, leaves=leaves)


def at_level(column: QuasiColumn, level: int) -> PublishedColumn:
    """Return the published form of a value of each rank on a level."""
    ranks, nodes = np.arange(len(column.domain)), _ancestors(column)[:, level]
    levels = np.full(len(ranks), level)
    leaves = np.ones(len(ranks), dtype=np.int64) if column.taxonomy is None else _leaves(column, nodes, levels)
    return _published_column(column, ranks, ranks, levels=levels, leaves=leaves)


def _leaves(column: QuasiColumn, nodes: Codes, levels: Codes) -> Codes:
    """Return a raw value below each node of the hierarchy."""
    leaf_counts = np.ones(len(nodes), dtype=np.int64)
    for level, leaves in enumerate(column.taxonomy.leaves if column.taxonomy is not None else ()):
        leaf_counts[levels == level] = leaves[nodes[levels == level]]
    return leaf_counts


def _published_column(column: QuasiColumn, low: Codes, high: Codes, **shape: Any) -> PublishedColumn:
    """Describe published ranges, for measuring their loss."""
    positions = column.positions[column.by_rank]
    return PublishedColumn(
        column.name,
        (),
        low=positions[low],
        high=positions[high],
        span=column.span,
        size=column.size,
        height=column.height,
        ranged=column.ranged,
        **shape,
    )
