"""Texts that point at a person whatever their column is called: addresses of mail, numbers of phones, free text."""

import pyarrow as pa
import pyarrow.compute as pc

FREE_TEXT = "free text, which may tell names"
MAIL = r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$"
# At least nine digits: with a country or area in front, or in three groups and more.
PHONE = r"^(?:\+|\(|00?[0-9]|[0-9]+[-. /][0-9]+[-. /])[0-9() ./-]*$"
DATE = r"^(?:[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2,4})(?:$|[ T])"
PHONE_DIGITS, ZERO_DIGITS, LONGEST_PHONE = 9, 10, 15
# Share of the distinct texts that must have a shape; distinct texts, also as a share of the rows, that are no
# categories; words and letters of one.
MOSTLY, MANY, MANY_SHARE, WORDS, LETTERS = 0.9, 20, 0.05, 3, 15


def identifying_shape(texts: pa.Array, *, rows: int) -> str | None:
    """Return why the distinct texts of a column with so many rows point at people, None if they do not.

    >>> identifying_shape(pa.array(["a@example.org", "b@example.org"]), rows=2)
    'addresses of mail'
    """
    texts = pc.drop_null(texts)
    texts = texts.filter(pc.not_equal(texts, ""))
    if not len(texts):
        return None
    if _share(pc.match_substring_regex(texts, MAIL)) >= MOSTLY:
        return "addresses of mail"
    if _share(_phones(texts)) >= MOSTLY:
        return "numbers of phones"
    words = pc.add(pc.count_substring_regex(pc.utf8_trim_whitespace(texts), r"\s+"), 1)
    long = pc.and_(pc.greater_equal(words, WORDS), pc.greater_equal(pc.utf8_length(texts), LETTERS))
    if len(texts) >= max(MANY, MANY_SHARE * rows) and 2 * _share(long) > 1:
        return FREE_TEXT
    return None


def folded(texts: pa.Array) -> int:
    """Return how many distinct texts differ from others only by case or by spaces around them."""
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(pc.drop_null(texts)))
    return len(plain) - pc.count_distinct(plain).as_py()


def _phones(texts: pa.Array) -> pa.Array:
    digits = pc.count_substring_regex(texts, "[0-9]")
    marked = pc.match_substring_regex(texts, r"^[+(]|^[0-9]+[-. /][0-9]+[-. /]")
    # A postcode such as 02104-6743 begins with 0 as well, but has fewer digits.
    fewest = pc.if_else(marked, PHONE_DIGITS, ZERO_DIGITS)
    parted = pc.match_substring_regex(texts, "^[+]|[0-9)][-. /()]+[0-9]")
    shaped = pc.and_(pc.match_substring_regex(texts, PHONE), pc.invert(pc.match_substring_regex(texts, DATE)))
    length = pc.and_(pc.greater_equal(digits, fewest), pc.less_equal(digits, LONGEST_PHONE))
    return pc.and_(pc.and_(shaped, parted), length)


def _share(judged: pa.Array) -> float:
    return float(pc.mean(judged.cast(pa.int8())).as_py())
