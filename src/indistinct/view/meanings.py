"""What published texts mean: which values of a column's domain a value, a label, a range or a set covers.

Where one text can mean several things, the finest is taken.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple, assert_never

import numpy as np
import pyarrow as pa

from indistinct.hierarchy.taxonomy import ROOT
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.label_spans import (
    ALL,
    NO,
    SOME,
    End,
    Texts,
    end_of_day,
    first_inside,
    last_inside,
    parse_value,
    parse_values,
    place_on_line,
    span_of,
)
from indistinct.recoding.outputs import (
    OR_MISSING,
    WrittenRange,
    written_end,
    written_members,
    written_ranges,
    written_text_range,
)
from indistinct.tables.domain import Kind
from indistinct.view.cover import Cover, cover_of_codes, joined_covers

_TRUTH = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False, None: False}
# The third value with the ends of ranges that are published as columns; an end that is missing there is open.
_MISSING = {NO: False, SOME: True, ALL: True}


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


def node_of(meaning: Meaning) -> Node | None:
    """Return the node that a published value is, None where it is a range or a set."""
    return meaning if isinstance(meaning, Node) else None


def has_ends_between_values(meaning: Meaning) -> bool:
    """Return whether a published value is a range whose ends are not values of the column."""
    return isinstance(meaning, Span) and meaning.ends is not None


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What texts can mean in a column, by the text and by the number or date in it."""

    column: QuasiColumn
    kind: Kind
    codes: Mapping[Hashable, int]
    nodes: Mapping[Hashable, tuple[int, int]]

    @cached_property
    def moments(self) -> bool:
        """Whether the column has times of day, so that a label which names a day covers all of it."""
        return pa.types.is_timestamp(self.column.domain.values.type)

    @cached_property
    def ordered(self) -> bool:
        """Whether a range of values means something."""
        return self.column.domain.ordered

    @cached_property
    def has_names(self) -> bool:
        """Whether values are names, so that a range cannot end between two of them."""
        return self.column.domain.declared or self.column.textual

    @cached_property
    def narrow(self) -> bool:
        """Whether the values are float32."""
        return bool(pa.types.is_float32(self.column.domain.values.type))

    def code(self, text: str) -> int | None:
        """Return the code of a value given as text, None if the column does not have it."""
        code = self.codes.get(text)
        return self.codes.get(self.parse(text)) if code is None else code

    def parse(self, text: str) -> End | None:
        """Parse a number or a date of this column; float32 values may be written with the digits of a float64."""
        if self.kind is Kind.TEXT:
            return None
        value = parse_value(text, self.kind)
        if not self.narrow or not isinstance(value, Decimal):
            return value
        with np.errstate(over="ignore"):
            return parse_value(str(np.float32(float(value))), self.kind)

    @cached_property
    def nodes_by_ends(self) -> dict[tuple[float, float], Node]:
        """The nodes of the hierarchy that are ranges, by their first and their last value."""
        nodes: dict[tuple[float, float], Node] = {}
        kind = self.column.domain.values.type
        for text, node in self.nodes.items():
            if isinstance(text, str) and text != ROOT:
                span = span_of((text,), self.kind, moments=self.moments)
                if span is not None:
                    ends = first_inside(span, kind), last_inside(span, kind)
                    nodes.setdefault(_ends_on_line(*ends), Node(*node))
        return nodes

    @cached_property
    def numbers(self) -> Codes:
        """The known values as numbers of their own type; dates as positions."""
        values = self.column.domain.values
        if pa.types.is_decimal(values.type):
            return np.array(values.to_pylist(), dtype=object)
        if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
            return values.to_numpy(zero_copy_only=False)
        return self.column.positions[self.column.domain.missing :]

    def count_before(self, end: End, *, reached: bool = False) -> int:
        """Count the values before an end, or up to it if it is `reached`.

        A line has places of double precision: large whole numbers share one, and a narrow float differs from its
        decimal text.
        """
        known = self.numbers
        if np.issubdtype(known.dtype, np.integer) and isinstance(end, Decimal):
            first = math.floor(end) + 1 if reached else math.ceil(end)  # the first whole number that is not counted
            limits = np.iinfo(known.dtype)
            if not limits.min <= first <= limits.max:
                return 0 if first < 0 else len(known)
            return int(np.searchsorted(known, known.dtype.type(first)))
        if known.dtype == object:
            return int(np.searchsorted(known, end, "right" if reached else "left"))  # type: ignore[call-overload]
        with np.errstate(over="ignore"):
            value = known.dtype.type(place_on_line(end))
        return int(np.searchsorted(known, value, "right" if reached else "left"))


