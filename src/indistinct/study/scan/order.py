"""Row order against the source: whether published rows stand as those of the original do.

Rows are matched by the columns that were published as they are. Nothing but chance may decide how the rows of a class
stand to each other, so that every order inside the classes must be equally likely: the test shuffles rows there and
asks how often an order comes out that looks as much like the original. If it never does in 1,999 shuffles, the rank of
the file among 2,000 orders is the first, which happens to a shuffled file once in 2,000. Two such tests are made, so
that at most one sound file in 1,000 is called leaking.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indistinct.frequencies.encode import Grouping, group_rows
from indistinct.machine.arrays import Codes
from indistinct.release.verification.evidence import published_schema
from indistinct.study.scan.base import Check, Finding, Subject, leak
from indistinct.study.scan.columns import codes_of
from indistinct.study.scan.compared import published_as_is

SHUFFLES = 1_999
FALSE_ALARMS = 2 / (SHUFFLES + 1)
"""At most this share of shuffled files is called leaking."""
# Rows that are looked at: those of longer files tell no more.
MOST_ROWS = 2_000
# Of fewer rows nothing can be said.
FEWEST_ROWS = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """Published rows in their order: the class of each, its vector, and where vectors stand in the original."""

    classes: Codes
    vectors: Codes
    original: Codes


def _order(subject: Subject) -> Iterator[Finding]:
    matched = _match_rows(subject)
    if matched is None or len(matched.vectors) < FEWEST_ROWS:
        return
    places = _places(matched)
    single = _single_places(matched)
    sequence = _never_reached(lambda vectors: _count_embedded(vectors, places), matched.vectors, matched.classes)
    known = np.flatnonzero(single[matched.vectors] >= 0)
    classes, ranks = matched.classes[known], single[matched.vectors[known]]
    inside = len(known) >= FEWEST_ROWS and _never_reached(_agreement(classes), ranks, classes)
    if not (sequence or inside):
        return
    what = "one after the other in" if sequence else "inside their classes, in the order of"
    yield leak(
        "rows",
        len(matched.vectors if sequence else known),
        f"rows stand {what} the original, more than chance explains (a shuffled file looks so at most "
        f"{FALSE_ALARMS:.1%} of the time): whoever has the original's order knows which row is whose",
        "shuffle the rows, with random numbers of the operating system",
    )


def _never_reached(statistic: Callable[[Codes], float], cells: Codes, classes: Codes) -> bool:
    """Return whether no shuffle inside the classes reaches what the file has; the first that does ends it."""
    reached, chance = statistic(cells), np.random.default_rng(1)
    by_class = np.argsort(classes, kind="stable")
    for _ in range(SHUFFLES):
        shuffled = np.empty_like(cells)
        # Sorted by class and then by a random number: the rows of a class change places among each other.
        shuffled[by_class] = cells[np.lexsort((chance.random(len(cells)), classes))]
        if statistic(shuffled) >= reached:
            return False
    return True


def _count_embedded(vectors: Codes, places: Grouping) -> float:
    """Return how many rows are found one after the other in the original, each behind the one before."""
    order, last = memoryview(places.order.data), -1
    for number, vector in enumerate(vectors.tolist()):
        end = int(places.starts[vector + 1])
        index = bisect_left(order, last + 1, int(places.starts[vector]), end)
        if index == end:
            return number
        last = order[index]
    return len(vectors)


def _agreement(classes: Codes) -> Callable[[Codes], float]:
    """Return what measures how far places rise or fall inside the classes: the covariance of ranks, in size."""
    numbers = np.arange(len(classes), dtype=np.float64)
    _, ids, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    centred = numbers - (np.bincount(ids, numbers) / sizes)[ids]

    def measure(places: Codes) -> float:
        ranks = np.empty(len(places))
        order = np.lexsort((places, ids))
        ranks[order] = numbers
        return abs(float(centred @ ranks))

    return measure


def _places(matched: _Matched) -> Grouping:
    """Return the rows of the original behind each vector, ascending."""
    return group_rows([matched.original], [int(matched.original.max(initial=-1)) + 1])


def _single_places(matched: _Matched) -> Codes:
    """Return where a vector stands in the original, -1 where it is there or in the file more than once."""
    counts = np.bincount(matched.original)
    shown = np.bincount(matched.vectors, minlength=len(counts))
    places = np.zeros(len(counts), dtype=np.int64)
    places[matched.original] = np.arange(len(matched.original))
    places[(counts != 1) | (shown != 1)] = -1
    return places


def _match_rows(subject: Subject) -> _Matched | None:
    """Return published rows that occur in the original by the columns that were published as they are."""
    same = published_as_is(subject)
    rows = min(subject.table.num_rows, MOST_ROWS)
    if not same or not rows or subject.original is None:
        return None
    both = [
        codes_of(pa.chunked_array([*shown.slice(0, rows).chunks, *before.chunks])) for shown, before in same.values()
    ]
    vectors = group_rows(both, [int(codes.max()) + 1 for codes in both]).group_ids().astype(np.int64)
    # Vectors are numbered among those of the original; a row of broken links has none.
    known = np.zeros(int(vectors.max()) + 1, dtype=bool)
    known[vectors[rows:]] = True
    present, numbers = known[vectors[:rows]], np.cumsum(known) - 1
    shown, original = numbers[vectors[:rows][present]], numbers[vectors[rows:]]
    # In their own type, numbers of a text file are sorted as numbers.
    classes = _classes(subject, rows, {name: column for name, (column, _) in same.items()})[present]
    return _Matched(classes, shown, original)


def _classes(subject: Subject, rows: int, same: Mapping[str, pa.ChunkedArray]) -> Codes:
    """Return groups of rows inside which nothing but chance may decide the order.

    They publish equal quasi-identifiers, and equal values wherever the file is sorted or grouped by a column.
    """
    quasi = () if subject.schema is None else published_schema(subject.schema, subject.columns).quasi
    fixed = [place for place, name in enumerate(subject.columns) if name not in same or name in quasi]
    columns = {
        place: codes_of(same.get(name, subject.table.column(place)).slice(0, rows))
        for place, name in enumerate(subject.columns)
    }
    # Numbers of rows, which are no column of the original, explain no order: they are its trace.
    known = subject.expected_columns
    columns = {
        place: codes for place, codes in columns.items() if subject.columns[place] in known or 2 * codes.max() <= rows
    }
    key: Codes = np.zeros(rows, dtype=np.int64)
    for place in fixed:
        if place in columns:
            key = _join_keys(key, columns.pop(place))
    grew = True
    while grew:
        grew = False
        for place, codes in list(columns.items()):
            if _explains(key, codes):
                key, grew = _join_keys(key, columns.pop(place)), True
    return key


def _explains(key: Codes, codes: Codes) -> bool:
    """Return whether rows of equal keys are sorted by a column, or stand together by its values."""
    order = np.argsort(key, kind="stable")
    keys, cells = key[order], codes[order]
    same, steps = keys[1:] == keys[:-1], np.diff(cells)
    if not same.any() or not (steps[same] != 0).any():
        return False  # the column says no more than the key, and explains nothing
    if (steps[same] >= 0).all() or (steps[same] <= 0).all():
        return True
    runs = 1 + int((~same | (steps != 0)).sum())
    distinct = len(np.unique(_join_keys(keys, cells)))
    return runs == distinct <= len(codes) / 2


def _join_keys(key: Codes, codes: Codes) -> Codes:
    _, ids = np.unique(key * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return ids.reshape(-1)


CHECKS = (Check("row-order", "whether rows stand as those of the original do", _order, ("table", "original")),)
