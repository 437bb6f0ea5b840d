"""How many rows show each value that a recoding publishes: the sums that every cell-wise metric is made of.

A metric of cells charges each published value of a column once and multiplies by the rows that show it, so
its cost is one pass over the classes for each column, whatever the number of rows.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from indistinct.domain import Codes
from indistinct.errors import ParameterError
from indistinct.recoding.published import PublishedColumn, Recoded

Charge = Callable[[PublishedColumn], Codes]


def released_rows(recoded: Recoded) -> Iterator[tuple[PublishedColumn, Codes]]:
    """Yield each published column with the number of released rows that show each of its values."""
    sizes = recoded.classes.sizes
    for place, column in enumerate(recoded.columns):
        yield column, np.bincount(recoded.values[:, place], weights=sizes, minlength=len(column))


def cell_totals(
    recoded: Recoded, charge: Charge, *, suppressed: Callable[[PublishedColumn], float] = lambda _: 1.0
) -> Codes:
    """Return the sum of a charge over all rows, one total a column.

    `charge` gives the cost of each published value of a column, `suppressed` that of a cell that is dropped.
    """
    dropped = recoded.suppressed
    totals = (
        float(rows @ charge(column)) + dropped * suppressed(column) for column, rows in released_rows(recoded)
    )
    return np.fromiter(totals, dtype=np.float64, count=len(recoded.columns))


def mean_per_cell(totals: Codes, recoded: Recoded) -> float:
    """Return the mean over all cells of the original table, suppressed ones too; 0 for an empty table."""
    cells = recoded.rows * len(recoded.columns)
    return float(totals.sum()) / cells if cells else 0.0


def weighted_sum(totals: Codes, weights: Sequence[float]) -> float:
    """Return the sum of column totals under weights in their order; without weights each counts once."""
    if not weights:
        return float(totals.sum())
    if len(weights) != len(totals):
        raise ParameterError(
            f"`weights` must hold one number for each of {len(totals)} quasi-identifiers; got {len(weights)}",
            hint="give the weights in the order of the schema's quasi-identifiers, or none at all",
        )
    return float(totals @ np.asarray(weights, dtype=np.float64))


def check_weights(weights: Sequence[float], *, owner: str) -> None:
    """Raise unless every weight is a finite number that is not negative."""
    if any(not math.isfinite(weight) or weight < 0 for weight in weights):
        raise ParameterError(
            f"`weights` of {owner} must be finite and not negative",
            hint="leave `weights` out to count every column once",
        )