def vocabulary_of(column: QuasiColumn, published_kind: Kind) -> Vocabulary:
    """Return the values and labels of a column; numbers and dates may be written differently in a file."""
    kind = published_kind if column.textual else column.domain.kind
    codes: dict[Hashable, int] = {}
    missing = int(column.domain.missing)
    texts = [text or "" for text in column.domain.texts()[missing:]]
    for code, (text, value) in enumerate(zip(texts, parse_values(texts, kind), strict=True), start=missing):
        codes.setdefault(value, code)
        codes[text] = code
    nodes: dict[Hashable, tuple[int, int]] = {}
    labels = () if column.taxonomy is None else column.taxonomy.labels
    for level in range(len(labels) - 1, 0, -1):
        values = parse_values([label or "" for label in labels[level]], kind)
        for node, (label, value) in enumerate(zip(labels[level], values, strict=True)):
            if label is not None:
                nodes[value] = nodes[label] = (level, node)
    codes.pop(None, None)
    nodes.pop(None, None)
    return Vocabulary(column, kind, codes, nodes)


def meaning_of(vocabulary: Vocabulary, text: str | None, *more: str | None) -> Meaning | None:
    """Return the values that a published text, or two bounds, cover; None if they cannot be read."""
    if more:
        return _between(vocabulary, text, *more)
    column, codes = vocabulary.column, vocabulary.codes
    if text is None:
        # Delimited files write missing and the empty text in the same way.
        empty = 0 if column.domain.missing else codes.get("")
        return None if empty is None else _raw(column, empty)
    if text == ROOT:
        # Also where it is a value of the original: a reader cannot tell that value from a suppressed one.
        return _whole(column)
    known = _look_up(vocabulary, text)
    if known is None and vocabulary.kind is not Kind.TEXT:
        known = _look_up(vocabulary, vocabulary.parse(text))
    if known is not None:
        return known
    members = written_members(text) if text.startswith("{") else None
    if members is not None:
        return _members(vocabulary, members)
    absent = column.domain.missing and text.endswith(OR_MISSING)
    inside = text.removesuffix(OR_MISSING) if absent else text
    # Without the suffix a value was looked up above; a day also covers all of its timestamps.
    single = [WrittenRange(inside, inside)] if absent or vocabulary.moments else []
    for written in (*single, *written_ranges(inside)):
        span = _span(vocabulary, written, whole_days=vocabulary.moments)
        if span is not None:
            return _fit_span(column, span._replace(absent=absent))
    return None


def _look_up(vocabulary: Vocabulary, key: Hashable) -> Meaning | None:
    """Return the value or the node with this label."""
    if key in vocabulary.codes:
        return _raw(vocabulary.column, vocabulary.codes[key])
    return Node(*vocabulary.nodes[key]) if key in vocabulary.nodes else None


def _between(vocabulary: Vocabulary, first: str | None, last: str | None, missing: str | None = None) -> Meaning | None:
    """Return the values between two published ends; the third column says whether some are missing."""
    column = vocabulary.column
    if missing in _MISSING:
        return _between_open_ends(vocabulary, first or "", last or "", missing)
    absent = _TRUTH.get(missing)
    if absent is None:
        return None
    if first is None and last is None:
        return _raw(column, 0) if column.domain.missing else None
    span = None if first is None or last is None else _span(vocabulary, WrittenRange(first, last))
    return None if span is None else _fit_span(column, span._replace(absent=absent))


def _between_open_ends(vocabulary: Vocabulary, first: str, last: str, missing: str) -> Meaning | None:
    """Return the values between two ends, which may be open; `missing` is one of none, some, all."""
    column, absent = vocabulary.column, _MISSING[missing]
    if absent and not column.domain.missing:
        return None
    if missing == ALL:
        return _raw(column, 0)
    if not first and not last and absent == column.domain.missing:
        return _whole(column)
    low, high = (parse_value(text, vocabulary.kind) for text in (first, last))
    if (low is None and first) or (high is None and last):
        return None
    ends = _ends_on_line(low, high)
    if first != last and not absent and ends in vocabulary.nodes_by_ends:
        return vocabulary.nodes_by_ends[ends]
    span = _span(vocabulary, WrittenRange(first, last))
    return None if span is None else _fit_span(column, span._replace(absent=absent))


def _ends_on_line(low: End | None, high: End | float | None) -> tuple[float, float]:
    """Return two ends as floats; open ends are infinite."""
    return -np.inf if low is None else place_on_line(low), np.inf if high is None else place_on_line(high)


def _raw(column: QuasiColumn, code: int) -> Meaning:
    """Return the meaning of an unmodified value."""
    if column.tree:
        return Node(0, code)
    if not column.ranged:
        return Members((code,))
    if column.domain.missing and code == 0:
        return Span(len(column.domain), -1, absent=True)
    return Span(code, code)


def _whole(column: QuasiColumn) -> Meaning:
    """Return the meaning of a star: the whole domain."""
    if column.taxonomy is not None and column.taxonomy.rooted:
        return Node(column.taxonomy.height, 0)
    missing, line = column.domain.missing, column.positions
    ends = (float(line.min()), float(line.max()))
    return _fit_span(column, Span(int(missing), len(column.domain) - 1, absent=missing, ends=ends))


def _members(vocabulary: Vocabulary, members: Texts) -> Members | None:
    missing = 0 if vocabulary.column.domain.missing else None
    codes = {missing if text is None else vocabulary.code(text) for text in members}
    known = sorted(code for code in codes if code is not None)
    return Members(tuple(known)) if len(known) == len(codes) else None


