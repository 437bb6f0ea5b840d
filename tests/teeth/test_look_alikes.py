"""Cells that count as one value but look different must not follow the sensitive value of their row.

An attack intersects the sensitive values of all buckets that show a cell. It tells a disease for certain if every row
with that look has the same one, which happens as soon as one row's cell is shown for all rows that share its disease.
"""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines.memory import publish as publishing

ROWS = 3000
SCHEMA = ind.Schema(quasi=["seen"], sensitive=["disease"])


def moments(rng):
    """Return times of one microsecond, which are one value, and differ in their nanoseconds."""
    return pa.array(1_700_000_000_000_000_000 + rng.integers(0, 1000, ROWS), pa.timestamp("ns"))


def days(rng):
    """Return one day, which is one value, with different hours behind it."""
    hours = 86_400_000 * 19_000 + rng.integers(0, 86_400_000, ROWS)
    return pa.Array.from_buffers(pa.date64(), ROWS, [None, pa.py_buffer(hours.astype(np.int64))])


def told(release):
    """Return the number of rows whose disease the attack knows for certain."""
    values, shown = defaultdict(set), defaultdict(list)
    apart = release.others["sensitive"]
    for bucket, disease in zip(apart["bucket"].to_pylist(), apart["disease"].to_pylist(), strict=True):
        values[bucket].add(disease)
    looks = release.table["seen"].combine_chunks().view(pa.int64()).to_pylist()
    for bucket, look in zip(release.table["bucket"].to_pylist(), looks, strict=True):
        shown[look].append(bucket)
    return sum(len(some) for some in shown.values() if len(set.intersection(*(values[one] for one in some))) == 1)


@pytest.mark.parametrize("cells", [moments, days])
def test_the_look_of_a_cell_does_not_follow_the_disease(cells, monkeypatch):
    rng = np.random.default_rng(1)
    table = pa.table({"seen": cells(rng), "disease": [f"d{place}" for place in rng.integers(0, 12, ROWS)]})
    assert told(ind.anonymize(table, SCHEMA, algorithm="anatomy:l=4")) < 0.1 * ROWS
    monkeypatch.setattr(publishing, "one_to_one", lambda kind: True)
    assert told(ind.anonymize(table, SCHEMA, algorithm="anatomy:l=4")) > 0.8 * ROWS, "the attack has lost its teeth"


@pytest.mark.parametrize("algorithm", ["anatomy:l=4", "anatomy:l=4,form=permuted", "slicing:l=4,columns=each"])
@pytest.mark.parametrize("cells", [moments, days])
def test_no_cell_changes_its_look(cells, algorithm):
    rng = np.random.default_rng(2)
    table = pa.table({"seen": cells(rng), "disease": [f"d{place}" for place in rng.integers(0, 12, ROWS)]})
    shown = ind.anonymize(table, SCHEMA, algorithm=algorithm).table["seen"].combine_chunks().view(pa.int64())
    assert sorted(shown.to_pylist()) == sorted(table["seen"].combine_chunks().view(pa.int64()).to_pylist())


def test_zeros_of_both_signs_look_alike():
    rng = np.random.default_rng(3)
    zeros = np.where(rng.random(200) < 0.5, np.float16(-0.0), np.float16(0.0))
    table = pa.table({"seen": pa.array(zeros), "disease": [f"d{place}" for place in rng.integers(0, 5, 200)]})
    shown = ind.anonymize(table, SCHEMA, algorithm="anatomy:l=2").table["seen"]
    assert shown.type == pa.float16()
    assert not np.signbit(shown.to_numpy()).any()
