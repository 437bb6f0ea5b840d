"""The diversity check of slicing.

How strongly buckets link a tuple to a sensitive value (Li, Li, Zhang, Molloy 2012).

For a bucket B and a tuple t, f(t, B) is the product over slices of the share of B's entries that agree with the known
attributes of t. D(t, B)[s] is the share of s among the agreeing entries of the slice with the sensitive attribute. p(t,
s) = Σ f(t, B) D(t, B)[s] / Σ f(t, B) over all buckets must be at most 1 / l.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from indistinct.frequencies.encode import distinct_codes
from indistinct.frequencies.value import FrequencySet, Histogram
from indistinct.machine.arrays import Codes, Floats
from indistinct.recoding.assign import project

# A sum of many products of shares may exceed 1 / l by this much through rounding.
PROBABILITY_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class TupleLinks:
    """The known attributes of each tuple and the sensitive values of its rows.

    `values[cell, slice]` is a code of the cell's known attributes in a slice. Sensitive attribute `i` lies in slice
    `places[i]`; `histograms[i]` counts its values in each cell.
    """

    weights: Codes
    values: Codes
    places: tuple[int, ...]
    histograms: tuple[Histogram, ...]

    @property
    def parts(self) -> tuple[Codes, ...]:
        """Return, for each sensitive attribute, the known part of its slice."""
        return tuple(self.values[:, index] for index in self.places)


def links_of(
    frequencies: FrequencySet,
    slices: Sequence[Sequence[str]],
    *,
    sensitive: Sequence[str],
    class_ids: Mapping[int, Codes] | None = None,
) -> TupleLinks:
    """Return the links of a table under slices; `class_ids[j]` replaces the values of slice `j` by classes."""
    values = np.zeros((len(frequencies), len(slices)), dtype=np.int32, order="F")
    for index, names in enumerate(slices):
        known = [name for name in names if name in frequencies.names]
        if class_ids and index in class_ids:
            values[:, index] = class_ids[index]
        elif known:
            values[:, index] = project(frequencies, known)[1]
    homes = tuple(next(j for j, names in enumerate(slices) if name in names) for name in sensitive)
    histograms = tuple(frequencies.classes.histograms[(name,)] for name in sensitive)
    return TupleLinks(frequencies.counts, values, homes, histograms)


def largest_diversity(links: TupleLinks) -> int | None:
    """Return the largest l for which the whole table as one bucket passes, None without a sensitive attribute."""
    largest = []
    for part, histogram in zip(links.parts, links.histograms, strict=True):
        rows, width = np.bincount(part, weights=links.weights).astype(np.int64), len(histogram.reference)
        words = part[histogram.owners()].astype(np.int64) * width + histogram.codes
        combinations, inverse = distinct_codes(words)
        counts = np.bincount(inverse, weights=histogram.counts).astype(np.int64)
        largest.append(int((rows[combinations // width] // np.maximum(counts, 1)).min()))
    return min(largest, default=None)


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """A bucket of the check: its cells, the cells whose tuples match it (ascending), and what it links to them.

    `weight` is log f(t, B), because products of many shares leave the range of numbers, and `shares[i][:, s]` is
    D(t, B)[s] for sensitive attribute `i`, one row a matching cell.
    """

    number: int
    cells: Codes
    matching: Codes
    weight: Floats
    shares: tuple[Codes, ...]


@dataclass(slots=True, eq=False)
class DiversityCheck:
    """The check, kept up to date: a split changes only the tuples that match the bucket.

    Sums over buckets are recomputed for these tuples and never decreased by subtraction, which would lose digits.
    `matches[cell]` are the numbers of the buckets that match a cell's tuple.
    """

    links: TupleLinks
    l: int
    buckets: dict[int, Bucket] = field(init=False, default_factory=dict)
    matches: list[set[int]] = field(init=False)

    def __post_init__(self) -> None:
        every = np.arange(len(self.links.weights))
        self.buckets = {0: self._bucket(0, every, every)}
        self.matches = [{0} for _ in every]

    def start(self) -> Bucket:
        """Return the whole table as one bucket."""
        return self.buckets[0]

    def split(self, bucket: Bucket, left: Codes, right: Codes) -> tuple[Bucket, Bucket] | None:
        """Return the two buckets that replace one; None, with nothing changed, if the check would fail."""
        affected = bucket.matching
        others = set[int]().union(*(self.matches[cell] for cell in affected.tolist())) - {bucket.number}
        first = next(reversed(self.buckets)) + 1  # numbers ascend
        made = self._bucket(first, np.sort(left), affected), self._bucket(first + 1, np.sort(right), affected)
        remaining = [self.buckets[number] for number in sorted(others)]
        if not self.within(self.probabilities(affected, [*remaining, *made])):
            return None
        del self.buckets[bucket.number]
        for cell in affected.tolist():
            self.matches[cell].discard(bucket.number)
        for each in made:
            self.buckets[each.number] = each
            for cell in each.matching.tolist():
                self.matches[cell].add(each.number)
        return made

    def probabilities(self, cells: Codes, buckets: Sequence[Bucket]) -> list[Floats]:
        """Return p(t, s) of some cells (ascending) over some buckets.

        Per sensitive attribute an array cells × values.

        Log weights are taken relative to the largest of each cell, so that none overflows.
        """
        linked = []
        largest = np.full(len(cells), -np.inf)
        for bucket in buckets:
            positions = np.searchsorted(cells, bucket.matching)
            inside = positions < len(cells)
            inside[inside] = cells[positions[inside]] == bucket.matching[inside]
            linked.append((positions[inside], inside))
            largest[positions[inside]] = np.maximum(largest[positions[inside]], bucket.weight[inside])
        total = np.zeros(len(cells))
        mass = [np.zeros((len(cells), len(histogram.reference))) for histogram in self.links.histograms]
        for bucket, (positions, inside) in zip(buckets, linked, strict=True):
            weight = np.exp(bucket.weight[inside] - largest[positions])
            total[positions] += weight
            for part, shares in zip(mass, bucket.shares, strict=True):
                part[positions] += weight[:, None] * shares[inside]
        return [part / total[:, None] for part in mass]

    def within(self, probabilities: Sequence[Floats]) -> bool:
        """Return whether no probability exceeds 1 / l."""
        return all(bool((self.l * part.max(axis=1) <= 1 + PROBABILITY_TOLERANCE).all()) for part in probabilities)

    def _bucket(self, number: int, cells: Codes, candidates: Codes) -> Bucket:
        """Return a bucket with what it links to those of the `candidates` cells that match it."""
        links = self.links
        weights = links.weights[cells]
        matching, weight, buckets = np.ones(len(candidates), dtype=bool), np.zeros(len(candidates)), []
        for index in range(links.values.shape[1]):
            known, inverse = np.unique(links.values[cells, index], return_inverse=True)  # mostly a few cells
            counts = np.bincount(inverse, weights=weights)
            wanted = links.values[candidates, index]
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            matching &= known[at] == wanted
            weight += np.log(counts[at] / float(weights.sum()))
            buckets.append((inverse, counts, at))
        shares = []
        for index, histogram in zip(links.places, links.histograms, strict=True):
            inverse, counts, at = buckets[index]
            inside = histogram.take(cells)
            counted = np.zeros((len(counts), len(histogram.reference)))
            np.add.at(counted, (inverse[inside.owners()], inside.codes), inside.counts)
            shares.append((counted / counts[:, None])[at[matching]])
        return Bucket(number, cells, candidates[matching], weight[matching], tuple(shares))
