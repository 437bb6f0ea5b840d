"""How the files of a release are written: marks and encoding of text files, and what labels columns elsewhere.

A spreadsheet changes what it opens: 1-5 becomes a day, 007 a seven, and =1+1 is run. Where a release is written for
one, such a text gets an apostrophe before it, which a reader takes off again.
"""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import OutputError, ParameterError
from indistinct.figures import plural
from indistinct.machine.arguments import CheckedArguments
from indistinct.machine.arrays import Codes
from indistinct.machine.threads import workers
from indistinct.release.writing._delimited_kernels import STEP, spell_rows
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.value import ColumnLabels

MARK = "'"
"""What precedes a text that a spreadsheet would change."""

# What a cell begins with that is a formula, also in full width; what follows may be a number, a range or a telephone.
FORMULA = "^[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r]"
NO_FORMULA = r"^[+\-]?[0-9.,' ]*([eE][+\-]?[0-9]+)?( ?%)?$|^[+\-]+$|^[+\-][0-9][0-9.,:/ \-]*$|^\+?[0-9() \-/]+$"
# A number that stays what it is: no leading zero, no exponent, not too long.
PLAIN = r"^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,13}[1-9])?$"
# Digits with marks between them are read as numbers, days, times or fractions, and so are names of months with digits.
MONTHS = "jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
CHANGED = (
    r"^\s*[$€£¥]?\s*[0-9][0-9.,:/' \-]*(?:[eE][+-]?[0-9]+|\s*%|\s*[$€£¥]|\s*[aApP][mM]?)?\s*$"
    rf"|(?i)^\s*[0-9]{{1,4}}[-/. ]*(?:{MONTHS})[a-zä]{{0,7}}\.?[-/., ]*(?:[0-9]{{1,4}}[-/., ]*){{0,2}}$"
    rf"|(?i)^\s*(?:{MONTHS})[a-zä]{{0,7}}\.?[-/., ]*(?:[0-9]{{1,4}}[-/., ]*){{1,2}}$"
)
BYTE_ORDER = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}


