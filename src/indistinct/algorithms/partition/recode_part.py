"""Recode one part of a table: search, assignment, labels, and its rows by class.

Engines recode parts with this module on this machine and in the workers of a cluster; nothing here depends on where the
rows come from or go to.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.algorithms.partition.by_passes import Judge, Top
from indistinct.algorithms.partition.finish_parts import Assembled, Ends, FinishedPart, assemble_parts, finish_part
from indistinct.algorithms.partition.keyed_columns import KeyedColumn
from indistinct.frequencies.passes import LAST_KEY, MISSING_KEY, KeyTree, key_matrix
from indistinct.frequencies.value import Classes, FrequencySet, Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Array, Codes
from indistinct.metrics.registry import SUMMED_BY_PART
from indistinct.models.dropping import classes_to_drop
from indistinct.recoding.assign import assign
from indistinct.recoding.class_rows import ClassRows, gather_classes
from indistinct.recoding.kinds import Cuts
from indistinct.recoding.outputs import MAIN, Assignment
from indistinct.recoding.stored_parts import PartsElsewhere, PartStore, StoredPart
from indistinct.recoding.summary import Style
from indistinct.schema import Schema
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class PartPlan:
    """What finishing a part needs in addition to its rows.

    `keys` are the domains of what the model looks at, and `columns` the names of the table's columns in order. With
    `keeps_cuts` the summary contains the cuts. `boxes` has the lowest and highest ranks of every part, where regions
    are published.
    """

    quasi: tuple[KeyedColumn, ...]
    keys: Mapping[Key, Domain]
    judge: Judge
    hierarchies: Mapping[str, Hierarchy]
    style: Style
    schema: Schema
    columns: tuple[str, ...]
    keeps_cuts: bool = False
    boxes: tuple[Codes, Codes] | None = None


def boxes_of(top: KeyTree, columns: Sequence[KeyedColumn]) -> tuple[Codes, Codes]:
    """Return the lowest and highest ranks of every part below a tree of cuts, of columns whose values are all known."""
    cut, left, right = (each.astype(np.int32) for each in (top.cut, top.left, top.right))
    return Cuts(top.axis.astype(np.int16), cut, left, right).bounds(tuple(len(each.quasi.domain) for each in columns))


@dataclass(frozen=True, slots=True, eq=False)
class PartSummary:
    """Facts about a recoded part that do not grow with its rows or classes.

    `rows` are published; `totals` are those of the metrics in `SUMMED_BY_PART`. `counters` are those of the search or,
    when a stored recoding is applied, of what is not published: `uncovered` rows have values that no class covers, and
    `broken` classes with `dropped` rows would break the model. `digest` identifies how the part was cut; `cuts` are the
    cuts themselves, where they are kept.
    """

    rows: int
    totals: tuple[Array, ...]
    counters: Counter[str]
    digest: bytes = b""
    cuts: StoredPart | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PublishedPart:
    """A published part: its classes with their rows, and its summary."""

    classes: ClassRows
    summary: PartSummary


def publish_part(plan: PartPlan, number: int, rows: pa.Table) -> PublishedPart:
    """Return the classes of the rows of one part; columns of `rows` that the plan does not name are kept with them."""
    counters: Counter[str] = Counter()
    keys = key_matrix(rows, [column.keys for column in plan.quasi], range(len(plan.quasi)))
    codes = {key: domain.encode(rows[key[0]]) for key, domain in plan.keys.items()}
    part, owners = finish_part(plan.quasi, keys, codes, plan.judge, counters=counters)
    del keys, codes
    made = assemble_part(plan, part, number)
    assignment = assign(made.frequencies, replace(made.recoding, schema=plan.schema))
    owners = assignment.class_ids[made.cells[owners]]
    classes = classes_of(plan, assignment, owners, rows)
    summary = PartSummary(len(owners), _metric_totals(plan, assignment, owners, rows=len(rows)), counters)
    cuts = stored_part(part)
    return PublishedPart(classes, replace(summary, digest=cuts.digest(), cuts=cuts if plan.keeps_cuts else None))


def assemble_part(plan: PartPlan, part: FinishedPart, number: int) -> Assembled:
    """Return the recoding of a part, given its number."""
    alone, box = Top(), None if plan.boxes is None else (plan.boxes[0][number], plan.boxes[1][number])
    # A column counts as having missing values if any part has them, because a published column may indicate it.
    missing = [
        np.full(int(each.low == MISSING_KEY and not each.has_domain), MISSING_KEY, np.uint64) for each in plan.quasi
    ]
    return assemble_parts(
        alone, [part], plan.quasi, hierarchies=plan.hierarchies, style=plan.style, behind=missing, box=box
    )


def classes_of(
    plan: PartPlan, assignment: Assignment, owners: Codes, rows: pa.Table, used: Codes | None = None
) -> ClassRows:
    """Return classes with their rows; each row's class is an index into `used` or, without it, into all classes."""
    outputs = assignment.layout.tables[MAIN].outputs
    published = pa.table(
        {
            each.name: each.values.take(pa.array(each.codes if used is None else each.codes[used]))
            for each in outputs
            if each.values is not None and each.codes is not None
        }
    )
    names = {each.name: plan.columns.index(each.of) for each in outputs}
    recoded = {column.keys.name for column in plan.quasi}
    others = rows.select([name for name in rows.column_names if name not in recoded])
    return gather_classes(published, owners, others, sorted(names, key=lambda name: names[name]))


