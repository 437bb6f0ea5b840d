"""Reads and writes of a table that is larger than memory are counted, and agree with what the search says."""

import numpy as np
import pyarrow as pa

import indistinct as ind
from indistinct_papers import mondrian_passes as figure


def test_a_source_counts_how_often_it_is_read() -> None:
    rows = figure.CountedRows(pa.table({"a": np.arange(20_000), "b": np.arange(20_000)}))
    batches = list(rows.batches(["b"]))
    assert rows.reads == 1
    assert sum(batch.num_rows for batch in batches) == 20_000
    assert all(batch.column_names == ["b"] for batch in batches)


def test_k_anonymity_of_numbers_takes_two_reads_a_level_and_one_write() -> None:
    for times, levels in ((2, 1), (8, 3)):
        row = dict(zip(figure.HEADINGS, figure.count_passes(times, figure.NUMBERS, ind.KAnonymity(5)), strict=True))
        assert (row["levels"], row["reads a level"], row["writes"]) == (levels, 2.0, 1)
        # Two to begin with, two for each level, and one that writes.
        assert row["reads"] == 2 + 2 * levels + 1
        assert (row["paper reads"], row["paper writes"]) == (2 * levels, levels)


def test_a_model_of_values_takes_one_read_more() -> None:
    model = ind.DistinctLDiversity("disease", 2)
    row = dict(zip(figure.HEADINGS, figure.count_passes(4, figure.NUMBERS, model), strict=True))
    assert (row["levels"], row["segments"], row["reads a level"], row["writes"]) == (2, 2, 3.0, 1)


def test_the_claims_name_what_takes_more() -> None:
    made = figure.reproduce_mondrian_passes((4,), lambda share: None)
    assert [claim.verdict for claim in made.claims] == ["depends", "confirmed"]
    assert "more for numbers and names" in made.claims[0].figures
    assert made.claims[1].figures == "1 write in all for 2 to 2 levels"
