"""Who stood where, as the bytes that a ledger keeps of a release: a head in JSON and arrays behind it."""

import json
from collections.abc import Sequence

import numpy as np

from indistinct.arrays import Codes, starts_of
from indistinct.release.pseudonyms import KIND
from indistinct.release.standing import Signatures, Standing

COUNTS, CODES = "<u4", "<i4"


def packed(standing: Standing) -> bytes:
    """Return a standing as bytes; a person's own values stay out."""
    arrays = [standing.people, standing.rows, np.diff(standing.indptr).astype(COUNTS), standing.classes.astype(CODES)]
    for each in standing.signatures.values():
        arrays += [each.values, np.diff(each.indptr).astype(COUNTS), each.codes.astype(CODES)]
    head = {
        "person": dict(standing.person),
        "size": standing.size,
        "signatures": {name: each.type for name, each in standing.signatures.items()},
        "lengths": [len(array) for array in arrays],
    }
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(4, "big"), text, *(array.tobytes() for array in arrays)])


def unpacked(content: bytes) -> Standing:
    """Return the standing that was packed; raise `ValueError` or `KeyError` for anything else."""
    end = 4 + int.from_bytes(content[:4], "big")
    head = json.loads(content[4:end])
    kinds = [KIND, KIND, COUNTS, CODES, *([KIND, COUNTS, CODES] * len(head["signatures"]))]
    arrays = _arrays(memoryview(content)[end:], kinds, head["lengths"])
    people, rows, counts, classes, *rest = arrays
    signatures = {
        name: Signatures(kind, rest[3 * index], starts_of(rest[3 * index + 1]), rest[3 * index + 2])
        for index, (name, kind) in enumerate(head["signatures"].items())
    }
    return Standing(head["person"], people, rows, starts_of(counts), classes, head["size"], signatures)


def _arrays(content: memoryview, kinds: Sequence[str], lengths: Sequence[int]) -> list[Codes]:
    arrays, at = [], 0
    for kind, length in zip(kinds, lengths, strict=True):
        arrays.append(np.frombuffer(content, dtype=kind, count=length, offset=at) if length else np.zeros(0, kind))
        at += length * np.dtype(kind).itemsize
    return arrays
