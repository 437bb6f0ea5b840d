"""Which class of an assignment each published class is, by what both show."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from indistinct.frequencies.count import Counted
from indistinct.frequencies.encode import encode_column
from indistinct.frequencies.grouping import group_rows
from indistinct.machine.arrays import Codes
from indistinct.recoding.outputs import Assignment, Output


def matched_classes(counted: Counted, assignment: Assignment) -> Codes:
    """Return the class of an assignment that shows what each class counted on a release shows, -1 where none does."""
    columns = [_common(counted, output.name, output.values, output.codes) for output in _shown(assignment)]
    return _index(columns, classes=len(counted.frequencies))


def class_index(assignment: Assignment, other: Assignment) -> Codes:
    """Return the class of another assignment that shows what each class of an assignment shows, -1 where none does."""
    columns = []
    for mine, theirs in zip(_shown(assignment), _shown(other), strict=True):
        shown = [pa.array(output.values).take(pa.array(output.codes)) for output in (mine, theirs)]
        codes = pa.concat_arrays(shown).dictionary_encode(null_encoding="encode").indices.to_numpy()
        columns.append((codes[: len(shown[0])], codes[len(shown[0]) :]))
    return _index(columns, classes=len(assignment.classes))


def _index(columns: Sequence[tuple[Codes, Codes]], *, classes: int) -> Codes:
    """Return the place among vectors on the right of each one on the left, -1 for one that is not there."""
    pairs = [np.concatenate([mine, theirs]) for mine, theirs in columns]
    ids = group_rows(pairs, [int(column.max(initial=0)) + 1 for column in pairs]).group_ids()
    mine, theirs = ids[:classes], ids[classes:]
    class_of = np.full(len(ids), -1, dtype=np.int64)
    class_of[theirs] = np.arange(len(theirs))
    return np.asarray(class_of[mine])


def _shown(assignment: Assignment) -> list[Output]:
    (table,) = assignment.layout.tables.values()
    return [output for output in table.outputs if output.values is not None]


def _common(counted: Counted, name: str, values: pa.Array, codes: Codes | None) -> tuple[Codes, Codes]:
    """Return a column of published classes, and of those that were meant, in common codes."""
    meant = encode_column(name, pa.chunked_array([values]), required=False)
    column = counted.frequencies.vectors[:, counted.frequencies.names.index(name)]
    translated = counted.known[name].translate(meant.domain)
    size = len(meant.domain)
    # A value that was not meant is like no other.
    own = np.where(translated < 0, size + np.arange(len(translated)), translated)
    return own[column], meant.codes.astype(np.int64)[codes]
