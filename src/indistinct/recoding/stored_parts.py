"""A recoding whose cuts are too many to be held: the upper ones lead to parts, and the cuts of each part lie on disk.

The law of change is that of all recodings (`storage.py`). The second file has one record for each part, which is read
when the part is recoded, and checked before it is used.
"""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO
from weakref import finalize

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.passes import KeySets
from indistinct.machine.arrays import Codes, empty_large
from indistinct.machine.spill import disk_errors, nameless_file
from indistinct.tables.addresses import check_ordinary

KINDS = {"axis": np.int16, "cut": np.uint64, "left": np.int32, "starts": np.int64, "keys": np.uint64}
# The sets at which nodes are cut, which parts of format 9 and earlier do not have.
SETS = {"of_node": np.int32, "set_starts": np.int64, "members": np.uint64}
EARLIER, SCHEMA = (
    pa.schema([(name, pa.large_list(pa.from_numpy_dtype(kind))) for name, kind in kinds.items()])
    for kinds in (KINDS, KINDS | SETS)
)
# Columns that are cut at sets have a domain, whose ranks are numbers of 32 bits.
MAX_NAMES = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class StoredPart:
    """How one part is cut, with keys in place of values, and how far its classes reach.

    The children of an inner node are `left` and the one after it; a leaf has axis -1 and its class in `left`. Class `i`
    has rows `starts[i]` to `starts[i + 1]` of `keys`, which hold its ends. Nodes with one of the `sets` are cut at it.
    """

    axis: Codes
    cut: Codes
    left: Codes
    starts: Codes
    keys: Codes
    sets: KeySets | None = None

    def arrays(self) -> dict[str, Codes]:
        """Return the stored arrays by name; those of sets only if there are sets."""
        stored = {name: getattr(self, name) for name in KINDS}
        if self.sets is not None:
            stored |= dict(zip(SETS, (self.sets.of_node, self.sets.starts, self.sets.members), strict=True))
        return stored

    def digest(self) -> bytes:
        """Return a SHA-256 of the part."""
        state = hashlib.sha256()
        for name, own in self.arrays().items():
            array = np.ascontiguousarray(own, dtype=np.dtype((KINDS | SETS)[name]).newbyteorder("<"))
            state.update(f"{name}{array.shape}".encode())
            state.update(array.tobytes())
        return state.digest()

    def check(self, columns: int) -> None:
        """Raise `InputError` unless the cuts are a tree, and every class has its ends."""
        nodes, classes = len(self.axis), len(self.starts) - 1
        inner = self.axis >= 0
        positions = np.arange(nodes)
        steps = np.diff(self.starts)
        sound = (
            (nodes == len(self.cut) == len(self.left) == 2 * classes - 1)
            and bool(((self.axis >= -1) & (self.axis < columns)).all())
            and bool((self.left[inner] > positions[inner]).all() and (self.left[inner] + 1 < nodes).all())
            and np.array_equal(np.sort(self.left[~inner]), np.arange(classes))
            and np.array_equal(np.sort(np.concatenate([self.left[inner], self.left[inner] + 1])), positions[1:])
            and (self.starts[0] == 0 and bool((steps > 0).all()) and self.starts[-1] == len(self.keys))
            and all((self.cut[self.axis == each] <= self.keys[:, each].max()).all() for each in range(columns))
            and (self.sets is None or self.sets.is_sound(self.axis, [MAX_NAMES] * columns))
        )
        if not sound:
            raise unreadable_part()

    def check_keys(self, sizes: Sequence[int | None]) -> None:
        """Raise `InputError` unless keys are ranks below the size of each domain; without one, cuts are among them."""
        for index, size in enumerate(sizes):
            keys, cuts = self.keys[:, index], self.cut[self.axis == index]
            if not (np.isin(cuts, keys).all() if size is None else (keys < size).all()):
                raise unreadable_part()
        if self.sets is not None and not self.sets.is_sound(self.axis, sizes):
            raise unreadable_part()


