"""Row order against the source: whether published rows have the order of the original's rows.

Rows are matched by the columns that were published unmodified and, where the labels can be read, by their equivalence
class. Chance alone may decide the order of rows inside a class, and the order of classes unless the file is sorted by
what it shows. So the test shuffles rows and counts the orders that are as close to the original's. If none of 3,999
shuffles is, the file ranks first among 4,000 orders, which happens to a shuffled file once in 4,000. Four such tests
are made, so that at most one sound file in 1,000 is reported as leaking.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.errors import IndistinctError
from indistinct.evaluation.attack.attack import target_of
from indistinct.evaluation.attack.row_order import RowOrder, row_orders
from indistinct.exploration.scan.base import Finding, ScanCheck, ScannedFile, leak
from indistinct.exploration.scan.columns import codes_of
from indistinct.exploration.scan.compared import plain, published_as_is
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Array, Codes, Floats
from indistinct.release.verification.evidence import published_schema
from indistinct.schema import Schema

SHUFFLES_PER_TEST = 3_999
TESTS_PER_TABLE = 4
FALSE_ALARMS = TESTS_PER_TABLE / (SHUFFLES_PER_TEST + 1)
"""Upper limit of the share of shuffled files that are reported as leaking."""
# Upper limit of the rows that are tested: more rows do not improve the result.
MAX_ROWS_TESTED = 2_000
# With fewer rows nothing can be concluded.
MIN_ROWS_TESTED = 8
# A position after every row of the original.
AFTER_ALL_ROWS = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """Published rows in their order, matched with rows of the original.

    `kinds` number the distinct published rows, and `original` has the kind of each row of the original, -1 where it is
    unknown. In each of `classes` the order of rows must be random, and in each of `blocks` the order of kinds: no
    published column explains it. `by_class` says that kinds are separated by equivalence class.
    """

    classes: Codes
    blocks: Codes
    kinds: Codes
    original: Codes
    by_class: bool

    def take(self, rows: Codes) -> "_Matched":
        """Return some of the published rows."""
        return replace(self, classes=self.classes[rows], blocks=self.blocks[rows], kinds=self.kinds[rows])


def _order(subject: ScannedFile) -> Iterator[Finding]:
    """Report rows in the order of the original."""
    matched = _match_classes(subject) or _match_rows(subject)
    if matched is None or len(matched.kinds) < MIN_ROWS_TESTED:
        return
    kept = _find_kept_order(matched)
    if kept is None:
        return
    rows, where = kept
    yield leak(
        "rows",
        rows,
        f"rows {where} the order of the original, more than chance explains (a shuffled file does so at most "
        f"{FALSE_ALARMS:.1%} of the time): a reader who has the original's order knows which row is whose",
        "shuffle the rows, with random numbers of the operating system",
    )


def _find_kept_order(matched: _Matched) -> tuple[int, str] | None:
    """Return how many rows have the order of the original, and where; None where chance explains it."""
    everywhere = np.zeros_like(matched.classes)
    expected = _expected_places(matched)
    rows = np.flatnonzero(~np.isnan(expected))
    for groups, where in ((matched.blocks, "keep"), (matched.classes, "keep, inside their classes,")):
        apart = groups if matched.by_class else everywhere
        if _never_reached(_embedding(apart, matched), matched.kinds, groups):
            return len(matched.kinds), where if matched.by_class else "keep"
        if len(rows) >= MIN_ROWS_TESTED and _never_reached(_agreement(groups[rows]), expected[rows], groups[rows]):
            return len(rows), where
    return None


def _never_reached(statistic: Callable[[Array], float], cells: Codes | Floats, classes: Codes) -> bool:
    """Return whether no shuffle within the classes reaches the file's statistic; the first that does ends the test."""
    reached, chance = statistic(cells), np.random.default_rng(1)
    by_class = np.argsort(classes, kind="stable")
    for _ in range(SHUFFLES_PER_TEST):
        shuffled = np.empty_like(cells)
        # Sorted by class and then by a random number: only rows of one class change places.
        shuffled[by_class] = cells[np.lexsort((chance.random(len(cells)), classes))]
        if statistic(shuffled) >= reached:
            return False
    return True


