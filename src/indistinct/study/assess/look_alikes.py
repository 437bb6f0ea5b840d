"""Look-alikes of a class: the rows or people of a population that its published values cover.

Whatever a recoding did, a reader of the release sees values and knows which people these fit; labels may overlap, and
then somebody fits several classes.
"""

from collections.abc import Mapping

import numpy as np

from indistinct.errors import InputError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.slices import together
from indistinct.hierarchy import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.release.verification.population import Population, count_population, people_by_label
from indistinct.schema import Schema
from indistinct.tables.domain import Kind


def counted_population(population: Population) -> Counted:
    """Return the cells of a population, which must show every quasi-identifier."""
    quasi = population.schema.quasi
    missing = [name for name in quasi if name not in population.source.columns]
    if len(missing) == len(quasi):
        raise InputError(
            "the population has none of the quasi-identifiers, so that nobody can be looked up in it",
            hint="it must have the columns of the table, under the same names",
        )
    if missing:
        raise InputError(
            f"the population has no column {', '.join(map(repr, missing))}",
            hint="it must show every quasi-identifier of the table",
        )
    return count_population(population)


def look_alikes(
    counted: Counted, population: Counted, schema: Schema, *, published: bool, hierarchies: Mapping[str, Hierarchy]
) -> Codes:
    """Return how many of a population look like each class that was counted on a table.

    A table that is not `published` may still show labels, where the population does not know its texts as values.
    """
    found = None
    if not published and tuple(counted.frequencies.names) == tuple(schema.quasi):
        found = _by_value(counted, population)
    if found is not None:
        return found
    try:
        return people_by_label(population, counted, schema, hierarchies=hierarchies).counts
    except InputError as error:
        if published or "column" not in error.details:
            raise
        raise InputError(
            f"the population does not contain the table: column {error.details['column']!r} has {len(error.values)} "
            "distinct value(s) that are neither values of the population, nor labels that cover some",
            hint="give a population with everybody in the table, read and written in the same way",
            values=error.values,
            column=error.details["column"],
        ) from error


def _by_value(counted: Counted, population: Counted) -> Codes | None:
    """Return how many of a population have exactly the values of each cell; None for texts that it does not know."""
    codes = []
    vectors, whole = counted.frequencies.vectors, population.frequencies
    for index, (mine, theirs) in enumerate(zip(counted.domains, population.domains, strict=True)):
        translated = mine.translate(theirs)
        unknown = bool((translated < 0).any())
        if mine.kind is Kind.TEXT and unknown:
            return None
        if mine.kind is not theirs.kind and (unknown or Kind.TEXT not in (mine.kind, theirs.kind)):
            raise InputError(
                f"column {mine.column!r} of the population is {theirs.kind}, while that of the table is {mine.kind}",
                hint="read both tables with the same types",
                column=mine.column,
            )
        codes.append(translated[vectors[:, index]])
    theirs_ids, mine_ids = together([whole.vectors[:, index] for index in range(len(codes))], codes, rows=0)
    if mine_ids is None:
        raise AssertionError("both sides were given")
    # A vector that the population does not have gets a code of its own, and no members.
    members = np.zeros(max(int(theirs_ids.max(initial=0)), int(mine_ids.max(initial=0))) + 2, dtype=np.int64)
    members[theirs_ids] = whole.classes.members
    return members[mine_ids]
