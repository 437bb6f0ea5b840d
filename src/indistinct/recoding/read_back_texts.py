"""What published texts mean: which values of a column's domain a value, a label, a range or a set stands for.

Where one text can mean several things, the finest is taken.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, assert_never

import numpy as np

from indistinct.arrays import Codes
from indistinct.domain import Kind
from indistinct.hierarchy.binding import ROOT
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.labels import OR_MISSING, WrittenRange, written_end, written_members, written_ranges

_TRUTH = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False, None: False}


class Span(NamedTuple):
    """Every value between two codes of a column that is no tree; `ends` says where ends lie that are no values."""

    low: int
    high: int
    absent: bool = False
    ends: tuple[float, float] | None = None

    @property
    def wide(self) -> bool:
        """Whether it covers more than one value."""
        return self.low < self.high or (self.absent and self.low == self.high) or self.ends is not None


class Node(NamedTuple):
    """A node of the column's hierarchy."""

    level: int
    node: int


class Members(NamedTuple):
    """A set of codes."""

    codes: tuple[int, ...]


Meaning = Span | Node | Members
Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """What texts can mean in a column, by their spelling and by the number or date that they spell."""

    column: QuasiColumn
    kind: Kind
    codes: Mapping[Hashable, int]
    nodes: Mapping[Hashable, tuple[int, int]]


def vocabulary_of(column: QuasiColumn, shown: Kind) -> Vocabulary:
    """Gather the values and labels of a column; numbers and dates may come back in another spelling."""
    kind = shown if column.textual else column.domain.kind
    codes: dict[Hashable, int] = {}
    for code, text in enumerate(column.domain.texts()):
        if text is not None:
            codes.setdefault(parsed(text, kind), code)
            codes[text] = code
    nodes: dict[Hashable, tuple[int, int]] = {}
    labels = () if column.taxonomy is None else column.taxonomy.labels
    for level in range(len(labels) - 1, 0, -1):
        for node, label in enumerate(labels[level]):
            if label is not None:
                nodes[parsed(label, kind)] = nodes[label] = (level, node)
    codes.pop(None, None)
    nodes.pop(None, None)
    return Vocabulary(column, kind, codes, nodes)


def meaning_of(vocabulary: Vocabulary, text: str | None, *more: str | None) -> Meaning | None:
    """Return what a published text, or two bounds, cover; None if they cannot be read."""
    if more:
        return _between(vocabulary, text, *more)
    column, codes = vocabulary.column, vocabulary.codes
    if text is None:
        # Delimited files have one spelling for missing and for the empty text.
        empty = 0 if column.domain.missing else codes.get("")
        return None if empty is None else _raw(column, empty)
    for key in (text, parsed(text, vocabulary.kind)):
        if key in codes:
            return _raw(column, codes[key])
        if key in vocabulary.nodes:
            return Node(*vocabulary.nodes[key])
    if text == ROOT:
        return _whole(column)
    members = written_members(text)
    if members is not None:
        return _members(vocabulary, members)
    absent = column.domain.missing and text.endswith(OR_MISSING)
    inside = text.removesuffix(OR_MISSING) if absent else text
    readings = (WrittenRange(inside, inside), *written_ranges(inside))
    spans = (span for written in readings if (span := _span(vocabulary, written)) is not None)
    return next((_fitted(column, span._replace(absent=absent)) for span in spans), None)


def _between(vocabulary: Vocabulary, first: str | None, last: str | None, missing: str | None = None) -> Meaning | None:
    """Return what published bounds cover: the lowest value, the highest one, and whether some are missing."""
    column, absent = vocabulary.column, _TRUTH.get(missing)
    if absent is None:
        return None
    if first is None and last is None:
        return _raw(column, 0) if column.domain.missing else None
    span = None if first is None or last is None else _span(vocabulary, WrittenRange(first, last))
    return None if span is None else _fitted(column, span._replace(absent=absent))


