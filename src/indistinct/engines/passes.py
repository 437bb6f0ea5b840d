"""Passes over the rows of a source whose cells do not fit in memory, for a search that goes round by round.

A source gives batches; `frequencies/passes.py` says what each batch tells and how answers are added up.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from typing import IO, Any, ClassVar, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from indistinct.engines.base import Sink
from indistinct.engines.part_rows import Finish, Keep, Parting, publish_parts
from indistinct.engines.partitions import Rows
from indistinct.errors import UnseenValueError
from indistinct.frequencies.passes import (
    KeyColumn,
    KeyRanges,
    KeyTree,
    KnownValues,
    SampledRows,
    Scale,
    Segmented,
    Segments,
    Survey,
    Within,
    has_keys,
    key_matrix,
    keys_behind,
    plain_type,
    rows_by_segment,
    rows_within,
    sample_rows,
    survey_rows,
    values_of,
)
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, spread, workers
from indistinct.machine.randomness import Secret
from indistinct.machine.spill import disk_errors, nameless_file
from indistinct.recoding.kinds import Cuts
from indistinct.tables.domain import Domain
from indistinct.tables.several import Stamp, require_unchanged

LOG = logging.getLogger("indistinct.passes")
Answer = TypeVar("Answer")
# Answers of batches that are added up together.
TOGETHER = 32
# Rows that are sorted by part before they are written.
WRITTEN = 1 << 19


@dataclass(frozen=True, slots=True)
class Room:
    """How much is held at once: rows of a part, distinct numbers or texts of a column, and classes of the release.

    Rows that wait for their part take `waiting` bytes.
    """

    cells: int
    numbers: int
    texts: int
    classes: int
    waiting: int = 1 << 24


class TypedRows(Rows, Protocol):
    """A source whose rows come in batches of known types."""

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow types of the columns."""


@dataclass(frozen=True, slots=True, eq=False)
class TablePasses:
    """A source that is passed over again and again. Its files are what `stamps` say, or nothing is published."""

    by_others: ClassVar[bool] = False
    """Whether other processes finish parts."""

    source: "TypedRows"
    room: Room
    stamps: tuple[Stamp, ...] = ()

    def values(self, columns: Sequence[str], *, named: Collection[str]) -> dict[str, KnownValues]:
        """Return what is known of columns after one pass: their values, or how far these reach.

        Those that are `named` are numbers or dates as names, all of which must be known.
        """
        found, began = nothing_known(self.source.arrow, columns, self.room, named=named), time.perf_counter()
        for batch in self.source.batches(columns):
            found = values_of(found, batch, columns)
        LOG.info("a pass over rows: values; %.3f s", time.perf_counter() - began)
        return found

    def ask(
        self,
        _columns: Sequence[str],
        question: Callable[[Rows], Answer],
        _merge: Callable[[Sequence[Answer]], Answer],
        *,
        what: str,
    ) -> Answer:
        """Return what all rows tell; where they lie in several places, answers of these are merged."""
        began = time.perf_counter()
        found = question(self.source)
        LOG.info("a pass over rows: %s; %.3f s", what, time.perf_counter() - began)
        return found

    def over_keys(self, columns: tuple[KeyColumn, ...], keys: Mapping[Key, Domain]) -> "KeyPasses":
        """Return passes over the rows, as keys of quasi-identifiers and codes of what a model looks at."""
        return KeyPasses(self.source, columns, keys)

    def publish_parts(
        self, parting: Parting, finish: Finish, keep: Keep, done: Callable[[], None], sink: Sink, *, secret: Secret
    ) -> None:
        """Give a sink the table of a release that is made part by part; see `part_rows.publish_parts`."""
        with require_unchanged(self.stamps):
            publish_parts(self.source, parting, finish, keep, done, sink, secret=secret, memory=self.room.waiting)

    def rows_of_parts(self, tree: KeyTree, columns: tuple[KeyColumn, ...], parts: int) -> Codes:
        """Return how many rows each part has."""
        return rows_of_parts(self.source, tree, columns, parts)


