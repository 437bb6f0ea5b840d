"""Nothing happens in silence: settings that are not used, and values that point at single rows, are said."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from indistinct.frequencies.singled_out import rows_alone
from indistinct.release.writing.files import write_table

MODEL = ["--model", "k-anonymity:k=5"]
BANDS = ["--hierarchy", "age=intervals:5,10,20", "--hierarchy", "admitted=dates:month,year"]


def unused(document: dict) -> list[str]:
    return [text for text in document["warnings"] if "will not be published" in text or "not used" in text]


@pytest.mark.parametrize(
    ("algorithm", "ignored"),
    [
        ("mondrian", ["the bands of 'age', 'admitted' will not be published: mondrian makes ranges of its own"]),
        ("single-dimensional", ["the bands of 'age', 'admitted' will not be published: single-dimensional makes"]),
        ("optimal", []),
        ("samarati", []),
        ("two-level", []),
    ],
)
def test_bands_that_are_not_published_are_said_to_be_so(
    patients: Path, roles: list[str], run, algorithm: str, ignored: list[str]
) -> None:
    out = patients.with_name("out.csv")
    masks = ["--hierarchy", "zipcode=mask:right", "--hierarchy", "sex=suppression"]
    given = ["anonymize", patients, *roles, *MODEL, *BANDS, *masks, "--algorithm", algorithm, "-o", out, "--overwrite"]
    ran = run(*given, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    told = unused(document)
    assert len(told) == len(ignored)
    assert all(text.startswith(start) for text, start in zip(told, ignored, strict=True))
    assert unused(document["certificate"]) == told
    assert unused(json.loads(Path(f"{out}.certificate.json").read_text())) == told
    assert all(f"note: {text}" in ran.err for text in told)


def test_hierarchies_of_a_release_in_buckets_are_not_published(patients: Path, roles: list[str], run) -> None:
    given = ["anonymize", patients, *roles, *BANDS, "-o", patients.with_name("out.csv"), "--overwrite", "--json"]
    (told,) = unused(json.loads(run(*given, "--algorithm", "slicing:l=2").out))
    assert told.startswith("the hierarchy of 'age', 'admitted' will not be published: slicing keeps values")
    spec = "slicing:l=2,generalize=3,generalizer=optimal"
    assert unused(json.loads(run(*given, "--algorithm", spec).out)) == []


def test_a_hierarchy_that_nothing_looks_at(patients: Path, roles: list[str], run) -> None:
    given = ["anonymize", patients, *roles, *MODEL, "-o", patients.with_name("out.csv"), "--json"]
    (told,) = unused(json.loads(run(*given, "--hierarchy", "cost=intervals:100,1000").out))
    assert told == "the hierarchy of 'cost' is not used: neither the search nor the model looks at it"


@pytest.mark.parametrize(
    ("algorithm", "share", "words"),
    [
        ("mondrian", "0.02", ["suppression = 0.02 is not used: mondrian drops no rows"]),
        ("two-level", "0.02", ["suppression = 0.02 is not used: two-level drops no rows"]),
        ("anatomy:l=2", "0.02", ["suppression = 0.02 is not used: anatomy drops no rows"]),
        ("optimal", "0.02", []),
        ("optimal", "0.001", ["suppression = 0.001 allows none of 300 rows to be dropped"]),
    ],
)
def test_a_budget_that_is_not_used_is_said_to_be_so(
    patients: Path, roles: list[str], run, algorithm: str, share: str, words: list[str]
) -> None:
    model = [] if algorithm.startswith("anatomy") else MODEL
    given = ["anonymize", patients, *roles, *model, "--algorithm", algorithm, "--suppression", share]
    ran = run(*given, "-o", patients.with_name("out.csv"), "--json")
    assert ran.code == 0, ran.err
    assert [text for text in json.loads(ran.out)["warnings"] if text.startswith("suppression")] == words


def alone(document: dict) -> list[str]:
    return [text for text in document["warnings"] if ": an attacker who knows it finds the row" in text]


def test_a_nearly_unique_column_that_is_published_as_it_is_has_its_figure(
    patients: Path, roles: list[str], run
) -> None:
    """Every cost differs, to the cent; diseases do not."""
    out = patients.with_name("out.csv")
    ran = run("anonymize", patients, *roles, *MODEL, "-o", out, "--json")
    (told,) = alone(json.loads(ran.out))
    assert told == (
        "column 'cost' is published unmodified, and 300 of 300 rows (100 %) have a unique value: an attacker who "
        "knows it finds the row"
    )
    assert f"note: {told}" in ran.err
    assert alone(json.loads(Path(f"{out}.certificate.json").read_text())) == [told]
    for source in (out, patients):  # a file from anywhere, and one that nobody recoded
        (again,) = alone(json.loads(run("verify", source, *roles, *MODEL, "--json").out))
        assert again == told


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_moments_and_free_text_are_nearly_unique(tmp_path: Path, run, role: str, suffix: str) -> None:
    rows = 400
    moments = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=97 * row) for row in range(rows)]
    # Half of the remarks are of one row, the others of two; one in four marks is missing.
    remarks = [f"remark {row if row < rows // 2 else row // 2 * 2}" for row in range(rows)]
    few = [None if row % 4 == 0 else f"mark {row % 7}" for row in range(rows)]
    table = pa.table({"sex": ["f", "m"] * (rows // 2), "seen": moments, "remark": remarks, "few": few})
    write_table(table, tmp_path / f"visits{suffix}")
    given = ["--quasi", "sex", f"--{role}", "seen,remark,few", *MODEL]
    out = tmp_path / f"out{suffix}"
    document = json.loads(run("anonymize", tmp_path / f"visits{suffix}", *given, "-o", out, "--json").out)
    told = alone(document)
    assert [text.split("'")[1] for text in told] == ["seen", "remark"]
    assert "400 of 400 rows (100 %)" in told[0]
    assert "200 of 400 rows (50 %)" in told[1]
    assert alone(json.loads(run("verify", out, *given, "--json").out)) == told


@pytest.mark.parametrize("algorithm", ["slicing:l=3", "anatomy:l=3", "anatomy:l=3,form=permuted", "multiset:l=3"])
def test_nearly_unique_values_are_told_of_buckets(patients: Path, roles: list[str], run, algorithm: str) -> None:
    out = patients.with_name("out.csv")
    ran = run("anonymize", patients, *roles, "--algorithm", algorithm, "-o", out, "--json")
    assert ran.code == 0, ran.err
    told = alone(json.loads(ran.out))
    assert any(text.startswith("column 'cost' is published unmodified, and 300 of 300 rows") for text in told)
    assert alone(json.loads(run("verify", out, *roles, "--algorithm", algorithm, "--json").out)) == told


def test_attributes_that_slicing_puts_together_are_told_if_their_combination_points_at_rows(
    patients: Path, roles: list[str], run
) -> None:
    out = patients.with_name("out.csv")
    given = ["anonymize", patients, *roles, "-o", out, "--overwrite", "--json", "--algorithm"]
    document = json.loads(run(*given, "slicing:l=3").out)
    together = [names for names in document["certificate"]["columns"] if len(names) > 2]
    assert together, "the default puts attributes together"
    table = pa.csv.read_csv(patients)
    for names in together:
        counts = table.group_by(names).aggregate([([], "count_all")])["count_all"].to_numpy()
        wanted = (
            f"columns {', '.join(map(repr, names))} are published together unmodified, and {(counts == 1).sum()} of"
        )
        assert any(text.startswith(wanted) for text in alone(document))
    each = alone(json.loads(run(*given, "slicing:l=3,columns=each").out))
    assert not any("together" in text for text in each)
    generalized = alone(json.loads(run(*given, "slicing:l=3,generalize=10").out))
    assert not any("together" in text for text in generalized)


def test_a_column_of_a_large_table_is_counted_whole_once_a_sample_shows_that_most_rows_are_alone() -> None:
    rows = 60_000
    numbers = pa.chunked_array([pa.array(range(rows // 2)), pa.array(range(rows // 2, rows))])
    assert rows_alone(numbers) == rows
    assert rows_alone(pa.chunked_array([[row // 2 for row in range(rows)]])) == 0, "pairs look alone in a sample"
    assert rows_alone(pa.chunked_array([[row % 100 for row in range(rows)]])) == 0
    texts = pa.chunked_array([pa.array([f"t{row}" for row in range(rows)]).dictionary_encode()])
    assert rows_alone(texts) == rows
    assert rows_alone(pa.chunked_array([pa.array([None, 1.5, float("nan"), -2.5, 2.5, 2.5])])) == 2
    assert rows_alone(pa.chunked_array([pa.array([[1], [2]])])) == 0
    days = pa.chunked_array([pa.array([1, 2, 2, None], pa.date32())])
    assert rows_alone(days) == 1
    parts = [pa.array(cells).dictionary_encode() for cells in (["a", "b", None], ["b", "c"])]
    assert rows_alone(pa.chunked_array(parts)) == 2


def test_inspect_tells_which_columns_would_point_at_rows(patients: Path, run) -> None:
    ran = run("inspect", patients, "-o", patients.with_name("policy.toml"), "--json")
    (told,) = json.loads(ran.out)["warnings"]
    words = "under the suggested role, column 'cost' is published unmodified, and 300 of 300 rows (100 %)"
    assert told.startswith(words)
    assert f"note: {told}" in ran.err
    assert "an attacker who knows it finds the row: round it" in patients.with_name("policy.toml").read_text()


@pytest.mark.parametrize("name", ["patients", "visits", "census"])
def test_a_fresh_policy_is_what_a_careful_person_would_choose(tmp_path: Path, run, name: str) -> None:
    data, policy = tmp_path / f"{name}.csv", tmp_path / "policy.toml"
    assert run("generate", name, "--rows", 1500, "--seed", 2, "-o", data).code == 0
    assert run("inspect", data, "-o", policy).code == 0
    ran = run("anonymize", policy, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["k"] >= 11
    judged = [verdict["model"] for verdict in document["models"]]
    assert all(verdict["achieved"].get("l", 2) >= 2 for verdict in document["models"])
    assert any(model.startswith("distinct-l-diversity") for model in judged)
    assert unused(document) == [], "a fresh policy has no setting that comes to nothing"
    assert run("verify", document["output"], "--policy", policy, "--original", data).code == 0


def test_a_fresh_policy_protects_columns_whose_names_need_quotes(tmp_path: Path, run) -> None:
    rows = 60
    table = pa.table({"age": list(range(20, 50)) * 2, 'the "main", disease: a=b|c&d ': ["flu", "cold", "HIV"] * 20})
    write_table(table, tmp_path / "data.parquet")
    assert table.num_rows == rows
    assert run("inspect", tmp_path / "data.parquet", "-o", tmp_path / "policy.toml").code == 0
    ran = run("anonymize", tmp_path / "policy.toml", "--json")
    assert ran.code == 0, ran.err
    assert [verdict["achieved"] for verdict in json.loads(ran.out)["models"]][1]["l"] >= 2
