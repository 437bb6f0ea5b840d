"""What laws of engines run on each of them: requests, whole jobs, and how answers are compared."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines.duckdb import DuckDB
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import PERSON
from indistinct.machine.randomness import Secret
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.release.promise import promised_model
from indistinct.release.verification.check import Check
from indistinct.tables import Reading
from indistinct.testing.strategies import Sample
from references.publishing import Kept
from references.toy_engine import Toy


@dataclass(frozen=True)
class Compared:
    """An engine that must answer as memory does: how it is started, once, and on how many tables it is tried.

    `tables` are counted and published; each job of `JOBS` runs on `jobs` of them. What takes long to ask gets fewer.
    """

    start: Callable[[], Any]
    tables: int
    jobs: int


# Whoever adds an engine adds a line here, and every law of engines holds for it.
ENGINES = {
    "toy": Compared(cache(Toy), tables=60, jobs=25),
    "duckdb": Compared(cache(lambda: DuckDB(memory=1 << 28)), tables=15, jobs=4),
}

KEYS = (("disease",), ("key",), ("disease", "key"))
PEOPLE = ((PERSON,), (PERSON, "disease"))


def rows_of(table):
    return Counter(tuple(row.values()) for row in table.to_pylist())


# Taxonomies are those that were asked for, and each engine finds its rows again in its own way.
NOT_COMPARED = {"taxonomy", "row_index"}


def arrays_of(value):
    """Return everything that was counted as plain values."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, pa.Array):
        return value.to_pylist()
    if isinstance(value, dict):
        return {key: arrays_of(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [arrays_of(part) for part in value]
    names = getattr(value, "__dataclass_fields__", None)
    if names is None:
        return value
    return {name: arrays_of(getattr(value, name)) for name in names if name not in NOT_COMPARED}


JOBS = [
    ("mondrian", "k-anonymity:k=2 & t-closeness:sensitive=disease,t=0.7", True),
    ("mondrian:relaxed=true", "distinct-l-diversity:sensitive=disease,l=2", True),
    ("optimal", "k-anonymity:k=2", True),
    ("kaca:stub=true", "alpha-k:sensitive=disease,alpha=0.9,k=2", False),
    ("anatomy:l=2", None, False),
    ("anatomy:l=2,form=permuted", None, False),
    ("multiset:l=2", None, False),
    ("slicing:l=2", None, False),
    ("slicing:l=1,alpha=1,overlap=1", None, False),
    ("slicing:l=1,generalize=2,columns=whole", "k-anonymity:k=2", False),
    ("mondrian", "alpha-k:sensitive=disease,alpha=0.9,k=2", True),
    ("kaca", "k-anonymity:k=2", True),
    ("optimal", "subset-anonymity:k=2,size=2", True),
    ("cell-suppression", "subset-anonymity:k=2,size=1", False),
    ("cell-suppression:start=datafly", "k-anonymity:k=2", False),
]
STARRING = [job for job in JOBS if job[0].startswith("cell-suppression")]


def starred_sample():
    """Return a table of which every cell suppression stars cells: few rows stand out, by one column each."""
    a, b = ["x"] * 10 + ["y", "z"], ["m", "f"] * 5 + ["m", "f"]
    rows = range(len(a))
    table = pa.table({"name": [f"n{i}" for i in rows], "q0": a, "q1": b, "disease": ["flu"] * 12, "key": list(rows)})
    schema = ind.Schema(identifiers=["name"], quasi=["q0", "q1"], sensitive=["disease"], insensitive=["key"])
    return Sample(table, schema, {})


def require_stars_alike(memory, engine):
    """Assert that every cell suppression stars cells on an engine, and the same ones as in memory."""
    for algorithm, model, people in STARRING:
        runs = [run(each, starred_sample(), algorithm, model, people=people, seed=5) for each in (memory, engine)]
        first, second = ({name: rows_of(table) for name, table in made[1].items()} for made in runs)
        assert sum(count * row.count("*") for rows in second.values() for row, count in rows.items()) > 0
        assert first == second
        assert runs[0][2] == runs[1][2]


FORMS_BY_COLUMN = "age=mean|pay=bounds|day=interval+mean"


def require_forms_alike(memory, engine):
    """Assert that an engine publishes each column in its own form, as memory does."""
    dice, rows = np.random.default_rng(4), 90
    pay = [None if dice.random() < 0.1 else float(pay) / 4 for pay in dice.integers(-50, 900, rows)]
    days = np.datetime64("2020-01-01") + dice.integers(0, 300, rows)
    columns = {"age": dice.integers(18, 80, rows), "pay": pay, "day": days, "town": dice.choice(["Oslo", "Rome"], rows)}
    table = pa.table({**columns, "disease": dice.choice(["flu", "cold", "mumps"], rows)})
    sample = Sample(table, ind.Schema(quasi=list(columns), sensitive=["disease"]), {})
    for form in ("mondrian:", "mondrian:choose=loss,", "mdav:", "single-dimensional:"):
        algorithm = f'{form}numeric="{FORMS_BY_COLUMN}"'
        runs = [
            run(e, sample, algorithm, "k-anonymity:k=4", people=False, seed=5, trees=False) for e in (memory, engine)
        ]
        first, second = ({name: rows_of(table) for name, table in made[1].items()} for made in runs)
        names = runs[1][1][""].column_names
        assert names == ["age", "pay_min", "pay_max", "pay_missing", "day", "day_mean", "town", "disease"]
        assert first == second
        assert runs[0][2] == runs[1][2]
        assert runs[1][2].holds


def run(engine, sample, algorithm, model, *, people, seed, trees=True):
    """Count, search, publish and verify on one engine; with `trees` columns without a hierarchy have one top node."""
    search, schema = parse_algorithm(algorithm), sample.schema
    if people:
        schema = replace(schema, identifiers=(), person=schema.identifiers)
    wanted = promised_model(model, search, schema)
    source = engine.open(sample.table, Reading())
    known = (*schema.quasi, *schema.insensitive) if search.traits.buckets else schema.quasi
    keys = tuple((name,) for name in schema.sensitive) if search.traits.buckets else wanted.keys
    joint = search.traits.buckets or search.traits.splits
    others = engine.open(sample.table, Reading())
    hierarchies = {**({n: ind.Hierarchy.suppression() for n in schema.quasi} if trees else {}), **sample.hierarchies}
    request = Request(known, keys, hierarchies, joint=joint, person=schema.person, population=others)
    counted = engine.count(source, request)
    hidden = schema.sensitive if search.traits.buckets else ()
    sensitive = tuple(QuasiColumn(counted.known[name]) for name in hidden)
    columns = columns_of(counted.domains, hierarchies)
    # Stars stand in rows that would else be suppressed.
    budget = counted.frequencies.members // 2 if search.name == "cell-suppression" else 0
    problem = Problem(counted.frequencies, columns, wanted, budget, sensitive=sensitive, seed=seed)
    recoding = replace(search.find(problem), schema=schema)
    assignment = assign(counted.frequencies, recoding)
    sink = Kept()
    engine.publish(source, assignment, sink, secret=Secret(seed), row_index=counted.row_index)
    check = Check(engine, schema, wanted, assignment.layout.structure, counted, assignment)
    tables = {name: engine.open(table, Reading()) for name, table in sink.tables.items()}
    certificate = check.certify(tables)
    return recoding, sink.tables, certificate
