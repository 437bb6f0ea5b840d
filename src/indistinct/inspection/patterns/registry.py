"""Every pattern of texts, the surer ones first, and what a column's distinct values show of them; roles follow."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.inspection.patterns.base import (
    MAX_TEXTS_JUDGED,
    MIN_SHARE_FOR_ROLE,
    Pattern,
    PatternShare,
    sample_of_texts,
    shares_of,
)
from indistinct.inspection.patterns.general import ADDRESSES, KNOWN, MEDICAL, NUMBERS
from indistinct.inspection.patterns.inside import pattern_inside
from indistinct.inspection.patterns.names import names_share
from indistinct.inspection.patterns.national import NATIONAL
from indistinct.machine.arrays import Codes
from indistinct.schema import Role

PATTERNS: tuple[Pattern, ...] = (*ADDRESSES, *NATIONAL, *NUMBERS, *KNOWN, *MEDICAL)
FREE_TEXT = "free text, which may contain names"
# Distinct texts, also as a share of the rows, that are no categories; words and letters of one; share that is long.
MANY, MANY_SHARE, WORDS, LETTERS, LONG_SHARE = 20, 0.05, 3, 15, 0.5
# A house number follows or precedes its street; fewest streets, also as a share of the addresses.
HOUSE_BEHIND = re.compile(r"^(\D{4,}?)[ ,]+[0-9]{1,4} ?[A-Za-z]?$")
HOUSE_IN_FRONT = re.compile(r"^[0-9]{1,5}[A-Za-z]?,? (\D{4,})$")
STREETS, STREET_SHARE = 10, 0.3
# Codes of three marks alone may be anything: some have a part behind a point.
MIN_SHARE_WITH_POINT = 0.1


def patterns_of_texts(texts: pa.Array, counts: Codes, *, rows: int) -> tuple[PatternShare, ...]:
    """Return the patterns that distinct texts of a column show, those that suggest a role first.

    `counts` are the rows of each text.

    >>> found = patterns_of_texts(pa.array(["DE89 3704 0044 0532 0130 00"]), np.ones(1), rows=1)
    >>> [(one.name, one.share, one.safe_harbor) for one in found]
    [('iban', 1.0, 'J')]
    """
    judged = sample_of_texts(texts)
    patterns = [each for each in shares_of(judged, PATTERNS) if each.name != "icd-10" or _is_medical(judged, each)]
    if not any(each.holds for each in patterns):
        patterns += _by_distribution(texts, counts, rows=rows)
    order = sorted(patterns, key=lambda each: (not each.holds, not each.certain))
    return tuple({each.name: each for each in reversed(order)}[name] for name in dict.fromkeys(e.name for e in order))


def patterns_of_digits(values: pa.Array) -> tuple[PatternShare, ...]:
    """Return the patterns that distinct whole numbers show once they have the digits that reading took from them."""
    texts = sample_of_texts(values.cast(pa.string()))
    if not len(texts) or pc.any(pc.starts_with(texts, "-")).as_py():
        return ()
    longest = pc.max(pc.utf8_length(texts)).as_py()
    padded = pc.utf8_lpad(texts, longest, padding="0")
    return tuple(shares_of(padded, [each for each in PATTERNS if each.digits]))


def count_respelled(texts: pa.Array) -> int:
    """Return how many distinct texts differ from others only by case or by spaces around them."""
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(pc.drop_null(texts)))
    return len(plain) - pc.count_distinct(plain).as_py()


def _is_medical(texts: pa.Array, share: PatternShare) -> bool:
    """Return whether codes of diagnoses have points where they are taken for such."""
    pointed = pc.mean(pc.match_substring(texts, ".").cast(pa.int8())).as_py()
    return not share.certain or pointed >= MIN_SHARE_WITH_POINT


def _by_distribution(texts: pa.Array, counts: Codes, *, rows: int) -> list[PatternShare]:
    """Return patterns of all texts together: personal names, addresses, free text, or identifiers inside texts."""
    positions = np.arange(0, len(texts), 1 + len(texts) // MAX_TEXTS_JUDGED)
    some, weights = texts.take(pa.array(positions)).to_pylist(), counts[positions].tolist()
    kept = [(text.strip(), weight) for text, weight in zip(some, weights, strict=True) if text and text.strip()]
    if not kept:
        return []
    chosen, rows_of = zip(*kept, strict=True)
    named = names_share(chosen, rows_of, rows=rows)
    if named is not None:
        return [named]
    houses = _houses(chosen)
    if houses is not None:
        return [houses]
    long = sum(len(text.split()) >= WORDS and len(text) >= LETTERS for text in chosen) / len(chosen)
    if len(texts) < max(MANY, MANY_SHARE * rows) or long <= LONG_SHARE:
        inside = pattern_inside(chosen)
        return [] if inside is None else [inside]
    return [
        PatternShare("free-text", FREE_TEXT, Role.IDENTIFIER, long, len(chosen), safe_harbor="R", threshold=LONG_SHARE)
    ]


def _houses(texts: Sequence[str]) -> PatternShare | None:
    """Return the share of texts that look like street addresses; None if the evidence is weak."""
    parts = [(HOUSE_BEHIND.match(text) or HOUSE_IN_FRONT.match(text)) for text in texts]
    streets = {part[1].strip().lower() for part in parts if part}
    share = sum(part is not None for part in parts) / len(texts)
    if share < MIN_SHARE_FOR_ROLE or len(streets) < max(STREETS, STREET_SHARE * len(texts)):
        return None
    return PatternShare(
        "street-address", "addresses of houses", Role.IDENTIFIER, share, len(texts), certain=False, safe_harbor="B"
    )
