"""Members who are unique on published values: on unmodified columns, with their class, and on sensitive columns.

Where a release does not show whose rows it has, people are counted on the rows of the original that it publishes. Where
these are not known either, bounds are: of the people who may be alone, the verdict takes the upper one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.evaluation.assess.assessed_tables import AssessedTable
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.singled_out import MAX_CELLS_AT_ONCE, SingledOut, codes_of, most_telling, singled_out
from indistinct.frequencies.slices import Slice
from indistinct.frequencies.value import CLASS, PERSON
from indistinct.machine.arrays import Codes
from indistinct.release.sources import CellFinder, Source, count_source, groups_of, open_source


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfOriginal:
    """The published rows on which members are counted, with the columns that tell people and classes apart.

    Where people have several rows and `source` does not show whose they are, `person` is empty and `rows_each` is the
    most rows of a person.
    """

    source: Source
    members: int
    person: Sequence[str] = ()
    classes: tuple[str, ...] = ()
    rows_each: int = 1


def published_rows(table: AssessedTable, *, original: Source | None = None) -> RowsOfOriginal | None:
    """Return the rows on which members are counted: those of the table or, of hidden people, of the `original`.

    None for releases in buckets, which show no rows, and for tables without any.
    """
    source = table.whole_rows
    if source is None:
        return None
    quasi, person = tuple(name for name in table.shows.quasi if name in source.columns), table.schema.person
    if not table.people:
        return RowsOfOriginal(source, table.members, (), quasi)
    if all(name in source.columns for name in person):
        return RowsOfOriginal(source, table.members, person, quasi)
    names = tuple(name for name in source.columns if name not in quasi and name not in table.schema.hidden)
    rows = None if original is None else _rows_of_original(table, original, names)
    if rows is not None:
        return RowsOfOriginal(open_source(rows)[1], table.members, person, (CLASS,))
    persons = table.classes.histograms[(PERSON,)]
    most = int(np.bincount(persons.codes, weights=persons.counts, minlength=1).max(initial=1))
    return RowsOfOriginal(source, table.members, (), quasi, max(most, 1))


def published_columns(table: AssessedTable, rows: RowsOfOriginal | None) -> SingledOut | None:
    """Count the rows that are unique on unmodified columns and their class; None without such columns.

    Unmodified are columns with the role insensitive, and those without a role: neither is recoded.
    """
    if table.evidence.slices:
        return _in_slices(table)
    if table.source is None or rows is None:
        return None
    roles = {*table.shows.quasi, *table.schema.sensitive, *table.schema.hidden}
    names = tuple(name for name in table.source.columns if name not in roles)
    return _count_alone(rows, names) if names else None


def own_values(table: AssessedTable, rows: RowsOfOriginal | None) -> dict[str, int]:
    """Return for each sensitive column how many members are unique on it, at most where only bounds are known."""
    if not table.evidence.rows:
        return {}
    return {name: _own_values(table, rows, name) for name in table.schema.sensitive}


def people_in_several(table: AssessedTable) -> int | None:
    """Return how many people are in several classes, None where people are not counted."""
    if not table.people or (PERSON,) not in table.classes.histograms:
        return None
    return int((np.bincount(table.classes.histograms[(PERSON,)].codes, minlength=1) > 1).sum())


def _rows_of_original(table: AssessedTable, original: Source, names: Sequence[str]) -> pa.Table | None:
    """Return the rows of an original that are published, each with its class; None where it is not known which are.

    Where equal rows go to different classes, cells do not say which of them are published.
    """
    assignment, reference = table.evidence.assignment, table.evidence.reference
    if assignment is None or assignment.split or assignment.joint is not None:
        return None
    domains = assignment.domains or (() if reference is None else reference.domains)
    quasi = [domain.column for domain in domains]
    wanted = tuple(dict.fromkeys((*quasi, *table.schema.person, *names)))
    if (
        not quasi
        or any(name not in original.columns for name in wanted)
        or original.rows * len(wanted) > MAX_CELLS_AT_ONCE
    ):
        return None
    groups = groups_of(original, wanted)
    try:
        cells = CellFinder.of(domains, assignment.frequencies.vectors).find(groups.table)
    except InputError:
        return None
    class_ids = np.full(len(assignment.frequencies), -1, dtype=np.int32)
    class_ids[assignment.cells] = assignment.class_ids
    class_of_row = class_ids[cells]
    kept = class_of_row >= 0
    sizes = np.bincount(class_of_row[kept], weights=groups.counts[kept], minlength=len(assignment.classes.sizes))
    if not np.array_equal(sizes, assignment.classes.sizes):
        return None
    own = groups.table.select(list(dict.fromkeys((*table.schema.person, *names))))
    return own.append_column(CLASS, pa.array(class_of_row)).filter(pa.array(kept))


def _count_alone(rows: RowsOfOriginal, names: tuple[str, ...], *, with_class: bool = True) -> SingledOut:
    """Count the rows of a release that are unique on some columns, whatever the columns' roles."""
    classes = rows.classes if with_class else ()
    if rows.rows_each > 1:
        return _bounds_of_people(rows, names, classes)
    request = Request((), person=rows.person, published_columns=names, class_columns=classes, published=True)
    try:
        singled_out = count_source(rows.source, request).singled_out
    except InputError:  # a column of a type that the engine cannot count may single out any member
        singled_out = None
    return singled_out or SingledOut("people" if rows.person else "rows", rows.members, names, 0, rows.members)


