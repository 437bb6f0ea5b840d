"""Columns that were not meant to be published: added ones, identifiers, row numbers, unique values."""

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.exploration.scan.base import NAMELESS, Finding, ScanCheck, ScannedFile, Severity, leak, suspicion
from indistinct.exploration.scan.compared import spell_values
from indistinct.figures import rows_of_all
from indistinct.frequencies.singled_out import is_nearly_unique, rows_alone
from indistinct.machine.arrays import Codes
from indistinct.release.pseudonyms.making import are_pseudonyms
from indistinct.release.pseudonyms.unkeyed import HASHES, holds_unkeyed
from indistinct.schema import BUCKET, COUNT

# Names that tools give to the row numbers that they write next to a table.
ROW_NAMES = re.compile(
    r"|index|level_\d+|unnamed: ?\d+(_level_\d+)?|__index_level_\d+__|row[_. ]?(names?|number|num|no|nr|id|index)?"
    r"|_?rowid_?|__?row__?|\.\.\.1|column0",
    re.IGNORECASE,
)
# Fewer numbers may be consecutive by chance.
MIN_NUMBERS = 10
# A column whose first cells are not whole numbers is not read further.
CELLS_TRIED_FIRST = 1_000
# Row numbers with gaps left by suppressed rows fill at least this share of their range.
MIN_SHARE_OF_RANGE = 0.5


def _find_invented_columns(subject: ScannedFile) -> Iterator[Finding]:
    """Report columns that neither the schema nor the original has."""
    is_known = subject.schema is not None or subject.original is not None
    rows = subject.table.num_rows
    for index, name in enumerate(subject.columns):
        if name in subject.expected_columns or name in subject.hidden:
            continue
        called, column = subject.called(name), subject.table.column(index)
        if column.null_count == len(column) and rows:
            continue  # a delimiter at the end of every line makes an empty column
        is_row_name, own = bool(ROW_NAMES.fullmatch(name)), _distinct(column) == rows > 1
        if is_row_name and (is_known or own or name == NAMELESS):
            yield leak(
                called,
                rows,
                f"{called} looks like the numbers of rows that tools write: each leads back to a row of the original",
                "write the file without an index (in pandas: index=False), and drop the column",
            )
        elif not is_known:
            continue
        elif own:
            yield leak(
                called,
                rows,
                f"{called} is not in the original or has no role, and every row has a value of its own in it",
                "drop the column",
            )
        else:
            grouped = name in (BUCKET, COUNT)
            yield Finding(
                Severity.NOTE if grouped else Severity.SUSPICION,
                called,
                rows,
                f"{called} was added to the table" + (", as releases in buckets need it" if grouped else ""),
                "make sure that its numbers say nothing about the order of rows"
                if grouped
                else "drop the column, or give it a role and publish the table anew",
            )


def _find_identifiers(subject: ScannedFile) -> Iterator[Finding]:
    """Report published identifiers."""
    hidden = {name.strip().casefold() for name in subject.hidden}
    for index, name in enumerate(subject.columns):
        column = subject.table.column(index)
        if name.strip().casefold() in hidden:
            severity, sentence, remedy = _judge_identifier(subject, name, column)
            if name in subject.suggested:
                sentence += f" (suggested by its inspection, as no role is given: {subject.suggested[name]})"
                remedy += "; if it points at no person, give its role with --policy or --insensitive"
        elif name not in subject.expected_columns and _are_hashes(subject, column):
            severity, sentence, remedy = Severity.LEAK, HASHES, "drop it, or use a key"
        else:
            continue
        is_declared = name.strip().casefold() in hidden and name not in subject.suggested
        called = f"column {name!r}" if is_declared else subject.called(name)
        yield Finding(severity, called, subject.table.num_rows, f"{called} {sentence}", remedy)


def _judge_identifier(subject: ScannedFile, name: str, column: pa.ChunkedArray) -> tuple[Severity, str, str]:
    """Return (severity, sentence, remedy) of a published identifier: plain, an unkeyed hash, or perhaps a pseudonym."""
    if _are_hashes(subject, column):
        return Severity.LEAK, HASHES, "drop it, or use a key"
    values = spell_values(column)
    if not len(values) or not are_pseudonyms(values):
        return Severity.LEAK, "points at people, and is published", "drop the column"
    if subject.original is None or name not in subject.original.columns:
        return Severity.SUSPICION, "shows pseudonyms, which link rows", "make sure that they were made with a key"
    return Severity.NOTE, "shows pseudonyms, which link rows", "verify the release with them (--pseudonym)"


def _are_hashes(subject: ScannedFile, column: pa.ChunkedArray) -> bool:
    """Return whether a column shows unkeyed hashes of an identifying column of the original."""
    before = () if subject.original is None else subject.original.columns
    texts = spell_values(column).to_pylist() if any(name in before for name in subject.hidden) else []
    return subject.original is not None and any(
        holds_unkeyed(texts, spell_values(subject.original.data[name]).to_pylist())
        for name in subject.hidden
        if name in before
    )


