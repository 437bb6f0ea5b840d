"""What a first look proposes to declare about a file: notations of numbers and dates, and NA strings.

NA strings are no person's values and may be shown; no other value is.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.figures import plural
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.inference import KINDS, are_dates, convert_values, mixture_of
from indistinct.tables.marks import are_marks, date_marks, is_mark, number_marks
from indistinct.tables.notation import FEW, MAX_TEXTS_JUDGED, Notation, is_future, likely_notation, moments
from indistinct.tables.opening import open_table
from indistinct.tables.several import is_delimited
from indistinct.tables.value import Reading, Table

CODE = "^[0-9]+$"
LEADING_ZERO = "^0[0-9]"


@dataclass(slots=True)
class _Proposals:
    """The findings so far: notations and NA strings by column, columns of text, and a sentence about each.

    NA strings in `among_dates` apply to their column only: a text that is no date in one column may be a value in
    another.
    """

    notations: dict[str, Notation] = field(default_factory=dict)
    marks: dict[str, dict[str, int]] = field(default_factory=dict)
    among_dates: dict[str, dict[str, int]] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    findings: dict[str, list[str]] = field(default_factory=dict)

    def say(self, column: str, sentence: str) -> None:
        self.findings.setdefault(column, []).append(sentence)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A table read with the proposed declarations (`table.reading`), and the findings by column, in sentences."""

    table: Table
    findings: dict[str, tuple[str, ...]]


def propose(table: Table) -> Proposal:
    """Return the table with all notations and NA strings declared that its columns show."""
    table, proposals = _without_blanks(table), _Proposals()
    for name in table.columns:
        if name not in table.reading.named_columns and is_text(table.data[name].type):
            _look_at_text(name, table.data[name], proposals)
    _settle_grouped(table, proposals)
    read = _read_again(table, _declare_notations(table, proposals), proposals)
    reading = read.reading
    for name in read.columns:
        if name not in table.reading.missing_in:
            _look_at_values(name, read.data[name], proposals)
    last = _read_again(read, _with_marks(read, reading, proposals), proposals)
    unclear = tuple(
        name for name in last.columns if name not in last.reading.text and _is_unclear(name, last, proposals)
    )
    if unclear:
        last = open_table(last, reading=replace(last.reading, text=(*last.reading.text, *unclear)))
    findings = {name: tuple(proposals.findings[name]) for name in table.columns if name in proposals.findings}
    return Proposal(last, findings)


def _without_blanks(table: Table) -> Table:
    """Return the table read without blanks around fields, where they follow nearly every delimiter."""
    blank = any(name != name.strip() for name in table.columns[1:]) and not table.reading.trim
    if not blank or table.reading.columns or not table.files or not is_delimited(table.files[0]):
        return table
    again = open_table(list(table.files), reading=replace(table.reading, trim=True))
    read = replace(again, name=table.name, path=table.path)
    return replace(read, notes=(*read.notes, "fields have blanks around them, which are left out: trim"))


def _is_unclear(name: str, table: Table, proposals: _Proposals) -> bool:
    """Return whether a column of text would be refused as quasi-identifier unless it is declared to be text."""
    column = table.data[name]
    if not is_text(column.type):
        return False
    texts = pa.array([text for text in _count_texts(column) if text], pa.string())
    slip = mixture_of(texts)
    if slip is None:
        return likely_notation(texts) is not None
    kind, strangers = slip
    which = "none is written plainly" if len(strangers) == len(texts) else f"{len(strangers):,} of them are none"
    proposals.say(
        name, f"looks like {kind}, but of {len(texts):,} distinct values {which}: text until the cells are corrected"
    )
    return True


def _look_at_text(name: str, column: pa.ChunkedArray, proposals: _Proposals) -> None:
    """Find NA strings and the notation of the other texts."""
    counts = {text: rows for text, rows in _count_texts(column).items() if text}
    marks = {text: rows for text, rows in counts.items() if is_mark(text, others=counts)}
    rest = pa.array([text for text in counts if text not in marks], pa.string())
    notation = likely_notation(rest)
    strange = strangers_among_dates(rest, notation)
    if strange and are_marks(strange, counts):
        proposals.among_dates[name] = {text: counts[text] for text in strange}
        rest = rest.filter(pc.invert(pc.is_in(rest, value_set=pa.array(strange, pa.string()))))
        notation = likely_notation(rest)
    plain = convert_values(pa.chunked_array([rest], pa.string()), KINDS) is not None
    refused = None if notation is None else _reason_against(notation, counts)
    if refused is not None:
        proposals.text.append(name)
        proposals.say(name, refused)
        return
    if notation is not None and notation.strangers:
        proposals.text.append(name)
        proposals.say(
            name,
            f"looks like {notation.what} ({' or '.join(notation.lines(name))}), except "
            f"{plural(len(notation.strangers), 'distinct value')}: correct "
            " them or declare them as marks for missing",
        )
        return
    if notation is not None:
        proposals.notations[name] = notation
    elif not plain:
        marks = {text: rows for text, rows in marks.items() if rows > 1}
        if _is_coded(rest):
            proposals.text.append(name)
            proposals.say(name, "codes with leading zeros: text")
    if marks:
        proposals.marks[name] = marks


