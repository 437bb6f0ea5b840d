"""What a classifier is given: the rows of a release, in which labels cover several values, and rows of the original.

Every column becomes two tables of features, one with a row for each published value and one with a row for each value
of the original, so that both kinds of rows are looked up and have the same features.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, assert_never, get_args

import numpy as np

from indistinct.frequencies.slices import Slice
from indistinct.machine.arrays import Codes, Floats
from indistinct.tables.domain import Domain
from indistinct.view.cover import Cover, cover_of_each
from indistinct.view.value import View

Representation = Literal["midpoints", "sampled", "nodes"]
REPRESENTATIONS: tuple[str, ...] = get_args(Representation)

MAX_FEATURES = 256
"""Number of values or labels of a column with a feature of their own, the most frequent ones of the training rows."""
BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Rows to learn from: `values[name]` has the published value of each row, `covers[name]` what it covers."""

    covers: Mapping[str, Cover]
    values: Mapping[str, Codes]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The features of training rows and of rows of the original, in the same order."""

    training: Floats
    tested: Floats


def training_rows(view: View, *, seed: int) -> TrainingRows:
    """Return rows of a release for training; slices of a bucket are combined at random."""
    draw = np.random.default_rng(seed)
    values: dict[str, Codes] = {}
    for each in view.slices:
        entries = _entries(each, draw, shuffled=len(view.slices) > 1)
        values |= {name: codes[entries] for name, codes in each.codes.items()}
    return TrainingRows(view.covers, values)


def _entries(each: Slice, draw: np.random.Generator, *, shuffled: bool) -> Codes:
    """Return the entry behind every row, bucket by bucket, in a random order inside a bucket."""
    entries = np.repeat(np.arange(len(each.counts)), each.counts)
    if not shuffled:
        return entries
    mixed = draw.permutation(entries)
    return mixed[np.argsort(each.units[mixed], kind="stable")]


def draw_values(rows: TrainingRows, name: str, *, seed: int) -> Codes:
    """Return one of the values that each row's label covers, each of them as likely as the others."""
    cover, values = rows.covers[name], rows.values[name]
    positions = np.random.default_rng(seed).integers(0, np.maximum(cover.lengths[values], 1))
    return cover.code_at(values, positions)


def features_of(
    rows: TrainingRows,
    tested: Mapping[str, Codes],
    domains: Mapping[str, Domain],
    *,
    representation: Representation,
    binned: bool = False,
    seed: int = 0,
) -> Features:
    """Return the features of training rows and of original rows `tested`, from the columns that `domains` name.

    Numbers are standardized on the training rows, or `binned`: cut into ten bins that hold as many of them each.
    """
    parts = [np.zeros((len(rows), 0), dtype=np.float32)], [np.zeros((_length(tested), 0), dtype=np.float32)]
    for index, (name, domain) in enumerate(domains.items()):
        cover, values = rows.covers[name], rows.values[name]
        if representation == "sampled":
            values = draw_values(rows, name, seed=seed + index)
            cover = cover_of_each(np.arange(len(domain)))
        counts = np.bincount(values, minlength=len(cover))
        for part, table, codes in zip(
            parts, _tables(cover, domain, counts, representation, binned=binned), (values, tested[name]), strict=True
        ):
            part.append(table.astype(np.float32)[codes])
    return Features(*(np.concatenate(part, axis=1) for part in parts))


def _tables(
    cover: Cover, domain: Domain, counts: Codes, representation: Representation, *, binned: bool
) -> tuple[Floats, Floats]:
    """Return the features of each published value, which training rows show `counts` times, and of each true one."""
    match representation:
        case "nodes":
            if (cover.lengths > 1).any():
                return _of_labels(cover, counts, size=len(domain))
        case "midpoints" | "sampled":
            pass
        case _:
            assert_never(representation)
    if domain.ordered and len(domain.values):
        return _of_numbers(cover, domain, counts, binned=binned)
    return _of_categories(cover, counts, size=len(domain))


