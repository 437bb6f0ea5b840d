"""A slow, simple judge of recodings into buckets: what a published table links, from its rows, in fractions.

It follows Xiao and Tao 2006 and Li, Li, Zhang and Molloy 2012 literally, uses no codes, cells or kernels, and reads a
release as any reader could: the content of a bucket, one slice after another.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
Slices = Sequence[Sequence[str]]
Bucket = Sequence[Rows]
"""For each slice its entries, in any order."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A table in buckets as a reader sees it; nothing says which entries of two slices belong together."""

    slices: Slices
    sensitive: Sequence[str]
    buckets: Sequence[Bucket]

    def agreeing(self, t: Row, bucket: Bucket, index: int) -> list[Row]:
        """Return the entries of a slice that agree with the known attributes of a tuple."""
        known = [name for name in self.slices[index] if name not in self.sensitive]
        return [entry for entry in bucket[index] if all(entry[name] == t[name] for name in known)]

    def weight(self, t: Row, bucket: Bucket) -> Fraction:
        """Return f(t, B), the share of rows that agree with a tuple on average; above 0 the bucket matches.

        It is the product over slices of the share of agreeing entries, each among those entries that agree with the
        tuple on what earlier slices have. This needs slices in an order in which one earlier slice has all of that.
        """
        weight, before = Fraction(1), set[str]()
        for names, entries in zip(self.slices, bucket, strict=True):
            known = [name for name in names if name not in self.sensitive]
            among = [e for e in entries if all(e[name] == t[name] for name in known if name in before)]
            agreeing = [e for e in among if all(e[name] == t[name] for name in known)]
            if not agreeing:
                return Fraction(0)
            weight, before = weight * Fraction(len(agreeing), len(among)), before | set(known)
        return weight

    def matches(self, t: Row) -> int:
        """Return the number of buckets that match a tuple."""
        return sum(self.weight(t, bucket) > 0 for bucket in self.buckets)

    def bucket_probabilities(self, t: Row) -> list[Fraction]:
        """Return p(t, B) for each bucket; zeros if none matches."""
        weights = [self.weight(t, bucket) for bucket in self.buckets]
        total = sum(weights, start=Fraction(0))
        return [weight / total if total else Fraction(0) for weight in weights]

    def distribution(self, t: Row, bucket: Bucket, name: str) -> dict[Any, Fraction]:
        """Return D(t, B): the share of each value of a sensitive attribute among the agreeing entries of its slice."""
        home = next(index for index, names in enumerate(self.slices) if name in names)
        entries = self.agreeing(t, bucket, home)
        return {s: Fraction(n, len(entries)) for s, n in Counter(entry[name] for entry in entries).items()}

    def probabilities(self, t: Row, name: str) -> dict[Any, Fraction]:
        """Return p(t, s) for every value s of a sensitive attribute that a tuple may have.

        >>> people = [{"sex": "F", "ill": "flu"}, {"sex": "M", "ill": "flu"}, {"sex": "M", "ill": "cold"}]
        >>> shown = in_buckets(people, [[0, 1, 2]], slices=[["sex"], ["ill"]], sensitive=["ill"])
        >>> shown.probabilities({"sex": "F"}, "ill")
        {'flu': Fraction(2, 3), 'cold': Fraction(1, 3)}
        """
        chances: dict[Any, Fraction] = {}
        for share, bucket in zip(self.bucket_probabilities(t), self.buckets, strict=True):
            if share:
                for s, part in self.distribution(t, bucket, name).items():
                    chances[s] = chances.get(s, Fraction(0)) + share * part
        return chances

    def strongest(self, tuples: Iterable[Row]) -> Fraction:
        """Return the largest p(t, s) over tuples, sensitive attributes and values; 0 if nothing is linked."""
        return max(
            (p for t in self.distinct(tuples) for name in self.sensitive for p in self.probabilities(t, name).values()),
            default=Fraction(0),
        )

    def is_diverse(self, tuples: Iterable[Row], l: int) -> bool:
        """Return whether p(t, s) is at most 1 / `l` for all tuples and values: every tuple against every bucket."""
        return self.strongest(tuples) * l <= 1

    def distinct(self, tuples: Iterable[Row]) -> list[dict[str, Any]]:
        """Return the known part of tuples, each once."""
        known = list(dict.fromkeys(name for names in self.slices for name in names if name not in self.sensitive))
        vectors = dict.fromkeys(tuple(t[name] for name in known) for t in tuples)
        return [dict(zip(known, vector, strict=True)) for vector in vectors]


def in_buckets(rows: Rows, buckets: Iterable[Iterable[int]], *, slices: Slices, sensitive: Sequence[str]) -> Shown:
    """Return the buckets of rows as a reader sees them, given the row numbers of each bucket."""
    published = []
    for bucket in buckets:
        inside = [rows[row] for row in bucket]
        published.append([[{name: row[name] for name in names} for row in inside] for names in slices])
    return Shown(slices, sensitive, published)


def read_sliced(
    table: Rows, *, slices: Slices, sensitive: Sequence[str], apart: Rows | None = None, bucket: str = "bucket"
) -> Shown:
    """Read a published table with a bucket column; `apart` has the sensitive values with counts, as in anatomy."""
    numbers = sorted({row[bucket] for row in table})
    buckets = []
    for number in numbers:
        here = [row for row in table if row[bucket] == number]
        beside = [row for row in apart or () if row[bucket] == number for _ in repeat(None, row["count"])]
        entries: list[list[Row]] = []
        for names in slices:
            source = beside if apart is not None and set(names) & set(sensitive) else here
            entries.append([{name: row[name] for name in names} for row in source])
        buckets.append(entries)
    return Shown(slices, sensitive, buckets)


def read_multisets(table: Rows, *, sensitive: Sequence[str]) -> Shown:
    """Read a published table of multisets such as `22:2,33:1`; values come as text, one attribute a slice."""
    known = [name for name in table[0] if name not in sensitive]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in table:
        groups.setdefault(tuple(row[name] for name in known), []).append(row)
    buckets = [
        [
            *([{name: value} for value in _members(text)] for name, text in zip(known, texts, strict=True)),
            *([{name: row[name]} for row in rows] for name in sensitive),
        ]
        for texts, rows in groups.items()
    ]
    return Shown([[name] for name in (*known, *sensitive)], sensitive, buckets)


def _members(text: str) -> list[str]:
    """Return the values of a published multiset, each as often as it occurs; quotes guard odd values."""
    parts, quoted = [""], False
    for letter in text:
        quoted ^= letter == '"'
        if letter == "," and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    values: list[str] = []
    for part in parts:
        value, _, count = part.rpartition(":")
        plain = value[1:-1].replace('""', '"') if value.startswith('"') else value
        values += [plain] * int(count)
    return values
