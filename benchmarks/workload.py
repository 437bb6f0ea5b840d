"""How far queries are off: releases that were cut for a workload against those of plain Mondrian, at equal k.

Queries ask for ranges and sets over one to three of eight columns; those that are held out come from the same draw.
"""

from collections.abc import Iterator

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line
from indistinct.errors import InputError
from indistinct_papers.adult import load_adult_arx

KS = (5, 10, 25, 50)
QUERIES, ATTRIBUTES = 400, 3
ROWS = 50_000
# What the release for the workload may have of plain Mondrian's error.
GIVEN, HELD_OUT = 0.5, 0.85


def workload_lines() -> Iterator[Line]:
    """The mean relative error on given and on held-out queries."""
    tables = {"census-like": (ind.open(census(ROWS)), QUASI)}
    try:
        adult = ind.open(load_adult_arx())
        tables["Adult"] = (adult, [name for name in adult.columns if name != "salary-class"])
    except InputError as error:
        print(f"Adult is left out: {error.message}", flush=True)
    for name, (table, quasi) in tables.items():
        others = [column for column in table.columns if column not in quasi]
        schema = ind.Schema(quasi=list(quasi), insensitive=others)
        given, held_out = (_drawn(table, schema, seed) for seed in (1, 2))
        everything = ind.Workload.generate(table, schema, queries=QUERIES, attributes=len(quasi), seed=3)
        for k in KS:
            plain, driven = (_errors(table, schema, k, each, (given, held_out)) for each in (None, given))
            for which, goal, theirs, ours in zip(("given", "held out"), (GIVEN, HELD_OUT), plain, driven, strict=True):
                yield Line(
                    f"{name}, k = {k}: error of queries {which}, in %", 100 * ours, "mondrian", 100 * theirs, goal
                )

        plain, driven = (_errors(table, schema, 10, each, (everything,)) for each in (None, everything))
        yield Line(f"{name}, k = 10: queries over all columns, in %", 100 * driven[0], "mondrian", 100 * plain[0], None)


def _drawn(table: ind.Table, schema: ind.Schema, seed: int) -> ind.Workload:
    """Return queries of which each third has one, two or three conditions."""
    share = QUERIES // ATTRIBUTES
    counts = [QUERIES - share * (ATTRIBUTES - 1), *[share] * (ATTRIBUTES - 1)]
    drawn = [
        ind.Workload.generate(table, schema, queries=count, attributes=conditions, seed=10 * seed + conditions)
        for conditions, count in enumerate(counts, start=1)
    ]
    return ind.Workload.of([query for each in drawn for query in each.queries])


def _errors(
    table: ind.Table, schema: ind.Schema, k: int, workload: ind.Workload | None, asked: tuple[ind.Workload, ...]
) -> list[float]:
    algorithm = ind.Mondrian(workload=workload)
    release = ind.anonymize(table, schema, model=ind.KAnonymity(k), algorithm=algorithm)
    return [ind.workload_error(release, table, each).relative for each in asked]