def rows_of_parts(source: Rows, tree: KeyTree, columns: tuple[KeyColumn, ...], parts: int) -> Codes:
    """Return how many rows of a source each part has."""
    rows, every = np.zeros(parts, dtype=np.int64), range(len(columns))
    for batch in source.batches(tuple(column.name for column in columns)):
        rows += np.bincount(tree.parts_of(key_matrix(batch, columns, every)), minlength=parts)
    return rows


def share_files(rows: Sequence[int], fits: int) -> list[list[int]]:
    """Return which neighbouring leaves share a file, so that each file fits if its leaves do."""
    files: list[list[int]] = []
    filled = fits + 1
    for leaf, count in enumerate(rows):
        if filled + count > fits:
            files.append([])
            filled = 0
        files[-1].append(leaf)
        filled += count
    return files


def nothing_known(
    kinds: pa.Schema, columns: Sequence[str], room: Room, *, named: Collection[str]
) -> dict[str, KnownValues]:
    """Return what is known of columns before the first row: how many values of each there is room for."""
    found = {}
    for name in columns:
        kind = kinds.field(name).type
        by_keys = has_keys(plain_type(name, kind)) and name not in named
        found[name] = KnownValues.nothing(name, kind, room.numbers if by_keys else room.texts, keyed=by_keys)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class KeyPasses:
    """Passes over the rows of a source, as keys of its quasi-identifiers and codes of what a model looks at."""

    source: Rows
    columns: tuple[KeyColumn, ...]
    keys: Mapping[Key, Domain]

    def survey(self, tree: KeyTree, scale: Scale) -> Survey:
        """Return the rows of each part, how far it reaches, and how its rows fall into buckets."""

        def merge(several: Sequence[Survey]) -> Survey:
            first, *others = several
            for other in others:
                first = first.plus(other)
            return first

        every = range(len(self.columns))
        return self._added("survey", lambda keys, _: survey_rows(keys, tree, scale), merge, needed=every, together=2)

    def within(self, tree: KeyTree, ranges: KeyRanges) -> Within:
        """Return what lies in one range of each part."""
        needed = _columns_of_tree(tree, ranges.column)
        return self._added("medians", lambda keys, _: rows_within(keys, tree, ranges), Within.merged, needed=needed)

    def segments(self, tree: KeyTree, segments: Segments) -> Segmented:
        """Return the rows, and the values that a model looks at, of segments of each part."""

        def look(keys: Codes, codes: Mapping[Key, Codes]) -> Segmented:
            return rows_by_segment(keys, tree, segments, codes)

        needed = _columns_of_tree(tree, segments.column)
        return self._added("segments", look, Segmented.merged, needed=needed, coded=True)

    def sample(self, limit: int) -> SampledRows:
        """Return the rows whose content hashes to no more than a limit below 2^64."""
        every = range(len(self.columns))

        def look(keys: Codes, codes: Mapping[Key, Codes]) -> SampledRows:
            return sample_rows(keys, codes, limit)

        return self._added("a sample", look, SampledRows.merged, needed=every, coded=True)

    def behind(self, cuts: Sequence[Codes]) -> list[Codes]:
        """Return, by column, the smallest key of all rows behind each of some ascending cuts."""

        def merge(several: Sequence[list[Codes]]) -> list[Codes]:
            return [np.minimum.reduce(own) for own in zip(*several, strict=True)]

        every = range(len(self.columns))
        return self._added("values behind cuts", lambda keys, _: keys_behind(keys, cuts), merge, needed=every)

    def _added(
        self,
        what: str,
        look: Callable[[Codes, Mapping[Key, Codes]], Answer],
        merge: Callable[[Sequence[Answer]], Answer],
        *,
        needed: Collection[int],
        coded: bool = False,
        together: int = TOGETHER,
    ) -> Answer:
        """Return what all batches tell: each thread looks at one, and some answers are added up at a time."""
        began, waiting = time.perf_counter(), list[Answer]()
        keys = self.keys if coded else {}
        for several in _several(self._batches(needed, keys), workers()):
            waiting += spread(lambda batch: look(*self._coded(batch, needed, keys)), several)
            if len(waiting) >= together:
                waiting = [merge(waiting)]
        LOG.info("a pass over rows: %s; %.3f s", what, time.perf_counter() - began)
        return merge(waiting)

    def _batches(self, needed: Iterable[int], keys: Iterable[Key]) -> Iterator[pa.Table]:
        names = dict.fromkeys([*(self.columns[index].name for index in needed), *(key[0] for key in keys)])
        return self.source.batches(tuple(names))

    def _coded(
        self, batch: pa.Table, needed: Iterable[int], keys: Mapping[Key, Domain]
    ) -> tuple[Codes, dict[Key, Codes]]:
        codes = {key: domain.encode(batch[key[0]]) for key, domain in keys.items()}
        return key_matrix(batch, self.columns, needed), codes

    @contextmanager
    def parted(self, tree: KeyTree, parts: int) -> Iterator["PartedRows"]:
        """Give the rows by part, on disk: a pass writes them to files without a name that are gone at the end."""
        began = time.perf_counter()
        with ExitStack() as stack:
            files = tuple(nameless_file(buffered=True) for _ in range(parts))
            stack.callback(_drop, files)
            parted = PartedRows(files, self.columns, tuple(self.keys))
            every = range(len(self.columns))
            rows = (self._coded(batch, every, self.keys) for batch in self._batches(every, self.keys))
            parted.write(rows, tree)
            LOG.info("a pass over rows: written by part; %.3f s", time.perf_counter() - began)
            yield parted


