"""Multiple imputation of values that a release shows as ranges, conditional on the outcome and the other covariates.

A value x in [a, b] is drawn from a normal distribution truncated to [a, b] whose mean is linear in the outcome and in
the other columns. Draws that ignore the outcome attenuate every slope (Little and Rubin 2019, ch. 5). Parameters and
values are drawn in turn (data augmentation: Tanner and Wong 1987), so that the draws vary as much as they should, and
the estimates of the completed tables are combined by Rubin's rules (Rubin 1987; Barnard and Rubin 1999).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.evaluation.analyze.columns import Floats, Integers

BURN_IN, BETWEEN_DRAWS = 12, 3
"""Rounds before the first draw is taken, and from one draw to the next."""
MAX_DUMMIES = 50
"""Categories of a column that the imputation tells apart; rarer ones count as one."""
TAIL = 8.0
"""Standard deviations beyond which a truncated normal is drawn as an exponential at its end."""


@dataclass(frozen=True, slots=True, eq=False)
class RangedColumn:
    """The bounds of a column that is imputed; equal where the value is exact. `whole` rounds what is drawn."""

    low: Floats
    high: Floats
    whole: bool

    def start(self) -> Floats:
        """Return values to begin with: the middle of each range, its end where the other is open."""
        with np.errstate(invalid="ignore"):
            middle = (self.low + self.high) / 2
        ends = np.where(np.isfinite(self.low), self.low, self.high)
        return np.where(np.isfinite(middle), middle, np.where(np.isfinite(ends), ends, 0.0))


def draw_columns(
    ranged: Mapping[str, RangedColumn],
    exact: Sequence[Floats],
    *,
    draws: int,
    random: np.random.Generator,
) -> Iterator[Mapping[str, Floats]]:
    """Yield completed values of the ranged columns, `draws` times.

    `exact` are the columns that are known: the outcome and the other covariates, as numbers and dummies. A ranged
    outcome is one of the ranged columns.
    """
    values = {name: column.start() for name, column in ranged.items()}
    known = [column for column in map(_standardize, exact) if column is not None]
    for round_ in range(BURN_IN + draws * BETWEEN_DRAWS):
        for name, column in ranged.items():
            others = [_standardize(values[other]) for other in ranged if other != name]
            design = np.column_stack([np.ones(len(column.low)), *known, *(each for each in others if each is not None)])
            values[name] = _draw_one(values[name], column, design, random)
        if round_ >= BURN_IN and (round_ - BURN_IN + 1) % BETWEEN_DRAWS == 0:
            yield {name: _rounded(values[name], ranged[name]) for name in ranged}


def _rounded(values: Floats, column: RangedColumn) -> Floats:
    """Round imputed values of a column of whole numbers, within their ranges."""
    if not column.whole:
        return values
    # Bounds of whole numbers lie half a unit outside, so that the rounded value is inside.
    drawn = np.clip(np.round(values), np.ceil(column.low), np.floor(column.high))
    return np.where(column.low < column.high, drawn, values)


def _standardize(column: Floats) -> Floats | None:
    """Return a column with mean 0 and variance 1; None where it is constant."""
    spread = column.std()
    return (column - column.mean()) / spread if spread > 0 else None


def _draw_one(values: Floats, column: RangedColumn, design: Floats, random: np.random.Generator) -> Floats:
    """Draw the parameters of the regression of one column on the others, then its values inside their ranges."""
    center = values.mean()
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += 1e-9 * len(values)
    factor = np.linalg.cholesky(gram)
    moments = design.T @ (values - center)
    fitted = np.linalg.solve(gram, moments)
    residual = values - center - design @ fitted
    freedom = max(len(values) - design.shape[1], 1)
    variance = float(residual @ residual) / random.chisquare(freedom)
    coefficients = fitted + np.sqrt(variance) * np.linalg.solve(factor.T, random.standard_normal(len(fitted)))
    open_rows = np.flatnonzero(column.low < column.high)
    drawn = values.copy()
    drawn[open_rows] = truncated_normal(
        center + design[open_rows] @ coefficients,
        np.sqrt(variance),
        column.low[open_rows],
        column.high[open_rows],
        random,
    )
    return drawn


def truncated_normal(mean: Floats, deviation: float, low: Floats, high: Floats, random: np.random.Generator) -> Floats:
    """Return a draw for each row from a normal distribution truncated to its range.

    >>> rows = np.full(1000, 0.0)
    >>> drawn = truncated_normal(rows, 1.0, rows + 1, rows + 2, np.random.default_rng(1))
    >>> bool((drawn >= 1).all() and (drawn <= 2).all()), round(float(drawn.mean()), 1)
    (True, 1.4)
    """
    from scipy.special import ndtr, ndtri

    if deviation <= 0:
        return np.clip(mean, low, high)
    below, above = (low - mean) / deviation, (high - mean) / deviation
    # The upper tail is drawn as the mirrored lower one, which has more digits.
    mirrored = below > 0
    first, last = np.where(mirrored, -above, below), np.where(mirrored, -below, above)
    uniform = random.random(len(mean))
    start, end = ndtr(first), ndtr(last)
    drawn = ndtri(start + uniform * (end - start))
    far = (last < -TAIL) | ~np.isfinite(drawn)
    if far.any():
        # Far out, a normal density falls like an exponential from the end that is nearer to the mean.
        edge, width = last[far], last[far] - first[far]
        rate = np.maximum(-edge, 1.0)
        drawn[far] = edge + np.log1p(-uniform[far] * -np.expm1(-rate * width)) / rate
    drawn = np.where(mirrored, -drawn, drawn)
    return np.clip(mean + deviation * drawn, low, high)


def dummies_of(codes: Integers, categories: int) -> list[Floats]:
    """Return a column of 0 and 1 for each category but the most frequent one; rare ones are left together."""
    counts = np.bincount(codes[codes >= 0], minlength=categories)
    frequent = np.argsort(-counts, kind="stable")[1 : MAX_DUMMIES + 1]
    return [(codes == category).astype(np.float64) for category in frequent if counts[category]]