@dataclass(frozen=True, slots=True)
class Writing(CheckedArguments):
    """How a text file of a release is written, in place of commas, points and UTF-8.

    `delimiter` is written between fields, and `decimal` in numbers; `bom` puts a byte order mark before the text, by
    which spreadsheets know its encoding. `spreadsheet` puts an apostrophe before each text that one would change into a
    date or a number, or run as a formula; `formulas` before those alone that it would run. `labels` are what files of
    statistics programs show of columns. `whole` names columns of floats that were rounded to whole numbers, which text
    files show without a decimal mark.

    >>> Writing(delimiter=";", decimal=",").delimiter
    ';'
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    bom: bool = False
    spreadsheet: bool = False
    formulas: bool = False
    labels: Mapping[str, ColumnLabels] = field(default_factory=dict, compare=False)
    whole: frozenset[str] = field(default=frozenset(), compare=False)

    def __post_init__(self) -> None:
        if self.delimiter is not None and not re.fullmatch(r"[^\w\s\"'.+-]|\t| ", self.delimiter):
            raise ParameterError(
                "the delimiter of an output must be one mark, such as ; or a tab",
                hint="no letter, digit, quote, point or sign",
            )
        if self.decimal not in (None, ".", ","):
            raise ParameterError("the decimal mark of an output must be a point or a comma", hint="leave it out for .")
        try:
            name = codecs.lookup(self.encoding or "utf-8").name
            "a,1\n".encode(name)
        except (LookupError, UnicodeError):
            raise ParameterError(
                f"the encoding {self.encoding!r} is not known", hint="for example utf-8, cp1252 or utf-16"
            ) from None
        if self.bom and self.codec not in BYTE_ORDER:
            raise ParameterError(
                f"the encoding {self.encoding!r} has no byte order mark", hint="it goes with utf-8 and utf-16"
            )

    @property
    def codec(self) -> str:
        """The encoding, in the form that names the byte order."""
        name = codecs.lookup(self.encoding or "utf-8").name
        return {"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(name, name)

    @property
    def prefix(self) -> bytes:
        """The byte order mark, if any; UTF-16 without a byte order always has it."""
        has_mark = self.bom or codecs.lookup(self.encoding or "utf-8").name in ("utf-16", "utf-8-sig")
        return BYTE_ORDER[self.codec] if has_mark else b""

    @property
    def marks(self) -> Callable[[pa.Array], pa.Array] | None:
        """Return which texts get an apostrophe; None where none does, also none that begins with one already."""
        return is_changed if self.spreadsheet else is_formula if self.formulas else None

    @property
    def plain(self) -> bool:
        """Whether a text file is written as always."""
        return self == Writing()

    @property
    def encodes(self) -> bool:
        """Whether the bytes of a file are others than those of UTF-8 without a mark."""
        return self.codec != "utf-8" or bool(self.prefix)

    def encoded(self, text: bytes | memoryview) -> bytes | memoryview:
        """Return UTF-8 text in the encoding of the file."""
        if self.codec == "utf-8":
            return text
        try:
            return str(text, "utf-8").encode(self.codec)
        except UnicodeEncodeError:
            raise OutputError(
                f"the encoding {self.encoding} has no sign for some character of the table",
                hint="write UTF-8; --bom lets spreadsheets know it",
            ) from None


def is_formula(texts: pa.Array) -> pa.Array:
    """Return which texts a spreadsheet takes for formulas; a number with a sign is none."""
    return pc.and_(pc.match_substring_regex(texts, FORMULA), pc.invert(pc.match_substring_regex(texts, NO_FORMULA)))


def is_changed(texts: pa.Array) -> pa.Array:
    """Return which texts a spreadsheet makes something else of: formulas, days, and numbers that look otherwise then.

    >>> is_changed(pa.array(["1-5", "[1-5]", "007", "250.00", "MAR1", "31", "Oslo", "=1+1"])).to_pylist()
    [True, False, True, True, True, False, False, True]
    """
    changed = pc.or_(pc.match_substring_regex(texts, FORMULA), pc.match_substring_regex(texts, CHANGED))
    return pc.and_(changed, pc.invert(pc.match_substring_regex(texts, PLAIN)))


def marked(texts: pa.Array, writing: Writing) -> pa.Array:
    """Return texts with an apostrophe before those that need one, and before those that begin with one already."""
    if writing.marks is None:
        return texts
    needs = pc.or_(writing.marks(texts), pc.starts_with(texts, MARK))
    return pc.if_else(needs, pc.binary_join_element_wise(MARK, texts, ""), texts)


def count_cells(column: pa.ChunkedArray, writing: Writing) -> tuple[int, int]:
    """Return how many cells of a column a spreadsheet takes for formulas, and how many get an apostrophe."""
    if not is_text(column.type):
        return 0, 0
    formulas = count_texts(column, is_formula)
    return formulas, count_texts(column, is_changed) if writing.spreadsheet else formulas if writing.formulas else 0


def count_texts(column: pa.ChunkedArray, test: Callable[[pa.Array], pa.Array]) -> int:
    """Return how many cells of a column of text pass a test."""
    if not isinstance(column.type, pa.DictionaryType):
        return int(pc.sum(test(column)).as_py() or 0)
    count = 0
    for chunk in column.chunks:
        codes = pc.value_counts(chunk.indices.drop_null())
        hits = test(chunk.dictionary.cast(pa.string())).take(codes.field("values"))
        count += int(pc.sum(pc.filter(codes.field("counts"), hits)).as_py() or 0)
    return count


def formula_warnings(counts: Mapping[str, tuple[int, int]], writing: Writing) -> tuple[str, ...]:
    """Return warnings on cells that a spreadsheet would run as formulas, and on those guarded by an apostrophe.

    >>> formula_warnings({"note": (1, 0)}, Writing())[0].partition(" and ")[0]
    "a spreadsheet takes 1 cell of column 'note' for formulas"
    """
    if writing.marks is not None:
        return tuple(
            f"{plural(changed, 'cell')} of column {name!r} got an apostrophe, so that no spreadsheet changes the text; "
            f"it would take {formulas:,} for formulas"
            for name, (formulas, changed) in counts.items()
            if changed
        )
    return tuple(
        f"a spreadsheet takes {plural(formulas, 'cell')} of column {name!r} for formulas and may run what they say: "
        "guard them (--guard-formulas), or write for one (--for-spreadsheet)"
        for name, (formulas, _) in counts.items()
        if formulas
    )


BLOCK_ROWS = 1 << 16
# Every delimiter that readers guess is quoted, so that none takes a text for two fields.
QUOTED = '[",;|\t\r\n{}]|^\\s|\\s$|^$'
# Below this bound the room for a block is not worth counting.
LOOSE_BYTES = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """The fields that a column can show, each with its delimiter or line end; the last one is missing."""

    starts: Codes
    lengths: Codes
    pool: Codes


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a field is written: what ends it, how many fields a line has, and what the whole file looks like."""

    end: str
    width: int
    delimiter: str
    writing: Writing
    whole: bool = False


