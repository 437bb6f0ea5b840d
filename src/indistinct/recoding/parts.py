"""A recoding as its parts: what equality compares, and what a digest commits to."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.machine.arrays import Codes
from indistinct.machine.parallel import spread

# Rows of an array that are hashed at a time: a whole array would be copied.
BLOCK = 1 << 16
LATER = {"later": True}
"""Metadata of a field that came after the first release: where it is None, digests stay what they were before."""
# What JSON writes in another way than it is.
ESCAPED = r'["\\\x00-\x1f\x7f]'


def parts_of(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path and the content of every array, text and number inside a dataclass, in the order of its fields.

    A field that takes no part in comparisons is left out, and so is a later one that is None.
    """
    if is_dataclass(value):
        yield path, type(value).__name__
        for field in fields(value):
            if field.compare and not ("later" in field.metadata and getattr(value, field.name) is None):
                yield from parts_of(getattr(value, field.name), f"{path}/{field.name}")
    elif isinstance(value, Mapping):
        yield path, sorted(value)
        for key in sorted(value):
            yield from parts_of(value[key], f"{path}/{key}")
    elif isinstance(value, tuple | list):
        yield path, len(value)
        for index, each in enumerate(value):
            yield from parts_of(each, f"{path}/{index}")
    else:
        yield path, value


def same_parts(one: object, other: object) -> bool:
    """Return whether two dataclasses have the same parts; the width of integers does not matter."""
    pairs = zip_longest(parts_of(one), parts_of(other), fillvalue=("", None))
    return all(path == where and _same(mine, theirs) for (path, mine), (where, theirs) in pairs)


def digest_parts(value: object, *, nonce: str) -> str:
    """Return a SHA-256 commitment to the parts of a dataclass; the width of integers does not matter."""
    state = hashlib.sha256(nonce.encode())
    for path, part in parts_of(value):
        state.update(f"\n{path}:".encode())
        match part:
            case np.ndarray():
                kind = _width(part)
                state.update(f"{part.shape}{kind}".encode())
                for start in range(0, len(part), BLOCK):
                    state.update(np.ascontiguousarray(part[start : start + BLOCK], dtype=kind).tobytes())
            case pa.Array():
                blocks = [part.slice(start, BLOCK) for start in range(0, len(part), BLOCK)]
                inside = b", ".join(spread(_json_items, blocks))
                state.update(b"[%s, [%s]]" % (json.dumps(str(part.type)).encode(), inside))
            case _:
                state.update(json.dumps(part, ensure_ascii=False).encode())
    return state.hexdigest()


def _json_items(block: pa.Array) -> bytes:
    """Return values as items of a JSON list of texts, `"a", null, "b"`; only what people have written needs escapes."""
    texts = block.cast(pa.string())
    if pa.types.is_string(block.type) and pc.any(pc.match_substring_regex(texts, ESCAPED)).as_py():
        return json.dumps(texts.to_pylist(), ensure_ascii=False)[1:-1].encode()
    quoted = pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), "null")
    return bytes(pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)]), quoted), ", ")[0].as_buffer())


def _same(mine: object, theirs: object) -> bool:
    if isinstance(mine, np.ndarray):
        return isinstance(theirs, np.ndarray) and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    if isinstance(mine, pa.Array):
        return isinstance(theirs, pa.Array) and mine.equals(theirs)
    return bool(mine == theirs) if not isinstance(theirs, np.ndarray) else False


def _width(part: Codes) -> str:
    """Return the narrowest type that holds the numbers of an array, whatever type they have."""
    if part.dtype.kind == "f":
        return "<f8"
    low, high = (int(part.min()), int(part.max())) if part.size else (0, 0)
    kinds = ("<i1", "<i2", "<i4", "<i8")
    return next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
