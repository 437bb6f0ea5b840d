"""Releases in folders of Hive partitions: what their names show, what they keep, and what is refused."""

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.errors import OutputError, ParameterError, SchemaError
from indistinct.release.writing import partitioned
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.partitioned import partition_path, write_partitions
from indistinct.tables.several import MISSING

ODD = ["*", "=x", "a/b", "..", "", MISSING, "-0.0", "C D", None, "0213", "%2A", "ä"]
SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex"], sensitive=["ill"], insensitive=["region", "ward", "day"]
)
DAYS = [dt.date(2024, 1, 1), None, dt.date(2024, 3, 1)]


def people(rows=120):
    return pa.table(
        {
            "name": [f"name-{row}" for row in range(rows)],
            "age": pa.array([20 + row % 7 for row in range(rows)], pa.int64()),
            "sex": [("F", "M", None)[row % 3] for row in range(rows)],
            "region": [ODD[row % len(ODD)] for row in range(rows)],
            "ward": pa.array([(1, None, 3, -2)[row % 4] for row in range(rows)], pa.int32()),
            "ill": [("flu", "cold", None)[row % 3] for row in range(rows)],
            "day": [DAYS[row % 3] for row in range(rows)],
        }
    )


def publish(table, path, **more):
    given = {"model": "k-anonymity:k=4", "algorithm": "mondrian", "output": path} | more
    return ind.anonymize(table, SCHEMA, **given)


def multiset(table):
    names = sorted(table.column_names)
    return sorted(map(repr, table.select(names).to_pylist()))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("columns", [["sex"], ["region"], ["region", "ward"], ["day", "sex"]])
def test_partitions_hold_the_rows_of_a_release(tmp_path, engine, columns):
    table, path = people(), tmp_path / "r.parquet"
    single = publish(table, None, seed=1, engine=engine)
    release = publish(table, path, seed=1, engine=engine, partition_by=columns)
    assert release.certificate.holds
    assert release.table.column_names == single.table.column_names
    assert multiset(release.table) == multiset(single.table)
    files = list(path.rglob("*.parquet"))
    assert len(files) == len(single.table.group_by(columns).aggregate([]))
    assert all(set(pq.read_schema(file).names) == set(single.table.column_names) - set(columns) for file in files)
    again = ind.published(path, schema=SCHEMA, original=table, recoding=release.recoding)
    checked = ind.verify(again, model="k-anonymity:k=4")
    assert checked.holds
    assert checked.rows == 120
    assert ind.assess(again).to_json()["rows"] == 120
    measured, expected = dict(ind.measure(again)), dict(ind.measure(release))
    both = measured.keys() & expected.keys()
    assert len(both) > 5
    assert {name: measured[name] for name in both} == pytest.approx({name: expected[name] for name in both})
    assert not [each.sentence for each in ind.scan(path, original=table, schema=SCHEMA).leaks]


def test_a_generalized_column_names_folders_by_its_labels(tmp_path):
    coarse = {
        "hierarchies": {"age": ind.Hierarchy.intervals([5])},
        "levels": {"age": (1, None)},
        "algorithm": "optimal",
    }
    publish(people(), tmp_path / "r.parquet", partition_by=["age"], **coarse)
    raw = {f"age={age}" for age in range(20, 27)}
    names = {path.name for path in (tmp_path / "r.parquet").iterdir()}
    assert names
    assert not names & raw


def test_the_order_of_the_original_does_not_reach_a_partition(tmp_path):
    table = people()
    digests = set()
    for number, rows in enumerate((table, table.take(list(reversed(range(len(table))))))):
        made = publish(rows, tmp_path / f"{number}.parquet", seed=7, partition_by=["region"])
        digests.add(made.certificate.output_digest)
    assert len(digests) == 1


def test_a_partition_keeps_the_order_of_the_release(tmp_path):
    release = publish(people(), tmp_path / "r.parquet", seed=7, partition_by=["sex"])
    whole = publish(people(), tmp_path / "w.parquet", seed=7).table
    own = pq.read_table(tmp_path / "r.parquet" / "sex=F", partitioning=None)
    kept = whole.filter(pc.equal(whole["sex"].cast(pa.string()), "F")).drop_columns(["sex"])
    assert [repr(row) for row in own.to_pylist()] == [repr(row) for row in kept.to_pylist()]
    assert release.certificate.holds


