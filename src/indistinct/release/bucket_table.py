"""A published table in buckets as a value, whatever its form: slices, and rows that share nothing but the bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from indistinct.domain import Codes, Domain, kind_of
from indistinct.errors import IndistinctError, InputError, SchemaError
from indistinct.frequencies.count import join_columns
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.frequencies.grouping import WORD, group_rows, pack, sort_words
from indistinct.recoding.labels import written_multiset
from indistinct.schema import BUCKET, COUNT, Schema
from indistinct.tables import open_table


@dataclass(frozen=True, slots=True, eq=False)
class BucketTable:
    """What was published: the table, its slices, its form, and the table of sensitive values where that stands apart.

    Where a table is expected, a path or a frame will do. `form` is `sliced`, `tables` or `multiset`, as the recoding
    says; `generalized` names attributes whose values were recoded before, so that tuples of the original cannot be
    found in them by equality.
    """

    table: pa.Table
    slices: tuple[tuple[str, ...], ...]
    form: str = "sliced"
    sensitive: pa.Table | None = None
    generalized: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("table", "sensitive"):
            source = getattr(self, name)
            if source is not None and not isinstance(source, pa.Table):
                object.__setattr__(self, name, open_table(source).data)


def plain(published: BucketTable, schema: Schema) -> BucketTable:
    """Return the same release as one sliced table with a bucket column, in the order of the buckets.

    Two tables are put beside each other and multisets are unfolded: neither tells more or less that way.
    """
    _require(published, schema)
    match published.form:
        case "tables" if published.sensitive is not None:
            table = _beside(published.table, published.sensitive)
        case "multiset":
            table = _unfolded(published.table, schema)
        case _:
            table = published.table
    return replace(published, table=table, form="sliced", sensitive=None)


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """The rows of a plain release as codes, and those of the original in the same codes.

    `original` lacks an attribute where the original is not at hand, where values are generalized, and where the release
    shows values that the original does not have.
    """

    buckets: Codes
    published: Mapping[str, Codes]
    original: Mapping[str, Codes]
    sizes: Mapping[str, int]
    rows: int
    found: dict[tuple[str, ...], tuple[Codes, Codes | None]] = field(default_factory=dict)

    def joined(self, names: Sequence[str]) -> tuple[Codes, Codes | None]:
        """Return the values of some attributes together as codes: of published rows, and of the original's.

        Both are kept in `found`: verification asks for the same attributes more than once.
        """
        key = tuple(names)
        if key not in self.found:
            self.found[key] = self._join(key)
        return self.found[key]

    def alike(self, names: Sequence[str]) -> bool:
        """Return whether the release is known to have the same values of some attributes as often as the original.

        It may be so without being known: where the vectors do not fit into one word.
        """
        bits = sum(max(self.sizes[name] - 1, 0).bit_length() for name in names)
        if bits > WORD or not all(name in self.original for name in names):
            return False
        sizes = [self.sizes[name] for name in names]
        mine, theirs = (
            sort_words(pack([codes[name] for name in names], sizes)[0]) for codes in (self.published, self.original)
        )
        return np.array_equal(mine, theirs)

    def _join(self, names: tuple[str, ...]) -> tuple[Codes, Codes | None]:
        known = all(name in self.original for name in names)
        if not names:
            return np.zeros(len(self.buckets), dtype=np.int64), np.zeros(self.rows, dtype=np.int64)
        if len(names) == 1:
            own, theirs = self.published[names[0]], self.original.get(names[0])
            return own.astype(np.int64), None if theirs is None else theirs.astype(np.int64)
        sizes = [self.sizes[name] for name in names]
        columns = [
            np.concatenate([self.published[name], self.original[name]]) if known else self.published[name]
            for name in names
        ]
        grouping = group_rows(columns, sizes)
        numbers = np.empty(len(grouping.order), dtype=np.int64)
        numbers[grouping.order] = np.repeat(np.arange(len(grouping)), grouping.counts)
        return numbers[: len(self.buckets)], numbers[len(self.buckets) :] if known else None


def coded(published: BucketTable, original: pa.Table | None) -> Coded:
    """Return a plain release and, where it is at hand, the original in codes."""
    names = [name for slice_ in published.slices for name in slice_]
    missing = [] if original is None else [name for name in names if name not in original.column_names]
    if missing:
        raise SchemaError(
            f"the original has no column {', '.join(map(repr, missing))}, which the release has",
            hint="give the table that the release was made from",
        )
    shown, whole, sizes = {}, {}, {}
    for name in names:
        column = None if original is None else _encode(original, name)
        try:
            if original is None or column is None or name in published.generalized:
                raise SchemaError("there is nothing to compare with")
            shown[name] = column.domain.encode(_as(published.table[name], column.domain.values.type))
            whole[name] = column.codes
        except IndistinctError:
            column = _encode(published.table, name)
            shown[name] = column.codes
        sizes[name] = len(column.domain)
    buckets = _encode(published.table, BUCKET).codes.astype(np.int64)
    return Coded(buckets, shown, whole, sizes, 0 if original is None else original.num_rows)


def _as(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return a column in a type of the original where its texts spell such values, as unfolded multisets do."""
    if kind_of(column.type) is kind_of(wanted):
        return column
    try:
        return column.cast(wanted)
    except pa.ArrowException:
        return column


