"""Counting in memory: columns to codes, codes to words, one sort."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError, SchemaError
from indistinct.frequencies.count import (
    Counted,
    Request,
    RowIndex,
    count_cells,
    count_pieces,
    group_encoded,
    join_columns,
    nobody,
    pair_people,
)
from indistinct.frequencies.encode import Encoded, Grouping, encode_column, group_rows
from indistinct.frequencies.singled_out import SingledOut, codes_of, rows_alone, singled_out
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Key
from indistinct.hierarchy.explicit import declared_order
from indistinct.machine.arrays import Codes, row_numbers
from indistinct.machine.threads import spread
from indistinct.tables.domain import Domain, Kind, plain_column
from indistinct.tables.value import Table, is_table


def count_for_publishing(source: Table, request: Request) -> Counted:
    """Count as requested, and keep the rows of each cell unless the table is published already."""
    counted, grouping = count_table(source, request)
    return counted if request.published else replace(counted, row_index=CellRows(counted.frequencies.vectors, grouping))


def count_table(source: Table, request: Request) -> tuple[Counted, Grouping]:
    """Count as requested; return also the rows of each cell, in the order of cells and, if joint, of keys."""
    if not source.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    lonely = spread(lambda name: rows_alone(source.data[name]), request.alone, rows=source.rows, weight=16)
    alone = dict(zip(request.alone, lonely, strict=True))
    singled_out = published_columns_of(source.data, request)
    if not request.quasi:  # the whole table is one cell
        whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), Classes(np.array([source.rows])))
        grouping = Grouping(row_numbers(source.rows), np.array([0, source.rows]))
        return Counted((), whole, alone=alone, singled_out=singled_out), grouping
    names = require_columns(request, source.columns)
    columns = {name: encoded_column(source.data, name, request) for name in names}
    population = None
    if is_table(request.population):
        both = {name: with_population(columns[name], request.population.data, request) for name in request.quasi}
        columns.update({name: mine for name, (mine, _) in both.items()})
        population = _frequencies([both[name][1] for name in request.quasi])
    quasi = [columns[name] for name in request.quasi]
    keys, pairs, alike = keys_of_request(source.data, columns, request)
    taxonomies = {
        name: hierarchy.bind(columns[name].domain) for name, hierarchy in request.hierarchies.items() if (name,) in keys
    }
    count = count_pieces if request.joint and keys else count_cells
    frequencies, grouping = count(quasi, keys, taxonomies=taxonomies, pairs=pairs)
    domains = {name: column.domain for name, column in columns.items()}
    groupings = {key: _frequencies([columns[name] for name in key]) for key in request.groupings}
    quasi_domains = tuple(c.domain for c in quasi)
    return Counted(quasi_domains, frequencies, domains, groupings, population, alone, alike, singled_out), grouping


def published_columns_of(table: pa.Table, request: Request, *, counts: Codes | None = None) -> SingledOut | None:
    """Return which rows or people are unique on the published columns, None where the request names none.

    Row `i` counts as `counts[i]` rows, by default one; without people, one that counts as several is not unique.
    """
    names = request.published_columns
    if not names:
        return None
    wanted = tuple(dict.fromkeys((*names, *request.class_columns)))
    encoded = dict(zip(wanted, spread(lambda name: codes_of(name, table[name]), wanted, rows=len(table)), strict=True))
    codes, classes = (
        {name: encoded[name] for name in names},
        _classes([encoded[name] for name in request.class_columns]),
    )
    if request.person:
        owners = join_columns(encode_people(table, request.person, counts)).codes.astype(np.int64)
        members = int(owners.max(initial=-1)) + 1
        return singled_out(codes, owners, members=members, people=True, classes=classes)
    owners = np.arange(len(table))
    rows = len(table) if counts is None else int(counts.sum())
    alone = owners if counts is None else np.where(counts > 1, -1, owners)
    return singled_out(codes, alone, members=rows, classes=classes)


def _classes(columns: Sequence[Codes | None]) -> Codes | None:
    """Return the class of each row by the columns that tell classes apart; None without any."""
    known = [codes for codes in columns if codes is not None]
    return group_rows(known, [int(codes.max(initial=0)) + 1 for codes in known]).group_ids() if known else None


def require_columns(request: Request, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that a request counts; raise `SchemaError` for one that the table does not have."""
    asked = [request.quasi, *request.keys, *request.groupings]
    names = tuple(dict.fromkeys(name for key in asked for name in key if name != PERSON))
    for name in names:
        if name not in columns:
            raise SchemaError(f"the table has no column {name!r}", hint="give the roles that its columns have")
    return names


@dataclass(frozen=True, slots=True, eq=False)
class CellRows:
    """The rows behind the cells with some vectors."""

    vectors: Codes
    grouping: Grouping


