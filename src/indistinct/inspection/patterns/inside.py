"""Names of people, telephone numbers, addresses, houses and national numbers inside texts of several words.

The patterns are those of whole cells. A text is parted into words, runs of digits and pairs of words; a pattern counts
where enough of these parts have its shape and pass its check. A colon parts words as well, as in tel:0170-1234567.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.inspection.patterns.base import MIN_SHARE_FOR_ROLE, Pattern, PatternShare, matching
from indistinct.inspection.patterns.general import ADDRESSES, NUMBERS
from indistinct.inspection.patterns.names import FREQUENT_SHARE, has_frequent_name, is_name_like
from indistinct.inspection.patterns.national import NATIONAL
from indistinct.schema import Role

FEWEST_WORDS = 2
"""Words from which a cell is a text with something inside."""
FEWEST_NAMES = 5
"""Distinct names from which titles and capitalised words are taken for names of people."""
TITLES = frozenset(
    ("dr", "frau", "fr", "herr", "herrn", "hr", "miss", "mlle", "mme", "mr", "mrs", "ms", "prof", "señor", "señora")
)
SHORTEST_IN_CAPITALS = 4
"""Letters of a title in capitals alone; shorter ones are abbreviations of other things, as MR."""
DIGIT_RUN = re.compile(r"[+(]?[0-9][0-9() ./-]{6,}[0-9]")
MARKS = ".,;:!?\"'()[]<>"
FEWEST_HOUSES, FEWEST_STREETS, HOUSE_SHARE = 5, 2, 0.5
"""Distinct addresses and streets from which houses are taken for those of people; share of a column of addresses."""
NAME = r"[A-ZÀ-ÖØ-Þ][^\W\d_]*"
NUMBER = r"[0-9]{1,4}(?: ?[a-zA-Z])?(?![\w.])"
# A street with its number: Hauptstraße 5, rue de la Paix 12 or 12 rue de la Paix, 12 Oak Street.
HOUSES = (
    r"(?i)\b([^\W\d_]{2,}[- ]?(?:stra(?:ß|ss)e|str\.|weg|gasse|allee|platz|damm|ufer|straat|laan|gatan|vägen|katu))"
    rf" {NUMBER}",
    rf"\b((?:[Vv]ia|[Vv]iale|[Pp]iazza|[Cc]alle|[Aa]venida|[Pp]laza|[Rr]ua|[Uu]l\.|[Uu]lica)"
    rf" (?:(?:d[aeiou]s?|del|della|la|las|los) )*{NAME}(?: {NAME}){{0,2}}),? {NUMBER}",
    rf"\b[0-9]{{1,4}},? ((?:bis |ter )?(?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Cc]hemin) (?:d[eu]s? |de la |de l')?{NAME})",
    rf"\b[0-9]{{1,5}}[a-zA-Z]? ({NAME}(?: {NAME}){{0,2}} (?:Street|STREET|St|ST|Road|ROAD|Rd|RD|Avenue|AVENUE|Ave|AVE"
    rf"|Lane|LANE|Ln|LN|Drive|DRIVE|Boulevard|BOULEVARD|Blvd|BLVD))(?!\w)",
)


def pattern_inside(texts: Sequence[str]) -> PatternShare | None:
    """Return the first pattern that points at people inside texts, None where there is none.

    >>> pattern_inside(["please write to anna@example.org", "no change since May"]).meaning
    'addresses of mail inside texts'
    """
    parted = {text: re.split(r"[\s:]+", text) for text in texts}
    parts = {text: several for text, several in parted.items() if len(several) >= FEWEST_WORDS}
    words = {text: [word.strip(MARKS) for word in several] for text, several in parts.items()}
    runs = {text: [run.strip(" ./-") for run in DIGIT_RUN.findall(text)] for text in parts}
    for pattern, pieces in (
        *((each, words) for each in ADDRESSES if each.partly),
        *((each, runs) for each in NUMBERS if each.name == "telephone"),
        *((each, words) for each in NATIONAL),
    ):
        if _holds(pattern, {piece for several in pieces.values() for piece in several}):
            own = [text for text, several in pieces.items() if _count(pattern, several)]
            return _inside(pattern.name, pattern.meaning, len(own) / len(texts), len(texts), pattern.safe_harbor)
    houses = houses_in(texts)
    if houses is not None:
        return houses
    names = _names_in(words)
    if len({name for several in names.values() for name in several}) < FEWEST_NAMES:
        return None
    return _inside("name", "names of people", len(names) / len(texts), len(texts), "A")


def _names_in(words: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the names in texts that have some: a title with a name, or a frequent given name with another name.

    Places and firms bear given names too. Texts of two words are names only where enough of those that look like names
    have a frequent one.
    """
    names_of_texts = {}
    alike, frequent = 0, 0
    for text, several in words.items():
        names = [" ".join(pair) for pair in pairwise(several) if _is_titled(*pair) or _is_full_name(*pair)]
        if len(several) == FEWEST_WORDS and not _is_titled(*several):
            names = [text] if is_name_like(text) and has_frequent_name(text) else []
            alike, frequent = alike + is_name_like(text), frequent + len(names)
        if names:
            names_of_texts[text] = names
    if frequent >= FREQUENT_SHARE * alike:
        return names_of_texts
    return {text: names for text, names in names_of_texts.items() if names != [text]}


