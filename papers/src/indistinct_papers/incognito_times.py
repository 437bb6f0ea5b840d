"""How long searches over the lattice take as columns are added: the curves of LeFevre, DeWitt, Ramakrishnan (2005).

The paper's minutes on the machines of its time cannot be had again; who is below whom can. The Lands End orders are not
public: a generated table has their columns and numbers of values, and fewer rows. A generated census is next to
both, so that there is a table with columns that depend on each other wherever this runs.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import pyarrow as pa

from indistinct.algorithms.base import Problem, Progress
from indistinct.algorithms.full_domain.bottom_up import BottomUp
from indistinct.algorithms.full_domain.incognito import Incognito
from indistinct.algorithms.full_domain.samarati import Samarati
from indistinct.drawing.charts import draw
from indistinct.drawing.lines import Scale, line_charts
from indistinct.engines import count_source
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted, Request
from indistinct.hierarchy import Hierarchy
from indistinct.models import KAnonymity
from indistinct.recoding.columns import columns_of
from indistinct.samples import (
    CENSUS_COLUMNS,
    LANDS_END_QUASI,
    census_hierarchies,
    generate_census,
    generate_lands_end,
    lands_end_hierarchies,
)
from indistinct_papers.adult import ADULT_COLUMNS, WHERE, adult_hierarchies, load_adult
from indistinct_papers.base import Cell, Claim, Reproduction, cpu_seconds

KS = (2, 10)
LANDS_END_ROWS, CENSUS_ROWS = 50_000, 45_222
# Searches that take less than this number of seconds are not compared: their times are mostly chance.
SHORTEST = 0.01
SEARCHES: Mapping[str, Callable[[Problem], object]] = {
    "binary search": lambda problem: Samarati(first=True).search(problem),
    "bottom-up without rollup": lambda problem: BottomUp(rollup=False).satisfying(problem),
    "bottom-up with rollup": lambda problem: BottomUp().satisfying(problem),
    "basic incognito": lambda problem: Incognito(variant="basic").satisfying(problem),
    "super-roots incognito": lambda problem: Incognito(variant="super-roots").satisfying(problem),
    "cube incognito": lambda problem: Incognito(variant="cube").satisfying(problem),
}
BASIC, SUPER_ROOTS, CUBE = "basic incognito", "super-roots incognito", "cube incognito"
BOTTOM_UP, BINARY = "bottom-up with rollup", "binary search"
MEASURES: Mapping[str, Scale] = {"cpu seconds": "log", "checks": "log", "scans": "log"}
SHORT_SOURCE, PLACE = "LeFevre et al. (2005)", "experiments, elapsed time by quasi-identifiers"
ROOTS_PLACE = f"Halwe and Verma, slide of optimization; {PLACE}"
CUBE_PLACE = f"Halwe and Verma, slide of pre-computation; {PLACE}"
HEADINGS = ("table", "k", "size", "cells", "search", "cpu seconds", "checks", "scans")
TITLE = "Searches over the lattice: time, checks and scans"
Data = tuple[str, pa.Table, tuple[str, ...], Mapping[str, Hierarchy]]


def reproduce_incognito_times(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Time every search for k = 2 and 10 on the first columns, by number, of each table."""
    rows, tables = list[tuple[Cell, ...]](), _tables()
    steps = [(data, size) for data in tables for size in sizes if size <= len(data[2])]
    for data in tables:
        _time_searches(data, min(sizes), KS[:1])  # so that no search is timed with the compilation of its kernels
    for place, (data, size) in enumerate(steps):
        rows += _time_searches(data, size, KS)
        progress((place + 1) / len(steps))
    without = [] if tables[0][0] == "adult" else [f"Adult is not at hand: {WHERE}"]
    names = "; ".join(f"{name}, {table.num_rows:,} rows" for name, table, _, _ in tables)
    return Reproduction(
        title=TITLE,
        source="K. LeFevre, D. DeWitt, R. Ramakrishnan (2005). Incognito: efficient full-domain k-anonymity. SIGMOD. "
        "Curves, no numbers.",
        data=f"{names}; size is the number of columns",
        headings=HEADINGS,
        rows=tuple(rows),
        findings=(*findings(rows), *without),
        facts={},
        claims=claims(rows),
        picture=partial(_picture, rows, names),
        differs=(
            "machines, and a search in memory where the paper asks a database: a scan here reads distinct vectors",
            "binary search stops at the first node of a height that satisfies the model, and finds one node, not all",
            f"Lands End is generated and has {LANDS_END_ROWS:,} rows, not 4,591,581; the census is ours",
            "times are CPU seconds; the paper's are of a database that reads a disk, and gains more by a scan that is "
            "spared",
        ),
    )


def _tables() -> list[Data]:
    orders = generate_lands_end(LANDS_END_ROWS, seed=1)
    census = generate_census(CENSUS_ROWS, seed=1)
    tables: list[Data] = [
        ("lands-end", orders, LANDS_END_QUASI, lands_end_hierarchies()),
        ("census", census, CENSUS_COLUMNS, census_hierarchies()),
    ]
    with suppress(InputError):  # where it is not at hand
        tables.insert(0, ("adult", load_adult(), ADULT_COLUMNS, adult_hierarchies()))
    return tables


