"""How a column of text is typed: the single rule by which texts become numbers, dates or missing, or stay text.

Evidence is gathered in blocks, and the plan decided from it converts the blocks. A table in memory is one block;
engines that never have a whole table pass over theirs twice. Both get the same columns. Declared NA strings are texts,
and the numbers and dates that they represent.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes
from indistinct.tables.dictionaries import TEXT, compact, is_text
from indistinct.tables.domain import Kind, kind_of, plain_column
from indistinct.tables.inference import KINDS, MOMENTS, convert_values, spellings
from indistinct.tables.misfits import MAX_LINES_NAMED, FutureError, MisfitError, no_column_fits
from indistinct.tables.notation import CLOCK, is_future, moments, plain_numbers, signs_of, without_signs
from indistinct.tables.value import Reading

ISO = {
    "date": ("%Y-%m-%d",),
    "datetime": ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"),
}
# Numbers can be widened; dates and times have no common type with anything else.
WIDENING = (pa.int64(), pa.decimal128(38, 0), pa.float64())
WHOLE, INTEGERS = "^-?[0-9]+$", "^-?[0-9]{1,18}$"
# A date format for all columns applies to a column if it fits this share of the distinct texts.
MIN_SHARE_FITTING = 0.5
# Number of texts of a column that are kept as samples.
MAX_SAMPLES = 1000
NONE: Codes = np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class Misfits:
    """The cells that do not fit: how many, the first of them, and of how many; the same for dates in the future."""

    cells: int = 0
    count: int = 0
    first: list[int] = field(default_factory=list)
    late: int = 0
    first_late: list[int] = field(default_factory=list)

    def add(self, column: pa.ChunkedArray, lost: Codes, late: Codes, *, start: int) -> None:
        """Add the cells of a block that could not be converted, and its dates in the future."""
        self.cells += len(column) - column.null_count
        self.count, self.late = self.count + len(lost), self.late + len(late)
        for first, rows in ((self.first, lost), (self.first_late, late)):
            first += [start + int(row) for row in rows[: MAX_LINES_NAMED + 1 - len(first)]]


@dataclass(slots=True)
class TypeEvidence:
    """The evidence from one column's texts so far; `framed` is a column that already has the type text.

    `kind` is the narrowest type of all texts in the declared notation, None before the first text, and text where there
    is none. `marked` says that a decimal or thousands separator occurs. `fitting` and `straying` count the texts that
    fit each date format, or do not.
    """

    name: str
    reading: Reading
    framed: bool = False
    kind: pa.DataType | None = None
    marked: bool = False
    integers: bool | None = None
    first: str | None = None
    signs: set[str] = field(default_factory=set)
    fitting: dict[str, int] = field(default_factory=dict)
    straying: dict[str, int] = field(default_factory=dict)
    texts: list[pa.Array] = field(default_factory=list)

    @property
    def stays_text(self) -> bool:
        """Return whether the column is text whatever its cells are."""
        reading, declared = self.reading, self.reading.types.get(self.name)
        if self.name in reading.text or declared == "text":
            return True
        named = declared is not None or self.name in reading.dates_in
        return self.framed and not (named or reading.decimal or reading.thousands or reading.dates)

    def drop_marks(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a block of the column without its own NA strings.

        Those for all columns are missing already in a text file.
        """
        own = framed_marks(self.name, self.reading) if self.framed else self.reading.missing_in.get(self.name, ())
        return without_texts(column, own) if own else column

    def encode(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a block of the column dictionary-encoded, unless it stays text anyway."""
        if self.stays_text or (not self.framed and column.type == TEXT):
            return column
        return pa.chunked_array([compact(column)])

    def prepare(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a block of the column prepared for `add` and reading: without NA strings, and encoded."""
        return self.encode(self.drop_marks(column))

    def add(self, column: pa.ChunkedArray, *, whole: bool = False) -> None:
        """Add a prepared block of the column; `whole` says that it is the only one."""
        if self.framed and self.stays_text:
            return
        texts = pc.drop_null(spellings(column))
        if not len(texts):
            return
        if sum(map(len, self.texts)) < MAX_SAMPLES:
            self.texts.append(texts.slice(0, MAX_SAMPLES).unique())
        if self.stays_text:
            return
        empty = pc.equal(texts, "")
        if pc.any(empty).as_py():  # the empty text is no number and no date, whatever the NA strings are
            texts = texts.filter(pc.invert(empty))
        if len(texts):
            self.first = texts[0].as_py() if self.first is None else self.first
            self._judge(texts, whole=whole)

    def _judge(self, texts: pa.ChunkedArray, *, whole: bool) -> None:
        """Add the evidence of some texts about the type of the column and its date format."""
        forms, reading, declared = self.forms(), self.reading, self.reading.types.get(self.name)
        if declared is None and self.name not in reading.dates_in:
            marks = [mark for mark in (reading.decimal, reading.thousands) if mark and self.framed]
            self.marked = self.marked or any(pc.any(pc.match_substring(texts, mark)).as_py() for mark in marks)
            if self.kind is None or not is_text(self.kind):
                self.kind = _wider(self.kind, self._kind_of(texts))
            if whole and not is_text(self.kind):
                return  # columns that have a type need no format
        elif not forms:
            texts = texts.combine_chunks()
            self.signs |= signs_of(texts)
            integers = pc.all(pc.match_substring_regex(self.spell_numbers(texts, signed=True), INTEGERS)).as_py()
            self.integers = bool(integers) and self.integers is not False
        elif len(forms) == 1:
            return  # there is nothing to choose
        for form in forms:
            strays = moments(texts, form).null_count
            self.fitting[form] = self.fitting.get(form, 0) + len(texts) - strays
            self.straying[form] = self.straying.get(form, 0) + strays

    def forms(self) -> tuple[str, ...]:
        """Return the date formats that the column may have."""
        reading, declared = self.reading, self.reading.types.get(self.name)
        if self.name in reading.dates_in:
            return (reading.dates_in[self.name],)
        if declared in ISO:
            clock = declared == "datetime"
            own = (form for form in reading.dates if any(f"%{part}" in form for part in CLOCK) == clock)
            return (*own, *ISO[declared])
        return reading.dates if declared is None else ()

    def decide(self) -> "Plan":
        """Decide the type and format of the column, after all texts were seen."""
        declared, marks = self.reading.types.get(self.name), marks_of(self.name, self.reading, framed=self.framed)
        if self.stays_text:
            return Plan(self, None)
        # Of several formats, the one that the fewest texts do not fit.
        best = min(self.forms(), key=lambda form: self.straying.get(form, 0), default=None)
        if self.name in self.reading.dates_in:
            return Plan(self, None, best, f"the date format {best!r}", marks=marks)
        if declared in ISO:
            return Plan(self, None, best, f"the type {declared}", marks=marks)
        if declared is not None:
            kind = pa.int64() if self.integers else pa.float64()
            return Plan(self, kind, declared=f"the type {declared}", marks=marks)
        if self.kind is not None and not is_text(self.kind):
            return Plan(self, self.kind if self._is_wanted() else None, marks=marks)
        if best and self.fitting.get(best):
            return Plan(self, None, best, f"the date format {best!r}", doubtful=self.straying[best] > 0, marks=marks)
        return Plan(self, None, marks=marks)

    @property
    def form(self) -> str | None:
        """Return the date format for all columns that this column has, or None."""
        plan = self.decide()
        if plan.form is not None:
            return None if plan.doubtful else plan.form
        return self._form_of_first() if plan.kind is not None and kind_of(plan.kind) is Kind.DATE else None

    def _form_of_first(self) -> str | None:
        """Return the declared format that also fits dates in ISO 8601."""
        first = pa.array([self.first], pa.string())
        return next((form for form in self.reading.dates if moments(first, form).null_count == 0), None)

    def _is_wanted(self) -> bool:
        """Return whether a column that is already text is converted to the type of its texts."""
        if not self.framed or self.kind is None:
            return True
        return self.marked if kind_of(self.kind) is Kind.NUMBER else self._form_of_first() is not None

    def _kind_of(self, texts: pa.ChunkedArray) -> pa.DataType:
        """Infer the type of texts."""
        reading, kinds = self.reading, KINDS
        if reading.decimal or reading.thousands:
            plain = plain_numbers(texts, reading.decimal, reading.thousands)
            texts, kinds = (texts, MOMENTS) if plain.null_count else (plain, KINDS)
        values = convert_values(texts, kinds)
        return pa.string() if values is None else values[0].type

    def spell_numbers(self, texts: pa.Array, *, signed: bool) -> pa.Array:
        """Return declared numbers in computer notation, missing where a text is not a number.

        The declaration decides, never the look of the cells, because next month's cells may look different.
        """
        reading, kind = self.reading, self.reading.types[self.name]
        marks = (None, None) if kind == "plain-number" else (reading.decimal, reading.thousands)
        plain = plain_numbers(without_signs(texts) if signed else texts, *marks)
        if pc.any(pc.starts_with(plain, "+")).as_py():
            plain = pc.replace_substring_regex(plain, r"^\+", "")
        if kind == "integer":
            plain = pc.if_else(pc.match_substring_regex(plain, WHOLE), plain, pa.scalar(None, pa.string()))
        return plain


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How a column is read: as a type, in a date format, or as text.

    `doubtful` says that some texts do not fit the format. The share of those that fit then decides whether the format
    applies to the column; if it does, the others are an error.
    """

    evidence: TypeEvidence
    kind: pa.DataType | None
    form: str | None = None
    declared: str = ""
    doubtful: bool = False
    marks: Sequence[str] = ()
    misfits: Misfits = field(default_factory=Misfits)

    @property
    def type(self) -> pa.DataType:
        """Return the type of the column."""
        if self.form is not None and not self.doubtful:
            return moments(pa.array([], pa.string()), self.form).type
        return pa.string() if self.kind is None else self.kind

    def read(self, column: pa.ChunkedArray, *, start: int) -> pa.ChunkedArray:
        """Return a prepared block of the column as values; cells that do not fit are recorded and missing.

        Its rows begin at `start`. Text is returned unchanged.
        """
        if is_text(self.type):
            return column
        column = without_texts(column, ("",))
        parts = [self._convert(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        read = pa.chunked_array(parts, self.type)
        late = lost = NONE
        if self.form is not None and "%y" in self.form:
            late = np.flatnonzero(is_future(read).fill_null(False).to_numpy())
        if read.null_count > column.null_count:
            lost = np.flatnonzero(pc.and_(pc.is_valid(column), pc.is_null(read)).to_numpy())
        self.misfits.add(column, lost, late, start=start)
        return without_values(read, self.marks)

    def check_misfits(self) -> None:
        """Raise `MisfitError` if cells that were read do not fit."""
        name, misfits = self.evidence.name, self.misfits
        if misfits.count:
            texts, rows = pa.chunked_array(self.evidence.texts, pa.string()), np.array(misfits.first, dtype=np.int64)
            raise MisfitError(name, self.declared, rows, cells=misfits.cells, texts=texts, count=misfits.count)
        if misfits.late:
            rows = np.array(misfits.first_late, dtype=np.int64)
            raise FutureError(name, self.form or "", rows, cells=misfits.cells, count=misfits.late)

    def check_doubt(self, distinct: Iterable[pa.Array], blocks: Iterable[pa.ChunkedArray]) -> None:
        """Raise `MisfitError` if a format fits enough of the distinct texts of the column to apply, but not all."""
        fitting, count = dict.fromkeys(self.evidence.forms(), 0), 0
        for texts in distinct:
            count += len(texts)
            for form in fitting:
                fitting[form] += len(texts) - moments(texts, form).null_count
        best = max(fitting, key=lambda form: fitting[form])
        if fitting[best] < MIN_SHARE_FITTING * count:
            return
        sure = replace(self, form=best, declared=f"the date format {best!r}", doubtful=False)
        start = 0
        for block in blocks:
            sure.read(block, start=start)
            start += len(block)
        sure.check_misfits()

    def _convert(self, texts: pa.Array) -> pa.Array:
        """Return distinct texts as values of the type of the column."""
        evidence, reading = self.evidence, self.evidence.reading
        if self.form is not None:
            return moments(texts, self.form)
        if self.declared:
            return evidence.spell_numbers(texts, signed=len(evidence.signs) < 2).cast(self.type)
        if kind_of(self.type) is Kind.NUMBER and (reading.decimal or reading.thousands):
            texts = plain_numbers(texts, reading.decimal, reading.thousands)
        return texts.cast(self.type)


def read_column(
    name: str, column: pa.ChunkedArray, reading: Reading, *, framed: bool = False
) -> tuple[TypeEvidence, pa.ChunkedArray]:
    """Return (evidence, column): a whole column of text with its declared type or a type that fits all values.

    Raises `MisfitError` where cells do not fit the declaration.
    """
    evidence = TypeEvidence(name, reading, framed=framed)
    column = evidence.drop_marks(column)
    texts = evidence.encode(column)
    evidence.add(texts, whole=True)
    plan = evidence.decide()
    if plan.doubtful:
        plan.check_doubt([pc.drop_null(spellings(texts)).unique()], [texts])
    if is_text(plan.type):
        return evidence, column if framed or column.num_chunks == 1 else column.cast(pa.string())
    read = plan.read(texts, start=0)
    plan.check_misfits()
    return evidence, pa.chunked_array([read.combine_chunks()], read.type)


def read_frame(table: pa.Table, reading: Reading) -> pa.Table:
    """Return a table that already has types, with declarations applied: NA strings, and types of text columns.

    NA strings are compared with numbers by value and with anything else by text.
    """
    columns, evidence = [], {}
    for name in table.column_names:
        column = table[name]
        if is_text(column.type):
            evidence[name], column = read_column(name, column, reading, framed=True)
        else:
            check_type(name, column.type, reading)
            column = without_values(column, marks_of(name, reading, framed=True))
        columns.append(column)
    check_forms(evidence, reading, excused=any(kind_of(column.type) is Kind.DATE for column in columns))
    return pa.table(columns, names=table.column_names)


def cast_texts(table: pa.Table, reading: Reading) -> pa.Table:
    """Return the table with columns converted to text that were declared to be text."""
    for index, each in enumerate(table.schema):
        declared = each.name in reading.text or reading.types.get(each.name) == "text"
        if declared and not is_text(each.type):
            table = table.set_column(index, each.name, table[each.name].cast(pa.string()))
    return table


def check_forms(evidence: Mapping[str, TypeEvidence], reading: Reading, *, excused: bool) -> None:
    """Raise `InputError` for a date format for all columns that fits none, unless that is `excused`."""
    if not reading.dates or excused:
        return
    used = {each.form for each in evidence.values()}
    unused = [form for form in reading.dates if form not in used]
    if unused:
        fitting = {name: each.fitting.get(unused[0], 0) for name, each in evidence.items()}
        texts = {name: pa.chunked_array(each.texts, pa.string()) for name, each in evidence.items()}
        raise no_column_fits(unused[0], fitting, texts)


def check_type(name: str, kind: pa.DataType, reading: Reading) -> None:
    """Raise if a column that already has a type was declared to have another; text columns are converted elsewhere."""
    kinds = {Kind.NUMBER: ("number", "plain-number", "integer"), Kind.DATE: ("date", "datetime"), Kind.TEXT: ()}
    declared = "date" if name in reading.dates_in else reading.types.get(name, "text")
    if declared != "text" and declared not in kinds[kind_of(kind)]:
        raise InputError(
            f"column {name!r} was declared to be a {declared}, but it has the type {kind} already",
            hint="leave the declaration out: it is for columns of text",
            column=name,
        )


def _wider(one: pa.DataType | None, other: pa.DataType) -> pa.DataType:
    """Return the narrowest type for texts of both types."""
    if one is None or one == other:
        return other
    if one in WIDENING and other in WIDENING:
        return max(one, other, key=WIDENING.index)
    return pa.string()


ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


def without_values(column: pa.ChunkedArray, marks: Sequence[str]) -> pa.ChunkedArray:
    """Return a column of numbers or dates in which values written like an NA string are missing."""
    if is_text(column.type) or not any(marks):
        return column
    if kind_of(column.type) is Kind.NUMBER:
        values = []
        for mark in marks:
            with suppress(ValueError):
                values.append(float(mark))
        if not values:
            return column
        marked = pc.is_in(column.cast(pa.float64(), safe=False), value_set=pa.array(values, pa.float64()))
    elif kind_of(column.type) is Kind.TEXT:  # booleans and times of day
        marked = pc.is_in(column.cast(pa.string()), value_set=pa.array(marks, pa.string()))
    else:
        days = [mark for mark in marks if re.fullmatch(ISO_DAY, mark)]
        if not days:
            return column
        plain = plain_column("", column)
        wanted = pc.drop_null(moments(pa.array(days, pa.string()), "%Y-%m-%d"))
        marked = pc.is_in(plain, value_set=wanted.cast(plain.type))
    if not pc.any(marked).as_py():
        return column
    return pc.if_else(marked, pa.scalar(None, column.type), column)


def framed_marks(name: str, reading: Reading) -> tuple[str, ...]:
    """Return the declared NA strings of a column that already has a type; none apply by default."""
    every = () if reading.missing == Reading().missing else reading.missing
    return (*every, *reading.missing_in.get(name, ()))


def marks_of(name: str, reading: Reading, *, framed: bool = False) -> list[str]:
    """Return the NA strings of a column that was read, also in the notation of computers."""
    return _spell_marks(framed_marks(name, reading) if framed else reading.marks(name), reading)


def _spell_marks(marks: Sequence[str], reading: Reading) -> list[str]:
    """Return NA strings as given and, where they are numbers in a declared notation, as computers write them."""
    if not (reading.decimal or reading.thousands):
        return list(marks)
    plain = plain_numbers(pa.array(marks, pa.string()), reading.decimal, reading.thousands).to_pylist()
    return [*marks, *(mark for mark in plain if mark is not None)]


def without_texts(column: pa.ChunkedArray, marks: Sequence[str]) -> pa.ChunkedArray:
    """Return a text column in which the given texts are missing, and absent from its dictionary."""
    encoded = column if isinstance(column.type, pa.DictionaryType) else column.cast(TEXT)
    wanted = pa.array(marks, pa.string())
    if not pc.any(pc.is_in(spellings(encoded), value_set=wanted)).as_py():
        return column
    whole = compact(encoded)
    gone = np.flatnonzero(pc.is_in(whole.dictionary, value_set=wanted).to_numpy(zero_copy_only=False))
    marked = pc.is_in(whole.indices, value_set=pa.array(gone, whole.indices.type))
    indices = pc.if_else(marked, pa.scalar(None, whole.indices.type), whole.indices)
    return pa.chunked_array([compact(pa.chunked_array([pa.DictionaryArray.from_arrays(indices, whole.dictionary)]))])