def unreadable_part() -> InputError:
    """Return the error of a part that is inconsistent."""
    return InputError("the recoding cannot be read", hint="it must be a file that indistinct wrote")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PartStore:
    """Parts on disk, one after another, as an Arrow file, which is closed when the last reference is gone.

    Threads read from it one at a time. `path` is where other processes can open it, None where it has no name.
    """

    file: IO[bytes]
    parts: int
    columns: int
    path: Path | None = None
    lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        finalize(self, self.file.close)

    @classmethod
    def open(cls, path: Path, *, parts: int, columns: int) -> "PartStore":
        """Open the parts in a file; raise `InputError` if its end does not mark it as such a file."""
        check_ordinary(path)
        store = cls(path.open("rb"), parts, columns, path.absolute())
        try:
            store.open_parts()  # what has grown is refused before it is read to its end
        except (pa.ArrowException, ValueError):
            raise unreadable_part() from None
        return store

    def open_parts(self) -> pa.ipc.RecordBatchFileReader:
        """Return a reader of the file; raise `ArrowInvalid` unless it has as many parts as it should."""
        self.file.seek(0)
        file = pa.ipc.open_file(pa.PythonFile(self.file, mode="r"))
        if file.num_record_batches != self.parts or file.schema not in (SCHEMA, EARLIER):
            raise pa.ArrowInvalid("these are not the parts of the recoding")
        return file

    def for_others(self) -> "PartsElsewhere":
        """Return the parts as other processes read them; raise `ParameterError` where the file has no name."""
        if self.path is None:
            raise ParameterError(
                "the parts of this recoding lie in a file without a name, which workers cannot read",
                hint="save the recoding on a path that driver and workers share (save_recoding), and give that path",
            )
        digests = tuple(self.read(part).digest() for part in range(self.parts))
        return PartsElsewhere(self.path, self.parts, self.columns, digests)

    def digest(self) -> str:
        """Return the SHA-256 of the file."""
        self.file.seek(0)
        return hashlib.file_digest(self.file, "sha256").hexdigest()  # type: ignore[arg-type]

    def copy_to(self, path: Path) -> None:
        """Write the file to another place."""
        self.file.seek(0)
        with path.open("wb") as target:
            shutil.copyfileobj(self.file, target, 1 << 20)

    def read(self, part: int) -> StoredPart:
        """Return a part; raise `InputError` for one that is broken."""
        try:
            with self.lock, self.open_parts() as file:
                batch = file.get_batch(part)
            batch.validate(full=True)
            if batch.num_rows != 1 or any(column.null_count for column in batch.columns):
                raise pa.ArrowInvalid("a part is one row")
            kinds = KINDS | SETS
            arrays = {name: _writable(batch[name].flatten(), kinds[name]) for name in batch.schema.names}
            arrays["keys"] = arrays["keys"].reshape(-1, self.columns)
        except (pa.ArrowException, OSError, ValueError):
            raise unreadable_part() from None
        sets = [arrays.pop(name) for name in SETS if name in arrays]
        stored_part = StoredPart(**arrays, sets=KeySets(*sets) if sets and len(sets[0]) else None)
        stored_part.check(self.columns)
        return stored_part


@dataclass(frozen=True, slots=True, eq=False)
class PartsElsewhere:
    """Parts in a file that another process opened before: every part has the digest that it had there."""

    path: Path
    parts: int
    columns: int
    digests: tuple[bytes, ...]

    def read(self, part: int) -> StoredPart:
        """Return a part; raise `InputError` for one that is broken, or is not what it was."""
        try:
            store = PartStore.open(self.path, parts=self.parts, columns=self.columns)
        except OSError:
            raise InputError(
                f"a worker does not see the file {self.path.name!r} of the recoding",
                hint="put both files of the recoding on a path that driver and workers share",
            ) from None
        stored_part = store.read(part)
        if stored_part.digest() != self.digests[part]:
            raise InputError(
                "the recoding has changed while it was applied", hint="run it again when no program writes to its files"
            )
        return stored_part


def _writable(array: pa.Array, kind: type) -> Codes:
    """Return numbers that can be written to, as compiled loops are made for."""
    own = empty_large(len(array), kind)
    own[:] = array.to_numpy(zero_copy_only=False)
    return own


class PartWriter:
    """Writes parts to a file without a name, one after the other."""

    def __init__(self) -> None:
        self.file = nameless_file(buffered=True)
        self.parts = 0
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self.writer = pa.ipc.new_file(pa.PythonFile(self.file, mode="w"), SCHEMA, options=options)

    def add(self, part: StoredPart) -> None:
        """Write a part."""
        cells, arrays = [], part.arrays()
        for name, kind in (KINDS | SETS).items():
            flat = pa.array(np.ascontiguousarray(arrays.get(name, np.zeros(0)).ravel(), dtype=kind))
            cells.append(pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), flat))
        with disk_errors():
            self.writer.write_batch(pa.record_batch(cells, schema=SCHEMA))
        self.parts += 1

    def stored(self, columns: int) -> PartStore:
        """Close the writer and return the stored parts."""
        with disk_errors():
            self.writer.close()
            self.file.flush()
        return PartStore(self.file, self.parts, columns)
