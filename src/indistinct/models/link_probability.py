"""How strongly a published table in buckets links a person to a sensitive value, computed from its own columns.

The known attributes of a person are a tuple of all attributes that are not sensitive. A slice of the table is some
attributes whose values stay together. In each bucket it has *entries*: a known part, in the column `KNOWN`, and
sensitive values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import KNOWN, Slice
from indistinct.machine.arrays import Codes, Floats, run_starts, starts_of
from indistinct.machine.threads import blocks, spread
from indistinct.models import _link_probability_kernels as kernels

# Below this many tuples starting a thread costs more than it saves.
MIN_TUPLES_FOR_THREADS = 20_000
# MAX_BUCKETS_PER_TUPLE: buckets that may be searched per tuple generated from a bucket's entries. TUPLES_PER_BLOCK:
# tuples generated at once.
MAX_BUCKETS_PER_TUPLE, TUPLES_PER_BLOCK = 4, 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """The largest share of a sensitive value among entries that agree, as a ratio of whole numbers.

    p(t, s) of any person is a mean of such shares, so it is never above the largest.
    """

    count: int
    rows: int
    broken_groups: int
    broken_rows: int

    @property
    def share(self) -> float:
        """Return the largest share."""
        return self.count / self.rows if self.rows else 0.0


def bound_of(entries: Slice, name: str, *, l: int) -> Bound:
    """Return the largest share of a sensitive value among the entries of a bucket with the same known part.

    Groups in which a value exceeds 1 / `l` are counted, in whole numbers.
    """
    values, counts, units, known = entries.codes[name], entries.counts, entries.units, entries.codes[KNOWN]
    if not known.any() and (units[1:] >= units[:-1]).all():
        starts = run_starts(units)
    else:
        groups = group_rows([units, known], _sizes(units, known))
        starts, values, counts = groups.starts, values[groups.order], counts[groups.order]
    scratch = np.zeros(int(values.max(initial=0)) + 1, dtype=np.int64)
    return Bound(*(int(part) for part in kernels.largest_share(starts, values, counts, scratch, l)))


@dataclass(frozen=True, slots=True, eq=False)
class LinkProbabilities:
    """For every distinct tuple: the largest p(t, s), and the number of buckets that match it.

    `expected` is Σ |B| f(t, B): how many rows equal the tuple on average, if slices are permuted.
    """

    strongest: Floats
    matches: Codes
    expected: Floats


def link(
    entries: Sequence[Slice], tuples: Codes, *, home: int, name: str | None = None, shared: int = 0
) -> LinkProbabilities:
    """Return the largest p(t, s) of each tuple: the probability that an attacker links it to one sensitive value.

    `entries` are the slices of a release, and `home` is the index of the one with the sensitive column `name`; without
    a name all rows count as having one and the same value. `tuples` has a row per tuple and a column per
    slice: the code of the part that the attacker knows, -1 if no bucket shows it. The last `shared` slices are not
    published: they have the attributes that two of the others share.
    """
    pairs, offsets, own_slices = [], [0], len(entries) - shared
    for index, each in enumerate(entries):
        values = int(max(each.codes[KNOWN].max(), tuples[:, index].max())) + 1
        offsets.append(offsets[-1] + values)
        own = np.zeros(len(each.units), dtype=np.int64) if name is None else each.codes.get(name)
        pairs.append(_pairs(each, values, own if index == home else None))
    starts = starts_of(np.concatenate([each.lengths for each in pairs]))
    buckets = np.concatenate([each.buckets for each in pairs])
    counts = np.concatenate([each.counts for each in pairs])
    before = sum(len(each.buckets) for each in pairs[:home])
    indptr = np.zeros(len(buckets) + 1, dtype=np.int64)
    own = pairs[home].indptr
    indptr[before : before + len(own)] = own
    indptr[before + len(own) :] = own[-1]
    sizes = np.bincount(entries[0].units, weights=entries[0].counts).astype(np.float64)
    shifted = np.where(tuples < 0, -1, tuples + np.array(offsets[:-1])).astype(np.int64)
    strongest, matches, expected = (np.empty(len(tuples)) for _ in range(3))
    matching, where = _meetings(pairs[:own_slices], tuples[:, :own_slices], len(sizes))

    def run(part: slice) -> None:
        known = (matching[part.start : part.stop + 1], where)
        mass = np.zeros(int(pairs[home].codes.max()) + 1)
        entries_of_pairs = (indptr, pairs[home].codes, pairs[home].amounts)
        written = (strongest[part], matches[part], expected[part])
        arguments = (starts, buckets, counts, sizes, home, own_slices)
        kernels.link_tuples(shifted[part], *known, *arguments, *entries_of_pairs, mass, *written)

    spread(run, blocks(len(tuples), least=MIN_TUPLES_FOR_THREADS))
    return LinkProbabilities(strongest, matches.astype(np.int64), expected)


def expected_rows(entries: Sequence[Slice], tuples: Codes, *, shared: int = 0) -> float:
    """Return the expected number of rows that equal one of some distinct tuples if the slices are permuted again.

    This is the sum of `link`'s `expected`, computed over the buckets of each tuple or over all tuples that the entries
    of each bucket can form, whichever takes fewer steps.
    """
    tuples = tuples[(tuples >= 0).all(axis=1)]
    if not len(tuples):
        return 0.0
    if shared:
        return float(link(entries, tuples, home=0, shared=shared).expected.sum())
    sizes = [int(max(e.codes[KNOWN].max(initial=0), tuples[:, j].max(initial=0))) + 1 for j, e in enumerate(entries)]
    total = len(np.bincount(entries[0].units))
    made = np.prod([np.bincount(each.units, minlength=total).astype(float) for each in entries], axis=0).sum()
    holding = [np.bincount(e.codes[KNOWN], minlength=sizes[j])[tuples[:, j]] for j, e in enumerate(entries)]
    order = sorted(range(len(entries)), key=lambda j: -sizes[j])
    if made > np.min(holding, axis=0).sum() or math.prod(sizes[j] for j in order[1:]) >= 2**62:
        return float(link(entries, tuples, home=0).expected.sum())
    factors = np.ones(len(entries), dtype=np.int64)
    for index in reversed(range(1, len(order) - 1)):
        factors[index] = factors[index + 1] * sizes[order[index + 1]]
    first, rests = tuples[:, order[0]], np.zeros(len(tuples), dtype=np.int64)
    for index, j in enumerate(order[1:], 1):
        rests += tuples[:, j] * factors[index]
    by_first = np.lexsort((rests, first))
    lead = starts_of(np.bincount(first, minlength=sizes[order[0]]))
    starts, known, counts, before = np.empty((len(entries), total + 1), dtype=np.int64), [], [], 0
    for index, j in enumerate(order):
        by_bucket = np.argsort(entries[j].units, kind="stable")
        starts[index] = before + starts_of(np.bincount(entries[j].units, minlength=total))
        known.append(entries[j].codes[KNOWN][by_bucket].astype(np.int64))
        counts.append(entries[j].counts[by_bucket].astype(np.float64))
        before += len(by_bucket)
    rows = np.bincount(entries[0].units, weights=entries[0].counts)
    flat = (starts, np.concatenate(known), np.concatenate(counts), rows, factors, lead, rests[by_first])
    parts = blocks(total, least=MIN_TUPLES_FOR_THREADS)
    return sum(spread(lambda part: kernels.expected_by_bucket(part.start, part.stop, *flat), parts))


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of a slice's value and a bucket, by value, with the sensitive values of their entries."""

    lengths: Codes
    buckets: Codes
    counts: Codes
    indptr: Codes
    codes: Codes
    amounts: Codes


