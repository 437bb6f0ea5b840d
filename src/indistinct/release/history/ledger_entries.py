"""Who stood where, as the bytes that a ledger keeps of a release: a head in JSON and arrays behind it."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from indistinct.machine.arrays import Codes, starts_of
from indistinct.release.history.standing import Standing
from indistinct.release.pseudonyms.making import KIND

COUNTS, CODES = "<u4", "<i4"


def packed(standing: Standing) -> bytes:
    """Return a standing as bytes."""
    arrays = [standing.people, np.diff(standing.indptr).astype(COUNTS), standing.classes.astype(CODES)]
    head = {
        "person": dict(standing.person),
        "size": standing.size,
        "k": standing.k,
        "fresh": standing.fresh,
        "lengths": [len(array) for array in arrays],
    }
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(4, "big"), text, *(array.tobytes() for array in arrays)])


def unpacked(content: bytes) -> Standing:
    """Return the standing that was packed; raise `ValueError`, `KeyError` or `TypeError` for anything else."""
    head, arrays = _read(content, [KIND, COUNTS, CODES])
    people, counts, classes = arrays
    return Standing(
        head["person"], people, starts_of(counts), classes, head["size"], int(head["k"]), bool(head["fresh"])
    )


def unpacked_of_format_1(content: bytes, *, k: int) -> Standing:
    """Return the standing that a ledger of the first format packed, with digests of values; nothing in it was fresh."""
    end = 4 + int.from_bytes(content[:4], "big")
    columns = len(json.loads(content[4:end])["signatures"])
    head, arrays = _read(content, [KIND, KIND, COUNTS, CODES, *([KIND, COUNTS, CODES] * columns)])
    people, _, counts, classes = arrays[:4]
    return Standing(head["person"], people, starts_of(counts), classes, head["size"], k)


def head_of(content: bytes) -> dict[str, Any]:
    """Return what stands before the arrays: the columns that tell people apart, `k`, and whether it was `fresh`."""
    head: dict[str, Any] = json.loads(content[4 : 4 + int.from_bytes(content[:4], "big")])
    return head


def _read(content: bytes, kinds: Sequence[str]) -> tuple[dict[str, Any], list[Codes]]:
    end = 4 + int.from_bytes(content[:4], "big")
    head = head_of(content)
    rest, arrays, at = memoryview(content)[end:], [], 0
    for kind, length in zip(kinds, head["lengths"], strict=True):
        arrays.append(np.frombuffer(rest, dtype=kind, count=length, offset=at) if length else np.zeros(0, kind))
        at += length * np.dtype(kind).itemsize
    return head, arrays
