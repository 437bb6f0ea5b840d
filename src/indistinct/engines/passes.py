"""Passes over the rows of a source whose cells do not fit in memory, for a search that goes round by round.

A source gives batches; `frequencies/passes.py` says what each batch tells and how answers are added up.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial, reduce
from mmap import ACCESS_READ, mmap
from typing import IO, Any, ClassVar, Generic, Protocol, TypeVar

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
from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import Secret
from indistinct.machine.spill import disk_errors, nameless_file
from indistinct.machine.threads import spread, workers
from indistinct.recoding.kinds import Cuts
from indistinct.tables.domain import Domain
from indistinct.tables.several import require_unchanged

LOG = logging.getLogger("indistinct.passes")
Answer = TypeVar("Answer")
# Answers of batches that are added up together.
TOGETHER = 32
# Rows that are sorted by part before they are written.
ROWS_PER_WRITE = 1 << 19


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


@dataclass(frozen=True, slots=True, eq=False)
class TablePasses(ABC):
    """A source that is passed over again and again; an engine says who asks its rows."""

    by_others: ClassVar[bool]
    """Whether other processes finish parts."""

    source: Any
    room: Room

    def values(self, columns: Sequence[str], *, named: Collection[str]) -> dict[str, KnownValues]:
        """Return the values of each column after one pass, or their range where there are too many.

        Those that are `named` are numbers or dates used as names: all their values must be known.
        """
        nothing = nothing_known(self.source.arrow, columns, self.room, named=named)
        return self.ask(columns, partial(values_of_rows, nothing), _merge_values, what="values")

    def rows_of_parts(self, tree: KeyTree, columns: tuple[KeyColumn, ...], parts: int) -> Codes:
        """Return how many rows each part has."""
        names = tuple(column.name for column in columns)
        question = partial(rows_of_parts, tree, columns, parts)
        return self.ask(names, question, partial(np.sum, axis=0), what="rows of parts")

    @abstractmethod
    def ask(
        self,
        columns: Sequence[str],
        question: Callable[[Rows], Answer],
        merge: Callable[[Sequence[Answer]], Answer],
        *,
        what: str,
        large: bool = False,
    ) -> Answer:
        """Answer a question about all rows; answers about several places are merged.

        Where answers may be `large`, the caller gets one that was merged.
        """

    @abstractmethod
    def over_keys(self, columns: tuple[KeyColumn, ...], keys: Mapping[Key, Domain]) -> "KeyPasses":
        """Return passes over the rows, as keys of quasi-identifiers and codes of what a model looks at."""

    @abstractmethod
    def publish_parts(
        self, parting: Parting, finish: Finish, keep: Keep, done: Callable[[], None], sink: Sink, *, secret: Secret
    ) -> None:
        """Give a sink the table of a release that is made part by part; see `part_rows.publish_parts`."""


@dataclass(frozen=True, slots=True, eq=False)
class RowPasses(TablePasses):
    """Passes of this process over a source that yields batches; its files must not change, or nothing is published."""

    by_others: ClassVar[bool] = False

    def ask(
        self,
        columns: Sequence[str],
        question: Callable[[Rows], Answer],
        merge: Callable[[Sequence[Answer]], Answer],
        *,
        what: str,
        large: bool = False,
    ) -> Answer:
        """Answer a question about all rows, and log the time."""
        began = time.perf_counter()
        answer = question(self.source)
        LOG.info("a pass over rows: %s; %.3f s", what, time.perf_counter() - began)
        return answer

    def over_keys(self, columns: tuple[KeyColumn, ...], keys: Mapping[Key, Domain]) -> "KeyPasses":
        """Return passes over the rows, as keys of quasi-identifiers and codes of what a model looks at."""
        return KeyPassesHere(columns, keys, self.source)

    def publish_parts(
        self, parting: Parting, finish: Finish, keep: Keep, done: Callable[[], None], sink: Sink, *, secret: Secret
    ) -> None:
        """Give a sink the table of a release that is made part by part; see `part_rows.publish_parts`."""
        with require_unchanged(self.source.stamps):
            publish_parts(self.source, parting, finish, keep, done, sink, secret=secret, memory=self.room.waiting)


def values_of_rows(known: dict[str, KnownValues], source: Rows) -> dict[str, KnownValues]:
    """Add the values of a source's rows to those known before."""
    names = tuple(known)
    for batch in source.batches(names):
        known = values_of(known, batch, names)
    return known


def _merge_values(several: Sequence[dict[str, KnownValues]]) -> dict[str, KnownValues]:
    return {name: reduce(KnownValues.merged, [each[name] for each in several]) for name in several[0]}


