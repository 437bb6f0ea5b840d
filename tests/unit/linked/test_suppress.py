"""What the search suppresses is enough by the definition, and the worked cases of its choice."""

import numpy as np
import pytest

from indistinct.linked.guarantee import KnownRows, LinkedAnonymity
from indistinct.linked.suppress import LabelRows, suppressed_rows
from references.linked_worlds import World, judge_by_definition, random_knowledge, random_world, seeds


def rows_of(world, table):
    pairs = [(person, label) for person, rows in enumerate(world.rows) for label in rows[table]]
    return tuple(np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))


def delete(world, deleted):
    rows = []
    seen = dict.fromkeys(deleted, 0)
    for person in world.rows:
        own = {}
        for table, labels in person.items():
            gone = deleted[table][seen[table] : seen[table] + len(labels)]
            seen[table] += len(labels)
            own[table] = [label for label, dead in zip(labels, gone, strict=True) if not dead]
        rows.append(own)
    return rows


def is_for_whole_classes(world, deleted):
    kept, gone = set(), set()
    for table in deleted:
        person, label = rows_of(world, table)
        for p, x, dead in zip(person.tolist(), label.tolist(), deleted[table].tolist(), strict=True):
            (gone if dead else kept).add((world.classes[p], table, x))
    return not kept & gone


@pytest.mark.parametrize("start", range(0, 1500, 500))
def test_what_is_left_satisfies_the_definition(start):
    found = 0
    for rng in seeds(start, 500):
        world = random_world(rng)
        world.values = []
        knows, together = random_knowledge(rng, world)
        k = rng.randint(1, 3)
        if min(np.bincount(world.classes)[np.unique(world.classes)]) < k:
            continue
        tables = {table: LabelRows(*rows_of(world, table)) for table in knows}
        deleted = suppressed_rows(np.array(world.classes), tables, (), KnownRows(knows, together), LinkedAnonymity(k))
        assert deleted is not None
        assert is_for_whole_classes(world, deleted)
        left = World(world.classes, delete(world, deleted))
        assert judge_by_definition(left, knows, together, k, None)[1]
        found += 1
    assert found > 100


@pytest.mark.parametrize("start", range(0, 1500, 500))
def test_values_that_are_left_are_not_too_frequent(start):
    found = 0
    for rng in seeds(90_000 + start, 500):
        world = random_world(rng)
        knows, together = random_knowledge(rng, world)
        shown = {t: np.array([rng.randrange(3) for r in world.rows for _ in r[t]], dtype=np.int64) for t in knows}
        tables = {table: LabelRows(*rows_of(world, table), (shown[table],)) for table in knows}
        classes = np.array(world.classes)
        if min(np.bincount(classes)[np.unique(classes)]) < 2:
            continue
        deleted = suppressed_rows(classes, tables, (), KnownRows(knows, together), LinkedAnonymity(2, 2))
        assert deleted is not None
        values = [set() for _ in world.rows]
        for table in knows:
            person = rows_of(world, table)[0]
            for p, v, dead in zip(person.tolist(), shown[table].tolist(), deleted[table].tolist(), strict=True):
                if not dead:
                    values[p].add((table, v))
        left = World(world.classes, delete(world, deleted), values)
        assert judge_by_definition(left, knows, together, 2, 2)[1]
        found += 1
    assert found > 100


def one_class(*people):
    person = np.array([i for i, labels in enumerate(people) for _ in labels], dtype=np.int64)
    names = sorted({label for labels in people for label in labels})
    return LabelRows(person, np.array([names.index(x) for labels in people for x in labels], dtype=np.int64))


def test_a_label_that_not_all_show_goes_where_the_table_is_known_whole():
    rows = one_class("", "a", "a")
    deleted = suppressed_rows(np.zeros(3, dtype=np.int64), {"t": rows}, (), KnownRows({"t": "all"}), LinkedAnonymity(2))
    assert deleted["t"].all()


def test_one_of_two_labels_is_enough():
    rows = one_class("uv", "u", "u")
    deleted = suppressed_rows(np.zeros(3, dtype=np.int64), {"t": rows}, (), KnownRows({"t": 2}), LinkedAnonymity(2))
    assert deleted["t"].tolist() == [False, True, False, False]


def test_values_of_people_count_where_no_table_has_a_row():
    nothing = {"t": LabelRows(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))}
    model, known = LinkedAnonymity(2, 2), KnownRows({"t": 1})
    classes = np.zeros(4, dtype=np.int64)
    deleted = suppressed_rows(classes, nothing, (np.array([0, 1, 0, 1]),), known, model)
    assert deleted is not None
    assert not deleted["t"].size
    assert suppressed_rows(classes, nothing, (np.array([0, 0, 0, 1]),), known, model) is None
