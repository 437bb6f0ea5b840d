"""A file whose name has the signs of a pattern is this file, and no other one that the pattern would match."""

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.duckdb import DuckDB
from indistinct.errors import InputError
from indistinct.tables import Reading

ENGINES = ("memory", "duckdb")
NAMES = ("a[1]", "*", "a?", "a*", "[a", "a]", "a{1,2}", "**", "a [!b]")


def read_by(engine, source):
    if engine == "memory":
        return ind.open(source).data
    table = DuckDB(memory=1 << 28).open(source, Reading())
    # Arrow reads rows of Parquet files, and DuckDB answers queries: both read the same file.
    found = table.query("SELECT * FROM source").to_arrow_table()
    assert sorted(found.to_pylist(), key=str) == sorted(pa.table(table).to_pylist(), key=str)
    return found


def write(path, ages, kind="parquet"):
    path.parent.mkdir(exist_ok=True, parents=True)
    rows = pa.table({"age": ages, "illness": ["flu" if age % 2 else "gout" for age in ages]})
    pq.write_table(rows, path) if kind == "parquet" else pacsv.write_csv(rows, path)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_named_file_is_read(tmp_path, engine, name, kind):
    for other in ("a1", "a2", "ab", "b"):
        write(tmp_path / f"{other}.{kind}", [1, 2, 3], kind)
    path = write(tmp_path / f"{name}.{kind}", [40, 50], kind)
    assert sorted(read_by(engine, path)["age"].to_pylist()) == [40, 50]
    assert sorted(read_by(engine, [path, tmp_path / f"b.{kind}"])["age"].to_pylist()) == [1, 2, 3, 40, 50]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_named_folder_is_read(tmp_path, engine, name):
    for other in ("a1", "b", "c/d"):
        write(tmp_path / other / "x.parquet", [1, 2, 3])
    write(tmp_path / name / "x.parquet", [40, 50])
    assert sorted(read_by(engine, tmp_path / name)["age"].to_pylist()) == [40, 50]


@pytest.mark.parametrize("engine", ENGINES)
def test_partitions_have_the_values_of_their_own_folder(tmp_path, engine):
    for place in ("*", "[ab]", "a"):
        write(tmp_path / f"place={place}" / "x.parquet", [len(place)])
    found = read_by(engine, tmp_path)
    assert sorted(zip(found["place"].to_pylist(), found["age"].to_pylist(), strict=True)) == [
        ("*", 1),
        ("[ab]", 4),
        ("a", 1),
    ]


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_is_written_to_and_verified_at_such_a_path(tmp_path, engine, kind):
    path = write(tmp_path / "in [*]" / "a[1].parquet", [age % 7 for age in range(60)])
    for folder in ("out [*]", "out b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "out b" / f"r?.{kind}").write_text("not a table")
    out, schema = tmp_path / "out [*]" / f"r?.{kind}", ind.Schema(quasi=["age"], sensitive=["illness"])
    ind.anonymize(path, schema, model="k-anonymity:k=4", algorithm="mondrian", engine=engine, output=out)
    assert ind.open(out).rows == 60
    assert ind.verify(out, schema, model="k-anonymity:k=4").holds


def test_duckdb_refuses_a_backslash_next_to_a_sign_of_a_pattern(tmp_path):
    path = write(tmp_path / "a\\[1].parquet", [40, 50])
    assert read_by("memory", path)["age"].to_pylist() == [40, 50]
    with pytest.raises(InputError, match="backslash"):
        read_by("duckdb", path)