def strangers_among_dates(texts: pa.Array, notation: Notation | None) -> tuple[str, ...]:
    """Return the few texts of a date column that are no dates in its notation or in ISO 8601.

    >>> strangers_among_dates(pa.array(["2024-01-31", "2024-02-01", "2024-02-02", "2024-02-03", "-99"]), None)
    ('-99',)
    """
    if notation is not None:
        return notation.strangers if notation.dates else ()
    strange = tuple(texts.filter(pc.invert(are_dates(texts))).to_pylist())
    return strange if 0 < len(strange) <= FEW and len(texts) - len(strange) >= 4 * len(strange) else ()


def _reason_against(notation: Notation, counts: Mapping[str, int]) -> str | None:
    """Return why dates cannot be converted, None if they can."""
    if notation.eras:
        return f"{notation.what}: text until they are written as 1979-06-05"
    short = [form for form in notation.dates if "%y" in form]
    if not short:
        return None
    late = is_future(moments(pa.array(counts, pa.string()), short[0])).fill_null(False).to_pylist()
    rows = sum(count for count, future in zip(counts.values(), late, strict=True) if future)
    words = f"dates with years of two digits: with {short[0]} {rows:,} row{'s' * (rows != 1)} would lie in the future"
    return f"{words}; text until they have four digits" if rows else None


def _is_coded(texts: pa.Array) -> bool:
    digits = pc.all(pc.match_substring_regex(texts, CODE)).as_py()
    return bool(len(texts) and digits and pc.any(pc.match_substring_regex(texts, LEADING_ZERO)).as_py())


def _settle_grouped(table: Table, proposals: _Proposals) -> None:
    """Decide what points and commas mean: with a decimal comma in any column, a point separates thousands."""
    pointed = [
        name
        for name in table.columns
        if pa.types.is_floating(table.data[name].type) and name not in table.grouped and table.path is not None
    ]
    sure = [each for each in proposals.notations.values() if not each.dates and not each.ambiguous]
    for name, each in proposals.notations.items():
        if each.ambiguous and pointed and not any(other.decimal for other in sure):
            proposals.notations[name] = Notation(thousands=each.decimal)
    comma = any(each.decimal == "," for each in proposals.notations.values())
    for name in table.grouped:
        if comma or not pointed:
            proposals.notations[name] = Notation(decimal=",", thousands=".")
            comma = True
    if comma:
        proposals.types.update(dict.fromkeys(pointed, "plain-number"))


def _declare_notations(table: Table, proposals: _Proposals) -> Reading:
    """Return the reading that declares every notation found, and the NA strings among texts."""
    before = table.reading
    numbers = {name: each for name, each in proposals.notations.items() if not each.dates}
    decimal = before.decimal or _most([each.decimal for each in numbers.values()])
    thousands = before.thousands or _most([each.thousands for each in numbers.values()])
    if thousands == (decimal or "."):
        thousands = None
    for name, each in numbers.items():
        if each.decimal not in (None, decimal) or each.thousands not in (None, thousands):
            proposals.text.append(name)
            proposals.say(name, f"looks like numbers ({each.lines(name)[0]}), which other columns write differently")
        else:
            signed = "a currency sign, a per cent sign or full-width digits: " * each.signed
            proposals.say(name, f"numbers with {signed}{each.lines(name)[0]}")
            if each.signed:
                proposals.types[name] = "number"
    forms = _forms(proposals)
    usual = _most(list(forms.values()))
    for name, form in forms.items():
        others = [f"{other}" for other in proposals.notations[name].dates if other != form]
        short = ", with years of two digits: 69 to 99 are 19xx" * ("%y" in form)
        proposals.say(name, f"dates as {form}{short}" + (f", or {' or '.join(others)}: check which" if others else ""))
    marks = dict.fromkeys(mark for each in proposals.marks.values() for mark in each)
    for name, counted in (*proposals.marks.items(), *proposals.among_dates.items()):
        for mark, rows in counted.items():
            proposals.say(name, looks_missing(mark, rows))
    own = {name: (*before.missing_in.get(name, ()), *each) for name, each in proposals.among_dates.items()}
    return replace(
        before,
        decimal=decimal,
        thousands=thousands,
        dates=tuple(dict.fromkeys((*before.dates, *([usual] if usual else [])))),
        dates_in={**before.dates_in, **{name: form for name, form in forms.items() if form != usual}},
        missing=tuple(dict.fromkeys((*before.missing, *marks))),
        missing_in={**before.missing_in, **own},
        text=tuple(dict.fromkeys((*before.text, *proposals.text))),
        types={**before.types, **proposals.types},
    )