def _time_searches(data: Data, size: int, ks: tuple[int, ...]) -> list[tuple[Cell, ...]]:
    name, table, columns, hierarchies = data
    chosen = {column: hierarchies[column] for column in columns[:size]}
    counted = count_source(table, Request(columns[:size], (), chosen))
    return [
        (name, k, size, len(counted.frequencies), search, *_measure_search(counted, chosen, search, k))
        for k in ks
        for search in SEARCHES
    ]


def _measure_search(counted: Counted, hierarchies: Mapping[str, Hierarchy], search: str, k: int) -> tuple[Cell, ...]:
    """Return the CPU seconds of a search, its checks and its scans."""
    columns = columns_of(counted.domains, hierarchies)

    def run() -> Problem:
        problem = Problem(counted.frequencies, columns, KAnonymity(k))
        SEARCHES[search](problem)
        return problem

    seconds, problem = cpu_seconds(run)
    return float(f"{seconds:.3g}"), problem.counters["checks"], problem.counters["scans"] or 1


def claims(rows: list[tuple[Cell, ...]]) -> tuple[Claim, ...]:
    """Return what the paper says of its curves: who checks fewer nodes, and who is faster."""
    compare = partial(_compare, rows)
    return (
        compare("Incognito checks fewer nodes than bottom-up search", "checks", BASIC, BOTTOM_UP),
        compare("Incognito is faster than bottom-up search", "cpu seconds", BASIC, BOTTOM_UP),
        compare(
            "Incognito is faster than binary search",
            *("cpu seconds", BASIC, BINARY),
            differs="binary search finds one node of the lowest height, Incognito every node that satisfies the model",
        ),
        compare("super-roots make Incognito faster", "cpu seconds", SUPER_ROOTS, BASIC, place=ROOTS_PLACE),
        compare(
            "frequency sets that are computed beforehand (cube) make it faster",
            *("cpu seconds", CUBE, BASIC),
            place=CUBE_PLACE,
        ),
        compare("super-roots scan the table less often", "scans", SUPER_ROOTS, BASIC, place=ROOTS_PLACE),
    )


IN_MEMORY = {
    "checks": "",
    "cpu seconds": "seconds are of searches in memory",
    "scans": "a scan reads cells in memory, and not the table of a database",
}
GENERATED = "Lands End is not public: the second table is generated, and so is a third"


def _compare(
    rows: list[tuple[Cell, ...]],
    text: str,
    measure: str,
    one: str,
    other: str,
    *,
    differs: str = "",
    place: str = PLACE,
) -> Claim:
    """Return a claim that one search is below another; the figures say on which table how often and by how much."""
    column, by_setting = HEADINGS.index(measure), dict[tuple[Cell, ...], dict[str, float]]()
    for row in rows:
        by_setting.setdefault((row[0], row[1], row[2]), {})[str(row[4])] = float(row[column] or 0)
    ratios = dict[str, list[float]]()
    for (name, _, _), own in by_setting.items():
        if measure != "cpu seconds" or max(own[one], own[other]) >= SHORTEST:
            ratios.setdefault(str(name), []).append(own[one] / own[other])
    figures = "; ".join(
        f"{name}: {min(several):.2f} to {max(several):.2f} of {other}, below in {_below(several)} of {len(several)} "
        f"settings, {several[-2]:.2f} and {several[-1]:.2f} with most columns"
        for name, several in ratios.items()
        if len(several) >= len(KS)
    )
    every = [ratio for several in ratios.values() for ratio in several]
    nothing = "these sizes leave only searches too short to compare"
    return Claim(
        text,
        SHORT_SOURCE,
        _below(every),
        len(every),
        figures or nothing,
        "; ".join(filter(None, (differs, IN_MEMORY[measure], GENERATED))),
        place=place,
        setting="Adult and Lands End, k = 2 and 10, a database on one machine of 2005",
        ours="Adult, generated orders and census, k = 2 and 10, in memory",
    )


def _below(ratios: list[float]) -> int:
    return sum(ratio < 1 for ratio in ratios)


def findings(rows: list[tuple[Cell, ...]]) -> list[str]:
    """Return the searches in the order of their times, at the most columns of each table."""
    found = []
    for name in dict.fromkeys(row[0] for row in rows):
        most = max(int(row[2] or 0) for row in rows if row[0] == name)
        for k in KS:
            mine = {str(row[4]): row for row in rows if (row[0], row[1], row[2]) == (name, k, most)}
            ranked = sorted(mine, key=lambda search: float(mine[search][5] or 0))
            found.append(f"{name}, {most} columns, k = {k}: fastest to slowest: {', '.join(ranked)}")
    return found


def _picture(rows: list[tuple[Cell, ...]], names: str) -> str:
    named = [{**dict(zip(HEADINGS, row, strict=True)), "table": f"{row[0]}, k = {row[1]}"} for row in rows]
    charts = line_charts(named, x=("size", "columns"), across="table", lines="search", measures=MEASURES)
    return draw(charts, title=TITLE, notes=[names])