def _of_labels(cover: Cover, counts: Codes, *, size: int) -> tuple[Floats, Floats]:
    """Return a feature for each label; a value counts for every label that covers it, by how likely each shows it."""
    kept = _most_frequent(counts)
    published = np.zeros((len(counts), len(kept)))
    published[kept, np.arange(len(kept))] = 1
    weights = counts / np.maximum(cover.lengths, 1)
    whole = cover.spread(weights, size)
    original = np.zeros((size, len(kept)))
    for index, label in enumerate(kept):
        _, codes = cover.take(np.array([label])).written_out()
        original[codes, index] = weights[label] / whole[codes]
    return published, original


def _of_categories(cover: Cover, counts: Codes, *, size: int) -> tuple[Floats, Floats]:
    """Return a feature for each value: a label has an equal part of each value that it covers."""
    share = 1 / np.maximum(cover.lengths, 1)
    kept = _most_frequent(cover.spread(share * counts, size))
    original = np.zeros((size, len(kept)))
    original[kept, np.arange(len(kept))] = 1
    published = np.zeros((len(counts), len(kept)))
    for index in range(len(kept)):
        published[:, index] = cover.sums(original[:, index]) * share
    return published, original


def _of_numbers(cover: Cover, domain: Domain, counts: Codes, *, binned: bool) -> tuple[Floats, Floats]:
    """Return the middle of each label, or its bin; missing is a feature of its own."""
    missing, line = int(domain.missing), domain.positions()
    real = cover.high >= missing
    labels = np.repeat(np.arange(len(counts)), np.diff(cover.indptr))[real]
    low, high = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    # Values ascend on the line, so that the ends of a run are its extremes.
    np.minimum.at(low, labels, line[np.maximum(cover.low[real], missing)])
    np.maximum.at(high, labels, line[cover.high[real]])
    known = low <= high
    low, high = (np.where(known, end, 0.0) for end in (low, high))
    middles = low + (high - low) / 2
    absent = np.arange(len(line)) < missing
    scale = _bins if binned else _standardize
    published, original = scale(middles, line, counts * known)
    parts = [(published * known[:, None], (~known)[:, None]), (original * ~absent[:, None], absent[:, None])]
    return tuple(np.concatenate(part if missing else part[:1], axis=1) for part in parts)  # type: ignore[return-value]


def _standardize(middles: Codes, line: Codes, counts: Codes) -> tuple[Floats, Floats]:
    """Standardize numbers by the mean and deviation of the training rows."""
    rows = max(float(counts.sum()), 1.0)
    mean = float(counts @ middles) / rows
    spread = float(np.sqrt(counts @ np.square(middles - mean) / rows)) or 1.0
    return ((middles - mean) / spread)[:, None], ((line - mean) / spread)[:, None]


def _bins(middles: Codes, line: Codes, counts: Codes) -> tuple[Floats, Floats]:
    """Divide numbers into bins with about the same number of rows."""
    order = np.argsort(middles, kind="stable")
    reached = np.cumsum(counts[order])
    if not reached[-1]:
        return np.zeros((len(middles), 1)), np.zeros((len(line), 1))
    positions = np.searchsorted(reached, reached[-1] * np.arange(1, BINS) / BINS)
    edges = np.unique(middles[order][positions])
    one, other = (np.eye(len(edges) + 1)[np.searchsorted(edges, each, side="left")] for each in (middles, line))
    return one, other


def _most_frequent(counts: Codes) -> Codes:
    """Return the values that get features of their own, the most frequent first."""
    order = np.argsort(-counts, kind="stable")[:MAX_FEATURES]
    return order[counts[order] > 0]


def _length(columns: Mapping[str, Codes]) -> int:
    first: Iterable[Codes] = columns.values()
    return next((len(each) for each in first), 0)
