"""Small invented worlds of several tables, the definition of linked anonymity by brute force, and an attacker.

Nothing here imports the product: the definition goes by counters and combinations, and the attacker knows originals
and looks at a release.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations, product

ALL = "all"
OPEN = 1 << 40


@dataclass
class World:
    """People with the number of their class, the labels of their rows by table, and the sensitive values they show."""

    classes: list
    rows: list  # person -> table -> list of labels
    values: list = field(default_factory=list)  # person -> set of (column, value)


def sub_multisets(rows, knows, together):
    """Return every multiset of a person's (table, label) pairs that an attacker can know, as sorted tuples."""
    pairs = [(table, label) for table, labels in rows.items() if knows[table] != ALL for label in labels]
    sets = {()}
    for size in range(1, together + 1):
        for chosen in combinations(sorted(pairs), size):
            counts = Counter(table for table, _ in chosen)
            if all(count <= knows[table] for table, count in counts.items()):
                sets.add(chosen)
    return sets


def group_of(world, person, chosen, knows):
    """Return the people of G(p, S)."""
    need = Counter(chosen)
    group = []
    for other, rows in enumerate(world.rows):
        have = Counter((table, label) for table, labels in rows.items() for label in labels)
        whole = all(
            Counter(rows[table]) == Counter(world.rows[person][table]) for table, known in knows.items() if known == ALL
        )
        if world.classes[other] == world.classes[person] and whole and not need - have:
            group.append(other)
    return group


def judge_by_definition(world, knows, together, k, l):
    """Return the smallest group of each person, and whether every group has k people and shows no value too often."""
    smallest, holds = [], True
    for person, rows in enumerate(world.rows):
        sizes = []
        for chosen in sub_multisets(rows, knows, together):
            group = group_of(world, person, chosen, knows)
            sizes.append(len(group))
            shown = Counter(value for other in group for value in (world.values[other] if world.values else ()))
            holds &= len(group) >= k and (l is None or all(count * l <= len(group) for count in shown.values()))
        smallest.append(min(sizes))
    return smallest, holds


def random_world(rng, tables=("a", "b", "c")):
    """Return a world of labels alone: at most eight people, at most five events each, in one to three tables."""
    people, used = rng.randint(1, 8), tables[: rng.randint(1, 3)]
    rows = []
    for _ in range(people):
        own = {table: [] for table in used}
        for _ in range(rng.randint(0, 5)):
            own[rng.choice(used)].append(rng.randrange(rng.randint(1, 3)))
        rows.append(own)
    if rng.random() < 0.5 and people > 1:  # people who are alike, so that more worlds are safe
        for person in range(people // 2):
            rows[people - 1 - person] = {table: list(labels) for table, labels in rows[person].items()}
    values = [{(0, rng.randrange(4)) for _ in range(rng.randint(0, 2))} for _ in range(people)]
    return World([rng.randrange(rng.randint(1, 2)) for _ in range(people)], rows, values)


def random_knowledge(rng, world):
    """Return how many rows are known of each table, and together."""
    knows = {table: rng.choice([0, 1, 1, 2, 2, 3, ALL]) for table in world.rows[0]}
    total = sum(known for known in knows.values() if known != ALL)
    return knows, rng.randint(min(1, total), min(3, total))


# A world with originals: true values, what is published of them, and an attacker who knows the former.


@dataclass
class Person:
    """True values: a quasi-identifier, anchor, birth and death in days; of each table the (code, day) of every row."""

    quasi: int
    anchor: int
    birth: int
    death: int
    events: dict


@dataclass
class Shown:
    """What is published of a person: ranges of the true values, and of each table the (codes, low, high) of rows."""

    quasi: tuple
    anchor: tuple
    birth: tuple
    death: tuple
    events: dict

    @property
    def labels(self):
        return (self.quasi, self.anchor, self.birth, self.death)


def covers(label, value):
    return label[0] <= value <= label[1]


def label_of_row(row, anchor, labels, *, dated):
    """Return the published label of a class that covers a true row, None where none does: it is suppressed."""
    code, day = row
    for codes, low, high in sorted(labels, key=str):
        if code in codes and (not dated or low <= day - anchor <= high):
            return (codes, low, high) if dated else (codes,)
    return None


def candidates(release, person, known, whole, *, dated, windows):
    """Return the published people who can be a person of whom some rows, and some tables entirely, are known."""
    found = []
    for index, shown in enumerate(release):
        if not all(map(covers, shown.labels, (person.quasi, person.anchor, person.birth, person.death))):
            continue
        fellows = [each for each in release if each.labels == shown.labels]
        possible = all(
            max(windows[table][0], person.birth) - person.anchor <= high
            and low <= min(windows[table][1], person.death) - person.anchor
            for table, rows in shown.events.items()
            for _, low, high in rows
        )
        if possible and all(
            _has_rows(shown, fellows, table, rows, person.anchor, exact=table in whole, dated=dated[table])
            for table, rows in (known | whole).items()
        ):
            found.append(index)
    return found


def _has_rows(shown, fellows, table, rows, anchor, *, exact, dated):
    labels = {label for fellow in fellows for label in fellow.events[table]}
    published = Counter(label if dated else label[:1] for label in shown.events[table])
    wanted = Counter(filter(None, (label_of_row(row, anchor, labels, dated=dated) for row in rows)))
    return wanted == published if exact else not wanted - published


def attacks_of(person, knows, together):
    """Yield every choice of rows that an attacker can know of a person, by table; tables known whole come second."""
    whole = {table: rows for table, rows in person.events.items() if knows[table] == ALL}
    counted = [table for table in person.events if knows[table] != ALL]
    choices = [
        [chosen for size in range(min(knows[table], len(person.events[table])) + 1)
         for chosen in combinations(person.events[table], size)]
        for table in counted
    ]  # fmt: skip
    for chosen in product(*choices):
        if sum(map(len, chosen)) <= together:
            yield dict(zip(counted, map(list, chosen), strict=True)), whole


def random_original(rng, window=(0, 29)):
    """Return people with true values, and their tables."""
    used, people = ("a", "b", "c")[: rng.randint(1, 2)], []
    for _ in range(rng.randint(2, 8)):
        anchor = rng.randint(*rng.choice([window, (8, 20), (18, 29)]))
        birth, death = rng.choice([(-20, OPEN), (0, 29), (anchor, OPEN), (-20, anchor + 5)])
        birth, death = min(birth, anchor), max(death, anchor)
        days = [day for day in range(window[0], window[1] + 1) if birth <= day <= death]
        events = {
            table: [(rng.choice("pqr"[: rng.randint(1, 3)]), rng.choice(days)) for _ in range(rng.randint(0, 3))]
            for table in used
        }
        people.append(Person(rng.randint(0, 3), anchor, birth, death, events))
    if rng.random() < 0.7:
        half = len(people) // 2
        for index in range(half):
            people[-1 - index] = people[index]
    return people


def seeds(start, count):
    """Yield random generators that are the same in every run."""
    for seed in range(start, start + count):
        yield random.Random(seed)  # noqa: S311 (worlds, not secrets)
