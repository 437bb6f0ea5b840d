"""The people of a population by published class: the classes they would have, had all of them been in the table.

They are counted for the check of a release, by its recoding or by what its labels cover, and never taken from a search.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from indistinct.engines.base import Engine, Source, close_source
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.population import PopulationByClass, people_of_cells, require_population, with_population
from indistinct.frequencies.value import PERSON, POPULATION, FrequencySet, Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model
from indistinct.models.of_population import no_population
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.release.fit import Fit, fit
from indistinct.release.promise import settle_reading
from indistinct.release.verification.evidence import class_index, matched_classes
from indistinct.schema import Schema
from indistinct.tables.domain import Domain
from indistinct.tables.value import Reading
from indistinct.view.cover import pairs_of_cells
from indistinct.view.read_back import covers_of_counted


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A population where it lives, and how its people are found among the classes of a release.

    `schema` gives the roles of the original. With a `recoding` they have the classes that it assigns; without one, in
    every class whose labels, read by `hierarchies`, cover their values.
    """

    engine: Engine
    source: Source
    schema: Schema
    recoding: Recoding | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[Key, ...]:
        """People, where they are identified; a population without such a column has a row a person."""
        told_apart = self.schema.person and all(name in self.source.columns for name in self.schema.person)
        return ((PERSON,),) if told_apart else ()


@dataclass(frozen=True, slots=True, eq=False)
class CountedPopulation:
    """The people of a population as they were counted: what a check compares with once the population is closed.

    `assignment` is where a recoding sends them. Without one they are in every class whose labels, read by
    `hierarchies`, cover their values.
    """

    counted: Counted
    schema: Schema
    assignment: Assignment | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)


def count_people(population: Population) -> CountedPopulation:
    """Count the people of a population, by its recoding where it has one."""
    if population.recoding is None:
        return CountedPopulation(count_population(population), population.schema, hierarchies=population.hierarchies)
    if not population.recoding.reusable:
        raise InputError(
            "this recoding separates rows with equal values, so people of a population have no certain class",
            hint="search with an algorithm whose recodings can be applied again, such as optimal",
        )
    fitted = fit(population.engine, population.source, population.recoding, keys=population.keys)
    return CountedPopulation(fitted.counted, population.schema, fitted.assignment)


def population_by_class(population: CountedPopulation, published: Counted) -> PopulationByClass:
    """Count the people of a population that match each published class, in the order of its cells."""
    if population.assignment is None:
        return people_by_label(population.counted, published, population.schema, hierarchies=population.hierarchies)
    return _by_recoding(population.counted.frequencies, population.assignment, published)


def count_population(population: Population, domains: Mapping[str, Domain] | None = None) -> Counted:
    """Return the cells of a population, with its people where they are identified; `domains` fix what codes mean."""
    quasi = {n: h for n, h in population.hierarchies.items() if n in population.schema.quasi}
    return population.engine.count(
        population.source,
        Request(
            population.schema.quasi,
            population.keys,
            {} if domains else quasi,
            person=population.schema.person,
            domains=domains or {},
        ),
    )


def read_population(
    opens: Callable[[Reading], Any], reading: Callable[[Sequence[str]], Reading], schema: Schema
) -> Any:
    """Return a population that is read as its table was: `reading` says how some columns of that are read.

    A register with a row a person need not have the columns that tell people apart.
    """
    known = (*schema.quasi, *schema.person)
    try:
        return opens(reading(known))
    except InputError:  # perhaps about a column that is declared and not there
        plain = opens(Reading())
        _require_columns(plain, schema)
        there = tuple(name for name in known if plain is not None and name in plain.columns)
        if there == known:
            raise
    return opens(reading(there))


@contextmanager
def using_population(
    population: Any, model: Model, engine: Engine, source: Source, *, schema: Schema
) -> Iterator[Source | None]:
    """Give the population that a model compares with, read as the table was; None where it compares with none.

    What is opened for that is closed with the block. Raises `ParameterError` for a model that needs a population and
    has none.
    """
    opened = _open_population(population, model, engine, source, schema=schema)
    try:
        yield opened
    finally:
        close_source(opened, given=population)


def _open_population(population: Any, model: Model, engine: Engine, source: Source, *, schema: Schema) -> Source | None:
    """Open the population table if the model needs one; raise where it is missing, unreadable or empty."""
    if not model.needs_population:
        return None
    if population is None:
        raise no_population(next(part for part in model.parts() if part.needs_population))
    opened = read_population(
        lambda reading: engine.open(population, reading),
        lambda names: settle_reading(source, names).about(names),
        schema,
    )
    if opened is None:
        raise InputError(
            f"the population is a {type(population).__name__}, which the engine {engine.name} cannot read",
            hint="give the population where the table lives: a path or a frame",
        )
    _require_columns(opened, schema)
    if not opened.rows:
        raise InputError("the population has no rows", hint="check that this is the right file")
    return opened