def rows_of(
    source: Table, domains: tuple[Domain, ...], frequencies: FrequencySet, row_index: RowIndex | None = None
) -> Grouping:
    """Return the rows behind the cells of a frequency set, counted again where `row_index` is not about these cells."""
    if isinstance(row_index, CellRows) and row_index.vectors is frequencies.vectors:
        return row_index.grouping
    if frequencies.joint is not None:
        raise InputError("rows cannot be found again by their sensitive values", hint="search a new recoding")
    quasi = {domain.column: domain for domain in domains}
    _, grouping = count_table(source, Request(tuple(quasi), domains=quasi))
    return grouping


def encoded_column(table: pa.Table, name: str, request: Request) -> Encoded:
    """Return a column as codes: in the domain that is given, else in the order that its hierarchy declares."""
    if name in request.domains:
        domain = request.domains[name]
        return Encoded.plain(domain, domain.encode(table[name]))
    hierarchy = request.hierarchies.get(name)
    order = declared_order(hierarchy)
    return encode_column(name, table[name], order=order, required=not request.published)


def keys_of_request(
    table: pa.Table, columns: dict[str, Encoded], request: Request, *, counts: Codes | None = None
) -> tuple[dict[Key, Encoded], dict[Key, tuple[Codes, Codes]], int | None]:
    """Return every key as one column, the pairs behind those that begin with a person, and how many look different.

    Row `i` of the table counts as `counts[i]` rows, by default one.
    """
    keys: dict[Key, Encoded] = {}
    pairs: dict[Key, tuple[Codes, Codes]] = {}
    asked = any(PERSON in key for key in request.keys)
    told_apart = encode_people(table, request.person, counts) if asked else []
    person = join_columns(told_apart) if asked else None
    for key in request.keys:
        if person is None or key[0] != PERSON:
            keys[key] = join_columns([columns[name] for name in key])
        elif len(key) == 1:
            keys[key] = person
        else:
            keys[key], pairs[key] = pair_people(person, join_columns([columns[name] for name in key[1:]]))
    return keys, pairs, people_alike(told_apart)


def encode_people(table: pa.Table, person: Sequence[str], counts: Codes | None = None) -> list[Encoded]:
    """Encode the columns that identify people; raise if a value is missing in one of them."""
    for name in person:
        if table[name].null_count:
            absent = table[name].is_null().to_numpy()
            raise nobody(name, int(absent.sum() if counts is None else counts[absent].sum()))
    return [encode_column(name, table[name]) for name in person]


def people_alike(columns: list[Encoded]) -> int | None:
    """Count people, treating identifiers that differ only in case, spaces or forms of accents as one."""
    if not columns:
        return None
    codes = []
    for column in columns:
        values = column.domain.values
        if column.domain.kind is Kind.TEXT:
            values = pc.utf8_normalize(values.cast(pa.string()), form="NFC")
            values = pc.utf8_lower(pc.utf8_trim_whitespace(values))
        codes.append(values.dictionary_encode().indices.to_numpy(zero_copy_only=False)[column.codes])
    return len(group_rows(codes, [int(each.max(initial=0)) + 1 for each in codes]))


def with_population(column: Encoded, population: pa.Table, request: Request) -> tuple[Encoded, Encoded]:
    """Return a column of the table and that of the population, in a domain that holds the values of both."""
    name = column.domain.column
    if name not in population.column_names:
        raise InputError(
            f"the population has no column {name!r}", hint="it must show every quasi-identifier of the table"
        )
    cells, kind = plain_column(name, population[name]), column.domain.values.type
    if pa.types.is_date32(kind) and pa.types.is_timestamp(cells.type):  # days of the table, hours of the population
        kind = cells.type
    try:
        cells = cells.cast(kind)
    except pa.ArrowException:
        raise InputError(
            f"column {name!r} of the population is not {column.domain.kind}, as that of the table is",
            hint="read both tables with the same types",
        ) from None
    own = pa.chunked_array([column.domain.values.cast(kind), pa.nulls(int(column.domain.missing), kind)], kind)
    together = pa.chunked_array([*own.chunks, *cells.chunks], kind)
    hierarchy = request.hierarchies.get(name)
    order = declared_order(hierarchy)
    domain = encode_column(name, together, order=order).domain
    codes = domain.encode(pa.chunked_array([column.domain.decode(column.codes)]))
    return Encoded.plain(domain, codes), Encoded.plain(domain, domain.encode(cells))


def _frequencies(columns: list[Encoded]) -> FrequencySet:
    """Count the distinct rows of columns."""
    grouping, vectors = group_encoded(columns)
    return FrequencySet(tuple(column.domain.column for column in columns), vectors, Classes(grouping.counts))
