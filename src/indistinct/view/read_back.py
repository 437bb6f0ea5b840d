"""Reading a published table back: which part of a column's domain each published value covers.

A release knows its recoding; a file from anywhere shows only values. Each distinct one is read once as a
value of the original, a label of the hierarchy, a range or a set, and then measured by the code that
summarizes classes, so that a file that an engine wrote costs what its recoding costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, OriginalError, SchemaError, did_you_mean
from indistinct.figures import plural
from indistinct.frequencies.count import Counted, histogram_of, join_columns
from indistinct.frequencies.encode import Encoded, Grouping, encode_column, group_rows
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Array, Codes
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.label_spans import Texts, parse_value, rows_of_outputs
from indistinct.recoding.outputs import ENDS, Assignment, PublishedColumn
from indistinct.recoding.summary import Bounds, meeting_levels, node_summary, published_as, summarize_ranges
from indistinct.schema import Schema
from indistinct.tables.domain import Domain, kind_of
from indistinct.view.cover import Cover
from indistinct.view.meanings import (
    Meaning,
    Members,
    Node,
    Span,
    Vocabulary,
    covered_by,
    meaning_of,
    vocabulary_of,
)


def read_back(
    published: pa.Table,
    columns: Sequence[QuasiColumn],
    *,
    frequencies: FrequencySet,
    schema: Schema,
    keys: Sequence[Key] = (),
    counts: Codes | None = None,
    read: "Sequence[ReadColumn] | None" = None,
) -> Assignment:
    """Read a published table as an assignment of the original cells `frequencies`.

    Row `i` of the table counts as `counts[i]` rows, by default one. `read` has the columns where they were read
    already.

    It is unknown which original row is behind a published one, so the pieces of the result are empty: it serves every
    metric of classes and of published values, but not those that compare with the original cells. `keys` ask for
    histograms of published columns. Raises `InputError` for values that cannot be read.
    """
    rows = published.num_rows if counts is None else int(counts.sum())
    if rows > frequencies.rows:
        raise OriginalError(
            f"the published table has {rows} rows; the original has {frequencies.rows}",
            hint="check that this is the original of this release",
        )
    read = read_columns(published, columns, schema) if read is None else read
    grouping = _classes_of(read)
    encoded = {key: _key_column(key, published, schema) for key in keys}
    if counts is None:
        classes = Classes(grouping.counts, {key: histogram_of(grouping, each) for key, each in encoded.items()})
    else:
        alone = {key: _histogram_of_each(each, counts) for key, each in encoded.items()}
        classes = Classes(counts, alone).regroup(grouping.group_ids(), len(grouping))
    nothing = np.zeros(0, dtype=np.int32)
    return Assignment(
        frequencies,
        tuple(measure_column(column, each) for column, each in zip(columns, read, strict=True)),
        values=np.stack([each.codes[grouping.first] for each in read], axis=1).astype(np.int32),
        cells=nothing,
        class_ids=nothing,
        counts=nothing.astype(np.int64),
        classes=classes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ReadColumn:
    """A quasi-identifier of a published table: its columns, what each distinct value means, and each row's value."""

    outputs: tuple[tuple[str, pa.Array], ...]
    meanings: list[Meaning]
    codes: Codes


def read_column(published: pa.Table, column: QuasiColumn, schema: Schema) -> ReadColumn:
    """Parse each distinct value of a published quasi-identifier; raise `InputError` for values that cannot be read."""
    names = output_names(published.column_names, column.name, schema)
    outputs, codes = _distinct_outputs([_encode_column(published, name) for name in names])
    vocabulary = vocabulary_of(column, kind_of(published[names[0]].type))
    rows = rows_of_outputs(names, outputs, column.name)
    known = {row: meaning_of(vocabulary, *row) for row in dict.fromkeys(rows)}
    strangers = [row for row, meaning in known.items() if meaning is None]
    if strangers:
        raise _not_understood(vocabulary, strangers)
    meanings = [meaning for row in rows if (meaning := known[row]) is not None]
    arrays = tuple((name, pa.array(texts, pa.string())) for name, texts in zip(names, outputs, strict=True))
    return ReadColumn(arrays, meanings, codes)


def read_columns(published: pa.Table, columns: Sequence[QuasiColumn], schema: Schema) -> list[ReadColumn]:
    """Parse the published values of several quasi-identifiers; raise `InputError` for values that cannot be read."""
    return [read_column(published, column, schema) for column in columns]


def _classes_of(read: Sequence[ReadColumn]) -> Grouping:
    """Return the rows that show the same in every column."""
    return group_rows([each.codes for each in read], [len(each.meanings) for each in read])