def _find_row_numbers(subject: ScannedFile) -> Iterator[Finding]:
    """Report columns that number the rows."""
    declared = () if subject.schema is None else subject.schema.published
    for index, name in enumerate(subject.columns):
        if name in subject.hidden or (ROW_NAMES.fullmatch(name) and name not in subject.expected_columns):
            continue  # reported already
        numbers = whole_numbers(subject.table.column(index))
        if numbers is None or not number_rows(subject.table.column(index)):
            continue
        called, consecutive = subject.called(name), _spread(numbers) == len(numbers)
        # A column of years has consecutive numbers too; numbers from 0 or 1 on count rows.
        counts = int(numbers.min()) in (0, 1) or subject.schema is not None or subject.original is not None
        gaps = "are consecutive" if consecutive else "are all different and nearly consecutive"
        yield Finding(
            Severity.LEAK if consecutive and counts and name not in declared else Severity.SUSPICION,
            called,
            len(numbers),
            f"the numbers in {called} {gaps}{', and ascend' if _ascends(numbers) else ''}: they number rows or people",
            "drop the column, or draw its numbers at random",
        )


def _find_unique_columns(subject: ScannedFile) -> Iterator[Finding]:
    """Report columns in which nearly every value is unique."""
    rows = subject.table.num_rows
    for index, name in enumerate(subject.columns):
        if name in subject.hidden or (ROW_NAMES.fullmatch(name) and name not in subject.expected_columns):
            continue
        alone = rows_alone(subject.table.column(index))
        if not is_nearly_unique(alone, rows):
            continue
        called, sorted_ = subject.called(name), alone == rows and is_sorted(subject.table.column(index))
        yield suspicion(
            called,
            alone,
            f"in {called}, {rows_of_all(alone, rows)} have a unique value"
            + (", and rows are sorted by it" if sorted_ else "")
            + ": an attacker who knows it finds the row",
            "drop the column, make its values coarser, or treat it as a quasi-identifier",
        )


def number_rows(column: pa.ChunkedArray) -> bool:
    """Return whether a column has distinct and nearly consecutive whole numbers."""
    numbers = whole_numbers(column)
    if numbers is None or len(numbers) < MIN_NUMBERS:
        return False
    return len(np.unique(numbers)) == len(numbers) >= MIN_SHARE_OF_RANGE * _spread(numbers)


def _spread(numbers: Codes) -> int:
    return int(numbers.max()) - int(numbers.min()) + 1


def whole_numbers(column: pa.ChunkedArray) -> Codes | None:
    """Return the cells of a column that has only whole numbers, as text or numbers; otherwise None."""
    if not len(column) or column.null_count:
        return None
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return None
    if len(column) > CELLS_TRIED_FIRST and whole_numbers(column.slice(0, CELLS_TRIED_FIRST)) is None:
        return None
    try:
        # Only whole floats can be cast; the text of a number may have a point and zeros.
        plain = column.cast(kind) if kind != column.type else column
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            plain = pc.replace_substring_regex(plain, r"\.0+$", "")
        cells: Codes = plain.cast(pa.int64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
    return cells


def is_sorted(column: pa.ChunkedArray) -> bool:
    """Return whether the cells of a column ascend or descend, as numbers or as text."""
    numbers = whole_numbers(column)
    if numbers is not None:
        return _ascends(numbers) or _ascends(numbers[::-1])
    ranks = codes_of(column)
    return _ascends(ranks) or _ascends(ranks[::-1])


def codes_of(column: pa.ChunkedArray) -> Codes:
    """Return each cell's rank among the distinct values of its column; missing comes first."""
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    plain = column.cast(kind) if kind != column.type else column
    values = pc.drop_null(plain.unique())
    values = values.take(pc.sort_indices(values))
    codes: Codes = pc.fill_null(pc.index_in(plain, value_set=values), -1).to_numpy().astype(np.int64) + 1
    return codes


def _ascends(cells: Codes) -> bool:
    return bool((cells[1:] >= cells[:-1]).all())


def _distinct(column: pa.ChunkedArray) -> int:
    return int(codes_of(column).max(initial=0)) if not column.null_count else 0


CHECKS = (
    ScanCheck(
        "invented-columns",
        "columns that the original does not have: an index, row numbers",
        _find_invented_columns,
        ("table",),
    ),
    ScanCheck("identifiers", "columns that point at people", _find_identifiers, ("table",)),
    ScanCheck("row-numbers", "columns of consecutive numbers", _find_row_numbers, ("table",)),
    ScanCheck("unique-columns", "columns in which most rows have a unique value", _find_unique_columns, ("table",)),
)
