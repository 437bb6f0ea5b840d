"""Tables that are read in blocks and never in whole, with the same columns as in memory.

The first pass over the blocks gathers evidence about every column, the second converts its cells.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from indistinct.machine.arrays import Codes
from indistinct.tables.delimited import (
    check_same_names,
    csv_options,
    dialect_of,
    enlarge_blocks,
    guesses_at,
    in_its_encoding,
    left_out_of,
    misfit_error,
    names_to_read,
    table_stream,
    trim_fields,
)
from indistinct.tables.dialect import Dialect
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.evidence import Plan, TypeEvidence, cast_texts, check_forms, check_type, marks_of, without_values
from indistinct.tables.leftovers import NONE, FileSurvey
from indistinct.tables.misfits import MisfitError
from indistinct.tables.value import Reading, choose

BLOCK_BYTES = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class TextFile:
    """A text file after the first pass: its dialect, its number of rows, and which rows belong to no person."""

    path: Path
    dialect: Dialect
    block: int
    rows: int
    empty: Codes
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class InBlocks:
    """A table whose column types are decided and whose cells come in blocks.

    `raw` yields the unconverted blocks, each with the number of its first row.
    """

    plans: Mapping[str, Plan | None]
    schema: pa.Schema
    raw: Callable[[], Iterator[tuple[int, pa.Table]]]
    reading: Reading
    parts: tuple[TextFile, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the table in blocks; raise `InputError` at the end if cells do not fit their declaration."""
        for start, block in self.raw():
            columns = []
            for name, plan in self.plans.items():
                if plan is None:
                    column = without_values(block[name], marks_of(name, self.reading, framed=True))
                else:
                    column = plan.read(plan.evidence.prepare(block[name]), start=start)
                columns.append(column.cast(self.schema.field(name).type))
            yield pa.table(columns, schema=self.schema)
        with self.located_misfits():
            for plan in self.plans.values():
                if plan is not None:
                    plan.check_misfits()

    @contextmanager
    def located_misfits(self) -> Iterator[None]:
        """Convert `MisfitError` to an `InputError` with the location of the cells."""
        try:
            yield
        except MisfitError as misfit:
            if not self.parts:
                raise misfit.error(None, word="row") from None
            raise misfit_error(misfit, [(part.path, part.dialect, part.rows) for part in self.parts]) from None

    def samples(self) -> dict[str, pa.Array]:
        """Return some distinct texts of every text column, which show its notation."""
        return {
            name: pa.chunked_array(plan.evidence.texts, pa.string()).unique()
            for name, plan in self.plans.items()
            if plan is not None and is_text(plan.type)
        }

    def check_forms(self) -> None:
        """Raise `InputError` for a date format for all columns that fits none, once every column is decided."""
        evidence = {name: plan.evidence for name, plan in self.plans.items() if plan is not None}
        if self.parts:
            excused = bool(self.reading.columns) or not all(each.texts for each in evidence.values())
        else:
            excused = any(kind_of(each.type) is Kind.DATE for each in self.schema)
        check_forms(evidence, self.reading, excused=excused)

    @property
    def doubtful(self) -> dict[str, Plan]:
        """Return the columns for which the share of distinct texts that fit a date format must be counted."""
        return {name: plan for name, plan in self.plans.items() if plan is not None and plan.doubtful}


