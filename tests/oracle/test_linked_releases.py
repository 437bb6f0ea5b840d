"""Releases of several random small tables, as written, against an attacker who knows the originals."""

import os
import random
from fractions import Fraction

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InfeasibleError
from indistinct.linked.declared import ListColumn, TimeColumn, TimeRules
from references.linked_attacker import (
    ALL,
    FAR,
    Declared,
    Original,
    broken_by_definition,
    candidates,
    day,
    known_sets,
    number_of,
    published_people,
    read_files,
)

# Worlds of each of four runs; `INDISTINCT_RELEASES=100` draws four hundred.
RELEASES = int(os.environ.get("INDISTINCT_RELEASES", "8"))
CODES = [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"]]


def random_declaration(rng):
    tables = ["e", "f", "g"][: rng.randint(1, 3)]
    coded = {table: rng.random() < 0.85 for table in tables}
    timed = {table: rng.choice(["known", "known", "unknown", None]) for table in tables}
    knows = {t: rng.choice([0, 1, 1, 2, 2, 3, ALL]) for t in tables if coded[t] or timed[t] == "known"}
    if rng.random() < 0.6:
        knows["list"] = rng.choice([1, 2, ALL])
    total = sum(known for known in knows.values() if known != ALL)
    quasi = ["sex", "anchor", *(name for name in ("birth", "death") if rng.random() < 0.5)]
    return Declared(
        quasi,
        knows,
        rng.randint(min(1, total), min(3, total)),
        coded,
        timed,
        {table: rng.random() < 0.5 for table in tables},
        (0, rng.choice([29, 100, 400])),
        rng.choice(["days", "weeks", "months", "dates"]),
    )


def random_people(rng, declared):
    """Return people of whom half are alike in half of the worlds; rows lie between birth and death, and repeat."""
    alike, last = rng.random() < 0.5, declared.window[1]
    people = []
    for number in range(rng.randint(4, 14)):
        anchor = rng.choice([5, 10, 15]) if alike else rng.randint(0, last)
        columns = {"id": f"p{number}", "sex": "f" if alike else rng.choice(["f", "m", None]), "anchor": day(anchor)}
        columns["birth"] = rng.choice([None, day(-rng.randint(0, 400)), day(anchor // 2)])
        columns["death"] = rng.choice([None, None, day(rng.randint(anchor, last + 50))])
        low = max(0, number_of(columns["birth"], 0))
        high = min(last, number_of(columns["death"], FAR))
        rows = {table: [] for table in declared.coded}
        for own in rows.values():
            for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
                at = max(low, min(high, anchor + rng.choice([0, 1, 8]) if alike else rng.randint(low, high)))
                own.append((rng.choice(["a1", "a1", "a2", "b1", None]), day(at), rng.choice(["x", "y", "z", None])))
                if rng.random() < 0.3:
                    own.append(own[-1])
        rows["list"] = [rng.choice(["a1", "a2", "b1"]) for _ in range(rng.randint(0, 3))]
        people.append(Original(columns | {"value": rng.choice("wxyz")}, rows))
    if rng.random() < 0.6:
        for number in range(len(people) // 2):
            own, other = people[number], people[-1 - number]
            other.columns |= {name: own.columns[name] for name in ("sex", "anchor", "birth", "death")}
            other.rows = own.rows
    rng.shuffle(people)
    # A quasi-identifier without any value is refused.
    declared.quasi = [name for name in declared.quasi if any(p.columns[name] is not None for p in people)]
    return people


def tables_of(declared, people):
    kinds = {"anchor": pa.date32(), "birth": pa.date32(), "death": pa.date32()}
    names = ["id", *declared.quasi, "value"]
    columns = {name: pa.array([p.columns[name] for p in people], kinds.get(name, pa.string())) for name in names}
    if "list" in declared.knows:
        columns["list"] = pa.array(["|".join(p.rows["list"]) for p in people])
    tables = {"people": pa.table(columns)}
    for table, coded in declared.coded.items():
        rows = [(p.columns["id"], *row) for p in people for row in p.rows[table]]
        shown = {"id": True, "code": coded, "date": declared.timed[table], "value": declared.valued[table]}
        tables[table] = pa.table(
            {
                name: pa.array([row[i] for row in rows], pa.date32() if name == "date" else pa.string())
                for i, (name, wanted) in enumerate(shown.items())
                if wanted
            }
        )
    return tables


def publish(rng, declared, people, model, folder):
    """Publish the tables of a world by the product, with everything that a policy can choose drawn at random."""
    schemas = {"people": ind.Schema(person=["id"], quasi=declared.quasi, sensitive=["value"])}
    hierarchies = {"people": {}}
    if rng.random() < 0.5:
        dates = ind.Hierarchy.dates(["month", "year"])
        hierarchies["people"] = {name: dates for name in declared.quasi if name != "sex"}
    times = {}
    for table, coded in declared.coded.items():
        sensitive = ["value"] if declared.valued[table] else []
        schemas[table] = ind.Schema(person=["id"], quasi=["code"] if coded else [], sensitive=sensitive)
        if coded and rng.random() < 0.7:
            hierarchies[table] = {"code": ind.Hierarchy.from_rows(CODES)}
        if declared.timed[table]:
            times[table] = TimeColumn("date", rng.choice([None, (3, 9)]), declared.timed[table] == "unknown")
    windows = {table: (day(declared.window[0]), day(declared.window[1])) for table in times}
    codes = ind.Hierarchy.from_rows(CODES)
    return ind.anonymize_tables(
        tables_of(declared, people),
        schemas,
        people="people",
        knows={table: known for table, known in declared.knows.items() if table != "list"},
        model=model,
        hierarchies=hierarchies,
        time=TimeRules("anchor", windows, declared.unit) if times else None,
        times=times,
        tells={name: name for name in ("birth", "death") if name in declared.quasi},
        lists=[ListColumn("list", "|", declared.knows["list"], codes)] if "list" in declared.knows else [],
        knows_together=declared.together,
        suppression=rng.choice([0, 0.3, 0.6]),
        algorithm=rng.choice(["mondrian", "mondrian", "optimal", "datafly", "kaca"]),
        output=folder,
        engine=rng.choice(["memory", "duckdb"]),
    )


@pytest.fixture(autouse=True)
def small_runs(monkeypatch):
    """On disk every class is a run of its own."""
    monkeypatch.setattr("indistinct.linked.runs.BYTES_OF_ROW", 1 << 40)


@pytest.mark.parametrize("start", range(0, 4000, 1000))
def test_no_attacker_of_a_release_has_fewer_than_k_candidates(start, tmp_path):
    published = 0
    for seed in range(start, start + RELEASES):
        rng = random.Random(seed)  # noqa: S311 (worlds, not secrets)
        declared = random_declaration(rng)
        people = random_people(rng, declared)
        k, l = rng.choice([2, 2, 3]), rng.choice([None, None, 2, Fraction(3, 2)])
        folder = tmp_path / str(seed)
        model = f"linked-anonymity:k={k}" + ("" if l is None else f",l={l}")
        try:
            publish(rng, declared, people, model, folder)
        except InfeasibleError:
            assert not folder.exists()
            continue
        published += 1
        shown = published_people(declared, read_files(folder, ["people", *declared.coded]))
        assert broken_by_definition(declared, shown, k, l) == []
        exposed = 0
        for person in people:
            true = {table: person.rows[table] for table in declared.knows}
            exposed += any(len(candidates(declared, shown, person, each)) < k for each in known_sets(true, declared))
        # Attackers of people who were suppressed may have any number of candidates.
        assert exposed <= len(people) - len(shown), seed
    assert published > RELEASES // 2