def unused(population: Any, model: Model) -> tuple[str, ...]:
    """Return a warning where a population is given, and the model compares with none."""
    if population is None or model.needs_population:
        return ()
    return ("the population is not used: no model compares with it",)


def count_beside(others: Source | None, engine: Engine, source: Source, *, request: Request, schema: Schema) -> Counted:
    """Count a table together with its population, if there is one."""
    counted = engine.count(source, replace(request, population=others))
    return beside_population(counted, others, engine, schema)


def _require_columns(population: Source | None, schema: Schema) -> None:
    """Raise unless the population has every quasi-identifier."""
    names = schema.quasi if population is None else population.columns
    for name in schema.quasi:
        if name not in names:
            raise InputError(
                f"the population has no column {name!r}", hint="it must show every quasi-identifier of the table"
            )


def beside_population(counted: Counted, others: Source | None, engine: Engine, schema: Schema) -> Counted:
    """Add the number of people of the population to every cell; raise if the population has too few."""
    if others is None or counted.population is None:
        return counted
    known = Population(engine, others, schema)
    cells = counted.population
    if known.keys:
        domains = {domain.column: domain for domain in counted.domains}
        cells = count_population(known, domains).frequencies
    frequencies = with_population(counted.frequencies, cells)
    if frequencies.classes.population is not None:
        require_population(frequencies.classes.members, frequencies.classes.population)
    return replace(counted, frequencies=frequencies, population=cells)


def fit_beside(fitted: Fit, population: Population) -> Fit:
    """Count, for each class, the people of the population that the recoding maps to it.

    A person whose values no row has is counted at one of the cells that share their class.
    """
    if population.recoding is None:
        raise AssertionError("people are sent to classes by a recoding")
    others = fit(population.engine, population.source, population.recoding, keys=population.keys)
    mine, theirs = fitted.assignment, others.assignment
    index = class_index(theirs, mine)
    class_ids = np.append(index, -1)[theirs.class_ids]  # the last entry is that of class -1
    first = np.full(len(mine.classes) + 1, -1, dtype=np.int32)
    cells = np.flatnonzero(mine.class_ids >= 0)[::-1]
    first[mine.class_ids[cells]] = cells
    people = people_of_cells(others.counted.frequencies).regroup(
        first[class_ids].astype(np.int32), len(fitted.counted.frequencies)
    )
    classes = fitted.counted.frequencies.classes
    known = replace(classes, histograms={**classes.histograms, (POPULATION,): people})
    frequencies = replace(fitted.counted.frequencies, classes=known)
    counted = replace(fitted.counted, frequencies=frequencies)
    return replace(fitted, counted=counted, assignment=assign(frequencies, fitted.recoding, without=fitted.without))


def _by_recoding(cells: FrequencySet, assignment: Assignment, published: Counted) -> PopulationByClass:
    """Count the people of each published class by the recoding that assigned them."""
    index = matched_classes(published, assignment) if len(published.frequencies) else np.zeros(0, dtype=np.int64)
    class_of = np.full(len(assignment.classes) + 1, -1, dtype=np.int32)
    classes = np.flatnonzero(index >= 0)
    class_of[index[classes]] = classes
    class_ids = class_of[assignment.class_ids]  # the last entry is that of class -1
    kept = np.flatnonzero(class_ids >= 0)
    return _summed(cells, kept, class_ids[kept], classes=len(published.frequencies))


def people_by_label(
    counted: Counted, published: Counted, schema: Schema, *, hierarchies: Mapping[str, Hierarchy]
) -> PopulationByClass:
    """Count the people of a table that match each published class by its labels."""
    shows = published.frequencies
    columns = columns_of(counted.domains, {n: h for n, h in hierarchies.items() if n in schema.quasi})
    covers = covers_of_counted(published, columns, schema=schema)
    return _summed(counted.frequencies, *pairs_of_cells(counted.frequencies, covers), classes=len(shows))


def _summed(cells: FrequencySet, matching: Codes, class_ids: Codes, *, classes: int) -> PopulationByClass:
    """Count the people of each class, given pairs of a cell and a class that it matches."""
    times = np.bincount(matching, minlength=len(cells))
    nowhere = np.flatnonzero(times == 0)
    taken = np.concatenate([matching, nowhere])
    owners = np.concatenate([class_ids, np.full(len(nowhere), classes)]).astype(np.int32)
    histogram = people_of_cells(cells).take(taken).regroup(owners, classes + 1)
    return PopulationByClass(histogram, cells.members, int((times > 1).sum()))
