"""What pseudonyms link: the rows of a person in several classes, which makes people distinct by their set of classes.

An attacker who knows all rows of a person looks for the pseudonyms with as many rows in each of these classes. So every
class is parted by the multisets of classes of its people, as if these were one more quasi-identifier, and a model
judges the parts. Where numbers of rows are declared not to be known, sets take the place of multisets. It knows no
recoding and no engine: it is counted on the published table alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.frequencies.count import Counted
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import FrequencySet
from indistinct.machine.arrays import Codes, starts_of
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """What pseudonyms of a release link.

    `problem` says why they link what cannot be judged. `people` have a pseudonym, `several` of them have several linked
    rows, and `shared` has, for each of them, how many people share the classes of their rows. `counted` has classes
    divided by these, if a person has several rows.
    """

    problem: str | None = None
    people: int = 0
    several: int = 0
    shared: Codes | None = None
    counted: Counted | None = None

    @property
    def smallest(self) -> int:
        """Return the smallest number of people who share a set of classes, 0 where no rows are linked."""
        return 0 if self.shared is None or not len(self.shared) else int(self.shared.min())

    def below(self, k: int) -> int:
        """Return how many people have a set of classes that fewer than `k` share."""
        return 0 if self.shared is None else int((self.shared < k).sum())


def linked_rows(
    counted: Counted,
    quasi: Sequence[str],
    pseudonyms: Sequence[str],
    *,
    schema: Schema,
    rows_unknown: bool = False,
) -> Linked:
    """Return how pseudonyms link the rows of a release, counted by quasi-identifiers and pseudonyms together.

    A pseudonym in one row only links nothing. Where all columns that tell people apart are published as
    pseudonyms, any other may link rows of one person, which are linked already. Anything else has a `problem`. With
    `rows_unknown` people share sets of classes, else also the number of rows in each.
    """
    cells = counted.frequencies
    codes = {name: cells.vectors[:, cells.names.index(name)] for name in pseudonyms}
    with_persons = bool(schema.person) and set(schema.person) <= set(pseudonyms)
    persons = _numbers([codes[name] for name in schema.person]) if with_persons else None
    for name in pseudonyms:
        if not (with_persons and name in schema.person):
            problem = _problem(name, codes[name], cells.counts, persons, missing=counted.known[name].missing)
            if problem is not None:
                return Linked(problem)
    if persons is None:
        return Linked()
    classes = _numbers([cells.vectors[:, cells.names.index(name)] for name in quasi])
    indptr, members = class_sets(persons, classes, int(classes.max(initial=-1)) + 1)
    linking = np.diff(indptr) > 1
    if not rows_unknown:
        rows = _rows_in_classes(persons, classes, cells.counts)
        members = members * (int(rows.max(initial=0)) + 1) + rows
        linking |= np.bincount(persons, weights=cells.counts, minlength=len(linking)) > 1
    sets = set_numbers(indptr, members)
    several, shared = int(linking.sum()), np.bincount(sets)[sets]
    if not several:
        return Linked(None, len(sets), 0, shared)
    parts = _numbers([classes, sets[persons]])
    size = int(parts.max()) + 1
    parted = cells.classes.regroup(parts.astype(np.int32), size)
    frequencies = FrequencySet((), np.zeros((size, 0), dtype=np.int32), parted)
    return Linked(None, len(sets), several, shared, replace(counted, frequencies=frequencies))


def _rows_in_classes(persons: Codes, classes: Codes, counts: Codes) -> Codes:
    """Return the rows of each person in each of the person's classes, in the order of `class_sets`.

    >>> _rows_in_classes(np.array([0, 1, 0, 0]), np.array([2, 0, 1, 2]), np.array([1, 4, 1, 2])).tolist()
    [1, 3, 4]
    """
    words = persons.astype(np.int64) * (int(classes.max(initial=0)) + 1) + classes
    _, inverse = np.unique(words, return_inverse=True)
    return np.bincount(inverse, weights=counts).astype(np.int64)


def _problem(name: str, codes: Codes, counts: Codes, persons: Codes | None, *, missing: bool) -> str | None:
    """Return why a column links rows that cannot be judged, None if it does not."""
    rows = np.bincount(codes, weights=counts)
    if not (rows[int(missing) :] > 1).any():
        return None
    if persons is None:
        return (
            f"the pseudonyms of {name!r} link rows, and nothing tells whose: give the columns that tell people apart "
            "the role person, and publish them as pseudonyms too"
        )
    pairs = group_rows([codes, persons], [int(codes.max()) + 1, int(persons.max()) + 1]).first
    if (np.bincount(codes[pairs])[int(missing) :] > 1).any():
        return f"the pseudonyms of {name!r} link rows of different people: leave them out"
    return None


def _numbers(columns: Sequence[Codes]) -> Codes:
    """Return a number for every vector of codes."""
    return group_rows(list(columns), [int(column.max(initial=0)) + 1 for column in columns]).group_ids()


def class_sets(persons: Codes, classes: Codes, size: int) -> tuple[Codes, Codes]:
    """Return the distinct classes of each person, ascending, as compressed sparse rows.

    >>> class_sets(np.array([0, 1, 0, 0]), np.array([2, 0, 1, 2]), 3)
    (array([0, 2, 3]), array([1, 2, 0]))
    """
    people = int(persons.max(initial=-1)) + 1
    first = group_rows([persons, classes], [max(people, 1), max(size, 1)]).first
    return starts_of(np.bincount(persons[first], minlength=people)), classes[first]


def set_numbers(indptr: Codes, members: Codes) -> Codes:
    """Return a number for each list of compressed sparse rows, equal for equal lists.

    >>> set_numbers(np.array([0, 2, 3, 5]), np.array([1, 2, 0, 1, 2])).tolist()
    [4, 1, 4]
    """
    lengths, width = np.diff(indptr), int(members.max(initial=0)) + 1
    # The empty list is 0, and a list of one member is known by it: few people are in several classes.
    numbers, known = np.zeros(len(lengths), dtype=np.int64), 1 + width
    alone = np.flatnonzero(lengths == 1)
    numbers[alone] = 1 + members[indptr[alone]]
    for length in np.unique(lengths[lengths > 1]).tolist():
        rows = np.flatnonzero(lengths == length)
        grouping = group_rows([members[indptr[rows] + index] for index in range(length)], [width] * length)
        numbers[rows] = known + grouping.group_ids()
        known += len(grouping)
    return numbers