def stored_part(part: FinishedPart) -> StoredPart:
    """Return the cuts of a part, without its counts."""
    return StoredPart(part.axis, part.cut, part.left, part.ends.starts, part.ends.keys, part.sets)


def finished_part(stored: StoredPart) -> FinishedPart:
    """Return a part from its stored cuts; the rows of its classes are unknown."""
    ones = Classes(np.ones(len(stored.starts) - 1, dtype=np.int64))
    return FinishedPart(stored.axis, stored.cut, stored.left, ones, Ends(stored.starts, stored.keys), stored.sets)


def apply_part(plan: PartPlan, store: PartStore | PartsElsewhere, part: int, rows: pa.Table) -> PublishedPart:
    """Return the classes of rows under a stored part, without the classes that break the model."""
    stored = store.read(part)
    stored.check_keys([len(column.quasi.domain) if column.has_domain else None for column in plan.quasi])
    made = assemble_part(plan, finished_part(stored), part)
    assignment = assign(made.frequencies, replace(made.recoding, schema=plan.schema))
    regions, covered = locate_rows(plan, made, rows)
    owners = np.where(covered, assignment.class_ids[made.cells[regions]], np.int32(-1))
    size, broken, dropped = len(assignment.classes), 0, 0
    while True:
        classes = _classes(plan, owners, size, rows)
        breaks = classes_to_drop(plan.judge.model, classes) & (classes.sizes > 0)
        if not breaks.any():
            break
        broken, dropped = broken + int(breaks.sum()), dropped + int(classes.sizes[breaks].sum())
        owners = np.where((owners >= 0) & breaks[owners], np.int32(-1), owners)
    kept = np.flatnonzero(owners >= 0)
    used = np.flatnonzero(np.bincount(owners[kept], minlength=size))
    numbers = np.full(size, -1, dtype=np.int32)
    numbers[used] = np.arange(len(used))
    published = classes_of(plan, assignment, numbers[owners[kept]], rows.take(pa.array(kept)), used)
    counters = Counter(uncovered=int((~covered).sum()), broken=broken, dropped=dropped)
    totals = _metric_totals(plan, assignment, owners[kept], rows=len(rows))
    return PublishedPart(published, PartSummary(len(kept), totals, counters))


def locate_rows(plan: PartPlan, made: Assembled, rows: pa.Table) -> tuple[Codes, Codes]:
    """Return the region of every row, and whether the labels of its class cover the row."""
    keys = key_matrix(rows, [column.table_keys for column in plan.quasi], range(len(plan.quasi)))
    ranks, exact = np.empty(keys.shape, dtype=np.uint32), np.ones(keys.shape, dtype=bool)
    inside = np.ones(len(keys), dtype=bool)
    for index, (column, known) in enumerate(zip(plan.quasi, made.some, strict=True)):
        own = keys[:, index]
        if column.has_domain:
            ranks[:, index] = np.where(own == LAST_KEY, 0, own)
            inside &= own != LAST_KEY  # a category that the first table did not have
            if column.keys.between:
                known_alone = replace(column.keys, between=False)
                exact[:, index] = known_alone.keys(rows[column.keys.name]) != LAST_KEY
            continue
        positions = np.minimum(np.searchsorted(known, own), len(known) - 1)
        ranks[:, index], exact[:, index] = positions, known[positions] == own
        inside &= own <= known[-1]
    regions = made.recoding.cuts.locate(ranks)
    for index, recoded in enumerate(made.recoding.columns):
        codes = made.recoding.values[regions, index]
        own = ranks[:, index].astype(np.int64)
        inside &= recoded.summary.covers(codes, own, floor=recoded.floor)
        # A value between two known ones has the rank of the larger one: a range that begins there does not cover it.
        inside &= exact[:, index] | (own > recoded.summary.low[codes])
    return regions, inside


def _classes(plan: PartPlan, owners: Codes, size: int, rows: pa.Table) -> Classes:
    """Return the classes of rows, with the histograms of the whole table that the model compares with."""
    chosen = np.flatnonzero(owners >= 0)
    own = owners[chosen]
    histograms = {}
    for key, domain in plan.keys.items():
        codes = domain.encode(rows[key[0]])[chosen]
        whole = plan.judge.whole.histograms[key]
        one = np.arange(len(codes) + 1, dtype=np.int64)
        single = replace(whole, indptr=one, codes=codes.astype(np.int32), counts=np.ones(len(codes), dtype=np.int64))
        histograms[key] = single.regroup(own.astype(np.int32), size)
    return Classes(np.bincount(own, minlength=size), histograms)


def _metric_totals(plan: PartPlan, assignment: Assignment, owners: Codes, *, rows: int) -> tuple[Array, ...]:
    """Return the totals of additive metrics over a part with `rows` rows, given the class of each published row.

    Widths are shares of the extent of the whole table.
    """
    columns = tuple(
        column if quasi.has_domain else replace(column, span=quasi.quasi.span)
        for column, quasi in zip(assignment.columns, plan.quasi, strict=True)
    )
    sizes = np.bincount(owners, minlength=len(assignment.classes))
    whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), Classes(np.array([rows])))
    part = replace(assignment, columns=columns, classes=Classes(sizes), frequencies=whole)
    return tuple(metric.totals(part) for metric in SUMMED_BY_PART)
