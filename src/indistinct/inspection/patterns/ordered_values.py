"""Numbers and dates: births, events, ages, years and places by their range and spread; a role follows, never surely."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.figures import plural
from indistinct.inspection.patterns.base import PatternShare
from indistinct.machine.arrays import Codes
from indistinct.schema import Role

DAYS_OF_YEAR = 365.25
# Births: the fewest years that nine people in ten spread over, and the most years that all do.
BIRTH_SPREAD, LIFE = 30, 125
# Spans of fewer years are written in days.
SHORT = 2
# Ages: fewest distinct whole numbers, largest age, smallest highest age, and share of the numbers between the ends.
FEWEST_AGES, OLDEST, OLD, AGES_PRESENT = 30, 120, 60, 0.8
FIRST_YEAR, LAST_YEAR, FEWEST_YEARS = 1880, 2100, 10
# Coordinates: fewest decimals, share of values that have them, and fewest distinct places.
DECIMALS, WITH_DECIMALS, FEWEST_PLACES = 4, 0.8, 10


def pattern_of_dates(values: pa.Array) -> PatternShare | None:
    """Return whether distinct dates spread as births do, or are those of events; None without any."""
    days = values.drop_null().cast(pa.timestamp("s"), safe=False).cast(pa.int64()).to_numpy() / 86_400
    if not len(days):
        return None
    low, early, late, high = (float(each) / DAYS_OF_YEAR for each in np.quantile(days, [0, 0.05, 0.95, 1]))
    born = late - early >= BIRTH_SPREAD and high - low <= LIFE
    name, spread = ("birth-date", "births") if born else ("event-date", "events")
    span = plural(round(high - low), "year") if high - low >= SHORT else plural(round(np.ptp(days)) + 1, "day")
    meaning = f"dates that spread over {span}, as {spread} do"
    return PatternShare(name, meaning, Role.QUASI, 1.0, len(days), certain=False, safe_harbor="C")


def pattern_of_numbers(values: pa.Array) -> PatternShare | None:
    """Return whether distinct whole numbers are like ages or years; None if they are like neither.

    >>> pattern_of_numbers(pa.array(range(20, 95))).name
    'age'
    """
    if not pa.types.is_integer(values.type):
        return None
    line = values.drop_null().cast(pa.int64(), safe=False).to_numpy()
    if len(line) < FEWEST_YEARS:
        return None
    low, high = int(line.min()), int(line.max())
    if low >= FIRST_YEAR and high <= LAST_YEAR:
        born = high - low >= BIRTH_SPREAD
        name, meaning = ("birth-year", "years, as of births") if born else ("year", "years")
        return PatternShare(name, meaning, Role.QUASI, 1.0, len(line), certain=False)
    if low < 0 or not OLD <= high <= OLDEST or len(line) < FEWEST_AGES:
        return None
    present = len(line) / (high - low + 1)
    if present < AGES_PRESENT:
        return None
    meaning = "whole numbers like ages, nearly all of which occur"
    return PatternShare("age", meaning, Role.QUASI, present, len(line), False, "C", AGES_PRESENT)


def coordinate_pairs(columns: Mapping[str, pa.Array]) -> dict[str, PatternShare]:
    """Find adjacent columns of numbers that look like a latitude and a longitude."""
    fitting = {name: _degrees(values) for name, values in columns.items()}
    names, patterns = list(columns), {}
    for one, other in pairwise(names):
        first, second = fitting[one], fitting[other]
        if one in patterns or first is None or second is None or min(first[1], second[1]) > 90:
            continue
        for name, (share, _) in ((one, first), (other, second)):
            meaning = "numbers like latitudes and longitudes, with four decimals or more"
            judged = len(columns[name])
            patterns[name] = PatternShare("coordinates", meaning, Role.QUASI, share, judged, False, "B", WITH_DECIMALS)
    return patterns


def _degrees(values: pa.Array) -> tuple[float, float] | None:
    """Return the share of numbers with many decimals, and the largest number; None if they are not degrees."""
    if not pa.types.is_floating(values.type):
        return None
    line: Codes = values.drop_null().cast(pa.float64()).to_numpy()
    line = line[np.isfinite(line)]
    if len(line) < FEWEST_PLACES or np.abs(line).max() > 180:
        return None
    scaled = line * 10 ** (DECIMALS - 1)
    share = float((np.abs(scaled - np.round(scaled)) > 1e-6).mean())
    return (share, float(np.abs(line).max())) if share >= WITH_DECIMALS else None


def rows_above(values: pa.Array, counts: Codes, limit: int) -> int:
    """Return how many rows have a number above a limit; `counts` are the rows of each distinct value."""
    above = pc.fill_null(pc.greater(values, limit), False).to_numpy(zero_copy_only=False)
    return int(counts[above].sum())
