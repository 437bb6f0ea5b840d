"""Profiles of columns, suggested roles, and the number of people that quasi-identifiers single out.

Suggestions are a starting point: the data steward decides the roles before any algorithm runs. In doubt the safer role
is suggested, and no value of the table is shown unless requested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines import DEFAULT_MEMORY, using_source
from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.person_columns import CodedColumn, likely_person
from indistinct.hierarchy.suggest import suggest
from indistinct.hierarchy.value import Hierarchy
from indistinct.inspection.combinations import SIZE, Combinations, risky_combinations
from indistinct.inspection.patterns.registry import FREE_TEXT, count_respelled
from indistinct.inspection.roles import (
    IN_DOUBT,
    KNOWN_TO_OTHERS,
    NUMBERS_ROWS,
    PEOPLE,
    POSTAL,
    SENSITIVE,
    by_content,
    meets,
    suggest_role,
    with_safe_harbor,
    words_of,
)
from indistinct.inspection.value import ColumnProfile, Inspection
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import bytes_of
from indistinct.schema import Role
from indistinct.tables.dictionaries import share_dictionaries
from indistinct.tables.domain import Domain, Kind, kind_of
from indistinct.tables.opening import open_table
from indistinct.tables.proposals import Proposal, propose
from indistinct.tables.value import ColumnLabels, Table

# Distinct texts by which a column is recognized as dates.
MAX_TEXTS_JUDGED = 200

# Share of rows with a value of their own from which a column points at people, and the rows to judge it by.
NEARLY_UNIQUE = 0.9
MIN_ROWS_JUDGED = 20
# Share of rows that differ from all others up to which those are few, and point at people.
MAX_SHARE_DIFFERING = 0.05
# Share of the allowed memory for rows while they are profiled; a row takes a multiple of its size as read, and some
# bytes for every cell.
MEMORY_SHARE_FOR_ROWS, MEMORY_FACTOR, BYTES_PER_CELL = 0.6, 2, 24
# Distinct values and each cell's place among them; missing comes last.
EncodedColumn = tuple[pa.Array, Codes]


@with_checked_arguments
def inspect(table: Any, *, unique_sets: int = SIZE, memory: str | int | None = None) -> Inspection:
    """Profile a table, and suggest roles, hierarchies and how to read it.

    Every value is looked at, so that the table is read into memory, also from a database. The suggestions are a
    starting point: roles are decided by the publisher. Notations of numbers and dates, NA strings and columns of codes
    that the values show are declared first; `Inspection.reading` has them.

    Parameters
    ----------
    table
        A path, a frame, or what `open` returned.
    unique_sets
        Largest number of columns in the search for sets of columns that single people out.
    memory
        Memory that the table may take, such as ``"8GB"``. Of a larger table as many rows as fit are drawn at random,
        and `Inspection.sampled_from` is the number that it has.

    Returns
    -------
    Inspection
        Profile of each column, suggested schema, and how many rows are unique on the suggested quasi-identifiers.

    Raises
    ------
    InputError
        If the table cannot be read or has no rows.
    ParameterError
        If a parameter is not possible.

    Examples
    --------
    >>> profile = inspect(pa.table({"zipcode": [4351, 4352, 4351], "disease": ["flu", "flu", "HIV"]}))
    >>> profile.schema.quasi, profile.schema.sensitive, profile.unique_rows
    (('zipcode',), ('disease',), 1)
    """
    if isinstance(unique_sets, bool) or not isinstance(unique_sets, int) or unique_sets < 1:
        raise ParameterError(
            f"`unique_sets` must be a whole number of at least 1; got {unique_sets!r}", hint=f"{SIZE} is usual"
        )
    with using_source(table, memory=memory) as (_, source):
        opened = _rows_that_fit(source, DEFAULT_MEMORY if memory is None else bytes_of(memory))
        rows = source.rows
    _require_rows(opened)
    read, findings = read_postal_codes(propose(opened))
    inspection = inspect_as_read(read, findings=findings, unique_sets=unique_sets)
    return inspection if opened.rows == rows else replace(inspection, sampled_from=rows)


def read_postal_codes(proposal: Proposal) -> tuple[Table, Mapping[str, tuple[str, ...]]]:
    """Return a table of a file with its postal codes as text, and what was found in its columns.

    Postal codes without a leading zero are digits alone, and would be generalized to intervals.
    """
    table, declared = proposal.table, proposal.table.reading.named_columns
    names = tuple(
        name
        for name in (table.columns if table.files else ())
        if meets(words_of(name), POSTAL) and name not in declared and _are_codes(table.data[name])
    )
    if not names:
        return table, proposal.findings
    reading = replace(table.reading, text=(*table.reading.text, *names))
    read = open_table(list(table.files), reading=reading)
    read = replace(read, name=table.name, path=table.path, notes=table.notes)
    findings_by_column = {name: (*proposal.findings.get(name, ()), "postal codes: text") for name in names}
    return read, {**proposal.findings, **findings_by_column}


def _are_codes(column: pa.ChunkedArray) -> bool:
    """Return whether a column has whole numbers with as many digits as postal codes."""
    if not pa.types.is_integer(column.type) or column.null_count == len(column):
        return False
    ends = pc.min_max(column).as_py()
    return bool(ends["min"] >= 1_000 and ends["max"] <= 999_999)


def _rows_that_fit(source: Any, memory: int) -> Table:
    """Return a source as a table in memory: all of its rows, or a random sample that fits."""
    streamed = source.in_memory is None and hasattr(source, "batches")
    first = next(iter(source.batches(source.columns)), None) if streamed else None
    if first is None or not len(first):
        return open_table(source)
    share = (
        MEMORY_SHARE_FOR_ROWS
        * memory
        / (source.rows * (MEMORY_FACTOR * first.nbytes / len(first) + BYTES_PER_CELL * len(source.columns)))
    )
    if share >= 1:
        return open_table(source)
    chance = np.random.default_rng(0)  # always the same rows, and so the same profile
    batches = source.batches(source.columns)
    some = [batch.filter(pa.array(chance.random(len(batch)) < share)) for batch in batches]
    sample = open_table(share_dictionaries(pa.concat_tables(some)))
    return replace(sample, reading=source.reading, left_out=source.left_out, notes=source.notes)


def inspect_as_read(
    table: Table, *, findings: Mapping[str, tuple[str, ...]] = MappingProxyType({}), unique_sets: int = SIZE
) -> Inspection:
    """Return the profile of a table without proposing another reading. `findings` are added to columns."""
    _require_rows(table)
    encoded = {name: encode(table.data[name]) for name in table.columns}
    columns = tuple(
        replace(each, label=label.text, value_labels=label.spelled_codes())
        for each in _columns(table.data, encoded, findings)
        for label in [table.labels.get(each.name, ColumnLabels())]
    )
    quasi = [column.name for column in columns if column.role is Role.QUASI]
    codes = [encoded[name][1] for name in quasi] or [np.zeros(table.rows, dtype=np.int32)]
    counts = group_rows(codes, [int(column.max()) + 1 for column in codes]).counts
    return Inspection(
        rows=table.rows,
        columns=columns,
        classes=len(counts),
        smallest_class=int(counts.min()),
        unique_rows=int((counts == 1).sum()),
        combinations=_together(columns, encoded, table.rows, unique_sets),
        reading=table.reading,
        left_out=table.left_out,
        notes=table.notes,
        people=next((column.distinct for column in columns if column.role is Role.PERSON), None),
    )


def _require_rows(table: Table) -> None:
    if not table.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")


def _columns(
    data: pa.Table, encoded: Mapping[str, EncodedColumn], findings: Mapping[str, tuple[str, ...]]
) -> tuple[ColumnProfile, ...]:
    """Return the profiles of all columns: by their names, then by their values, then compared with the person ID."""
    rows, values = data.num_rows, {name: values for name, (values, _) in encoded.items()}
    counts = {name: np.bincount(codes, minlength=len(own))[: len(own)] for name, (own, codes) in encoded.items()}
    columns: Sequence[ColumnProfile] = [
        replace(
            _profile(name, data[name], values[name], counts[name]),
            findings=findings.get(name, ()),
        )
        for name in data.column_names
    ]
    columns = by_content(columns, values, counts, rows=rows)
    person = _person(columns, encoded)
    if person is not None:
        columns = [_beside_person(column, person, encoded) for column in columns]
    columns = [_as_identifier(column, values[column.name], rows, person) for column in columns]
    columns = [_with_few(column, counts[column.name], rows) for column in columns]
    return tuple(with_safe_harbor(column, values[column.name], counts[column.name]) for column in columns)


def _together(
    columns: Sequence[ColumnProfile], encoded: Mapping[str, EncodedColumn], rows: int, size: int
) -> Combinations:
    """Return the combinations of columns that may be published which single people out."""
    person = next((column.name for column in columns if column.role is Role.PERSON), None)
    dropped = (Role.IDENTIFIER, Role.PERSON)
    varied = [c.name for c in columns if c.role not in dropped and c.distinct + (c.missing > 0) > 1]
    people = None if person is None else encoded[person][1]
    return risky_combinations({name: encoded[name][1] for name in varied}, people=people, rows=rows, size=size)


def _person(columns: Sequence[ColumnProfile], encoded: Mapping[str, EncodedColumn]) -> str | None:
    """Return the column that is probably the ID of people with several rows."""
    coded = {name: CodedColumn(codes, len(values)) for name, (values, codes) in encoded.items()}
    named = [column.name for column in columns if meets(words_of(column.name), PEOPLE)]
    candidates = [
        column.name
        for column in columns
        if (column.kind is Kind.TEXT or pa.types.is_integer(encoded[column.name][0].type))
        and not meets(words_of(column.name), KNOWN_TO_OTHERS | SENSITIVE)
        and not _holds_dates(encoded[column.name][0])
    ]
    return likely_person(coded, candidates, named=named)


def _holds_dates(values: pa.Array) -> bool:
    """Return whether most of the texts contain a date, such as a range of dates: then the column is no person ID."""
    if not pa.types.is_string(values.type):
        return False
    first = values.slice(0, MAX_TEXTS_JUDGED)
    dated = pc.sum(pc.match_substring_regex(first, r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")).as_py() or 0
    return bool(len(first)) and 2 * dated > len(first)


def _beside_person(column: ColumnProfile, person: str, encoded: Mapping[str, EncodedColumn]) -> ColumnProfile:
    """Return a column with the role of a person ID, or of an identifier if it has one value for each person."""
    (people, codes), (values, others) = encoded[person], encoded[column.name]
    if column.name == person:
        reason = f"{column.distinct:,} people in {len(codes):,} rows"
        return replace(column, role=Role.PERSON, reason=reason, hierarchy=None, evidence=None)
    if column.role is not Role.QUASI or column.missing or len(values) != len(people) or column.kind is Kind.DATE:
        return column
    known = meets(words_of(column.name), KNOWN_TO_OTHERS)
    pairs = group_rows([codes, others], [int(codes.max()) + 1, int(others.max()) + 1]).counts
    if known or len(pairs) != len(people) or pa.types.is_floating(values.type):
        return column
    reason = "it points at a person: one value for each person"
    return replace(column, role=Role.IDENTIFIER, reason=reason, hierarchy=None, evidence=None)


def _as_identifier(column: ColumnProfile, values: pa.Array, rows: int, person: str | None) -> ColumnProfile:
    """Return an identifier with what its owner should know: that it repeats, or is written in several ways."""
    if column.role not in (Role.IDENTIFIER, Role.PERSON):
        return column
    alike = count_respelled(values) if pa.types.is_string(values.type) else 0
    if alike:
        finding = f"{alike:,} value{'s differ' if alike > 1 else ' differs'} from others only by case or spaces around"
        column = replace(column, findings=(*column.findings, f"{finding}: correct them, or people are counted twice"))
    repeats = MIN_ROWS_JUDGED <= column.distinct < rows - column.missing
    if person is not None or not repeats or column.reason.endswith(FREE_TEXT):
        return column
    count = f"{column.distinct:,} values in {rows:,} rows"
    return replace(column, reason=f"{column.reason}; {count}: if these are people, give it the role person")


def _with_few(column: ColumnProfile, counts: Codes, rows: int) -> ColumnProfile:
    """Return a nearly constant column with a note on how many rows differ; missing counts as a value."""
    most = max(int(counts.max(initial=0)), column.missing)
    few = 0 < rows - most <= MAX_SHARE_DIFFERING * rows
    if not few or rows < MIN_ROWS_JUDGED or column.role is Role.PERSON:
        return column
    one = rows - most == 1
    if column.missing == most:
        finding = f"{rows - most:,} of {rows:,} rows {'has' if one else 'have'} a value, the others none"
    else:
        finding = f"{rows - most:,} of {rows:,} rows {'differs' if one else 'differ'} from all others"
    return replace(column, reason=f"{column.reason}; {finding}")


def encode(column: pa.ChunkedArray) -> EncodedColumn:
    """Return (distinct values, each cell's index among them); missing comes last."""
    if pa.types.is_nested(column.type):
        raise InputError(
            f"a column has the type {column.type}, which cannot be grouped",
            hint="turn it into text, numbers or dates first",
        )
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):  # its dictionary would count missing as a value
        column = column.cast(pa.string())
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    coded = whole.dictionary_encode()
    values = coded.dictionary
    return values, coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)


