"""A release beside an earlier one: people who are in both stand in the intersection of two classes.

Each release may keep its promise while both together do not: whoever knows that somebody is in both looks only among
the people who share both classes. The classes of both are made by recodings and compared by the persons whom the
schema's role `person` tells apart; nobody's name leaves this module.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.arrays import Codes
from indistinct.domain import Domain
from indistinct.engines import open_source
from indistinct.engines.base import Engine, Source
from indistinct.errors import InputError, ParameterError, SchemaError, VerificationError
from indistinct.frequencies.grouping import group_rows
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import PERSON
from indistinct.ordering import distinct
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.projection import project
from indistinct.recoding.storage import read_recoding
from indistinct.release.certificate import Overlap
from indistinct.release.fit import fit
from indistinct.release.kinds import reading_again
from indistinct.release.pipeline import Job
from indistinct.schema import Schema

NO_SIZE = "the promise names no k, so that no size was asked of the intersections with the earlier release"
NOBODY = (
    "nobody is both in this table and in the earlier one: if that is strange, the earlier table is another one, or "
    "people are written in another way there"
)


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """An earlier release: the table it was made from, where that lives, and what its recoding made of it."""

    engine: Engine
    source: Source
    assignment: Assignment
    person: tuple[str, ...]


def earlier_release(
    previous: Any, previous_input: Any, *, schema: Schema, suppression: float | None = None
) -> Earlier | None:
    """Return the earlier release that a recoding made of a table; None where neither is given.

    Rows that the recoding does not cover were suppressed, if they are no more than it was allowed, or `suppression`.
    Raises where one is given without the other, where they do not belong together, or where its people are not known
    by the columns that tell people apart now.
    """
    if previous is None and previous_input is None:
        return None
    if previous is None:
        raise ParameterError(
            "an earlier release is known by its recoding, which is missing",
            hint="give `previous` (--previous): what --save-recoding wrote when it was made",
        )
    if previous_input is None:
        raise ParameterError(
            "an earlier release is known by the table it was made from, which is missing",
            hint="give `previous_input` (--previous-input): the original of the earlier release",
        )
    recoding = previous if isinstance(previous, Recoding) else _stored(previous)
    person = _person(recoding, schema)
    require_whole(recoding, "the earlier release")
    engine, source = open_source(previous_input, reading_again(recoding))
    if recoding.schema is not None:
        recoding.schema.check(source.columns, decided=True)
    made = fit(engine, source, recoding, keys=((PERSON,),))
    if made.uncovered_members > max(recoding.suppression, suppression or 0) * made.members:
        raise InputError(
            f"the earlier recoding does not cover {made.uncovered_rows:,} of {made.rows:,} rows of the earlier table: "
            f"{made.describe()}",
            hint="check that the earlier release was made from this table; a larger `suppression` (--suppression) lets "
            "it have lost these rows",
            values=made.values,
        )
    return Earlier(engine, source, made.assignment, person)


def _stored(path: str | Path) -> Recoding:
    try:
        return read_recoding(path)
    except InputError as error:
        raise InputError(
            f"the recoding of the earlier release cannot be used: {error.message}",
            hint="give what --save-recoding wrote when it was made; a release alone does not tell who is where",
        ) from None


def _person(recoding: Recoding, schema: Schema) -> tuple[str, ...]:
    if not schema.person:
        raise SchemaError(
            "people of two releases are compared by the columns that tell people apart, and none has the role person",
            hint="give such a column the role person (--person, or `person` in a schema) when a recoding is searched",
        )
    if recoding.schema is None:
        raise ParameterError(
            "the earlier recoding does not say which roles the columns have", hint="use a release's recoding"
        )
    earlier = tuple(recoding.schema.person)
    if earlier != tuple(schema.person):
        told = ", ".join(map(repr, earlier)) or "no column"
        raise SchemaError(
            f"people are told apart by {', '.join(map(repr, schema.person))} now, and by {told} in the earlier release",
            hint="the same columns must tell people apart in both",
        )
    return earlier


def require_whole(recoding: Recoding, what: str) -> None:
    """Raise for a recoding that sends rows with equal values to several classes: nobody knows who is where."""
    if not recoding.reusable:
        raise ParameterError(
            f"{what} sends rows with equal values to different classes, so that people cannot be followed",
            hint="compare releases of algorithms whose recodings can be applied again, such as mondrian",
        )


def compared(job: Job, earlier: Earlier | None, *, accept: bool) -> Job:
    """Return a job with what it and an earlier release tell together; raise if that is less than promised.

    With `accept` it is not refused; a warning stands in the certificate instead.
    """
    if earlier is None:
        return job
    require_whole(job.recoding, "the new release")
    assignment = job.assignment or assign(job.counted.frequencies, job.recoding)
    found = overlap_of(job.engine, job.source, assignment, earlier, k=job.model.smallest)
    warnings = job.warnings
    if not found.shared_people:
        warnings = (*warnings, NOBODY)
    elif found.k < 2:
        warnings = (*warnings, NO_SIZE)
    if found.people_below:
        told = (
            f"together with the earlier release {found.people_below:,} of {found.shared_people:,} shared people stand "
            f"among fewer than {found.k:,}; the smallest intersection of classes has {found.smallest_intersection:,}"
        )
        if not accept:
            raise VerificationError(
                told,
                hint="search with a larger k, or leave out who was in the earlier release; `accept_overlap` "
                "(--accept-overlap) publishes it all the same, with a warning in the certificate",
                overlap=found,
            )
        warnings = (*warnings, told)
    return replace(job, assignment=assignment, overlap=found, warnings=warnings)


def overlap_of(engine: Engine, source: Source, assignment: Assignment, earlier: Earlier, *, k: int) -> Overlap:
    """Return how many people are in both releases, and how small the intersections of their classes are.

    Somebody with rows in several classes stands in each of them, and so in each intersection.
    """
    domains = _common_people(engine, source, earlier)
    new = _stands(engine, source, assignment, domains)
    old = _stands(earlier.engine, earlier.source, earlier.assignment, domains)
    width = len(domains)
    both = np.concatenate([new, old])
    people = group_rows(list(both[:, :width].T), [len(domain) for domain in domains.values()]).group_ids()
    pairs = _joined(
        np.stack([people[: len(new)], new[:, width]], axis=1), np.stack([people[len(new) :], old[:, width]], axis=1)
    )
    if not len(pairs):
        return Overlap(0, 0, 0, k)
    grouping = group_rows([pairs[:, 1], pairs[:, 2]], [int(pairs[:, place].max()) + 1 for place in (1, 2)])
    sizes = grouping.counts[grouping.group_ids()]
    below = len(distinct(pairs[sizes < k, 0]))
    return Overlap(len(distinct(pairs[:, 0])), int(sizes.min()), below, k)


def _common_people(engine: Engine, source: Source, earlier: Earlier) -> Mapping[str, Domain]:
    """Return domains that hold the people of both tables."""
    own = engine.count(source, _alone(earlier.person)).known
    theirs = earlier.engine.count(earlier.source, _alone(earlier.person)).known
    for name in earlier.person:
        if own[name].values.type != theirs[name].values.type:
            raise InputError(
                f"column {name!r}, which tells people apart, is read as {own[name].values.type} now and as "
                f"{theirs[name].values.type} in the earlier table",
                hint=f"read both as text (--text {name})",
            )
    return {name: own[name].united(theirs[name]) for name in earlier.person}


def _alone(names: tuple[str, ...]) -> Request:
    return Request(names[:1], groupings=tuple((name,) for name in names[1:]), published=True)


def _stands(engine: Engine, source: Source, assignment: Assignment, people: Mapping[str, Domain]) -> Codes:
    """Return who stands in which class, each pair once: the codes of a person, then the class."""
    names = assignment.frequencies.names
    known = {domain.column: domain for domain in assignment.domains}
    cells = engine.count(source, Request((*names, *people), domains={**known, **people})).frequencies
    projected, places = project(cells, names)
    if not np.array_equal(projected.vectors, assignment.frequencies.vectors):
        raise AssertionError("the cells of a table do not depend on who stands in them")
    class_ids = assignment.class_ids[places]
    stands = np.concatenate([cells.vectors[:, len(names) :], class_ids[:, None]], axis=1).astype(np.int64)
    missing = np.array([domain.missing for domain in people.values()])
    nobody = ((stands[:, : len(people)] == 0) & missing).any(axis=1)
    stands = stands[(class_ids >= 0) & ~nobody]
    return stands[group_rows(list(stands.T), (stands.max(axis=0, initial=0) + 1).tolist()).first]


def _joined(new: Codes, old: Codes) -> Codes:
    """Return person, new class and old class for every pair of classes that a person stands in."""
    old = old[np.argsort(old[:, 0], kind="stable")]
    first = np.searchsorted(old[:, 0], new[:, 0], side="left")
    counts = np.searchsorted(old[:, 0], new[:, 0], side="right") - first
    starts = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) - np.repeat(starts - first, counts)
    return np.concatenate([np.repeat(new, counts, axis=0), old[places, 1:]], axis=1)
