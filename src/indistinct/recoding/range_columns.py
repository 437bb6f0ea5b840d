"""Ranges as columns: a recoding publishes `age_from` and `age_to` as numbers or dates in place of one label.

Both ends are inside, and an open one is missing. An upper end that a label excludes is published as the last number, or
moment, below it, so that two columns say exactly what the label says. Where the column has missing values, a third,
`age_missing`, says whether no, some or all rows of a class have none. Labels that are no ranges are unchanged.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from indistinct.errors import SchemaError
from indistinct.hierarchy.taxonomy import ROOT
from indistinct.recoding.kinds import RecodedColumn, Recoding
from indistinct.recoding.label_spans import (
    ALL,
    FROM,
    MISSING,
    NO,
    SOME,
    TO,
    End,
    LabelSpan,
    first_inside,
    last_inside,
    span_of,
)
from indistinct.recoding.outputs import OR_MISSING, PublishedColumn
from indistinct.schema import Schema
from indistinct.tables.domain import Domain, Kind

AnyRecoding = TypeVar("AnyRecoding", bound=Recoding)


def require_free_names(schema: Schema) -> None:
    """Raise if a column made of a range would have the name of an existing column."""
    made = [name + end for name in schema.quasi for end in (FROM, TO, MISSING)]
    taken = [name for name in made if name in schema.columns]
    if taken:
        raise SchemaError(
            f"ranges as columns would make {', '.join(map(repr, taken))}, which the table has already",
            hint="rename the column, or publish labels: ranges=labels",
        )


def with_range_columns(recoding: AnyRecoding) -> AnyRecoding:
    """Return a recoding that publishes the ends of ranges of numbers and dates as columns of their own."""
    columns = []
    for column in recoding.columns:
        published = _publish_ends(column)
        columns.append(replace(column, summary=replace(column.summary, published=published)))
    return replace(recoding, columns=tuple(columns))


def _publish_ends(column: RecodedColumn) -> PublishedColumn:
    """Publish the labels of a column of numbers or dates as two columns with the ends of ranges."""
    published, domain = column.summary.published, column.domain
    (name, labels), *beside = published.outputs
    if domain.kind is Kind.TEXT or domain.declared or name != domain.column:
        return published
    read = [_read_label(text, domain) for text in labels.cast(pa.string()).to_pylist()]
    spans = [span for span, _ in read if span is not None]
    if len(spans) < len(read):
        return published
    kind = _type_of_ends(domain, spans)
    own = domain.values.type if pa.types.is_integer(domain.values.type) else kind
    ends = [(name + FROM, _to_arrow([first_inside(span, own) for span in spans], kind))]
    ends.append((name + TO, _to_arrow([last_inside(span, own) for span in spans], kind)))
    if domain.missing:
        ends.append((name + MISSING, pa.array([missing for _, missing in read], pa.string())))
    return replace(published, outputs=(*ends, *beside))


def _read_label(text: str | None, domain: Domain) -> tuple[LabelSpan | None, str]:
    """Return the ends of a label, None where it is no range, and whether rows may be missing."""
    if text is None:
        return LabelSpan(None, None, True), ALL
    absent = domain.missing and (text == ROOT or text.endswith(OR_MISSING))
    span = span_of((text,), domain.kind, moments=pa.types.is_timestamp(domain.values.type))
    return span, SOME if absent else NO


def _type_of_ends(domain: Domain, spans: Sequence[LabelSpan]) -> pa.DataType:
    """Return the type of the column, or a wider one where ends of a hierarchy need it."""
    kind = domain.values.type
    ends = [end for span in spans for end in span[:2] if isinstance(end, Decimal)]
    if pa.types.is_integer(kind):
        inside = [end for span in spans for end in (first_inside(span, kind), last_inside(span, kind))]
        return _type_of_whole(inside)
    if pa.types.is_floating(kind):
        largest = float(np.finfo(kind.to_pandas_dtype()).max)
        return kind if all(abs(float(end)) <= largest for end in ends) else pa.float64()
    if pa.types.is_date(kind):
        moments = [end for span in spans for end in span[:2] if isinstance(end, datetime)]
        days = all(end in (datetime.max, datetime(end.year, end.month, end.day)) for end in moments)
        return pa.date32() if days else pa.timestamp("us")
    return kind


def _type_of_whole(ends: Sequence[End | float | None]) -> pa.DataType:
    """Return a type that holds whole numbers."""
    known = [int(end) for end in ends if isinstance(end, Decimal)]
    low, high = min(known, default=0), max(known, default=0)
    if low >= -(2**63) and high < 2**63:
        return pa.int64()
    return pa.uint64() if low >= 0 and high < 2**64 else pa.decimal128(38, 0)


def _to_arrow(ends: Sequence[End | float | None], kind: pa.DataType) -> pa.Array:
    """Convert the ends of ranges to an Arrow array of the column's type."""
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and not kind.scale):
        return pa.array([None if end is None else int(end) for end in ends], kind)  # type: ignore[arg-type]
    if pa.types.is_floating(kind):
        return pa.array([None if end is None else float(end) for end in ends], kind)  # type: ignore[arg-type]
    values: list[Any] = list(ends)
    if pa.types.is_date(kind):
        values = [None if end is None else end.date() for end in values]
    return pa.array(values, kind)
