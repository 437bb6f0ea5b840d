"""Attribute disclosure: what a class reveals about sensitive values of its members, without finding a row.

The figures are those that models guarantee: the largest share of a value, l in three forms, t under three distances,
beta and delta. They are given for the release, whatever model it was made for.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from indistinct.as_json import AsJson, to_plain
from indistinct.frequencies.value import PERSON, Classes, Key
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.models import (
    BasicBetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from indistinct.models.arithmetic import per_class
from indistinct.models.base import Model, SensitiveModel
from indistinct.models.of_people import OfPeople

MAX_CLASSES_NAMED = 5
"""Number of the worst classes that are named."""

ClassesFor = Callable[[Model], Classes]


@dataclass(frozen=True, slots=True)
class WorstClass(AsJson):
    """A class in which one sensitive value is frequent, by what it publishes."""

    values: Mapping[str, str | None]
    members: int
    largest_share: float
    distinct: int


@dataclass(frozen=True, slots=True)
class AttributeDisclosure:
    """What classes tell of one sensitive column.

    `largest_share` and `mean_share` are of the most frequent value of a class, over classes; `homogeneous` is the share
    of members in classes with one value only, each counted once. `recursive` has the c that is achieved for each l. `t`
    has the distances that apply to the column. `unit` says whether people or rows were counted.
    """

    column: str
    unit: str
    largest_share: float
    mean_share: float
    homogeneous: float
    distinct_l: int
    entropy_l: float
    recursive: Mapping[int, float]
    t: Mapping[str, float]
    beta: float
    delta: float
    worst: tuple[WorstClass, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values; null where a figure is infinite."""
        return {
            "unit": self.unit,
            "largest_share": self.largest_share,
            "mean_share": self.mean_share,
            "homogeneous": self.homogeneous,
            "l": {
                "distinct": self.distinct_l,
                "entropy": self.entropy_l,
                "recursive": [{"l": l, "c": to_plain(c)} for l, c in self.recursive.items()],
            },
            "t": dict(self.t),
            "beta": to_plain(self.beta),
            "delta": to_plain(self.delta),
            "worst": [each.to_json() for each in self.worst],
        }


def disclosure_of(
    column: str,
    classes_for: ClassesFor,
    *,
    ordered: bool,
    people: bool,
    name_class: Callable[[int], Mapping[str, str | None]] | None = None,
) -> AttributeDisclosure:
    """Measure how much the classes disclose of a sensitive column: share of the commonest value, l, t, β and δ.

    `classes_for` gives the classes with the histograms that a model needs. `ordered` says that the column's order means
    something. `name_class` gives the published values of a class, where these may be shown.
    """

    def judged(model: SensitiveModel) -> Mapping[str, float]:
        asked = OfPeople(model) if people else model
        return asked.achieved(classes_for(asked))

    counted = _count_members(column, classes_for, people=people)
    histogram, sizes = counted.histograms[(column,)], counted.sizes
    most = per_class(np.maximum, histogram.counts, indptr=histogram.indptr) / np.maximum(sizes, 1)
    rooted = histogram.taxonomy is not None and histogram.taxonomy.rooted
    distances = ["equal", *(["ordered"] if ordered else []), *(["hierarchical"] if rooted else [])]
    closeness = {each: judged(TCloseness(column, 1.0, each)).get("t", 0.0) for each in distances}  # type: ignore[arg-type]
    distinct = int(judged(DistinctLDiversity(column, 1)).get("l", 0))
    recursive = {l: judged(RecursiveLDiversity(column, 1, l)).get("c", math.inf) for l in (2, 3) if distinct >= l}
    values = np.diff(histogram.indptr)
    return AttributeDisclosure(
        column,
        "people" if people else "rows",
        float(most.max(initial=0.0)),
        float(most.mean()) if len(most) else 0.0,
        float(counted.members_of(values == 1) / max(counted.members_of(values >= 0), 1)),
        distinct,
        float(judged(EntropyLDiversity(column, 1.0)).get("l", 0.0)),
        recursive,
        closeness,
        float(judged(BasicBetaLikeness(column, 1.0)).get("beta", 0.0)),
        float(judged(DeltaDisclosure(column, 1.0)).get("delta", 0.0)),
        () if name_class is None else _worst(most, sizes, values, name_class),
    )


def keys_of(sensitive: Sequence[str], *, people: bool) -> tuple[Key, ...]:
    """Return the keys to count for attribute disclosure of sensitive columns."""
    plain = tuple((name,) for name in sensitive)
    return ((PERSON,), *plain, *((PERSON, name) for name in sensitive)) if people else plain


def _count_members(column: str, classes_for: ClassesFor, *, people: bool) -> Classes:
    """Return classes counted in members: their sizes, values and, if they are people, person IDs.

    A person counts once for each value, so that a share is that of the people who have it.
    """
    if not people:
        return classes_for(Shares(column))
    asked = OfPeople(Shares(column))
    classes = classes_for(asked)
    counted = asked.counted(classes)
    return Classes(counted.sizes, {**counted.histograms, (PERSON,): classes.histograms[(PERSON,)]})


@dataclass(frozen=True, slots=True)
class Shares(SensitiveModel):
    """Counts the members with each value, and guarantees nothing."""

    name: ClassVar[str] = "shares"

    def violations(self, classes: Classes) -> Mask:
        """Return an empty mask: this model only counts and never fails."""
        return np.zeros(len(classes), dtype=bool)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return nothing."""
        return {}


def _worst(
    most: Floats, sizes: Codes, values: Codes, name_class: Callable[[int], Mapping[str, str | None]]
) -> tuple[WorstClass, ...]:
    """Return the classes with the largest shares, the larger class first among equals."""
    order = np.lexsort((-sizes, -most))[:MAX_CLASSES_NAMED].tolist()
    return tuple(
        WorstClass(name_class(index), int(sizes[index]), float(most[index]), int(values[index])) for index in order
    )