def houses_in(texts: Sequence[str]) -> PatternShare | None:
    """Return the share of texts that hold the address of a house; None where too few do.

    >>> houses_in(["Hauptstraße 5", "Lindenweg 1", "Lindenweg 12 b", "Am Ufer", "Lindenweg 3", "Hauptstraße 1"]).meaning
    'addresses of houses'
    """
    matches = {text: match for text in texts for shape in HOUSES if (match := re.search(shape, text))}
    addresses = {match[0].lower() for match in matches.values()}
    if len(addresses) < FEWEST_HOUSES or len({match[1].lower() for match in matches.values()}) < FEWEST_STREETS:
        return None
    return PatternShare(
        "street-address",
        "addresses of houses",
        Role.IDENTIFIER,
        len(matches) / len(texts),
        len(texts),
        certain=False,
        safe_harbor="B",
        threshold=HOUSE_SHARE,
    )


def _inside(name: str, meaning: str, share: float, judged: int, letter: str | None) -> PatternShare:
    return PatternShare(
        name, f"{meaning} inside texts", Role.IDENTIFIER, share, judged, certain=False, safe_harbor=letter
    )


def _holds(pattern: Pattern, pieces: Iterable[str]) -> bool:
    """Return whether enough pieces have a pattern.

    Numbers pass a check digit by chance once in ten or so: most of the pieces with the shape must pass it.
    """
    known_pieces = pa.array(sorted(pieces), pa.string())
    shaped = (
        known_pieces.filter(pc.match_substring_regex(known_pieces, pattern.shape))
        if len(known_pieces)
        else known_pieces
    )
    passing = matching(shaped, pattern) if len(shaped) else 0
    return passing >= max(pattern.fewest, MIN_SHARE_FOR_ROLE * len(shaped) if pattern in NATIONAL else 1)


def _count(pattern: Pattern, pieces: Sequence[str]) -> int:
    return matching(pa.array(pieces, pa.string()), pattern) if pieces else 0


def _is_titled(first: str, second: str) -> bool:
    """Return whether two words are a title and a name.

    >>> _is_titled("Frau", "Weber"), _is_titled("Mrs", "Smith"), _is_titled("MR", "Angiography")
    (True, True, False)
    """
    written = first.istitle() or (first.isupper() and len(first) >= SHORTEST_IN_CAPITALS)
    return written and first.lower() in TITLES and is_name_like(second)


def _is_full_name(first: str, second: str) -> bool:
    """Return whether two words are a frequent given name and another name.

    >>> _is_full_name("Anna", "Smith"), _is_full_name("Lower", "Saxony"), _is_full_name("Anna", "called")
    (True, False, False)
    """
    return is_name_like(f"{first} {second}") and has_frequent_name(first)
