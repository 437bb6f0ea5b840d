"""The classes of a release that lists them in the order of what they show, counted some at a time.

That the order ascends shows that every class stands in one place: then its rows there are all that it has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.groups import Groups
from indistinct.engines.memory.count import encoded_column
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.levels import Tally
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.class_rows import class_words
from indistinct.tables.domain import Domain

# Classes that are judged together.
TOGETHER = 1 << 14


class NotInOrderError(Exception):
    """Classes do not stand in the order of what they show."""


@runtime_checkable
class Listed(Protocol):
    """A table whose rows come in their order, some at a time."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch."""

    def groups(self, columns: Sequence[str]) -> Groups:
        """Return the distinct combinations of some columns, and how many rows have each."""


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Classes that follow each other: their words, sizes, and how often each has each value of a key."""

    words: pa.ChunkedArray
    sizes: Codes
    tallies: Mapping[Key, Tally]

    def __len__(self) -> int:
        return len(self.sizes)

    def split(self, first: int) -> "tuple[_Some, _Some]":
        """Return the classes before one, and the others."""
        left, right = {}, {}
        for key, tally in self.tallies.items():
            at = int(np.searchsorted(tally.owners, first))
            left[key] = Tally(tally.owners[:at], tally.values[:at], tally.counts[:at])
            right[key] = Tally(tally.owners[at:] - first, tally.values[at:], tally.counts[at:])
        one = _Some(self.words.slice(0, first), self.sizes[:first], left)
        return one, _Some(self.words.slice(first), self.sizes[first:], right)


def classes_in_order(source: Listed, request: Request) -> Iterator[Counted]:
    """Yield the classes of a published table, some at a time, with what a model looks at.

    Raises `NotInOrderError` where classes do not ascend by what they show.
    """
    columns = tuple(dict.fromkeys([*request.quasi, *(name for key in request.keys for name in key)]))
    known: dict[Key, Domain] = {
        key: encoded_column(source.groups(list(key)).table, key[0], request).domain
        for key in request.keys
        if len(key) == 1
    }
    if len(known) < len(request.keys):
        raise NotInOrderError  # what several columns show together is counted in another way
    reference: dict[Key, Codes] = {key: np.zeros(len(domain), dtype=np.int64) for key, domain in known.items()}
    waiting = list[_Some]()
    for batch in source.batches(columns):
        if batch.num_rows:
            waiting.append(_count_batch(batch, request, known))
        if sum(map(len, waiting)) >= TOGETHER:
            joined = _join(waiting)
            done, last = joined.split(len(joined) - 1)
            waiting = [last]
            if len(done):
                yield _counted(done, request, known, reference)
    if waiting:
        yield _counted(_join(waiting), request, known, reference)


def _count_batch(batch: pa.Table, request: Request, known: Mapping[Key, Domain]) -> _Some:
    fresh = np.zeros(batch.num_rows, dtype=bool)
    fresh[0] = True
    for name in request.quasi:
        codes = _codes(batch[name])
        fresh[1:] |= codes[1:] != codes[:-1]
    begins = np.flatnonzero(fresh)
    sizes = np.diff(np.append(begins, batch.num_rows))
    words = class_words(batch.select(list(request.quasi)).take(pa.array(begins)))
    if len(words) > 1 and not pc.all(pc.less(words.slice(0, len(words) - 1), words.slice(1))).as_py():
        raise NotInOrderError
    owners = np.repeat(np.arange(len(sizes)), sizes)
    tallies = {key: Tally.of(owners, domain.encode(batch[key[0]])) for key, domain in known.items()}
    return _Some(words, sizes, tallies)


def _codes(column: pa.ChunkedArray) -> Codes:
    """Return numbers that differ where neighbouring cells do."""
    if not isinstance(column.type, pa.DictionaryType):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries()
    return np.concatenate([pc.fill_null(chunk.indices, -1).to_numpy(zero_copy_only=False) for chunk in whole.chunks])


def _join(several: Sequence[_Some]) -> _Some:
    """Return classes of batches that follow each other; one may go on in the next batch."""
    words, firsts, last, count = [], [], None, 0
    for each in several:
        word = each.words[0].as_py()
        if last is not None and word < last:
            raise NotInOrderError
        goes_on = int(word == last)
        words += each.words.slice(goes_on).chunks
        firsts.append(count - goes_on)
        count += len(each) - goes_on
        last = each.words[len(each) - 1].as_py()
    sizes = np.zeros(count, dtype=np.int64)
    for first, each in zip(firsts, several, strict=True):
        sizes[first : first + len(each)] += each.sizes
    tallies = {}
    for key in several[0].tallies:
        owners = [each.tallies[key].owners + first for first, each in zip(firsts, several, strict=True)]
        values, counts = (np.concatenate([getattr(each.tallies[key], part) for each in several]) for part in PARTS)
        tallies[key] = Tally.of(np.concatenate(owners), values, counts)
    return _Some(pa.chunked_array(words, type=several[0].words.type), sizes, tallies)


PARTS = ("values", "counts")


def _counted(some: _Some, request: Request, known: Mapping[Key, Domain], reference: Mapping[Key, Codes]) -> Counted:
    histograms = {}
    for key, tally in some.tallies.items():
        hierarchy = request.hierarchies.get(key[0])
        taxonomy = None if hierarchy is None else hierarchy.bind(known[key])
        indptr = starts_of(np.bincount(tally.owners, minlength=len(some)))
        codes = tally.values.astype(np.int32)
        histograms[key] = Histogram(indptr, codes, tally.counts, reference[key], taxonomy, known[key].texts())
    frequencies = FrequencySet((), np.zeros((len(some), 0), dtype=np.int32), Classes(some.sizes, histograms))
    return Counted((), frequencies, {domain.column: domain for domain in known.values()})
