"""Delimited text as codes of distinct fields, read in one pass where no field contains a line break.

Engines count codes, so that each distinct field is compared once and cells never become texts of their own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.machine.arrays import Codes, empty_large, starts_of
from indistinct.machine.threads import is_large, spread, workers
from indistinct.tables import _field_kernels as kernels
from indistinct.tables.row_groups import of_one_width

# Bytes that are read at a time, and the initial space for distinct fields of a column in them.
BLOCK_BYTES, INITIAL_FIELDS = 1 << 23, 1 << 12
# Upper limit of the length of a line, in bytes.
LONGEST_LINE = 1 << 16


def read_fields(
    path: Path, indices: Sequence[int], *, width: int, delimiter: str, begin: int
) -> list[pa.ChunkedArray] | None:
    """Return some columns of a text file as dictionaries, None where the file is small or not plain.

    `indices` are the indices of the columns among the `width` of the file, and `begin` is the offset of its first row.
    An empty field is missing, but `""` is not.
    """
    size = path.stat().st_size
    if not is_large(size // max(width, 1) // 8) or width < 2 or len(delimiter.encode()) != 1:
        return None
    bounds = _bounds(path, begin, size)
    if bounds is None:
        return None
    layout = _Layout.of(indices, width, delimiter)
    parts = spread(lambda one, end: _read_part(path, one, end, layout), bounds[:-1], bounds[1:])
    if any(part is None for part in parts):
        return None
    blocks = [block for part in parts if part is not None for block in part]
    return [of_one_width([block[index] for block in blocks]) for index in range(len(indices))]


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """The delimiter, and the output column of each field of a row."""

    mark: np.uint8
    wanted: Codes
    columns: int

    @classmethod
    def of(cls, indices: Sequence[int], width: int, delimiter: str) -> "_Layout":
        wanted = np.full(width, -1, dtype=np.int64)
        wanted[list(indices)] = np.arange(len(indices))
        return cls(np.uint8(ord(delimiter)), wanted, len(indices))


@dataclass(slots=True, eq=False)
class _Room:
    """Memory that one thread reuses for every block."""

    data: Codes
    words: Codes
    codes: Codes
    slots: Codes
    begins: Codes
    lengths: Codes
    keys: Codes
    counts: Codes

    @property
    def entries(self) -> int:
        """The space for distinct fields of a column."""
        return len(self.begins) // len(self.counts)

    @classmethod
    def of(cls, layout: _Layout, entries: int) -> "_Room":
        """Allocate the buffers of a thread."""
        columns = layout.columns
        shape, rows = columns * entries, BLOCK_BYTES // len(layout.wanted) + 1
        data = np.zeros(BLOCK_BYTES + 16, dtype=np.uint8)
        return cls(
            data,
            np.ndarray(BLOCK_BYTES + 8, dtype=np.uint64, buffer=data.data, strides=(1,)),
            empty_large(columns * rows, np.int32).reshape(columns, rows),
            np.empty(columns * 4 * entries, dtype=np.int32),
            np.empty(shape, dtype=np.uint64),
            np.empty(shape, dtype=np.uint64),
            np.empty(shape, dtype=np.uint64),
            np.empty(columns, dtype=np.int64),
        )


def _bounds(path: Path, begin: int, size: int) -> list[int] | None:
    """Divide the rows of a file among threads, as positions; None where a line is too long."""
    bounds = [begin]
    with path.open("rb", buffering=0) as file:
        for part in range(1, workers()):
            guess = file.seek(max(begin + (size - begin) * part // workers() - 1, bounds[-1]))
            end = file.read(LONGEST_LINE).find(b"\n")
            if end < 0:
                return None
            bounds.append(guess + end + 1)
    return [*bounds, size]


def _read_part(path: Path, begin: int, end: int, layout: _Layout) -> list[list[pa.Array]] | None:
    """Return the rows between two offsets in blocks of columns; None where they are not plain."""
    space, blocks = _Room.of(layout, INITIAL_FIELDS), []
    with path.open("rb", buffering=0) as file:
        while begin < end:
            file.seek(begin)
            stop = _last_line(space.data, file.readinto(space.data[: min(BLOCK_BYTES, end - begin)].data) or 0)
            if not stop:
                return None
            space, rows = _number_block(space, stop, layout)
            if rows == kernels.STRANGE:
                return None
            columns = list(_columns(space, rows))
            if any(column is None for column in columns):
                return None
            blocks.append(columns)
            begin += stop
    return blocks


def _number_block(space: _Room, stop: int, layout: _Layout) -> tuple[_Room, int]:
    """Number the fields of a block; return the memory, enlarged if needed, and the number of rows."""
    while True:
        space.slots.fill(-1)
        space.counts.fill(0)
        tables = (space.codes, space.slots, space.begins, space.lengths, space.keys, space.counts)
        rows = kernels.number_fields(space.data, space.words, stop, layout.mark, layout.wanted, *tables)
        if rows != kernels.FULL:
            return space, rows
        larger = _Room.of(layout, 4 * space.entries)
        larger.data, larger.words = space.data, space.words
        space = larger


def _last_line(data: Codes, size: int) -> int:
    """Return the end of the last complete line, 0 if there is none."""
    ends = np.flatnonzero(data[max(size - LONGEST_LINE, 0) : size] == 10)
    return int(ends[-1]) + 1 + max(size - LONGEST_LINE, 0) if len(ends) else 0


def _columns(space: _Room, rows: int) -> Iterator[pa.Array | None]:
    """Yield the columns of a block as dictionaries, None where a field is not UTF-8."""
    for column, count in enumerate(space.counts.tolist()):
        first = column * space.entries
        starts = starts_of(space.lengths[first : first + count])
        pool = np.empty(int(starts[-1]), dtype=np.uint8)
        kernels.copy_fields(space.data, space.begins[first : first + count], starts, pool)
        fields = pa.StringArray.from_buffers(count, pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(pool))
        kind = next(kind for kind in (np.int8, np.int16, np.int32) if count < np.iinfo(kind).max)
        codes = empty_large(rows, kind)
        np.copyto(codes, space.codes[column, :rows], casting="unsafe")
        try:
            fields.validate(full=True)
        except pa.ArrowInvalid:
            yield None
            continue
        yield pa.DictionaryArray.from_arrays(pa.array(codes), _as_read(fields), safe=False)


def _as_read(fields: pa.Array) -> pa.Array:
    """Return the texts of fields, missing for an empty one."""
    quoted = pc.starts_with(fields, '"')
    texts = pc.if_else(pc.equal(fields, ""), pa.scalar(None, pa.string()), fields)
    if not pc.any(quoted).as_py():
        return texts
    inner = pc.replace_substring(pc.utf8_slice_codeunits(fields, 1, -1), '""', '"')
    return pc.if_else(quoted, inner, texts)
