"""Moments that are all at midnight are days: in what is counted, in published labels and in what is read back."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyreadstat
import pytest

import indistinct as ind
from indistinct.frequencies.encode import encode_column
from indistinct.tables.domain import days_of, plain_column
from references.sheets import spreadsheet

ROWS = 40
SCHEMA = ind.Schema(quasi=["seen"], sensitive=["ill"])
JOB = {"model": "k-anonymity:k=4", "algorithm": "mondrian", "seed": 1}
MOMENTS = [dt.datetime(2024, 1, 1) + dt.timedelta(days=3 * (row // 2)) for row in range(ROWS)]


def frame(kind=None, *, hours=0, zone=None):
    seen = pa.array([each + dt.timedelta(hours=hours) for each in MOMENTS], kind or pa.timestamp("us"))
    seen = seen if zone is None else pc.assume_timezone(seen, zone)
    return pa.table({"seen": seen, "ill": ["flu", "gout", "asthma", "HIV"] * (ROWS // 4)})


def parquet(folder):
    pq.write_table(frame(), folder / "a.parquet")
    return folder / "a.parquet"


def text(folder):
    lines = [f"{seen:%Y-%m-%d %H:%M:%S},{ill}" for seen, ill in zip(MOMENTS, frame()["ill"].to_pylist(), strict=True)]
    (folder / "a.csv").write_text("seen,ill\n" + "\n".join(lines) + "\n")
    return folder / "a.csv"


def sas(folder):
    since = [(each - dt.datetime(1960, 1, 1)).total_seconds() for each in MOMENTS]
    cells = pd.DataFrame({"seen": since, "ill": frame()["ill"].to_pylist()})
    pyreadstat.write_xport(cells, folder / "a.xpt", variable_format={"seen": "DATETIME20."})
    return folder / "a.xpt"


def workbook(folder):
    rows = [["seen", "ill"], *map(list, zip(MOMENTS, frame()["ill"].to_pylist(), strict=True))]
    (folder / "a.xlsx").write_bytes(spreadsheet({"People": rows}))
    return folder / "a.xlsx"


def labels(release):
    return sorted(set(release.table["seen"].to_pylist()))


WANTED = labels(ind.anonymize(frame(pa.date32()), SCHEMA, **JOB))


@pytest.mark.parametrize(
    ("source", "engine"),
    [*((source, "memory") for source in (parquet, text, sas, workbook)), (parquet, "duckdb"), (text, "duckdb")],
)
def test_days_are_published_from_every_format_and_engine(tmp_path, source, engine):
    release = ind.anonymize(source(tmp_path), SCHEMA, engine=engine, **JOB)
    shown = release.table if isinstance(release.table, pa.Table) else ind.open(release.table).data
    assert sorted(set(shown["seen"].to_pylist())) == WANTED
    assert WANTED[0] == "[2024-01-01 .. 2024-01-07]"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Zurich", "Asia/Kathmandu"])
def test_midnight_is_that_of_the_clock_on_the_wall(unit, zone):
    assert labels(ind.anonymize(frame(pa.timestamp(unit), zone=zone), SCHEMA, **JOB)) == WANTED


def test_midnight_elsewhere_is_an_hour():
    moments = frame(zone="UTC")["seen"].cast(pa.timestamp("us", "Asia/Tokyo"))
    elsewhere = frame().set_column(0, "seen", moments)
    assert labels(ind.anonymize(elsewhere, SCHEMA, **JOB))[0].startswith("[2024-01-01 09:00")


def test_one_hour_keeps_all_hours():
    moments = pa.chunked_array([pa.array([*MOMENTS, dt.datetime(2024, 1, 1, 1)], pa.timestamp("us"))])
    assert days_of(moments).type == pa.timestamp("us")
    assert days_of(moments[:-1]).type == pa.date32()
    before = pa.chunked_array([pa.array([dt.datetime(1931, 5, 6), None], pa.timestamp("us"))])
    assert days_of(before).to_pylist() == [dt.date(1931, 5, 6), None]
    nothing = pa.chunked_array([pa.nulls(2, pa.timestamp("us"))])
    assert days_of(nothing).type == pa.timestamp("us")
    assert encode_column("seen", moments).domain.texts()[0] == "2024-01-01 00:00:00.000000"


def test_a_release_of_days_is_read_back(tmp_path):
    table = frame()
    release = ind.anonymize(table, SCHEMA, output=tmp_path / "out.csv", **JOB)
    figures = ind.measure_table(tmp_path / "out.csv", SCHEMA, original=table)
    assert figures["gcp"] == pytest.approx(ind.measure(release)["gcp"])
    assert ind.verify(tmp_path / "out.csv", SCHEMA, "k-anonymity:k=4").holds


def test_a_recoding_of_days_takes_the_day_of_each_moment():
    recoding = ind.anonymize(frame(), SCHEMA, **JOB).recoding
    assert labels(ind.apply(recoding, frame())) == WANTED
    assert labels(ind.apply(recoding, frame(pa.date32()))) == WANTED
    assert labels(ind.apply(recoding, frame(hours=1))) == WANTED


def test_a_population_may_have_hours():
    people = pa.concat_tables([frame(), frame(hours=1)])
    release = ind.anonymize(frame(), SCHEMA, **{**JOB, "model": "k-map:k=4"}, population=people)
    assert release.certificate.holds


def test_columns_that_are_not_recoded_keep_their_type():
    schema = ind.Schema(quasi=["ill"], insensitive=["seen"])
    release = ind.anonymize(frame(), schema, **JOB)
    assert release.table["seen"].type == pa.timestamp("us")
    assert plain_column("seen", frame()["seen"]).type == pa.timestamp("us")
