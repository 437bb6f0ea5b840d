"""Look-alikes of a class: the rows or people of another table, such as a population, that its published values cover.

Whatever a recoding did, a reader of the release sees values and knows which people these fit; labels may overlap, and
then somebody fits several classes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.domain import Kind
from indistinct.engines.base import Engine, Source
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.frequencies.slices import together
from indistinct.frequencies.value import PERSON, FrequencySet
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.columns import columns_of
from indistinct.recoding.read_back import Cover, cover_of
from indistinct.schema import Schema

# So many pairs of a combination and a class are compared at most, and so many at a time.
MOST_PAIRS, BLOCK = 4_000_000_000, 1 << 24


def count_population(
    engine: Engine, population: Source, schema: Schema, *, hierarchies: Mapping[str, Hierarchy]
) -> Counted:
    """Count a population: its people where its columns tell them apart as those of the table do, its rows else."""
    missing = [name for name in schema.quasi if name not in population.columns]
    if len(missing) == len(schema.quasi):
        raise InputError(
            "the population has none of the quasi-identifiers, so that nobody can be looked up in it",
            hint="it must have the columns of the table, under the same names",
        )
    if missing:
        raise InputError(
            f"the population has no column {', '.join(map(repr, missing))}",
            hint="it must show every quasi-identifier of the table",
        )
    people = bool(schema.person) and all(name in population.columns for name in schema.person)
    own = {name: hierarchy for name, hierarchy in hierarchies.items() if name in schema.quasi}
    if not people:
        return engine.count(population, Request(schema.quasi, (), own))
    return engine.count(population, Request(schema.quasi, ((PERSON,),), own, person=schema.person))


def look_alikes_of_cells(counted: Counted, population: Counted) -> Codes | None:
    """Return how many of a population have exactly the values of each cell of a table.

    None if a column of text has values that the population does not know: they may be labels.
    """
    codes = []
    vectors, whole = counted.frequencies.vectors, population.frequencies
    for index, (mine, theirs) in enumerate(zip(counted.domains, population.domains, strict=True)):
        if Kind.TEXT not in (mine.kind, theirs.kind) and mine.kind is not theirs.kind:
            raise _other_kind(mine.column, theirs.kind, mine.kind)
        translated = mine.translate(theirs)
        if mine.kind is Kind.TEXT and (translated < 0).any():
            return None
        if mine.kind is not theirs.kind and (translated < 0).any():
            raise _other_kind(mine.column, theirs.kind, mine.kind)
        codes.append(translated[vectors[:, index]])
    theirs_ids, mine_ids = together([whole.vectors[:, index] for index in range(len(codes))], codes, rows=0)
    if mine_ids is None:
        raise AssertionError("both sides were given")
    # A vector that the population does not have gets a code of its own, and no members.
    members = np.zeros(max(int(theirs_ids.max(initial=0)), int(mine_ids.max(initial=0))) + 2, dtype=np.int64)
    members[theirs_ids] = whole.classes.members
    return members[mine_ids]


def look_alikes_of_labels(
    published: pa.Table, population: Counted, schema: Schema, *, hierarchies: Mapping[str, Hierarchy]
) -> Codes:
    """Return how many of a population the published values of each class cover."""
    declared = {name: hierarchy for name, hierarchy in hierarchies.items() if name in schema.quasi}
    covers = cover_of(published, columns_of(population.domains, declared), schema=schema)
    return covered_members(population.frequencies, covers)


def covered_members(cells: FrequencySet, covers: Sequence[Cover]) -> Codes:
    """Return how many people, or rows, of some cells each class covers."""
    classes = len(covers[0].indptr) - 1
    if len(cells) * classes > MOST_PAIRS:
        raise InputError(
            f"{len(cells):,} combinations of values and {classes:,} published ones are too many to compare",
            hint="give a smaller table, or leave it out and say how large the population is",
        )
    inside = [_covering(cover, cells.vectors[:, index]) for index, cover in enumerate(covers)]
    found, owners = [], []
    step = max(BLOCK // max(classes, 1), 1)
    for start in range(0, len(cells), step):
        vectors = cells.vectors[start : start + step]
        fits = inside[0][vectors[:, 0]]
        for index, covering in enumerate(inside[1:], start=1):
            fits &= covering[vectors[:, index]]
        rows, columns = np.nonzero(fits)
        found.append(rows + start)
        owners.append(columns)
    some, class_ids = np.concatenate(found), np.concatenate(owners).astype(np.int32)
    return cells.classes.take(some).regroup(class_ids, classes).members


def _covering(cover: Cover, codes: Codes) -> Codes:
    """Return which classes cover each code of a column."""
    classes = len(cover.indptr) - 1
    inside = np.zeros((int(codes.max(initial=0)) + 1, classes), dtype=bool)
    known = cover.codes < len(inside)
    inside[cover.codes[known], np.repeat(np.arange(classes), np.diff(cover.indptr))[known]] = True
    return inside


def _other_kind(column: str, theirs: Kind, mine: Kind) -> InputError:
    return InputError(
        f"column {column!r} of the population is {theirs}, while that of the table is {mine}",
        hint="read both tables with the same types",
        column=column,
    )
