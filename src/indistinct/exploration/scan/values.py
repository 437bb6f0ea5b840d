"""Values of the original that no published cell shows, searched in every byte of the file.

Searched are identifiers and, where cells are read, values of other columns that no published cell has: those of
suppressed rows and those that were generalized. Only values that hardly occur by chance are searched: at least six
bytes, or four as a whole word in text, with a letter or at least seven digits, and no dates, which files contain
anyway.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.exploration.scan.base import Finding, NotChecked, ScanCheck, ScannedFile, Severity, leak
from indistinct.exploration.scan.compared import spell_values
from indistinct.figures import plural
from indistinct.machine.arrays import Codes

# Bytes of a value that is searched in binary cells, and of one in text; digits of a number.
MIN_BYTES_IN_BINARY, MIN_BYTES_IN_TEXT, MIN_DIGITS = 6, 4, 7
# Upper limits of the values of each column, evenly chosen, and of the bytes of each part.
MAX_VALUES_PER_COLUMN, MAX_BYTES_PER_PART = 50_000, 1 << 28
# Words of file formats that are also values of some tables.
OWN_WORDS = frozenset(
    """pandas pyarrow arrow parquet schema index columns column metadata field_name numpy_type pandas_type string
    unicode object category categorical double float float64 int64 bool boolean datetime range stop start step kind
    creator library version name none null true false attributes partition_columns application microsoft excel sheet
    sheet1 calibri office general normal created modified title worksheets values data table public private default
    theme font style count unique type text number date time size width height left right center index_columns
    column_indexes encoding dataframe core frame series block manager dtype ndarray numpy copyreg builtins""".split()  # noqa: SIM905
)
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?")


def _search_values(subject: ScannedFile) -> Iterator[Finding | NotChecked]:
    """Search values of the original in parts of the file outside of its cells."""
    if subject.original is None:
        return
    cells = b"" if subject.file.table is None else _cells(subject.file.table)
    for part in subject.file.parts:
        if len(part.content) > MAX_BYTES_PER_PART:
            yield NotChecked(
                f"{part.place} behind {MAX_BYTES_PER_PART >> 20} MB", "values of the original are searched up to there"
            )
    for name in subject.original.columns:
        is_hidden = name in subject.hidden
        if (subject.file.table is None or subject.file.rows is not None) and not is_hidden:
            continue  # it is not known which values the cells have
        values = _candidates(subject.original.data[name])
        if len(values) == MAX_VALUES_PER_COLUMN:
            yield NotChecked(
                f"all values of column {name!r} of the original",
                f"{MAX_VALUES_PER_COLUMN:,} of them, evenly chosen, are searched",
            )
        published = set(find_values(values, cells))
        absent = [value for number, value in enumerate(values) if number not in published]
        found_before: set[bytes] = set()
        for part in subject.file.parts:
            content = part.content[:MAX_BYTES_PER_PART]
            # The raw bytes contain the other parts too: a value found there is not reported twice.
            wanted = (
                absent
                if part.words
                else [value for value in absent if len(value) >= MIN_BYTES_IN_BINARY and value not in found_before]
            )
            positions = find_values(wanted, content, whole=part.words)
            found_before.update(wanted[number] for number in positions)
            if positions:
                whose = "people's identifiers" if is_hidden else "rows that are not published, or were recoded"
                yield leak(
                    part.place,
                    len(positions),
                    f"{part.place}{' of the file' if part.words else ''} holds {plural(len(positions), 'value')} of "
                    f"column {name!r} of the original that no published cell shows: {whose}",
                    "write the published cells into a new file, without the other contents of the old one",
                )


def _find_ids(subject: ScannedFile) -> Iterator[Finding]:
    """Find identifiers in published cells: in a column that was renamed, or inside texts."""
    if subject.original is None:
        return
    for hidden in subject.hidden:
        if hidden not in subject.original.columns:
            continue
        values = _candidates(subject.original.data[hidden])
        texts = pa.array([value.decode() for value in values], pa.large_string())
        for index, name in enumerate(subject.columns):
            if name == hidden or not len(values):
                continue
            ids = spell_values(subject.table.column(index))
            equal = pc.is_in(ids, value_set=texts)
            whole = int(pc.sum(equal).as_py() or 0)
            inside = [value for value in values if len(value) >= MIN_BYTES_IN_BINARY]
            matches = whole or len(find_values(inside, _join_texts([ids]), whole=True))
            if not matches:
                continue
            as_it_was = name in subject.original.columns and name in subject.expected_columns
            renamed = whole > 0 and not as_it_was
            yield Finding(
                Severity.LEAK if renamed else Severity.SUSPICION,
                subject.called(name),
                matches,
                f"{subject.called(name)} {'is' if renamed else 'holds texts with'} "
                f"{plural(matches, 'value')} of column {hidden!r}, which points at people",
                "drop the column, or remove what points at people from its texts",
            )


def _candidates(column: pa.ChunkedArray) -> list[bytes]:
    """Return the values of a column that hardly occur by chance, evenly chosen if there are very many."""
    if pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type) or pa.types.is_floating(column.type):
        return []
    telling = [text.encode() for text in spell_values(column).to_pylist() if _is_telling(text)]
    if len(telling) <= MAX_VALUES_PER_COLUMN:
        return telling
    return [
        telling[index] for index in np.linspace(0, len(telling) - 1, MAX_VALUES_PER_COLUMN, dtype=np.int64).tolist()
    ]


def _is_telling(text: str) -> bool:
    """Return whether a text hardly occurs by chance.

    >>> [_is_telling(text) for text in ("Emily", "pandas", "1234567", "2024", "2024-05-01", "*****")]
    [True, False, True, False, False, False]
    """
    if len(text.encode()) < MIN_BYTES_IN_TEXT or text.strip().casefold() in OWN_WORDS or _DATE.fullmatch(text):
        return False
    return any(letter.isalpha() for letter in text) or sum(letter.isdigit() for letter in text) >= MIN_DIGITS


def _cells(table: pa.Table) -> bytes:
    """Return every distinct published cell and every column name as text."""
    return _join_texts([spell_values(column) for column in table.columns]) + "\n".join(table.column_names).encode()


def _join_texts(texts: Sequence[pa.Array]) -> bytes:
    return "".join(f"{text}\n" for part in texts for text in part.to_pylist()).encode()


CHECKS = (
    ScanCheck(
        "values-in-the-bytes", "values of the original that no published cell shows", _search_values, ("original",)
    ),
    ScanCheck("identifier-values", "published cells that hold identifiers", _find_ids, ("table", "original", "roles")),
)

# Values are recognized by their first bytes, as many of these as they have.
WIDTHS = (8, 6, 4)
BLOCK_BYTES = 1 << 22
# Matches that are compared letter by letter; beyond this number the rest is not compared.
MAX_MATCHES_COMPARED = 1 << 19
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(range(128, 256))


def find_values(values: Sequence[bytes], content: bytes, *, whole: bool = False) -> list[int]:
    """Return the numbers of the values that occur in some bytes; with `whole`, as whole words only.

    Every value has at least four bytes.

    >>> find_values([b"Oslo", b"Bergen", b"Emil"], b"from Bergen: Emily", whole=True)
    [1]
    """
    positions: set[int] = set()
    for width, longer in zip(WIDTHS, (None, *WIDTHS), strict=False):
        own = [n for n, value in enumerate(values) if width <= len(value) and (longer is None or len(value) < longer)]
        if own:
            positions.update(_of_width(width, own, values, content, whole=whole))
    return sorted(positions)


def _of_width(width: int, own: list[int], values: Sequence[bytes], content: bytes, *, whole: bool) -> Iterator[int]:
    """Yield the values whose first `width` bytes, and then the rest, occur in the content."""
    by_start: dict[bytes, list[int]] = defaultdict(list)
    for number in own:
        by_start[values[number][:width]].append(number)
    starts = np.unique(np.array([int.from_bytes(start, "little") for start in by_start], dtype=np.uint64))
    ahead, compared = set(own), 0
    for begin in range(0, len(content), BLOCK_BYTES):
        block = content[begin : begin + BLOCK_BYTES + width - 1]
        for index in _alike(block, starts, width):
            compared += 1
            if compared > MAX_MATCHES_COMPARED or not ahead:
                return
            here = begin + index
            for number in by_start[content[here : here + width]]:
                value = values[number]
                if number in ahead and content.startswith(value, here) and (not whole or _alone(content, here, value)):
                    ahead.discard(number)
                    yield number


def _alike(block: bytes, starts: Codes, width: int) -> list[int]:
    """Return the positions where the first bytes of a value occur."""
    cells = np.frombuffer(block, dtype=np.uint8)
    if len(cells) < width:
        return []
    words = np.zeros(len(cells) - width + 1, dtype=np.uint64)
    for step in range(width):
        words |= cells[step : step + len(words)].astype(np.uint64) << np.uint64(8 * step)
    # A coarse test first: few words pass it, and only these are looked up.
    marked = np.zeros(1 << 16, dtype=bool)
    marked[_coarse(starts)] = True
    likely = np.flatnonzero(marked[_coarse(words)])
    positions = np.minimum(np.searchsorted(starts, words[likely]), len(starts) - 1)
    alike: list[int] = likely[starts[positions] == words[likely]].tolist()
    return alike


def _coarse(words: Codes) -> Codes:
    """Hash words to 16 bits, for a first test."""
    mixed: Codes = (words * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)
    return mixed


def _alone(content: bytes, here: int, value: bytes) -> bool:
    """Return whether a value in the content is a whole word."""
    end = here + len(value)
    before, after = content[here - 1 : here] if here else b"", content[end : end + 1]
    return not (before and before[0] in _LETTERS) and not (after and after[0] in _LETTERS)
