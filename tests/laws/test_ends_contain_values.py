"""Published ranges contain every value of their class: all types, hierarchies, forms of ranges and formats of files."""

import datetime as dt
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import hierarchy_from_json
from indistinct.recoding.codebook import codebook_of
from indistinct.recoding.columns import columns_of
from indistinct.view.read_back import cover_of_rows

SCHEMA = ind.Schema(quasi=["x"], insensitive=["row"])
MOMENTS = st.one_of(
    st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2090, 1, 1)),
    # Ends of days, months and years, and the moments around them.
    st.builds(
        lambda year, month, step: dt.datetime(year, month, 1) + dt.timedelta(microseconds=step),
        st.integers(1968, 1972), st.integers(1, 12), st.sampled_from([-1, 0, 1, -1000, 1000, -10**6, 80_160 * 10**6]),
    ),
)  # fmt: skip
DAYS = st.one_of(
    st.dates(),
    st.dates(dt.date(2023, 11, 1), dt.date(2024, 4, 1)),
    st.just(dt.date(9999, 12, 31)),
    st.just(dt.date.min),
)
FLOATS = st.one_of(
    st.floats(-1e6, 1e6, width=32),
    st.integers(-40, 40).map(lambda n: n / 10),
    st.sampled_from([0.0, -0.0, 1e300, 5e-324]),
)
SINGLES = st.one_of(st.floats(-1e6, 1e6, width=32), st.integers(-40, 40).map(lambda n: float(np.float32(n / 10))))
WHOLE = st.one_of(st.integers(-50, 50), st.sampled_from([2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]))


def moments(unit, zone=None):
    return (pa.timestamp(unit, zone), MOMENTS)


KINDS = {
    "int64": (pa.int64(), WHOLE),
    "uint8": (pa.uint8(), st.integers(0, 255)),
    "float64": (pa.float64(), FLOATS),
    "float32": (pa.float32(), SINGLES),
    "decimal": (pa.decimal128(12, 2), st.integers(-4000, 4000).map(lambda n: Decimal(n).scaleb(-2))),
    "date32": (pa.date32(), DAYS),
    "date64": (pa.date64(), DAYS),
    "s": moments("s"),
    "ms": moments("ms"),
    "us": moments("us"),
    "ns": moments("ns"),
    "zone": moments("us", "Europe/Berlin"),
    "text dates": (pa.string(), MOMENTS.map(lambda moment: moment.isoformat(sep=" "))),
}
CALENDARS = [
    ["day"],
    ["day", "month", "year"],
    ["month"],
    ["quarter", "decade"],
    ["year"],
    ["month", "quarter", "year", "decade"],
]
NUMBERS = [{"intervals": [5, 20]}, {"intervals": [0.1, 0.5, 2]}, {"cuts": [[-7, 0, 12]]}, {"cuts": [[0.1, 0.7, 3.3]]}]


def hierarchies_for(kind):
    if pa.types.is_string(kind):
        return [*({"dates": levels} for levels in CALENDARS), {"mask": "right"}, {"suppression": True}]
    if pa.types.is_temporal(kind):
        return [None, *({"dates": levels} for levels in CALENDARS), {"suppression": True}]
    return [None, *NUMBERS, {"suppression": True}, {"mask": "right"}]


@st.composite
def cases(draw):
    kind, values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    cells = draw(st.lists(st.one_of(values, values, values, st.none()), min_size=6, max_size=24))
    if all(cell is None for cell in cells):
        cells[0] = draw(values)
    if pa.types.is_timestamp(kind):
        column = pa.array(cells, pa.timestamp("us")).cast(pa.timestamp(kind.unit), safe=False)
        column = pc.assume_timezone(column, kind.tz, ambiguous="earliest", nonexistent="latest") if kind.tz else column
    else:
        column = pa.array(cells, kind)
    hierarchy = draw(st.sampled_from(hierarchies_for(kind)))
    ways = ["mondrian", "mondrian:extent=region", "mondrian:relaxed=true", "mondrian:numeric=bounds", "refine"]
    algorithm = draw(st.sampled_from(ways if hierarchy is None else [*ways, "optimal", "optimal", "optimal", "kaca"]))
    ranges = "labels" if "bounds" in algorithm else draw(st.sampled_from(["labels", "columns", "columns"]))
    return column, hierarchy, algorithm, ranges, draw(st.sampled_from([None, None, "csv", "parquet", "arrow", "xlsx"]))


