"""Values that stand in a dictionary or behind a missing cell, and in no published cell."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.scanning.base import Check, Finding, Severity, Subject, plural


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


def _behind(subject: Subject) -> Iterator[Finding]:
    for place, name in enumerate(subject.columns):
        kept = sum(_kept_behind(chunk) for chunk in subject.table.column(place).chunks)
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
    if len(buffers) != 2 or buffers[1] is None or kind.bit_width not in (8, 16, 32, 64):
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
    Check("values-behind-missing", "values that are stored behind missing cells", _behind, ("table",), ("arrow",)),
)
