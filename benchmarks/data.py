"""The generated tables that are measured on, made once and kept beside the benchmarks."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indistinct.samples import CENSUS_QUASI, generate_census

FOLDER = Path(__file__).parent / "data"
QUASI = list(CENSUS_QUASI)
CONSTANT = "constant"


def census(rows: int) -> Path:
    """Return the path of a census-like table of so many rows."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"census-{rows}.parquet"
    if not path.exists():
        pq.write_table(generate_census(rows, seed=1), path)
    return path


def constant(rows: int) -> Path:
    """Return the path of a table of which all rows are one class."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{CONSTANT}-{rows}.parquet"
    if not path.exists():
        random = np.random.default_rng(1)
        with pq.ParquetWriter(path, pa.schema([(CONSTANT, pa.string()), ("number", pa.float64())])) as writer:
            for start in range(0, rows, 1 << 20):
                size = min(1 << 20, rows - start)
                writer.write_table(pa.table({CONSTANT: ["x"] * size, "number": random.random(size)}))
    return path
