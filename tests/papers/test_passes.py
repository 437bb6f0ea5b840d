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


def test_the_claims_are_judged_in_the_setting_of_the_paper_and_ours_stand_apart() -> None:
    made = figure.reproduce_mondrian_passes((2, 4), lambda share: None)
    (claim,) = made.claims
    assert (claim.verdict, claim.held, claim.tested) == ("confirmed", 2, 2)
    assert claim.figures.startswith("2.0 to 2.0 reads a level, and 1 write in all for 1 to 2 levels; as stated for 2")
    assert figure.claims(made.rows) == made.claims
    others = [words for words in made.findings if "reads a level" in words]
    assert [words.partition(":")[0] for words in others] == [
        "numbers and names, k-anonymity",
        "numbers, distinct-l-diversity",
    ]
    assert "3.0 to 3.0 reads a level" in others[1]


def test_a_read_more_refutes_the_claim() -> None:
    (row,) = [figure.count_passes(2, figure.NUMBERS, ind.KAnonymity(5))]
    worse = tuple(2.5 if name == "reads a level" else cell for name, cell in zip(figure.HEADINGS, row, strict=True))
    assert figure.claims([row, worse])[0].verdict == "depends"
