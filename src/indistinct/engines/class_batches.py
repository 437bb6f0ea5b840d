"""Judge the classes of a release that lists them in the order of their labels, several at a time.

The ascending order shows that every class is in one place, with all of its rows. Rows may be read in stretches by
several workers: a class that continues from one stretch to the next is judged once both are known.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.groups import ValueGroups
from indistinct.engines.memory.count import encoded_column
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.passes import ValueTally
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.class_rows import class_words
from indistinct.tables.dictionaries import share_dictionary
from indistinct.tables.domain import Domain

# Classes that are judged together.
TOGETHER = 1 << 14

Judge = Callable[[Counted], Any]
"""What says something of classes that were counted."""
Add = Callable[[Any, Any], Any]
"""Combines the findings of some classes with those of others."""
Look = Callable[[Iterable[pa.Table]], Any]
"""What is made of a stretch of rows, given some columns of them batch by batch."""


class NotInOrderError(Exception):
    """The classes are not in the order of their labels."""


class Listed(Protocol):
    """A table whose rows have an order."""

    def groups(self, columns: Sequence[str]) -> ValueGroups:
        """Return the distinct combinations of some columns, and how many rows have each."""


@runtime_checkable
class ListedHere(Listed, Protocol):
    """A table whose rows come in their order, some at a time."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all rows, batch by batch."""


@runtime_checkable
class ListedByWorkers(Listed, Protocol):
    """A table whose rows workers read, each a stretch of them in their order."""

    def look_at_stretches(self, columns: Sequence[str], look: Look) -> Sequence[Any]:
        """Split the rows into stretches, run `look` on each of them in a worker, and return the results."""


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Classes that follow each other: their words, sizes, and how often each has each value of a key."""

    words: pa.ChunkedArray
    sizes: Codes
    tallies: Mapping[Key, ValueTally]

    def __len__(self) -> int:
        return len(self.sizes)

    def split(self, first: int) -> "tuple[_Some, _Some]":
        """Return the classes before one, and the others."""
        left, right = {}, {}
        for key, tally in self.tallies.items():
            at = int(np.searchsorted(tally.owners, first))
            left[key] = ValueTally(tally.owners[:at], tally.values[:at], tally.counts[:at])
            right[key] = ValueTally(tally.owners[at:] - first, tally.values[at:], tally.counts[at:])
        one = _Some(self.words.slice(0, first), self.sizes[:first], left)
        return one, _Some(self.words.slice(first), self.sizes[first:], right)

    def without_others(self) -> "_Some":
        """Return the same classes; a slice of words is pickled with all that it was cut from."""
        return replace(self, words=self.words.take(pa.array(np.arange(len(self)))))


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Rows that follow each other: their `ends`, the first and the last class, and what is `said` of those between.

    The classes of both ends may have rows elsewhere, those between have none.
    """

    ends: tuple[_Some, ...] = ()
    said: tuple[Any, ...] = ()

    def reach(self) -> tuple[str, str]:
        """Return the words of the first and the last class."""
        return self.ends[0].words[0].as_py(), self.ends[-1].words[0].as_py()


@dataclass(frozen=True, slots=True, eq=False)
class _Judging:
    """How the classes of stretches are judged; `known` has the values of what a model looks at."""

    request: Request
    known: Mapping[Key, Domain]
    judge: Judge
    add: Add

    def look(self, batches: Iterable[pa.Table]) -> _Stretch | None:
        """Judge the classes of one stretch of rows; None if the classes are not in ascending order."""
        stretch, waiting = _Stretch(), list[_Some]()
        try:
            for batch in batches:
                if batch.num_rows:
                    waiting.append(_count_batch(batch, self.request, self.known))
                if sum(map(len, waiting)) >= TOGETHER:
                    stretch, waiting = self._take(stretch, _join(waiting))
            if waiting:
                stretch, waiting = self._take(stretch, _join(waiting))
        except NotInOrderError:
            return None
        return replace(stretch, ends=tuple(each.without_others() for each in (*stretch.ends, *waiting)))

    def _take(self, stretch: _Stretch, some: _Some) -> tuple[_Stretch, list[_Some]]:
        """Judge some more classes; return the last of them apart, as its rows may continue in the next batch."""
        done, last = some.split(len(some) - 1)
        if not stretch.ends and len(done):
            first, done = done.split(1)
            stretch = replace(stretch, ends=(first,))
        return (replace(stretch, said=self._say(done, *stretch.said)) if len(done) else stretch), [last]

    def _say(self, some: _Some, *before: Any) -> tuple[Any]:
        """Merge partial judgments."""
        return (reduce(self.add, [*before, self.judge(_counted(some, self.request, self.known))]),)

    def join(self, stretches: Iterable[_Stretch]) -> Any:
        """Return the findings about all classes; raise `NotInOrderError` where one stretch overlaps another."""
        ordered = sorted((each for each in stretches if each.ends), key=_Stretch.reach)
        ends = [end for each in ordered for end in each.ends]
        (findings,) = self._say(_join(ends), *(findings for each in ordered for findings in each.said))
        return findings


def judge_in_order(source: object, request: Request, judge: Judge, add: Add) -> Any:
    """Return the merged findings about the classes of a published table, several classes at a time.

    It is None where rows have no order, or classes do not ascend by what they show. Workers get `judge` by pickle.
    """
    columns = tuple(dict.fromkeys([*request.quasi, *(name for key in request.keys for name in key)]))
    if not isinstance(source, ListedHere | ListedByWorkers) or any(len(key) > 1 for key in request.keys):
        return None  # what several columns show together is counted in another way
    known = {key: encoded_column(source.groups(list(key)).table, key[0], request).domain for key in request.keys}
    judging = _Judging(request, known, judge, add)
    if isinstance(source, ListedByWorkers):
        stretches = source.look_at_stretches(columns, judging.look)
    else:
        stretches = [judging.look(source.batches(columns))]
    try:
        return None if None in stretches else judging.join(stretches)
    except NotInOrderError:
        return None


def _count_batch(batch: pa.Table, request: Request, known: Mapping[Key, Domain]) -> _Some:
    """Count the classes of a batch whose rows are sorted by class."""
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
    tallies = {key: ValueTally.of(owners, domain.encode(batch[key[0]])) for key, domain in known.items()}
    return _Some(words, sizes, tallies)


def _codes(column: pa.ChunkedArray) -> Codes:
    """Return numbers that differ where neighbouring cells do."""
    if not isinstance(column.type, pa.DictionaryType):
        column = column.dictionary_encode()
    whole = share_dictionary(column)
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
        tallies[key] = ValueTally.of(np.concatenate(owners), values, counts)
    return _Some(pa.chunked_array(words, type=several[0].words.type), sizes, tallies)


PARTS = ("values", "counts")


def _counted(some: _Some, request: Request, known: Mapping[Key, Domain]) -> Counted:
    """Return classes with what a model looks at, without what the whole table has of it."""
    histograms = {}
    for key, tally in some.tallies.items():
        hierarchy = request.hierarchies.get(key[0])
        taxonomy = None if hierarchy is None else hierarchy.bind(known[key])
        indptr = starts_of(np.bincount(tally.owners, minlength=len(some)))
        codes, nothing = tally.values.astype(np.int32), np.zeros(len(known[key]), dtype=np.int64)
        histograms[key] = Histogram(indptr, codes, tally.counts, nothing, taxonomy, known[key].texts())
    frequencies = FrequencySet((), np.zeros((len(some), 0), dtype=np.int32), Classes(some.sizes, histograms))
    return Counted((), frequencies, {domain.column: domain for domain in known.values()})