def _forms(proposals: _Proposals) -> dict[str, str]:
    """Return a date format for each column; ambiguous ones follow the columns where day and month are clear."""
    choices = {name: each.dates for name, each in proposals.notations.items() if each.dates}
    sure = Counter(each[0] for each in choices.values() if len(each) == 1)
    orders = Counter(_order(form) for form in sure.elements())
    return {
        name: max(each, key=lambda form: (sure[form], orders[_order(form)], -each.index(form)))
        for name, each in choices.items()
    }


def _order(form: str) -> bool:
    """Return whether the day comes before the month."""
    return form.find("%d") < max(form.find("%m"), form.find("%b"))


def _look_at_values(name: str, column: pa.ChunkedArray, proposals: _Proposals) -> None:
    """Propose values of a column that may mean missing."""
    kind = kind_of(column.type)
    if kind is Kind.NUMBER:
        marks = number_marks(column)
    elif kind is Kind.DATE:
        marks = date_marks(column)
    else:
        return
    if marks:
        proposals.marks[name] = marks
        for mark, rows in marks.items():
            proposals.say(name, looks_missing(mark, rows))
    else:
        proposals.marks.pop(name, None)


def _with_marks(table: Table, reading: Reading, proposals: _Proposals) -> Reading:
    """Return a reading with the NA values among numbers and dates: negative ones apply to all columns.

    Others apply to their columns only: 999 may be a price elsewhere.
    """
    typed_columns = [name for name in table.columns if not is_text(table.data[name].type)]
    several = {name: proposals.marks[name] for name in typed_columns if name in proposals.marks}
    everywhere = list(
        dict.fromkeys(
            mark
            for marks in several.values()
            for mark in marks
            if mark.startswith("-") and all(mark in several.get(other, ()) for other in _holding(table, mark))
        )
    )
    own = {name: tuple(mark for mark in marks if mark not in everywhere) for name, marks in several.items()}
    return replace(
        reading,
        missing=tuple(dict.fromkeys((*reading.missing, *everywhere))),
        missing_in={**reading.missing_in, **{name: marks for name, marks in own.items() if marks}},
    )


def _holding(table: Table, mark: str) -> list[str]:
    """Return the numeric columns that contain the number of an NA string."""
    value = pa.scalar(float(mark))
    numbers = [name for name in table.columns if kind_of(table.data[name].type) is Kind.NUMBER]
    return [
        name for name in numbers if pc.any(pc.equal(table.data[name].cast(pa.float64(), safe=False), value)).as_py()
    ]


def _read_again(table: Table, reading: Reading, proposals: _Proposals) -> Table:
    """Return the table read with the proposals; a column that does not fit them stays text."""
    if reading == table.reading:
        return table
    try:
        return open_table(table.path or table.data, reading=reading)
    except InputError as error:
        name = error.details.get("column")
        if name is None or name in table.reading.named_columns:
            raise
        proposals.say(name, "mixes notations: correct its cells, or declare what they are")
        types, dates = dict(reading.types), dict(reading.dates_in)
        types.pop(name, None)
        dates.pop(name, None)
        rest = replace(reading, text=(*reading.text, name), types=types, dates_in=dates)
        return _read_again(table, rest, proposals)


def looks_missing(mark: str, rows: int) -> str:
    """Return the sentence about an NA string."""
    return f"{mark} in {rows:,} row{'s' if rows > 1 else ''} looks like a mark for missing"


def _count_texts(column: pa.ChunkedArray) -> dict[str, int]:
    """Return the texts of a column with their rows; of very many texts, those that repeat and some others."""
    counts = pc.value_counts(column.cast(pa.string()))
    if len(counts) > MAX_TEXTS_JUDGED:
        several = pc.greater(counts.field("counts"), 1)
        once = counts.filter(pc.invert(several))
        some = once.take(pa.array(range(0, len(once), 1 + len(once) // MAX_TEXTS_JUDGED), pa.int64()))
        counts = pa.concat_arrays([counts.filter(several).slice(0, MAX_TEXTS_JUDGED), some])
    pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return {text: rows for text, rows in pairs if text is not None}


def _most(items: list[str | None]) -> str | None:
    counts = Counter(item for item in items if item is not None)
    return counts.most_common(1)[0][0] if counts else None
