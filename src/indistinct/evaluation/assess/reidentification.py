"""Re-identification risk: how likely an attacker who knows quasi-identifiers finds the row of a person.

There are three attackers (El Emam 2013). A *prosecutor* knows that the person is in the release and sees a class
of f members. A *journalist* does not, and must reckon with the F members of the population that look like the class. A
*marketer* wants to find many people, and not all of them need be right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from indistinct.as_json import AsJson
from indistinct.evaluation.assess.individual import risks_of_counts
from indistinct.frequencies.value import PERSON, Classes
from indistinct.machine.arrays import Codes, Floats, Mask

SIZES = (1, 2, 3, 4, 5, 10, 11, 20)
"""The class sizes up to which the share of members is given."""


@dataclass(frozen=True, slots=True)
class Reidentification(AsJson):
    """The risk that one kind of attacker finds a person: the highest, the mean, and how many are above a threshold."""

    highest: float
    average: float
    at_risk: float


NO_RISK = Reidentification(0.0, 0.0, 0.0)
"""The risk of a table without rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassSizes(AsJson):
    """How large classes are: the number of classes of each size, and the share of members in the small ones."""

    histogram: Mapping[int, int]
    cumulative: Mapping[int, float]


def prosecutor(classes: Classes, *, threshold: Fraction) -> Reidentification:
    """Return the risk of people who are known to be in the table: 1/f in a class of f members.

    >>> prosecutor(Classes(np.array([1, 3])), threshold=Fraction("0.5"))
    Reidentification(highest=1.0, average=0.5, at_risk=0.25)
    """
    sizes = classes.members
    if not len(sizes):
        return NO_RISK
    # Compared in whole numbers: 1/20 is not above 0.05.
    exposed = sizes * threshold.numerator < threshold.denominator
    return Reidentification(1 / int(sizes.min()), average_risk(classes), share_of_members(classes, exposed))


def journalist(classes: Classes, population: Codes, *, threshold: Fraction) -> Reidentification:
    """Return the risk of people who may or may not be in the table: 1/F of each class.

    `population` has the members of the population that look like each class.
    """
    if not len(classes):
        return NO_RISK
    exposed = population * threshold.numerator < threshold.denominator
    return Reidentification(
        1 / int(population.min()),
        max(len(classes) / int(population.sum()), marketer(classes, population)),
        share_of_members(classes, exposed),
    )


def expected_journalist(
    classes: Classes, fraction: float, *, unique_share: float, threshold: Fraction
) -> Reidentification:
    """Return the expected journalist risk if the table is a random sample of the population.

    `unique_share` is the estimated share of the population that is unique in it.
    """
    if not len(classes):
        return NO_RISK
    risks = expected_reciprocals(classes.members, fraction, unique_share=unique_share)
    share = share_of_members(classes, risks > float(threshold))
    whole = len(classes) * fraction / int(classes.members.sum())
    return Reidentification(float(risks.max()), max(whole, mean_over_members(classes, risks)), share)


def marketer(classes: Classes, population: Codes) -> float:
    """Return the expected share of members found by linking the whole table: the mean of 1/F."""
    return mean_over_members(classes, 1 / population)


def expected_marketer(classes: Classes, fraction: float, *, unique_share: float) -> float:
    """Return the expected marketer risk if the table is a random sample of the population."""
    return mean_over_members(classes, expected_reciprocals(classes.members, fraction, unique_share=unique_share))


def average_risk(classes: Classes) -> float:
    """Return the mean of 1/f over members: the number of classes over that of rows."""
    sizes = classes.members
    if (PERSON,) in classes.histograms:
        return mean_over_members(classes, 1 / np.maximum(sizes, 1))
    return len(sizes) / int(sizes.sum()) if len(sizes) else 0.0


def class_sizes(classes: Classes) -> ClassSizes:
    """Return how many classes have each size, and how many members are in a class of at most some sizes."""
    numbers = np.bincount(classes.members)
    sizes = np.flatnonzero(numbers)
    histogram = dict(zip(sizes.tolist(), numbers[sizes].tolist(), strict=True))
    if (PERSON,) in classes.histograms:
        shares = {size: share_of_members(classes, classes.members <= size) for size in SIZES}
    else:
        within = {size: sum(s * number for s, number in histogram.items() if s <= size) for size in SIZES}
        shares = {size: rows / max(classes.rows, 1) for size, rows in within.items()}
    return ClassSizes(histogram, shares)


def uniques(classes: Classes) -> int:
    """Count the members in classes of size one."""
    if (PERSON,) not in classes.histograms:
        return int((classes.sizes == 1).sum())
    return classes.members_of(classes.members == 1)


def share_of_members(classes: Classes, chosen: Mask) -> float:
    """Return the share of members in one of the classes that a mask chooses."""
    if (PERSON,) not in classes.histograms:
        return int(np.dot(classes.sizes, chosen)) / max(classes.rows, 1)
    everybody = classes.members_of(np.ones(len(classes), dtype=bool))
    return classes.members_of(chosen) / everybody if everybody else 0.0


def mean_over_members(classes: Classes, risks: Codes | Floats) -> float:
    """Return the mean risk of a member; a person in several classes has the highest risk of these."""
    persons = classes.histograms.get((PERSON,))
    if persons is None:
        return float((classes.sizes * risks).sum() / max(classes.rows, 1))
    highest = np.zeros(len(persons.reference))
    np.maximum.at(highest, persons.codes, risks[persons.owners()])
    return float(highest.sum() / max(int((highest > 0).sum()), 1))


def expected_reciprocals(sizes: Codes, fraction: float, *, unique_share: float = 0.0) -> Codes:
    """Return the expected 1/F of classes with f members in a sample drawn with equal probabilities.

    That is the individual risk under equal weights, which knows nothing of how many are unique in the population. Of n
    members s are alone, and n·U of them are expected to be unique there, with U the `unique_share`. So the risk of
    those who are alone is P + (1 - P)·E[1/F | F > 1], where P is n·U/s, and no less than the fraction, which is P under
    equal weights.

    >>> expected_reciprocals(np.array([1, 2, 50]), 1.0)
    array([1.  , 0.5 , 0.02])
    """
    risks, single = risks_of_counts(sizes, sizes / fraction), sizes == 1
    if single.any() and fraction < 1:
        unique = max(min(int(sizes.sum()) * unique_share / int(single.sum()), 1.0), fraction)
        several = (risks[single] - fraction) / (1 - fraction)
        risks[single] = unique + (1 - unique) * several
    return risks
