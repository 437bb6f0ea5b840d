"""Pieces: rows of a cell that go to one class together, for recodings that may split rows with equal vectors."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Codes, Mask
from indistinct.machine.ordering import distinct


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Piece `i` is `counts[i]` rows of cell `cells[i]` in class `class_ids[i]`; a negative class suppresses them.

    `joint[i]` is the joint code of their sensitive values, where a model or metric needs it.
    """

    cells: Codes
    joint: Codes | None
    counts: Codes
    class_ids: Codes

    def __len__(self) -> int:
        return len(self.cells)

    @classmethod
    def of(cls, frequencies: FrequencySet) -> "Pieces":
        """Return the rows of a table as one class; rows with equal vectors and sensitive values are one piece."""
        if frequencies.joint is None:
            cells, joint, counts = np.arange(len(frequencies), dtype=np.int32), None, frequencies.counts
        else:
            histogram = frequencies.joint.histogram
            cells, joint, counts = histogram.owners().astype(np.int32), histogram.codes, histogram.counts
        return cls(cells, joint, counts, np.zeros(len(cells), dtype=np.int32))

    @property
    def size(self) -> int:
        """Return the number of classes."""
        return int(self.class_ids.max(initial=-1)) + 1

    def take(self, pieces: Codes | Mask) -> "Pieces":
        """Return some of the pieces, in the order given."""
        joint = None if self.joint is None else self.joint[pieces]
        return Pieces(self.cells[pieces], joint, self.counts[pieces], self.class_ids[pieces])

    def in_order(self) -> "Pieces":
        """Return the pieces in the order of a recoding by row: ascending by cell, sensitive values and class."""
        keys = [self.class_ids, self.cells] if self.joint is None else [self.class_ids, self.joint, self.cells]
        ordered = self.take(np.lexsort(keys))
        return Pieces(
            ordered.cells.astype(np.int32),
            None if ordered.joint is None else ordered.joint.astype(np.int32),
            ordered.counts.astype(np.int64),
            ordered.class_ids.astype(np.int32),
        )

    def divided(self, frequencies: FrequencySet) -> "Pieces":
        """Return the pieces with sensitive values, taken in the order of the rows of each cell."""
        whole = replace(self, joint=None).in_order()
        if frequencies.joint is None:
            return whole
        # The pieces and the histograms of the cells cover the same sequence of rows, which is cut at the ends of both.
        histogram = frequencies.joint.histogram
        ends = np.cumsum(histogram.counts), np.cumsum(whole.counts)
        cuts = distinct(np.concatenate([[0], *ends]))
        entries, pieces = (np.searchsorted(line, cuts[:-1], side="right") for line in ends)
        parts = whole.take(pieces)
        return replace(parts, joint=histogram.codes[entries], counts=np.diff(cuts)).in_order()

    def column(self, frequencies: FrequencySet, name: str) -> Codes:
        """Return the code of each piece in a column, quasi-identifying or sensitive."""
        if name in frequencies.names:
            return np.asarray(frequencies.vectors[self.cells, frequencies.names.index(name)])
        if frequencies.joint is None or self.joint is None:
            raise KeyError(name)
        return np.asarray(frequencies.joint.codes[(name,)][self.joint])

    def histograms(self, frequencies: FrequencySet, size: int) -> dict[Key, Histogram]:
        """Return the histograms of `size` classes, as far as the joint codes contain them."""
        if frequencies.joint is None or self.joint is None:
            return {}
        single, class_ids = np.arange(len(self) + 1, dtype=np.int64), self.class_ids.astype(np.int32)
        by_key = {}
        for key, codes in frequencies.joint.codes.items():
            whole = frequencies.classes.histograms[key]
            entries = replace(whole, indptr=single, codes=codes[self.joint], counts=self.counts)
            by_key[key] = entries.regroup(class_ids, size)
        return by_key

    def classes(self, frequencies: FrequencySet, size: int) -> Classes:
        """Return `size` classes made of pieces, as a model sees them."""
        kept = self.class_ids >= 0
        sizes = np.bincount(self.class_ids[kept], weights=self.counts[kept], minlength=size).astype(np.int64)
        return Classes(sizes, self.histograms(frequencies, size))


def join_pieces(several: Iterable[Pieces]) -> Pieces:
    """Return the pieces of several lists as one list; the classes of each list follow those of the lists before it."""
    lists = list(several)
    sizes = np.array([pieces.size for pieces in lists])
    firsts = np.cumsum(sizes) - sizes
    joint = [pieces.joint for pieces in lists if pieces.joint is not None]
    return Pieces(
        np.concatenate([pieces.cells for pieces in lists]),
        np.concatenate(joint) if joint else None,
        np.concatenate([pieces.counts for pieces in lists]),
        np.concatenate([pieces.class_ids + first for pieces, first in zip(lists, firsts, strict=True)]),
    )
