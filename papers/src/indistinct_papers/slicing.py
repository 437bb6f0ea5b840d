"""Fake tuples and matching buckets of sliced tables: the membership experiment of Li, Li, Zhang and Molloy (2012).

Columns are those that the algorithm slicing finds; buckets are drawn at random with a given size, as in the paper.
Bucketization, all that is known of a person in one column, is compared with it, and so is slicing with buckets of
its own. The paper prints curves without numbers, so what can be compared are its claims.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.algorithms.bucket.correlation import phi_squared, put_into_bins
from indistinct.algorithms.bucket.slicing import Slicing
from indistinct.errors import InfeasibleError, InputError
from indistinct.evaluation.assess.membership import Membership, draw_matching, membership_of, random_buckets
from indistinct.figures import number
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.job.publishing import anonymize
from indistinct.machine.arrays import Codes
from indistinct.release.opening import BucketTable
from indistinct.samples import generate_census
from indistinct.schema import BUCKET, Schema
from indistinct_papers.adult import WHERE, load_adult
from indistinct_papers.base import Cell, Claim, Reproduction

Slices = tuple[tuple[str, ...], ...]

SHORT_SOURCE = "Li et al. (2012)"
UTILITY = "slicing preserves better data utility than generalization"
EFFECTIVE = "in workloads involving the sensitive attribute slicing is more effective than bucketization"
BUCKETS_KEEP = "bucketization has better data utility than generalization"
CLAIMED_IN = "Sonawane and Rahinj, abstract, IV and IV.A, 4"
PLACES: Mapping[str, str] = {UTILITY: CLAIMED_IN, EFFECTIVE: CLAIMED_IN, BUCKETS_KEEP: "Sonawane and Rahinj, II"}
SENSITIVE = "occupation"
ADULT_ATTRIBUTES = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "relationship",
    "race",
    "sex",
    "hours-per-week",
    "native-country",
    "salary-class",
    SENSITIVE,
)
# As many as Adult's rows without unknowns.
CENSUS_ROWS = 45_222
COLUMNS = (2, 3, 5)
DIVERSITIES = (2, 5, 7)
# Columns are found for the least diversity that means something; buckets are drawn and promise none.
LEAST_DIVERSITY = 2
ALL, QUASI = "all", "quasi"
RANDOM, BUCKETIZATION = "random", "bucketized"
DRAWN = (10, 3)
SEED = 1
# This number of tuples is enumerated in seconds; of more, estimates are within about one percent.
LIMIT, SAMPLES = 20_000_000, 100_000
HEADINGS = (
    "size",
    "algorithm",
    "columns",
    "tuples",
    "candidates",
    "original",
    "fake",
    "fake/original",
    "original>10",
    "fake>10",
    "exact",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What membership disclosure is under one partition into `columns` and into buckets of `size` rows, on average.

    `tuples` says whether tuples have all attributes or only those that are not sensitive.
    """

    size: int
    algorithm: str
    columns: int
    tuples: str
    found: Membership

    def row(self) -> tuple[Cell, ...]:
        """Return the row of the figure."""
        found = self.found
        return (
            self.size,
            self.algorithm,
            self.columns,
            self.tuples,
            round(found.candidates),
            found.originals,
            round(found.fake),
            round(found.fake_per_original, 3),
            _share_of_many(found.matching_original),
            _share_of_many(found.matching_fake),
            "yes" if found.exact else "no",
        )


