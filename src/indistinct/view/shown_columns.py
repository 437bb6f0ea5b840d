"""Published columns as sets of original values: which values each generalized label covers.

Where the values of the original are known, each published one covers some of them. A file alone shows the ends of
ranges and the members of sets, and what its hierarchies list; the rest is unknown.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy.explicit import Explicit, Order, declared_order
from indistinct.hierarchy.taxonomy import ROOT
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.label_spans import (
    ALL,
    FROM,
    MISSING,
    SOME,
    Texts,
    behind_a_zero,
    parse_value,
    rows_of_outputs,
    shows_moments,
    written_span,
)
from indistinct.recoding.outputs import OR_MISSING, written_members, written_text_range
from indistinct.schema import Schema
from indistinct.tables.domain import Domain, Kind, kind_of
from indistinct.view.meanings import Meaning, covered_by
from indistinct.view.ranges import ranges_of
from indistinct.view.read_back import output_names, read_column
from indistinct.view.value import ShownColumn, each_value


def plain_labels(
    name: str, column: pa.ChunkedArray, *, hierarchy: Hierarchy | None = None
) -> tuple[ShownColumn, Codes]:
    """Return the values of an unmodified column, and the index of every row's among them."""
    order = declared_order(hierarchy)
    encoded = encode_column(name, column, order=order, required=False)
    return labels_of_domain(encoded.domain, hierarchy), encoded.codes


def labels_of_domain(domain: Domain, hierarchy: Hierarchy | None = None) -> ShownColumn:
    """Return the values of a domain, each standing for itself."""
    return replace(each_value(domain), texts=domain.texts(), order=_order(hierarchy))


def _order(hierarchy: Hierarchy | None) -> tuple[str, ...]:
    return tuple(declared_order(hierarchy) or ())


def quasi_labels(
    table: pa.Table,
    name: str,
    schema: Schema,
    *,
    known: QuasiColumn | None,
    hierarchy: Hierarchy | None = None,
    constants: Iterable[str] = (),
) -> tuple[ShownColumn, Codes]:
    """Return the published values of a quasi-identifier, and the place of every row's among them.

    `known` is the column as it was before, where that is known; `constants` are texts that queries compare with.
    """
    names = output_names(table.column_names, name, schema)
    column = known or _by_itself(table, names, name, hierarchy, constants)
    _refuse_means(table, names, column)
    read = read_column(table, column, schema)
    outputs = {each: array.to_pylist() for each, array in read.outputs}
    texts = rows_of_outputs(list(outputs), list(outputs.values()), name)
    labels = _labels(column, read.meanings, texts, hierarchy)
    if known is None:
        labels = _incomplete(labels, texts)
    means = outputs.get(f"{name}_mean")
    if means is not None and labels.kind is Kind.NUMBER and f"{name}_mean" not in schema.columns:
        # Dates have means as well, and a file of stars alone does not tell that they are dates.
        labels = replace(labels, means=np.array([_mean(text) for text in means]))
    return labels, read.codes


def _mean(text: str | None) -> float:
    """Parse a published mean, NaN without one."""
    number = None if text is None else parse_value(text, Kind.NUMBER)
    return np.nan if number is None else float(number)  # type: ignore[arg-type]


def _refuse_means(table: pa.Table, names: list[str], column: QuasiColumn) -> None:
    """Raise for numbers with fractions in place of whole ones: they are means, which do not say what they cover."""
    kind, own = table.schema.field(names[0]).type, column.domain.values.type
    if names[0] == column.name and pa.types.is_floating(kind) and pa.types.is_integer(own):
        raise InputError(
            f"column {column.name!r} is published as means, which do not say what they cover",
            hint="publish numeric=interval+mean to have both",
            column=column.name,
        )


def _labels(
    column: QuasiColumn, meanings: list[Meaning], shown: list[Texts], hierarchy: Hierarchy | None
) -> ShownColumn:
    """Build a published column from its values and what they cover."""
    domain = column.domain
    texts = tuple(text[0] if len(text) == 1 else f"[{text[0]} .. {text[1]}]" for text in shown)
    labels = ShownColumn(domain, covered_by(column, meanings), texts, _order(hierarchy))
    positions = labels.positions
    if positions is None or len(positions) <= domain.missing:
        return labels
    line = positions[int(domain.missing) :]
    return replace(labels, ranges=ranges_of(shown, labels.kind, line), limits=(float(line[0]), float(line[-1])))


def _incomplete(labels: ShownColumn, shown: list[Texts]) -> ShownColumn:
    """Mark the values that an incomplete view cannot bound: stars, and ranges with open ends."""
    if labels.kind is Kind.TEXT:
        ranges = [text[0] is not None and text[0].startswith("[") and " .. " in text[0] for text in shown]
        unknown = np.array([text[0] == ROOT for text in shown], dtype=bool) | np.array(ranges, dtype=bool)
        return replace(labels, unknown=unknown)
    low, high = np.full(len(shown), np.inf), np.full(len(shown), -np.inf)
    moments = shows_moments([text for texts in shown for text in texts if text is not None])
    for index, texts in enumerate(shown):
        ends = written_span(texts, labels.kind, moments=moments)
        if ends is not None:
            low[index] = -np.inf if ends[0] is None else ends[0]
            high[index] = np.inf if ends[1] is None else ends[1] if ends[2] else np.nextafter(ends[1], -np.inf)
        elif texts[0] is not None:  # a set or a node
            low[index], high[index] = labels.ends[0][index], labels.ends[1][index]
    return replace(labels, hull=(low, high), limits=None)


