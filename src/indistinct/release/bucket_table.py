"""A published table in buckets as a value, whatever its form: slices, and rows that share nothing but the bucket."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.domain import Domain
from indistinct.errors import IndistinctError, InputError, SchemaError
from indistinct.frequencies.count import join_columns
from indistinct.frequencies.encode import Encoded, encode_column, in_domain
from indistinct.frequencies.fingerprint import same_rows
from indistinct.frequencies.grouping import group_rows, repeated, run_starts
from indistinct.parallel import is_large
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
    published: Mapping[str, Encoded]
    original: Mapping[str, Encoded]
    rows: int
    found: dict[tuple[str, ...], tuple[Codes, Codes | None]] = field(default_factory=dict)

    @property
    def sizes(self) -> Codes:
        """Return the number of rows of each bucket."""
        ascending = (self.buckets[1:] >= self.buckets[:-1]).all()
        return np.diff(run_starts(self.buckets)) if ascending else np.bincount(self.buckets)

    def joined(self, names: Sequence[str]) -> tuple[Codes, Codes | None]:
        """Return the values of some attributes together as codes: of published rows, and of the original's.

        Both are kept in `found`: verification asks for the same attributes more than once.
        """
        key = tuple(names)
        if key not in self.found:
            self.found[key] = self._join(key)
        return self.found[key]

    def alike(self, names: Sequence[str]) -> bool:
        """Return whether the release has the same values of some attributes as often as the original."""
        if not all(name in self.original for name in names):
            return False
        return same_rows([self.published[name] for name in names], [self.original[name] for name in names])

    def _join(self, names: tuple[str, ...]) -> tuple[Codes, Codes | None]:
        known = all(name in self.original for name in names)
        if not names:
            return np.zeros(len(self.buckets), dtype=np.uint8), np.zeros(self.rows, dtype=np.uint8)
        if len(names) == 1:
            return self.published[names[0]].codes, self.original[names[0]].codes if known else None
        columns = [
            np.concatenate([self.published[name].codes, self.original[name].codes])
            if known
            else self.published[name].codes
            for name in names
        ]
        grouping = group_rows(columns, [len(self.published[name].domain) for name in names])
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

    def pair(name: str) -> tuple[Encoded, Encoded | None]:
        shown = _encode(published.table, name)
        if original is None or name in published.generalized:
            return shown, None
        whole = _encode(original, name)
        try:
            return _as(shown, whole.domain), whole
        except IndistinctError:  # values that the original does not have
            return shown, None

    with ThreadPoolExecutor(2 if is_large(published.table.num_rows) else 1) as pool:
        pairs = dict(zip(names, pool.map(pair, names), strict=True))
    return Coded(
        _numbered(published.table),
        {name: shown for name, (shown, _) in pairs.items()},
        {name: whole for name, (_, whole) in pairs.items() if whole is not None},
        0 if original is None else original.num_rows,
    )


def _numbered(table: pa.Table) -> Codes:
    """Return the buckets of rows as codes that ascend with their numbers."""
    column = table[BUCKET]
    if pa.types.is_integer(column.type) and not column.null_count:
        numbers = column.to_numpy()
        if (numbers[1:] >= numbers[:-1]).all():
            starts = run_starts(numbers)
            return repeated(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    return _encode(table, BUCKET).codes.astype(np.int32)


def _as(column: Encoded, domain: Domain) -> Encoded:
    """Return a column in the codes of the original; texts may spell its values, as those of unfolded multisets do."""
    own = column.domain
    if own.kind is not domain.kind:
        with suppress(pa.ArrowException):
            own = replace(own, values=own.values.cast(domain.values.type))
    return in_domain(replace(column, domain=own), domain)


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
    # No count above the number of rows: then their sum cannot overflow.
    if counts.min(initial=1) < 1 or counts.max(initial=0) > known.num_rows or counts.sum() != known.num_rows:
        raise InputError(
            "the counts of sensitive values are not positive or do not add up to the rows of the other table",
            hint="give both tables of one release, as they were written",
        )
    values = sensitive
    if sensitive.num_rows < known.num_rows:
        values = sensitive.take(pa.array(np.repeat(np.arange(sensitive.num_rows), counts.astype(np.int64))))
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