def write_delimited(batches: Iterable[pa.Table], path: Path, writing: Writing, *, delimiter: str) -> None:
    """Write a table, given in batches, with its header to a file; `delimiter` is what its suffix says."""
    mark = writing.delimiter or delimiter
    with path.open("wb") as file:
        file.write(writing.prefix)
        for index, table in enumerate(batches):
            if not index:
                file.write(writing.encoded(_header(table.column_names, mark, writing)))
            for block in _blocks(table, mark, writing):
                file.write(writing.encoded(block))


def _blocks(table: pa.Table, delimiter: str, writing: Writing) -> Iterator[memoryview]:
    """Yield the rows as text, a block at a time; a few blocks are made ahead, so memory stays bounded."""
    width = table.num_columns
    ends = [delimiter] * (width - 1) + ["\n"]
    lines = [
        LineFormat(end, width, delimiter, writing, whole=name in writing.whole)
        for name, end in zip(table.column_names, ends, strict=True)
    ]
    shared = [_shared_fields(column, line) for column, line in zip(table.columns, lines, strict=True)]

    def spell(start: int) -> memoryview:
        piece = table.slice(start, BLOCK_ROWS)
        parts = [
            (_codes(column), fields) if fields else _own_fields(name, column, line)
            for name, column, line, fields in zip(table.column_names, piece.columns, lines, shared, strict=True)
        ]
        return _assemble([codes for codes, _ in parts], [fields for _, fields in parts])

    threads = min(4, workers())
    ahead: deque[Future[memoryview]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, table.num_rows, BLOCK_ROWS):
            ahead.append(pool.submit(spell, start))
            if len(ahead) > 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _assemble(codes: list[Codes], fields: list[Fields]) -> memoryview:
    """Join the fields of rows to the bytes of a delimited file."""
    sizes = np.array([0, *(len(each.starts) for each in fields)])
    bytes_before = np.cumsum([0, *(len(each.pool) for each in fields)])
    starts = np.concatenate([each.starts + bytes_before[j] for j, each in enumerate(fields)])
    pool = np.concatenate([*(each.pool for each in fields), np.zeros(STEP, dtype=np.uint8)])
    needed = len(codes[0]) * sum(int(each.lengths.max()) for each in fields)
    if needed > LOOSE_BYTES:
        needed = sum(int(each.lengths[part].sum()) for each, part in zip(fields, codes, strict=True))
    out = np.empty(needed + STEP, dtype=np.uint8)
    lengths = np.concatenate([each.lengths for each in fields])
    written = spell_rows(np.stack(codes), np.cumsum(sizes)[:-1], starts, lengths, pool, out)
    return out[:written].data


def _shared_fields(column: pa.ChunkedArray, line: LineFormat) -> Fields | None:
    """Return the fields of a column that has one dictionary small enough to go with every block."""
    if not isinstance(column.type, pa.DictionaryType) or column.num_chunks != 1:
        return None
    dictionary = column.chunk(0).dictionary
    return _fields(_safe(dictionary, line), line) if len(dictionary) <= BLOCK_ROWS else None


