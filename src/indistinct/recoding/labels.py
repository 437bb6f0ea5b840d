"""How published values are written: one raw value, a range, a set, or an ancestor.

    25              every row of the class has this value
    [25-30]         a range of numbers; both ends belong to it
    [-5 .. 12]      a range whose ends hold a hyphen (negative numbers, dates)
    {flu, measles}  a set of values
    [25-30] or missing, {missing, flu}    some rows may have no value; a class without any publishes null
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.domain import Codes

MISSING = "missing"
OR_MISSING = f" or {MISSING}"


def range_labels(texts: pa.Array, low: Codes, high: Codes, absent: Codes) -> pa.Array:
    """Return the label of each range `texts[low]` to `texts[high]`; `low > high` means that nothing is known."""
    empty = low > high
    first = texts.take(pa.array(np.where(empty, 0, low)))
    last = texts.take(pa.array(np.where(empty, 0, high)))
    hyphen = pc.or_(pc.match_substring(first, "-"), pc.match_substring(last, "-"))
    separator = pc.if_else(hyphen, " .. ", "-")
    joined = pc.binary_join_element_wise("[", first, separator, last, "]", "")
    plain = pc.if_else(pa.array(low == high), first, joined)
    noted = pc.if_else(pa.array(absent), pc.binary_join_element_wise(plain, OR_MISSING, ""), plain)
    return pc.if_else(pa.array(empty), pa.scalar(None, pa.string()), noted)


def set_labels(texts: Sequence[str | None], indptr: Codes, members: Codes) -> pa.Array:
    """Return the label of each set of values, given as compressed sparse rows of codes."""
    spelled = pa.array([MISSING if text is None else _quoted(text) for text in texts], pa.string())
    lists = pa.ListArray.from_arrays(pa.array(indptr, pa.int32()), spelled.take(pa.array(members)))
    joined = pc.binary_join_element_wise("{", pc.binary_join(lists, ", "), "}", "")
    single = pa.array(texts, pa.string()).take(pa.array(members[indptr[:-1]]))
    return pc.if_else(pa.array(np.diff(indptr) == 1), single, joined)


def _quoted(text: str) -> str:
    """Quote a member that could be mistaken for several."""
    if not text or text == MISSING or any(mark in text for mark in ',{}"') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text
