"""What published labels mean by themselves: the ends of ranges, the members of sets, the groups of hierarchies.

A recoding publishes labels, and recipients have no original. Its labels are read by `label_spans` and `labels`, as any
reader does.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa

from indistinct.as_json import to_plain
from indistinct.document.blocks import ABSENT, Document, document, grid
from indistinct.document.result import Result
from indistinct.errors import InputError, SchemaError
from indistinct.figures import plural
from indistinct.hierarchy.taxonomy import ROOT
from indistinct.hierarchy.value import Hierarchy
from indistinct.recoding.label_spans import End, LabelSpan, Texts, kind_of_labels, shows_moments, span_of
from indistinct.recoding.outputs import ENDS, OR_MISSING, written_members, written_text_range
from indistinct.schema import where_is
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.value import ColumnLabels

LabelKind = Literal["value", "range", "set", "group", "everything", "missing"]


Value = int | float | date | datetime | str
MAX_WHOLE = 10**38
"""Larger numbers are floats: neither 64 bits nor a decimal of Arrow holds them."""


@dataclass(frozen=True, slots=True)
class LabelEntry:
    """The meaning of one published label.

    `kind` is a value, a range, a set, a group of a hierarchy, everything, or missing. `low` and `high` are the ends of
    a range, None where it is open; the lower one is inside, and the upper one if `high_inside`. `values` are the
    members of a set, or of a group where a hierarchy lists them. `missing` says that rows may have no value. `code` is
    what a statistics program stores for the label.
    """

    column: str
    label: str | None
    kind: LabelKind
    low: Value | None = None
    high: Value | None = None
    high_inside: bool = True
    values: tuple[str, ...] = ()
    missing: bool = False
    code: int | float | str | None = None

    @property
    def ends(self) -> tuple[Value | None, Value | None]:
        """The ends of a range, None where it is open or no range."""
        return (self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as plain JSON values, without its column; dates are texts."""
        ends = {"low": to_plain(self.low), "high": to_plain(self.high), "high_inside": self.high_inside}
        fields: dict[str, Any] = {"label": self.label, "kind": self.kind, **ends, "values": list(self.values)}
        return fields | {"missing": self.missing} | ({} if self.code is None else {"code": self.code})


MAX_LABELS_SHOWN = 40


def _ends_in_words(entry: LabelEntry) -> tuple[str, str]:
    """Return the ends of a range; one that is outside the range has a word for that."""
    low, high = (ABSENT if end is None else str(to_plain(end)) for end in entry.ends)
    return low, high if entry.high_inside or entry.high is None else f"below {high}"


def _members_in_words(entry: LabelEntry) -> str:
    return "" if entry.kind == "value" else ", ".join(entry.values)


HEADINGS = ("column", "label", "kind", "low", "high", "high_inside", "values", "missing", "code")