def delimited_blocks(files: Sequence[Path], reading: Reading, *, published: bool = False) -> InBlocks:
    """Return text files as one table that is read in blocks, by the rules of `read_delimited`."""
    evidence: dict[str, TypeEvidence] = {}
    parts: list[TextFile] = []
    for path in files:

        def look(
            encoding: str, path: Path = path, seen: dict[str, TypeEvidence] = evidence
        ) -> tuple[TextFile, dict[str, TypeEvidence]]:
            dialect = dialect_of(path, encoding, reading)
            if parts:
                check_same_names(files[0], parts[0].dialect, path, dialect)
            wanted = choose(dialect.columns, reading.columns or None)
            known = seen or {name: TypeEvidence(name, reading) for name in wanted}
            return _survey_file(path, dialect, reading, known, published=published)

        part, evidence = in_its_encoding(path, reading, look)
        parts.append(part)
    bare = all(part.dialect.bare for part in parts)  # then no column has values
    plans: dict[str, Plan | None] = {name: Plan(own, None) if bare else own.decide() for name, own in evidence.items()}
    schema = pa.schema([(name, plan.type) for name, plan in plans.items() if plan is not None])
    left_out = left_out_of([(part.path, part.left_out) for part in parts])
    notes = guesses_at([(part.path, part.dialect) for part in parts], reading)
    return InBlocks(plans, schema, lambda: _rows_of(parts, reading), reading, tuple(parts), left_out, notes)


def typed_blocks(raw: Callable[[], Iterator[pa.Table]], schema: pa.Schema, reading: Reading) -> InBlocks:
    """Return a table that already has types, with declarations applied, by the rules of `read_frame`."""
    choose(schema.names, reading.named_columns)
    schema = cast_texts(schema.empty_table(), reading).schema
    evidence = {each.name: TypeEvidence(each.name, reading, framed=True) for each in schema if is_text(each.type)}
    for each in schema:
        if each.name not in evidence:
            check_type(each.name, each.type, reading)

    def number_blocks() -> Iterator[tuple[int, pa.Table]]:
        start = 0
        for table in raw():
            yield start, cast_texts(table, reading)
            start += table.num_rows

    for _, table in number_blocks():
        for name, own in evidence.items():
            own.add(own.prepare(table[name]))
    plans = {name: evidence[name].decide() if name in evidence else None for name in schema.names}
    kinds = [(each.name, each.type if (plan := plans[each.name]) is None else plan.type) for each in schema]
    return InBlocks(plans, pa.schema(kinds), number_blocks, reading)


def _survey_file(
    path: Path, dialect: Dialect, reading: Reading, known: dict[str, TypeEvidence], *, published: bool
) -> tuple[TextFile, dict[str, TypeEvidence]]:
    """Return the result of one pass over a file, and the evidence extended by it."""
    if dialect.bare:
        return TextFile(path, dialect, BLOCK_BYTES, 0, NONE), known
    dialect, size = replace(dialect, quoted=True), BLOCK_BYTES
    while True:
        evidence, survey = copy.deepcopy(known), FileSurvey(dialect)
        try:
            for table in _blocks(path, dialect, reading, size):
                survey.add(table)
                for name, each in evidence.items():
                    each.add(each.prepare(table[name]))
            break
        except (pa.ArrowKeyError, pa.ArrowInvalid) as error:
            size = enlarge_blocks(path, dialect, error, size=size)
    survey.check_text(path)
    empty, left_out = survey.find_leftovers(path, published=published)
    return TextFile(path, dialect, size, survey.rows - len(empty), empty, left_out), evidence


def _blocks(path: Path, dialect: Dialect, reading: Reading, size: int) -> Iterator[pa.Table]:
    """Yield the rows of a delimited file as text, in blocks."""
    from pyarrow import csv

    names = names_to_read(dialect, reading.columns or None)
    with table_stream(path, dialect) as stream:
        options = csv_options(dialect, reading.missing, names, block_size=size)
        with csv.open_csv(stream, memory_pool=pa.system_memory_pool(), **options) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield trim_fields(pa.Table.from_batches([batch]), dialect, reading.missing)


def _rows_of(parts: Sequence[TextFile], reading: Reading) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of all files as text, each block with the number of its first row."""
    start = 0
    for part in parts:
        if part.dialect.bare:
            continue
        read = 0
        for table in _blocks(part.path, part.dialect, reading, part.block):
            first, last = np.searchsorted(part.empty, [read, read + table.num_rows])
            keep = np.ones(table.num_rows, dtype=bool)
            keep[part.empty[first:last] - read] = False
            yield start, table if first == last else table.filter(pa.array(keep))
            read, start = read + table.num_rows, start + table.num_rows - int(last - first)
