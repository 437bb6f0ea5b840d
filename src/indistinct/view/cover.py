"""What published values mean, as runs of adjacent codes, so that a range of a million values is one run.

Written out, the values that a column's labels cover are as many as labels times values. Runs are as many as labels
where these are ranges, and as many as their members where these are sets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.errors import InputError
from indistinct.figures import plural
from indistinct.frequencies.value import FrequencySet
from indistinct.machine.arrays import Array, Codes, Floats, Mask, run_entries, starts_of

WORD = 64
# The most pairs of an original combination and a published class that are compared, in all and at a time.
MAX_PAIRS, BLOCK = 64_000_000_000, 1 << 28
# How many classes are compared together: a table of one bit for each class and value of a column stays small.
TOGETHER = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """What each entry covers of one column: entry `i` has the runs from `indptr[i]` to `indptr[i + 1]`.

    A run is every code from `low` to `high`. The runs of an entry are ascending and do not overlap.
    """

    indptr: Codes
    low: Codes
    high: Codes

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def lengths(self) -> Codes:
        """Return how many codes each entry covers."""
        return self.sum_runs(self.high - self.low + 1)

    def sum_runs(self, runs: Codes) -> Codes:
        """Sum a number per run over the runs of each entry; an entry may have no run."""
        running = np.concatenate([[0], np.cumsum(runs)])
        return running[self.indptr[1:]] - running[self.indptr[:-1]]

    @property
    def size(self) -> int:
        """Return how many codes there are up to the highest that is covered."""
        return int(self.high.max(initial=-1)) + 1

    def ends(self) -> tuple[Codes, Codes]:
        """Return the lowest and the highest code that each entry covers; one that covers none has -1 as its highest."""
        filled = np.diff(self.indptr) > 0
        low, high = np.zeros(len(self), dtype=np.int64), np.full(len(self), -1, dtype=np.int64)
        low[filled], high[filled] = self.low[self.indptr[:-1][filled]], self.high[self.indptr[1:][filled] - 1]
        return low, high

    @property
    def exact(self) -> bool:
        """Whether every entry is a single code."""
        return bool(len(self.low) == len(self)) and bool((self.lengths == 1).all())

    def take(self, entries: Codes) -> "Cover":
        """Return some entries, in their order."""
        sizes = np.diff(self.indptr)[entries]
        runs = run_entries(self.indptr[entries], sizes)
        return Cover(starts_of(sizes), self.low[runs], self.high[runs])

    def written_out(self) -> tuple[Codes, Codes]:
        """Return the entry and the code of everything that is covered: as many as entries times codes, at worst."""
        sizes = self.high - self.low + 1
        owners = np.repeat(np.repeat(np.arange(len(self)), np.diff(self.indptr)), sizes)
        return owners, run_entries(self.low, sizes)

    def code_at(self, entries: Codes, positions: Codes) -> Codes:
        """Return one of the codes that each of some entries covers, by its place among them."""
        running = starts_of(self.high - self.low + 1)
        sought = running[self.indptr[entries]] + positions
        runs = np.searchsorted(running, sought, side="right") - 1
        return self.low[runs] + sought - running[runs]

    def holds(self, codes: Codes, entries: Codes) -> Mask:
        """Return whether each of some entries covers a code; none covers -1."""
        if bool((np.diff(self.indptr) == 1).all()):
            return (self.low[entries] <= codes) & (codes <= self.high[entries])
        # Runs lie behind each other on one line, those of an entry where no other has any.
        span = self.size + 1
        owners = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        runs = np.searchsorted(owners * span + self.low, entries * span + codes, side="right") - 1
        inside = (runs >= self.indptr[entries]) & (codes >= 0) & (codes < span)
        return inside & (codes <= np.append(self.high, -1)[runs])

    def bits(self, size: int) -> Codes:
        """Return for each of `size` codes the entries that cover it, 64 of them in a word.

        A bit is turned at both ends of a run, and every code has the bits of the one before but for those.
        """
        owners = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        words, positions = np.divmod(owners, WORD)
        turned, bits = (
            np.uint64(1) << positions.astype(np.uint64),
            np.zeros((size + 1, -(-len(self) // WORD)), dtype="<u8"),
        )
        for ends in (np.minimum(self.low, size), np.minimum(self.high + 1, size)):
            np.bitwise_xor.at(bits, (ends, words), turned)
        return np.bitwise_xor.accumulate(bits, axis=0)[:size]

    def sums(self, values: Codes | Floats | Mask) -> Array:
        """Return the sum of a number of each code over what each entry covers, in the time that both take to read."""
        if (
            len(self.low) == len(self)
            and bool((self.low == self.high).all())
            and bool((np.diff(self.indptr) == 1).all())
        ):
            return values[self.low].astype(np.float64)
        running = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
        by_run = np.concatenate([[0.0], np.cumsum(running[self.high + 1] - running[self.low])])
        return np.asarray(by_run[self.indptr[1:]] - by_run[self.indptr[:-1]])

    def spread(self, weights: Floats, size: int) -> Codes:
        """Sum, for each of `size` codes, the weights of the entries that cover it.

        A code that nothing covers gets nothing at all, and none gets less, whatever rounding does to running sums.
        """
        by_run = np.repeat(weights, np.diff(self.indptr))
        if bool((self.low == self.high).all()):
            return np.bincount(self.low, weights=by_run, minlength=size)
        given = np.zeros(size + 1, dtype=np.longdouble)
        np.add.at(given, self.low, by_run)
        np.subtract.at(given, self.high + 1, by_run)
        number = np.bincount(self.low, minlength=size + 1) - np.bincount(self.high + 1, minlength=size + 1)
        covered = np.cumsum(number)[:-1] > 0
        return np.where(covered, np.maximum(np.cumsum(given)[:-1], 0), 0).astype(np.float64)


def cover_of_codes(indptr: Codes, codes: Codes) -> Cover:
    """Convert ascending codes of each entry to runs."""
    fresh = np.ones(len(codes), dtype=bool)
    fresh[1:] = np.diff(codes) != 1
    fresh[indptr[:-1][np.diff(indptr) > 0]] = True
    (starts,) = np.nonzero(fresh)
    ends = np.append(starts[1:], len(codes)) - 1 if len(codes) else starts
    return Cover(np.searchsorted(starts, indptr), codes[starts].astype(np.int64), codes[ends].astype(np.int64))


def cover_of_each(codes: Codes) -> Cover:
    """Return entries of a single code each."""
    own = codes.astype(np.int64)
    return Cover(np.arange(len(own) + 1), own, own)


def joined_covers(parts: Sequence[tuple[Codes, Cover]], size: int) -> Cover:
    """Merge covers of different entries into one of `size` entries; a part is the entries' numbers and their cover.

    An entry in no part covers nothing.
    """
    sizes = np.zeros(size, dtype=np.int64)
    for entries, cover in parts:
        sizes[entries] = np.diff(cover.indptr)
    indptr = starts_of(sizes)
    low, high = np.zeros(indptr[-1], dtype=np.int64), np.zeros(indptr[-1], dtype=np.int64)
    for entries, cover in parts:
        runs = run_entries(indptr[entries], np.diff(cover.indptr))
        low[runs], high[runs] = cover.low, cover.high
    return Cover(indptr, low, high)


def classes_of_cells(frequencies: FrequencySet, covers: Sequence[Cover]) -> Codes:
    """Return the class whose published values cover each cell, -1 for uncovered cells; raise if several cover it."""
    cells, classes = pairs_of_cells(frequencies, covers)
    doubtful = int((np.bincount(cells, minlength=1) > 1).sum())
    if doubtful:
        raise _in_doubt(f"{plural(doubtful, 'combination')} of original values in several published labels")
    class_ids = np.full(len(frequencies), -1, dtype=np.int32)
    class_ids[cells] = classes
    return class_ids


def pairs_of_cells(
    frequencies: FrequencySet, covers: Sequence[Cover], *, progress: Callable[[float], None] | None = None
) -> tuple[Codes, Codes]:
    """Return every pair of a cell and a class whose published values cover it, ascending.

    Some classes are looked at together. A value of a column has a bit for each of them that covers it, and a cell is in
    the classes that all its values share. Classes are taken along the column where each covers least, so that few
    cells lie near those that are looked at.
    """
    cells, classes = len(frequencies), len(covers[0])
    if cells * classes > MAX_PAIRS:
        raise _in_doubt(f"{cells:,} combinations and {classes:,} published ones are too many to compare")
    vectors, sizes = frequencies.vectors, [cover.size for cover in covers]
    along = int(np.argmin([cover.lengths.mean() / max(size, 1) for cover, size in zip(covers, sizes, strict=True)]))
    low, high = covers[along].ends()
    order, by_code = np.argsort(low, kind="stable"), np.argsort(vectors[:, along], kind="stable")
    codes, pairs_found = vectors[by_code, along], [np.zeros((0, 2), dtype=np.int64)]
    for start in range(0, classes, TOGETHER):
        some = order[start : start + TOGETHER]
        first = int(np.searchsorted(codes, low[some].min()))
        near = by_code[first : int(np.searchsorted(codes, high[some].max(), side="right"))]
        rows, positions = _fitting(vectors[near], [cover.take(some) for cover in covers])
        pairs_found.append(np.stack([near[rows], some[positions]], axis=1))
        if progress is not None:
            progress(min((start + TOGETHER) / classes, 1.0))
    pairs = np.concatenate(pairs_found)
    pairs = pairs[np.lexsort([pairs[:, 1], pairs[:, 0]])]
    return pairs[:, 0], pairs[:, 1].astype(np.int32)


def _fitting(vectors: Codes, covers: Sequence[Cover]) -> tuple[Codes, Codes]:
    """Return every pair of a vector and a class that covers it; a value of a column has a bit for each class."""
    covered = [cover.bits(int(vectors[:, j].max(initial=0)) + 1) for j, cover in enumerate(covers)]
    step, blocks_of_pairs = max(BLOCK // max(len(covers[0]), 1), 1), [np.zeros((0, 2), dtype=np.int64)]
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        fits = covered[0][block[:, 0]]
        for j, bits in enumerate(covered[1:], start=1):
            fits &= bits[block[:, j]]
        rows, words = np.nonzero(fits)
        single = np.unpackbits(fits[rows, words].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        which, bit = np.nonzero(single)
        blocks_of_pairs.append(np.stack([rows[which] + start, words[which] * WORD + bit], axis=1))
    pairs = np.concatenate(blocks_of_pairs)
    return pairs[:, 0], pairs[:, 1]


def _in_doubt(reason: str) -> InputError:
    """Return the error of labels that do not identify the class of each person."""
    return InputError(
        f"people cannot be counted by published labels alone: {reason}",
        hint="give the recoding of the release (--recoding, or recoding=…), which says where each row went",
    )
