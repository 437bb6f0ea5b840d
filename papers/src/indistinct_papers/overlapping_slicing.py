"""What attributes in several columns are worth: the extension that Li, Li, Zhang and Molloy (2012) leave open.

Columns that share no attribute, one and two are found on the same table and published with the same guarantee. Pairs of
columns, counts, what can be learned and fake tuples say what is kept and what it costs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.evaluation.assess.membership import membership_of
from indistinct.evaluation.measure.learning.classification import classify
from indistinct.evaluation.measure.measure import distributions
from indistinct.evaluation.query.query import workload_error
from indistinct.job.publishing import anonymize
from indistinct.metrics.queries.workload import Workload
from indistinct.schema import Schema
from indistinct_papers.base import Cell, Claim, Reproduction
from indistinct_papers.slicing import SENSITIVE, SHORT_SOURCE
from indistinct_papers.slicing_classification import QUASI_TARGET, sampled_adult

SHARED, FOLDS, SEED = (0, 1, 2), 5, 1
QUERIES, ATTRIBUTES, SELECTIVITY = 200, 2, 0.1
CLASSIFIER = "naive-bayes"
HEADINGS = ("l", "overlap", "columns", "buckets", "pairs", "queries", "accuracy", SENSITIVE, "fake/original")


def reproduce_overlapping_slicing(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Publish a table with columns that share attributes, and measure what is kept and how well people are hidden."""
    table, data = sampled_adult()
    rows = list[tuple[Cell, ...]]()
    for place, l in enumerate(sizes):
        rows += [measure_release(table, l, overlap) for overlap in SHARED]
        progress((place + 1) / len(sizes))
    return Reproduction(
        title="Slicing: attributes in several columns",
        source="T. Li, N. Li, J. Zhang, I. Molloy (2012). Slicing: a new approach for privacy preserving data "
        "publishing. IEEE TKDE. (Named as future work, without an experiment.)",
        data=f"{data}; pairs: mean total variation of all pairs of columns; queries: mean relative error of {QUERIES} "
        f"counts over {ATTRIBUTES} columns; accuracy of {CLASSIFIER} for {QUASI_TARGET} and for {SENSITIVE}, "
        f"{FOLDS} folds; fake tuples of known attributes",
        headings=HEADINGS,
        rows=tuple(rows),
        findings=(),
        facts={},
        claims=claims(rows),
        differs=("rules, proof and search are ours: the paper names the extension alone",),
    )


def measure_release(table: pa.Table, l: int, overlap: int) -> tuple[Cell, ...]:
    """Return the row of the figure for one guarantee and one number of attributes that columns may share."""
    schema = Schema(quasi=[name for name in table.column_names if name != SENSITIVE], sensitive=[SENSITIVE])
    algorithm = f"slicing:l={l},try_all_dims=true,overlap={overlap}"
    release = anonymize(table, schema, algorithm=algorithm, seed=SEED)
    assert release.buckets is not None  # noqa: S101  (slicing publishes buckets)
    asked = Workload.generate(table, schema, queries=QUERIES, attributes=ATTRIBUTES, selectivity=SELECTIVITY, seed=SEED)
    options: dict[str, Any] = {"classifiers": [CLASSIFIER], "folds": FOLDS, "seed": SEED, "algorithm": algorithm}
    learned = [
        classify(table, schema, target=target, **options).score(CLASSIFIER).accuracy.mean
        for target in (QUASI_TARGET, SENSITIVE)
    ]
    pairs = float(np.mean([pair.total_variation for pair in distributions(release, table).pairs]))
    shown = "|".join("+".join(names) for names in release.buckets.slices)
    figures = (pairs, workload_error(release, table, asked).relative, *learned)
    hidden = membership_of(release, original=table, quasi_only=True, seed=SEED).fake_per_original
    return (l, overlap, shown, release.certificate.classes, *(round(each, 4) for each in figures), round(hidden, 2))


def claims(rows: Sequence[tuple[Cell, ...]]) -> tuple[Claim, ...]:
    """Return what sharing attributes keeps and costs, judged by these numbers."""
    less = "tables whose columns share attributes"
    return (
        _compare(f"{less} keep pairs of columns closer to the original", rows, "pairs", lambda one, other: one < other),
        _compare(f"counts over two columns are better on {less}", rows, "queries", lambda one, other: one < other),
        _compare(f"a quasi-identifier is learned better from {less}", rows, "accuracy", lambda one, other: one > other),
        _compare(f"{less} have fewer fake tuples", rows, "fake/original", lambda one, other: one < other),
    )


def _compare(text: str, rows: Sequence[tuple[Cell, ...]], heading: str, holds: Callable[[float, float], bool]) -> Claim:
    """Return a claim that each table whose columns share attributes is on one side of that whose columns share none."""
    place = HEADINGS.index(heading)
    value = {(row[0], row[1]): float(row[place] or 0) for row in rows}
    pairs = [((l, overlap), (l, 0)) for l, overlap in value if overlap]
    held = sum(holds(value[one], value[other]) for one, other in pairs)
    values = ", ".join(
        f"{value[one]:.4g} against {value[other]:.4g} (l = {one[0]}, overlap {one[1]})" for one, other in pairs
    )
    return Claim(
        text,
        SHORT_SOURCE,
        held,
        len(pairs),
        f"in {held} of {len(pairs)} settings: {values}",
        "the paper names the extension without an experiment; rules, proof and search are ours; a difference of any "
        "size counts",
        place="conclusions, overlapping slicing",
        setting="named as future work",
        ours="12,000 rows of Adult or of a census, columns found with none, one and two shared attributes",
        own=True,
    )
