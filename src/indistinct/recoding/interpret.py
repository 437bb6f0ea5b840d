"""Reading a published table back: which part of a column's domain each published value covers.

A release knows its recoding; a file from anywhere shows only values. Each distinct one is read once as a
value of the original, a label of the hierarchy, a range or a set, and then measured by the code that
summarizes classes, so that a file that an engine wrote costs what its recoding costs. Where one text can
mean several things, the finest is taken.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from indistinct.domain import Codes, Domain, Kind, kind_of
from indistinct.errors import InputError, SchemaError
from indistinct.frequencies.count import histogram_of, join_columns
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.frequencies.grouping import Grouping, group_rows
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.hierarchy.binding import ROOT
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.labels import OR_MISSING, WrittenRange, written_members, written_ranges
from indistinct.recoding.published import PublishedColumn, Recoded
from indistinct.recoding.summary import Bounds, meeting_levels, node_summary, summarize_ranges
from indistinct.schema import Schema, did_you_mean

_TRUTH = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False, None: False}


class Span(NamedTuple):
    """Every value between two codes of an ordered column; `ends` says where ends lie that are no values."""

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


def interpret_table(
    published: pa.Table,
    columns: Sequence[QuasiColumn],
    *,
    frequencies: FrequencySet,
    schema: Schema,
    keys: Sequence[Key] = (),
) -> Recoded:
    """Return what a published table makes of the original one, whose cells are `frequencies`.

    Nobody knows which original row stands behind a published one, so the pieces of the result are empty: it
    serves every metric of classes and of published values, but not those that compare with the original
    cells. `keys` ask for histograms of published columns. Raises `InputError` for values that cannot be read.
    """
    if published.num_rows > frequencies.rows:
        raise InputError(
            f"the published table has {published.num_rows} rows; the original has {frequencies.rows}",
            hint="check that this is the original of this release",
        )
    shown = [_shown(published, column, schema) for column in columns]
    grouping = group_rows([codes for _, codes in shown], [len(column) for column, _ in shown])
    histograms = {key: _histogram(grouping, key, published, schema) for key in keys}
    nothing = np.zeros(0, dtype=np.int32)
    return Recoded(
        frequencies,
        tuple(column for column, _ in shown),
        values=np.stack([codes[grouping.first] for _, codes in shown], axis=1).astype(np.int32),
        cells=nothing,
        labels=nothing,
        counts=nothing.astype(np.int64),
        classes=Classes(grouping.counts, histograms),
    )


def _shown(published: pa.Table, column: QuasiColumn, schema: Schema) -> tuple[PublishedColumn, Codes]:
    """Return the published values of a quasi-identifier, and the one that every row shows."""
    names = _outputs(published.column_names, column.name, schema)
    encoded = [_encoded(published, name) for name in names]
    grouping = group_rows([part.codes for part in encoded], [len(part.domain) for part in encoded])
    codes = np.empty(published.num_rows, dtype=np.int32)
    codes[grouping.order] = np.repeat(np.arange(len(grouping), dtype=np.int32), grouping.counts)
    outputs = [_spelled(part, grouping.first) for part in encoded]
    vocabulary = _vocabulary(column, kind_of(published[names[0]].type))
    # A mean beside an interval tells classes apart, but the interval alone says what is covered.
    rows: list[Texts] = list(zip(*outputs[: 1 if names[0] == column.name else None], strict=True))
    known = {row: _meaning(vocabulary, *row) for row in dict.fromkeys(rows)}
    strangers = [row for row, meaning in known.items() if meaning is None]
    if strangers:
        raise _not_understood(vocabulary, strangers)
    meanings = [meaning for row in rows if (meaning := known[row]) is not None]
    arrays = tuple((name, pa.array(texts, pa.string())) for name, texts in zip(names, outputs, strict=True))
    return _published(column, arrays, meanings), codes


def _outputs(present: Sequence[str], name: str, schema: Schema) -> list[str]:
    """Return the published columns of a quasi-identifier: its own and a mean beside it, or two bounds."""

    def beside(form: str) -> list[str]:
        other = f"{name}_{form}"
        return [other] if other in present and other not in schema.columns else []

    if name in present:
        if beside("missing"):
            raise InputError(
                f"column {name!r} is published as means, which do not say what they cover",
                hint="publish numbers as intervals or as bounds to measure their loss",
            )
        return [name, *beside("mean")]
    if beside("min") and beside("max"):
        return [*beside("min"), *beside("max"), *beside("missing")]
    raise SchemaError(
        f"the published table shows nothing of quasi-identifier {name!r}",
        hint=did_you_mean(name, present) or f"expected {name!r}, or '{name}_min' and '{name}_max'",
    )


def _encoded(table: pa.Table, name: str) -> Encoded:
    """Encode a column; one without any value shows nothing but missing."""
    column = table[name]
    if column.null_count < len(column):
        return encode_column(name, column)
    domain = Domain(name, pa.array([], pa.string()), missing=bool(len(column)))
    return Encoded.plain(domain, np.zeros(len(column), dtype=np.uint8))


def _spelled(column: Encoded, rows: Codes) -> list[str | None]:
    texts = column.domain.texts()
    return [texts[code] for code in column.codes[rows].tolist()]


def _histogram(grouping: Grouping, key: Key, table: pa.Table, schema: Schema) -> Histogram:
    for name in key:
        if name not in table.column_names or name in schema.quasi:
            raise SchemaError(
                f"a metric needs column {name!r} as it was, which the published table does not show",
                hint="name a sensitive or insensitive column",
            )
    return histogram_of(grouping, join_columns([_encoded(table, name) for name in key]))


def _vocabulary(column: QuasiColumn, shown: Kind) -> Vocabulary:
    """Gather the values and labels of a column; numbers and dates may come back in another spelling."""
    kind = shown if column.textual else column.domain.kind
    codes: dict[Hashable, int] = {}
    for code, text in enumerate(column.domain.texts()):
        if text is not None:
            codes.setdefault(_parsed(text, kind), code)
            codes[text] = code
    nodes: dict[Hashable, tuple[int, int]] = {}
    labels = () if column.taxonomy is None else column.taxonomy.labels
    for level in range(len(labels) - 1, 0, -1):
        for node, label in enumerate(labels[level]):
            if label is not None:
                nodes[_parsed(label, kind)] = nodes[label] = (level, node)
    codes.pop(None, None)
    nodes.pop(None, None)
    return Vocabulary(column, kind, codes, nodes)


def _meaning(vocabulary: Vocabulary, text: str | None, *more: str | None) -> Meaning | None:
    """Return what a published text, or two bounds, cover; None if they cannot be read."""
    if more:
        return _between(vocabulary, text, *more)
    column, codes = vocabulary.column, vocabulary.codes
    if text is None:
        # Delimited files have one spelling for missing and for the empty text.
        empty = 0 if column.domain.missing else codes.get("")
        return None if empty is None else _raw(column, empty)
    for key in (text, _parsed(text, vocabulary.kind)):
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
    missing = column.domain.missing
    return _fitted(column, Span(int(missing), len(column.domain) - 1, absent=missing))


def _members(vocabulary: Vocabulary, members: Texts) -> Members | None:
    missing = 0 if vocabulary.column.domain.missing else None
    found = {missing if text is None else _code(vocabulary, text) for text in members}
    known = sorted(code for code in found if code is not None)
    return Members(tuple(known)) if len(known) == len(found) else None


def _code(vocabulary: Vocabulary, text: str) -> int | None:
    codes = vocabulary.codes
    return codes.get(text, codes.get(_parsed(text, vocabulary.kind)))


def _span(vocabulary: Vocabulary, written: WrittenRange) -> Span | None:
    """Return the values of a range; ends that no row has may stand in ranges of numbers and dates."""
    column, domain = vocabulary.column, vocabulary.column.domain
    low, high = _code(vocabulary, written.first), _code(vocabulary, written.last)
    if low is not None and high is not None and written.closed:
        return Span(low, high) if low <= high and (domain.ordered or low == high) else None
    first, last = (_parsed(text, vocabulary.kind) for text in written[:2])
    if domain.declared or column.textual or first is None or last is None or first == last:
        return None
    line, start, end = column.positions[domain.missing :], _place(first), _place(last)
    low = int(np.searchsorted(line, start)) + domain.missing
    high = int(np.searchsorted(line, end, "right" if written.closed else "left")) + domain.missing - 1
    return Span(low, high, ends=(max(start, line[0]), min(end, line[-1]))) if low <= high else None


def _fitted(column: QuasiColumn, span: Span) -> Meaning:
    """Return a span in the form in which a column's loss is measured."""
    if column.ranged:
        return span
    return Members((*((0,) if span.absent else ()), *range(span.low, span.high + 1)))


