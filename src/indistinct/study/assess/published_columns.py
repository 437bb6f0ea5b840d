"""Columns that no recoding touched, counted on an assessed table: whom they single out as they are published."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from indistinct.engines import count_source
from indistinct.engines.base import Source
from indistinct.errors import InputError
from indistinct.frequencies.count import Request
from indistinct.frequencies.singled_out import SingledOut, singled_out
from indistinct.frequencies.value import PERSON
from indistinct.metrics.buckets import rows_alone
from indistinct.study.assess.assessed_tables import AssessedTable


def published_columns(table: AssessedTable, *, original: Source | None = None) -> SingledOut | None:
    """Return whom one or two columns that are published as they are single out; None where there is no such column.

    Columns are those with the role insensitive, and those without a role: neither is recoded. Where people have several
    rows that the table does not show as theirs, they are counted on the `original`, if all of its rows are published.
    """
    if table.in_buckets:
        return _in_buckets(table)
    if table.source is None or not table.evidence.rows:
        return None
    roles = {*table.shows.quasi, *table.schema.sensitive, *table.schema.hidden}
    names = tuple(name for name in table.source.columns if name not in roles)
    if not names:
        return None
    person = table.schema.person
    if not table.people or all(name in table.source.columns for name in person):
        return _count_singled_out(table.source, names, person if table.people else (), members=table.members)
    whole = original is not None and original.rows == table.evidence.rows
    if original is not None and whole and all(name in original.columns for name in (*names, *person)):
        return _count_singled_out(original, names, person, members=table.members)
    return _as_people(_count_singled_out(table.source, names, (), members=table.evidence.rows), table)


def own_values(table: AssessedTable) -> dict[str, int]:
    """Return for each sensitive column how many members have a value that nobody else has."""
    if not table.evidence.rows:
        return {}
    return {name: _own_values(table, name) for name in table.schema.sensitive}


def people_in_several(table: AssessedTable) -> int | None:
    """Return how many people stand in several classes, None where people are not counted."""
    if not table.people or (PERSON,) not in table.classes.histograms:
        return None
    return int((np.bincount(table.classes.histograms[(PERSON,)].codes, minlength=1) > 1).sum())


def _count_singled_out(source: Source, names: tuple[str, ...], person: Sequence[str], *, members: int) -> SingledOut:
    """Return what an engine counts; a column of a type that it cannot count may single out anybody."""
    unit = "people" if person else "rows"
    try:
        found = count_source(source, Request((), person=person, published_columns=names, published=True)).singled_out
    except InputError:
        found = None
    every = len(names) * (len(names) + 1) // 2
    return found or SingledOut(unit, members, names, 0, members, sets=every)


def _as_people(rows: SingledOut, table: AssessedTable) -> SingledOut:
    """Return bounds in people of what was counted in rows: nobody has more rows than the person with the most."""
    persons = table.classes.histograms[(PERSON,)]
    most = int(np.bincount(persons.codes, weights=persons.counts, minlength=1).max(initial=1))
    least = -(-rows.least // max(most, 1))
    return replace(rows, unit="people", members=table.members, least=least, most=table.members, by_columns={})


def _own_values(table: AssessedTable, name: str) -> int:
    """Count the members with a value of their own: people where it is known who has which, else rows."""
    buckets = table.evidence.buckets
    if buckets is not None:
        home = next(each for each in buckets.slices if name in each.names)
        return int((np.bincount(home.codes[name], weights=home.counts) == 1).sum())
    if not table.counts_people_of(name):
        histogram = table.evidence.histogram((name,))
        return int((np.bincount(histogram.codes, weights=histogram.counts, minlength=1) == 1).sum())
    both = table.evidence.histogram((PERSON, name))
    if both.pairs is None:
        return 0
    people, values = both.pairs
    present = np.unique(both.codes)
    known = np.unique(np.stack([values[present], people[present]], axis=1), axis=0)
    single = np.bincount(known[:, 0], minlength=1) == 1
    return len(np.unique(known[single[known[:, 0]], 1]))


def _in_buckets(table: AssessedTable) -> SingledOut | None:
    """Count slices of buckets: values of one slice stand beside each other, and quasi-identifiers are not recoded.

    Who is alone in one slice cannot be told from who is in another: bounds are those of the best slice and of all.
    """
    buckets, links = table.evidence.buckets, table.evidence.links
    if buckets is None or links is None:
        return None
    rows, generalized = table.evidence.rows, set(buckets.buckets.generalized)
    quasi = tuple(name for name in table.schema.quasi if name not in generalized)
    alone = rows_alone(links) if quasi else 0
    found = [SingledOut("rows", rows, quasi, alone, alone, {quasi: alone} if alone else {}, 1, 1)] if quasi else []
    for each in buckets.slices:
        names = [name for name in each.names if name in table.schema.insensitive]
        if names:
            owners = np.where(each.counts > 1, -1, np.arange(len(each.counts)))
            found.append(singled_out({name: each.codes[name] for name in names}, owners, members=rows))
    if not found:
        return None
    by_columns = {names: count for one in found for names, count in one.by_columns.items()}
    return SingledOut(
        "rows",
        rows,
        tuple(dict.fromkeys(name for one in found for name in one.columns)),
        max(one.least for one in found),
        min(sum(one.most for one in found), rows),
        dict(sorted(by_columns.items(), key=lambda item: -item[1])),
        sum(one.counted for one in found),
        sum(one.sets for one in found),
    )
