"""What a recoding publishes: the dictionary of a column's published values, and cells sorted into classes.

A *recoding* says what to publish for each combination of quasi-identifier values. An *algorithm* finds one, an
*engine* applies it, a *model* judges the result.
"""

from dataclasses import dataclass

import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.frequencies.value import Classes, FrequencySet


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assignment:
    """A frequency set after a recoding: which cells went to which class, and what each class shows.

    Piece `i` sends `counts[i]` rows of cell `cells[i]` to class `class_ids[i]`; a negative label is suppression. Rows
    that a release cannot tell apart are one class: the rows of `values` (c × d codes into `columns`) are distinct
    and ascend lexicographically. `hidden` has the published codes that suppressed pieces would have had, where the
    recoding knows them.
    """

    frequencies: FrequencySet
    columns: tuple[PublishedColumn, ...]
    values: Codes
    cells: Codes
    class_ids: Codes
    counts: Codes
    classes: Classes
    hidden: Codes | None = None

    @property
    def rows(self) -> int:
        """Return the number of original rows."""
        return self.frequencies.rows

    @property
    def suppressed(self) -> int:
        """Return the number of rows that are not published."""
        return self.rows - self.classes.rows