@pytest.mark.parametrize("value", ODD)
def test_a_value_stays_one_folder_and_comes_back(tmp_path, value):
    batch = pa.table({"a": pa.array([value, value], pa.string()), "b": [1, 2]})
    write_partitions([batch], tmp_path / "r.parquet", ["a"], Writing())
    (folder,) = (tmp_path / "r.parquet").iterdir()
    assert folder.name == partition_path(["a"], (value,))
    assert ind.open(tmp_path / "r.parquet").data["a"].to_pylist() in (
        [value] * 2,
        [int(value or 0)] * 2 if value == "0213" else [],
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.parquet"]


def test_a_release_without_rows_has_its_columns(tmp_path):
    write_partitions([people(0)], tmp_path / "r.parquet", ["sex"], Writing())
    assert ind.open(tmp_path / "r.parquet").columns == tuple(people(0).column_names)


def test_batches_of_a_partition_are_one_file(tmp_path):
    rows = people()
    batches = [rows.slice(start, 7) for start in range(0, len(rows), 7)]
    write_partitions(batches, tmp_path / "many.parquet", ["sex", "ward"], Writing())
    write_partitions([rows], tmp_path / "one.parquet", ["sex", "ward"], Writing())
    for path in (tmp_path / "one.parquet").rglob("*.parquet"):
        other = tmp_path / "many.parquet" / path.relative_to(tmp_path / "one.parquet")
        assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("columns", "more", "error", "words"),
    [
        (["name"], {}, SchemaError, "would point at a person"),
        (["ill"], {}, SchemaError, "is sensitive"),
        (["sexx"], {}, SchemaError, "is not in the table"),
        (["sex", "sex"], {}, SchemaError, "is named twice"),
        (["sex"], {"output": None}, ParameterError, "needs an output"),
        (["sex"], {"output": "r.csv"}, ParameterError, "does not end in .parquet"),
        (["sex"], {"output": "s3://bucket/r.parquet"}, ParameterError, "is an address elsewhere"),
        (["sex"], {"output": ind.DatabaseTable("postgresql://h/d", "t")}, ParameterError, "is a database"),
        (
            ["sex"],
            {"algorithm": "anatomy:l=2", "model": None},
            ParameterError,
            "bucket",
        ),
        (["age"], {"ranges": "columns"}, SchemaError, "does not have under this name"),
    ],
)
def test_what_would_tell_something_is_refused_by_name(tmp_path, monkeypatch, columns, more, error, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        publish(people(), more.pop("output", "r.parquet"), partition_by=columns, **more)
    assert not list(tmp_path.iterdir())


def test_too_many_partitions_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(partitioned, "MAX_PARTITIONS", 3)
    with pytest.raises(OutputError, match="more than 3 folders"):
        publish(people(), tmp_path / "r.parquet", partition_by=["region"])
    assert not list(tmp_path.iterdir())


def test_columns_that_names_do_not_keep_are_refused(tmp_path):
    with pytest.raises(OutputError, match="cannot name folders"):
        write_partitions([pa.table({"a": [1.5], "b": [1]})], tmp_path / "r.parquet", ["a"], Writing())


def test_a_value_that_changes_in_a_name_is_refused(tmp_path):
    with pytest.raises(OutputError, match="would change"):
        write_partitions([pa.table({"a": [10**18, 1], "b": [1, 2]})], tmp_path / "r.parquet", ["a"], Writing())


def test_a_long_value_is_refused_without_showing_it(tmp_path):
    with pytest.raises(OutputError, match="too long") as caught:
        write_partitions([pa.table({"a": ["ä" * 200], "b": [1]})], tmp_path / "r.parquet", ["a"], Writing())
    assert "ä" not in str(caught.value)


def test_partitions_are_replaced_and_other_files_are_not(tmp_path):
    path = tmp_path / "r.parquet"
    publish(people(), path, partition_by=["region"])
    publish(people(), path, partition_by=["sex"], overwrite=True)
    assert {each.name.partition("=")[0] for each in path.iterdir()} == {"sex"}
    (path / "sex=F" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="is a directory"):
        publish(people(), path, partition_by=["sex"], overwrite=True)
    assert (path / "sex=F" / "notes.txt").read_text() == "mine"


def test_a_policy_and_its_command_name_the_columns(tmp_path):
    policy = tmp_path / "policy.toml"
    pq.write_table(people(), tmp_path / "p.parquet")
    policy.write_text(
        '[input]\npath = "p.parquet"\n[columns]\nname = "identifier"\nage = {role = "quasi"}\nsex = {role = "quasi"}\n'
        'ill = {role = "sensitive"}\nregion = "insensitive"\nward = "insensitive"\nday = "insensitive"\n'
        '[privacy]\nmodels = ["k-anonymity:k=4"]\n[algorithm]\nuse = "mondrian"\n'
        '[output]\npath = "r.parquet"\npartition_by = ["sex", "day"]\n'
    )
    release = ind.run(policy)
    assert release.certificate.holds
    assert {each.name for each in (tmp_path / "r.parquet" / "sex=F").iterdir()} == {"day=2024-01-01"}


def test_release_write_makes_partitions(tmp_path):
    release = publish(people(), None)
    release.write(tmp_path / "r.parquet", partition_by=["sex"])
    assert {each.name for each in (tmp_path / "r.parquet").iterdir()} == {"sex=F", "sex=M", f"sex={MISSING}"}
