"""Roles for columns without one, as `inspect` suggests them, so that identifiers are found without a policy."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from indistinct.errors import IndistinctError
from indistinct.exploration.scan.base import ScannedFile
from indistinct.exploration.scan.columns import ROW_NAMES, number_rows
from indistinct.frequencies.singled_out import is_nearly_unique, rows_alone
from indistinct.hierarchy.value import Hierarchy
from indistinct.inspection.inspect import inspect
from indistinct.inspection.roles import NEARLY_ALL_UNIQUE, NUMBERS_ROWS
from indistinct.inspection.value import ColumnProfile
from indistinct.schema import Role, Schema
from indistinct.tables.inference import KINDS, convert_values

MAX_ROWS_INSPECTED = 100_000
"""Of a longer table, this many random rows are inspected."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Suggested roles and hierarchies of a table, and the columns that identify people, each with the reason."""

    schema: Schema | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    identifiers: Mapping[str, str] = field(default_factory=dict)


NO_SUGGESTION = Suggestion()


def suggest_roles(table: pa.Table) -> Suggestion:
    """Return the roles that an inspection of a table suggests; none where it cannot be inspected."""
    indices = {_unique_name(table.column_names, index): index for index in range(table.num_columns)}
    sample = _draw_rows(table)
    try:
        inspection = inspect(
            pa.table([_typed(column) for column in sample.columns], names=list(indices)), unique_sets=1
        )
    except IndistinctError:
        return Suggestion()
    pointing = {
        table.column_names[indices[column.name]]: column.reason
        for column in inspection.columns
        if _points_at_people(column, table.column(indices[column.name]), is_sample=len(sample) < len(table))
    }
    hierarchies = {column.name: column.hierarchy for column in inspection.columns if column.hierarchy is not None}
    return Suggestion(inspection.schema, hierarchies, pointing)


def with_suggested_roles(
    subject: ScannedFile, of_original: Suggestion, of_folders: Suggestion = NO_SUGGESTION
) -> ScannedFile:
    """Return a subject with suggested roles for the columns that have none.

    A column of the original is judged by its values there, a column of folder names by these, and any other by its
    published values.
    """
    known = {*(() if subject.schema is None else subject.schema.columns), *subject.expected_columns}
    known |= set() if subject.original is None else set(subject.original.columns)
    others = [name for name in subject.columns if name not in known and not ROW_NAMES.fullmatch(name)]
    of_file = {**suggest_roles(subject.table).identifiers, **of_folders.identifiers} if others else {}
    own = {
        name: reason
        for name, reason in of_file.items()
        if name in others and not number_rows(subject.table.column(subject.columns.index(name)))
    }
    return replace(
        subject,
        suggested={**of_original.identifiers, **own},
        suggested_schema=of_original.schema,
        suggested_hierarchies=of_original.hierarchies,
    )


def _points_at_people(profile: ColumnProfile, column: pa.ChunkedArray, *, is_sample: bool) -> bool:
    """Return whether the values of a column identify people; row numbers are reported by another check."""
    if profile.role not in (Role.IDENTIFIER, Role.PERSON) or profile.distinct <= 1:
        return False
    if profile.reason.startswith(NUMBERS_ROWS):
        return False  # the check of row numbers reports it
    if is_sample and profile.evidence is None and profile.reason.startswith(NEARLY_ALL_UNIQUE):
        return is_nearly_unique(rows_alone(column), len(column))  # values may repeat outside the sample
    return True


def _unique_name(names: list[str], index: int) -> str:
    """Return the name of a column, with its number where it has no name or shares it."""
    name = names[index]
    return name if name and names.count(name) == 1 else f"{name}_{index}"


def _draw_rows(table: pa.Table) -> pa.Table:
    if table.num_rows <= MAX_ROWS_INSPECTED:
        return table
    chance = np.random.default_rng(0)  # the same rows each time, so that a file always gets the same verdict
    return table.take(np.sort(chance.choice(table.num_rows, MAX_ROWS_INSPECTED, replace=False)))


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of text converted to numbers or dates, as an inspection of the file would read it."""
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
        return column.cast(kind)
    texts = column.cast(pa.string())
    converted = convert_values(pa.chunked_array([texts.drop_null().unique()]), KINDS)
    return texts if converted is None else texts.cast(converted[0].type)
