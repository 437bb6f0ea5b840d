"""What a recoding publishes: the values that a column can show, classes of cells, and the tables of a release."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Key
from indistinct.machine.arrays import Codes
from indistinct.schema import Schema
from indistinct.tables.domain import Domain

Form = Literal["sliced", "tables", "multiset"]
RangeForm = Literal["labels", "columns"]
MAIN = ""
"""The name of the table that every release has; others are named by what they hold."""
SENSITIVE = "sensitive"
"""The name of the table in which Anatomy publishes sensitive values apart."""
ENDS = (("_from", "_to"), ("_min", "_max"))
"""What the names of two columns end in that stand for one: the ends of ranges, or the bounds of classes."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedColumn:
    """The values that a release shows for one quasi-identifier, and how much of its domain each one covers.

    Every array has one entry a published value. `outputs` are the columns of the release (one, or two where bounds
    or a mean are published). `low` and `high` are places on the column's line, `leaves` the raw values covered,
    `levels` the steps above raw in the hierarchy. `span`, `size` and `height` are the same for the whole domain; a
    column without a hierarchy has height 1: raw, or not. `ranged` says that loss is measured along the line.
    """

    column: str
    outputs: tuple[tuple[str, pa.Array], ...]
    low: Codes
    high: Codes
    leaves: Codes
    levels: Codes
    span: float
    size: int
    height: int
    ranged: bool

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, slots=True, eq=False)
class OutputColumn:
    """One column of a published table, and where its values come from.

    `of` is the original column. A row shows its own cell where `values` is None. Otherwise it shows `values[codes[i]]`,
    where `i` is the row's class, or its cell if the values are `by_cell`.
    """

    name: str
    of: str
    values: pa.Array | None = None
    codes: Codes | None = None
    by_cell: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OutputTable:
    """One table of a release: its slices, each some columns whose values stay together.

    Rows stand in the order of their classes. Inside a class every slice has a random order of its own. Where `bucket`
    names a column, it shows the number of the class, and classes are numbered at random. Where `count` names a column,
    equal rows of a class stand there once, with their number. `shared[j]` names the columns of earlier slices with
    which the rows of slice `j` agree; it is empty where slices share none.
    """

    slices: tuple[tuple[OutputColumn, ...], ...]
    bucket: str | None = None
    count: str | None = None
    shared: tuple[tuple[str, ...], ...] = ()

    @property
    def outputs(self) -> tuple[OutputColumn, ...]:
        """Return the columns of all slices."""
        return tuple(output for outputs in self.slices for output in outputs)


@dataclass(frozen=True, slots=True)
class Buckets:
    """How a release shows its buckets, as far as readers must know: no value of the table is in it.

    `slices` are the attributes that stay together; `generalized` names those whose values were recoded before.
    """

    form: Form
    slices: tuple[tuple[str, ...], ...]
    generalized: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The tables of a release by name, and the roles of the columns of the first.

    `in_source_order` says that columns stand where they stood in the original. `buckets` is there where links between
    columns are broken.
    """

    tables: Mapping[str, OutputTable]
    schema: Schema
    in_source_order: bool = True
    buckets: Buckets | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assignment:
    """Where a recoding sends the rows of each cell, what each class shows, and so all that an engine must know.

    Piece `i` sends `counts[i]` rows of cell `cells[i]` to class `class_ids[i]`; a negative class is suppression. Where
    `joint` is there, the rows of piece `i` are those whose `keys` have the joint code `joint[i]`. Rows that a release
    cannot tell apart are one class: the rows of `values` (c × d codes into `columns`) are distinct and ascend
    lexicographically. `hidden` has the published codes that suppressed pieces would have had, where the recoding knows
    them. `domains` say what the codes of cells mean. `split` says that equal rows may go to different classes.
    """

    frequencies: FrequencySet
    columns: tuple[PublishedColumn, ...]
    values: Codes
    cells: Codes
    class_ids: Codes
    counts: Codes
    classes: Classes
    hidden: Codes | None = None
    joint: Codes | None = None
    domains: tuple[Domain, ...] = ()
    split: bool = False
    layout: Layout = field(default_factory=lambda: Layout({}, Schema()))

    @property
    def rows(self) -> int:
        """Return the number of original rows."""
        return self.frequencies.rows

    @property
    def suppressed(self) -> int:
        """Return the number of rows that are not published."""
        return self.rows - self.classes.rows

    @property
    def suppressed_members(self) -> int:
        """Return the number of people of whom a row is not published, or of such rows where people were not counted."""
        cells = self.frequencies.classes
        if (PERSON,) not in cells.histograms:
            return self.suppressed
        dropped = np.zeros(len(self.frequencies), dtype=bool)
        dropped[self.cells[self.class_ids < 0]] = True
        return cells.members_of(dropped)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return what the joint codes of pieces speak of."""
        return () if self.frequencies.joint is None else tuple(self.frequencies.joint.codes)