def _distinct_outputs(encoded: Sequence[Encoded]) -> tuple[list[list[str | None]], Codes]:
    """Return the texts of each column by distinct row, and the place of every row among these."""
    if len(encoded) == 1:
        return [list(encoded[0].domain.texts())], encoded[0].codes
    grouping = group_rows([part.codes for part in encoded], [len(part.domain) for part in encoded])
    texts = [(part.domain.texts(), part.codes[grouping.first].tolist()) for part in encoded]
    return [[spelled[code] for code in codes] for spelled, codes in texts], grouping.group_ids()


@dataclass(frozen=True, slots=True, eq=False)
class ReadClasses:
    """The classes of a published table, its distinct vectors: `values[c, j]` is a place in `meanings[j]`.

    `class_ids` has the class of every row.
    """

    meanings: tuple[tuple[Meaning, ...], ...]
    values: Codes
    sizes: Codes
    class_ids: Codes


def read_classes(published: pa.Table, columns: Sequence[QuasiColumn], *, schema: Schema) -> ReadClasses:
    """Return the classes of a published table, and what each of their values means.

    Raises `InputError` for values that cannot be read.
    """
    read = read_columns(published, columns, schema)
    grouping = _classes_of(read)
    values = np.stack([each.codes[grouping.first] for each in read], axis=1)
    meanings = tuple(tuple(each.meanings) for each in read)
    return ReadClasses(meanings, values, grouping.counts, grouping.group_ids())


def cover_of(published: pa.Table, columns: Sequence[QuasiColumn], *, schema: Schema) -> tuple[Cover, ...]:
    """Return, for every quasi-identifier, the values that each class of a published table covers.

    Classes are the distinct published vectors. Raises `InputError` for values that cannot be read.
    """
    return covered_classes(published, columns, schema=schema)[1]


def cover_of_read(read: Sequence[ReadColumn], columns: Sequence[QuasiColumn]) -> tuple[Cover, ...]:
    """Return, for every quasi-identifier that was read, the values that each class of the table covers."""
    first, pairs = _classes_of(read).first, zip(columns, read, strict=True)
    return tuple(covered_by(column, each.meanings).take(each.codes[first]) for column, each in pairs)


def cover_of_rows(published: pa.Table, columns: Sequence[QuasiColumn], *, schema: Schema) -> tuple[Cover, ...]:
    """Return, for every quasi-identifier, the values that each row of a published table covers.

    Raises `InputError` for values that cannot be read.
    """
    read = read_columns(published, columns, schema)
    return tuple(covered_by(column, each.meanings).take(each.codes) for column, each in zip(columns, read, strict=True))


def covers_of_counted(counted: Counted, columns: Sequence[QuasiColumn], *, schema: Schema) -> tuple[Cover, ...]:
    """Return, for every quasi-identifier, the values that each class counted on a release covers.

    Each distinct label is read once. Raises `InputError` for values that cannot be read.
    """
    cells, covers = counted.frequencies, []
    for column in columns:
        names = output_names(cells.names, column.name, schema)
        codes = [cells.vectors[:, cells.names.index(name)] for name in names]
        grouping = group_rows(codes, [int(own.max(initial=0)) + 1 for own in codes])
        known = zip(names, codes, strict=True)
        labels = pa.table({name: counted.known[name].decode(own[grouping.first]) for name, own in known})
        covers.append(cover_of_rows(labels, [column], schema=schema)[0].take(grouping.group_ids()))
    return tuple(covers)


def covered_classes(
    published: pa.Table, columns: Sequence[QuasiColumn], *, schema: Schema
) -> tuple[Codes, tuple[Cover, ...]]:
    """Return the class of every published row, and what the classes cover of each quasi-identifier."""
    classes = read_classes(published, columns, schema=schema)
    pairs = zip(columns, classes.meanings, classes.values.T, strict=True)
    return classes.class_ids, tuple(covered_by(column, meanings).take(codes) for column, meanings, codes in pairs)


def output_names(present: Sequence[str], name: str, schema: Schema) -> list[str]:
    """Return the published columns of a quasi-identifier: its own, with a mean if there is one, or two bounds."""

    def sibling(form: str) -> list[str]:
        other = f"{name}_{form}"
        return [other] if other in present and other not in schema.columns else []

    if name in present:
        if sibling("missing"):
            raise InputError(
                f"column {name!r} is published as means, which do not say what they cover",
                hint="publish numbers as intervals or as bounds to measure their loss",
            )
        return [name, *sibling("mean")]
    for first, last in ENDS:
        pair = [*sibling(first[1:]), *sibling(last[1:])]
        if len(pair) == len(ENDS[0]):
            return [*pair, *sibling("missing"), *sibling("mean")]
    raise SchemaError(
        f"the published table shows nothing of quasi-identifier {name!r}",
        hint=did_you_mean(name, present) or f"expected {name!r}, or '{name}_from' and '{name}_to'",
    )


def _encode_column(table: pa.Table, name: str) -> Encoded:
    """Encode a column; one without any value shows nothing but missing."""
    column = table[name]
    if column.null_count < len(column):
        return encode_column(name, column)
    domain = Domain(name, pa.array([], pa.string()), missing=bool(len(column)))
    return Encoded.plain(domain, np.zeros(len(column), dtype=np.uint8))


