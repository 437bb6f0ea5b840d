"""Models that count people instead of rows, for tables in which a person may have several rows.

People do not add up: a person with rows in two classes is one person in their union. So most models are not monotone
over people, even those that are over rows: people {1: s, 2: x} and {2: x, 3: s} have a share of s of one half each, and
of two thirds together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from indistinct.errors import Feasible, InfeasibleError
from indistinct.frequencies.slices import Links
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Codes, Counts, Mask, starts_of
from indistinct.models.base import All, Judgement, Model, ModelTraits, column_of

# Largest number of parts that a person is divided into; sums over many values still fit 64 bits.
MAX_PARTS_OF_PERSON = 1 << 40


@dataclass(frozen=True, slots=True)
class OfPeople(Model):
    """A model whose rows are people.

    A class has as many people as there are different ones behind its rows. Where the model `splits_people`, each of
    them counts as 1, divided equally among the different values that they have in the class; otherwise each counts once
    for every one of these values, so that the share of a value is that of the people who have it. A model that only
    depends on which values occur is the same for people and for rows.
    """

    model: Model

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the model."""
        return self.model.name

    @property
    def row_counts(self) -> tuple[str, ...]:  # type: ignore[override]
        """None: repeating every row changes nothing, so no parameter is a number of rows."""
        return ()

    @property
    def larger_is_stronger(self) -> tuple[str, ...]:  # type: ignore[override]
        """The parameters whose larger values are stronger."""
        return self.model.larger_is_stronger

    @property
    def compares_with_original(self) -> bool:  # type: ignore[override]
        """Whether the achieved value is measured against the whole original."""
        return self.model.compares_with_original

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]
        """Whether the model groups classes by their labels."""
        return self.model.needs_labels

    def require_quasi(self, quasi: Sequence[str]) -> None:
        """Raise where the model names columns that are not quasi-identifiers."""
        self.model.require_quasi(quasi)

    def in_classes(self) -> Model:
        """Return the class-wise model of people that implies this one, where one is known."""
        return self.around(self.model.in_classes())

    @property
    def traits(self) -> ModelTraits:  # type: ignore[override]
        """The traits that the model declares for people."""
        return self.model.people_traits

    @property
    def keys(self) -> tuple[Key, ...]:
        """People, the model's own keys, and pairs of both where the people with each value are counted."""
        paired = self.model.table_keys if self.model.counts_rows else ()
        return ((PERSON,), *self.model.keys, *((PERSON, *key) for key in paired))

    @property
    def ordered(self) -> tuple[Key, ...]:
        """The model's own ordered keys."""
        return self.model.ordered

    @property
    def smallest(self) -> int:
        """A class has no more people than rows."""
        return self.model.smallest

    @property
    def inner(self) -> Model:
        """The model that judges people as if they were rows."""
        return self.model

    def around(self, inner: Model) -> Model:
        """Return a model of people with the condition of `inner`."""
        return replace(self, model=inner)

    @property
    def caution(self) -> str | None:
        """The warning about the model's guarantee."""
        return self.model.caution

    def people(self, classes: Classes) -> Counts:
        """Return the number of people in each class."""
        return classes.members

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes whose people break the guarantee."""
        return self.model.violations(self.counted(classes))

    def outside(self, classes: Classes, enough: int | None = None) -> Mask:
        """Return a mask of the classes to suppress so that the people of the rest satisfy the model."""
        return self.model.outside(self.counted(classes), enough)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the achieved parameters, counted by people."""
        return self.model.achieved(self.counted(classes))

    def judge(self, classes: Classes, links: Links | None = None) -> Judgement:
        """Return the verdict on the people of all classes."""
        if self.needs_labels:
            return self.model.judge(self.counted(classes), links)
        return Model.judge(self, classes, links)  # `super()` does not know a class with slots

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if even the people of the whole table, as one class, break the guarantee."""
        if not len(whole) or not self.violations(whole).any():
            return
        best = ", ".join(f"{key} = {value:.6g}" for key, value in self.achieved(whole).items())
        raise InfeasibleError(
            f"{self.spec()} cannot hold for the {int(self.people(whole)[0]):,} people of the table",
            hint=f"all of them as one class achieve {best}; people were counted, because a column has the role person",
            feasible=Feasible(self.achieved(whole), column=column_of(self.model)),
        )

    def sampled(self, members: int) -> Model:
        """Return the model for a table with this number of people."""
        return self.around(self.model.sampled(members))

    def respelled(self, texts: Mapping[str, str]) -> Model:
        """Return the model for a column whose values have new texts."""
        return self.around(self.model.respelled(texts))

    def spec(self) -> str:
        """Return the model in the form of the command line; the schema decides that people are counted."""
        return self.model.spec()

    def counted(self, classes: Classes) -> Classes:
        """Return classes whose rows are people, or equal parts of people."""
        histograms, keys = classes.histograms, self.model.table_keys
        if not self.model.counts_rows:
            return classes
        others = {key: histograms[key] for key in self.model.keys if key not in keys}
        if not self.model.splits_people:
            return Classes(classes.members, {**others, **{key: _once_each(histograms, key) for key in keys}})
        unit = _unit_of(classes, self.model)
        split = {key: _in_parts(histograms, key, unit) for key in keys}
        return Classes(classes.members * unit, {**others, **split})


def in_people(model: Model, person: Sequence[str]) -> Model:
    """Return a model that counts people if the schema has a person ID, else rows."""
    if not person:
        return model
    parts = tuple(part if isinstance(part, OfPeople) else OfPeople(part) for part in model.parts())
    return parts[0] if len(parts) == 1 else All(parts)


def people_as_rows(frequencies: FrequencySet, model: Model) -> tuple[FrequencySet, Model]:
    """Return cells that count people instead of rows, and the model for them.

    If no person has rows in two cells, people add up like rows, and the search need not know who they are.
    """
    parts, classes = model.parts(), frequencies.classes
    people = [part for part in parts if isinstance(part, OfPeople)]
    persons = classes.histograms.get((PERSON,))
    if persons is None:
        return frequencies, model
    several = np.bincount(persons.codes, minlength=1).max() > 1
    judges = [part.model for part in people if part.model.counts_rows]
    split = {key: _unit_of(classes, model) for model in judges if model.splits_people for key in model.table_keys}
    whole = {key for model in judges if not model.splits_people for key in model.table_keys}
    if several or whole & set(split) or any(len(model.table_keys) > 1 for model in judges if model.splits_people):
        return replace(frequencies, classes=replace(classes, sizes=classes.members)), model
    own = {key: _once_each(classes.histograms, key) for key in whole}
    own |= {key: _in_parts(classes.histograms, key, unit) for key, unit in split.items()}
    others = {key: histogram for key, histogram in classes.histograms.items() if PERSON not in key}
    inner = tuple(_adding_up(part, split) if isinstance(part, OfPeople) else part for part in parts)
    counted = replace(frequencies, classes=Classes(classes.members, {**others, **own}), joint=None)
    return counted, inner[0] if len(inner) == 1 else All(inner)


@dataclass(frozen=True, slots=True)
class _InParts(OfPeople):
    """A model of people who were counted before, in parts, because no person has rows in two cells."""

    unit: int

    @property
    def keys(self) -> tuple[Key, ...]:
        """The model's own keys."""
        return self.model.keys

    def counted(self, classes: Classes) -> Classes:
        """Return the classes in units."""
        return replace(classes, sizes=classes.sizes * self.unit)