def _published(
    column: QuasiColumn, outputs: tuple[tuple[str, pa.Array], ...], meanings: Sequence[Meaning]
) -> PublishedColumn:
    """Measure what published values cover, each by the way in which a recoding would have summarized it."""
    parts = np.zeros((4, len(meanings)))
    spans = {place: meaning for place, meaning in enumerate(meanings) if isinstance(meaning, Span)}
    nodes = {place: meaning for place, meaning in enumerate(meanings) if isinstance(meaning, Node)}
    sets = {place: meaning for place, meaning in enumerate(meanings) if isinstance(meaning, Members)}
    if spans:
        parts[:, list(spans)] = _of_spans(column, list(spans.values()))
    if nodes:
        parts[:, list(nodes)] = _of_nodes(column, list(nodes.values()))
    if sets:
        parts[:, list(sets)] = _of_sets(column, list(sets.values()))
    # Numbers that are published as nodes alone, as full-domain recodings do, are measured by leaves.
    generalized = any(node.level for node in nodes.values()) and not any(span.wide for span in spans.values())
    low, high, leaves, levels = parts
    return PublishedColumn(
        column.name,
        outputs,
        low=low,
        high=high,
        leaves=leaves.astype(np.int64),
        levels=levels.astype(np.int32),
        span=column.span,
        size=column.size,
        height=column.height,
        ranged=column.ranged and not generalized,
    )


