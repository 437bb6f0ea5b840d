"""Publishing in memory: rows go to their classes, are put into a random order there, and only then get their values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.base import Sink
from indistinct.engines.memory import _kernels
from indistinct.engines.memory.count import rows_of
from indistinct.frequencies.count import RowIndex, join_columns
from indistinct.frequencies.encode import encode_column, from_dictionary, group_rows, one_of_each
from indistinct.frequencies.slices import align
from indistinct.machine.arrays import Codes, empty_large, repeat_values, starts_of
from indistinct.machine.ordering import text_order
from indistinct.machine.randomness import Secret
from indistinct.machine.threads import spread
from indistinct.recoding.outputs import Assignment, OutputColumn, OutputTable
from indistinct.tables.domain import ascends, one_to_one, with_room
from indistinct.tables.value import Table

# Streams of a secret: the search has the fourth.
MIXING, NUMBERING, FIRST_SLICE = 1, 2, 4


def publish_table(
    source: Table, assignment: Assignment, sink: Sink, *, secret: Secret, row_index: RowIndex | None = None
) -> None:
    """Give a sink every table of a release.

    Rows are grouped by class and ordered by chance inside it, so that their order tells nothing that the values do not.
    """
    stock = _stock(source, assignment, secret, row_index)
    order = empty_large(assignment.classes.rows, stock.rows.dtype)
    classes = Run.of(assignment, secret)
    _kernels.scatter_rows(stock.rows, assignment.class_ids, assignment.counts, classes.begins.copy(), order)
    for name, table in assignment.layout.tables.items():
        sink.accept(name, [publish_classes(source.columns, assignment, stock, order, classes, table, secret=secret)])


@dataclass(frozen=True, slots=True, eq=False)
class Stock:
    """The rows of a release: row `rows[i]` of a table is row `i` in the order of cells and joint codes.

    `cells` has the cell of each row of the table, and `contents` a word for its content where a secret is fixed.
    """

    table: pa.Table
    rows: Codes
    cells: Codes
    contents: Codes | None


def _stock(source: Table, assignment: Assignment, secret: Secret, row_index: RowIndex | None) -> Stock:
    """Return the rows of each piece of an assignment. Equal rows of a piece are dealt to its classes at random.

    Where rows of a piece agree on everything that is published, one row represents all of them, and the others are not
    read again. They do not where cells that differ count as one value: one row's cell, shown for all that have its
    sensitive value, would give that value away.
    """
    grouping = rows_of(source, assignment.domains, assignment.frequencies, row_index)
    joint = assignment.frequencies.joint
    counts = grouping.counts if joint is None else joint.histogram.counts
    cells = np.arange(len(grouping)) if joint is None else joint.histogram.owners()
    names = list(dict.fromkeys(o.of for table in assignment.layout.tables.values() for o in table.outputs))
    unmodified = [o.of for table in assignment.layout.tables.values() for o in table.outputs if o.values is None]
    known = {*assignment.frequencies.names, *(name for key in assignment.keys for name in key)}
    table = source.data
    alike = set(unmodified) <= known and all(one_to_one(table[name].type) for name in unmodified)
    if alike and not assignment.layout.structure.whole_rows:
        firsts = grouping.order[starts_of(counts)[:-1]]
        table = (
            pa.table(gather_columns(table, list(dict.fromkeys(unmodified)), firsts))
            if unmodified
            else table.slice(0, 0)
        )
        rows = repeat_values(np.arange(len(counts), dtype=np.int32), counts)
        return Stock(table, rows, cells, content_words(source.data, names, secret, rows=firsts))
    contents = content_words(table, names, secret)
    order = grouping.order
    if assignment.split:
        order = order.copy()
        secret.arrange(order, starts_of(counts), contents, stream=MIXING)
    of_row = np.empty(0, dtype=np.int32)
    if any(o.by_cell for each in assignment.layout.tables.values() for o in each.outputs):
        of_row = np.empty(len(order), dtype=np.int32)
        of_row[grouping.order] = repeat_values(cells.astype(np.int32), counts)
    return Stock(table, order, of_row, contents)


def content_words(table: pa.Table, names: Sequence[str], secret: Secret, rows: Codes | None = None) -> Codes | None:
    """Return a word for the content of every row, or of some; only a fixed order needs it."""
    if secret.seed is None:
        return None
    chosen = table if rows is None else pa.table(gather_columns(table, names, rows))
    words = np.zeros(len(chosen), dtype=np.uint64)
    for name in names:  # one at a time: every value is a text of Python's here
        own = secret.contents(contents_of(chosen, [name]))
        words += 0 if own is None else own
    return words


def contents_of(table: pa.Table, names: Sequence[str]) -> dict[str, tuple[Sequence[str | None], Codes]]:
    """Return the texts and the codes of each column, from which a fixed secret derives the order of rows."""
    columns = {name: encode_column(name, _groupable(table[name]), required=False) for name in names}
    return {name: (column.domain.texts(), column.codes) for name, column in columns.items()}


def _groupable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column to a type whose values can be grouped; NaN equals NaN, and -0.0 equals 0.0."""
    kind = column.type
    if pa.types.is_floating(kind):  # also NaN; -0.0 and 0.0 are one value
        cells = [None if cell is None else repr(cell + 0.0) for cell in column.to_pylist()]
    elif pa.types.is_duration(kind):
        return column.cast(pa.int64())
    elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        cells = [None if cell is None else repr(cell) for cell in column.to_pylist()]
    else:
        return column
    return pa.chunked_array([pa.array(cells, pa.string())])


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Classes in the order in which they are published: `shown[i]` comes `i`-th; class `c` begins at `begins[c]`.

    They may be a part of all classes; `before` classes come earlier.
    """

    shown: Codes
    sizes: Codes
    starts: Codes
    begins: Codes
    before: int = 0

    @classmethod
    def of(cls, assignment: Assignment, secret: Secret) -> "Run":
        """Number classes at random where their numbers are published: the search order could reveal something."""
        sizes = assignment.classes.sizes
        numbered = any(table.numbers for table in assignment.layout.tables.values())
        numbers = secret.number(len(sizes), stream=NUMBERING) if numbered else np.arange(len(sizes))
        starts = starts_of(sizes[numbers])
        begins = np.empty(len(sizes), dtype=np.int64)
        begins[numbers] = starts[:-1]
        return cls(numbers, sizes[numbers], starts, begins)

    @property
    def places(self) -> Codes:
        """Return the place of each class among those that are published."""
        positions = np.empty(len(self.shown), dtype=np.int64)
        positions[self.shown] = np.arange(len(self.shown))
        return positions

    def part(self, first: int, last: int) -> "Run":
        """Return the classes from one place to behind another."""
        starts = self.starts[first : last + 1] - self.starts[first]
        return Run(self.shown[first:last], self.sizes[first:last], starts, starts[:-1], before=first)


def publish_classes(
    columns: Sequence[str],
    assignment: Assignment,
    stock: Stock,
    order: Codes,
    classes: Run,
    table: OutputTable,
    *,
    secret: Secret,
) -> pa.Table:
    """Return one table of a release, or some classes of it; `columns` are those of the original, in order."""
    if table.count is not None:
        return _count_vectors(stock, order, classes, table)
    numbers = _numbers(table, classes.sizes, classes)
    arrays: dict[str, pa.Array] = {}
    published: dict[str, tuple[Codes, Codes]] = {}
    for index, outputs in enumerate(table.slices):
        own = order.copy() if len(table.slices) > 1 else order
        secret.arrange(own, classes.starts, stock.contents, stream=FIRST_SLICE + index)
        if table.shared:
            own = _agree(own, classes, [published[name] for name in table.shared[index]])
            kept = {name for names in table.shared for name in names} & {output.of for output in outputs}
            published |= {
                name: (own, encode_column(name, _groupable(stock.table[name]), required=False).codes) for name in kept
            }
        arrays.update(_slice(assignment, stock, own, classes, outputs))
    if assignment.layout.in_source_order:
        positions = {name: index for index, name in enumerate(columns)}
        arrays = {o.name: arrays[o.name] for o in sorted(table.outputs, key=lambda output: positions[output.of])}
    return pa.table({**numbers, **arrays})


def _agree(order: Codes, classes: Run, shared: Sequence[tuple[Codes, Codes]]) -> Codes:
    """Order rows so that they agree with earlier slices in shared columns; inside a class the order stays random.

    `shared` has for each common column the rows of the slice that publishes it, and the code of every row. The rows of
    a class have as many of each combination of codes in both orders, so that each way to join them is as likely.
    """
    if not shared:
        return order
    of_class = repeat_values(np.arange(len(classes.sizes)), classes.sizes)
    both = [np.concatenate([codes[before], codes[order]]).astype(np.int64) for before, codes in shared]
    columns = [np.concatenate([of_class, of_class]), *both]
    ids = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns]).group_ids()
    return order[align(ids[: len(order)], ids[len(order) :])]


def _slice(
    assignment: Assignment, stock: Stock, order: Codes, classes: Run, outputs: Sequence[OutputColumn]
) -> dict[str, pa.Array]:
    """Return the columns of one slice, for rows in an order."""
    arrays = {}
    for output in outputs:
        if output.values is None or output.codes is None:
            continue
        if output.by_cell:
            arrays[output.name] = taken(output.values, output.codes[stock.cells[order]])
        else:
            arrays[output.name] = taken(output.values, output.codes[classes.shown], classes.sizes)
    kept = [output for output in outputs if output.values is None]
    cells = gather_columns(stock.table, [output.of for output in kept], order)
    return {**arrays, **{output.name: cells[output.of] for output in kept}}


def _count_vectors(stock: Stock, order: Codes, classes: Run, table: OutputTable) -> pa.Table:
    """Count each distinct row of a table's columns within each class, in the order of classes and values."""
    names = [output.of for output in table.outputs]
    vectors = join_columns([encode_column(name, stock.table[name], required=False) for name in names])
    codes = _kernels.gather(vectors.codes, order, np.zeros(len(vectors.domain), dtype=bool))
    entries, counts = empty_large(len(codes), codes.dtype), empty_large(len(codes), np.int32)
    lengths = np.empty(len(classes.sizes), dtype=np.int32)
    end = _kernels.count_in_runs(codes, classes.starts, entries, counts, lengths)
    each = gather_columns(stock.table, names, one_of_each(vectors.codes, len(vectors.domain)))
    values = spread(lambda name: pc.take(each[name], pa.array(entries[:end])), names, rows=end)
    return pa.table(
        {
            **_numbers(table, lengths, classes),
            **{output.name: cells for output, cells in zip(table.outputs, values, strict=True)},
            str(table.count): pa.array(counts[:end]),
        }
    )


