"""Groups of a written release are gathered batch by batch, and are the rows that it has."""

from collections import Counter

import pyarrow as pa

from indistinct.engines.duckdb.source import gathered_groups


def test_groups_of_batches_together_count_every_row():
    rows = [("[1-2]", 1.5), ("[1-2]", 1.5), ("[1-2]", 1.5), (None, 2.5), (None, 2.5), (None, 2.5)]
    whole = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
    found = gathered_groups([whole.slice(0, 2), whole.slice(2, 0), whole.slice(2, 4)], ["a", "b"])
    assert found is not None
    counted: Counter[tuple[str | None, float]] = Counter()
    for row, count in zip(found.table.to_pylist(), found.counts.tolist(), strict=True):
        counted[row["a"], row["b"]] += count
    assert counted == Counter(rows)


def test_rows_that_all_differ_are_left_to_duckdb():
    assert gathered_groups([pa.table({"a": ["x", "y", "z"]})], ["a"]) is None