def _raw(column: QuasiColumn, code: int) -> Meaning:
    if column.tree:
        return Node(0, code)
    if not column.ranged:
        return Members((code,))
    if column.domain.missing and code == 0:
        return Span(len(column.domain), -1, absent=True)
    return Span(code, code)


def _whole(column: QuasiColumn) -> Meaning:
    if column.taxonomy is not None and column.taxonomy.rooted:
        return Node(column.taxonomy.height, 0)
    missing, line = column.domain.missing, column.positions
    ends = (float(line.min()), float(line.max()))
    return _fitted(column, Span(int(missing), len(column.domain) - 1, absent=missing, ends=ends))


def _members(vocabulary: Vocabulary, members: Texts) -> Members | None:
    missing = 0 if vocabulary.column.domain.missing else None
    found = {missing if text is None else _code(vocabulary, text) for text in members}
    known = sorted(code for code in found if code is not None)
    return Members(tuple(known)) if len(known) == len(found) else None


def _code(vocabulary: Vocabulary, text: str) -> int | None:
    codes = vocabulary.codes
    return codes.get(text, codes.get(parsed(text, vocabulary.kind)))


def _span(vocabulary: Vocabulary, written: WrittenRange) -> Span | None:
    """Return the values of a range; ends that no row has may stand in ranges of numbers and dates."""
    column, domain = vocabulary.column, vocabulary.column.domain
    quoted = not domain.ordered and not column.tree and written.first != written.last
    ends = map(written_end, written[:2]) if quoted else written[:2]
    low, high = (_code(vocabulary, end) for end in ends)
    if low is not None and high is not None and written.closed:
        return Span(low, high) if low <= high and (domain.ordered or not column.tree or low == high) else None
    if domain.declared or column.textual:
        return None
    first, last = (parsed(text, vocabulary.kind) for text in written[:2])
    if (first is None and written.first) or (last is None and written.last) or (first == last and first is not None):
        return None
    line = column.positions[domain.missing :]
    start, end = line[0] if first is None else place_on_line(first), line[-1] if last is None else place_on_line(last)
    low = int(np.searchsorted(line, start)) + domain.missing
    high = int(np.searchsorted(line, end, "right" if written.closed else "left")) + domain.missing - 1
    return Span(low, high, ends=(max(start, line[0]), min(end, line[-1]))) if low <= high else None


def _fitted(column: QuasiColumn, span: Span) -> Meaning:
    """Return a span in the form in which a column's loss is measured."""
    if column.ranged or (span.ends is None and not column.tree and span.low < span.high):
        return span  # a range of texts is measured as a set, but need not be one
    return Members((*((0,) if span.absent else ()), *range(span.low, span.high + 1)))


def parsed(text: str, kind: Kind) -> Decimal | datetime | None:
    """Return the number or the date that a text spells, which other spellings of it share."""
    try:
        match kind:
            case Kind.NUMBER:
                size = Decimal(text)
                return size if size.is_finite() else None
            case Kind.DATE:
                moment = datetime.fromisoformat(text)
                return moment if moment.tzinfo is None else None
            case Kind.TEXT:
                return None
    except (InvalidOperation, ValueError):
        return None


def place_on_line(value: Decimal | datetime) -> float:
    """Return where a number or a date lies on a column's line."""
    if isinstance(value, Decimal):
        return float(value)
    return (value - datetime(1970, 1, 1)) / timedelta(days=1)


def covered_codes(column: QuasiColumn, meaning: Meaning) -> Codes:
    """Return the codes of the column's values that a published one stands for, ascending."""
    match meaning:
        case Span(low, high, absent):
            return np.concatenate([np.zeros(int(absent), dtype=np.int64), np.arange(low, high + 1)])
        case Node(level, node):
            assert column.taxonomy is not None  # noqa: S101  (labels come from one)
            return np.flatnonzero(column.taxonomy.ancestors[:, level] == node)
        case Members(codes):
            return np.array(codes, dtype=np.int64)
        case _:
            assert_never(meaning)
