"""What many columns do to generalized, bucketized and sliced tables: a claim of Li, Li, Zhang and Molloy (2012).

Generalization loses much where a table has many quasi-identifiers, because rows that agree in a few are far apart in
all others; slicing recodes nothing and hides links between columns alone. A generated table with more and more columns
shows how loss, distances of pairs, errors of queries and what can be learned change. Generalization is tried with the
bound on frequencies that slicing keeps, and with l distinct values alone, which is less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.evaluation.measure.learning.classification import classify
from indistinct.evaluation.measure.learning.scores import ORIGINAL
from indistinct.evaluation.measure.measure import distributions, measure
from indistinct.evaluation.query.query import workload_error
from indistinct.job.publishing import anonymize
from indistinct.metrics.queries.value import Compare, Query
from indistinct.metrics.queries.workload import Workload
from indistinct.schema import Schema
from indistinct_papers.base import Cell, Claim, Reproduction, unite_parts
from indistinct_papers.slicing import BUCKETS_KEEP, EFFECTIVE, PLACES, SHORT_SOURCE, UTILITY

SENSITIVE = "condition"
GROWTH_PLACE = "Sonawane and Rahinj, abstract and II"
ROWS, SEED, L, FOLDS = 3_000, 1, 3, 5
VALUES, CONDITIONS = 8, 6
CLASSIFIER = "naive-bayes"
# Queries count a condition among the rows that two columns choose, a fifth of them.
QUERIES, ATTRIBUTES, SELECTIVITY = 200, 2, 0.2
GENERALIZED, DISTINCT, BUCKETIZED, SLICED = "generalized", "distinct l", "bucketized", "sliced"
RELEASES: Mapping[str, Mapping[str, str]] = {
    GENERALIZED: {"algorithm": "mondrian", "model": f"alpha-k:sensitive={SENSITIVE},alpha=1/{L},k={L}"},
    DISTINCT: {"algorithm": "mondrian", "model": f"distinct-l-diversity:sensitive={SENSITIVE},l={L}"},
    BUCKETIZED: {"algorithm": f"slicing:l={L},columns=whole"},
    SLICED: {"algorithm": f"slicing:l={L}"},
}
PROMISES = {GENERALIZED: f"each condition at most 1/{L} of a class", DISTINCT: f"{L} distinct conditions in a class"}
HEADINGS = ("columns", "algorithm", "gcp", "pairs", "queries", "accuracy", "±", "original", "majority")


def reproduce_high_dimensional(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Publish generated tables of a number of quasi-identifiers, and measure what is lost and what can be learned."""
    rows = list[tuple[Cell, ...]]()
    for place, columns in enumerate(sizes):
        rows += measure_releases(generate_table(ROWS, columns), folds=FOLDS)
        progress((place + 1) / len(sizes))
    return Reproduction(
        title="Many columns: generalization, bucketization and slicing",
        source="T. Li, N. Li, J. Zhang, I. Molloy (2012). Slicing: a new approach for privacy preserving data "
        "publishing. IEEE TKDE. (A claim without numbers.)",
        data=f"generated, {ROWS:,} rows, columns of {VALUES} values that depend on two hidden numbers, l = {L}; "
        f"{GENERALIZED}: {PROMISES[GENERALIZED]}, as in buckets; {DISTINCT}: generalized with {PROMISES[DISTINCT]}; "
        f"pairs: mean total variation of all pairs; queries: mean relative error of {QUERIES} counts of a condition "
        f"and {ATTRIBUTES} columns; accuracy of {CLASSIFIER} on {FOLDS} folds of the original",
        headings=HEADINGS,
        rows=tuple(rows),
        findings=(),
        facts={},
        claims=claims(rows),
        differs=(
            "the paper states it of many columns and tests on one census table; ours is generated, so that columns can "
            "be added one after the other and what depends on what is known",
            f"promises are compared with two kinds of generalization: {PROMISES[GENERALIZED]}, which slicing keeps "
            f"as well, and {PROMISES[DISTINCT]}, which is less",
        ),
    )


def generate_table(rows: int, columns: int) -> pa.Table:
    """Return a table whose columns depend on two hidden numbers, half of them on each, and a condition on the first."""
    draw = np.random.default_rng([SEED, columns])
    hidden = draw.normal(size=(rows, 2))
    made: dict[str, Any] = {
        f"x{column + 1}": _cut(hidden[:, column % 2] + draw.normal(size=rows), VALUES) for column in range(columns)
    }
    names = np.array([f"c{number}" for number in range(CONDITIONS)])
    made[SENSITIVE] = names[_cut(hidden[:, 0] + 0.5 * draw.normal(size=rows), CONDITIONS)]
    return pa.table(made)


