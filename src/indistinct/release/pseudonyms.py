"""Pseudonyms: keyed digests in place of people and values, so that two releases can be compared without either.

A pseudonym is the first half of an HMAC-SHA-256. Columns, types and values go into it with their lengths, so that two
people never become one by how their columns are put together.
"""

import hmac
import secrets
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.domain import Domain

KEY_BYTES = 32
LENGTH = 16
KIND = f"S{LENGTH}"
"""The type of an array of pseudonyms."""
MISSING = b"\xff\xff\xff\xff"


def new_key() -> bytes:
    """Return a key of 256 bits from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def canonical_type(kind: pa.DataType) -> str:
    """Return what an Arrow type is called where only its values matter: the width of whole numbers does not.

    >>> canonical_type(pa.int32()), canonical_type(pa.string())
    ('integer', 'text')
    """
    tests = {
        "integer": pa.types.is_integer,
        "float": pa.types.is_floating,
        "decimal": pa.types.is_decimal,
        "date": pa.types.is_date,
        "time": pa.types.is_timestamp,
    }
    return next((name for name, test in tests.items() if test(kind)), "text")


def pseudonyms(key: bytes, domains: Sequence[Domain], codes: Codes, *, purpose: str) -> Codes:
    """Return a pseudonym for each row of codes, one column a domain; another `purpose` gives others.

    >>> name = Domain("name", pa.array(["Ada", "Bo"]))
    >>> one, two, again = pseudonyms(b"k" * 32, [name], np.array([[0], [1], [0]]), purpose="person")
    >>> bool(one == again), bool(one == two)
    (True, False)
    """
    columns = [_framed(domain) for domain in domains]
    start = _with_length(purpose.encode())
    listed = [column.tolist() for column in codes.T]
    if len(columns) == 1:
        texts = [start + columns[0][code] for code in listed[0]]
    else:
        texts = [
            start + b"".join(column[code] for column, code in zip(columns, row, strict=True))
            for row in zip(*listed, strict=True)
        ]
    return digests(key, texts)


def column_pseudonyms(key: bytes, domain: Domain) -> list[str | None]:
    """Return the pseudonym that is published for each value of a column, in hexadecimal digits; missing has none.

    It is the first half of the HMAC-SHA-256 of column, canonical type and value, each behind its length in four bytes.

    >>> one, two = column_pseudonyms(b"k" * 32, Domain("name", pa.array(["Ada", "Bo"])))
    >>> len(one), one == two
    (32, False)
    """
    told: list[str | None] = [text.hex() for text in _halves(key, _framed(domain))]
    return [None, *told[1:]] if domain.missing else told


def digests(key: bytes, texts: Sequence[bytes]) -> Codes:
    """Return the first half of the HMAC-SHA-256 of each text."""
    found = b"".join(_halves(key, texts))
    return np.frombuffer(found, dtype=KIND) if found else np.zeros(0, dtype=KIND)


def _halves(key: bytes, texts: Sequence[bytes]) -> list[bytes]:
    return [hmac.digest(key, text, "sha256")[:LENGTH] for text in texts]


def _framed(domain: Domain) -> list[bytes]:
    """Return column, type and value behind each code, each with its length."""
    start = _with_length(domain.column.encode()) + _with_length(canonical_type(domain.values.type).encode())
    return [start + (MISSING if text is None else _with_length(text.encode())) for text in domain.texts()]


def _with_length(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text
