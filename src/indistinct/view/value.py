"""What a reader of a release sees: columns and what their labels cover, and slices of published values with counts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from indistinct.frequencies.encode import Encoded, group_rows
from indistinct.frequencies.slices import Slice
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.tables.domain import Domain, Kind
from indistinct.view.cover import Cover, cover_of_each


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Where published values that are ranges lie on the line of their column, for estimates: NaN for other values.

    `whole` says that only whole numbers, or days, lie on the line.
    """

    low: Codes
    high: Codes
    whole: bool


@dataclass(frozen=True, eq=False)
class ShownColumn:
    """A published column: its distinct values, and which codes of a domain each of them covers.

    `texts` are the published values, where queries name them, and `order` is the declared order of the original's.
    `unknown` says which published values also cover values outside the domain. `hull` has the ends between which
    numbers lie where the domain does not list all of them, infinite for open ends. `means` are published means.
    `limits` are those of the whole column, suppressed rows included, where they are known.
    """

    domain: Domain
    cover: Cover
    texts: tuple[str | None, ...] = ()
    order: tuple[str, ...] = ()
    unknown: Mask | None = None
    ranges: Ranges | None = None
    hull: tuple[Codes, Codes] | None = None
    means: Codes | None = None
    limits: tuple[float, float] | None = None

    def __len__(self) -> int:
        return len(self.cover)

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.domain.column

    @property
    def missing(self) -> bool:
        """Whether code 0 of the domain means missing."""
        return self.domain.missing

    @property
    def kind(self) -> Kind:
        """Return whether values are compared as numbers, dates or names; a declared order makes them names."""
        return Kind.TEXT if self.domain.declared else self.domain.kind

    @cached_property
    def positions(self) -> Floats | None:
        """Positions of the domain's values on a line, None for names."""
        return None if self.kind is Kind.TEXT else np.asarray(self.domain.positions(), dtype=np.float64)

    @cached_property
    def beyond_domain(self) -> Mask:
        """Whether each published value also covers values outside the domain."""
        return np.zeros(len(self), dtype=bool) if self.unknown is None else self.unknown

    @cached_property
    def sizes(self) -> Codes:
        """The number of codes that each published value covers."""
        return self.cover.lengths

    @cached_property
    def ends(self) -> tuple[Codes, Codes]:
        """The positions of the lowest and the highest value that each published one covers, NaN where there is none."""
        assert self.positions is not None  # noqa: S101  (names have no ends)
        low, high = np.maximum(self.cover.low, int(self.missing)), self.cover.high
        present = low <= high
        owners = np.repeat(np.arange(len(self)), np.diff(self.cover.indptr))[present]
        first, last = np.flatnonzero(np.diff(owners, prepend=-1)), np.flatnonzero(np.diff(owners, append=-1))
        least, largest = np.full(len(self), np.nan), np.full(len(self), np.nan)
        least[owners[first]] = self.positions[low[present][first]]
        largest[owners[last]] = self.positions[high[present][last]]
        return least, largest

    @cached_property
    def absent(self) -> Mask:
        """Whether each published value may be a missing one."""
        if not self.missing:
            return np.zeros(len(self), dtype=bool)
        return self.cover.sum_runs((self.cover.low == 0).astype(np.int64)) > 0


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A table as its reader sees it: its columns, its slices, and how many rows each unit has.

    The codes of a slice number the published values of `columns`. A table in classes has one slice; each entry
    is a unit.

    Examples
    --------
    >>> import pyarrow as pa
    >>> labels = Cover(np.arange(3), np.array([0, 2]), np.array([1, 2]))  # [20-25] and 30
    >>> ages = ShownColumn(Domain("age", pa.array([20, 25, 30])), labels)
    >>> shown = view_of_classes({"age": ages}, {"age": np.array([0, 1])}, np.array([4, 3]))
    >>> shown.rows, shown.columns["age"].sizes.tolist()
    (7, [2, 1])
    """

    columns: Mapping[str, ShownColumn]
    slices: tuple[Slice, ...]
    sizes: Codes

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.sizes.sum())

    @property
    def covers(self) -> dict[str, Cover]:
        """Return the values that the published ones of each column cover."""
        return {name: column.cover for name, column in self.columns.items()}

    def home(self, name: str) -> Slice:
        """Return the slice that holds a column."""
        return next(each for each in self.slices if name in each.codes)

    def project(self, names: tuple[str, ...]) -> "View":
        """Return some columns of a table in classes: combinations that agree on them are one."""
        (whole,) = self.slices
        columns = {name: self.columns[name] for name in names}
        codes = {name: whole.codes[name] for name in names}
        grouping = group_rows(list(codes.values()), [len(column) for column in columns.values()])
        counts = np.add.reduceat(whole.counts[grouping.order], grouping.starts[:-1])
        return view_of_classes(columns, {name: own[grouping.first] for name, own in codes.items()}, counts)

    def joined(self) -> "View":
        """Return the same table with equal entries of a unit, or of a table in classes, counted together."""
        if len(self.slices) == 1 and self.columns:
            once = self.project(tuple(self.columns))
            return once if 2 * len(once.sizes) <= len(self.sizes) else self
        return replace(self, slices=tuple(self._join_entries(each) for each in self.slices))

    def _join_entries(self, each: Slice) -> Slice:
        """Merge equal entries of a slice if this at least halves them."""
        codes = [each.units, *each.codes.values()]
        grouping = group_rows(codes, [len(self.sizes), *(len(self.columns[name]) for name in each.names)])
        if 2 * len(grouping) > len(each.counts):
            return each
        first = grouping.first
        counts = np.add.reduceat(each.counts[grouping.order], grouping.starts[:-1])
        return Slice(each.units[first], {name: own[first] for name, own in each.codes.items()}, counts)


def view_of_classes(columns: Mapping[str, ShownColumn], codes: Mapping[str, Codes], counts: Codes) -> View:
    """Return a view of a table in classes; each entry is a unit."""
    sizes = counts.astype(np.int64)
    return View(columns, (Slice(np.arange(len(sizes)), codes, sizes),), sizes)


def unmodified(columns: Mapping[str, Encoded]) -> View:
    """Return a table that shows every value as it was, a unit for each row."""
    rows = len(next(iter(columns.values())).codes) if columns else 0
    shown_columns = {name: each_value(column.domain) for name, column in columns.items()}
    codes = {name: column.codes.astype(np.int64) for name, column in columns.items()}
    return view_of_classes(shown_columns, codes, np.ones(rows, dtype=np.int64))


def each_value(domain: Domain) -> ShownColumn:
    """Return a column that shows the values of a domain, each as itself."""
    return ShownColumn(domain, cover_of_each(np.arange(len(domain))))
