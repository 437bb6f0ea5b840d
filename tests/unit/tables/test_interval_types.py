"""Intervals and periods of frames are read as texts, and a release goes to other libraries as an Arrow stream."""

import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind

ROWS = 200


def people(*, missing=True):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": pd.array(rng.integers(18, 90, ROWS), dtype="Int64"),
            "height": rng.normal(170, 10, ROWS),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, ROWS), unit="D"),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**7, ROWS), unit="s"),
            "disease": rng.choice(["cold", "flu"], ROWS),
        }
    )
    if missing:
        for name in frame:
            frame.loc[rng.random(ROWS) < 0.04, name] = None
    return frame


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("coded", [True, False])
def test_intervals_of_pandas_cut_are_published_as_texts(closed, coded):
    ages = people()["age"].astype(float)
    cut = pd.cut(ages, [0, 30, 60, 100], right=closed == "right")
    frame = pd.DataFrame({"age": cut if coded else pd.arrays.IntervalArray(cut), "disease": "flu"})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(frame, schema, model=ind.KAnonymity(3), algorithm="datafly")
    shown = {"right": {"(0, 30]", "(30, 60]", "(60, 100]"}, "left": {"[0-30)", "[30-60)", "[60-100)"}}[closed]
    assert set(release.table["age"].to_pylist()) == {*shown, None}
    if coded:  # categories that are published unmodified keep their order
        table = frame.assign(ward=np.arange(ROWS) % 2)
        unmodified = ind.Schema(quasi=["ward"], sensitive=["age", "disease"])
        again = ind.anonymize(table, unmodified, model=ind.KAnonymity(3)).to_pandas()["age"]
        assert again.cat.ordered
        assert set(again.cat.categories) == shown


def test_periods_are_published_as_texts():
    months = pd.period_range("2023-11", periods=4, freq="M")[np.arange(ROWS) % 4]
    frame = pd.DataFrame({"month": months, "quarter": months.asfreq("Q"), "disease": "flu"})
    frame.loc[:3, "month"] = pd.NaT
    schema = ind.Schema(quasi=["month"], insensitive=["quarter"], sensitive=["disease"])
    release = ind.anonymize(frame, schema, model=ind.KAnonymity(3), algorithm="datafly")
    assert set(release.table["month"].to_pylist()) == {"2023-11", "2023-12", "2024-01", "2024-02", None}
    assert set(release.table["quarter"].to_pylist()) == {"2023Q4", "2024Q1"}


@pytest.mark.parametrize("imported", ["pandas", "pyarrow"])
def test_periods_in_a_file_are_refused_as_the_numbers_that_they_are(tmp_path, imported):
    frame = pd.DataFrame({"month": pd.period_range("2023-11", periods=40, freq="M"), "disease": "flu"})
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({name: pa.Array.from_pandas(frame[name]) for name in frame}), path)
    code = (
        f"import {imported}, indistinct as ind\n"
        "try:\n"
        f"    ind.inspect({str(path)!r})\n"
        "except ind.InputError as error:\n"
        "    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "has periods of pandas" in told
    assert "astype(str)" in told


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:extent=region", "optimal"])
@pytest.mark.parametrize("quasi", [["age", "born"], ["height"], ["seen", "age"]])
def test_frames_with_intervals_verify(quasi, algorithm, missing):
    frame = people(missing=missing)[[*quasi, "disease"]]
    schema = ind.Schema(quasi=quasi, sensitive=["disease"])
    hierarchies = {
        "age": ind.Hierarchy.intervals([10, 40]),
        "height": ind.Hierarchy.intervals([5, 20]),
        "born": ind.Hierarchy.dates(),
        "seen": ind.Hierarchy.dates(),
    }
    given = {name: hierarchies[name] for name in quasi} if algorithm == "optimal" else None
    release = ind.anonymize(frame, schema, model=ind.KAnonymity(4), algorithm=algorithm, hierarchies=given)
    for shown in (release.to_pandas(intervals=True), release.to_polars(intervals=True), release):
        assert ind.verify(shown, schema, ind.KAnonymity(4), hierarchies=given or {}).holds


def test_a_release_is_an_arrow_stream_without_metadata():
    frame = people()[["age", "disease"]]
    frame.attrs["source"] = "hospital"
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(frame, schema, model=ind.KAnonymity(4), algorithm="mondrian")
    table = pa.table(release)
    assert table.schema.metadata is None
    assert all(field.metadata is None for field in table.schema)
    assert not any(pa.types.is_dictionary(kind) for kind in table.schema.types)
    assert table.to_pydict() == release.to_polars().to_dict(as_series=False)
    assert pl.DataFrame(release).equals(release.to_polars())
    assert duckdb.sql("select count(*) from release").fetchall() == [(table.num_rows,)]
    assert ind.verify(pl.DataFrame(release), schema, ind.KAnonymity(4)).holds


def test_other_objects_are_refused_by_the_name_of_their_column():
    frame = pd.DataFrame({"age": [pd.Interval(0, 1), "x"], "disease": ["flu", "flu"]})
    with pytest.raises(ind.InputError, match="column 'age' mixes types"):
        ind.inspect(frame)
