"""Individual risk with survey weights: how likely a person in a class of a sample is found in the population.

The population's number F of people of a class is unknown; its posterior, given the number f in the sample and the sum
of their weights, is a negative binomial distribution, and the risk is the expectation of 1/F (Benedetti and Franconi
1998). An engine counts values inside classes and knows no sums: the histogram of the weight column gives them.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.as_json import AsJson
from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.value import PERSON, Classes, Key
from indistinct.machine.arrays import Codes, Floats
from indistinct.tables.domain import Domain, Kind

# Below this share of people outside the sample the risk of a pair is summed as a series.
SMALL, TERMS = 0.1, 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndividualRisk(AsJson):
    """The risk of each class, and of all people in the sample together.

    `expected` is the number of re-identifications to be expected: the sum of all risks. A person in several
    classes has the highest risk of them.
    """

    in_json: ClassVar[str] = "people expected mean highest"
    risks: Codes
    people: int
    expected: float

    @property
    def mean(self) -> float:
        """Return the global risk: the mean of all individual risks."""
        return self.expected / self.people if self.people else 0.0

    @property
    def highest(self) -> float:
        """Return the highest individual risk."""
        return float(self.risks.max(initial=0.0))


def individual_risk(classes: Classes, weights: Codes) -> IndividualRisk:
    """Return the individual risk of each class and overall; `weights` are the represented people of the population.

    >>> found = individual_risk(Classes(np.array([2, 1])), np.array([360.0, 215.0]))
    >>> found.risks.round(4).tolist(), round(found.expected, 4)
    ([0.0054, 0.0251], 0.0359)
    """
    risks = risks_of_counts(classes.members, weights)
    people = classes.histograms.get((PERSON,))
    if people is None:
        return IndividualRisk(risks, classes.rows, float((classes.sizes * risks).sum()))
    highest = np.zeros(len(people.reference))
    np.maximum.at(highest, people.codes, risks[people.owners()])
    present = classes.members_of(np.ones(len(classes), dtype=bool))
    return IndividualRisk(risks, present, float(highest.sum()))


def risks_of_counts(counts: Codes, weights: Codes | Floats) -> Codes:
    """Return the individual risk for each number of people in the sample and the sum of their weights.

    With p = f/F and q = 1 - p the risk is p/q × ln(1/p) of a single person, p/q - (p/q)² × ln(1/p) of a pair and
    p/(f - q) of more, which is an approximation. As p comes to 1 all of them come to 1/f. Weights that add up to less
    than the people themselves count as p = 1, because a sample is a part of its population.

        >>> risks_of_counts(np.array([1, 2, 5]), np.array([1.0, 2.0, 5.0])).tolist()
        [1.0, 0.5, 0.2]
    """
    if len(counts) != len(weights):
        raise ParameterError(f"{len(counts)} classes must have a sum of weights each; got {len(weights)}")
    if len(counts) and counts.min() < 1:
        raise ParameterError("a class must have at least one member; got one that is empty")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ParameterError("sums of weights must be finite and at least 0", hint="see `sums_of_weights`")
    f = counts.astype(np.float64)
    population = np.maximum(weights, f)
    p, q = f / population, (population - f) / population
    return np.where(counts == 1, _single(p, q), np.where(counts == 2, _pair(p, q), p / (f - q)))


def _single(p: Floats, q: Floats) -> Floats:
    """Return the risk of classes with one member."""
    return p * np.where(q > 0, _logarithm(p, q) / np.where(q > 0, q, 1.0), 1.0)


def _pair(p: Floats, q: Floats) -> Floats:
    """Return p - p² g with g = (ln(1/p) - q) / q², which loses no digits where p is near 1.

    g is the sum of q^j / (j + 2) over all j from 0.
    """
    series = np.zeros(len(q))
    for j in reversed(range(TERMS)):
        series = series * q + 1 / (j + 2)
    plain = np.where(q < SMALL, 1.0, q)
    return p - p * p * np.where(q < SMALL, series, (_logarithm(p, q) - q) / plain**2)


def _logarithm(p: Floats, q: Floats) -> Codes:
    """Return ln(1/p), from whichever of p and 1 - p is smaller and so has more digits."""
    return np.where(q < 0.5, -np.log1p(-np.minimum(q, 0.5)), -np.log(p))


def household_risks(classes: Classes, risks: Codes, *, key: Key) -> Codes:
    """Return the risk of each household that one of its people is found: 1 - Π(1 - r).

    `key` is a column that tells households apart, counted inside each class; where people are counted, the key of
    people and that column. A person in several classes has the highest risk of them.

        >>> from indistinct.frequencies.value import Histogram
        >>> homes = Histogram(np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([1, 1, 1]), np.array([1, 2]))
        >>> classes = Classes(np.array([2, 1]), {("home",): homes})
        >>> household_risks(classes, np.array([0.5, 0.2]), key=("home",)).round(3).tolist()
        [0.5, 0.6]
    """
    if key not in classes.histograms:
        raise ParameterError(f"the classes have no histogram of {key!r}", hint="ask the engine for this key")
    histogram = classes.histograms[key]
    entries = risks[histogram.owners()]
    with np.errstate(divide="ignore"):
        if histogram.pairs is None:
            homes, logs = histogram.codes, histogram.counts * np.log1p(-entries)
        else:
            highest = np.zeros(len(histogram.reference))  # of each person in each household
            np.maximum.at(highest, histogram.codes, entries)
            homes, logs = histogram.pairs[1], np.log1p(-highest)
    return -np.expm1(np.bincount(homes, logs, minlength=0 if histogram.pairs else len(histogram.reference)))


def weight_keys(column: str, *, people: bool) -> tuple[Key, ...]:
    """Return the keys that a `Request` needs for `sums_of_weights`, of people or of rows.

    >>> weight_keys("weight", people=False), weight_keys("weight", people=True)
    ((('weight',),), (('',), ('', 'weight')))
    """
    return ((PERSON,), (PERSON, column)) if people else ((column,),)


def sums_of_weights(classes: Classes, domain: Domain) -> Codes:
    """Return the sum of the weights of each class; `domain` is that of the weight column.

    Every row has its weight. Where people are counted each person has one weight, counted once in each class that they
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
        values, times = histogram.pairs[1][histogram.codes], np.ones(len(histogram.codes), dtype=np.int64)
        _require_one_each(histogram.pairs[0], domain.column)
    weights = _weights(domain)
    for what, wrong in (("missing", np.isnan(weights)), ("negative", weights < 0)):
        count = int(times[wrong[values]].sum())
        if count:
            raise InputError(
                f"a weight of {domain.column!r} must be at least 0; it is {what} for {count:,} {classes.unit}",
                hint="a weight says how many people of the population a row represents: correct it or name another",
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
    """Raise if a person has several survey weights."""
    several = int((np.bincount(people) > 1).sum())
    if several:
        raise InputError(
            f"each person must have one weight in {column!r}; {several:,} people have several",
            hint="give each person's rows the same weight, or measure rows: leave the person column out",
            column=column,
        )