def _profile(name: str, column: pa.ChunkedArray, values: pa.Array, counts: Codes) -> ColumnProfile:
    """Describe a column: its values, uniques, patterns and suggested role."""
    rows, alone = len(column), int((counts == 1).sum())
    kind = kind_of(column.type)
    whole = pa.types.is_integer(values.type) or kind is Kind.TEXT
    missing = int(column.null_count)
    # Where most rows have no value, the others are judged alone: a vehicle number identifies its owner.
    judged = rows - missing if 2 * missing >= rows else rows
    pointing = rows >= MIN_ROWS_JUDGED and alone >= NEARLY_UNIQUE * judged > 0 and whole
    role, reason = suggest_role(name, distinct=len(values), pointing=pointing, missing=missing)
    if (role is Role.IDENTIFIER or reason == IN_DOUBT) and _numbers_rows(column):
        role, reason = Role.IDENTIFIER, NUMBERS_ROWS
    order = np.argsort(-counts, kind="stable")[:3].tolist()
    return ColumnProfile(
        name=name,
        kind=kind,
        distinct=len(values),
        missing=missing,
        unique_share=alone / rows,
        smallest_group=int(counts.min()) if len(counts) else 0,
        role=role,
        reason=reason,
        hierarchy=_hierarchy(name, values) if role is Role.QUASI else None,
        frequent=tuple((values[index].as_py(), int(counts[index])) for index in order),
    )


def _numbers_rows(column: pa.ChunkedArray) -> bool:
    """Return whether a column numbers the rows from 0 or 1 on, as some programs write them."""
    if not pa.types.is_integer(column.type) or column.null_count or len(column) < 2:
        return False
    first = column[0].as_py()
    return first in (0, 1) and bool((column.to_numpy() == np.arange(first, first + len(column))).all())


def _hierarchy(name: str, values: pa.Array) -> Hierarchy | None:
    """Return a suggested hierarchy unless it would be suppression.

    Without a hierarchy, sets of values are published.
    """
    kept = values.drop_null()
    if pa.types.is_floating(kept.type):
        kept = kept.filter(pc.is_finite(kept))
    if not len(kept) or pa.types.is_binary(kept.type) or pa.types.is_large_binary(kept.type):
        return None
    if kind_of(kept.type) is Kind.TEXT:
        kept = kept.cast(pa.string())
    hierarchy = suggest(Domain(name, kept))
    return None if hierarchy == Hierarchy.suppression() else hierarchy
