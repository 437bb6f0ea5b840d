"""Tuple partitioning of slicing: buckets are split as in Mondrian while every tuple stays diverse.

A split divides tuples by a known attribute. While slices show raw values, a tuple matches its own bucket only, and a
split needs to check just its two buckets: a kernel does that in exact integers. Generalized values may occur in several
buckets; each bucket is then made diverse on its own, and p(t, s), a mean over buckets, is bounded too. Where other
models are required as well, splits are tried one by one and the check is kept up to date for all tuples.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.algorithms.bucket import _kernels
from indistinct.algorithms.bucket.diversity import DiversityCheck, TupleLinks
from indistinct.errors import InfeasibleError
from indistinct.frequencies.encode import distinct_codes, group_rows
from indistinct.machine.arrays import Codes, Floats, starts_of
from indistinct.models.base import Model
from indistinct.recoding.columns import QuasiColumn


class Lines(NamedTuple):
    """Cells as ranks along their attributes, and the position of every rank on its attribute's axis."""

    ranks: Codes
    places: Codes
    offsets: Codes
    spans: Floats


@dataclass(frozen=True, slots=True)
class Rules:
    """When a bucket may be split: both sides are `l`-diverse, have at least `size` rows and satisfy `models`.

    With `every`, all attributes are tried in the order of their width; otherwise only the widest.
    """

    l: int
    size: int
    every: bool
    models: tuple[Model, ...] = ()


def lines_of(columns: Sequence[QuasiColumn], vectors: Codes) -> Lines:
    """Return the cells as ranks along the order of every attribute; a hierarchy is traversed depth first."""
    ranks = np.empty(vectors.shape, dtype=np.uint32, order="C")
    positions = []
    for index, column in enumerate(columns):
        ranks[:, index] = column.ranks[vectors[:, index]]
        line = np.arange(len(column.domain), dtype=np.float64) if column.tree else column.positions
        positions.append(line.astype(np.float64))
    offsets = starts_of([len(line) for line in positions])[:-1]
    spans = np.array([line.max() - line.min() for line in positions], dtype=np.float64)
    return Lines(ranks, np.concatenate(positions), offsets, spans)


def partition_by_kernel(lines: Lines, links: TupleLinks, rules: Rules) -> tuple[Codes, int]:
    """Return (bucket of every cell, number of checks); every bucket is diverse on its own."""
    class_ids, order = np.empty(len(links.weights), dtype=np.int32), np.arange(len(links.weights), dtype=np.int64)
    flat = (links.weights.astype(np.int64), *_flat(links))
    _, checks = _kernels.partition_tuples(lines, flat, rules.l, rules.size, rules.every, order, class_ids)
    return class_ids, checks


def partition_by_check(problem: Problem, lines: Lines, links: TupleLinks, rules: Rules) -> tuple[Codes, int]:
    """Return (bucket of every cell, number of checks) where further models are required."""
    check = DiversityCheck(links, rules.l)
    if not _models_hold(problem, links, rules, check.start().cells):
        names = " & ".join(model.spec() for model in rules.models)
        raise InfeasibleError(
            f"{names} cannot hold: the whole table as one bucket does not satisfy it",
            hint="ask for less, or put fewer attributes into the column of the sensitive attribute",
        )
    queue, done, checks, settled = deque([check.start()]), [], 0, 0
    while queue:
        bucket, made = queue.popleft(), None
        for left, right in _splits(lines, links.weights, bucket.cells, rules):
            checks += 1
            if all(_models_hold(problem, links, rules, side) for side in (left, right)):
                made = check.split(bucket, left, right)
            if made is not None:
                queue += made
                break
        else:
            done.append(bucket)
            settled += len(bucket.cells)
            problem.progress(settled / len(links.weights))
    class_ids = np.empty(len(links.weights), dtype=np.int32)
    for index, bucket in enumerate(done):
        class_ids[bucket.cells] = index
    return class_ids, checks


def _splits(lines: Lines, weights: Codes, cells: Codes, rules: Rules) -> "list[tuple[Codes, Codes]]":
    """Return the candidate splits of a bucket, each as (left cells, right cells), by the width of their attribute."""
    attributes = lines.ranks.shape[1]
    low, high = np.empty(attributes, dtype=np.uint32), np.empty(attributes, dtype=np.uint32)
    width, tally = np.empty(attributes), np.empty(_kernels.BINS, dtype=np.int64)
    order, counts = cells.astype(np.int64), weights.astype(np.int64)
    _kernels.measure_widths(lines, order, 0, len(order), low, high, width)
    splits = []
    axis = _kernels.widest(width)
    while axis >= 0:
        cut = _kernels.choose_cut(
            lines.ranks, counts, order, 0, len(order), axis, low[axis], high[axis], rules.size, tally
        )
        if cut >= 0:
            left = lines.ranks[cells, axis] <= cut
            splits.append((cells[left], cells[~left]))
        width[axis] = -1.0
        axis = _kernels.widest(width) if rules.every else -1
    return splits


def _models_hold(problem: Problem, links: TupleLinks, rules: Rules, cells: Codes) -> bool:
    """Return whether the models hold in a bucket, among the rows that agree on the known attributes of each tuple."""
    if not rules.models:
        return True
    parts = [part[cells] for part in links.parts] or [np.zeros(len(cells), dtype=np.int32)]
    grouping = group_rows(parts, [int(part.max()) + 1 for part in parts])
    classes = problem.frequencies.classes.take(cells).regroup(grouping.group_ids(), len(grouping))
    return not any(bool(model.violations(classes).any()) for model in rules.models)


def _flat(links: TupleLinks) -> tuple[Codes, Codes, Codes, Codes, Codes]:
    """Return all sensitive attributes as one array of compressed rows: (parts, indptr, combinations, counts, owner)."""
    cells = len(links.weights)
    owners, words, counts, owner, parts = [], [], [], [], []
    first_part, first_word = 0, 0
    for part, histogram in zip(links.parts, links.histograms, strict=True):
        own = histogram.owners()
        distinct, inverse = distinct_codes(part[own].astype(np.int64) * len(histogram.reference) + histogram.codes)
        owners.append(own)
        words.append(inverse + first_word)
        counts.append(histogram.counts)
        owner.append(distinct // len(histogram.reference) + first_part)
        parts.append(part + first_part)
        first_part, first_word = first_part + int(part.max()) + 1, first_word + len(distinct)
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return np.zeros((cells, 0), dtype=np.int64), np.zeros(cells + 1, dtype=np.int64), nothing, nothing, nothing
    every = np.concatenate(owners)
    order = np.argsort(every, kind="stable")
    return (
        np.ascontiguousarray(np.stack(parts, axis=1).astype(np.int64)),
        starts_of(np.bincount(every, minlength=cells)),
        np.concatenate(words)[order].astype(np.int64),
        np.concatenate(counts)[order].astype(np.int64),
        np.concatenate(owner).astype(np.int64),
    )
