"""Partitions as boxes: the cuts of an algorithm, and the ranges that a release shows for its classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Problem
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.machine.arrays import Codes
from indistinct.models import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.recoding.kinds import ByColumn, ByRegion, Recoding


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Classes of vectors of whole numbers from 0: the ends of their boxes, which are inside, and their sizes.

    A box is the region of a class, from cut to cut and at the edge to the limits of the domain, or what a release
    shows for it by default (`extent=range`): a multidimensional recoding the range of the class's own values, a
    single-dimensional one, in each column, the range of all values between two cuts.
    """

    low: Codes
    high: Codes
    sizes: Codes

    def counts(self, axis: int, cardinality: int) -> Codes:
        """Return the estimated number of rows with each value of an attribute, rows spread evenly over their box."""
        values = np.arange(cardinality)
        inside = (self.low[:, axis, None] <= values) & (values <= self.high[:, axis, None])
        widths = self.high[:, axis] - self.low[:, axis] + 1
        return np.asarray((self.sizes / widths) @ inside)

    def count_within(self, low: Codes, high: Codes) -> Codes:
        """Return the estimated number of rows in each of some boxes, whose ends are inside: a row of `low` each."""
        overlap = np.minimum(self.high[None], high[:, None]) - np.maximum(self.low[None], low[:, None]) + 1
        shares = np.clip(overlap, 0, None) / (self.high - self.low + 1)[None]
        return np.asarray(shares.prod(axis=2) @ self.sizes)


def boxes_of(table: pa.Table, algorithm: str, *, k: int, cardinality: int) -> Boxes:
    """Return the regions of the partition that an algorithm finds of a table of whole numbers."""
    return partition(table, algorithm, k=k, cardinality=cardinality).region


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The classes of a table as regions between cuts, and as the labels that a release shows by default.

    `proven` says that no recoding of the kind has a smaller discernibility; None if the search proves nothing.
    """

    region: Boxes
    published: Boxes
    proven: bool | None


def partition(table: pa.Table, algorithm: str, *, k: int, cardinality: int) -> Partition:
    """Return the partition that an algorithm finds of a table of whole numbers."""
    counted = count_source(table, Request(tuple(table.column_names), (), {}))
    problem = Problem(counted.frequencies, columns_of(counted.domains, {}), KAnonymity(k))
    recoding = parse_algorithm(algorithm).find(problem)
    values = [domain.values.to_numpy(zero_copy_only=False).astype(np.int64) for domain in counted.domains]
    vectors, class_ids = counted.frequencies.vectors, assign(counted.frequencies, recoding).class_ids
    ranks = _ranks(recoding, vectors, class_ids, [len(own) for own in values])
    ends = [_ends(own, low, high, cardinality) for own, low, high in zip(values, *ranks, strict=True)]
    sizes = np.bincount(class_ids, counted.frequencies.counts).astype(np.int64)
    if isinstance(recoding, ByColumn):
        labels = [(own[low], own[high]) for own, low, high in zip(values, *ranks, strict=True)]
    else:
        labels = [_ranges(own[codes], class_ids, len(sizes)) for own, codes in zip(values, vectors.T, strict=True)]
    regions, published = (_stack_boxes(columns, sizes) for columns in (ends, labels))
    proven = bool(problem.counters["proven"]) if "proven" in problem.counters else None
    return Partition(regions, published, proven)


def _stack_boxes(columns: Sequence[tuple[Codes, Codes]], sizes: Codes) -> Boxes:
    """Return boxes from the ends of each column."""
    low, high = (np.stack(side, axis=1) for side in zip(*columns, strict=True))
    return Boxes(low, high, sizes)


def _ranges(values: Codes, class_ids: Codes, classes: int) -> tuple[Codes, Codes]:
    """Return the smallest and the largest value of each class."""
    low, high = np.full(classes, values.max()), np.full(classes, values.min())
    np.minimum.at(low, class_ids, values)
    np.maximum.at(high, class_ids, values)
    return low, high


def _ranks(recoding: Recoding, vectors: Codes, class_ids: Codes, sizes: list[int]) -> tuple[list[Codes], list[Codes]]:
    """Return the lowest and the highest rank of every class in every column."""
    if isinstance(recoding, ByRegion):
        low, high = recoding.cuts.bounds(tuple(sizes))
        return list(low.T), list(high.T)
    assert isinstance(recoding, ByColumn)  # noqa: S101
    firsts = np.unique(class_ids, return_index=True)[1]
    lows, highs = [], []
    for column, group in enumerate(recoding.groups):
        own = group[vectors[firsts, column]]
        places = [np.flatnonzero(group == each) for each in own]
        lows.append(np.array([place[0] for place in places]))
        highs.append(np.array([place[-1] for place in places]))
    return lows, highs


def _ends(values: Codes, low: Codes, high: Codes, cardinality: int) -> tuple[Codes, Codes]:
    """Return the values that a region reaches to: just before the next one of another region, or the domain's end."""
    after = np.append(values[1:] - 1, cardinality - 1)
    return np.where(low == 0, 0, values[low]), after[high]
