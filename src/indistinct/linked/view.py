"""What a reader of several published tables sees, as arrays: classes of people, labels of their rows, values they show.

`classes[p]` is the class of person p: the number of the labels of the person's row in the people table. Events of a
table are parallel arrays, the person and the label of each row; a label is a number that the table gives to each
combination of its published quasi-identifiers and known time. `values` are the sensitive values that people show,
a number for each pair of a column and a value, each person and value once.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy.explicit import value_key
from indistinct.machine.arrays import Codes
from indistinct.tables.domain import Kind


def _no_rows() -> Codes:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class EventLabels:
    """The person and the label of each row of a table, and how many labels there are."""

    person: Codes
    label: Codes
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class PersonValues:
    """The distinct pairs of a person and a sensitive value."""

    person: Codes = field(default_factory=_no_rows)
    value: Codes = field(default_factory=_no_rows)


@dataclass(frozen=True, slots=True, eq=False)
class LinkedView:
    """Everything that the guarantee speaks of; people without events count too."""

    classes: Codes
    events: Mapping[str, EventLabels]
    values: PersonValues = PersonValues()

    @property
    def people(self) -> int:
        """Return the number of people."""
        return len(self.classes)


def number_rows(columns: Sequence[Codes], rows: int) -> tuple[Codes, int]:
    """Return a number for each distinct row of some columns of codes, and how many there are.

    >>> number_rows([np.array([0, 1, 0]), np.array([1, 1, 1])], 3)
    (array([0, 1, 0]), 2)
    """
    if not columns:
        return np.zeros(rows, dtype=np.int64), min(rows, 1)
    numbers = np.zeros(rows, dtype=np.int64)
    size = 1
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        distinct, numbers = np.unique(numbers * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
        size = len(distinct)
    return numbers.astype(np.int64), size


def distinct_values(person: Codes, value: Codes) -> PersonValues:
    """Return each pair of a person and a value once."""
    if not len(person):
        return PersonValues()
    width = int(value.max()) + 1
    pairs = np.unique(person.astype(np.int64) * width + value)
    return PersonValues(pairs // width, pairs % width)


def coarse_codes(name: str, column: pa.ChunkedArray) -> tuple[Codes, int]:
    """Return the codes of a sensitive column, and how many there are, as the coarsest common reader tells values apart.

    Numbers are compared by size however they are written, and no text at all is missing.

    >>> coarse_codes("code", pa.chunked_array([["7", "07", "", None, "x"]]))[0].tolist()
    [1, 1, 0, 0, 2]
    """
    encoded = encode_column(name, column, required=False)
    keys: dict[Hashable, int] = {None: 0}
    folded = [
        None if text is None or not text.strip() else value_key(text.strip(), Kind.NUMBER)
        for text in encoded.domain.texts()
    ]
    numbers = np.array([keys.setdefault(key, len(keys)) for key in folded], dtype=np.int64)
    return numbers[encoded.codes] if len(numbers) else np.zeros(len(column), dtype=np.int64), len(keys)
