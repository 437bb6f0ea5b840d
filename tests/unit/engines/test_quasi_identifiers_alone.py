"""A table whose columns are all quasi-identifiers, and of which rows are suppressed, is released by every engine."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind

SCHEMA = ind.Schema(quasi=["age", "sex"])
LEVELS = {"age": ind.Hierarchy.intervals([1, 10])}


def people(groups):
    ages, sexes = zip(*((age, sex) for age, sex, rows in groups for _ in range(rows)), strict=True)
    return pa.table({"age": ages, "sex": sexes})


def publish(source, engine, **options):
    out = source.with_name(f"{engine}.parquet")
    ind.anonymize(
        ind.open(source, engine=engine), SCHEMA, model="k-anonymity:k=3", hierarchies=LEVELS, output=out, **options
    )
    return Counter(tuple(map(str, row.values())) for row in pq.read_table(out).to_pylist())


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "datafly"])
def test_rows_are_suppressed(tmp_path, algorithm, seed):
    source = tmp_path / "people.parquet"
    pq.write_table(people([(20, "F", 5), (30, "M", 4), (45, "F", 1), (71, "M", 1)]), source)
    found = [
        publish(source, engine, algorithm=algorithm, suppression="2 rows", seed=seed) for engine in ("memory", "duckdb")
    ]
    assert found[0] == found[1]
    assert sum(found[0].values()) == (11 if algorithm == "mondrian" else 9)
