"""The order of published rows: what it may tell beyond the values that are published.

Rows that are sorted by what they show tell nothing by their order. So a release is parted into *blocks*, as far as its
columns explain the order, and only the order inside blocks is looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes
from indistinct.machine.ordering import distinct
from indistinct.recoding.outputs import MAIN
from indistinct.study.attack.base import Target
from indistinct.study.attack.crowd import encoded, original_crowd, table_of, translated
from indistinct.study.attack.groups import groups_of
from indistinct.study.attack.matching import matches_of

# A column explains the order where equal values stand together, unless nearly all are of their own.
MOST_DISTINCT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class RowOrder:
    """Published rows in their order, and the rows of the original that look alike.

    `blocks` ascend; `kinds` number what rows look like: their class and what is published as it is. `originals` has the
    kind of each row of the original, -1 where that is not clear. `slice` counts the slices of a release in buckets.
    """

    blocks: Codes
    kinds: Codes
    originals: Codes
    slice: int = 0

    def positions(self) -> Codes:
        """Return where in the original a published row is expected: the mean of the rows that look alike, or NaN."""
        (known,) = np.nonzero(self.originals >= 0)
        size = int(max(self.kinds.max(initial=-1), self.originals.max(initial=-1))) + 1
        number = np.bincount(self.originals[known], minlength=size)
        total = np.bincount(self.originals[known], weights=known, minlength=size)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (total / number)[self.kinds]


def row_orders(target: Target) -> Iterator[tuple[str, RowOrder]]:
    """Yield the order of the published rows, and that by every column that has no role, such as a row number."""
    published = table_of(target.published.sources[MAIN], "the release")
    if target.earlier is not None:
        earlier = table_of(target.earlier.published.sources[MAIN], "the earlier release")
        shared = {*published.column_names} & {*earlier.column_names}
        names = [name for name in target.schema.published if name in shared]
        if names:
            shown = (*_together(published, earlier, names), 0)
            yield "rows, beside the earlier release", _parted(published, shown)
    if target.original is None:
        return
    every = list(_kinds(target, published))
    for order in every:
        yield "rows", _parted(published, order)
    roles = {*target.schema.columns, "bucket", "count"}
    for name in published.column_names:
        if name in roles or any(name.startswith(f"{quasi}_") for quasi in target.schema.quasi):
            continue
        codes = encoded(published, name).codes
        if len(distinct(codes)) == len(codes) > 1:
            rows = np.argsort(codes, kind="stable")
            sorted_by = published.drop_columns([name]).take(pa.array(rows))
            for kinds, originals, index in every:
                yield f"column {name!r}", _parted(sorted_by, (kinds[rows], originals, index))


_Kinds = tuple[Codes, Codes, int]


def _parted(published: pa.Table, kinds: _Kinds) -> RowOrder:
    own, originals, index = kinds
    return RowOrder(explained(published), own, originals, index)


def explained(published: pa.Table) -> Codes:
    """Return the block of every row: rows stay in one block unless some columns explain why they stand apart."""
    columns = {name: encoded(published, name).codes.astype(np.int64) for name in published.column_names}
    blocks = np.zeros(published.num_rows, dtype=np.int64)
    while True:
        name = next((name for name, codes in columns.items() if _explains(codes, blocks)), None)
        if name is None:
            return blocks
        codes = columns.pop(name)
        changes = (np.diff(codes) != 0) | (np.diff(blocks) != 0)
        blocks = np.append(0, np.cumsum(changes)) if len(blocks) else blocks


def _explains(codes: Codes, blocks: Codes) -> bool:
    """Return whether equal values of a column stand together in all blocks, or its values ascend or descend there."""
    if not len(codes):
        return False
    within = np.diff(blocks) == 0
    if not within.any():
        return False
    steps = np.diff(codes)[within]
    if (steps >= 0).all() or (steps <= 0).all():
        return True
    runs = int((steps != 0).sum()) + int((~within).sum()) + 1
    if runs > MOST_DISTINCT * len(codes):
        return False
    return runs == len(group_rows([blocks, codes], [int(blocks.max()) + 1, int(codes.max()) + 1]))


def _kinds(target: Target, published: pa.Table) -> Iterator[_Kinds]:
    """Yield what published rows and original ones look like: for classes once, for buckets once a slice."""
    schema, original = target.schema, table_of(target.original, "the original")
    groups = groups_of(target)
    if groups.class_of_row is not None:
        crowd = original_crowd(target)
        plain = [*schema.sensitive, *schema.insensitive]
        known = np.full(original.num_rows, -1)
        known[crowd.rows] = matches_of(target, groups, crowd).only()
        classes = (groups.class_of_row, known)
        yield (*_together(published, original, plain, classes), 0)
        return
    buckets = target.published.buckets
    assert buckets is not None  # noqa: S101  (else they were classes)
    for index, names in enumerate(buckets.slices):
        exact = buckets.form != "multiset" and not set(names) & set(buckets.generalized)
        if exact and all(name in published.column_names and name in original.column_names for name in names):
            yield (*_together(published, original, list(names)), index)


def _together(
    published: pa.Table, other: pa.Table, names: list[str], classes: tuple[Codes, Codes] | None = None
) -> tuple[Codes, Codes]:
    """Number what rows show in some columns and in their class, alike for published rows and those of another table.

    What the other table does not have is -1.
    """
    columns = [] if classes is None else [np.concatenate(classes) + 1]
    for name in names:
        if name in published.column_names and name in other.column_names:
            domain = encoded(other, name).domain
            parts = [translated(table, name, domain) for table in (published, other)]
            columns.append(np.concatenate(parts) + 1)
    ids = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns]).group_ids().astype(np.int64)
    unclear = np.logical_or.reduce([codes == 0 for codes in columns])
    ids = np.where(unclear, -1, ids)
    return ids[: published.num_rows], ids[published.num_rows :]