@dataclass(frozen=True, slots=True, repr=False)
class Codebook(Result):
    """The meaning of every published label, column by column.

    >>> book = codebook_of(pa.table({"age": ["[18-21]", "[22-30]", "[18-21]"]}))
    >>> [(entry.label, entry.low, entry.high) for entry in book.of("age")]
    [('[18-21]', 18, 21), ('[22-30]', 22, 30)]
    """

    entries: tuple[LabelEntry, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def document(self) -> Document:
        """Return each label of each column with its meaning."""
        title = f"Codebook of {plural(len(self), 'label')} of {plural(len(self.columns), 'column')}"
        rows = [
            (each.column, each.label or "missing", each.kind, *_ends_in_words(each), _members_in_words(each))
            for each in self.entries
        ]
        headings = ("column", "label", "kind", "low", "high", "values")
        table = grid("What labels mean", headings, rows, right=("low", "high"), most=MAX_LABELS_SHOWN)
        return document(title, *([table] if rows else []))

    def __iter__(self) -> Iterator[LabelEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that labels are explained of."""
        return tuple(dict.fromkeys(entry.column for entry in self.entries))

    def of(self, column: str) -> tuple[LabelEntry, ...]:
        """Return the labels of a column."""
        entries = tuple(entry for entry in self.entries if entry.column == column)
        if not entries:
            raise InputError(
                f"the codebook has no column {column!r}", hint=f"it has: {', '.join(self.columns) or 'none'}"
            )
        return entries

    @property
    def unpublished(self) -> dict[str, int]:
        """How many values of a column's groups no label shows, because only a hierarchy declares them."""
        counts = {}
        for name in self.columns:
            own = self.of(name)
            texts = {text for entry in own for text in (entry.label, *(entry.values if entry.kind == "set" else ()))}
            counts[name] = len({text for entry in own if entry.kind == "group" for text in entry.values} - texts)
        return {name: count for name, count in counts.items() if count}

    @property
    def table(self) -> pa.Table:
        """The codebook as a table of text: one row a label; `values` are a JSON list."""
        rows = [{"column": entry.column, **entry.to_json()} for entry in self.entries]
        for row in rows:
            row["values"] = json.dumps(row["values"], ensure_ascii=False) if row["values"] else None
        columns = {name: [row.get(name) for row in rows] for name in HEADINGS}
        return pa.table(
            {name: pa.array([_spell(cell) for cell in cells], pa.string()) for name, cells in columns.items()}
        )

    def to_json(self) -> dict[str, Any]:
        """Return the codebook as plain JSON values: the labels of each column."""
        return {name: [entry.to_json() for entry in self.of(name)] for name in self.columns}


def _spell(cell: Any) -> str | None:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return None if cell is None else str(cell)


def codebook_of(
    table: pa.Table,
    *,
    columns: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    labels: Mapping[str, ColumnLabels] | None = None,
) -> Codebook:
    """Return the meanings of the labels of a published table: of some columns, or of all that have labels.

    Groups of explicit `hierarchies` are listed with the values that these declare, in the table or not. `labels` are
    those that a statistics program stores with codes.
    """
    entries: list[LabelEntry] = []
    kinds: dict[str, Kind] = {}
    published = list(published_columns(table.column_names, columns))
    for name in columns or ():
        if name not in {each for each, _ in published}:
            raise SchemaError(
                f"the table has no column {name!r}, whose labels are asked for",
                hint=where_is(name, table.column_names, expected=columns or ()),
            )
    for name, outputs in published:
        own_labels = (labels or {}).get(name)
        kind, column_entries = _entries_of(table, name, outputs, (hierarchies or {}).get(name), own_labels)
        if columns is not None or told_by_labels(column_entries):
            entries += column_entries
            kinds[name] = kind
    return Codebook(tuple(entries), kinds)


def published_columns(present: Sequence[str], chosen: Sequence[str] | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each column by the name that it had, with the columns that it is published as.

    >>> list(published_columns(["age_from", "age_to", "age_missing", "sex"], None))
    [('age', ('age_from', 'age_to', 'age_missing')), ('sex', ('sex',))]
    """
    taken: set[str] = set()
    for name in present:
        for first, last in ENDS:
            base = name.removesuffix(first)
            if name.endswith(first) and base + last in present and base not in present and base:
                beside = (base + "_missing",) if base + "_missing" in present else ()
                taken |= {name, base + last, *beside}
                if chosen is None or base in chosen:
                    yield base, (name, base + last, *beside)
    for name in present:
        if name not in taken and (chosen is None or name in chosen):
            yield name, (name,)


def told_by_labels(entries: Sequence[LabelEntry]) -> bool:
    """Return whether a column shows anything but values of its own."""
    return any(entry.kind not in ("value", "missing") or entry.code is not None for entry in entries)


def _entries_of(
    table: pa.Table, name: str, outputs: tuple[str, ...], hierarchy: Hierarchy | None, labels: ColumnLabels | None
) -> tuple[Kind, list[LabelEntry]]:
    """Return the kind of a published column, and an entry for each of its labels."""
    rows = distinct_texts(table, outputs)
    declared = kind_of(table.schema.field(outputs[0]).type)
    if len(outputs) > 1:
        kind = kind_of_labels([text for row in rows for text in row[:2] if text is not None], declared)
        return kind, [_entry_of_ends(name, row, kind) for row in rows]
    texts = [row[0] for row in rows]
    present = [text for text in texts if text is not None]
    kind = kind_of_labels([text.removesuffix(OR_MISSING) for text in present], declared)
    groups, moments = _groups_of(hierarchy), kind is Kind.DATE and shows_moments(present)
    entries = [_entry_of(name, text, kind, groups, moments=moments) for text in texts]
    codes = {} if labels is None else labels.codes
    return kind, [replace(entry, code=codes.get(entry.label or "")) for entry in entries] if codes else entries


def distinct_texts(table: pa.Table, names: Sequence[str]) -> list[Texts]:
    """Return the distinct rows of some columns as texts, in the order of their values: never in that of rows."""
    columns = [table[name] for name in names]
    plain = [each.cast(each.type.value_type) if pa.types.is_dictionary(each.type) else each for each in columns]
    distinct = (
        pa.table(plain, names=list(names))
        .group_by(list(names))
        .aggregate([])
        .sort_by([(name, "ascending") for name in names])
    )
    return list(zip(*(column.cast(pa.string()).to_pylist() for column in distinct.columns), strict=True))


def _entry_of(
    name: str, text: str | None, kind: Kind, groups: Mapping[str, tuple[str, ...]], *, moments: bool
) -> LabelEntry:
    """Describe one label: a value, a range, a set, a group, missing, or everything."""
    if text is None:
        return LabelEntry(name, None, "missing", missing=True)
    inside, absent = text.removesuffix(OR_MISSING), text.endswith(OR_MISSING)
    if text == ROOT:
        return LabelEntry(name, text, "everything", missing=True)
    members = written_members(inside)
    if members is not None:
        known = tuple(member for member in members if member is not None)
        return LabelEntry(name, text, "set", values=known, missing=absent or None in members)
    if kind is not Kind.TEXT:
        span = span_of((inside,), kind, moments=moments)
        if span is not None:
            return _entry_of_span(name, text, span, absent=absent)
    if inside in groups:
        return LabelEntry(name, text, "group", values=groups[inside], missing=absent)
    ends = written_text_range(inside)
    if ends is not None:
        return LabelEntry(name, text, "range", *ends, missing=absent)
    masked = "*" in inside
    return LabelEntry(name, text, "group" if masked else "value", values=() if masked else (inside,), missing=absent)


def _entry_of_span(name: str, label: str, span: LabelSpan, *, absent: bool) -> LabelEntry:
    low, high = as_value(span.low), as_value(span.high)
    if low is not None and low == high and not absent:
        return LabelEntry(name, label, "value", low, high, values=(label,))
    return LabelEntry(name, label, "range", low, high, span.closed, missing=absent)


def _entry_of_ends(name: str, row: Texts, kind: Kind) -> LabelEntry:
    """Return the meaning of two published ends; the third text says whether some, or all, are missing."""
    low, high, *flags = row
    some = (flags or ["no"])[0] in ("some", "true")
    if low is None and high is None and flags and flags[0] in ("all", "true"):
        return LabelEntry(name, None, "missing", missing=True)
    label = f"[{low or ''} .. {high or ''}]"
    span = span_of((low, high), kind) or LabelSpan(None, None, True)
    return _entry_of_span(name, label, span, absent=some)


def as_value(end: End | None) -> Value | None:
    """Return an end as Python has it: a whole number, a number, a day or a moment."""
    if isinstance(end, Decimal):
        return int(end) if abs(end) < MAX_WHOLE and end == end.to_integral_value() else float(end)
    if end is not None and end == datetime(end.year, end.month, end.day):
        return end.date()
    return end


def _groups_of(hierarchy: Hierarchy | None) -> dict[str, tuple[str, ...]]:
    """Return the values below each label that a hierarchy declares one by one."""
    groups: dict[str, list[str]] = {}
    for value, *labels in hierarchy.listed if hierarchy is not None else ():
        for label in dict.fromkeys(labels):
            if label and value:
                groups.setdefault(label, []).append(value)
    return {label: tuple(values) for label, values in groups.items()}
