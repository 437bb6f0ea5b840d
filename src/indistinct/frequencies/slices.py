"""Slices of published values: how often each combination of columns that stay together occurs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.frequencies.encode import BITS_PER_WORD, group_rows, pack
from indistinct.machine.arrays import Codes, Mask

KNOWN = ""
"""The column of a slice that joins several known columns into one code."""


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Columns whose values stay together: unit `units[i]` has the values `codes[name][i]` in `counts[i]` rows.

    Inside a unit nothing links the entries of one slice to those of another. In a release in buckets the units are the
    buckets. A release in classes is one slice, in which each entry is a unit.
    """

    units: Codes
    codes: Mapping[str, Codes]
    counts: Codes

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns."""
        return tuple(self.codes)

    def known_by(self, known: Codes, columns: Sequence[str] = ()) -> "Slice":
        """Return the slice with one code for all known columns, and some of its columns."""
        return Slice(self.units, {KNOWN: known, **{name: self.codes[name] for name in columns}}, self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """What links people to sensitive values: the slices of a release and, if available, the original's tuples.

    `sizes` are the rows of each bucket. `tuples` has the distinct vectors of the original's attributes that are not
    sensitive, in the codes of the release (-1 for a value that it does not show), and `weights` how often each occurs;
    None where the original is missing or cannot be compared. With `public`, the release itself shows the tuples.
    """

    slices: tuple[Slice, ...]
    sizes: Codes
    sensitive: tuple[str, ...]
    tuples: Mapping[str, Codes] | None = None
    weights: Codes | None = None
    public: bool = False

    def home(self, name: str) -> int:
        """Return the slice that contains a sensitive attribute."""
        return next(index for index, each in enumerate(self.slices) if name in each.names)

    def codes_without_sensitive(self, index: int) -> tuple[Codes, Codes | None]:
        """Return the non-sensitive attributes of a slice as one code, for each entry and for each original tuple."""
        each = self.slices[index]
        names = [name for name in each.names if name not in self.sensitive]
        theirs = None if self.tuples is None else [self.tuples[name] for name in names]
        return together([each.codes[name] for name in names], theirs, rows=len(each.units))


def together(mine: Sequence[Codes], theirs: Sequence[Codes] | None, *, rows: int) -> tuple[Codes, Codes | None]:
    """Return vectors as one dense code each, the same code for equal vectors on both sides.

    A vector of `theirs` with a negative code matches none and gets -1. Without columns all vectors are equal.
    """
    if not mine:
        return np.zeros(rows, dtype=np.int64), None if theirs is None else np.zeros(0, dtype=np.int64)
    others = [np.zeros(0, dtype=np.int64)] * len(mine) if theirs is None else theirs
    columns = [np.concatenate([one, np.maximum(other, 0)]) for one, other in zip(mine, others, strict=True)]
    ids = group_rows(columns, [int(column.max(initial=0)) + 1 for column in columns]).group_ids()
    if theirs is None:
        return ids, None
    lost = np.logical_or.reduce([other < 0 for other in theirs])
    return ids[: len(mine[0])], np.where(lost, -1, ids[len(mine[0]) :])


def find_contained(mine: Sequence[Codes], theirs: Sequence[Codes]) -> Mask:
    """Return which vectors of `mine` are among those of `theirs`, where vectors with negative codes match none."""
    kept = np.logical_and.reduce([other >= 0 for other in theirs])
    others = [other[kept] for other in theirs]
    sizes = [int(max(one.max(initial=0), other.max(initial=0))) + 1 for one, other in zip(mine, others, strict=True)]
    if sum((size - 1).bit_length() for size in sizes) > BITS_PER_WORD:
        codes, others_codes = together(mine, others, rows=0)
        return np.isin(codes, np.zeros(0) if others_codes is None else others_codes)
    words, known = pack(mine, sizes)[0], np.sort(pack(others, sizes)[0])
    if not len(known):
        return np.zeros(len(words), dtype=bool)
    return known[np.searchsorted(known, words).clip(max=len(known) - 1)] == words
