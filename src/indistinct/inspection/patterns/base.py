"""What a pattern is, and in which share of a column's distinct values it holds; a role follows from both.

A pattern never reveals a value: only how many values have its shape and pass its check.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.as_json import AsJson
from indistinct.schema import Role

MIN_SHARE_FOR_ROLE = 0.9
"""Share of the distinct values in which a pattern must hold to suggest a role."""
# Patterns that hardly occur by chance are reported from this share on: some cells point at people.
MIN_SHARE_REPORTED = 0.05
# Of more distinct values an even sample is judged, and only a part of it if that part shows nothing.
MAX_TEXTS_JUDGED, TEXTS_JUDGED_FIRST = 5_000, 200


@dataclass(frozen=True, slots=True)
class Pattern:
    """A shape of texts, and a check of those that have it.

    `role` is what a column of them suggests and `safe_harbor` the letter of the HIPAA list. At least `fewest` distinct
    values must have it. `digits` means that whole numbers may be such texts too, `certain` that hardly anything else
    has this shape, and `partly` that it is reported even if few values have it.
    """

    name: str
    meaning: str
    role: Role
    shape: str
    check: Callable[[str], bool] | None = None
    safe_harbor: str | None = None
    fewest: int = 1
    digits: bool = False
    certain: bool = True
    partly: bool = False


@dataclass(frozen=True, slots=True)
class PatternShare(AsJson):
    """A pattern of a column, and the share of the judged distinct values that have it."""

    in_json: ClassVar[str] = "name meaning share judged threshold holds certain safe_harbor"
    name: str
    meaning: str
    role: Role
    share: float
    judged: int
    certain: bool = True
    safe_harbor: str | None = None
    threshold: float = MIN_SHARE_FOR_ROLE

    @property
    def holds(self) -> bool:
        """Return whether enough values have it to suggest a role."""
        return self.share >= self.threshold


def sample_of_texts(texts: pa.Array) -> pa.Array:
    """Return the distinct texts that are judged, without spaces around them: of very many an even sample."""
    step = 1 + (len(texts) - 1) // MAX_TEXTS_JUDGED if len(texts) else 1
    some = texts.take(pa.array(range(0, len(texts), step), pa.int64())) if step > 1 else texts
    some = pc.utf8_trim_whitespace(pc.drop_null(some))
    return some.filter(pc.not_equal(some, ""))


def matching(texts: pa.Array, pattern: Pattern) -> int:
    """Return how many texts have a pattern."""
    some = texts.filter(pc.match_substring_regex(texts, pattern.shape))
    if pattern.check is None or not len(some):
        return len(some)
    return sum(map(pattern.check, some.to_pylist()))


def shares_of(texts: pa.Array, patterns: Sequence[Pattern]) -> list[PatternShare]:
    """Return the patterns that enough of the distinct texts have, or some where that says much.

    >>> from indistinct.inspection.patterns.registry import PATTERNS
    >>> [found.name for found in shares_of(pa.array(["a@example.org", "b@example.org"]), PATTERNS)]
    ['e-mail']
    """
    shares = []
    for pattern in patterns:
        least = MIN_SHARE_REPORTED if pattern.partly else MIN_SHARE_FOR_ROLE
        first = texts.slice(0, TEXTS_JUDGED_FIRST)
        if len(texts) < pattern.fewest or matching(first, pattern) < least / 2 * len(first):
            continue
        count = matching(texts, pattern) if len(texts) > TEXTS_JUDGED_FIRST else matching(first, pattern)
        if count >= max(least * len(texts), pattern.fewest):
            known = (pattern.name, pattern.meaning, pattern.role)
            share = PatternShare(*known, count / len(texts), len(texts), pattern.certain, pattern.safe_harbor)
            shares.append(share)
    return shares
