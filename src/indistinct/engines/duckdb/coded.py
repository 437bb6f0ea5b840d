"""Counting rows by codes of their values: DuckDB groups numbers, which is faster, and what it spills shows no value.

Columns of few values become codes in the order in which values first occur, four of them to a word. Where a column has
too many values for that, nobody is counted, and DuckDB groups the values themselves.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.groups import Groups
from indistinct.errors import InputError
from indistinct.machine.arrays import Codes
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import plain_column

# Columns that share a word, the bits of each, and so the codes of a column; 0 stands for missing.
TOGETHER, BITS = 4, 16
MOST_VALUES = (1 << BITS) - 1
# A batch of which more than this share of rows have a value of their own is not coded.
FEW = 0.1
NUMBER = "rows"


class TooManyValuesError(Exception):
    """A column has more values than codes are for."""


@dataclass(slots=True)
class ColumnCodes:
    """The values of a column that occurred so far; the code of one is its place, counted from 1."""

    values: pa.Array | None = None

    def encode(self, column: pa.ChunkedArray) -> Codes:
        """Return the code of every cell of a batch."""
        if not isinstance(column.type, pa.DictionaryType):
            column = column.dictionary_encode()
        parts = [self._of_chunk(chunk) for chunk in column.chunks]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def _of_chunk(self, chunk: pa.DictionaryArray) -> Codes:
        found = chunk.dictionary
        known = found.slice(0, 0) if self.values is None else self.values
        places = pc.index_in(found, value_set=known)
        new = found.filter(pc.and_(places.is_null(), found.is_valid()))
        if len(new):
            known = pa.concat_arrays([known, new.unique()])
            places = pc.index_in(found, value_set=known)
        self.values = known
        if len(known) > MOST_VALUES or (len(chunk) > MOST_VALUES and len(found) > FEW * len(chunk)):
            raise TooManyValuesError
        codes = np.append(pc.fill_null(places, -1).to_numpy(zero_copy_only=False) + 1, 0).astype(np.int64)
        return codes[pc.fill_null(chunk.indices, len(found)).to_numpy(zero_copy_only=False)]

    def decode(self, codes: Codes, kind: pa.DataType) -> pa.Array:
        """Return the values of codes, text as a dictionary."""
        values = pa.nulls(0, kind) if self.values is None else self.values
        places = pa.array(codes - 1, pa.int32(), mask=codes == 0)
        return pa.DictionaryArray.from_arrays(places, values) if is_text(values.type) else values.take(places)


@dataclass(slots=True)
class _Words:
    """Batches of rows as words, for DuckDB; what goes wrong on the way is kept, for it comes back in other words."""

    batches: Iterable[pa.Table]
    columns: Sequence[str]
    codes: dict[str, ColumnCodes]
    failure: Exception | None = field(default=None)

    def reader(self) -> pa.RecordBatchReader:
        schema = pa.schema([(f"w{word}", pa.int64()) for word in range(-(-len(self.columns) // TOGETHER))])
        return pa.RecordBatchReader.from_batches(schema, self._read(schema))

    def _read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self.batches:
                words = []
                for first in range(0, len(self.columns), TOGETHER):
                    word = np.zeros(len(batch), dtype=np.int64)
                    for name in self.columns[first : first + TOGETHER]:
                        word <<= BITS
                        word |= self.codes[name].encode(plain_column(name, batch[name]))
                    words.append(pa.array(word))
                yield pa.record_batch(words, schema=schema)
        except Exception as error:
            self.failure = error
            raise


def coded_groups(
    batches: Iterable[pa.Table], columns: Sequence[str], connection: Any, kinds: pa.Schema
) -> Groups | None:
    """Return the distinct combinations of some columns and their numbers of rows, None if a column has many values."""
    import duckdb

    codes = {name: ColumnCodes() for name in columns}
    words = _Words(batches, columns, codes)
    reader = words.reader()
    names = ", ".join(reader.schema.names)
    query = f"SELECT {names}, count(*) AS {NUMBER} FROM coded GROUP BY ALL"  # noqa: S608
    try:
        found = connection.from_arrow(reader).query("coded", query).to_arrow_table()
    except duckdb.Error:
        if isinstance(words.failure, TooManyValuesError):
            return None
        if isinstance(words.failure, InputError):
            raise words.failure from None
        raise
    arrays = {}
    for place, name in enumerate(columns):
        first = place // TOGETHER * TOGETHER
        shift = BITS * (min(first + TOGETHER, len(columns)) - 1 - place)
        own = (found[f"w{place // TOGETHER}"].to_numpy() >> shift) & MOST_VALUES
        arrays[name] = codes[name].decode(own, kinds.field(name).type)
    return Groups(pa.table(arrays), found[NUMBER].to_numpy())
