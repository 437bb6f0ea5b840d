"""Tables that are read in blocks and never held whole, with the columns that the memory engine would read.

The first pass over the blocks gathers evidence about every column, the second one gives its cells.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes
from indistinct.tables.declared import check_type, framed_marks, marks_of, without_texts, without_values
from indistinct.tables.delimited import (
    LARGEST_BLOCK_BYTES,
    check_same_names,
    csv_options,
    dialect_of,
    guesses_at,
    has_broken_quotes,
    holds,
    in_its_encoding,
    left_out_of,
    misfit_error,
    table_stream,
    trim_fields,
    unreadable,
)
from indistinct.tables.dialect import NAMELESS, Dialect, diagnose, empty_rows, nul_error
from indistinct.tables.dictionaries import TEXT, is_text
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.evidence import Evidence, Plan, looks_empty
from indistinct.tables.leftovers import check_nameless, check_total, left_out_words
from indistinct.tables.misfits import MisfitError, no_column
from indistinct.tables.value import Reading, choose

BLOCK_BYTES = 1 << 22
# Every one of them is looked at again, and remembered: a small file may have thousands of millions.
MOST_BLANK = 1 << 24

_Looked = tuple["TextFile", dict[str, Evidence]]


@dataclass(frozen=True, slots=True, eq=False)
class TextFile:
    """A text file that was looked at once: how it is written, how many rows it has, and which of them are nobody's."""

    path: Path
    dialect: Dialect
    block: int
    rows: int
    empty: Codes
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pass:
    """What one pass over a text file has seen: rows, those that look empty, the last one, and signs of broken text."""

    evidence: dict[str, Evidence]
    rows: int = 0
    blank: list[Codes] = field(default_factory=list)
    blanks: int = 0
    last: tuple[int, list[str]] = (-1, [])
    end: str = ""
    nul: bool = False
    broken: bool = False
    nameless: dict[str, list[pa.Array]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class InBlocks:
    """A table whose columns are decided and whose cells come in blocks.

    `raw` gives the blocks as the source has them, each with the number of its first row.
    """

    plans: Mapping[str, Plan | None]
    schema: pa.Schema
    raw: Callable[[], Iterator[tuple[int, pa.Table]]]
    reading: Reading
    parts: tuple[TextFile, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the table; raise `InputError` at the end if cells are not what they were declared to be."""
        framed = not self.parts
        for start, block in self.raw():
            columns = []
            for name, plan in self.plans.items():
                if plan is None:
                    column = without_values(block[name], marks_of(name, self.reading, framed=True))
                else:
                    column = plan.read(_drop_marks(name, block[name], self.reading, framed=framed), start=start)
                columns.append(column.cast(self.schema.field(name).type))
            yield pa.table(columns, schema=self.schema)
        for plan in self.plans.values():
            misfit = None if plan is None else plan.misfit()
            if misfit is not None:
                raise self.error(misfit)

    def error(self, misfit: MisfitError) -> InputError:
        """Return the error of cells that are not as declared."""
        if not self.parts:
            return misfit.error(None, word="row")
        return misfit_error(misfit, [(part.path, part.dialect, part.rows) for part in self.parts])

    def samples(self) -> dict[str, pa.Array]:
        """Return some distinct texts of every column that is text, which tell how it is written."""
        return {
            name: pa.chunked_array(plan.evidence.texts, pa.string()).unique()
            for name, plan in self.plans.items()
            if plan is not None and is_text(plan.type)
        }

    def check_forms(self) -> None:
        """Raise `InputError` for a date format for all columns that fits none, once every column is decided."""
        evidence = {name: plan.evidence for name, plan in self.plans.items() if plan is not None}
        used = {found.form for found in evidence.values()} if self.reading.dates else set()
        unused = [form for form in self.reading.dates if form not in used]
        if self.parts:
            excused = any(len(found.texts) == 0 for found in evidence.values())
        else:
            excused = any(kind_of(each.type) is Kind.DATE for each in self.schema)
        if unused and not excused:
            raise no_column(unused[0], {name: pa.chunked_array(e.texts, pa.string()) for name, e in evidence.items()})

    @property
    def doubtful(self) -> dict[str, Plan]:
        """Return the columns of which the share of distinct texts that fit a date format must be found."""
        return {name: plan for name, plan in self.plans.items() if plan is not None and plan.doubtful}


def delimited_blocks(files: Sequence[Path], reading: Reading, *, published: bool = False) -> InBlocks:
    """Return text files as one table that is read in blocks, by the rules of `read_delimited`."""
    evidence: dict[str, Evidence] = {}
    parts: list[TextFile] = []
    for path in files:

        def look(encoding: str, path: Path = path, seen: dict[str, Evidence] = evidence) -> _Looked:
            dialect = dialect_of(path, encoding, reading)
            if parts:
                check_same_names(files[0], parts[0].dialect, path, dialect)
            wanted = choose(dialect.columns, reading.columns or None)
            known = seen or {name: Evidence(name, reading) for name in wanted}
            return _looked_at(path, dialect, reading, known, published=published)

        part, evidence = in_its_encoding(path, reading, look)
        parts.append(part)
    bare = all(part.dialect.bare for part in parts)  # then nothing is known of any column
    plans: dict[str, Plan | None] = {
        name: Plan(found, None) if bare else found.decide() for name, found in evidence.items()
    }
    schema = pa.schema([(name, plan.type) for name, plan in plans.items() if plan is not None])
    left_out = left_out_of([(part.path, part.left_out) for part in parts])
    notes = guesses_at([(part.path, part.dialect) for part in parts], reading)
    return InBlocks(plans, schema, lambda: _rows_of(parts, reading), reading, tuple(parts), left_out, notes)


def typed_blocks(raw: Callable[[], Iterator[pa.Table]], schema: pa.Schema, reading: Reading) -> InBlocks:
    """Return a table that has types already, with what was declared, by the rules of `read_frame`."""
    choose(schema.names, reading.named_columns)
    texts = [name for name in schema.names if name in reading.text or reading.types.get(name) == "text"]
    evidence = {
        each.name: Evidence(each.name, reading, framed=True)
        for each in schema
        if is_text(each.type) or each.name in texts
    }
    for each in schema:
        if each.name not in evidence:
            check_type(each.name, each.type, reading)

    def numbered() -> Iterator[tuple[int, pa.Table]]:
        start = 0
        for table in raw():
            yield start, table
            start += table.num_rows

    for _, table in numbered():
        for name, found in evidence.items():
            found.add(_drop_marks(name, table[name], reading, framed=True))
    plans = {name: evidence[name].decide() if name in evidence else None for name in schema.names}
    kinds = [(each.name, each.type if (plan := plans[each.name]) is None else plan.type) for each in schema]
    return InBlocks(plans, pa.schema(kinds), numbered, reading)


def _drop_marks(name: str, column: pa.ChunkedArray, reading: Reading, *, framed: bool) -> pa.ChunkedArray:
    """Return a text column in which its own marks are missing; in a text file those for all columns are so already."""
    own = framed_marks(name, reading) if framed else reading.missing_in.get(name, ())
    text = column if isinstance(column.type, pa.DictionaryType) else column.cast(pa.string()).cast(TEXT)
    return without_texts(text, own) if own else text


def _looked_at(
    path: Path, dialect: Dialect, reading: Reading, known: dict[str, Evidence], *, published: bool
) -> _Looked:
    """Return what one pass over a file tells, and the evidence that it adds to what is known."""
    none = np.zeros(0, dtype=np.int64)
    if dialect.bare:
        return TextFile(path, dialect, BLOCK_BYTES, 0, none), known
    dialect, size = replace(dialect, quoted=True), BLOCK_BYTES
    while True:
        seen = _Pass(copy.deepcopy(known))
        try:
            for table in _blocks(path, dialect, reading.missing, size):
                _look(table, dialect, reading, seen)
            break
        except (pa.ArrowKeyError, pa.ArrowInvalid) as error:
            text = str(error)
            if text.startswith("In CSV column") and "invalid UTF8" in text:
                raise UnicodeError from None
            wrong = diagnose(path, dialect)
            size *= 16
            if wrong or "straddl" not in text or size > LARGEST_BLOCK_BYTES:
                raise wrong or unreadable(path) from None
    if seen.nul:
        raise nul_error()
    if seen.broken or "\n" in seen.end or "\r" in seen.end:
        wrong = diagnose(path, dialect)
        if wrong:
            raise wrong
    kept = published and not seen.nameless
    empty, left_out = (none, ()) if kept else _leftovers(path, dialect, seen)
    return TextFile(path, dialect, size, seen.rows - len(empty), empty, left_out), seen.evidence


def _leftovers(path: Path, dialect: Dialect, seen: _Pass) -> tuple[Codes, tuple[str, ...]]:
    """Return the rows that are nobody's, and what is left out in words; raise where something is below no name."""
    check_nameless(dialect, {name: pa.chunked_array(texts, pa.string()) for name, texts in seen.nameless.items()})
    blank = np.concatenate([*seen.blank, np.zeros(0, dtype=np.int64)])
    empty = np.zeros(0, dtype=np.int64)
    if len(blank) and len(dialect.names) > 1:
        empty = np.array(empty_rows(path, dialect, blank.tolist()), dtype=np.int64)
    rows = seen.rows - len(empty)
    kept = np.setdiff1d(blank, empty)
    if seen.last[0] > (kept[-1] if len(kept) else -1):
        check_total(path, dialect, seen.last[1], rows=rows)
    return empty, left_out_words(len(seen.nameless), len(empty), valued=dialect.dropped)


def _blocks(path: Path, dialect: Dialect, missing: Sequence[str], size: int) -> Iterator[pa.Table]:
    from pyarrow import csv

    names = list(dialect.names)
    with table_stream(path, dialect) as stream:
        options = csv_options(dialect, missing, names, block_size=size)
        with csv.open_csv(stream, memory_pool=pa.system_memory_pool(), **options) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield trim_fields(pa.Table.from_batches([batch]), dialect, missing)


def _look(table: pa.Table, dialect: Dialect, reading: Reading, seen: _Pass) -> None:
    """Take a block of a file."""
    named = [name for name in table.column_names if not name.startswith(NAMELESS)]
    for name in table.column_names:
        column = table[name]
        seen.nul |= holds(column, "\0")
        seen.broken |= has_broken_quotes(column)
        if name in seen.evidence:
            seen.evidence[name].add(_drop_marks(name, column, reading, framed=False))
        elif name.startswith(NAMELESS):
            seen.nameless.setdefault(name, []).append(_first_value(column))
    blank = looks_empty([table[name] for name in named]) if len(dialect.names) > 1 else np.zeros(0, dtype=np.int64)
    seen.blank.append(blank + seen.rows)
    seen.blanks += len(blank)
    if seen.blanks > MOST_BLANK:
        raise InputError(
            f"the file has more than {MOST_BLANK:,} lines without any value",
            hint="check that this is the right file; save it without its empty lines",
        )
    full = np.setdiff1d(np.arange(table.num_rows), blank)
    if len(full):
        row = int(full[-1])
        seen.last = seen.rows + row, [table[name][row].as_py() or "" for name in named]
    seen.end = table[dialect.names[-1]][-1].as_py() or ""
    seen.rows += table.num_rows


def _first_value(column: pa.ChunkedArray) -> pa.Array:
    """Return a text of a column without a name that tells whether it has values: the longest one."""
    texts = pc.drop_null(column.cast(pa.string()).combine_chunks().unique())
    order = pc.array_sort_indices(pc.utf8_length(pc.utf8_trim_whitespace(texts)), order="descending")
    return texts.take(order[:1])


def _rows_of(parts: Sequence[TextFile], reading: Reading) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of all files as text, each block with the number of its first row."""
    start = 0
    for part in parts:
        if part.dialect.bare:
            continue
        read = 0
        for table in _blocks(part.path, part.dialect, reading.missing, part.block):
            first, last = np.searchsorted(part.empty, [read, read + table.num_rows])
            keep = np.ones(table.num_rows, dtype=bool)
            keep[part.empty[first:last] - read] = False
            yield start, table if first == last else table.filter(pa.array(keep))
            read, start = read + table.num_rows, start + table.num_rows - int(last - first)