def rows_of_parts(tree: KeyTree, columns: tuple[KeyColumn, ...], parts: int, source: Rows) -> Codes:
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
    """Return empty sets of values before the first row, each with the number of values that fit into memory."""
    states = {}
    for name in columns:
        kind = kinds.field(name).type
        by_keys = has_keys(plain_type(name, kind)) and name not in named
        states[name] = KnownValues.nothing(name, kind, room.numbers if by_keys else room.texts, keyed=by_keys)
    return states


@dataclass(frozen=True, slots=True, eq=False)
class Pass(Generic[Answer]):
    """A question to all rows: what the keys of a batch give, with `arguments`, and how answers are merged.

    `needed` are the numbers of the columns that are looked at. Where it is `coded`, what a model looks at is given too.
    This number of answers is merged `together`.
    """

    what: str
    look: Callable[..., Answer]
    arguments: tuple[Any, ...]
    merge: Callable[[Sequence[Answer]], Answer]
    needed: Sequence[int]
    coded: bool = False
    together: int = TOGETHER


@dataclass(frozen=True, slots=True, eq=False)
class KeyPasses(ABC):
    """Passes over the rows of a source, as keys of its quasi-identifiers and codes of what a model looks at."""

    columns: tuple[KeyColumn, ...]
    keys: Mapping[Key, Domain]

    def survey(self, tree: KeyTree, scale: Scale) -> Survey:
        """Return the rows of each part, its lowest and highest keys, and its rows by bucket."""
        return self.ask(Pass("survey", survey_rows, (tree, scale), _merge_surveys, self._every, together=2))

    def within(self, tree: KeyTree, ranges: KeyRanges) -> Within:
        """Return the rows and keys in one range of each part."""
        needed = _columns_of_tree(tree, ranges.column)
        return self.ask(Pass("medians", rows_within, (tree, ranges), Within.merged, needed))

    def segments(self, tree: KeyTree, segments: Segments) -> Segmented:
        """Return the rows, and the values that a model looks at, of segments of each part."""
        needed = _columns_of_tree(tree, segments.column)
        return self.ask(Pass("segments", rows_by_segment, (tree, segments), Segmented.merged, needed, coded=True))

    def sample(self, limit: int) -> SampledRows:
        """Return the rows whose content hashes to no more than a limit below 2^64."""
        return self.ask(Pass("a sample", sample_rows, (limit,), SampledRows.merged, self._every, coded=True))

    def behind(self, cuts: Sequence[Codes]) -> list[Codes]:
        """Return, by column, the smallest key of all rows behind each of some ascending cuts."""
        return self.ask(Pass("values behind cuts", keys_behind, (list(cuts),), _merge_behind, self._every))

    @property
    def _every(self) -> range:
        """Return the indices of all columns."""
        return range(len(self.columns))

    @abstractmethod
    def ask(self, one: Pass[Answer]) -> Answer:
        """Run a pass over all rows and return its result."""

    @abstractmethod
    def parted(self, tree: KeyTree, parts: int) -> AbstractContextManager["RowsByPart"]:
        """Give the rows by part."""


def _merge_surveys(several: Sequence[Survey]) -> Survey:
    return reduce(Survey.plus, several)


def _merge_behind(several: Sequence[list[Codes]]) -> list[Codes]:
    return [np.minimum.reduce(own) for own in zip(*several, strict=True)]


