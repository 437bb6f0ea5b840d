"""Whether the rows of a release in classes are rows of its original: multisets of rows, compared class by class.

A row is what it shows in addition to its class: every published column that is no quasi-identifier. Rows come in
batches from whichever engine has them, each is hashed with a key, and hashes are compared in parts that fit in memory.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.base import Engine, Source
from indistinct.engines.finding import CellFinder
from indistinct.errors import InputError, OutOfMemoryError
from indistinct.figures import plural
from indistinct.frequencies.count import Counted, Request
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import mix_words
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.release.fit import fit
from indistinct.release.verification.evidence import RowComparison, coarsest, matched_classes, published_schema
from indistinct.schema import Schema
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import Domain, Kind, kind_of, plain_column, read_as
from indistinct.view.cover import pairs_of_cells
from indistinct.view.read_back import covered_classes

# Rows that are looked at together, and hashes of a table that are held at a time.
BATCH, MAX_HASHES = 1 << 17, 1 << 22
# Largest bit table of the values in each class.
MAX_BITS = 1 << 31
MISSING, STRANGE = np.uint64(0x6D697373), np.uint64(0x73747267)


def compare_rows(
    published: tuple[Engine, Source],
    original: tuple[Engine, Source],
    schema: Schema,
    *,
    recoding: Recoding | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    lenient: bool = False,
) -> RowComparison:
    """Compare the rows of a release in classes with those of its original, masked in the same way.

    Published rows must be among the original's, class by class. Where the recoding says which rows a class has, none
    of a published class may be missing; else any may have been suppressed. Where nothing tells the class of an original
    row, all rows are compared without it. `lenient` says that the release is a file without types.
    """
    release, table = published[1], original[1]
    published_names = [name for name in (*schema.sensitive, *schema.insensitive) if name in release.columns]
    names = tuple(name for name in published_names if name in table.columns)
    unknown = tuple(name for name in published_names if name not in table.columns)
    try:
        sides = _sides(published, original, schema, recoding, hierarchies or {})
        forms = {name: _form(name, release, table, lenient=lenient) for name in names}
        hashing = _Hashing(os.urandom(16), forms)
        comparison = replace(_compared(sides, hashing), compared=names, whole=sides.whole, unknown=unknown)
        few = max(release.rows, table.rows) <= MAX_HASHES
        if comparison.rows and few:
            single = [name for name in names if _compared(sides, replace(hashing, forms={name: forms[name]})).rows]
            comparison = replace(comparison, columns=tuple(single))
    except (InputError, OutOfMemoryError) as error:
        return RowComparison(unknown=unknown, skipped=error.message)
    return comparison


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A table, how its rows find a group, and the class of each group, -1 for rows that have none."""

    source: Source
    quasi: tuple[str, ...] = ()
    finder: CellFinder | None = None
    class_ids: Codes = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    def classes_of(self, batch: pa.Table) -> Codes:
        """Return the class of every row of a batch."""
        if self.finder is None:
            return np.zeros(batch.num_rows, dtype=np.int64)
        return self.class_ids[self.finder.find(batch)]

    def batches(self, names: Sequence[str]) -> Iterator[tuple[pa.Table, Codes | None]]:
        """Yield rows with these columns and their quasi-identifiers, or groups of equal rows with their numbers."""
        source: Any = self.source
        columns = list(dict.fromkeys((*names, *self.quasi))) or [source.columns[0]]
        if source.in_memory is not None:
            data = source.in_memory.select(columns)
            yield from ((data.slice(start, BATCH), None) for start in range(0, data.num_rows, BATCH))
        elif hasattr(source, "batches"):
            yield from ((batch, None) for batch in source.batches(columns))
        else:
            groups = source.groups(columns)
            yield groups.table, groups.counts


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """A release and its original; `exact` says that the classes of the release must be complete."""

    release: _Side
    original: _Side
    exact: bool = False
    whole: str | None = None


