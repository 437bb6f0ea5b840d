"""Hashes without a key, which a release may show in place of pseudonyms: hashing every identifier finds people.

Only the original tells them from pseudonyms. Its identifiers are hashed in the usual ways and compared with the
beginnings and the ends of what is published, because hashes are cut short as well.
"""

import base64
import binascii
import hashlib
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from indistinct.engines import count_source
from indistinct.engines.base import Source
from indistinct.frequencies.count import Request
from indistinct.release.pseudonyms.making import canonical

HASHES = "holds hashes without a key, which anybody can compute"
# Of every value, as written.
COMMON = ("md5", "sha1", "sha256", "sha512")
# Of some values, in other notations as well: a program that hashes one in a strange way hashes all.
OTHERS = ("sha224", "sha384", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s")
NAMESPACES = (uuid.NAMESPACE_DNS, uuid.NAMESPACE_URL, uuid.NAMESPACE_OID, uuid.NAMESPACE_X500)
MAX_TRIED = 2_000
# Hexadecimal digits that agree by no chance: 64 bits.
DIGITS_COMPARED = 16
HEX = re.compile(r"(?:0x)?([0-9a-f-]{16,})")


def holds_unkeyed(names: Sequence[str], known: Sequence[str]) -> bool:
    """Return whether a published text is a hash of a known identifier without a key, or a beginning or end of one.

    >>> holds_unkeyed([hashlib.sha256(b"p1").hexdigest()[:32]], ["p1", "p2"]), holds_unkeyed(["f3" * 16], ["p1"])
    (True, False)
    """
    digits = [text for each in names for text in _digits(each)]
    begins, ends = {text[:DIGITS_COMPARED] for text in digits}, {text[-DIGITS_COMPARED:] for text in digits}
    if not digits:
        return False
    return any(digest[:DIGITS_COMPARED] in begins or digest[-DIGITS_COMPARED:] in ends for digest in _hashes(known))


def without_hashes(
    kinds: Mapping[str, str], published: Source, original: Source | None, *, hidden: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the pseudonyms of a release without columns that hold hashes without a key, and warnings of these.

    They may be hashes of any `hidden` column of the original; where there is none, this is unknown.
    """
    columns = () if original is None else original.columns
    known = [_texts(original, name) for name in hidden if name in columns] if kinds else []
    names = [name for name in kinds if name in published.columns]
    hashed = [name for name in names if any(holds_unkeyed(_texts(published, name), texts) for texts in known)]
    kept = {name: kind for name, kind in kinds.items() if name not in hashed}
    return kept, [f"column {name!r} {HASHES}" for name in hashed]


def _texts(source: Source | None, name: str) -> list[str]:
    """Return the distinct values of a column; whole numbers have no point, whatever their column stores them as."""
    counted = count_source(source, Request((name,), published=True))
    return [text for _, text in canonical(counted.known[name].values)]


def _hashes(known: Sequence[str]) -> Iterator[str]:
    """Yield hashes of identifiers: the common ones of all, and others of some of them, evenly chosen."""
    for way in COMMON:
        yield from (hashlib.new(way, text.encode(), usedforsecurity=False).hexdigest() for text in known)
    positions = np.linspace(0, len(known) - 1, min(len(known), MAX_TRIED), dtype=np.int64).tolist()
    for text in (known[index] for index in positions):
        for spelling in dict.fromkeys(_spellings(text)):
            for make in MAKERS:
                yield make(spelling)


def _spellings(text: str) -> Iterator[bytes]:
    """Yield the ways to write an identifier before hashing: with a line end, in upper or lower case, as stored."""
    for each in (text, text.strip(), text.lower(), text.upper()):
        yield each.encode()
    yield from (text.encode() + end for end in (b"\n", b"\r\n"))
    yield text.encode("utf-16-le")
    if text.lstrip("-").isdecimal():
        yield f"{text}.0".encode()


def _maker(way: str) -> Callable[[bytes], str]:
    """Return a hash function that gives hexadecimal digits."""
    return lambda content: hashlib.new(way, content, usedforsecurity=False).hexdigest()


def _uuid_maker(version: int, space: uuid.UUID) -> Callable[[bytes], str]:
    """Return a function that makes the name-based UUID of a text, which is a hash too."""
    way = {3: "md5", 5: "sha1"}[version]

    def make(content: bytes) -> str:
        digest = hashlib.new(way, space.bytes + content, usedforsecurity=False).digest()
        return uuid.UUID(bytes=digest[:16], version=version).hex

    return make


MAKERS = (
    *(_maker(way) for way in (*COMMON, *OTHERS)),
    *(_uuid_maker(version, space) for version in (3, 5) for space in NAMESPACES),
)


def _digits(text: str) -> Iterator[str]:
    """Yield the hexadecimal digits that a published text may encode: written so, or in base 64."""
    plain = HEX.fullmatch(text.strip().lower())
    if plain:
        yield plain[1].replace("-", "")
    if len(text) >= DIGITS_COMPARED * 4 // 6:
        try:
            content = base64.b64decode(
                text + "=" * (-len(text) % 4), altchars=b"-_" if set("-_") & set(text) else None, validate=True
            )
        except (binascii.Error, ValueError):
            return
        if len(content) >= DIGITS_COMPARED // 2:
            yield content.hex()
