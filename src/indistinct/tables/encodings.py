"""Which encoding a text has, for tables and for hierarchies."""

import codecs
import re

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Share of non-ASCII characters above which a text that decodes as Shift-JIS is more likely in Latin letters.
LATIN_SHARE = 0.2
# The languages for which an encoding other than UTF-8 is guessed.
GUESSES = {
    "cp1252": "Western European",
    "latin-1": "Western European",
    "cp932": "Japanese",
}
DECLARE = "declare it if letters look wrong (--encoding, encoding=)"
# Words with letters beyond ASCII, in any encoding with one byte per letter; three such letters and nothing else are a
# word of no language that cp1252 is for.
WORD = re.compile(rb"[A-Za-z\x80-\xff]+")
FOREIGN = re.compile(rb"[A-Za-z]?[\x80-\xff]{3,}[A-Za-z]?")
# Between two letters cp1252 has letters, apostrophes and dashes.
SIGN_INSIDE = re.compile(
    rb"[A-Za-z\xc0-\xff][\x80-\x82\x84-\x89\x8b\x8d\x8f\x90\x93-\x95\x99\x9b\x9d\xa1-\xac\xae-\xb6\xb8\xb9\xbb-\xbf]"
    rb"[A-Za-z\xc0-\xff]"
)
DOUBTFUL_SHARE = 0.2
ALPHABETS = (
    "Cyrillic (cp1251, koi8-r), Greek (cp1253), Hebrew (cp1255), Arabic (cp1256), Thai (cp874), "
    "Chinese (gb18030, big5) or Korean (cp949)"
)
LETTERS = "Central European (cp1250), Turkish (cp1254), Baltic (cp1257) or what old programs wrote (cp850, mac-roman)"


def encodings_of(start: bytes) -> tuple[str, ...]:
    """Return the encodings to try in order for a text that begins with these bytes."""
    marked = next((name for mark, name in MARKS if start.startswith(mark)), None)
    if marked:
        return (marked,)
    return ("utf-8", *(("cp932",) if _is_japanese(start) else ()), "cp1252", "latin-1")


def guess_of(name: str, encoding: str, sample: bytes) -> str | None:
    """Return a note on a guessed encoding, from a sample of the text; None where nothing was guessed.

    >>> guess_of("a.csv", "cp1252", "Müller".encode("cp1252")).partition(":")[0]
    'a.csv is not UTF-8; it was read as cp1252 (Western European)'
    """
    if encoding not in GUESSES:
        return None
    doubt = doubt_of(encoding, sample)
    said = f"{name} is not UTF-8; it was read as {encoding} ({GUESSES[encoding]})"
    return (
        f"{said}: {DECLARE}"
        if doubt is None
        else f"{said}, which looks wrong: {doubt}; declare it (--encoding, encoding=)"
    )


def doubt_of(encoding: str, sample: bytes) -> str | None:
    """Return why a sample is unlikely in the guessed encoding, and which encodings are likely.

    None if there is no doubt.

    >>> doubt_of("cp1252", "Иванов".encode("cp1251")).partition(",")[0]
    'whole words are of letters beyond ASCII'
    """
    if encoding not in GUESSES:
        return None
    if encoding == "cp932":
        return None if _double_bytes(sample)[0] else f"it may be {ALPHABETS}"
    words = [word for word in WORD.findall(sample) if not word.isascii()]
    foreign = sum(FOREIGN.fullmatch(word) is not None for word in words)
    if foreign > DOUBTFUL_SHARE * len(words):
        return f"whole words are of letters beyond ASCII, as in {ALPHABETS}"
    signs = sum(SIGN_INSIDE.search(word) is not None for word in words)
    if encoding == "latin-1" or signs > DOUBTFUL_SHARE * len(words):
        return f"signs are inside words, as in {LETTERS}"
    return None


def _is_japanese(start: bytes) -> bool:
    """Return whether bytes are text in Shift-JIS as Windows writes it (cp932), and not Latin letters.

    Latin letters with accents may decode as well, but to characters inside words of ASCII letters.
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
    usual, rare = _double_bytes(start)
    return signs > 0 and not private and inside <= LATIN_SHARE * signs and usual >= rare


def _double_bytes(start: bytes) -> tuple[int, int]:
    """Return how many two-byte characters are usual in Japanese, and how many are rare.

    Small Cyrillic letters, read in pairs, are rare characters.
    """
    text = codecs.getincrementaldecoder("cp932")(errors="replace").decode(start)
    leads = [code[0] for mark in set(text) if len(code := mark.encode("cp932", "replace")) == 2]
    return sum(lead < 0xA0 for lead in leads), sum(lead >= 0xE0 for lead in leads)