def reproduce_slicing(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Count the fake tuples of random buckets of every size, sliced and bucketized, and of slicing's own buckets."""
    table, data = _table()
    slices = {count: _slices(table, count) for count in COLUMNS}
    progress(0.1)
    drawn = list[Measured]()
    for place, size in enumerate(sizes):
        drawn += measured_at_random(table, slices, size)
        progress(0.1 + 0.7 * (place + 1) / len(sizes))
    diverse, sentences = list[Measured](), list[str]()
    for place, l in enumerate(DIVERSITIES):
        some, sentence = measured_by_search(table, l)
        diverse += some
        sentences.append(sentence)
        progress(0.8 + 0.2 * (place + 1) / len(DIVERSITIES))
    shown = _setting_to_draw(drawn)
    found = shown.found
    return Reproduction(
        title="Slicing: fake tuples and matching buckets",
        source="T. Li, N. Li, J. Zhang, I. Molloy (2012). Slicing: a new approach for privacy preserving data "
        "publishing. IEEE TKDE. (Plots only: there are no published numbers to compare with.)",
        data=data,
        headings=HEADINGS,
        rows=tuple(each.row() for each in (*drawn, *diverse)),
        findings=(
            f"size {shown.size} with {shown.columns} columns: an original tuple matches "
            f"{found.mean_matching_original:,.3g} buckets on average, a fake one {found.mean_matching_fake:,.3g}",
            *sentences,
        ),
        claims=claims(drawn),
        differs=("the paper prints charts, no numbers, and its list of attributes is not known for certain",),
        facts={
            "correlation with the sensitive attribute": ranking(table),
            "slices": {str(count): [list(names) for names in some] for count, some in slices.items()},
        },
        picture=partial(draw_matching, found, title=f"Random buckets of {shown.size} rows, {shown.columns} columns"),
    )


def measured_at_random(table: pa.Table, slices: Mapping[int, Slices], size: int) -> list[Measured]:
    """Draw buckets of a number of rows, once for every number of columns, and measure both kinds of tuples."""
    buckets = random_buckets(table.num_rows, size, rng=np.random.default_rng([SEED, size]))
    whole = tuple(name for name in table.column_names if name != SENSITIVE), (SENSITIVE,)
    partitions = [(RANDOM, each) for each in slices.values()] + [(BUCKETIZATION, whole)]
    published = table.append_column(BUCKET, pa.array(buckets))
    return [
        Measured(size, algorithm, len(each), kind, found)
        for algorithm, each in partitions
        for kind, found in _both(published, each, table)
    ]


def measured_by_search(table: pa.Table, l: int) -> tuple[list[Measured], str]:
    """Slice a table, measure what is published, and say in a sentence what came of it."""
    algorithm = f"slicing:l={l}"
    try:
        release = anonymize(table, _schema(table), algorithm=algorithm)
    except InfeasibleError:
        return [], f"{algorithm}: this table allows no such l"
    count, slices = release.certificate.classes, release.certificate.columns
    size = round(table.num_rows / count)
    measured = [
        Measured(size, algorithm, len(slices), kind, found) for kind, found in _both(release.table, slices, table)
    ]
    alone = all(each.found.unique_original == each.found.originals for each in measured)
    return measured, (
        f"{algorithm}: {count:,} bucket(s), {measured[0].found.fake_per_original:,.4g} fake tuples for each original "
        f"one; {'every' if alone else 'not every'} original tuple matches one bucket only"
    )


def claims(drawn: Sequence[Measured]) -> tuple[Claim, ...]:
    """Return the paper's claims about random buckets, judged by these numbers."""
    sliced = [each for each in drawn if each.algorithm == RANDOM]
    known = [each for each in drawn if each.algorithm == BUCKETIZATION and each.tuples == QUASI]
    by_size, by_columns = _neighbours(sliced, by="size"), _neighbours(sliced, by="columns")
    return (
        _claim(
            "the fake tuples of a sliced table outnumber the original ones",
            sliced,
            [each for each in sliced if not each.found.fake > each.found.originals],
        ),
        _claim(
            "fake tuples grow with the bucket size",
            [more for _, more in by_size],
            [more for less, more in by_size if not more.found.fake > less.found.fake],
        ),
        _claim(
            "fake tuples grow with the number of columns",
            [more for _, more in by_columns],
            [more for less, more in by_columns if not more.found.fake > less.found.fake],
        ),
        _claim(
            "bucketization does not prevent membership disclosure: it has no fake tuple of known attributes",
            known,
            [each for each in known if each.found.fake],
            place="Sonawane and Rahinj, abstract and before table 3",
        ),
    )


def _claim(
    text: str,
    tested: Sequence[Measured],
    failures: Sequence[Measured],
    *,
    place: str = "experiments on membership; Sonawane and Rahinj name the experiment, not its results",
) -> Claim:
    """Return a claim with the settings in which it was tested, and those in which it does not hold."""
    about: dict[str, Any] = {
        "place": place,
        "setting": "Adult, random buckets, curves without numbers",
        "ours": "Adult or a census, random buckets of 5 to 100 rows",
        "differs": "which attributes the paper uses is not known for certain; columns are found on our table",
    }
    held = len(tested) - len(failures)
    if not tested:
        return Claim(text, SHORT_SOURCE, 0, 0, "these sizes leave nothing to compare with", **about)
    shares = [each.found.fake_per_original for each in tested]
    figures = (
        f"in {len(tested) - len(failures)} of {len(tested)} settings; {number(min(shares))} to {number(max(shares))} "
        "fake tuples for each original one"
    )
    sizes = dict[str, list[str]]()
    for each in failures:
        sizes.setdefault(f"{each.columns} columns, tuples: {each.tuples}", []).append(f"{each.size}")
    where = "; ".join(f"{kind}, bucket size {', '.join(some)}" for kind, some in sizes.items())
    return Claim(text, SHORT_SOURCE, held, len(tested), f"{figures}; not with {where}" if where else figures, **about)


def _neighbours(sliced: Sequence[Measured], *, by: str) -> list[tuple[Measured, Measured]]:
    """Return pairs of settings that follow on each other and differ in their size or columns alone."""
    fixed = "columns" if by == "size" else "size"
    ordered = sorted(sliced, key=lambda each: (getattr(each, fixed), each.tuples, getattr(each, by)))
    return [
        (one, other)
        for one, other in pairwise(ordered)
        if (getattr(one, fixed), one.tuples) == (getattr(other, fixed), other.tuples)
    ]


def ranking(table: pa.Table) -> dict[str, float]:
    """Return φ² of every attribute with the sensitive one, the largest first."""
    weights = np.ones(table.num_rows, dtype=np.int64)
    binned = {name: _codes_in_bins(encode_column(name, table[name])) for name in table.column_names}
    target = binned.pop(SENSITIVE)
    found = {name: round(phi_squared(codes, target, weights=weights), 4) for name, codes in binned.items()}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _setting_to_draw(drawn: Sequence[Measured]) -> Measured:
    """Return the setting that is drawn: the usual one, or where its size is left out the nearest."""
    size, columns = DRAWN
    some = [each for each in drawn if (each.algorithm, each.columns, each.tuples) == (RANDOM, columns, ALL)]
    return min(some, key=lambda each: abs(each.size - size))


def _slices(table: pa.Table, count: int) -> Slices:
    algorithm = Slicing(l=LEAST_DIVERSITY, columns=(str(count),))
    return anonymize(table, _schema(table), algorithm=algorithm).certificate.columns


def _both(published: pa.Table, slices: Slices, original: pa.Table) -> list[tuple[str, Membership]]:
    """Return what membership disclosure is for tuples of all attributes, and for those without the sensitive one."""
    shown, schema = BucketTable(published, slices), _schema(original)
    options: dict[str, Any] = {"original": original, "limit": LIMIT, "samples": SAMPLES, "seed": SEED}
    return [(kind, membership_of(shown, schema, quasi_only=kind == QUASI, **options)) for kind in (ALL, QUASI)]


def _schema(table: pa.Table) -> Schema:
    return Schema(quasi=[name for name in table.column_names if name != SENSITIVE], sensitive=[SENSITIVE])


def _codes_in_bins(column: Encoded) -> Codes:
    """Return the code under which each cell is compared: ordered values in bins. No cell may be missing."""
    domain, codes = column.domain, column.codes
    return put_into_bins(domain.positions())[codes] if domain.ordered else codes.astype(np.int64)


def _share_of_many(histogram: Sequence[tuple[str, float]]) -> float:
    """Return the share of tuples in all groups but the first, which ends with ten matching buckets."""
    counts = [count for _, count in histogram]
    return round(sum(counts[1:]) / sum(counts), 4) if sum(counts) else 0.0


def _table() -> tuple[pa.Table, str]:
    """Return Adult, or where it is not at hand a generated census of the same size."""
    try:
        table = load_adult().select(ADULT_ATTRIBUTES)
        rows, advice = f"Adult, {table.num_rows:,} rows without unknowns", ""
    except InputError:
        table = generate_census(CENSUS_ROWS, seed=SEED)
        rows, advice = f"generated census, {table.num_rows:,} rows", f"; for Adult {WHERE}"
    return table, f"{rows}, {table.num_columns} attributes, {SENSITIVE} is sensitive{advice}"