def _of_spans(column: QuasiColumn, spans: Sequence[Span]) -> tuple[Codes, ...]:
    low, high = (np.array([span[end] for span in spans], dtype=np.int32) for end in (0, 1))
    absent = np.array([span.absent for span in spans], dtype=bool)
    summary, codes = summarize_ranges(column, Bounds(low, high, absent))
    shown = summary.published
    starts, ends = shown.low[codes].astype(np.float64), shown.high[codes].astype(np.float64)
    for place, span in enumerate(spans):
        if span.ends is not None:
            starts[place], ends[place] = span.ends
    return starts, ends, shown.leaves[codes], shown.levels[codes]


def _of_nodes(column: QuasiColumn, nodes: Sequence[Node]) -> tuple[Codes, ...]:
    level, node = (np.array([each[part] for each in nodes], dtype=np.int32) for part in (0, 1))
    shown = node_summary(column, level, node).published
    return shown.low, shown.high, shown.leaves, shown.levels


def _of_sets(column: QuasiColumn, sets: Sequence[Members]) -> tuple[Codes, ...]:
    places = [column.positions[list(members.codes)] for members in sets]
    low, high = (np.array([end(part) for part in places]) for end in (np.min, np.max))
    leaves = np.array([len(members.codes) for members in sets], dtype=np.int64)
    levels = (leaves > 1).astype(np.int32)
    if column.taxonomy is not None:
        ranks = [column.ranks[list(members.codes)] for members in sets]
        first, last = (np.array([end(part) for part in ranks], dtype=np.int32) for end in (np.min, np.max))
        levels = meeting_levels(column.taxonomy.ancestors[column.by_rank], first, last)
    return low, high, leaves, levels


def _parsed(text: str, kind: Kind) -> Decimal | datetime | None:
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


def _place(value: Decimal | datetime) -> float:
    """Return where a number or a date lies on a column's line."""
    if isinstance(value, Decimal):
        return float(value)
    return (value - datetime(1970, 1, 1)) / timedelta(days=1)


def _not_understood(vocabulary: Vocabulary, strangers: Sequence[Texts]) -> InputError:
    column = vocabulary.column
    hint = "check that original, schema and hierarchies are those of this release"
    spelled = [None if row[0] is None else _parsed(row[0], vocabulary.kind) for row in strangers]
    if not column.textual and None not in spelled:
        hint = "means do not say what they cover: publish intervals or bounds to measure their loss"
    elif column.taxonomy is None:
        hint = f"if these are labels of a hierarchy, give it: hierarchies={{{column.name!r}: …}}"
    return InputError(
        f"column {column.name!r} shows {len(strangers)} distinct value(s) that are neither values of the "
        "original, nor ranges or sets of them, nor labels of its hierarchy",
        hint=hint,
        values=[row[0] if len(row) == 1 else row for row in strangers],
        column=column.name,
    )
