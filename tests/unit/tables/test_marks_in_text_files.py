"""Texts such as null and NA beside missing cells: a text file does not tell them apart, and models count both."""

import pyarrow as pa
import pytest

import indistinct as ind

SCHEMA = ind.Schema(quasi=["age"], sensitive=["d"])
TREE = {"d": ind.Hierarchy.from_rows([["NA", "west", "*"], ["EU", "west", "*"], ["AS", "east", "*"]])}


def table(*cells: str | None) -> pa.Table:
    return pa.table({"age": [1] * 12 + [2] * 12, "d": [*cells] * (24 // len(cells))})


@pytest.mark.parametrize("mark", ["null", "NA"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_protected_text_may_read_as_missing(tmp_path, mark, suffix):
    out = tmp_path / f"out.{suffix}"
    model = f"alpha-k:sensitive=d,alpha=0.5,k=2,protected={mark}"
    release = ind.anonymize(table(mark, None, "a", "b", "c", "d"), SCHEMA, model=model, output=out)
    assert release.certificate.holds
    assert release.certificate.verdicts[0].model.endswith(f"protected={mark}")


def test_a_protected_text_that_is_too_frequent_with_the_missing_cells_is_refused_for_that(tmp_path):
    model = "alpha-k:sensitive=d,alpha=0.4,k=2,protected=null"
    cells = table("null", None, "a", "b")  # a quarter, and half of all with those that are missing
    assert ind.anonymize(cells, SCHEMA, model=model, output=tmp_path / "out.parquet").certificate.holds
    with pytest.raises(ind.VerificationError, match="take different values of 'd' for one"):
        ind.anonymize(cells, SCHEMA, model=model, output=tmp_path / "out.csv")


@pytest.mark.parametrize("spelled", ["1.5", "1.50"])
def test_a_protected_number_may_be_spelled_in_two_ways(tmp_path, spelled):
    model = f"alpha-k:sensitive=d,alpha=0.5,k=2,protected={spelled}"
    cells = table("1.5", "1.50", "a", "b")
    assert ind.anonymize(cells, SCHEMA, model=model, output=tmp_path / "out.csv").certificate.holds


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_hierarchical_closeness_over_a_text_that_reads_as_missing(tmp_path, suffix):
    out, model = tmp_path / f"out.{suffix}", "t-closeness:sensitive=d,t=0.3,distance=hierarchical"
    release = ind.anonymize(table("NA", "EU", "AS", None), SCHEMA, model=model, hierarchies=TREE, output=out)
    assert release.certificate.holds