def _encode(table: pa.Table, name: str) -> Encoded:
    """Encode a column; one without any value has the one code of missing."""
    if table[name].null_count == table.num_rows:
        nothing = Domain(name, pa.array([], pa.string()), missing=True)
        return Encoded.plain(nothing, np.zeros(table.num_rows, dtype=np.int32))
    return encode_column(name, table[name])


def _require(published: BucketTable, schema: Schema) -> None:
    shown = [*published.table.column_names, *(published.sensitive.column_names if published.sensitive else ())]
    needed = [name for names in published.slices for name in names]
    if published.form not in ("sliced", "tables", "multiset") or len(set(needed)) < len(needed):
        raise SchemaError(
            "a release in buckets is sliced, tables or multiset, and its columns name every attribute once",
            hint="give form and columns as the certificate has them",
        )
    missing = [name for name in schema.published if name not in needed]
    if missing:
        raise SchemaError(
            f"no column of the release holds {', '.join(map(repr, missing))}",
            hint="the columns of a release in buckets name every attribute once",
        )
    if published.form != "multiset":
        needed.append(BUCKET)
    absent = [name for name in needed if name not in shown]
    if published.form == "tables":
        apart = () if published.sensitive is None else published.sensitive.column_names
        absent += [name for name in (BUCKET, *schema.sensitive, COUNT) if name not in (*apart, *absent)]
    if absent:
        raise SchemaError(
            f"the release has no column {', '.join(map(repr, absent))}, which the check needs",
            hint="name the columns as they are published, and give both tables of an anatomy release",
        )
    if not published.table.num_rows:
        raise InputError("the release has no rows", hint="check that this is the right file")


def _beside(known: pa.Table, sensitive: pa.Table) -> pa.Table:
    """Return the two tables of an anatomy release as one: inside a bucket any row may stand beside any other."""
    for table, name in ((known, BUCKET), (sensitive, BUCKET), (sensitive, COUNT)):
        if not pa.types.is_integer(table[name].type) or table[name].null_count:
            raise InputError(
                f"column {name!r} must have a whole number in every row", hint="give the tables as they were written"
            )
    counts = sensitive[COUNT].to_numpy()
    if (counts < 1).any() or sum(counts.tolist()) != known.num_rows:
        raise InputError(
            "the counts of sensitive values are not positive or do not add up to the rows of the other table",
            hint="give both tables of one release, as they were written",
        )
    values = sensitive.take(pa.array(np.repeat(np.arange(sensitive.num_rows), counts)))
    left, right = _by_bucket(known), _by_bucket(values)
    if not np.array_equal(left[BUCKET].to_numpy(), right[BUCKET].to_numpy()):
        raise InputError(
            "the two tables do not have the same buckets with the same numbers of rows",
            hint="give the tables of one release",
        )
    for name in right.column_names:
        if name not in (BUCKET, COUNT):
            left = left.append_column(name, right[name])
    return left


def _by_bucket(table: pa.Table) -> pa.Table:
    """Return a table in the order of its buckets, which releases mostly have already."""
    numbers = table[BUCKET].to_numpy()
    return table if (numbers[1:] >= numbers[:-1]).all() else table.sort_by(BUCKET)


def _unfolded(table: pa.Table, schema: Schema) -> pa.Table:
    """Return the buckets of multisets row by row; the values are text, as they are written."""
    names = [name for name in table.column_names if name not in schema.sensitive]
    buckets = join_columns([_encode(table, name) for name in names]).codes
    grouping = group_rows([buckets], [int(buckets.max()) + 1])
    arrays = {BUCKET: pa.array(np.repeat(np.arange(1, len(grouping) + 1), grouping.counts))}
    for name in names:
        labels = table[name].cast(pa.string()).take(pa.array(grouping.first)).to_pylist()
        values: list[str | None] = []
        for label, rows in zip(labels, grouping.counts.tolist(), strict=True):
            values += _repeated(label, rows, name)
        arrays[name] = pa.array(values, pa.string())
    for name in table.column_names:
        if name not in names:
            arrays[name] = table[name].combine_chunks().take(pa.array(grouping.order))
    return pa.table(arrays)


def _repeated(label: str | None, rows: int, name: str) -> list[str | None]:
    pairs = None if label is None else written_multiset(label)
    total = 0 if pairs is None else sum(count for _, count in pairs)
    if pairs is None or not total or rows % total:
        raise InputError(
            f"column {name!r} holds a value that is no multiset of its bucket",
            hint="values look like 22:2,33:1 and their counts add up to the rows of the bucket",
        )
    return [value for value, count in pairs for _ in range(count * (rows // total))]