def _sides(
    published: tuple[Engine, Source],
    original: tuple[Engine, Source],
    schema: Schema,
    recoding: Recoding | None,
    hierarchies: Mapping[str, Hierarchy],
) -> _Sides:
    """Return both tables with the class of each row; without classes where those of the original are unknown."""
    engine, release = published
    quasi = published_schema(schema, release.columns).quasi
    if not quasi:
        return _Sides(_Side(release), _Side(original[1]))
    counted = engine.count(release, Request(quasi, published=True))
    if recoding is not None and recoding.reusable:
        try:
            return _by_recoding(counted, release, original, replace(recoding, schema=schema))
        except (InputError, OutOfMemoryError):
            pass  # labels may still tell
    try:
        return _by_label(counted, release, original, schema, hierarchies)
    except (InputError, OutOfMemoryError) as error:
        given = "" if recoding is not None else "; the recoding (--recoding, or recoding=…) would tell"
        return _Sides(_Side(release), _Side(original[1]), whole=f"{error.message}{given}")


def _by_recoding(counted: Counted, release: Source, original: tuple[Engine, Source], recoding: Recoding) -> _Sides:
    """Return both tables with classes by the recoding; a class that is not published at all was suppressed."""
    made = fit(*original, recoding).assignment
    matching = matched_classes(counted, made)
    size = len(made.classes)
    matching = np.where(matching < 0, size + np.arange(len(matching)), matching)  # a class that was never meant
    is_published = np.zeros(size, dtype=bool)
    is_published[matching[matching < size]] = True
    class_of_cell = np.full(len(made.frequencies), -1, dtype=np.int64)
    meant = made.class_ids >= 0
    class_of_cell[made.cells[meant]] = made.class_ids[meant]
    kept = (class_of_cell >= 0) & is_published[class_of_cell]
    class_of_cell[~kept] = -1
    there = _Side(original[1], *_finder(made.domains, made.frequencies.vectors), class_of_cell)
    return _Sides(_Side(release, *_finder(counted.domains, counted.frequencies.vectors), matching), there, exact=True)


def _by_label(
    counted: Counted,
    release: Source,
    original: tuple[Engine, Source],
    schema: Schema,
    hierarchies: Mapping[str, Hierarchy],
) -> _Sides:
    """Assign classes to both tables by the published labels; raise `InputError` where labels are ambiguous."""
    engine, table = original
    trees = {name: tree for name, tree in hierarchies.items() if name in schema.quasi}
    cells = engine.count(table, Request(schema.quasi, hierarchies=trees))
    columns = columns_of(cells.domains, trees)
    vectors = counted.frequencies.vectors
    labels = pa.table(
        [domain.decode(vectors[:, index]) for index, domain in enumerate(counted.domains)],
        names=[domain.column for domain in counted.domains],
    )
    class_ids, covers = covered_classes(labels, columns, schema=schema)
    _require_few(columns, classes=len(vectors))
    rows, classes = pairs_of_cells(cells.frequencies, covers)
    several = int((np.bincount(rows, minlength=1) > 1).sum())
    if several:
        raise InputError(f"labels overlap, {plural(several, 'combination')} of original values lie in several of them")
    class_of_cell = np.full(len(cells.frequencies), -1, dtype=np.int64)
    class_of_cell[rows] = classes
    return _Sides(
        _Side(release, *_finder(counted.domains, counted.frequencies.vectors), class_ids.astype(np.int64)),
        _Side(table, *_finder(cells.domains, cells.frequencies.vectors), class_of_cell),
    )


def _finder(domains: Sequence[Domain], vectors: Codes) -> tuple[tuple[str, ...], CellFinder]:
    """Return the names of some columns, and what finds the group of a row by them."""
    return tuple(domain.column for domain in domains), CellFinder.of(domains, vectors)


def _require_few(columns: Sequence[QuasiColumn], *, classes: int) -> None:
    most = max(len(column.domain) for column in columns)
    if most * classes > MAX_BITS:
        raise InputError(f"{most:,} values of a column and {classes:,} published labels are too many to compare")


