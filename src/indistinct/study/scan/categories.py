"""Values that stand in a dictionary or behind a missing cell, and in no published cell."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.figures import plural
from indistinct.study.scan.base import STORED, Check, Finding, Severity, Subject
from indistinct.study.scan.compared import plain

# So many values stand in one order of 5,040, or of more, by chance.
FEWEST_VALUES = 7


def _unused(subject: Subject) -> Iterator[Finding]:
    for place, name in enumerate(subject.columns):
        column = subject.table.column(place)
        if not isinstance(column.type, pa.DictionaryType) or subject.file.kind == "delimited":
            continue
        unused = _unused_values(column)
        if not unused:
            continue
        called = subject.called(name)
        yield Finding(
            "unused-categories",
            Severity.LEAK,
            called,
            unused,
            f"the dictionary of {called} lists {plural(unused, 'value')} that no row has: those of rows that were "
            "suppressed, or that a recoding replaced",
            "rebuild the categories from the published rows (in pandas: remove_unused_categories), and write it anew",
        )


def _unused_values(column: pa.ChunkedArray) -> int:
    """Return how many distinct values only the dictionaries of a column have."""
    listed = pa.chunked_array([chunk.dictionary for chunk in column.chunks], column.type.value_type)
    used = pa.chunked_array(
        [chunk.dictionary.take(pc.drop_null(chunk.indices.unique())) for chunk in column.chunks],
        column.type.value_type,
    )
    return len(pc.drop_null(listed.unique())) - len(pc.drop_null(used.unique()))


def _order(subject: Subject) -> Iterator[Finding]:
    if subject.original is None:
        return
    for place, name in enumerate(subject.columns):
        column = subject.table.column(place)
        is_coded = isinstance(column.type, pa.DictionaryType) and subject.file.kind != "delimited"
        if not is_coded or not column.num_chunks or name not in subject.original.columns:
            continue
        here = _texts(plain(column.slice(0, len(column.chunk(0)))).unique())
        there = _texts(plain(subject.original.data[name]).unique())
        both = set(here) & set(there)
        shown, first, listed = (
            [text for text in texts if text in both] for texts in (here, there, _texts(column.chunk(0).dictionary))
        )
        explained = listed in (shown, sorted(listed), sorted(listed, reverse=True))
        if len(listed) >= FEWEST_VALUES and listed == first and not explained:
            called = subject.called(name)
            yield Finding(
                "category-order",
                Severity.LEAK,
                called,
                len(listed),
                f"the dictionary of {called} lists its values as rows of the original first had them",
                "rebuild the categories from the published rows, in the order of the alphabet",
            )


def _texts(values: pa.Array) -> list[str]:
    return [str(value) for value in values.to_pylist() if value is not None]


def _behind(subject: Subject) -> Iterator[Finding]:
    for place, name in enumerate(subject.columns):
        kept = sum(_kept_behind(chunk) for chunk in subject.file.inside.stored.column(place).chunks)
        if kept:
            called = subject.called(name)
            yield Finding(
                "values-behind-missing",
                Severity.LEAK,
                called,
                kept,
                f"behind {plural(kept, 'missing cell')} of {called} a value is still stored",
                "write cells that are missing as empty: take the rows into new arrays before writing",
            )


def _kept_behind(chunk: pa.Array) -> int:
    """Return how many missing cells of an array still have a value in its buffers."""
    is_coded = isinstance(chunk.type, pa.DictionaryType)
    cells = chunk.indices if is_coded else chunk
    kind, buffers = cells.type, cells.buffers() if cells.null_count else []
    missing = cells.is_null().to_numpy(zero_copy_only=False)
    if len(buffers) == 3 and buffers[1] is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        offsets = np.frombuffer(buffers[1], dtype=np.int64 if pa.types.is_large_string(kind) else np.int32)
        return int((np.diff(offsets[cells.offset :][: len(cells) + 1])[missing] > 0).sum())
    if (
        len(buffers) != 2
        or buffers[1] is None
        or not pa.types.is_primitive(kind)
        or kind.bit_width not in (8, 16, 32, 64)
    ):
        return 0
    width = kind.bit_width // 8
    stored = np.frombuffer(buffers[1], dtype=f"i{width}")[cells.offset :][: len(cells)][missing]
    if is_coded:  # what pandas writes behind a missing cell, -1, is no code
        return int(((stored > 0) & (stored < len(chunk.dictionary))).sum())
    if pa.types.is_floating(kind):
        return int(((stored != 0) & ~np.isnan(stored.view(f"f{width}"))).sum())
    return int(((stored != 0) & (stored != np.iinfo(stored.dtype).min)).sum())


CHECKS = (
    Check("unused-categories", "values in a dictionary that no row has", _unused, ("table",)),
    Check("category-order", "dictionaries in the order of the original", _order, ("table", "original"), STORED),
    Check("values-behind-missing", "values that are stored behind missing cells", _behind, ("table",), ("arrow",)),
)