@dataclass(frozen=True, slots=True, eq=False)
class PartedRows:
    """Rows by part, each in a file, as keys and codes."""

    files: tuple[IO[bytes], ...]
    columns: tuple[KeyColumn, ...]
    keys: tuple[Key, ...]

    @property
    def schema(self) -> pa.Schema:
        """Return how rows are written: ranks take less than keys."""
        kinds = [pa.uint64() if column.domain is None else pa.uint32() for column in self.columns]
        fields = [*(f"column {index}" for index in range(len(kinds))), *(f"key {i}" for i in range(len(self.keys)))]
        return pa.schema(list(zip(fields, [*kinds, *[pa.int32()] * len(self.keys)], strict=True)))

    def write(self, rows: Iterable[tuple[Codes, Mapping[Key, Codes]]], tree: KeyTree) -> None:
        """Write all rows to the file of their part."""
        options, parts = pa.ipc.IpcWriteOptions(compression="lz4"), len(self.files)
        with ExitStack() as stack:
            with disk_errors():
                writers = [pa.ipc.new_stream(file, self.schema, options=options) for file in self.files]
            stack.callback(_finish, writers, self.files)
            for keys, codes in _together(rows):
                owners = tree.parts_of(keys)
                order = np.argsort(owners.astype(np.int32), kind="stable")
                bounds = np.searchsorted(owners[order], np.arange(parts + 1))
                arrays = [*(keys[order, index] for index in range(len(self.columns))), *(c[order] for c in codes)]
                table = pa.table(
                    [pa.array(a).cast(f.type) for a, f in zip(arrays, self.schema, strict=True)], self.schema
                )
                with disk_errors():
                    for part in np.flatnonzero(np.diff(bounds)).tolist():
                        writers[part].write_table(table.slice(bounds[part], bounds[part + 1] - bounds[part]))

    def read(self, part: int) -> Iterator[tuple[Codes, dict[Key, Codes]]]:
        """Yield the rows of a part, some at a time."""
        # Mapped, so that several readers of one file do not move each other's position.
        mapped = mmap(self.files[part].fileno(), 0, access=ACCESS_READ)
        for batch in pa.ipc.open_stream(pa.py_buffer(mapped)):
            arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
            keys = np.stack([each.astype(np.uint64) for each in arrays[: len(self.columns)]], axis=1)
            yield keys, dict(zip(self.keys, arrays[len(self.columns) :], strict=True))

    def finish(self, work: Callable[["PartedRows", int], Answer]) -> Iterator[Answer]:
        """Yield what is made of each part, from the first to the last."""
        return (work(self, part) for part in range(len(self.files)))

    def all(self, part: int) -> tuple[Codes, dict[Key, Codes]]:
        """Return the rows of a part."""
        pieces = list(self.read(part))
        codes = {key: np.concatenate([own[key] for _, own in pieces]) for key in self.keys}
        return np.concatenate([keys for keys, _ in pieces]), codes