def _embedding(groups: Codes, matched: _Matched) -> Callable[[Codes], float]:
    """Return a function that counts the rows of each group in the order of the original, or in its reverse."""
    positions, backwards = _places(matched), groups[::-1]

    def measure(kinds: Codes) -> float:
        return max(_count_embedded(kinds, groups, positions), _count_embedded(kinds[::-1], backwards, positions))

    return measure


def _count_embedded(kinds: Codes, groups: Codes, places: Mapping[int, Sequence[int]]) -> float:
    """Return how many rows follow the previous row in the original too, counted in each group up to the first miss.

    Each row takes the next row of its kind in the original.
    """
    last: dict[int, int] = {}
    count = 0
    for kind, group in zip(kinds.tolist(), groups.tolist(), strict=True):
        own = places[kind]
        index = bisect_left(own, last.get(group, -1) + 1)
        embedded = index < len(own)
        last[group] = own[index] if embedded else AFTER_ALL_ROWS
        count += embedded
    return count


def _agreement(groups: Codes) -> Callable[[Codes], float]:
    """Return a function that measures how far positions ascend or descend in groups.

    Their absolute covariance with row numbers.
    """
    numbers = np.arange(len(groups), dtype=np.float64)
    _, ids, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    centred = numbers - (np.bincount(ids, numbers) / sizes)[ids]

    def measure(places: Codes) -> float:
        return abs(float(centred @ places))

    return measure


def _places(matched: _Matched) -> dict[int, list[int]]:
    """Return the rows of the original of each published kind, ascending."""
    size = int(max(matched.original.max(initial=-1), matched.kinds.max(initial=-1))) + 1
    wanted = np.zeros(size + 1, dtype=bool)  # the last entry is for rows of no kind, -1
    wanted[matched.kinds] = True
    rows = np.flatnonzero(wanted[matched.original])
    kinds = matched.original[rows]
    order = rows[np.argsort(kinds, kind="stable")]
    present = np.unique(matched.kinds)
    low, high = (np.searchsorted(matched.original[order], present, side=side) for side in ("left", "right"))
    return {int(kind): order[a:b].tolist() for kind, a, b in zip(present, low, high, strict=True)}


def _expected_places(matched: _Matched) -> Floats:
    """Return the expected row in the original of each published row, NaN where it is unknown.

    By class, that is the mean row of its kind. Otherwise only kinds that occur once in both tables count: a kind that
    may occur in any class says too little about a single row.
    """
    means = RowOrder(matched.blocks, matched.kinds, matched.original).positions()
    if matched.by_class:
        return means
    known = matched.original[matched.original >= 0]
    size = int(max(known.max(initial=-1), matched.kinds.max(initial=-1))) + 1
    there, here = np.bincount(known, minlength=size), np.bincount(matched.kinds, minlength=size)
    return np.where((there == 1)[matched.kinds] & (here == 1)[matched.kinds], means, np.nan)


def _match_classes(subject: ScannedFile) -> _Matched | None:
    """Match published rows with the original by their class and unmodified columns; None where labels are unreadable.

    The attack `unsorted-matching` matches rows in the same way.
    """
    schema, original = subject.roles, subject.compared
    rows = min(subject.table.num_rows, MAX_ROWS_TESTED)
    if schema is None or original is None or not schema.quasi or not rows:
        return None
    same = {name: column.slice(0, rows) for name, (column, _) in published_as_is(subject).items()}
    texts = {
        name: same.get(name, plain(subject.table[name].slice(0, rows)))
        for name in subject.columns
        if subject.columns.count(name) == 1 and name in subject.expected_columns
    }
    if not set(schema.quasi) <= {*texts} & {*original.columns}:
        return None
    classes = _classes(subject, rows, same)
    order, blocks = _row_order(subject, schema, texts), classes
    if order is not None and _stand_apart(classes):
        blocks = order.blocks
    if order is None:
        readable = _readable_schema(subject, schema, texts)
        if readable is None:
            return None
        kept = {name: column for name, column in texts.items() if name in readable.columns}
        order = _row_order(subject, readable, kept)
    if order is None:
        return None
    matched = _Matched(classes, blocks, order.kinds, order.originals, by_class=True)
    return matched.take(np.flatnonzero(order.kinds >= 0))


def _row_order(subject: ScannedFile, schema: Schema, columns: Mapping[str, pa.ChunkedArray]) -> RowOrder | None:
    """Return the published rows with the equal rows of the original; None if no row can be matched."""
    hierarchies = {**subject.suggested_hierarchies, **subject.hierarchies}
    try:
        target = target_of(pa.table(dict(columns)), schema, original=subject.compared, hierarchies=hierarchies)
        order = next((order for what, order in row_orders(target) if what == "rows"), None)
    except IndistinctError:
        return None
    return None if order is None or not (order.originals >= 0).any() else order