def _compared(sides: _Sides, hashing: "_Hashing") -> RowComparison:
    """Compare the hashes of both sides, in as many parts as it takes."""
    rows = max(sides.release.source.rows, sides.original.source.rows)
    parts = -(-rows // MAX_HASHES)
    if parts > 1 and hashing.digest(sides.release) == hashing.digest(sides.original):
        return RowComparison()
    added = lost = 0
    differ: set[int] = set()
    for part in range(parts):
        mine, theirs = (hashing.collect(side, part, parts) for side in (sides.release, sides.original))
        words, ids = np.unique(np.concatenate([mine.words, theirs.words]), return_inverse=True)
        split, size = len(mine.words), len(words)
        counts = np.bincount(ids[:split], weights=mine.counts, minlength=size)
        counts -= np.bincount(ids[split:], weights=theirs.counts, minlength=size)
        more, less = counts > 0, (counts < 0) & sides.exact
        added, lost = added + int(counts[more].sum()), lost - int(counts[less].sum())
        classes = np.concatenate([mine.classes, theirs.classes])
        differ.update(classes[(more | less)[ids]].tolist())
    return RowComparison(added, lost, 0 if sides.whole else len(differ))


@dataclass(frozen=True, slots=True, eq=False)
class _Hashes:
    """The hashes of some rows, the class of each, and the number of rows that have it."""

    words: Codes
    classes: Codes
    counts: Codes


@dataclass(frozen=True, slots=True, eq=False)
class _Hashing:
    """Hashes rows under a secret random key; `forms` say in which form the cells of each column are compared."""

    key: bytes
    forms: Mapping[str, "_CommonType"]

    def collect(self, side: _Side, part: int, parts: int) -> _Hashes:
        """Return the hashes of rows that have a class and belong to one of several parts."""
        hashes = [_Hashes(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
        for some in self._hashes(side):
            kept = (some.classes >= 0) & (some.words % np.uint64(parts) == np.uint64(part))
            hashes.append(_Hashes(some.words[kept], some.classes[kept], some.counts[kept]))
        return _Hashes(
            np.concatenate([each.words for each in hashes]),
            np.concatenate([each.classes for each in hashes]),
            np.concatenate([each.counts for each in hashes]),
        )

    def digest(self, side: _Side) -> tuple[int, int]:
        """Return the number of all rows that have a class, and the sum of their hashes."""
        rows, total = 0, 0
        for some in self._hashes(side):
            kept = some.classes >= 0
            rows += int(some.counts[kept].sum())
            total += int(np.sum(mix_words(some.words[kept], 1) * some.counts[kept].astype(np.uint64), dtype=np.uint64))
        return rows, total % (1 << 64)

    def _hashes(self, side: _Side) -> Iterator[_Hashes]:
        """Yield a hash of each row, from its class and its compared columns."""
        for batch, counts in side.batches(tuple(self.forms)):
            classes = side.classes_of(batch)
            words = mix_words(classes.astype(np.uint64) + self._number(b"class"), 0)
            for stream, (name, form) in enumerate(self.forms.items(), start=2):
                words = mix_words(words ^ self._words(name, form.of(name, batch[name])), stream)
            ones = np.ones(len(words), dtype=np.int64) if counts is None else counts.astype(np.int64)
            yield _Hashes(words, classes, ones)

    def _words(self, name: str, column: tuple[pa.ChunkedArray, Codes]) -> Codes:
        """Return a word for every cell of a column; cells that are `strange` are like no other."""
        cells, strange = column
        parts = [self._words_of(name, chunk) for chunk in cells.chunks] or [np.zeros(0, dtype=np.uint64)]
        return np.where(strange, STRANGE ^ self._number(name.encode()), np.concatenate(parts))

    def _words_of(self, name: str, chunk: pa.Array) -> Codes:
        """Hash the values of one column."""
        missing = MISSING ^ self._number(name.encode())
        if is_text(chunk.type):
            coded = chunk if isinstance(chunk.type, pa.DictionaryType) else chunk.dictionary_encode()
            texts = coded.dictionary.to_pylist()
            known = [missing if text is None else self._number(text.encode("utf-8", "surrogatepass")) for text in texts]
            table = np.array([*known, missing], dtype=np.uint64)
            return table[pc.fill_null(coded.indices.cast(pa.int64()), len(texts)).to_numpy(zero_copy_only=False)]
        bits = _bits(chunk)
        words = mix_words(bits ^ self._number(b"number"), 0)
        return np.where(chunk.is_null().to_numpy(zero_copy_only=False), missing, words)

    def _number(self, content: bytes) -> np.uint64:
        """Hash bytes with the key of this comparison."""
        return np.uint64(int.from_bytes(hashlib.blake2b(content, digest_size=8, key=self.key).digest(), "little"))


def _bits(chunk: pa.Array) -> Codes:
    """Return numbers and dates as words, equal for equal values."""
    if pa.types.is_floating(chunk.type):
        values = pc.fill_null(chunk.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0  # -0.0 is 0.0
        return np.where(np.isnan(values), np.nan, values).view(np.uint64)
    if pa.types.is_date32(chunk.type):
        chunk = chunk.cast(pa.int32())
    whole = pa.uint64() if pa.types.is_uint64(chunk.type) else pa.int64()
    return pc.fill_null(chunk.cast(whole), 0).to_numpy(zero_copy_only=False).view(np.uint64)


@dataclass(frozen=True, slots=True)
class _CommonType:
    """The type in which the cells of a column are compared, the same for both tables.

    In a file without types, missing, empty text and NaN are one.
    Where a text of the original reads as a number in the file, both are compared as the most lenient reader takes them.
    """

    kind: pa.DataType
    lenient: bool = False
    coarse: bool = False

    def of(self, name: str, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Codes]:
        """Return the cells of a column, and which of them cannot be read in this type."""
        if pa.types.is_boolean(column.type) and kind_of(self.kind) is Kind.NUMBER:
            return column.cast(pa.int8()).cast(self.kind), np.zeros(len(column), dtype=bool)
        plain = _plain(name, column)
        if is_text(self.kind):
            texts = plain if is_text(plain.type) else plain.cast(pa.string())
            return (_spelled(texts, coarse=self.coarse) if self.lenient else texts), np.zeros(len(texts), dtype=bool)
        if self.lenient and is_text(plain.type):
            plain = _spelled(plain, coarse=False)
            plain = pc.if_else(pc.equal(plain, ""), pa.scalar(None, pa.string()), plain)
            plain = pc.replace_substring(plain, ",", ".") if kind_of(self.kind) is Kind.NUMBER else plain
        if isinstance(plain.type, pa.DictionaryType):
            plain = plain.cast(plain.type.value_type)
        if plain.type == self.kind:
            return self._numbers(plain), np.zeros(len(plain), dtype=bool)
        cells = [read_as(chunk, self.kind) for chunk in plain.chunks]
        made = pa.chunked_array(cells, self.kind)
        strange = pc.and_(made.is_null(), plain.is_valid())
        return self._numbers(made), strange.to_numpy()

    def _numbers(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Replace NaN by missing where the file may not distinguish them."""
        if not (self.lenient and pa.types.is_floating(cells.type)):
            return cells
        return pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)


def _form(name: str, release: Source, original: Source, *, lenient: bool) -> _CommonType:
    """Return the common type in which a column of both tables is compared."""
    raw = _empty(original, name)
    published, kind = (_plain(name, each).type for each in (_empty(release, name), raw))
    if pa.types.is_boolean(raw.type) and kind_of(published) is Kind.NUMBER:  # programs for statistics know 1 and 0
        return _CommonType(pa.float64(), lenient)
    if is_text(kind):
        return _CommonType(pa.string(), lenient, coarse=lenient and not is_text(published))
    if kind == published:
        return _CommonType(kind, lenient)
    kinds = kind_of(kind), kind_of(published)
    if kinds == (Kind.NUMBER, Kind.NUMBER):
        narrow = pa.types.is_float32(kind) or pa.types.is_float32(published)
        return _CommonType(pa.float32() if narrow else pa.float64(), lenient)
    if kinds == (Kind.DATE, Kind.DATE):
        return _CommonType(pa.timestamp("us"), lenient)
    return _CommonType(kind, lenient)


def _empty(source: Any, name: str) -> pa.ChunkedArray:
    return pa.chunked_array([], source.arrow.field(name).type)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of any type as text, numbers or dates."""
    kind = column.type
    if pa.types.is_duration(kind):
        return column.cast(pa.int64())
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        cells = [None if cell is None else repr(cell) for cell in column.to_pylist()]
        return pa.chunked_array([pa.array(cells, pa.string())])
    plain = plain_column(name, column)
    return plain.cast(pa.string()) if pa.types.is_decimal(plain.type) else plain


def _spelled(column: pa.ChunkedArray, *, coarse: bool) -> pa.ChunkedArray:
    """Normalize texts as a reader of a file without types would."""

    def spell(text: str | None) -> str:
        plain = text or ""
        return repr(coarsest(plain)) if coarse else plain

    if not isinstance(column.type, pa.DictionaryType):
        column = column.dictionary_encode()
    chunks = []
    for chunk in column.chunks:
        texts = pa.array([*map(spell, chunk.dictionary.to_pylist()), spell(None)], pa.string())
        chunks.append(texts.take(pc.fill_null(chunk.indices.cast(pa.int64()), len(texts) - 1)))
    return pa.chunked_array(chunks, pa.string())
