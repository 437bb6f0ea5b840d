"""The apostrophe that guards texts from spreadsheets, and how a reader of the file takes it off again.

A guarded column is recognized by its texts: behind every apostrophe there is a text that needs one, or another
apostrophe, and no text that needs one lacks it. On such a column, removing the first apostrophe maps different texts to
different texts, so that classes and counts stay the same.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.release.writing.delimited import MARK, is_changed, is_formula
from indistinct.tables.domain import Kind
from indistinct.tables.value import is_table

Test = Callable[[pa.Array], pa.Array]


def columns_with_marks(source: Any) -> list[str]:
    """Return the text columns of a source in which some text begins with an apostrophe."""
    names = [name for name, kind in source.kinds.items() if kind is Kind.TEXT]
    batches: Iterable[pa.Table] = [source.data] if is_table(source) else source.batches(names) if names else ()
    marked = {name for batch in batches for name in names if _has_mark(batch[name])}
    return [name for name in names if name in marked]


def _has_mark(column: pa.ChunkedArray) -> bool:
    texts = (chunk.dictionary if isinstance(chunk.type, pa.DictionaryType) else chunk for chunk in column.chunks)
    return any(pc.any(pc.starts_with(each, MARK)).as_py() for each in texts)


def is_guarded(texts: pa.Array) -> bool:
    """Return whether the distinct texts of a column are those of a guarded one, with at least one apostrophe.

    >>> is_guarded(pa.array(["'=1+1", "flu"])), is_guarded(pa.array(["'=1+1", "=1+1"])), is_guarded(pa.array(["'tis"]))
    (True, False, False)
    """
    texts = texts.drop_null()
    begins = pc.starts_with(texts, MARK)
    behind = pc.utf8_slice_codeunits(texts.filter(begins), 1)
    bare = texts.filter(pc.invert(begins))
    return bool(len(behind)) and any(_fits(needs, behind, bare) for needs in (is_formula, is_changed))


def _fits(needs: Test, behind: pa.Array, bare: pa.Array) -> bool:
    """Return whether exactly the texts that need an apostrophe, or begin with one, have one."""
    marked = pc.or_(needs(behind), pc.starts_with(behind, MARK))
    return bool(pc.all(marked).as_py()) and not pc.any(needs(bare)).as_py()


def remove_guard(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without their first apostrophe.

    >>> remove_guard(pa.chunked_array([["'=1+1", None, "''tis"]])).to_pylist()
    ['=1+1', None, "'tis"]
    """
    if not isinstance(column.type, pa.DictionaryType):
        return pa.chunked_array([_without_mark(chunk) for chunk in column.chunks], column.type)
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, _without_mark(chunk.dictionary), ordered=column.type.ordered)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)


def _without_mark(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.starts_with(texts, MARK), pc.utf8_slice_codeunits(texts, 1), texts)
