"""Finished parts of a release wait on disk, each in the order of what its classes show, and are merged to one order.

They lie in a file without a name: whatever becomes of the run, nothing is left of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.spill import disk_errors, nameless_file
from indistinct.recoding.class_rows import ClassRows, class_words, unite_classes

# The column of class sizes in addition to labels; no column of a table begins with this character.
SIZE = "\0size"
# Bytes of a piece, which is read at once: of every part one piece is in memory while all are merged.
PIECE = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some classes of a part on disk: the word of the first, how many rows they have, and where they lie."""

    first: str
    rows: int
    begin: int
    size: int


@dataclass(slots=True)
class ClassRuns:
    """Parts of a release on disk, each with its classes in order; `pieces[part]` has their positions.

    A column that is unmodified numbers in one part and ranges in another is text in all parts: `types` has the common
    types.
    """

    file: IO[bytes] = field(default_factory=lambda: nameless_file(buffered=True))
    pieces: list[list[Piece]] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    types: dict[str, pa.DataType] = field(default_factory=dict)

    def add(self, part: ClassRows) -> None:
        """Sort and store the classes of a part; every class is complete within its part."""
        self.columns = part.columns
        self.types = join_types(self.types, part.shown.schema)
        words = class_words(part.shown)
        own: list[Piece] = []
        for first, last in pairwise([0, *piece_ends(part, PIECE)] if len(part) else []):
            some = part.slice(first, last)
            content = pack_classes(some)
            with disk_errors():
                begin = self.file.tell()
                self.file.write(content)
            own.append(Piece(words[first].as_py(), int(some.sizes.sum()), begin, len(content)))
        self.pieces.append(own)

    def merged(self, rows: int) -> Iterator[ClassRows]:
        """Yield the classes of all parts in one order, about `rows` rows at a time."""
        with disk_errors():
            self.file.flush()
        cursors = [_Cursor(self, own) for own in self.pieces]
        samples = ((piece.first, piece.rows) for own in self.pieces for piece in own)
        for end in [*split_words(samples, rows), None]:
            classes = [some for cursor in cursors for some in cursor.up_to(end)]
            if classes:
                yield unite_classes(classes)

    def read(self, piece: Piece) -> ClassRows:
        """Return the classes of a piece."""
        with disk_errors():
            self.file.seek(piece.begin)
            content = self.file.read(piece.size)
        return unpack_classes(content, self.types, self.columns)

    def close(self) -> None:
        """Close the file, which frees the disk space."""
        self.file.close()


@dataclass(slots=True)
class _Cursor:
    """How far a part is read: its next piece, and what is left of the last one with its words."""

    runs: ClassRuns
    pieces: Sequence[Piece]
    next: int = 0
    left: ClassRows | None = None
    words: pa.ChunkedArray | None = None

    def up_to(self, end: str | None) -> Iterator[ClassRows]:
        """Yield the unread classes whose words are less than `end`, all if it is None, and move past them."""
        while True:
            if self.left is None:
                if self.next == len(self.pieces) or (end is not None and self.pieces[self.next].first >= end):
                    return
                self.left = self.runs.read(self.pieces[self.next])
                self.words = None
                self.next += 1
            if end is None or (self.next < len(self.pieces) and self.pieces[self.next].first < end):
                yield self.left
                self.left = None
                continue
            if self.words is None:
                self.words = class_words(self.left.shown)
            before = int(pc.sum(pc.less(self.words, pa.scalar(end, self.words.type))).as_py())
            if before:
                yield self.left.slice(0, before)
            if before < len(self.left):
                self.left, self.words = self.left.slice(before, len(self.left)), self.words.slice(before)
                return
            self.left = None


def join_types(known: Mapping[str, pa.DataType], schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the common type of each column: text where parts have different types."""
    return {each.name: each.type if known.get(each.name, each.type) == each.type else pa.string() for each in schema}


def split_words(samples: Iterable[tuple[str, int]], rows: int) -> list[str]:
    """Return words between which there are about `rows` rows, given sample words and how many rows follow each."""
    words, filled = list[str](), 0
    for word, size in sorted(samples, key=lambda each: each[0]):
        if filled >= rows and (not words or word > words[-1]):
            words.append(word)
            filled = 0
        filled += size
    return words


def pack_classes(some: ClassRows) -> bytes:
    """Return classes with their rows as bytes."""
    content = _stream(some.shown.append_column(SIZE, pa.array(some.sizes)))
    return b"".join([len(content).to_bytes(8, "little"), content, _stream(some.rows)])


def unpack_classes(content: Any, types: Mapping[str, pa.DataType], columns: tuple[str, ...]) -> ClassRows:
    """Return classes from their bytes, with what they show in the types that it has altogether."""
    whole = pa.py_buffer(content)
    end = 8 + int.from_bytes(whole.slice(0, 8).to_pybytes(), "little")
    classes, rows = (pa.ipc.open_stream(each).read_all() for each in (whole.slice(8, end - 8), whole.slice(end)))
    plain = classes.drop_columns([SIZE]).cast(pa.schema(list(types.items())))
    return ClassRows(plain, classes[SIZE].to_numpy(), rows, columns)


def piece_ends(part: ClassRows, size: int) -> list[int]:
    """Return the classes after which a part is divided into pieces of about `size` bytes."""
    of_class, of_row = part.shown.nbytes / max(len(part), 1), part.rows.nbytes / max(part.rows.num_rows, 1)
    bytes_before: Codes = starts_of(part.sizes) * of_row + np.arange(len(part) + 1) * of_class
    ends = np.searchsorted(bytes_before, np.arange(size, bytes_before[-1], size))
    return [*np.unique(ends[(ends > 0) & (ends < len(part))]).tolist(), len(part)]


def _stream(table: pa.Table) -> pa.Buffer:
    """Write a table as a compressed stream of Arrow."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return sink.getvalue()
