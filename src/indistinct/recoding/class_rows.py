"""Classes with their rows, in the order of their labels: the form in which a release is assembled from parts.

The order is that of texts, column by column, so that a reader of the file can check that every class is in one place.
It is independent of how classes were found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.machine.arrays import Codes, run_entries, starts_of
from indistinct.tables.dictionaries import share_dictionaries

# The separator of the texts of a class, the escape of a NUL in a text, and the mark of a missing text. None is the
# beginning of another, so that different classes have different words.
BETWEEN, NUL, NOTHING = "\0\1", "\0\2", "\0\3"


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Classes that ascend by what they show: `shown` has a row for each, `sizes` says how many rows each has.

    `rows` are the other columns of their rows, class after class. `columns` are those that are published, in order.
    """

    shown: pa.Table
    sizes: Codes
    rows: pa.Table
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def nbytes(self) -> int:
        """Return how many bytes they take."""
        return int(self.shown.nbytes + self.sizes.nbytes + self.rows.nbytes)

    def slice(self, first: int, last: int) -> "ClassRows":
        """Return the classes from one to before another."""
        sizes = self.sizes[first:last]
        before = int(self.sizes[:first].sum())
        labels, rows = self.shown.slice(first, last - first), self.rows.slice(before, int(sizes.sum()))
        return ClassRows(labels, sizes, rows, self.columns)


def class_words(published: pa.Table) -> pa.ChunkedArray:
    """Join the published values of each class to one text, by which classes are sorted; texts of classes differ.

    >>> shown = pa.table({"age": ["[20-29]", None, "[20-29]"], "sex": ["M", "F", "F"]})
    >>> pc.sort_indices(class_words(shown)).to_pylist()
    [1, 2, 0]
    """
    texts = [_texts(column) for column in published.columns]
    if len(texts) == 1:
        return pc.fill_null(texts[0], NOTHING)
    return pc.binary_join_element_wise(
        *texts, pa.scalar(BETWEEN, pa.large_string()), null_handling="replace", null_replacement=NOTHING
    )


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a column as text, with NUL characters escaped."""
    plain = column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
    texts = plain.cast(pa.large_string())
    if pc.any(pc.match_substring(texts, "\0")).as_py():
        texts = pc.replace_substring(texts, "\0", NUL)
    return texts


def _order_classes(published: pa.Table) -> tuple[Codes, Codes]:
    """Return classes in the order of what they show, and which of them show something else than the one before."""
    words = class_words(published)
    order = pc.sort_indices(words).to_numpy()
    ordered = words.take(pa.array(order))
    fresh = np.ones(len(order), dtype=bool)
    if len(order) > 1:
        fresh[1:] = pc.not_equal(ordered.slice(1), ordered.slice(0, len(order) - 1)).to_numpy()
    return order, fresh


def gather_classes(published: pa.Table, owners: Codes, rows: pa.Table, columns: Sequence[str]) -> ClassRows:
    """Return classes in the order of what they show, given the class of every row; those that show the same are one.

    `columns` are those that are published, in order.
    """
    order, fresh = _order_classes(published)
    positions = np.empty(len(order), dtype=np.int32)
    positions[order] = np.cumsum(fresh) - 1
    own = positions[owners]
    chosen = published.take(pa.array(order[fresh]))
    sizes = np.bincount(own, minlength=chosen.num_rows)
    return ClassRows(chosen, sizes, take_rows(rows, np.argsort(own, kind="stable")), tuple(columns))


def unite_classes(several: Sequence[ClassRows]) -> ClassRows:
    """Return the classes of several, in order; rows of classes that show the same follow each other."""
    labels = pa.concat_tables([each.shown for each in several])
    sizes = np.concatenate([each.sizes for each in several])
    order, fresh = _order_classes(labels)
    begins = np.flatnonzero(fresh)
    rows = pa.concat_tables([each.rows for each in several])
    moved = run_entries(starts_of(sizes)[:-1][order], sizes[order])
    united = np.add.reduceat(sizes[order], begins) if len(begins) else sizes
    return ClassRows(labels.take(pa.array(order[begins])), united, take_rows(rows, moved), several[0].columns)


def take_rows(rows: pa.Table, order: Codes) -> pa.Table:
    """Return rows in another order; there may be no column to order."""
    return share_dictionaries(rows).take(pa.array(order)) if rows.num_columns else rows