def _key_column(key: Key, table: pa.Table, schema: Schema) -> Encoded:
    """Encode the published columns of a key together."""
    for name in key:
        if name not in table.column_names or name in schema.quasi:
            raise SchemaError(
                f"a metric needs the original values of column {name!r}, which the published table does not show",
                hint="name a sensitive or insensitive column",
            )
    return join_columns([_encode_column(table, name) for name in key])


def _histogram_of_each(column: Encoded, counts: Codes) -> Histogram:
    """Return the histogram of rows that are classes of their own, each with its count."""
    codes = column.codes.astype(np.int32)
    reference = np.bincount(codes, weights=counts, minlength=len(column.domain)).astype(np.int64)
    own = np.arange(len(counts) + 1, dtype=np.int64)
    return Histogram(own, codes, counts, reference, None, column.domain.texts())


def measure_column(column: QuasiColumn, read: ReadColumn) -> PublishedColumn:
    """Measure what published values cover, in the way a recoding would have summarized them."""
    parts = np.zeros((4, len(read.meanings)))
    spans = {index: meaning for index, meaning in enumerate(read.meanings) if isinstance(meaning, Span)}
    nodes = {index: meaning for index, meaning in enumerate(read.meanings) if isinstance(meaning, Node)}
    sets = {index: meaning for index, meaning in enumerate(read.meanings) if isinstance(meaning, Members)}
    if spans:
        parts[:, list(spans)] = _of_spans(column, list(spans.values()))
    if nodes:
        parts[:, list(nodes)] = _of_nodes(column, list(nodes.values()))
    if sets:
        parts[:, list(sets)] = _of_sets(column, list(sets.values()))
    # Numbers that are published as nodes alone, as full-domain recodings do, are measured by leaves.
    generalized = any(node.level for node in nodes.values()) and not any(span.wide for span in spans.values())
    low, high, leaves, levels = parts
    ranged = column.ranged and not generalized
    return published_as(column, read.outputs, (low, high), leaves=leaves, levels=levels, ranged=ranged)


def _of_spans(column: QuasiColumn, spans: Sequence[Span]) -> tuple[Array, ...]:
    """Measure ranges as a recoding would have summarized them."""
    low, high = (np.array([span[end] for span in spans], dtype=np.int32) for end in (0, 1))
    absent = np.array([span.absent for span in spans], dtype=bool)
    summary, codes = summarize_ranges(column, Bounds(low, high, absent))
    published = summary.published
    starts, ends = published.low[codes].astype(np.float64), published.high[codes].astype(np.float64)
    for index, span in enumerate(spans):
        if span.ends is not None:
            starts[index], ends[index] = span.ends
    wide = np.array([span.wide for span in spans])
    return starts, ends, published.leaves[codes], np.maximum(published.levels[codes], wide)


def _of_nodes(column: QuasiColumn, nodes: Sequence[Node]) -> tuple[Array, ...]:
    level, node = (np.array([each[part] for each in nodes], dtype=np.int32) for part in (0, 1))
    published = node_summary(column, level, node).published
    return published.low, published.high, published.leaves, published.levels


def _of_sets(column: QuasiColumn, sets: Sequence[Members]) -> tuple[Codes, ...]:
    """Measure sets as a recoding would have summarized them."""
    positions = [column.positions[list(members.codes)] for members in sets]
    low, high = (np.array([end(part) for part in positions]) for end in (np.min, np.max))
    leaves = np.array([len(members.codes) for members in sets], dtype=np.int64)
    levels: Codes = (leaves > 1).astype(np.int32)
    if column.taxonomy is not None:
        ranks = [column.ranks[list(members.codes)] for members in sets]
        first, last = (np.array([end(part) for part in ranks], dtype=np.int32) for end in (np.min, np.max))
        levels = meeting_levels(column.taxonomy.ancestors[column.by_rank], first, last)
    return low, high, leaves, levels


def _not_understood(vocabulary: Vocabulary, strangers: Sequence[Texts]) -> InputError:
    """Return the error of published values that cannot be read, with what may be missing."""
    column = vocabulary.column
    hint = "check that original, schema and hierarchies are those of this release"
    spelled = [None if row[0] is None else parse_value(row[0], vocabulary.kind) for row in strangers]
    if not column.textual and None not in spelled:
        hint = "means do not say what they cover: publish intervals or bounds to measure their loss"
    elif column.taxonomy is None:
        hint = f"if these are labels of a hierarchy, give it: hierarchies={{{column.name!r}: …}}"
    return InputError(
        f"column {column.name!r} shows {plural(len(strangers), 'distinct value')} that are neither values of the "
        "original, nor ranges or sets of them, nor labels of its hierarchy",
        hint=hint,
        values=[row[0] if len(row) == 1 else row for row in strangers],
        column=column.name,
    )