@dataclass(frozen=True, slots=True, eq=False)
class RegionFinder:
    """Finds the region that a row lies in; `some` are the keys of each column that its tree of cuts knows, ascending.

    A key between two of them goes where the larger one goes: every cut is after one that is known.
    """

    domains: tuple[Domain, ...]
    columns: tuple[KeyColumn, ...]
    some: tuple[Codes, ...]
    cuts: Cuts

    def find(self, batch: pa.Table) -> Codes:
        """Return the region of every row; raise `UnseenValueError` for one beyond all that were counted."""
        keys = key_matrix(batch, self.columns, range(len(self.columns)))
        ranks = np.empty(keys.shape, dtype=np.uint32)
        for index, (column, known) in enumerate(zip(self.columns, self.some, strict=True)):
            own = keys[:, index]
            if column.domain is not None:
                ranks[:, index] = own
                continue
            order = np.argsort(own)  # neighbours are found near each other, which is far faster than anywhere
            ranks[order, index] = np.searchsorted(known, own[order])
            if (ranks[:, index] == len(known)).any():
                raise UnseenValueError(
                    f"column {column.name!r} holds values beyond those that were counted before",
                    hint="the table has changed since: run it again on a table that is not being written to",
                    column=column.name,
                )
        return self.cuts.locate(ranks)


def _finish(writers: Sequence[Any], files: Sequence[IO[bytes]]) -> None:
    """Write what is still to be written."""
    with disk_errors():
        for writer, file in zip(writers, files, strict=True):
            writer.close()
            file.flush()


def _drop(files: Sequence[IO[bytes]]) -> None:
    """Close files, whatever could not be written to them."""
    for file in files:
        with suppress(OSError):
            file.close()


def _columns_of_tree(tree: KeyTree, columns: Codes) -> list[int]:
    """Return the columns along which a tree is cut, or is to be."""
    return sorted({*tree.axis[tree.axis >= 0].tolist(), *columns.tolist()})


def _several(batches: Iterable[pa.Table], size: int) -> Iterator[list[pa.Table]]:
    """Yield some batches at a time."""
    waiting = []
    for batch in batches:
        waiting.append(batch)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _together(rows: Iterable[tuple[Codes, Mapping[Key, Codes]]]) -> Iterator[tuple[Codes, list[Codes]]]:
    """Yield rows of several batches together."""
    waiting: list[tuple[Codes, list[Codes]]] = []
    for keys, codes in rows:
        waiting.append((keys, list(codes.values())))
        if sum(len(each) for each, _ in waiting) >= WRITTEN:
            yield _join_keys(waiting)
            waiting = []
    if waiting:
        yield _join_keys(waiting)


def _join_keys(several: Sequence[tuple[Codes, list[Codes]]]) -> tuple[Codes, list[Codes]]:
    codes = [np.concatenate(own) for own in zip(*(own for _, own in several), strict=True)]
    return np.concatenate([keys for keys, _ in several]), codes