def _numbers(table: OutputTable, sizes: Codes, classes: Run) -> dict[str, pa.Array]:
    """Return the number of every row's class, from 1, by the name of its column; nothing where none is published."""
    first = classes.before + 1
    return {
        name: pa.array(repeat_values(np.arange(first, first + len(sizes), dtype=np.int32), sizes))
        for name in table.numbers
    }


# Offsets of plain text are limited to this number of bytes.
LONGEST_TEXT = (1 << 31) - 1


def taken(values: pa.Array, codes: Codes, sizes: Codes | None = None) -> pa.Array:
    """Return published values by their codes, text as a dictionary; with `sizes` each is repeated."""
    if pa.types.is_string(values.type):
        return compact(values, codes, sizes)
    return values.take(pa.array(codes if sizes is None else repeat_values(codes, sizes)))


def compact(values: pa.Array, codes: Codes, sizes: Codes | None = None) -> pa.Array:
    """Return a dictionary array whose dictionary holds exactly the values that occur, ascending.

    A dictionary from upstream would tell which values were suppressed, and in which order rows first had them. Code
    `len(values)` is null; with `sizes` each code is repeated.
    """
    used = np.zeros(len(values) + 1, dtype=bool)
    used[codes] = True
    present = np.flatnonzero(used[:-1])
    kept = values if len(present) == len(values) else values.take(pa.array(present))
    kind = index_type(len(kept))
    lookup = np.full(len(values) + 1, -1, dtype=kind)
    if ascends(kept):
        dictionary, lookup[present] = kept, np.arange(len(kept), dtype=kind)
    else:
        encoded = kept.dictionary_encode()
        order = text_order(encoded.dictionary)
        ranks = np.full(len(order) + 1, -1, dtype=kind)
        ranks[order] = np.arange(len(order), dtype=kind)
        dictionary = encoded.dictionary.take(pa.array(order))
        lookup[present] = ranks[pc.fill_null(encoded.indices, len(order)).to_numpy()]
    indices = lookup[codes]
    absent = indices < 0 if (lookup[used] < 0).any() else None
    if sizes is not None:
        indices = repeat_values(indices, sizes)
        absent = None if absent is None else repeat_values(absent, sizes)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=absent), dictionary)


