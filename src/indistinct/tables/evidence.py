"""A column's reading, decided on texts that come block by block, so that an engine need not hold them all.

What `declared` decides on a whole column at once is decided here in two passes, by the same rules: the first one
gathers evidence, the second one converts. A law compares both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.machine.arrays import Codes
from indistinct.tables.declared import ISO, MEANT, marks_of, without_texts, without_values
from indistinct.tables.dictionaries import TEXT, is_text
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.inference import KINDS, MOMENTS, convert_values, spellings
from indistinct.tables.misfits import LINES, FutureError, MisfitError
from indistinct.tables.notation import CLOCK, is_future, moments, plain_numbers, signs_of, without_signs
from indistinct.tables.value import Reading

# Numbers become wider, dates and times have nothing in common with anything.
WIDENING = (pa.int64(), pa.decimal128(38, 0), pa.float64())
WHOLE, INTEGERS = "^-?[0-9]+$", "^-?[0-9]{1,18}$"
# Texts of a column that are kept, to say what it looks like.
KEPT = 1000


@dataclass(slots=True)
class Misfits:
    """Cells that do not fit, as they are met: how many, the first of them, and of how many."""

    count: int = 0
    late: int = 0
    first: list[int] = field(default_factory=list)
    cells: int = 0

    def add(self, column: pa.ChunkedArray, lost: Codes, late: Codes, *, start: int) -> None:
        """Take what a block of cells lost, and which of its dates lie in the future."""
        self.cells += len(column) - column.null_count
        self.count, self.late = self.count + len(lost), self.late + len(late)
        self.first += [start + int(row) for row in (lost if self.count else late)[: LINES + 1 - len(self.first)]]


@dataclass(slots=True)
class Evidence:
    """What the texts of one column say so far; `framed` is a column that has the type text, and stays so by default.

    `kind` is the narrowest type that all texts have in the notation that was declared, None before the first text, and
    text where there is none. `fitting` and `straying` count the texts that fit each date format, or do not.
    """

    name: str
    reading: Reading
    framed: bool = False
    kind: pa.DataType | None = None
    shown: bool = False
    empty: bool = False
    integers: bool | None = None
    first: str | None = None
    signs: set[str] = field(default_factory=set)
    fitting: dict[str, int] = field(default_factory=dict)
    straying: dict[str, int] = field(default_factory=dict)
    texts: list[pa.Array] = field(default_factory=list)

    def add(self, column: pa.ChunkedArray) -> None:
        """Take a block of a text column, in which marks for missing are missing."""
        texts = pc.drop_null(spellings(column)).unique()
        if not len(texts):
            return
        if sum(map(len, self.texts)) < KEPT:
            self.texts.append(texts.slice(0, KEPT))
        reading, declared = self.reading, self.reading.types.get(self.name)
        self.empty |= bool(pc.any(pc.equal(texts, "")).as_py())
        texts = texts.filter(pc.not_equal(texts, ""))
        if not len(texts) or self._is_text():
            return
        self.first = texts[0].as_py() if self.first is None else self.first
        for form in self.forms():
            strays = moments(texts, form).null_count
            self.fitting[form] = self.fitting.get(form, 0) + len(texts) - strays
            self.straying[form] = self.straying.get(form, 0) + strays
        if self.name in reading.dates_in or declared in ISO:
            return
        if declared is not None:
            self.signs |= signs_of(texts)
            plain = self._numbers(texts, signed=True)
            whole = bool(pc.all(pc.match_substring_regex(plain, INTEGERS)).as_py())
            self.integers = whole and self.integers is not False
            return
        marks = [mark for mark in (reading.decimal, reading.thousands) if mark]
        self.shown |= any(pc.any(pc.match_substring(texts, mark)).as_py() for mark in marks)
        if self.kind is None or not is_text(self.kind):
            self.kind = _wider(self.kind, self._kind_of(texts))

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
        """Return how the column is read, now that all texts were seen."""
        declared, marks = self.reading.types.get(self.name), marks_of(self.name, self.reading, framed=self.framed)
        if self._is_text():
            return Plan(self, None)
        if self.name in self.reading.dates_in:
            return Plan(self, None, self._best(), f"the date format {self._best()!r}", marks=marks)
        if declared in ISO:
            return Plan(self, None, self._best(), f"the type {declared}", marks=marks)
        if declared is not None:
            kind = pa.int64() if self.integers else pa.float64()
            return Plan(self, kind, declared=f"the type {declared}", marks=marks)
        if self.kind is not None and not is_text(self.kind):
            return Plan(self, self.kind if self._is_wanted() else None, marks=marks)
        best = self._best()
        if best and self.fitting.get(best):
            return Plan(self, None, best, f"the date format {best!r}", doubtful=self.straying[best] > 0, marks=marks)
        return Plan(self, None, marks=marks)

    @property
    def form(self) -> str | None:
        """Return the date format for all columns that this one has, if it has one."""
        plan = self.decide()
        if plan.form is not None:
            return None if plan.doubtful else plan.form
        if plan.kind is None or kind_of(plan.kind) is not Kind.DATE or self.first is None:
            return None
        first = pa.array([self.first])
        return next((form for form in self.reading.dates if moments(first, form).null_count == 0), None)

    def _is_text(self) -> bool:
        return self.name in self.reading.text or self.reading.types.get(self.name) == "text"

    def _is_wanted(self) -> bool:
        """Return whether a column that was text already becomes what its texts spell."""
        if not self.framed or self.kind is None:
            return True
        if kind_of(self.kind) is Kind.NUMBER:
            return self.shown
        first = pa.array([self.first])
        return any(moments(first, form).null_count == 0 for form in self.reading.dates)

    def _best(self) -> str | None:
        return min(self.forms(), key=lambda form: self.straying.get(form, 0), default=None)

    def _kind_of(self, texts: pa.Array) -> pa.DataType:
        values, kinds = self._values(texts), KINDS
        if values is None:
            values, kinds = texts, MOMENTS
        found = convert_values(pa.chunked_array([values]), kinds)
        return pa.string() if found is None else found[0].type

    def _values(self, texts: pa.Array) -> pa.Array | None:
        """Return texts with numbers as computers write them; None if one is no number in the declared notation."""
        reading = self.reading
        if not (reading.decimal or reading.thousands):
            return texts
        plain = plain_numbers(texts, reading.decimal, reading.thousands)
        return None if plain.null_count > texts.null_count else plain

    def _numbers(self, texts: pa.Array, *, signed: bool) -> pa.Array:
        """Return what was declared to be numbers as computers write them, missing where it is none."""
        reading, kind = self.reading, self.reading.types[self.name]
        marks = (None, None) if kind == "plain-number" else (reading.decimal, reading.thousands)
        plain = plain_numbers(without_signs(texts) if signed else texts, *marks)
        plain = pc.replace_substring_regex(plain, r"^\+", "")
        if kind == "integer":
            plain = pc.if_else(pc.match_substring_regex(plain, WHOLE), plain, pa.scalar(None, pa.string()))
        return plain


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How a column is read: as a type, in a date format, or else as text.

    `doubtful` says that some texts do not fit the format, and that the share of those that do decides.
    """

    evidence: Evidence
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
        """Return a block of the column, whose rows begin at `start`; what does not fit is noted, and missing."""
        if is_text(self.type):
            return column.cast(pa.string())
        column = without_texts(column.cast(TEXT), ("",))
        parts = [self._converted(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        read = pa.chunked_array(parts, self.type)
        late = np.zeros(0, dtype=np.int64)
        if self.form is not None and "%y" in self.form:
            late = np.flatnonzero(is_future(read).fill_null(False).to_numpy())
        lost = np.zeros(0, dtype=np.int64)
        if read.null_count > column.null_count:
            lost = np.flatnonzero(pc.and_(pc.is_valid(column), pc.is_null(read)).to_numpy())
        self.misfits.add(column, lost, late, start=start)
        return without_values(read, self.marks)

    def misfit(self) -> MisfitError | None:
        """Return the error of the cells that do not fit, None if all do."""
        rows, count = np.array(self.misfits.first, dtype=np.int64), self.misfits.count
        name, cells = self.evidence.name, self.misfits.cells
        if count:
            texts = pa.chunked_array(self.evidence.texts, pa.string())
            return MisfitError(name, self.declared, rows, cells=cells, texts=texts, count=count)
        if self.misfits.late:
            return FutureError(name, self.form or "", rows, cells=cells, count=self.misfits.late)
        return None

    def _converted(self, texts: pa.Array) -> pa.Array:
        evidence = self.evidence
        if self.form is not None:
            return moments(texts, self.form)
        if self.declared:
            return evidence._numbers(texts, signed=len(evidence.signs) < 2).cast(self.type)
        values = evidence._values(texts)
        return (texts if values is None else values).cast(self.type)


def is_meant(share: float) -> bool:
    """Return whether a format for all columns that fits this share of a column's distinct texts is meant for it."""
    return share >= MEANT


def _wider(one: pa.DataType | None, other: pa.DataType) -> pa.DataType:
    """Return the narrowest type that both texts of one type and of another have."""
    if one is None or one == other:
        return other
    if one in WIDENING and other in WIDENING:
        return max(one, other, key=WIDENING.index)
    return pa.string()


def looks_empty(texts: Sequence[pa.ChunkedArray]) -> Codes:
    """Return the rows that have no text in any column, or a mark for missing."""
    blank: np.ndarray | None = None
    for column in texts:
        none = pc.or_kleene(pc.is_null(column), pc.equal(column.cast(pa.string()), "")).fill_null(True).to_numpy()
        blank = none if blank is None else blank & none
        if not blank.any():
            break
    return np.flatnonzero(blank) if blank is not None else np.zeros(0, dtype=np.int64)
