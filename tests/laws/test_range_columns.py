"""Ranges as columns say what labels say: the same classes, the same cost, the same answers, on every engine at hand."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.recoding.storage import recoding_from_json, recoding_to_json

SCHEMA = ind.Schema(quasi=["age", "weight", "born", "sex"], sensitive=["ill"])
BANDS = {
    "age": ind.Hierarchy.intervals([5, 20]),
    "weight": ind.Hierarchy.intervals([5, 20]),
    "born": ind.Hierarchy.dates(["month", "quarter", "year", "decade"]),
}
WAYS = {
    "mondrian": {},
    "mondrian:extent=region": {},
    "mondrian:relaxed=true": {},
    "mondrian:numeric=interval+mean": {},
    "optimal": BANDS,
    "kaca": BANDS,
    "refine": {},
}


def people(seed: int, *, missing: bool) -> pa.Table:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(20, 60))
    ages = [None if missing and rng.random() < 0.1 else int(age) for age in rng.integers(-3, 60, rows)]
    days = pa.array(rng.integers(10_000, 12_000, rows).astype(np.int32), pa.int32()).cast(pa.date32())
    weights = rng.normal(0, 9, rows).round(1)
    return pa.table(
        {
            "age": pa.array(ages, pa.int64()),
            "weight": weights,
            "born": days,
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["a", "b", "c"], rows),
        }
    )


@settings(max_examples=14, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(sorted(WAYS)))
def test_columns_say_what_labels_say(seed, missing, algorithm):
    table, hierarchies = people(seed, missing=missing), WAYS[algorithm]
    known = {"hierarchies": hierarchies, "suppression": 0.1, "seed": 1}
    labels, columns = (
        ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", algorithm=algorithm, ranges=form, **known)
        for form in ("labels", "columns")
    )
    names = columns.table.column_names
    assert {"age_from", "age_to", "weight_from", "weight_to", "born_from", "born_to"} <= set(names)
    assert ("age_missing" in names) == (table["age"].null_count > 0)
    assert not {"age", "weight", "born"} & set(names)
    assert columns.certificate.classes == labels.certificate.classes
    assert dict(ind.measure(columns)) == dict(ind.measure(labels))
    files = [ind.published(each.table, SCHEMA, original=table, hierarchies=hierarchies) for each in (labels, columns)]
    first, second = (ind.measure(each) for each in files)
    assert dict(second) == pytest.approx(dict(first))
    assert ind.verify(files[1], model="k-anonymity:k=3").holds
    assert ind.scan(columns.table, original=table, schema=SCHEMA, hierarchies=hierarchies).clean
    stored = recoding_from_json(recoding_to_json(columns.recoding))
    assert stored == columns.recoding
    assert stored.ranges == "columns"


@settings(max_examples=14, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(["mondrian", "mondrian:extent=region", "refine"]))
def test_ends_hold_the_values_of_their_class_and_answers_hold_the_truth(seed, missing, algorithm):
    table = people(seed, missing=missing)
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", algorithm=algorithm, ranges="columns")
    weights = table["weight"].to_numpy()
    for column, low, high in (("weight", -4.9, 3.0), ("age", 5, 30)):
        values = [value for value in table[column].to_pylist() if value is not None]
        truth = sum(low <= value <= high for value in values)
        answer = ind.query(release.table, f"SELECT COUNT(*) WHERE {column} BETWEEN {low} AND {high}", SCHEMA)
        assert answer.low <= truth <= answer.high
    starts, ends = (release.table[name].to_pylist() for name in ("weight_from", "weight_to"))
    for start, end in zip(starts, ends, strict=True):
        inside = [w for w in weights if (start is None or w >= start) and (end is None or w <= end)]
        assert len(inside) >= 3


def test_the_engine_duckdb_publishes_the_same_columns(tmp_path):
    pytest.importorskip("duckdb")
    table = people(7, missing=True)
    pq.write_table(table, tmp_path / "people.parquet")
    rows = []
    for engine in ("memory", "duckdb"):
        out = tmp_path / f"{engine}.csv"
        ind.anonymize(
            tmp_path / "people.parquet",
            SCHEMA,
            model="k-anonymity:k=3",
            algorithm="mondrian",
            ranges="columns",
            engine=engine,
            output=out,
        )
        assert ind.verify(out, SCHEMA, "k-anonymity:k=3").holds
        rows.append(Counter(out.read_text().splitlines()))
    assert rows[0] == rows[1]


def test_what_cannot_be_columns_is_refused_by_name():
    table = people(1, missing=False)
    with pytest.raises(ind.ParameterError, match="anatomy publishes unmodified values"):
        ind.anonymize(table, SCHEMA, algorithm="anatomy:l=2", ranges="columns")
    with pytest.raises(ind.ParameterError, match="numeric=bounds"):
        ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian:numeric=bounds", ranges="columns")
    with pytest.raises(ind.ParameterError, match="must be one of labels, columns"):
        ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", ranges="numbers")
    clash = ind.Schema(quasi=["age"], insensitive=["age_to"])
    with pytest.raises(ind.SchemaError, match="'age_to', which the table has already"):
        ind.anonymize(
            pa.table({"age": [1, 2, 3], "age_to": [1, 2, 3]}), clash, model="k-anonymity:k=3", ranges="columns"
        )


def test_labels_that_are_no_ranges_stay():
    table = pa.table({"zip": ["02138", "02139", "02141", "02142"] * 3, "ill": ["a", "b"] * 6})
    schema = ind.Schema(quasi=["zip"], sensitive=["ill"])
    release = ind.anonymize(
        table,
        schema,
        model="k-anonymity:k=4",
        algorithm="optimal",
        hierarchies={"zip": ind.Hierarchy.masking()},
        ranges="columns",
    )
    assert release.table.column_names == ["zip", "ill"]
