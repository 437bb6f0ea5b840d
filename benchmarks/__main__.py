"""Print how long we take against peers: `python -m benchmarks [--rows N] [name …]`, or `… growth-all [algorithm …]`."""

import argparse
from collections.abc import Callable, Iterator

from benchmarks.buckets import bucket_lines
from benchmarks.clustering import clustering_growth_lines, clustering_lines
from benchmarks.engines import engine_lines
from benchmarks.files import csv_lines, distinct_lines, optimal_csv_lines, parquet_lines
from benchmarks.growth import growth_cases
from benchmarks.lattice import closeness_lines, incognito_lines, million_lines, optimal_lines
from benchmarks.levels import large_level_lines, level_lines
from benchmarks.loss import loss_growth_lines, loss_lines
from benchmarks.optimum import optimum_lines
from benchmarks.partition import growth_lines, search_lines
from benchmarks.partition_cliffs import partition_cliff_lines
from benchmarks.people import people_lines
from benchmarks.postgres import postgres_lines
from benchmarks.releases_over_time import over_time_lines
from benchmarks.risks import risk_lines, uniqueness_lines
from benchmarks.scoreboards import scoreboard_lines
from benchmarks.spark import spark_lines
from benchmarks.startup import startup_lines
from benchmarks.timing import Line
from benchmarks.unique_sets import unique_set_lines
from benchmarks.verbs import verb_lines
from benchmarks.workload import workload_lines

# What `make bench engines` prints; those that are measured at all are.
OF_ENGINES = ("engines", "levels", "postgres", "spark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the large table")
    parser.add_argument("names", nargs="*", help="which measurements; all by default")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for each case of growth-all")
    chosen = parser.parse_args()
    if chosen.names[:1] == ["growth-all"]:  # hours: never a part of the others
        for case in growth_cases(chosen.names[1:], limit=chosen.limit):
            print(case.text(), flush=True)
        return
    cases: dict[str, Callable[[], Iterator[Line]]] = {
        "search": lambda: search_lines(chosen.rows),
        "parquet": lambda: parquet_lines(chosen.rows),
        "csv": lambda: csv_lines(chosen.rows),
        "optimal-csv": lambda: optimal_csv_lines(min(chosen.rows, 5_000_000)),
        "distinct": lambda: distinct_lines(chosen.rows),
        "engines": lambda: engine_lines(chosen.rows),
        "levels": lambda: level_lines(min(chosen.rows, 5_000_000)),
        "postgres": lambda: postgres_lines(min(chosen.rows, 1_000_000)),
        "spark": lambda: spark_lines(chosen.rows),
        "growth": lambda: growth_lines(chosen.rows),
        "startup": startup_lines,
        "optimal": optimal_lines,
        "closeness": closeness_lines,
        "million": lambda: million_lines(min(chosen.rows, 1_000_000)),
        "incognito": incognito_lines,
        "clustering": clustering_lines,
        "clustering-growth": lambda: clustering_growth_lines(chosen.rows),
        "loss": loss_lines,
        "loss-growth": lambda: loss_growth_lines(min(chosen.rows, 1_000_000)),
        "buckets": lambda: bucket_lines(chosen.rows),
        "optimum": optimum_lines,
        "partition-cliffs": lambda: partition_cliff_lines(min(chosen.rows, 1_000_000)),
        "people": lambda: people_lines(min(chosen.rows, 1_000_000)),
        "verbs": lambda: verb_lines(chosen.rows),
        "risks": lambda: risk_lines(min(chosen.rows, 1_000_000)),
        "workload": workload_lines,
        "scoreboards": scoreboard_lines,
        "unique-sets": lambda: unique_set_lines(min(chosen.rows, 1_000_000)),
    }
    if "levels-large" in chosen.names:  # a quarter of an hour and ten gigabytes of disk: only by its name
        cases["levels-large"] = lambda: large_level_lines(chosen.rows)
    wanted = {*chosen.names, *(OF_ENGINES if "engines" in chosen.names else ())}
    if not wanted or "uniqueness" in wanted:
        for text in uniqueness_lines():
            print(text, flush=True)
    if "releases-over-time" in wanted:  # no time is measured: only by its name
        for text in over_time_lines():
            print(text, flush=True)
    for name, lines in cases.items():
        if not wanted or name in wanted:
            for line in lines():
                print(line.text(), flush=True)


if __name__ == "__main__":
    main()
