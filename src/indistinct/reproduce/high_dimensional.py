"""What many columns do to generalized, bucketized and sliced tables: a claim of Li, Li, Zhang and Molloy (2012).

Generalization loses much where a table has many quasi-identifiers, because rows that agree in a few are far apart in
all others; slicing recodes nothing and breaks links between columns alone. A generated table with more and more columns
shows how loss, distances of pairs and what can be learned change.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.api import anonymize
from indistinct.learning.classification import classify
from indistinct.learning.scores import ORIGINAL
from indistinct.measuring import distributions, measure
from indistinct.reproduce.base import Cell, Reproduction
from indistinct.schema import Schema

SENSITIVE = "condition"
ROWS, SEED, L, FOLDS = 3_000, 1, 3, 5
VALUES, CONDITIONS = 8, 6
CLASSIFIER = "naive-bayes"
GENERALIZED, BUCKETIZED, SLICED = "generalized", "bucketized", "sliced"
RELEASES: Mapping[str, Mapping[str, str]] = {
    GENERALIZED: {"algorithm": "mondrian", "model": f"alpha-k:sensitive={SENSITIVE},alpha=1/{L},k={L}"},
    BUCKETIZED: {"algorithm": f"slicing:l={L},columns=whole"},
    SLICED: {"algorithm": f"slicing:l={L}"},
}
HEADINGS = ("columns", "algorithm", "gcp", "pairs", "accuracy", "±", "original", "majority")


def reproduce_high_dimensional(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Publish a generated table with so many quasi-identifiers, and measure what is lost and what can be learned."""
    rows = list[tuple[Cell, ...]]()
    for place, columns in enumerate(sizes):
        rows += measured(generated(ROWS, columns), folds=FOLDS)
        progress((place + 1) / len(sizes))
    held = claims(rows)
    return Reproduction(
        title="Many columns: generalization, bucketization and slicing",
        source="T. Li, N. Li, J. Zhang, I. Molloy (2012). Slicing: a new approach for privacy preserving data "
        "publishing. IEEE TKDE. (A claim without numbers.)",
        data=f"generated, {ROWS:,} rows, columns of {VALUES} values that depend on two hidden numbers, l = {L}; pairs: "
        f"mean total variation of all pairs of columns; accuracy of {CLASSIFIER} on {FOLDS} folds of the original",
        headings=HEADINGS,
        rows=tuple(rows),
        findings=tuple(f"{claim}: {_verdict(failures)}" for claim, failures in held.items()),
        facts={"claims": {claim: not failures for claim, failures in held.items()}},
    )


def generated(rows: int, columns: int) -> pa.Table:
    """Return a table whose columns depend on two hidden numbers, half of them on each, and a condition on the first."""
    draw = np.random.default_rng([SEED, columns])
    hidden = draw.normal(size=(rows, 2))
    made: dict[str, Any] = {
        f"x{column + 1}": _cut(hidden[:, column % 2] + draw.normal(size=rows), VALUES) for column in range(columns)
    }
    names = np.array([f"c{number}" for number in range(CONDITIONS)])
    made[SENSITIVE] = names[_cut(hidden[:, 0] + 0.5 * draw.normal(size=rows), CONDITIONS)]
    return pa.table(made)


def measured(table: pa.Table, *, folds: int) -> list[tuple[Cell, ...]]:
    """Return a row of the figure for each kind of release."""
    schema = Schema(quasi=[name for name in table.column_names if name != SENSITIVE], sensitive=[SENSITIVE])
    rows = list[tuple[Cell, ...]]()
    for kind, how in RELEASES.items():
        release = anonymize(table, schema, seed=SEED, **how)  # type: ignore[arg-type]
        loss = measure(release, ["gcp"])["gcp"] if release.buckets is None else 0.0  # nothing is recoded in buckets
        apart = float(np.mean([pair.total_variation for pair in distributions(release, table).pairs]))
        options: dict[str, Any] = {"classifiers": [CLASSIFIER], "folds": folds, "seed": SEED, **how}
        study = classify(table, schema, target=SENSITIVE, **options)
        found, best = study.score(CLASSIFIER).accuracy, study.score(CLASSIFIER, ORIGINAL).accuracy
        shown = (loss, apart, found.mean, (found.high - found.low) / 2, best.mean, study.majority.mean)
        rows.append((len(schema.quasi), kind, *(round(value, 4) for value in shown)))
    return rows


def claims(rows: Sequence[tuple[Cell, ...]]) -> dict[str, list[str]]:
    """Return the claims, each with the numbers of columns for which it does not hold."""
    by = {(row[0], row[1]): dict(zip(HEADINGS, row, strict=True)) for row in rows}
    sizes = list(dict.fromkeys(row[0] for row in rows))

    def value(size: Cell, kind: str, heading: str) -> float:
        return float(by[size, kind][heading] or 0)

    growing = [
        f"{more}"
        for less, more in pairwise(sizes)
        if value(more, GENERALIZED, "gcp") <= value(less, GENERALIZED, "gcp")
    ]
    return {
        "the loss of generalization grows with the number of columns": growing,
        "pairs of columns are closer to the original in sliced than in generalized tables": [
            f"{size}" for size in sizes if value(size, SLICED, "pairs") >= value(size, GENERALIZED, "pairs")
        ],
        "more is learned from sliced than from generalized tables": [
            f"{size}" for size in sizes if value(size, SLICED, "accuracy") <= value(size, GENERALIZED, "accuracy")
        ],
        "more is learned from sliced than from bucketized tables": [
            f"{size}" for size in sizes if value(size, SLICED, "accuracy") <= value(size, BUCKETIZED, "accuracy")
        ],
    }


def _verdict(failures: Sequence[str]) -> str:
    return f"NOT confirmed for {', '.join(failures)} columns" if failures else "confirmed for every number of columns"


def _cut(line: np.ndarray[Any, Any], values: int) -> np.ndarray[Any, Any]:
    """Return in which of so many parts of equal numbers of rows each place lies."""
    ranks = np.argsort(np.argsort(line))
    return ranks * values // len(line)
