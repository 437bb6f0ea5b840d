"""Counting in memory: columns to codes, codes to words, one sort."""

import pyarrow as pa

from indistinct.engines.base import Request
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted, count_cells, count_pieces, join_columns
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.hierarchy import Order
from indistinct.recoding.kinds import Recoding


def count_table(table: pa.Table, request: Request) -> Counted:
    """Return the cells of a table, the histograms that were asked for, and the rows of each cell."""
    if not table.num_rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    quasi = [encode_named(table, name, request) for name in request.quasi]
    names = dict.fromkeys(name for key in request.keys for name in key)
    singles = {name: encode_named(table, name, request) for name in names}
    keys = {key: join_columns([singles[name] for name in key]) for key in request.keys}
    taxonomies = {
        name: request.hierarchies[name].bind(column.domain)
        for name, column in singles.items()
        if name in request.hierarchies
    }
    count = count_pieces if request.joint and keys else count_cells
    return count(quasi, keys, taxonomies=taxonomies)


def count_for(recoding: Recoding, table: pa.Table) -> Counted:
    """Return the cells of a table in the codes of a recoding; raise `UnseenValueError` for values it does not know."""
    if not table.num_rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    columns = [
        Encoded.plain(column.domain, column.domain.encode(table[column.domain.column])) for column in recoding.columns
    ]
    return count_cells(columns, {})


def encode_named(table: pa.Table, name: str, request: Request) -> Encoded:
    """Return a column as codes, in the order that its hierarchy declares."""
    hierarchy = request.hierarchies.get(name)
    order = hierarchy.values if isinstance(hierarchy, Order) else None
    return encode_column(name, table[name], order=order)
