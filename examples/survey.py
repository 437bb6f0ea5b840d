"""Invent a household survey with twenty keys, weights and households: python examples/survey.py ROWS FILE [SEED]."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

REGIONS = 16
SCHOOLS = ["none", "primary", "lower", "upper", "degree", "higher"]
JOBS = 40
"""Occupations are codes of four digits, of which the first one, two and three are coarser groups."""


def survey(rows: int, seed: int = 1) -> pa.Table:
    """Return a table of invented people in invented households."""
    dice = np.random.default_rng(seed)
    sizes = np.minimum(1 + dice.poisson(1.3, rows), 9)
    size = np.repeat(sizes, sizes)[:rows]
    household = _numbers_of(size)
    region = _skewed(dice, REGIONS, household.max() + 1)[household]
    district = region * 8 + dice.integers(0, 8, household.max() + 1)[household]
    age = dice.integers(0, 95, rows)
    grown = age >= 15
    job = np.where(grown, _skewed(dice, JOBS, rows) + 1, 0)
    country = np.where(dice.random(rows) < 0.85, 0, _skewed(dice, 24, rows) + 1)
    columns = {
        "person": [f"P{number:07d}" for number in dice.permutation(rows)],
        "household": [f"H{number:07d}" for number in dice.permutation(household.max() + 1)[household]],
        "weight": np.round(dice.gamma(9, 12, household.max() + 1)[household], 1),
        "district": [f"{number:03d}" for number in district],
        "urban": _of(["city", "town", "village"], _skewed(dice, 3, household.max() + 1)[household]),
        "age": age,
        "sex": _of(["f", "m"], dice.integers(0, 2, rows)),
        "born": [f"C{number:02d}" for number in country],
        "citizen": _of(["yes", "no"], (country > 0) & (dice.random(rows) < 0.6)),
        "marital": _of(["single", "married", "divorced", "widowed"], np.where(grown, _skewed(dice, 4, rows), 0)),
        "education": _of(
            ["none", "primary", "lower", "upper", "degree", "higher"], dice.binomial(5, 0.5, rows) * grown
        ),
        "occupation": [f"{number * 241:04d}" for number in job],
        "industry": _of([f"{letter}{n}" for letter in "ABCDEF" for n in range(3)], _skewed(dice, 18, rows)),
        "employment": _of(["none", "employee", "self", "unpaid"], np.where(grown, _skewed(dice, 4, rows), 0)),
        "hours": 5 * np.minimum(dice.poisson(6, rows), 12) * grown,
        "income": _of([f"band {n:02d}" for n in range(12)], dice.binomial(11, 0.35, rows)),
        "members": np.minimum(size, 7),
        "children": np.minimum(dice.poisson(0.8, household.max() + 1)[household], 5),
        "dwelling": _of(["flat", "house", "shared", "other"], _skewed(dice, 4, household.max() + 1)[household]),
        "tenure": _of(["rents", "owns", "free"], _skewed(dice, 3, household.max() + 1)[household]),
        "religion": _of([f"R{n}" for n in range(7)], _skewed(dice, 7, rows)),
        "language": _of([f"L{n}" for n in range(6)], _skewed(dice, 6, rows)),
        "disabled": _of(["no", "yes"], dice.random(rows) < 0.08),
        "health": _of(["good", "fair", "bad"], _skewed(dice, 3, rows)),
        "trust": dice.integers(0, 11, rows),
    }
    return pa.table(columns)


def _numbers_of(sizes: np.ndarray) -> np.ndarray:
    """Return the number of the household of everybody, given its size beside each of its people."""
    starts, at = np.zeros(len(sizes), dtype=bool), 0
    while at < len(sizes):
        starts[at] = True
        at += int(sizes[at])
    return np.cumsum(starts) - 1


def _skewed(dice: np.random.Generator, values: int, rows: int) -> np.ndarray:
    """Return codes of which the first are common and the last rare."""
    shares = 1 / np.arange(1, values + 1)
    return dice.choice(values, rows, p=shares / shares.sum())


def _of(names: list[str], codes: np.ndarray) -> list[str]:
    return [names[code] for code in codes.astype(int).tolist()]


def main() -> None:
    """Write the table where the command line says."""
    rows, path = int(sys.argv[1]), Path(sys.argv[2])
    table = survey(rows, int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    (parquet.write_table if path.suffix == ".parquet" else csv.write_csv)(table, path)


if __name__ == "__main__":
    main()
