"""Verification beside the original: published rows are rows of the original, class by class."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.release.verification import row_comparison
from indistinct.release.verification.verify import MATCHES
from indistinct.samples import generate_patients

SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["cost", "admitted"]
)
ENGINES = ("memory", "duckdb")


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    return generate_patients(600, seed=3)


@pytest.fixture(scope="module")
def release(patients: pa.Table) -> ind.Release:
    return ind.anonymize(patients, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", seed=1)


def _verdict(certificate: ind.Certificate) -> "ind.Verdict":
    (found,) = [verdict for verdict in certificate.verdicts if verdict.model == MATCHES]
    return found


def _changed(table: pa.Table, column: str, change: Callable[[list], None]) -> pa.Table:
    cells = table[column].to_pylist()
    change(cells)
    return table.set_column(table.column_names.index(column), column, pa.array(cells, table[column].type))


def _classes(table: pa.Table) -> list[tuple]:
    return list(zip(*(table[name].to_pylist() for name in SCHEMA.quasi), strict=True))


def _swap(first: int, second: int) -> Callable[[list], None]:
    def change(cells: list) -> None:
        cells[first], cells[second] = cells[second], cells[first]

    return change


def _verify(tmp_path: Path, table: pa.Table, patients: pa.Table, engine: str, **options: object) -> ind.Certificate:
    if engine == "memory":
        return ind.verify(table, SCHEMA, "k-anonymity:k=5", original=patients, **options)
    for name, each in (("release", table), ("original", patients)):
        pq.write_table(each, tmp_path / f"{name}.parquet")
    paths = tmp_path / "release.parquet", tmp_path / "original.parquet"
    return ind.verify(paths[0], SCHEMA, "k-anonymity:k=5", original=paths[1], engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("with_recoding", [False, True])
def test_an_honest_release_matches(tmp_path, release, patients, engine, with_recoding):
    recoding = release.recoding if with_recoding else None
    certificate = _verify(tmp_path, release.table, patients, engine, recoding=recoding)
    assert certificate.holds
    assert _verdict(certificate).holds
    assert not [warning for warning in certificate.warnings if "original" in warning]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("with_recoding", [False, True])
def test_changed_and_swapped_cells_and_other_rows_do_not_match(tmp_path, release, patients, engine, with_recoding):
    options = {"recoding": release.recoding if with_recoding else None}
    table, classes = release.table, _classes(release.table)
    diseases = table["disease"].to_pylist()
    other = next(i for i in range(len(classes)) if classes[i] != classes[0] and diseases[i] != diseases[0])

    def put(cells: list) -> None:
        cells[0] = next(disease for disease in diseases if disease != cells[0])

    def pay(cells: list) -> None:
        cells[0] += 1

    forged = {
        "changed sensitive cell": _changed(table, "disease", put),
        "changed insensitive cell": _changed(table, "cost", pay),
        "swapped between classes": _changed(table, "disease", _swap(0, other)),
        "appended row": pa.concat_tables([table, table.slice(0, 1)]),
        "appended row in place of another": pa.concat_tables([table.slice(1), table.slice(other, 1)]),
    }
    for what, each in forged.items():
        certificate = _verify(tmp_path, each, patients, engine, **options)
        verdict = _verdict(certificate)
        assert not verdict.holds, what
        assert verdict.violating_rows, what
    swapped = _verdict(_verify(tmp_path, forged["swapped between classes"], patients, engine, **options))
    assert (swapped.violating_classes, swapped.violating_rows) == (2, 2)


def test_the_warning_names_the_columns_and_no_value(release, patients):
    table = _changed(release.table, "cost", lambda cells: cells.__setitem__(0, 123456.789))
    certificate = ind.verify(table, SCHEMA, "k-anonymity:k=5", original=patients)
    (warning,) = [each for each in certificate.warnings if "original" in each]
    assert "values of 'cost' that" in warning
    assert "123" not in warning


def test_a_swap_inside_a_class_is_a_permutation(release, patients):
    schema = ind.Schema(identifiers=["name", "cost", "admitted"], quasi=SCHEMA.quasi, sensitive=["disease"])
    table, classes = release.table.select([*SCHEMA.quasi, "disease"]), _classes(release.table)
    diseases = table["disease"].to_pylist()
    pairs = ((i, i + 1) for i in range(len(classes) - 1) if classes[i] == classes[i + 1])
    first, second = next(pair for pair in pairs if diseases[pair[0]] != diseases[pair[1]])
    swapped = _changed(table, "disease", _swap(first, second))
    assert not swapped.equals(table)
    assert ind.verify(swapped, schema, "k-anonymity:k=5", original=patients).holds
    # With more columns the row is another one.
    beside = _changed(release.table, "disease", _swap(first, second))
    assert not ind.verify(beside, SCHEMA, "k-anonymity:k=5", original=patients).holds


@pytest.mark.parametrize("engine", ENGINES)
def test_a_deleted_row_may_be_suppressed_unless_the_recoding_publishes_it(tmp_path, release, patients, engine):
    fewer = release.table.slice(1)
    without = _verify(tmp_path, fewer, patients, engine)
    assert _verdict(without).holds
    assert without.suppressed_rows == 1
    beside = _verdict(_verify(tmp_path, fewer, patients, engine, recoding=release.recoding))
    assert (beside.holds, beside.violating_rows, beside.violating_classes) == (False, 1, 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("with_recoding", [False, True])
def test_suppressed_classes_may_be_missing(tmp_path, patients, engine, with_recoding):
    made = ind.anonymize(
        patients, SCHEMA, model="k-anonymity:k=5", algorithm="optimal", suppression=0.2, seed=1,
        hierarchies={"zipcode": ind.Hierarchy.masking(), "age": ind.Hierarchy.intervals([5, 10, 20])},
    )  # fmt: skip
    assert made.certificate.suppressed_rows
    hierarchies = {"zipcode": ind.Hierarchy.masking(), "age": ind.Hierarchy.intervals([5, 10, 20])}
    recoding = made.recoding if with_recoding else None
    certificate = _verify(tmp_path, made.table, patients, engine, hierarchies=hierarchies, recoding=recoding)
    assert certificate.holds
    assert _verdict(certificate).holds
    assert not [warning for warning in certificate.warnings if "without regard" in warning]


@pytest.mark.parametrize("engine", ENGINES)
def test_overlapping_labels_are_compared_without_classes_and_that_is_said(tmp_path, patients, engine):
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    table = patients.select(["age", "disease"])
    made = ind.anonymize(table, schema, model="k-anonymity:k=25", algorithm="mondrian:relaxed=true", seed=1).table
    paths = tmp_path / "release.parquet", tmp_path / "original.parquet"

    def verify(release: pa.Table) -> ind.Certificate:
        pq.write_table(release, paths[0])
        pq.write_table(table, paths[1])
        return ind.verify(paths[0], schema, "k-anonymity:k=25", original=paths[1], engine=engine)

    certificate = verify(made)
    assert _verdict(certificate).holds
    assert any("without regard to classes: labels overlap" in warning for warning in certificate.warnings)
    diseases = made["disease"].to_pylist()

    def put(cells: list) -> None:
        cells[0] = next(disease for disease in diseases if disease != cells[0])

    assert not verify(_changed(made, "disease", put)).holds


def test_a_new_sensitive_value_is_a_verdict_also_where_the_model_looks_at_it(release, patients):
    table = _changed(release.table, "disease", lambda cells: cells.__setitem__(0, "new"))
    certificate = ind.verify(table, SCHEMA, "distinct-l-diversity:sensitive=disease,l=2", original=patients)
    assert not _verdict(certificate).holds


def test_transformations_are_applied_to_the_original(patients):
    spec = {"cost": ind.Transformation(round=100)}
    made = ind.anonymize(patients, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", transformations=spec, seed=1)
    told = {"transformations": spec}
    assert ind.verify(made.table, SCHEMA, "k-anonymity:k=5", original=patients, **told).holds
    assert ind.verify(made.table, SCHEMA, "k-anonymity:k=5", original=patients, recoding=made.recoding).holds
    assert not ind.verify(made.table, SCHEMA, "k-anonymity:k=5", original=patients).holds


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_hashes_give_the_same(tmp_path, monkeypatch, release, patients, engine):
    monkeypatch.setattr(row_comparison, "MAX_HASHES", 50)
    assert _verify(tmp_path, release.table, patients, engine).holds
    assert _verdict(_verify(tmp_path, release.table.slice(1), patients, engine)).holds
    table = _changed(release.table, "cost", lambda cells: cells.__setitem__(0, 0.5))
    for each in (table, table.slice(0, 599)):
        verdict = _verdict(_verify(tmp_path, each, patients, engine))
        assert (verdict.violating_rows, verdict.violating_classes) == (1, 1)


KINDS = {
    "text": pa.array(["007", None, "", "it's", "'=1+1", "NA", "null", "1.50", "2024-01-02", "a,b"] * 3),
    "number": pa.array([0.1, -0.0, None, 1e-5, 1e70, 3.0, 2.5, 7.0, 1 / 3, 0.0] * 3),
    "narrow": pa.array([0.1, 2.5, None, 1e-5, 1e30, 3.0, 2.5, 7.0, 1 / 3, 0.0] * 3, pa.float32()),
    "whole": pa.array([1, None, 2**52 + 1, -5, 0, 7, 8, 9, 10, 11] * 3),
    "day": pa.array([0, 1, None, 365, 20000, 5, 6, 7, 8, 9] * 3, pa.int32()).cast(pa.date32()),
    "moment": pa.array([0, 1, None, 10**9, 5, 6, 7, 8, 9, 10] * 3, pa.int64())
    .cast(pa.timestamp("s"))
    .cast(pa.timestamp("us")),
    "flag": pa.array([True, False, None, True, True, False, True, True, False, True] * 3),
}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "sav", "dta", "xpt"])
@pytest.mark.parametrize("kind", KINDS)
def test_written_files_match_their_original(tmp_path, kind, suffix):
    table = pa.table({"age": pa.array(list(range(30))), "x": KINDS[kind]})
    schema = ind.Schema(quasi=["age"], insensitive=["x"])
    path = tmp_path / f"out.{suffix}"
    try:
        ind.anonymize(table, schema, model="k-anonymity:k=5", algorithm="mondrian", output=path)
    except ind.OutputError:
        pytest.skip(f"{suffix} cannot hold this")
    certificate = ind.verify(path, schema, "k-anonymity:k=5", original=table)
    assert certificate.holds, certificate.warnings
