"""The verifier of linked anonymity on arrays: counts the people of every group that an attacker can single out.

It shares no counting code with the search. A person with a label three times has the tokens (label, 1), (label, 2) and
(label, 3); a sub-multiset of a person's rows is then a set of tokens of different labels, whose weight is the sum of
the second numbers, and another person has the sub-multiset exactly if the person has these tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from indistinct.errors import ParameterError
from indistinct.linked.guarantee import ALL, MAX_ROWS_KNOWN, KnownRows, LinkedAnonymity
from indistinct.linked.view import LinkedView, PersonValues, number_rows
from indistinct.machine.arrays import Codes, Floats, run_entries, starts_of

MAX_GROUP_ENTRIES = 400_000_000
"""Upper limit of the sub-multisets in one class; they are listed class by class."""
ENTRIES_AT_ONCE = 8_000_000
"""Upper limit of the sub-multisets that are sorted at a time, in whole classes."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkedJudgement:
    """The smallest group of each person, and the largest share of one sensitive value in any of the person's groups.

    `smallest[p]` is the smallest |G(p, S)|, and `share[p]` the largest share of a sensitive value in such a group,
    0 where values were not asked for. `violations` counts pairs of a person and a sub-multiset whose group is too
    small, or shows a value too often.
    """

    smallest: Codes
    share: Floats
    violations: int
    too_frequent: int

    @property
    def k(self) -> int:
        """Return the number of people of the smallest group, 0 without people."""
        return int(self.smallest.min(initial=np.iinfo(np.int64).max)) if len(self.smallest) else 0

    @property
    def largest_share(self) -> float:
        """Return the largest share of a group that shows one sensitive value."""
        return float(self.share.max(initial=0.0))

    @property
    def holds(self) -> bool:
        """Whether no person and no sub-multiset violates the model."""
        return self.violations == 0 and self.too_frequent == 0

    def below(self, k: int) -> int:
        """Return how many people have a group of fewer than `k` people."""
        return int((self.smallest < k).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Tokens of people, sorted by class and person: `cell` numbers (class, token), `weight` and `table` are theirs."""

    person: Codes
    cell: Codes
    weight: Codes
    table: Codes
    item: Codes


def judge(view: LinkedView, knowledge: KnownRows, model: LinkedAnonymity) -> LinkedJudgement:
    """Return the smallest groups of all people, by the definition of linked anonymity.

    >>> from indistinct.linked.view import EventLabels
    >>> rows = EventLabels(np.array([0, 0, 1, 2, 2, 3, 3]), np.array([0, 0, 0, 0, 1, 0, 1]), 2)
    >>> view = LinkedView(np.zeros(4, dtype=np.int64), {"visits": rows})
    >>> [judge(view, KnownRows({"visits": known}), LinkedAnonymity(2)).k for known in (1, 2)]
    [2, 1]
    """
    parts = partition_by_whole_tables(view, knowledge)
    order = np.argsort(parts, kind="stable")
    renamed = np.empty(view.people, dtype=np.int64)
    renamed[order] = np.arange(view.people)
    counts = np.bincount(parts, minlength=int(parts.max(initial=-1)) + 1)
    ends = starts_of(counts)
    tokens = _tokens(view, knowledge, parts, renamed)
    values = _frequent_values(view.values, parts, renamed, model)
    smallest, share = np.empty(view.people, dtype=np.int64), np.zeros(view.people)
    violations = too_frequent = 0
    for first, last in _batches(tokens, values, ends, knowledge):
        part = _judge_people(first, last, ends, tokens, values, knowledge, model)
        smallest[order[first:last]], share[order[first:last]] = part.smallest, part.share
        violations, too_frequent = violations + part.violations, too_frequent + part.too_frequent
    return LinkedJudgement(smallest, share, violations, too_frequent)


def partition_by_whole_tables(view: LinkedView, knowledge: KnownRows) -> Codes:
    """Number each person's part: the class and, for tables known to an attacker completely, the multiset of labels."""
    columns = [view.classes]
    for name, rows in view.events.items():
        if knowledge.tables[name] == ALL:
            columns.append(multiset_numbers(rows.person, rows.label, view.people))
    return number_rows(columns, view.people)[0]


def multiset_numbers(person: Codes, label: Codes, people: int) -> Codes:
    """Return a number for the multiset of labels of each person, equal for equal multisets.

    >>> multiset_numbers(np.array([0, 0, 1, 2, 2]), np.array([3, 3, 3, 3, 3]), 4).tolist()
    [2, 1, 2, 0]
    """
    order = np.lexsort((label, person))
    labels, owners = label[order], person[order]
    lengths = np.bincount(owners, minlength=people)
    starts = starts_of(lengths)[:-1]
    numbers = np.zeros(people, dtype=np.int64)
    # One more label at a time: people with equal labels so far keep one number while their next labels are equal.
    for index in range(int(lengths.max(initial=0))):
        longer = lengths > index
        following = np.zeros(people, dtype=np.int64)
        following[longer] = labels[starts[longer] + index] + 1
        _, numbers = np.unique(numbers * (int(label.max()) + 2) + following, return_inverse=True)
    return numbers


def _tokens(view: LinkedView, knowledge: KnownRows, parts: Codes, renamed: Codes) -> Tokens:
    """Return the tokens of all tables with a number of known rows; people are renamed to be sorted by part."""
    gathered: list[tuple[Codes, ...]] = []
    first_item = 0
    for number, (name, rows) in enumerate(view.events.items()):
        known = knowledge.tables[name]
        most = 0 if known == ALL else min(int(known), knowledge.rows)
        if most and len(rows.person):
            width = rows.size
            pairs, counts = np.unique(renamed[rows.person] * width + rows.label, return_counts=True)
            counts = np.minimum(counts, most)
            at = np.repeat(np.arange(len(pairs)), counts)
            weight = run_entries(np.ones(len(pairs), dtype=np.int64), counts)
            item = first_item + pairs[at] % width
            gathered.append((pairs[at] // width, item, weight, np.full(len(at), number)))
        first_item += rows.size
    if not gathered:
        nothing = np.zeros(0, dtype=np.int64)
        return Tokens(nothing, nothing, nothing, nothing, nothing)
    person, item, weight, table = (np.concatenate(column) for column in zip(*gathered, strict=True))
    order = np.lexsort((weight, item, person))
    person, item, weight, table = person[order], item[order], weight[order], table[order]
    part_of = np.empty(view.people, dtype=np.int64)
    part_of[renamed] = parts
    words = (part_of[person] * (first_item + 1) + item) * (MAX_ROWS_KNOWN + 1) + weight
    cell = np.unique(words, return_inverse=True)[1]
    return Tokens(person, cell.astype(np.int64), weight, table, item)


def _frequent_values(values: PersonValues, parts: Codes, renamed: Codes, model: LinkedAnonymity) -> PersonValues:
    """Return the values that can be too frequent in a group of k people: those of more than k / l people of a part."""
    if model.ratio is None or not len(values.person):
        return PersonValues()
    up, down = model.ratio
    width = int(values.value.max()) + 1
    _, inverse, counts = np.unique(parts[values.person] * width + values.value, return_inverse=True, return_counts=True)
    kept = counts[inverse] * up > model.k * down
    person, value = renamed[values.person[kept]], values.value[kept]
    order = np.lexsort((value, person))
    return PersonValues(person[order], value[order])


def _batches(tokens: Tokens, values: PersonValues, ends: Codes, knowledge: KnownRows) -> Iterator[tuple[int, int]]:
    """Yield runs of people, whole parts each, whose sub-multisets are counted together."""
    people = int(ends[-1])
    if not people:
        return
    per_person = np.bincount(tokens.person, minlength=people)
    counts = np.bincount(values.person, minlength=people)
    cost = starts_of((1 + subset_bound(per_person, knowledge.rows)) * (1 + counts))[ends]
    bounds, begun = [0], 0
    for part, end in enumerate(ends[1:].tolist()):
        if cost[part + 1] - cost[part] > MAX_GROUP_ENTRIES:
            raise ParameterError(
                f"one class has {int(cost[part + 1] - cost[part]):,} combinations of known rows; at most "
                f"{MAX_GROUP_ENTRIES:,} are counted",
                hint="declare fewer known rows, or coarser codes",
            )
        if cost[part + 1] - begun > ENTRIES_AT_ONCE and bounds[-1] < ends[part]:
            bounds.append(int(ends[part]))
            begun = cost[part]
        if end == people:
            bounds.append(people)
    yield from pairwise(dict.fromkeys(bounds))


def subset_bound(tokens: Codes, rows: int) -> Codes:
    """Return the number of sets of at most `rows` tokens, for people with these numbers of tokens."""
    n = tokens.astype(np.int64)
    total = np.zeros_like(n)
    if rows >= 1:
        total += n
    if rows >= 2:
        total += n * (n - 1) // 2
    if rows >= 3:
        total += n * (n - 1) * (n - 2) // 6
    return total


def _judge_people(
    first: int,
    last: int,
    ends: Codes,
    tokens: Tokens,
    values: PersonValues,
    knowledge: KnownRows,
    model: LinkedAnonymity,
) -> LinkedJudgement:
    """Judge a run of people: list the groups of each, first the part itself, then sets of tokens by their number."""
    people = last - first
    smallest, share = np.full(people, np.iinfo(np.int64).max), np.zeros(people)
    lists = _Values.between(values, first, last)
    part = np.repeat(np.arange(len(ends) - 1), np.diff(ends))[first:last]
    violations = too_frequent = 0
    whole = _count_groups(part, np.arange(people), lists)
    low, high = np.searchsorted(tokens.person, [first, last])
    own = Tokens(
        tokens.person[low:high] - first,
        *(getattr(tokens, name)[low:high] for name in ("cell", "weight", "table", "item")),
    )
    for person, size, most in chain([whole], _token_groups(own, people, lists, knowledge)):
        np.minimum.at(smallest, person, size)
        np.maximum.at(share, person, most / size)
        violations += int((size < model.k).sum())
        if model.ratio is not None:
            up, down = model.ratio
            too_frequent += int((most * up > size * down).sum())
    return LinkedJudgement(smallest, share, violations, too_frequent)


def _token_groups(
    tokens: Tokens, people: int, lists: "_Values", knowledge: KnownRows
) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Yield the groups of one, two and three tokens whose weights the attacker can know."""
    limits = np.array(knowledge.limits(list(knowledge.tables)), dtype=np.int64)
    starts = starts_of(np.bincount(tokens.person, minlength=people))
    base = int(tokens.cell.min(initial=0))
    width = int(tokens.cell.max(initial=0)) - base + 1
    chosen: Codes = np.arange(len(tokens.person))[:, None]
    keys = tokens.cell - base
    for _ in range(knowledge.rows):
        if not len(chosen):
            return
        yield _count_groups(np.unique(keys, return_inverse=True)[1], tokens.person[chosen[:, 0]], lists)
        chosen, keys = _with_another_token(chosen, keys, tokens, starts, limits, knowledge.rows, base, width)


def _with_another_token(
    chosen: Codes, keys: Codes, tokens: Tokens, starts: Codes, limits: Codes, rows: int, base: int, width: int
) -> tuple[Codes, Codes]:
    """Return the sets extended by one token of the same person, of a later label, that the attacker can still know."""
    last = chosen[:, -1]
    after = starts[tokens.person[last] + 1] - last - 1
    before = np.repeat(np.arange(len(chosen)), after)
    following = run_entries(last + 1, after)
    sets = np.column_stack([chosen[before], following])
    weights, tables = tokens.weight[sets], tokens.table[sets]
    fits = (tokens.item[following] != tokens.item[last[before]]) & (weights.sum(axis=1) <= rows)
    for number, limit in enumerate(limits.tolist()):
        fits &= np.where(tables == number, weights, 0).sum(axis=1) <= limit
    _, dense = np.unique(keys, return_inverse=True)
    return sets[fits], dense[before[fits]] * width + tokens.cell[following[fits]] - base


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The sensitive values of people as compressed sparse rows; person p has `values[starts[p]:starts[p + 1]]`."""

    starts: Codes
    values: Codes

    @classmethod
    def between(cls, values: PersonValues, first: int, last: int) -> "_Values":
        """Return the sensitive values of a run of people."""
        low, high = np.searchsorted(values.person, [first, last])
        return cls(
            starts_of(np.bincount(values.person[low:high] - first, minlength=last - first)), values.value[low:high]
        )


def _count_groups(group: Codes, person: Codes, lists: _Values) -> tuple[Codes, Codes, Codes]:
    """Return (person, people of the group, people with its most frequent value) for each entry of a group."""
    group = group - int(group.min(initial=0))
    sizes = np.bincount(group)
    most = np.zeros(len(sizes), dtype=np.int64)
    if len(lists.values):
        counts = np.diff(lists.starts)[person]
        values = lists.values[run_entries(lists.starts[:-1][person], counts)]
        width = int(lists.values.max()) + 1
        pairs, times = np.unique(np.repeat(group, counts) * width + values, return_counts=True)
        np.maximum.at(most, pairs // width, times)
    return person, sizes[group], most[group]
