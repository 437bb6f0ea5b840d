"""Print how long we take against peers: `python -m benchmarks [--rows N] [name …]`."""

import argparse
from collections.abc import Callable, Iterator

from benchmarks.buckets import bucket_lines
from benchmarks.clustering import clustering_growth_lines, clustering_lines
from benchmarks.files import csv_lines, distinct_lines, optimal_csv_lines, parquet_lines
from benchmarks.lattice import incognito_lines, million_lines, optimal_lines
from benchmarks.partition import growth_lines, search_lines
from benchmarks.people import people_lines
from benchmarks.startup import startup_lines
from benchmarks.timing import Line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the large table")
    parser.add_argument("names", nargs="*", help="which measurements; all by default")
    chosen = parser.parse_args()
    cases: dict[str, Callable[[], Iterator[Line]]] = {
        "search": lambda: search_lines(chosen.rows),
        "parquet": lambda: parquet_lines(chosen.rows),
        "csv": lambda: csv_lines(chosen.rows),
        "optimal-csv": lambda: optimal_csv_lines(min(chosen.rows, 5_000_000)),
        "distinct": lambda: distinct_lines(chosen.rows),
        "growth": lambda: growth_lines(chosen.rows),
        "startup": startup_lines,
        "optimal": optimal_lines,
        "million": lambda: million_lines(min(chosen.rows, 1_000_000)),
        "incognito": incognito_lines,
        "clustering": clustering_lines,
        "clustering-growth": lambda: clustering_growth_lines(chosen.rows),
        "buckets": lambda: bucket_lines(chosen.rows),
        "people": lambda: people_lines(min(chosen.rows, 1_000_000)),
    }
    for name, lines in cases.items():
        if not chosen.names or name in chosen.names:
            for line in lines():
                print(line.text(), flush=True)


if __name__ == "__main__":
    main()