def _readable_schema(subject: ScannedFile, schema: Schema, columns: Mapping[str, pa.ChunkedArray]) -> Schema | None:
    """Return the schema without the quasi-identifiers whose labels match no value of the original.

    None if all do not.

    A tool may write labels that follow no known hierarchy. Rows are then matched by the other columns.
    """
    readable = [
        name for name in schema.quasi if _row_order(subject, Schema(quasi=[name]), {name: columns[name]}) is not None
    ]
    others = (*schema.sensitive, *schema.insensitive)
    roles = {name: schema.role(name) for name in schema.columns if name in readable or name in others}
    return Schema.from_roles(roles) if readable else None


def _stand_apart(classes: Codes) -> bool:
    """Return whether rows of one class are not adjacent in the file."""
    runs = 1 + int((np.diff(classes) != 0).sum())
    return runs > len(np.unique(classes))


def _match_rows(subject: ScannedFile) -> _Matched | None:
    """Return published rows matched with the original by the unmodified columns alone."""
    same = published_as_is(subject)
    rows = min(subject.table.num_rows, MAX_ROWS_TESTED)
    if not same or not rows or subject.original is None:
        return None
    both = [
        codes_of(pa.chunked_array([*cells.slice(0, rows).chunks, *before.chunks])) for cells, before in same.values()
    ]
    vectors = group_rows(both, [int(codes.max()) + 1 for codes in both]).group_ids().astype(np.int64)
    # Vectors are numbered among those of the original; a row of bucketization matches none.
    known = np.zeros(int(vectors.max()) + 1, dtype=bool)
    known[vectors[rows:]] = True
    present, numbers = known[vectors[:rows]], np.cumsum(known) - 1
    cells, original = numbers[vectors[:rows][present]], numbers[vectors[rows:]]
    # In their own type, numbers of a text file are sorted as numbers.
    classes = _classes(subject, rows, {name: column for name, (column, _) in same.items()})[present]
    return _Matched(classes, classes, cells, original, by_class=False)


def _classes(subject: ScannedFile, rows: int, same: Mapping[str, pa.ChunkedArray]) -> Codes:
    """Number the groups of rows in which the order must be random.

    They publish equal quasi-identifiers, and equal values wherever the file is sorted or grouped by a column.
    """
    quasi = () if subject.schema is None else published_schema(subject.schema, subject.columns).quasi
    fixed = [index for index, name in enumerate(subject.columns) if name not in same or name in quasi]
    columns = {
        index: codes_of(same.get(name, subject.table.column(index)).slice(0, rows))
        for index, name in enumerate(subject.columns)
    }
    # Row numbers are no column of the original: they do not explain an order, they show it.
    known = subject.expected_columns
    columns = {
        index: codes for index, codes in columns.items() if subject.columns[index] in known or 2 * codes.max() <= rows
    }
    key: Codes = np.zeros(rows, dtype=np.int64)
    for index in fixed:
        if index in columns:
            key = _join_keys(key, columns.pop(index))
    grew = True
    while grew:
        grew = False
        for index, codes in list(columns.items()):
            if _explains(key, codes):
                key, grew = _join_keys(key, columns.pop(index)), True
    return key


def _explains(key: Codes, codes: Codes) -> bool:
    """Return whether rows of equal keys are sorted or grouped by a column."""
    order = np.argsort(key, kind="stable")
    keys, cells = key[order], codes[order]
    same, steps = keys[1:] == keys[:-1], np.diff(cells)
    if not same.any() or not (steps[same] != 0).any():
        return False  # the column adds nothing to the key, and explains nothing
    if (steps[same] >= 0).all() or (steps[same] <= 0).all():
        return True
    runs = 1 + int((~same | (steps != 0)).sum())
    distinct = len(np.unique(_join_keys(keys, cells)))
    return runs == distinct <= len(codes) / 2


def _join_keys(key: Codes, codes: Codes) -> Codes:
    _, ids = np.unique(key * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return ids.reshape(-1)


CHECKS = (ScanCheck("row-order", "whether rows stand as those of the original do", _order, ("table", "original")),)