def line(value):
    """Return a value as it is compared: a number, or the moment at which a day begins."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


def originals(column):
    """Return what a column says, as the clock on the wall showed it and to the microsecond."""
    if pa.types.is_timestamp(column.type):
        column = pc.local_timestamp(column) if column.type.tz else column
        column = column.cast(pa.timestamp("us"), safe=False)
    return [line(value) for value in column.to_pylist()]


def ends_of(table, row):
    """Return the published ends of a row: None if open, and the word about missing values."""
    for first, last in (("x_from", "x_to"), ("x_min", "x_max")):
        if first in table.column_names:
            missing = table["x_missing"][row].as_py() if "x_missing" in table.column_names else "no"
            return line(table[first][row].as_py()), line(table[last][row].as_py()), missing
    return None


def as_written(end, kind):
    """Return an end as a value of the column: labels and text files have as many digits as tell its numbers apart."""
    if isinstance(end, str) and pa.types.is_temporal(kind):
        return dt.datetime.fromisoformat(end)
    if isinstance(end, str | float) and pa.types.is_decimal(kind):
        return Decimal(str(end))
    if isinstance(end, str):
        end = int(end) if pa.types.is_integer(kind) else float(end)
    return float(np.float32(end)) if isinstance(end, float) and pa.types.is_float32(kind) else line(end)


def check_ends(table, values, kind):
    """Two columns, where ranges are published as two, contain the value of every row."""
    if "x" in table.column_names:
        return
    for row, number in enumerate(table["row"].to_pylist()):
        *ends, missing = ends_of(table, row)
        low, high = (as_written(end, kind) for end in ends)
        value = values[int(number)]
        if value is None:
            assert missing in ("some", "all", "true", True)
            continue
        assert missing != "all"
        assert low is None or low <= value, (low, value)
        assert high is None or value <= high, (value, high)


def check_labels(table, values, kind):
    """Labels that are ranges by themselves contain the value of every row, as a codebook reads them."""
    if "x" not in table.column_names:
        return
    book = {entry.label: entry for entry in codebook_of(table.select(["x"]), columns=["x"])}
    days = all(":" not in (label or "") for label in book)
    for number, label in zip(table["row"].to_pylist(), table["x"].cast(pa.string()).to_pylist(), strict=True):
        entry, value = book[label], values[int(number)]
        if value is None:
            assert entry.missing
        elif entry.kind in ("value", "range"):
            ends = (entry.low, entry.high)
            low, high = (end if isinstance(end, str) else as_written(end, kind) for end in ends)
            if isinstance(value, dt.datetime) and not isinstance(low or high or value, dt.datetime):
                continue  # years alone look like numbers
            if days and isinstance(high, dt.datetime) and entry.high_inside and high < dt.datetime.max:
                high += dt.timedelta(days=1) - dt.timedelta(microseconds=1)  # a day is all of it
            assert low is None or low <= value, (label, value)
            assert high is None or value < high or (entry.high_inside and value == high), (label, value)


def check_cover(table, column, hierarchy):
    """Read back beside the original, what a row shows covers its value."""
    encoded = encode_column("x", pa.chunked_array([column]))
    known = columns_of([encoded.domain], {} if hierarchy is None else {"x": hierarchy})
    (cover,) = cover_of_rows(table, known, schema=SCHEMA)
    for place, number in enumerate(table["row"].to_pylist()):
        code = int(encoded.codes[int(number)])
        runs = range(int(cover.indptr[place]), int(cover.indptr[place + 1]))
        assert any(cover.low[run] <= code <= cover.high[run] for run in runs)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_published_ranges_contain_every_value_of_their_class(case):
    column, written, algorithm, ranges, suffix = case
    hierarchy = None if written is None else hierarchy_from_json(written, base=Path())
    table = pa.table({"x": column, "row": [str(n) for n in range(len(column))]})
    job = {"model": "k-anonymity:k=2", "algorithm": algorithm, "ranges": ranges, "suppression": 0.4}
    job["hierarchies"] = {} if hierarchy is None else {"x": hierarchy}
    with tempfile.TemporaryDirectory() as folder:
        output = None if suffix is None else Path(folder) / f"release.{suffix}"
        try:
            release = ind.anonymize(table, SCHEMA, **job, **({"output": output} if output else {}))
        except ind.HierarchyError as error:
            assume("too large for intervals" not in error.message)
            raise
        published = release.table if output is None else ind.open(output).data
    if not len(published) or published[published.column_names[0]].null_count == len(published):
        return
    values = originals(column)
    if not pa.types.is_string(column.type):
        check_ends(published, values, column.type)
        check_labels(published, values, column.type)
    check_cover(published, column, hierarchy)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "xlsx", "sav", "dta"])
@pytest.mark.parametrize("ranges", ["columns", "bounds"])
@pytest.mark.parametrize("level", ["day", "month", "quarter", "year"])
def test_the_last_evening_of_a_month_lies_inside_in_every_format(level, ranges, suffix, tmp_path):
    evening = dt.datetime(2024, 3, 31, 22, 16)
    moments = [evening, evening + dt.timedelta(hours=1), *[dt.datetime(2024, 2, 1)] * 2, *[dt.datetime(2024, 3, 1)] * 2]
    table = pa.table({"x": pa.array(moments, pa.timestamp("us")), "row": [str(n) for n in range(6)]})
    form = {"algorithm": "mondrian:numeric=bounds"}
    if ranges == "columns":
        form = {"algorithm": "optimal", "ranges": "columns", "hierarchies": {"x": ind.Hierarchy.dates([level])}}
    output = tmp_path / f"release.{suffix}"
    ind.anonymize(table, SCHEMA, model="k-anonymity:k=2", output=output, **form)
    check_ends(ind.open(output).data, originals(table["x"]), table["x"].type)
    assert ind.verify(output, SCHEMA, "k-anonymity:k=2").holds
