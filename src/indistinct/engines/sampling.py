"""A sample of a source: the members are drawn once, and all later steps read a copy of their rows.

The operating system draws, whatever seed a job has: a sample that can be reproduced does not protect the people. Each
set of this number of rows, or of people with all of their rows, is equally likely.

An engine that draws again in each pass would count other rows than it publishes. Row numbers would not help: neither a
scan of a database nor a frame of a cluster returns rows in the same order twice. A keyed hash of the content would
treat equal rows alike, so that they would be drawn together or not at all. Hence the copy. It is as private as rows
that wait for publication, and disappears with the run. People are recognized by their person ID, for which a keyed hash
is right.
"""

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from indistinct.engines.memory.publish import contents_of
from indistinct.frequencies.count import nobody
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, Mask
from indistinct.machine.randomness import count_drawn, draw_next

# Bits of the word of a person.
WORD_BYTES = 8


class Draw(Protocol):
    """Says of the rows of a source, batch by batch, which are drawn."""

    def select(self, batch: pa.Table) -> Mask:
        """Return whether each row is drawn."""


def draw_of(share: float, rows: int, people: Callable[[], Iterable[pa.Table]], *, person: Sequence[str]) -> Draw:
    """Return the draw of a share of the rows, or of the people identified by the columns `person`.

    `people` gives these columns of all rows; each person takes eight bytes in memory.
    """
    if not person:
        return RowDraw.of(share, rows)
    words = PeopleWords.keyed(person)
    return PeopleDraw.of(share, words, words.survey(people()))


@dataclass(slots=True)
class RowDraw:
    """Draws `wanted` of the `left` rows that are still to come (Fan, Muller and Rezucha 1962)."""

    left: int
    wanted: int

    @classmethod
    def of(cls, share: float, rows: int) -> "RowDraw":
        """Return the draw of a share of this number of rows."""
        return cls(rows, count_drawn(share, rows))

    def select(self, batch: pa.Table) -> Mask:
        """Return whether each of the next rows is drawn."""
        drawn = draw_next(len(batch), left=self.left, wanted=self.wanted)
        self.left, self.wanted = self.left - len(batch), self.wanted - int(drawn.sum())
        return drawn


@dataclass(frozen=True, slots=True, repr=False)
class PeopleDraw:
    """Draws people whose words, under a secret key, are at most `last`; None draws none."""

    people: "PeopleWords"
    last: int | None

    @classmethod
    def of(cls, share: float, people: "PeopleWords", seen: "PeopleSeen") -> "PeopleDraw":
        """Return the draw of a share of all people; raise where a row has no person ID."""
        for name, rows in seen.absent.items():
            if rows:
                raise nobody(name, rows)
        wanted = count_drawn(share, len(seen.words))
        return cls(people, int(seen.words[wanted - 1]) if wanted else None)

    def select(self, batch: pa.Table) -> Mask:
        """Return whether the person of each row is drawn."""
        if self.last is None:
            return np.zeros(len(batch), dtype=bool)
        return self.people.words(batch) <= np.uint64(self.last)


@dataclass(frozen=True, slots=True, repr=False)
class PeopleWords:
    """A hash of each person: keyed, of the columns `person`."""

    person: tuple[str, ...]
    key: bytes

    @classmethod
    def keyed(cls, person: Sequence[str]) -> "PeopleWords":
        """Return words under a key of the operating system's."""
        return cls(tuple(person), secrets.token_bytes(32))

    def words(self, batch: pa.Table) -> Codes:
        """Return the word of the person of each row."""
        columns = contents_of(batch, self.person).values()
        grouping = group_rows([codes for _, codes in columns], [max(len(texts), 1) for texts, _ in columns])
        texts = zip(*([own[code] for code in codes[grouping.first]] for own, codes in columns), strict=True)
        words = np.fromiter(map(self._word, texts), dtype=np.uint64, count=len(grouping))
        return words[grouping.group_ids()]

    def survey(self, batches: Iterable[pa.Table]) -> "PeopleSeen":
        """Return the people of some batches, and the rows without a person ID."""
        absent: Counter[str] = Counter()

        def look(batch: pa.Table) -> Codes:
            absent.update({name: batch[name].null_count for name in self.person})
            return np.unique(self.words(batch))

        return PeopleSeen(unite_words(map(look, batches)), absent)

    def _word(self, texts: tuple[str | None, ...]) -> int:
        """Hash the values that identify a person with the secret key."""
        hashed = hashlib.blake2b(repr(texts).encode("utf-8", "surrogatepass"), key=self.key, digest_size=WORD_BYTES)
        return int.from_bytes(hashed.digest(), "little")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PeopleSeen:
    """The words of people, ascending, each once; and by column the rows without a person ID."""

    words: Codes
    absent: Counter[str]

    @classmethod
    def merged(cls, several: Sequence["PeopleSeen"]) -> "PeopleSeen":
        """Merge the people of several tables."""
        return cls(unite_words(each.words for each in several), sum((each.absent for each in several), Counter[str]()))


def unite_words(several: Iterable[Codes]) -> Codes:
    """Return the distinct words of several arrays, ascending."""
    known, waiting, size = np.zeros(0, dtype=np.uint64), list[Codes](), 0
    for words in several:
        waiting.append(words)
        size += len(words)
        if size > len(known):
            known, waiting, size = np.unique(np.concatenate([known, *waiting])), [], 0
    return np.unique(np.concatenate([known, *waiting]))


def drawn_rows(batches: Iterable[pa.Table], draw: Draw) -> Iterator[pa.Table]:
    """Yield the rows of each batch that are drawn, and no value that none of them has."""
    for batch in batches:
        yield forget_others(batch.filter(pa.array(draw.select(batch))))


def forget_others(rows: pa.Table) -> pa.Table:
    """Remove values of rows that were not drawn from the dictionaries."""
    return pa.table([_only_own_values(column) for column in rows.columns], names=rows.column_names)


def _only_own_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type).dictionary_encode() if isinstance(kind, pa.DictionaryType) else column