def index_type(values: int) -> type[np.signedinteger]:
    """Return the narrowest type of dictionary indices with room for one more code, that of missing."""
    return next(kind for kind in (np.int8, np.int16, np.int32) if values < np.iinfo(kind).max)


def gather_columns(table: pa.Table, names: Sequence[str], order: Codes) -> dict[str, pa.Array]:
    """Return some columns in another order, several at a time."""
    return dict(zip(names, spread(lambda name: gather_column(table[name], order), names, rows=len(order)), strict=True))


def gather_column(column: pa.ChunkedArray, order: Codes) -> pa.Array:
    """Return a column's cells in published order, without a trace of the original one."""
    if not isinstance(column.type, pa.DictionaryType):
        return _takeable(column).combine_chunks().take(pa.array(order))
    distinct = from_dictionary(with_room(column, column.type.value_type))
    values = distinct.values
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if text:
        values = values.take(pc.sort_indices(values))
    ranks = pc.index_in(distinct.values, value_set=values).to_numpy()
    kind = index_type(len(values))
    lookups = [np.append(ranks, len(values)).astype(kind)[lookup] for lookup in distinct.places]
    used = np.zeros(len(values) + 1, dtype=bool)
    indices = _kernels.gather_codes(distinct.chunks, lookups, order, used)
    if text and not used[:-1].all():
        return compact(values, indices)
    cells = pa.array(indices, mask=indices == len(values) if used[-1] else None)
    return pa.DictionaryArray.from_arrays(cells, values) if text else _takeable(values).take(cells)


def _takeable(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return cells unmodified, in a type from which Arrow can take them."""
    kind = column.type
    if pa.types.is_floating(kind):  # -0.0 and 0.0 are one value, so they are published as one
        wide = pa.float32() if pa.types.is_float16(kind) else kind
        return pc.add(column.cast(wide), pa.scalar(0, wide)).cast(kind)
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    return column.cast(pa.large_string()) if pa.types.is_string(kind) and column.nbytes >= LONGEST_TEXT else column