def _span(vocabulary: Vocabulary, written: WrittenRange, *, whole_days: bool = False) -> Span | None:
    """Return the values of a range; ranges of numbers and dates may have ends that no row has.

    With `whole_days` an upper end that names a day covers all of it.
    """
    column, domain = vocabulary.column, vocabulary.column.domain
    quoted = not vocabulary.ordered and not column.tree and written.first != written.last
    ends = map(written_end, written[:2]) if quoted else written[:2]
    low, high = (vocabulary.code(end) for end in ends)
    if low is not None and high is not None and written.closed:
        return Span(low, high) if low <= high and (vocabulary.ordered or not column.tree or low == high) else None
    if vocabulary.has_names:
        return None
    first, last = (parse_value(text, vocabulary.kind) for text in written[:2])
    closed = written.closed
    if whole_days and closed:
        last, closed = end_of_day(written.last, last)
    if (first is None and written.first) or (last is None and written.last) or (first == last and first is not None):
        return None
    line = column.positions[domain.missing :]
    start, end = line[0] if first is None else place_on_line(first), line[-1] if last is None else place_on_line(last)
    low = (0 if first is None else vocabulary.count_before(first)) + domain.missing
    high = (len(line) if last is None else vocabulary.count_before(last, reached=closed)) + domain.missing - 1
    return Span(low, high, ends=(max(start, line[0]), min(end, line[-1]))) if low <= high else None


def _fit_span(column: QuasiColumn, span: Span) -> Meaning:
    """Convert a span to the form in which the column's loss is measured."""
    if column.ranged or (span.ends is None and not column.tree and span.low < span.high):
        return span  # a range of texts is measured as a set, but need not be one
    return Members((*((0,) if span.absent else ()), *range(span.low, span.high + 1)))


def count_named_values(labels: Sequence[str | None], counts: Sequence[int]) -> dict[str, int]:
    """Return the texts that labels name, missing ones left out, with the rows of their labels.

    A set names its members, a range of texts its ends, another label itself; ranges of numbers and dates name none.

    >>> count_named_values(["{flu, missing}", "[a .. b]", "[20-25]", "flu", None], [1, 2, 3, 4, 5])
    {'flu': 5, 'a': 2, 'b': 2}
    """
    named_values: dict[str, int] = {}
    for label, count in zip(labels, counts, strict=True):
        for value in () if label is None else _named_values(label):
            if value is not None:
                named_values[value] = named_values.get(value, 0) + count
    return named_values


def _named_values(label: str) -> tuple[str | None, ...]:
    if label.startswith("["):  # most are ranges of numbers, such as [20-29]
        return (written_text_range(label) if " .. " in label else None) or ()
    return (written_members(label) if label.startswith("{") else None) or (label,)


def covered_by(column: QuasiColumn, meanings: Sequence[Meaning]) -> Cover:
    """Return the column's values that some published ones cover."""
    spans, nodes, sets = dict[int, Span](), dict[int, dict[int, int]](), dict[int, Members]()
    for index, meaning in enumerate(meanings):
        match meaning:
            case Span():
                spans[index] = meaning
            case Node(level, node):
                nodes.setdefault(level, {})[index] = node
            case Members():
                sets[index] = meaning
            case _:
                assert_never(meaning)
    parts = [(positions, _of_nodes(column, level, nodes)) for level, (positions, nodes) in _list_nodes(nodes)]
    if spans:
        parts.append((np.fromiter(spans, np.int64), _of_spans(list(spans.values()))))
    if sets:
        codes = [np.array(each.codes, dtype=np.int64) for each in sets.values()]
        members = cover_of_codes(starts_of([len(each) for each in codes]), np.concatenate(codes))
        parts.append((np.fromiter(sets, np.int64), members))
    return joined_covers(parts, len(meanings))


def _list_nodes(nodes: Mapping[int, Mapping[int, int]]) -> Iterator[tuple[int, tuple[Codes, Codes]]]:
    """Yield the nodes of each level, with their previous indices."""
    for level, those in nodes.items():
        yield level, (np.fromiter(those, np.int64), np.fromiter(those.values(), np.int64))


def _of_nodes(column: QuasiColumn, level: int, nodes: Codes) -> Cover:
    """Return the values below some nodes of a level; the values of all nodes are sorted once."""
    assert column.taxonomy is not None  # noqa: S101  (labels come from one)
    above = column.taxonomy.ancestors[:, level]
    order = np.argsort(above, kind="stable")
    below = starts_of(np.bincount(above, minlength=int(nodes.max()) + 1))
    return cover_of_codes(below, order).take(nodes)


def _of_spans(spans: Sequence[Span]) -> Cover:
    """Return ranges: a run each, and one more for those that cover what is missing."""
    low, high, absent = (np.array([span[part] for span in spans], dtype=np.int64) for part in range(3))
    wide = low <= high
    indptr = starts_of(absent + wide)
    starts, ends = np.zeros(indptr[-1], dtype=np.int64), np.zeros(indptr[-1], dtype=np.int64)
    own = (indptr[:-1] + absent)[wide]
    starts[own], ends[own] = low[wide], high[wide]
    return Cover(indptr, starts, ends)