def _bounds_of_people(rows: RowsOfOriginal, names: tuple[str, ...], classes: tuple[str, ...]) -> SingledOut:
    """Return bounds in people of what is counted in rows.

    A combination of one row is one person's, and a person has at most `rows_each` of them. A combination of at most
    `rows_each` rows may be one person's.
    """
    lone, small = _count_combinations(rows, names, classes)
    least = -(-lone // rows.rows_each)
    most = rows.members if small is None else min(small, rows.members)
    return SingledOut("people", rows.members, names, min(least, most), most)


def _count_combinations(
    rows: RowsOfOriginal, names: tuple[str, ...], classes: tuple[str, ...]
) -> tuple[int, int | None]:
    """Return how many combinations of values one row has, and how many as few rows as a person may have.

    The second is None where it is not known.
    """
    wanted = tuple(dict.fromkeys((*names, *classes)))
    if rows.source.rows * len(wanted) > MAX_CELLS_AT_ONCE:
        whole = replace(rows, rows_each=1)
        lone = _count_alone(whole, names, with_class=bool(classes)).least
        return lone, lone + (rows.source.rows - lone) // 2
    groups = groups_of(rows.source, wanted)
    columns = [codes_of(name, groups.table[name]) for name in wanted]
    known = [codes for codes in columns if codes is not None]
    if not known:
        return 0, None
    ids = group_rows(known, [int(codes.max(initial=0)) + 1 for codes in known]).group_ids()
    sizes = np.bincount(ids, weights=groups.counts)
    small = int((sizes <= rows.rows_each).sum()) if len(known) == len(columns) else None
    return int((sizes == 1).sum()), small


def _own_values(table: AssessedTable, rows: RowsOfOriginal | None, name: str) -> int:
    """Count the members who are unique on a sensitive column, by what was counted of it already where that is known."""
    home = next((each for each in table.evidence.slices if name in each.names), None)
    if home is not None:
        return int((np.bincount(home.codes[name], weights=home.counts) == 1).sum())
    if not table.people:
        histogram = table.evidence.histogram((name,))
        return int((np.bincount(histogram.codes, weights=histogram.counts, minlength=1) == 1).sum())
    if not table.counts_people_of(name):
        return 0 if rows is None else _count_alone(rows, (name,), with_class=False).most
    both = table.evidence.histogram((PERSON, name))
    if both.pairs is None:
        return 0
    people, values = both.pairs
    present = np.unique(both.codes)
    known = np.unique(np.stack([values[present], people[present]], axis=1), axis=0)
    single = np.bincount(known[:, 0], minlength=1) == 1
    return len(np.unique(known[single[known[:, 0]], 1]))


def _in_slices(table: AssessedTable) -> SingledOut | None:
    """Count rows that are unique on slices of buckets; columns that are not recoded count too.

    An attacker who knows values of several slices finds the buckets that have all of them. A value that no other row
    of its bucket has may then be found, so that with several slices these rows are the upper bound.
    """
    rows, generalized = table.evidence.rows, set(table.evidence.structure.generalized)
    unique_values, in_bucket = [], 0
    for each in table.evidence.slices:
        names = [name for name in each.names if name not in table.schema.sensitive and name not in generalized]
        if names:
            classes = _join([each.codes[name] for name in each.names if name in generalized])
            unique_values.append(_alone_in_slice(each, names, classes, rows))
            in_bucket += _alone_in_slice(
                each, names, _join([each.units, *([] if classes is None else [classes])]), rows
            ).most
    if not unique_values:
        return None
    alone = {key: count for one in unique_values for key, count in one.by_columns.items()}
    return SingledOut(
        "rows",
        rows,
        tuple(dict.fromkeys(name for one in unique_values for name in one.columns)),
        max(one.least for one in unique_values),
        unique_values[0].most if len(unique_values) == 1 else min(in_bucket, rows),
        most_telling(alone),
        sum(one.counted for one in unique_values),
        sum(one.sets for one in unique_values),
    )


def _alone_in_slice(each: Slice, names: Sequence[str], classes: Codes | None, rows: int) -> SingledOut:
    owners = np.where(each.counts > 1, -1, np.arange(len(each.counts)))
    return singled_out({name: each.codes[name] for name in names}, owners, members=rows, classes=classes)


def _join(columns: Sequence[Codes]) -> Codes | None:
    """Return several columns of codes as one; None without any."""
    return group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns]).group_ids() if columns else None
