"""Which encoding a text has, of tables for engines and of hierarchies for recodings alike."""

import codecs
import re

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Signs beside ASCII letters, beyond which a text in Shift-JIS is rather one in Latin letters.
LATIN_SHARE = 0.2


def encodings_of(start: bytes) -> tuple[str, ...]:
    """Return the encodings to try in turn on a text that begins with some bytes."""
    marked = next((name for mark, name in MARKS if start.startswith(mark)), None)
    if marked:
        return (marked,)
    return ("utf-8", *(("cp932",) if _is_japanese(start) else ()), "cp1252", "latin-1")


def _is_japanese(start: bytes) -> bool:
    """Return whether bytes are text in Shift-JIS as Windows writes it (cp932), and not Latin letters.

    Bytes of Latin letters with accents may decode as well, but to signs that stand inside words of ASCII letters.
    """
    if start.isascii():
        return False
    decoder = codecs.getincrementaldecoder("cp932")()
    try:
        text = decoder.decode(start)
    except UnicodeDecodeError:
        return False
    signs = sum(not mark.isascii() for mark in text)
    inside = len(re.findall("(?<=[A-Za-z])[^\\x00-\\x7f]|[^\\x00-\\x7f](?=[A-Za-z])", text))
    private = any("\ue000" <= mark <= "\uf8ff" for mark in text)
    return signs > 0 and not private and inside <= LATIN_SHARE * signs