def _pairs(entries: Slice, values: int, sensitive: Codes | None) -> _Pairs:
    """Count the pairs of a tuple part and a bucket of one slice."""
    known = entries.codes[KNOWN]
    grouping = group_rows([known, entries.units], _sizes(known, entries.units))
    owners = grouping.group_ids()
    lengths = np.bincount(known[grouping.first], minlength=values)
    counts = np.bincount(owners, weights=entries.counts)
    buckets = entries.units[grouping.first].astype(np.int64)
    if sensitive is None:
        nothing = np.zeros(0, dtype=np.int64)
        return _Pairs(lengths, buckets, counts, np.zeros(1, dtype=np.int64), nothing, nothing)
    finer = group_rows([owners, sensitive], _sizes(owners, sensitive))
    amounts = np.bincount(finer.group_ids(), weights=entries.counts)
    of_pair = owners[finer.first]
    indptr = starts_of(np.bincount(of_pair, minlength=len(grouping)))
    return _Pairs(lengths, buckets, counts, indptr, sensitive[finer.first].astype(np.int64), amounts)


def _meetings(pairs: Sequence[_Pairs], tuples: Codes, total: int) -> tuple[Codes, Codes]:
    """Return the buckets that contain all parts of each tuple, ascending, and the index of the first of each tuple.

    They are found among the tuples that the entries of each bucket can form. Where searching the buckets of each
    tuple's rarest part is less work, nothing is returned.
    """
    nothing, sizes = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)), [len(each.lengths) for each in pairs]
    whole = np.flatnonzero((tuples >= 0).all(axis=1))
    rarest = np.min([each.lengths[tuples[whole, j]] for j, each in enumerate(pairs)], axis=0).sum()
    owned = [np.bincount(each.buckets, minlength=total) for each in pairs]
    made = np.prod(owned, axis=0, dtype=np.float64)
    if not len(whole) or made.sum() * MAX_BUCKETS_PER_TUPLE > rarest or math.prod(sizes) >= 2**62:
        return nothing
    factors = [math.prod(sizes[j + 1 :]) for j in range(len(sizes))]
    words = tuples[whole] @ np.array(factors)
    order = np.argsort(words)
    words, whole = words[order], whole[order]
    if (words[1:] == words[:-1]).any():  # tuples that differ only in attributes of no slice
        return nothing
    shares = []
    for j, each in enumerate(pairs):
        values = np.repeat(np.arange(sizes[j]), each.lengths)[np.argsort(each.buckets, kind="stable")]
        shares.append((values * factors[j], starts_of(owned[j])))
    ends = np.searchsorted(np.cumsum(made), np.arange(TUPLES_PER_BLOCK, made.sum(), TUPLES_PER_BLOCK))
    buckets_of_tuples, holding = [], []
    for first, last in pairwise(np.unique([0, *ends.tolist(), total]).tolist()):
        number, buckets = _sum_shares(shares, first, last)
        position = np.minimum(np.searchsorted(words, number), len(words) - 1)
        same = words[position] == number
        buckets_of_tuples.append(whole[position[same]])
        holding.append(buckets[same])
    owners = np.concatenate(buckets_of_tuples)
    by_owner = np.argsort(owners, kind="stable")
    return starts_of(np.bincount(owners, minlength=len(tuples))), np.concatenate(holding)[by_owner]


def _sum_shares(shares: Sequence[tuple[Codes, Codes]], first: int, last: int) -> tuple[Codes, Codes]:
    """Return every sum of one number of each share in some buckets, and its bucket."""
    numbers, buckets = np.zeros(last - first, dtype=np.int64), np.arange(first, last)
    for values, starts in shares:
        times = starts[buckets + 1] - starts[buckets]
        ends = np.cumsum(times)
        positions = np.arange(ends[-1]) + np.repeat(starts[buckets] - ends + times, times)
        numbers, buckets = np.repeat(numbers, times) + values[positions], np.repeat(buckets, times)
    return numbers, buckets


def _sizes(*columns: Codes) -> list[int]:
    return [int(column.max()) + 1 if len(column) else 1 for column in columns]