def _own_fields(name: str, column: pa.ChunkedArray, line: LineFormat) -> tuple[Codes, Fields]:
    """Return the codes of a column and the written field of each distinct value."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    try:
        spelled = _safe(spell_values(encoded.dictionary), line, kind=column.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise OutputError(
            f"column {name!r} has the type {column.type}, which has no form as text",
            hint="write Parquet or Arrow, or turn the column into text",
        ) from None
    return _codes(pa.chunked_array([encoded])), _fields(spelled, line, numbers=kind_of(column.type) is Kind.NUMBER)


def _safe(texts: pa.Array, line: LineFormat, *, kind: pa.DataType = pa.string()) -> pa.Array:  # noqa: B008 (a value)
    """Write numbers with the decimal mark of the file, and guard texts against spreadsheets."""
    if is_text(kind):
        return marked(texts, line.writing)
    if line.whole and pa.types.is_floating(kind):
        texts = pc.replace_substring_regex(texts, r"\.0$", "")
    if line.writing.decimal == "," and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return pc.replace_substring(texts, ".", ",")
    return texts


def _codes(column: pa.ChunkedArray) -> Codes:
    """Return each row's place among the fields; missing is the last."""
    if not len(column):
        return np.zeros(0, dtype=np.int32)
    array = column.chunk(0)
    indices = array.indices
    if indices.null_count:
        indices = pc.fill_null(indices, len(array.dictionary))
    return np.asarray(indices.to_numpy(), dtype=np.int32)


def spell_values(values: pa.Array) -> pa.Array:
    """Return values as text that reads back as the same values: floats keep a point or an exponent.

    A duration is its number of seconds.
    """
    kind = values.type
    if pa.types.is_duration(kind):
        values = pc.divide(values.cast(pa.duration("us"), safe=False).cast(pa.int64()).cast(pa.float64()), 1e6)
        kind = values.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # Digits beyond microseconds are kept only where there are any.
        coarser = values.cast(pa.timestamp("us", kind.tz), safe=False)
        values = coarser if coarser.cast(kind).equals(values) else values
    text = values.cast(pa.string())
    if pa.types.is_floating(kind):
        whole = pc.match_substring_regex(text, "^-?[0-9]+$")
        text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    return text


def _fields(texts: pa.Array, line: LineFormat, *, numbers: bool = False) -> Fields:
    """Return fields with their quotes; numbers in a line of several need them only where they hold the delimiter."""
    bare = numbers and line.width > 1
    marks = re.escape(line.delimiter) if bare else QUOTED.format(re.escape(line.delimiter))
    risky = pc.match_substring_regex(texts, marks)
    if pc.any(risky).as_py():
        doubled = pc.replace_substring(texts, '"', '""')
        texts = pc.if_else(risky, pc.binary_join_element_wise('"', doubled, '"', ""), texts)
    missing = '""' if line.width == 1 else ""
    spelled = pc.binary_join_element_wise(pa.concat_arrays([texts, pa.array([missing])]), line.end, "")
    offsets = np.frombuffer(spelled.buffers()[1], dtype=np.int32)[spelled.offset :][: len(spelled) + 1]
    pool = np.frombuffer(spelled.buffers()[2], dtype=np.uint8)
    return Fields(offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64), pool)


def _header(names: list[str], delimiter: str, writing: Writing) -> bytes:
    """Return the header line; raise if a spreadsheet would run the name of a column."""
    if writing.marks is not None and pc.any(is_formula(pa.array(names))).as_py():
        raise OutputError(
            "a spreadsheet takes the name of a column for a formula",
            hint="rename the column, write .xlsx or .parquet, which run no name, or write without the guard",
        )
    fields = _fields(pa.array(names), LineFormat(delimiter, len(names), delimiter, writing))
    text = bytes(fields.pool)[: int(fields.lengths[:-1].sum())]
    return text[: -len(delimiter)] + b"\n"
