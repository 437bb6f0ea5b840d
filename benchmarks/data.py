"""The generated tables that are measured on, made once and kept beside the benchmarks."""

from pathlib import Path

import pyarrow.parquet as pq

from indistinct.datasets import CENSUS_QUASI, generate_census

FOLDER = Path(__file__).parent / "data"
QUASI = list(CENSUS_QUASI)


def census(rows: int) -> Path:
    """Return the path of a census-like table of so many rows."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"census-{rows}.parquet"
    if not path.exists():
        pq.write_table(generate_census(rows, seed=1), path)
    return path
