"""What laws of searches by passes share: models, tables of measurements, and an engine that holds little."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from indistinct.engines.duckdb import DuckDB

NOWHERE = {"output_digest": None, "recoding_digest": None}
MODELS = [
    "k-anonymity:k={k}",
    "k-anonymity:k={k} & distinct-l-diversity:sensitive=disease,l=2",
    "t-closeness:sensitive=disease,t=0.4",
]


def by_passes(room, monkeypatch):
    """Let the engine duckdb hold no more than some rows of a part at once."""
    monkeypatch.setattr("indistinct.engines.duckdb.DuckDB", lambda *_: DuckDB(room=room))


@st.composite
def measurements(draw):
    """Return tables of numbers and dates, with repeated and missing values, on several scales."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows, columns = draw(st.integers(20, 400)), draw(st.integers(2, 4))
    made = {}
    for index in range(columns):
        kind = draw(st.sampled_from(["normal", "skewed", "few", "whole", "days", "small", "moments"]))
        values = {
            "normal": rng.normal(size=rows),
            "skewed": np.exp(5 * rng.normal(size=rows)) * rng.choice([-1, 1], rows),
            "few": rng.choice([-0.0, 0.0, 1e-300, -2.5, 7.0, 1e9], rows),
            "whole": rng.integers(-(2**62), 2**62, rows),
            "small": rng.integers(0, 9, rows).astype(np.uint64),
            "days": rng.integers(0, 30_000, rows).astype("datetime64[D]"),
            "moments": rng.integers(0, 10**15, rows).astype("datetime64[us]"),
        }[kind]
        missing = rng.random(rows) < draw(st.sampled_from([0.0, 0.2, 0.7]))
        missing[0] = False
        made[f"q{index}"] = pa.array(values, mask=missing)
    made["disease"] = pa.array(rng.choice(["flu", "cold", "mumps"], rows))
    return pa.table(made)
