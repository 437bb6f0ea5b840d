"""Pseudonyms: keyed digests in place of people and values, so that two releases can be compared without either.

A pseudonym is the first half of an HMAC-SHA-256. Columns, types and values go into it with their lengths, so that two
people never become one by how their columns are put together.
"""

import hmac
import re
import secrets
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from indistinct.machine.arrays import Codes
from indistinct.tables.domain import Domain

KEY_BYTES = 32
LENGTH = 16
KIND = f"S{LENGTH}"
"""The type of an array of pseudonyms."""
LARGEST = 1 << 53
DAY = len("2024-01-31")
MIDNIGHT = re.compile(r"[ T]00:00:00(?:\.0*)?")
MISSING = b"\xff\xff\xff\xff"


def new_key() -> bytes:
    """Return a key of 256 bits from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


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
    start = _with_length(domain.column.encode())
    absent = start + _with_length(b"text") + MISSING
    values = [
        start + _with_length(kind.encode()) + _with_length(text.encode()) for kind, text in canonical(domain.values)
    ]
    return [absent, *values] if domain.missing else values


def canonical(values: pa.Array) -> list[tuple[str, str]]:
    """Return the type and the text of each value by which it is the same value in another file.

    A column of whole numbers of which one is missing often comes as floating-point numbers, and a date as the midnight
    that it begins with. So a number is an integer or a fraction, however its column stores it, and a moment without a
    time of day is a date. Beyond 2^53 a floating-point number stands for several integers, and is none of them.

    >>> canonical(pa.array([12.0, 12.5])), canonical(pa.array([12])), canonical(pa.array(["12"]))
    ([('integer', '12'), ('fraction', '12.5')], [('integer', '12')], [('text', '12')])
    """
    kind, texts = values.type, values.cast(pa.string()).to_pylist()
    if pa.types.is_integer(kind):
        return [("integer", text) for text in texts]
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return [_number(text, exact=pa.types.is_decimal(kind)) for text in texts]
    if pa.types.is_date(kind):
        return [("date", text) for text in texts]
    if pa.types.is_timestamp(kind):
        return [("date", text[:DAY]) if MIDNIGHT.fullmatch(text[DAY:]) else ("time", text) for text in texts]
    return [("text", text) for text in texts]


def _number(text: str, *, exact: bool) -> tuple[str, str]:
    number = Decimal(text)
    if number.is_finite() and number == number.to_integral_value() and (exact or abs(number) <= LARGEST):
        return "integer", str(int(number))
    plain = f"{number:f}" if number.is_finite() else text
    return "fraction", plain.rstrip("0") if "." in plain else plain


def _with_length(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text