def _adding_up(part: OfPeople, units: Mapping[Key, int]) -> Model:
    """Return the model that judges people who add up: the model itself, or in parts of people."""
    if not (part.model.counts_rows and part.model.splits_people):
        return part.model
    return _InParts(part.model, units[part.model.table_keys[0]])


def _unit_of(classes: Classes, model: Model) -> int:
    """Return the number of parts into which a person is divided."""
    return max((_units(classes.histograms[(PERSON, *key)]) for key in model.table_keys), default=1)


def _once_each(histograms: Mapping[Key, Histogram], key: Key) -> Histogram:
    """Count each person of a class once per value: from the histogram of (person, value) pairs."""
    pairs = histograms[(PERSON, *key)]
    _, values = _of(pairs)
    return _by_value(pairs, histograms[key], np.ones(len(pairs.codes), dtype=np.int64), np.bincount(values))


def _in_parts(histograms: Mapping[Key, Histogram], key: Key, unit: int) -> Histogram:
    """Return how many people of each class have each value, in parts of a person."""
    pairs = histograms[(PERSON, *key)]
    persons, values = _of(pairs)
    parts = _round_parts(unit, np.bincount(persons)[persons])
    whole = np.bincount(values, weights=parts).astype(np.int64)
    return _by_value(pairs, histograms[key], _round_parts(unit, _values_of_each(pairs)), whole)


def _units(pairs: Histogram) -> int:
    """Return the number of parts of a person that makes every person's share of a value whole.

    If there would be too many parts, shares are rounded.
    """
    values = np.bincount(_of(pairs)[0])
    different = {*_distinct(_values_of_each(pairs)), *_distinct(values)} - {0}
    most = max(MAX_PARTS_OF_PERSON // max(int((values > 0).sum()), 1), 1)
    return min(lcm(*different), most)


def _distinct(numbers: Codes) -> list[int]:
    """Return the distinct values of small numbers."""
    return np.flatnonzero(np.bincount(numbers)).tolist()


def _values_of_each(pairs: Histogram) -> Counts:
    """Return, for every pair of a class, how many values its person has there; a person's pairs are adjacent."""
    persons = _of(pairs)[0][pairs.codes]
    fresh = np.ones(len(persons), dtype=bool)
    fresh[1:] = np.diff(persons) != 0
    fresh[pairs.indptr[:-1][np.diff(pairs.indptr) > 0]] = True
    firsts = np.flatnonzero(fresh)
    sizes = np.diff(np.append(firsts, len(persons)))
    return np.repeat(sizes, sizes)


def _round_parts(unit: int, parts: Codes) -> Codes:
    return (unit + parts // 2) // np.maximum(parts, 1)


def _by_value(pairs: Histogram, like: Histogram, weights: Codes, whole: Codes) -> Histogram:
    """Add up weights of pairs by class and value, in the codes of another histogram."""
    width = len(like.reference)
    words = pairs.owners() * width + _of(pairs)[1][pairs.codes]
    order = np.argsort(words, kind="stable")
    fresh = np.ones(len(words), dtype=bool)
    fresh[1:] = np.diff(words[order]) != 0
    firsts = np.flatnonzero(fresh)
    counts = np.add.reduceat(weights[order], firsts) if len(firsts) else weights[:0]
    owners, codes = np.divmod(words[order][firsts], max(width, 1))
    indptr = starts_of(np.bincount(owners, minlength=len(pairs.indptr) - 1))
    reference = np.zeros(width, dtype=np.int64)
    reference[: len(whole)] = whole
    return replace(like, indptr=indptr, codes=codes.astype(np.int32), counts=counts, reference=reference)


def _of(pairs: Histogram) -> tuple[Codes, Codes]:
    """Return the pairs of people and values of a histogram."""
    if pairs.pairs is None:
        raise AssertionError("people were counted without their values")
    return pairs.pairs
