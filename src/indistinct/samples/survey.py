"""An invented household survey: twenty keys that make people unique in small combinations, weights, and households."""

from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.samples._sampling import check_size

Numbers = np.ndarray[Any, np.dtype[Any]]

SCHOOLS = ("none", "primary", "lower", "upper", "degree", "higher")
INDUSTRIES = tuple(f"{letter}{number}" for letter in "ABCDEF" for number in range(3))
MARITAL = ("single", "married", "divorced", "widowed")
EMPLOYMENT = ("none", "employee", "self-employed", "unpaid")
DWELLINGS = ("flat", "house", "shared", "other")
SURVEY_QUASI = (
    *("district", "urban", "age", "sex", "born", "citizen", "marital", "education", "occupation", "industry"),
    *("employment", "hours", "income", "members", "children", "dwelling", "tenure", "religion", "language", "disabled"),
)


def generate_survey(rows: int, *, seed: int) -> pa.Table:
    """Return people of invented households, with a weight for each household.

    Codes of districts (three digits) and occupations (four) are coarser with fewer digits. In most columns the first
    values are common and the last ones rare.

        >>> len(SURVEY_QUASI), generate_survey(3, seed=1).column_names[:3]
        (20, ['person', 'household', 'weight'])
    """
    check_size(rows, seed=seed)
    dice = np.random.default_rng(seed)
    sizes = np.minimum(1 + dice.poisson(1.3, rows + 1), 9)
    home = np.repeat(np.arange(len(sizes)), sizes)[:rows]
    homes = len(sizes)
    age = dice.integers(0, 95, rows)
    grown = (age >= 15).astype(np.int64)
    born = np.where(dice.random(rows) < 0.85, 0, _skewed(dice, 24, rows) + 1)
    columns: dict[str, pa.Array] = {
        "person": pa.array([f"P{number:07d}" for number in dice.permutation(rows).tolist()], pa.string()),
        "household": pa.array([f"H{number:07d}" for number in dice.permutation(homes)[home].tolist()], pa.string()),
        "weight": pa.array(np.round(dice.gamma(9, 12, homes), 1)[home]),
        "district": _spell([f"{number:03d}" for number in range(128)], _district(dice, homes)[home]),
        "urban": _spell(("city", "town", "village"), _skewed(dice, 3, homes)[home]),
        "age": pa.array(age),
        "sex": _spell(("f", "m"), dice.integers(0, 2, rows)),
        "born": _spell([f"C{number:02d}" for number in range(25)], born),
        "citizen": _spell(("yes", "no"), (born > 0) & (dice.random(rows) < 0.6)),
        "marital": _spell(MARITAL, _skewed(dice, 4, rows) * grown),
        "education": _spell(SCHOOLS, dice.binomial(5, 0.5, rows) * grown),
        "occupation": _spell([f"{241 * number:04d}" for number in range(41)], (_skewed(dice, 40, rows) + 1) * grown),
        "industry": _spell(INDUSTRIES, _skewed(dice, len(INDUSTRIES), rows)),
        "employment": _spell(EMPLOYMENT, _skewed(dice, 4, rows) * grown),
        "hours": pa.array(5 * np.minimum(dice.poisson(6, rows), 12) * grown),
        "income": _spell([f"band {number:02d}" for number in range(12)], dice.binomial(11, 0.35, rows)),
        "members": pa.array(np.minimum(sizes, 7)[home]),
        "children": pa.array(np.minimum(dice.poisson(0.8, homes), 5)[home]),
        "dwelling": _spell(DWELLINGS, _skewed(dice, 4, homes)[home]),
        "tenure": _spell(("rents", "owns", "free"), _skewed(dice, 3, homes)[home]),
        "religion": _spell([f"R{number}" for number in range(7)], _skewed(dice, 7, rows)),
        "language": _spell([f"L{number}" for number in range(6)], _skewed(dice, 6, rows)),
        "disabled": _spell(("no", "yes"), dice.random(rows) < 0.08),
        "health": _spell(("good", "fair", "bad"), _skewed(dice, 3, rows)),
        "trust": pa.array(dice.integers(0, 11, rows)),
    }
    return pa.table(columns)


def _district(dice: np.random.Generator, homes: int) -> Numbers:
    """Draw the district of each home, some of them more frequent."""
    return _skewed(dice, 16, homes) * 8 + dice.integers(0, 8, homes)


def _skewed(dice: np.random.Generator, values: int, rows: int) -> Numbers:
    """Return random codes; the first codes are common and the last rare."""
    shares = 1 / np.arange(1, values + 1)
    return dice.choice(values, rows, p=shares / shares.sum())


def _spell(names: Any, codes: Numbers) -> pa.Array:
    return pa.array(list(names), pa.string()).take(pa.array(codes.astype(np.int64)))
