"""Survey weights through the engine seam: how many people of the population the rows of each class stand for.

An engine counts values inside classes and knows no sums. The histogram of the weight column has every distinct weight
of a class with its number of rows, and the column's domain what these weights are: that is the sum.
"""

import numpy as np

from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.value import PERSON, Classes, Key
from indistinct.machine.arrays import Codes
from indistinct.tables.domain import Domain, Kind


def weight_keys(column: str, *, people: bool) -> tuple[Key, ...]:
    """Return the keys that a `Request` needs for `sums_of_weights`, of people or of rows.

    >>> weight_keys("weight", people=False), weight_keys("weight", people=True)
    ((('weight',),), (('',), ('', 'weight')))
    """
    return ((PERSON,), (PERSON, column)) if people else ((column,),)


def sums_of_weights(classes: Classes, domain: Domain) -> Codes:
    """Return the sum of the weights of each class; `domain` is that of the weight column.

    Every row has its weight. Where people are counted everybody has one weight, counted once in each class that they
    are in. Raises `InputError` for weights that are missing, negative or no numbers, and for people with several.
    """
    people = classes.histograms.get((PERSON,))
    key = (domain.column,) if people is None else (PERSON, domain.column)
    if key not in classes.histograms:
        raise ParameterError(
            f"the classes have no histogram of the weights {domain.column!r}",
            hint="ask the engine for the keys of `weight_keys`",
        )
    histogram = classes.histograms[key]
    if histogram.pairs is None:
        values, times = histogram.codes, histogram.counts
    else:
        values, times = histogram.pairs[1][histogram.codes], np.ones(len(histogram.codes))
        _require_one_each(histogram.pairs[0], domain.column)
    weights = _weights(domain)
    for what, wrong in (("missing", np.isnan(weights)), ("negative", weights < 0)):
        count = int(times[wrong[values]].sum())
        if count:
            raise InputError(
                f"a weight of {domain.column!r} must be at least 0; it is {what} for {count:,} {classes.unit}",
                hint="a weight says for how many people of the population a row stands: correct it or name another",
                column=domain.column,
            )
    return np.bincount(histogram.owners(), times * weights[values], minlength=len(classes))


def _weights(domain: Domain) -> Codes:
    """Return the weight of each code, no number for missing."""
    if domain.kind is not Kind.NUMBER:
        raise InputError(
            f"the weights {domain.column!r} must be numbers; got {domain.kind} values",
            hint="name a numeric column, or read the table with its decimal mark and its marks for missing values",
            column=domain.column,
        )
    weights = domain.positions().copy()
    weights[: int(domain.missing)] = np.nan
    return weights


def _require_one_each(people: Codes, column: str) -> None:
    several = int((np.bincount(people) > 1).sum())
    if several:
        raise InputError(
            f"everybody must have one weight of {column!r}; {several:,} people have several",
            hint="give each person's rows the same weight, or measure rows: leave the person column out",
            column=column,
        )