def measure_releases(table: pa.Table, *, folds: int) -> list[tuple[Cell, ...]]:
    """Return a row of the figure for each kind of release."""
    schema = Schema(quasi=[name for name in table.column_names if name != SENSITIVE], sensitive=[SENSITIVE])
    asked = questions(table, schema)
    rows = list[tuple[Cell, ...]]()
    for kind, how in RELEASES.items():
        release = anonymize(table, schema, seed=SEED, **how)  # type: ignore[arg-type]
        loss = measure(release, ["gcp"])["gcp"] if release.buckets is None else 0.0  # nothing is recoded in buckets
        apart = float(np.mean([pair.total_variation for pair in distributions(release, table).pairs]))
        wrong = workload_error(release, table, asked).relative
        options: dict[str, Any] = {"classifiers": [CLASSIFIER], "folds": folds, "seed": SEED, **how}
        study = classify(table, schema, target=SENSITIVE, **options)
        found, best = study.score(CLASSIFIER).accuracy, study.score(CLASSIFIER, ORIGINAL).accuracy
        shown = (loss, apart, wrong, found.mean, (found.high - found.low) / 2, best.mean, study.majority.mean)
        rows.append((len(schema.quasi), kind, *(round(value, 4) for value in shown)))
    return rows


def questions(table: pa.Table, schema: Schema) -> Workload:
    """Return counts of each condition in turn, among rows that ranges of two quasi-identifiers choose."""
    ranges = Workload.generate(
        table, schema, queries=QUERIES, attributes=ATTRIBUTES, selectivity=SELECTIVITY, seed=SEED
    )
    made = []
    for number, query in enumerate(ranges.queries):
        condition = Compare(SENSITIVE, "=", (f"c{number % CONDITIONS}",))
        made.append(Query(where=condition if query.where is None else query.where & condition))
    return Workload.of(made)


def claims(rows: Sequence[tuple[Cell, ...]]) -> tuple[Claim, ...]:
    """Return the paper's claims, judged by these numbers."""
    by = {(row[0], row[1]): dict(zip(HEADINGS, row, strict=True)) for row in rows}
    sizes = list(dict.fromkeys(row[0] for row in rows))

    def value(size: Cell, kind: str, heading: str) -> float:
        return float(by[size, kind][heading] or 0)

    def growing(kind: str) -> Claim:
        pairs = list(pairwise(sizes))
        failures = [more for less, more in pairs if value(more, kind, "gcp") <= value(less, kind, "gcp")]
        losses = ", ".join(f"{value(size, kind, 'gcp'):.4f}" for size in sizes)
        return replace(
            _claim(len(pairs), failures, f"GCP {losses}"),
            place=GROWTH_PLACE,
            differs="judged by whether the loss grows with the columns of a generated table; the paper says of "
            "high-dimensional data that it is considerable",
        )

    def compare(one: str, other: str, heading: str) -> Claim:
        """Return a claim that one kind of table is better than another: less is lost, or more is learned."""
        sign = -1 if heading == "accuracy" else 1
        failures = [size for size in sizes if sign * value(size, one, heading) >= sign * value(size, other, heading)]
        values = ", ".join(
            f"{value(size, one, heading):.4f} against {value(size, other, heading):.4f}" for size in sizes
        )
        return _claim(len(sizes), failures, f"{heading} {values}")

    loses = "generalization loses a considerable amount of information, particularly for high-dimensional data"
    measures = {"pairs of columns": "pairs", "counts": "queries", "what is learned": "accuracy"}

    def useful(one: str, text: str) -> Claim:
        """Return a sentence that one kind of table is better than generalized ones, by every measure."""
        parts = {
            f"{words}, {promise}": compare(one, kind, heading)
            for words, heading in measures.items()
            for kind, promise in PROMISES.items()
        }
        return replace(unite_parts(text, parts), place=PLACES[text])

    return (
        unite_parts(loses, {promise: growing(kind) for kind, promise in PROMISES.items()}),
        useful(SLICED, UTILITY),
        useful(BUCKETIZED, BUCKETS_KEEP),
        replace(compare(SLICED, BUCKETIZED, "accuracy"), text=EFFECTIVE, place=PLACES[EFFECTIVE]),
    )


def _claim(tested: int, failures: Sequence[Cell], figures: str) -> Claim:
    where = f"; not for {', '.join(map(str, failures))} columns" if failures else ""
    return Claim(
        "",
        SHORT_SOURCE,
        tested - len(failures),
        tested,
        figures + where,
        "columns of a generated table, by number; the paper states it of many columns",
        setting="census data, many columns, no numbers printed",
        ours=f"{ROWS:,} generated rows, 5 to 60 columns",
    )


def _cut(line: np.ndarray[Any, Any], values: int) -> np.ndarray[Any, Any]:
    """Return in which of some parts with equal numbers of rows each place lies."""
    ranks = np.argsort(np.argsort(line))
    return ranks * values // len(line)