def _by_itself(
    table: pa.Table, names: list[str], name: str, hierarchy: Hierarchy | None, constants: Iterable[str]
) -> QuasiColumn:
    """Build a column from the values that a published table and its hierarchy contain."""
    beside = (f"{name}_mean", name + MISSING)
    texts = [text for each in names if each not in beside for text in _distinct(table[each])]
    missing = any(_is_absent(text) for text in texts if text is not None or names[0] != name + FROM)
    missing |= name + MISSING in names and not {SOME, ALL, "true"}.isdisjoint(_distinct(table[name + MISSING]))
    plain_texts = [text for text in texts if text is not None and text != ROOT]
    published_kind = kind_of(table.schema.field(names[0]).type)
    listed = _listed_values(hierarchy)
    if listed is not None:
        values, declared = _cast_values(listed, published_kind), declared_order(hierarchy) is not None
        domain = Domain(name, values if declared else values.sort(), missing, declared)
        return columns_of([domain], {name: hierarchy} if hierarchy is not None else {})[0]
    if hierarchy is not None and not hierarchy.self_explaining:
        raise _not_told(name)
    wanted = list(constants)
    if not plain_texts and all(parse_value(text, Kind.NUMBER) is not None for text in wanted):  # nothing but stars
        return QuasiColumn(Domain(name, _line(sorted({float(text) for text in wanted} or {0.0}), Kind.NUMBER), missing))
    number = () if any(map(behind_a_zero, plain_texts)) else (Kind.NUMBER,)
    for kind in (*number, Kind.DATE) if published_kind is Kind.TEXT else (published_kind,):
        ends = [
            written_span((text.removesuffix(OR_MISSING),), kind, moments=shows_moments(plain_texts))
            for text in plain_texts
        ]
        if plain_texts and all(end is not None for end in ends):
            positions = _places_of([end for end in ends if end is not None])
            return QuasiColumn(Domain(name, _line(positions, kind), missing))
    if any("*" in text or (text[:1] == "[" and " .. " not in text) for text in plain_texts):
        raise _not_told(name)
    members = [member for text in plain_texts for member in _members(text)]
    known = sorted({*members, *wanted} or {""})
    return QuasiColumn(Domain(name, pa.array(known, pa.string()), missing))


def _is_absent(text: str | None) -> bool:
    """Return whether rows that show a text may have no value."""
    return text is None or text == ROOT or text.endswith(OR_MISSING) or None in (written_members(text) or ())


def _places_of(ends: list[tuple[float | None, float | None, bool]]) -> list[float]:
    """Return the ends of ranges, and a place below them where one has no lower end and excludes its upper one."""
    index_of = {index for low, high, _ in ends for index in (low, high) if index is not None}
    lowest = min(index_of, default=0.0)
    if any(low is None and high == lowest and not closed for low, high, closed in ends):
        index_of.add(float(np.floor(lowest)) - 1.0)
    return sorted(index_of)


def _not_told(name: str) -> InputError:
    """Return the error of labels that cannot be read without the original or a hierarchy."""
    return InputError(
        f"the file alone does not show which values the labels of column {name!r} cover",
        hint="give the original (--original), the recoding (--recoding), or the hierarchies that list them",
        column=name,
    )


def _distinct(column: pa.ChunkedArray) -> list[str | None]:
    values = column.unique() if not isinstance(column.type, pa.DictionaryType) else column.cast(pa.string()).unique()
    return values.cast(pa.string()).to_pylist()


def _listed_values(hierarchy: Hierarchy | None) -> list[str] | None:
    """Return the values that a hierarchy lists, None for other hierarchies."""
    match hierarchy:
        case Explicit(rows=rows):
            return [row[0] for row in rows if row[0]]
        case Order(values=values):
            return list(values)
        case _:
            return None


def _cast_values(texts: list[str], kind: Kind) -> pa.Array:
    """Return listed values as what the published column has, texts else."""
    if kind is Kind.NUMBER:
        return pa.array([float(text) for text in texts])
    return pa.array(texts, pa.string())


def _members(text: str) -> list[str]:
    """Return the texts that a published one names: those of a set, the ends of a range, or itself."""
    inside = text.removesuffix(OR_MISSING)
    members = written_members(inside)
    if members is not None:
        return [member for member in members if member is not None]
    ends = written_text_range(inside)
    return [inside] if ends is None else list(ends)


def _line(positions: list[float], kind: Kind) -> pa.Array:
    """Convert positions to numbers, dates or moments."""
    if kind is Kind.NUMBER:
        return pa.array([int(index) for index in positions] if all(p == int(p) for p in positions) else positions)
    days = np.array(positions)
    if (days == np.floor(days)).all():
        return pa.array(days.astype(np.int32), pa.int32()).cast(pa.date32())
    return pa.array((days * 86_400e6).round().astype(np.int64)).cast(pa.timestamp("us"))
