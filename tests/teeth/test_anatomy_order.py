"""Groups whose rows are taken in the order of the quasi-identifiers line up with them, and tell far more than 1 / l."""

import numpy as np
import pyarrow as pa

import indistinct as ind
from indistinct.algorithms.bucket.anatomy import anatomize

ROWS, DISEASES = 3_000, 6


def people():
    rng = np.random.default_rng(11)
    return pa.table({"age": np.arange(ROWS), "disease": [f"d{code}" for code in rng.integers(0, DISEASES, ROWS)]})


def alignment(table, groups):
    """Return how far apart the rows of a group stand among those of their own disease: 0 if all at the same place.

    Ranks from 0 to 1 that are drawn at random have a variance of 1/12.
    """
    diseases = np.array(table["disease"].to_pylist())
    ranks = np.empty(ROWS)
    for disease in np.unique(diseases):
        rows = np.flatnonzero(diseases == disease)
        ranks[rows] = np.arange(len(rows)) / len(rows)
    return float(np.mean([ranks[groups == group].var() for group in np.unique(groups)]))


def test_rows_in_canonical_order_line_up():
    table = people()
    codes = np.unique(table["disease"].to_pylist(), return_inverse=True)[1]
    assert alignment(table, anatomize(codes, 4)) < 0.01, "the attack has lost its teeth"


def test_rows_of_a_release_do_not_line_up():
    table = people()
    release = ind.anonymize(table, ind.Schema(quasi=["age"], sensitive=["disease"]), algorithm="anatomy:l=4")
    groups = np.empty(ROWS, dtype=np.int64)
    groups[release.table["age"].to_numpy()] = release.table["bucket"].to_numpy()
    assert alignment(table, groups) > 0.05


def test_which_rows_meet_is_drawn_anew():
    table, schema = people(), ind.Schema(quasi=["age"], sensitive=["disease"])
    first, second = (
        {frozenset(rows) for rows in groups.values()}
        for groups in (
            _members(ind.anonymize(table, schema, algorithm="anatomy:l=4").table.to_pylist()) for _ in range(2)
        )
    )
    assert len(first & second) < len(first) / 2


def _members(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row["bucket"], []).append(row["age"])
    return groups
