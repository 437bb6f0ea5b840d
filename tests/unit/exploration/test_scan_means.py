"""Means and ranges that an algorithm makes are no foreign labels; values outside the original's range are."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.exploration.scan.base import Severity

CHECK = "labels-outside-hierarchy"
SCHEMA = ind.Schema(quasi=["value", "sex"], sensitive=["illness"])
BANDS = {"value": ind.Hierarchy.intervals([5, 10, 20])}
NUMBERS = ("integer", "float", "decimal")
KINDS = (*NUMBERS, "date", "timestamp")
ALGORITHMS = ("mondrian:extent=region,numeric=mean", "mondrian:numeric=mean", "mdav:numeric=mean", "mondrian")


def original(kind, rows=120, *, missing=True):
    rng = np.random.default_rng(4)
    numbers = rng.integers(20, 90, rows).tolist()
    begin = datetime.datetime(2024, 1, 1, 22, 16)
    made = {
        "integer": pa.array(numbers),
        "float": pa.array([number + 0.25 for number in numbers]),
        "decimal": pa.array(numbers).cast(pa.decimal128(22, 2)),
        "date": pa.array([begin.date() + datetime.timedelta(number) for number in numbers]),
        "timestamp": pa.array([begin + datetime.timedelta(hours=7 * number) for number in numbers]),
    }[kind]
    absent = pa.array([missing and row % 11 == 0 for row in range(rows)])
    return pa.table(
        {
            "value": pc.if_else(absent, None, made),
            "sex": rng.choice(["f", "m"], rows),
            "illness": rng.choice(["flu", "gout", "*"], rows),
        }
    )


def foreign(file, table, hierarchies):
    found = ind.scan(file, original=table, schema=SCHEMA, hierarchies=hierarchies).findings
    return [each for each in found if each.check == CHECK]


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("kind", "banded"), [*((kind, False) for kind in KINDS), *((kind, True) for kind in NUMBERS)])
def test_own_releases_show_no_foreign_values(tmp_path, kind, algorithm, missing, banded):
    table, hierarchies = original(kind, missing=missing), BANDS if banded else {}
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=4", algorithm=algorithm, hierarchies=hierarchies)
    pacsv.write_csv(release.table, tmp_path / "release.csv")
    pq.write_table(release.table, tmp_path / "release.parquet")
    for file in ("release.csv", "release.parquet"):
        assert not foreign(tmp_path / file, table, hierarchies)


@pytest.mark.parametrize(
    ("kind", "values"), [("integer", ["19.9", "90.5", "nan", "young"]), ("date", ["2023-12-31", "2025-01-01", "soon"])]
)
def test_values_outside_the_range_are_foreign(tmp_path, kind, values):
    table = original(kind)
    for value in values:
        shown = pa.table({"value": [value] * 5, "sex": ["*"] * 5, "illness": ["flu"] * 5})
        pacsv.write_csv(shown, tmp_path / "release.csv")
        [found] = foreign(tmp_path / "release.csv", table, BANDS if kind == "integer" else {})
        assert found.severity is (Severity.LEAK if kind == "integer" else Severity.SUSPICION)
        assert found.count == 1
