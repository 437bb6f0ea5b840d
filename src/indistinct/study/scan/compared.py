"""Published columns beside those of the original: the same values in the same types, so that cells can be compared."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.study.scan.base import Subject


def published_as_is(subject: Subject) -> Mapping[str, tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Return the columns that were published as they are: as published, and as they were.

    No value is there more often than in the original: coarse ages such as 20 and 40 are ages too, but far more often.
    """
    if subject.original is None:
        return {}
    found = {}
    for name in subject.original.columns:
        if subject.columns.count(name) != 1:
            continue
        before = plain(subject.original.data[name])
        shown = in_type(subject.table[name], before.type)
        if shown is not None and shown.null_count < len(shown) and _is_part(shown, before):
            found[name] = (shown, before)
    return found


def _is_part(shown: pa.ChunkedArray, before: pa.ChunkedArray) -> bool:
    """Return whether no value is in one column more often than in another."""
    few, many = shown.value_counts(), before.value_counts()
    places = pc.index_in(few.field("values"), value_set=many.field("values"))
    if places.null_count:
        return False
    return bool(pc.all(pc.less_equal(few.field("counts"), many.field("counts").take(places))).as_py())


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without a dictionary, its text as `large_string` and its numbers of whatever width alike."""
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(kind).cast(pa.float64(), safe=False)
    return column.cast(pa.int64()) if pa.types.is_integer(kind) else column.cast(kind)


def in_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """Return a published column in the type of the original, None where its cells do not fit."""
    try:
        shown = plain(column)
        return shown if shown.type == kind else shown.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


def spelled(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column as text; whole numbers have no point."""
    values = pc.drop_null(plain(column).unique())
    try:
        texts = values.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([], pa.large_string())
    return pc.replace_substring_regex(texts, r"\.0$", "") if pa.types.is_floating(values.type) else texts
