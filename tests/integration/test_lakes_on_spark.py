"""Delta and Iceberg tables on Spark: live rows alone, and never their files one by one."""

import pytest

import indistinct as ind
from indistinct.errors import InputError
from references import lakes
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, needs_java, pytest.mark.xdist_group("spark")]
SCHEMA = ind.Schema(quasi=["age", "sex"], identifiers=["name", "height", "insured", "born", "seen", "cost", "ward"])


def rows_of(table):
    return sorted(table.table().to_pylist(), key=repr)


def live(data):
    return sorted((row for row in data.to_pylist() if row["age"] is None or row["age"] <= 50), key=repr)


@pytest.mark.parametrize("kind", ["delta", "iceberg", "partitions", "vector"])
def test_live_rows_alone_are_read_and_published(tmp_path, kind):
    spark()
    data = lakes.people()
    match kind:
        case "delta":
            folder = lakes.delta(tmp_path / "delta", data, deleted="age > 50")
        case "partitions":
            folder = lakes.delta(tmp_path / "delta", data, deleted="age > 50", partition_by=["sex", "born"])
        case "iceberg":
            folder = lakes.iceberg(tmp_path / "lake", data, deleted="age > 50")
        case _:
            folder = lakes.delta_with_vector(tmp_path / "delta", data, list(range(21, 40)))
    table = ind.open(folder, engine="spark")
    assert rows_of(table) == live(data)
    out = tmp_path / "out.parquet"
    certificate = ind.anonymize(table, SCHEMA, model="k-anonymity:k=2", output=out).certificate
    assert (certificate.rows, certificate.original_rows) == (21, 21)
    assert certificate.table_version == table.reading.version


def test_files_of_a_table_are_refused_at_an_address(tmp_path):
    spark()
    folder = lakes.delta(tmp_path / "delta", lakes.people(), deleted="age > 50")
    file = next(folder.glob("*.parquet"))
    for source in (
        f"file://{folder}",
        f"file://{file}",
        f"file://{folder}/*.parquet",
        f"file://{tmp_path}/*/*.parquet",
    ):
        with pytest.raises(InputError, match="Delta table at an address"):
            ind.open(source, engine="spark")
    for source in (file, f"{folder}/*.parquet", [file]):
        with pytest.raises(InputError, match="one by one"):
            ind.open(source, engine="spark")