class RowsByPart(Protocol):
    """The rows of parts, which are finished one by one, by threads or by workers."""

    def finish(self, work: Any) -> Iterator[Any]:
        """Yield the result of each part, from the first to the last."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyPassesHere(KeyPasses):
    """Passes of this process: each of its threads looks at a batch."""

    source: Rows

    def ask(self, one: Pass[Answer]) -> Answer:
        """Run a pass over all batches; several results are merged at a time."""
        began, waiting = time.perf_counter(), list[Answer]()
        keys = self.keys if one.coded else {}

        def look(batch: pa.Table) -> Answer:
            own, codes = self._coded(batch, one.needed, keys)
            return one.look(own, *((codes,) if one.coded else ()), *one.arguments)

        for several in _several(self._batches(one.needed, keys), workers()):
            waiting += spread(look, several)
            if len(waiting) >= one.together:
                waiting = [one.merge(waiting)]
        LOG.info("a pass over rows: %s; %.3f s", one.what, time.perf_counter() - began)
        return one.merge(waiting)

    def _batches(self, needed: Iterable[int], keys: Iterable[Key]) -> Iterator[pa.Table]:
        """Yield batches with the needed columns."""
        names = dict.fromkeys([*(self.columns[index].name for index in needed), *(key[0] for key in keys)])
        return self.source.batches(tuple(names))

    def _coded(
        self, batch: pa.Table, needed: Iterable[int], keys: Mapping[Key, Domain]
    ) -> tuple[Codes, dict[Key, Codes]]:
        """Return the keys of a batch's quasi-identifiers, and the codes of its other columns."""
        codes = {key: domain.encode(batch[key[0]]) for key, domain in keys.items()}
        return key_matrix(batch, self.columns, needed), codes

    @contextmanager
    def parted(self, tree: KeyTree, parts: int) -> Iterator["PartedRows"]:
        """Give the rows by part."""
        began = time.perf_counter()
        with ExitStack() as stack:
            files = tuple(nameless_file(buffered=True) for _ in range(parts))
            stack.callback(_drop, files)
            parted = PartedRows(self.columns, tuple(self.keys), files)
            rows = (self._coded(batch, self._every, self.keys) for batch in self._batches(self._every, self.keys))
            parted.write(rows, tree)
            LOG.info("a pass over rows: written by part; %.3f s", time.perf_counter() - began)
            yield parted


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows(ABC):
    """Rows of parts as keys and codes, and how they are written and read again: ranks take less than keys."""

    columns: tuple[KeyColumn, ...]
    keys: tuple[Key, ...]

    @abstractmethod
    def read(self, part: int) -> Iterator[tuple[Codes, dict[Key, Codes]]]:
        """Yield the rows of a part in batches."""

    def all(self, part: int) -> tuple[Codes, dict[Key, Codes]]:
        """Return the rows of a part."""
        pieces = list(self.read(part))
        codes = {key: np.concatenate([own[key] for _, own in pieces]) for key in self.keys}
        return np.concatenate([keys for keys, _ in pieces]), codes

    def read_batches(self, content: Any) -> Iterator[tuple[Codes, dict[Key, Codes]]]:
        """Yield rows of a stream that holds tables as `table_of_codes` makes them."""
        for batch in pa.ipc.open_stream(content):
            arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
            keys = np.stack([each.astype(np.uint64) for each in arrays[: len(self.columns)]], axis=1)
            yield keys, dict(zip(self.keys, arrays[len(self.columns) :], strict=True))


def types_of_codes(columns: Sequence[KeyColumn], keys: Collection[Key]) -> pa.Schema:
    """Return the Arrow schema in which keys and codes of rows are written."""
    kinds = [pa.uint64() if column.domain is None else pa.uint32() for column in columns]
    fields = [*(f"column {index}" for index in range(len(kinds))), *(f"key {i}" for i in range(len(keys)))]
    return pa.schema(list(zip(fields, [*kinds, *[pa.int32()] * len(keys)], strict=True)))


def table_of_codes(keys: Codes, codes: Iterable[Codes], chosen: Codes, types: pa.Schema) -> pa.Table:
    """Return the keys and codes of the chosen rows as a table of that schema."""
    arrays = [*(own[chosen] for own in keys.T), *(own[chosen] for own in codes)]
    return pa.table([pa.array(own).cast(each.type) for own, each in zip(arrays, types, strict=True)], types)


@dataclass(frozen=True, slots=True, eq=False)
class PartedRows(CodedRows):
    """Rows by part, each in a file."""

    files: tuple[IO[bytes], ...]

    def write(self, rows: Iterable[tuple[Codes, Mapping[Key, Codes]]], tree: KeyTree) -> None:
        """Write all rows to the file of their part."""
        options, parts = pa.ipc.IpcWriteOptions(compression="lz4"), len(self.files)
        types = types_of_codes(self.columns, self.keys)
        with ExitStack() as stack:
            with disk_errors():
                writers = [pa.ipc.new_stream(file, types, options=options) for file in self.files]
            stack.callback(_finish, writers, self.files)
            for keys, codes in _together(rows):
                owners = tree.parts_of(keys)
                order = np.argsort(owners.astype(np.int32), kind="stable")
                bounds = np.searchsorted(owners[order], np.arange(parts + 1))
                table = table_of_codes(keys, codes, order, types)
                with disk_errors():
                    for part in np.flatnonzero(np.diff(bounds)).tolist():
                        writers[part].write_table(table.slice(bounds[part], bounds[part + 1] - bounds[part]))

    def read(self, part: int) -> Iterator[tuple[Codes, dict[Key, Codes]]]:
        """Yield the rows of a part in batches."""
        # Mapped, so that several readers of one file do not move each other's position.
        return self.read_batches(pa.py_buffer(mmap(self.files[part].fileno(), 0, access=ACCESS_READ)))

    def finish(self, work: Callable[["PartedRows", int], Answer]) -> Iterator[Answer]:
        """Yield the result of each part, from the first to the last."""
        return (work(self, part) for part in range(len(self.files)))


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
    """Close the writers and flush their files."""
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
        if sum(len(each) for each, _ in waiting) >= ROWS_PER_WRITE:
            yield _join_keys(waiting)
            waiting = []
    if waiting:
        yield _join_keys(waiting)


def _join_keys(several: Sequence[tuple[Codes, list[Codes]]]) -> tuple[Codes, list[Codes]]:
    codes = [np.concatenate(own) for own in zip(*(own for _, own in several), strict=True)]
    return np.concatenate([keys for keys, _ in several]), codes
