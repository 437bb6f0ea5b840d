"""Text and Parquet files that the engine duckdb reads in blocks are read as memory reads them."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.engines.duckdb import DuckDB
from indistinct.errors import InputError, ParameterError
from indistinct.tables import Reading, open_table, streamed
from indistinct.tables.value import declare

DUCK = DuckDB(memory=1 << 28)

# What people write into a column: each is drawn from one or two of these, so that columns are pure or mixed.
ODD = ["", " ", 'a "quoted" word', "line\nbreak", "a,b", "NA", "-99", "東京", "02138", "total"]
WORDS = st.sampled_from(["Oslo", "naïve", *ODD])
WHOLE = st.integers(-(10**20), 10**20).map(str) | st.integers(-9, 99).map(str)
DECIMALS = st.decimals(-999, 999, places=2).map(str) | st.sampled_from(["1e3", ".5", "-0", "-0.0", "1e400"])
FOREIGN = st.sampled_from(["1,5", "1.234,50", "12", "7,0", "-3,25"])
AMOUNTS = st.sampled_from(["$5", "7 %", "$1.50", "９", "12", "+4"])
DAYS = st.dates().map(str) | st.sampled_from(["2024-02-31", "2024-01-01"])
GERMAN = st.sampled_from(["31.01.2024", "1.2.2023", "31.02.2024", "05.06.1999", "05.06.70"])
MOMENTS = st.sampled_from(["2024-01-01 10:00", "2024-01-01T10:00:30", "2023-12-31 23:59:59.5"])
EMPTY = st.sampled_from(["", "", "-99"])
KINDS = [WORDS, WHOLE, DECIMALS, FOREIGN, AMOUNTS, DAYS, GERMAN, MOMENTS, EMPTY]

READINGS = st.fixed_dictionaries(
    {},
    optional={
        "columns": st.sampled_from([["a"], ["b", "a"]]),
        "missing": st.sampled_from([["", "-99"], ["-99"], {"*": [""], "a": ["NA", "12"]}]),
        "decimal": st.just(","),
        "thousands": st.just("."),
        "dates": st.sampled_from(["%d.%m.%Y", "%d.%m.%y", {"b": "%d.%m.%Y"}, ["%d.%m.%Y", "%Y-%m-%d"]]),
        "text": st.just(["c"]),
        "skip_rows": st.sampled_from([0, 1]),
        "comment": st.just("#"),
        "trim": st.just(True),
        "nameless": st.sampled_from(["drop", "name"]),
        "types": st.sampled_from([{"a": "number"}, {"a": "integer"}, {"a": "date"}, {"b": "datetime"}, {"a": "text"}]),
    },
)


@st.composite
def columns(draw, rows):
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2))
    late = draw(st.booleans())
    cells = [draw(kinds[0]) for _ in range(rows)]
    return [*cells[:-1], draw(kinds[-1])] if late and cells else cells


@st.composite
def texts(draw, names=("a", "b", "c")):
    rows = draw(st.integers(0, 9))
    made = [draw(columns(rows)) for _ in names]
    out = io.StringIO()
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer = csv.writer(out, delimiter=draw(st.sampled_from([",", ";"])), quoting=quoting, lineterminator="\n")
    out.write(draw(st.sampled_from(["", "", "# made by hand\n", "Title\n", "sep=;\n"])))
    writer.writerow(names)
    writer.writerows(zip(*made, strict=True))
    return out.getvalue() + draw(st.sampled_from(["", "\n", ",,\n"]))


def outcome(read):
    """Return what a reading gives as plain values, or how it fails."""
    try:
        return read()
    except (InputError, ParameterError) as error:
        return type(error)  # which one of several errors comes first may differ


def in_memory(source, how):
    table = open_table(source, reading=how)
    kinds = [getattr(each.type, "value_type", each.type) for each in table.data.schema]
    return table.columns, kinds, table.data.to_pylist(), table.left_out


def in_blocks(source, how):
    table = DUCK.open(source, how)
    batches = [each.cast(table.arrow) for each in table.batches(table.columns)]
    found = pa.concat_tables([*batches, table.arrow.empty_table()])
    assert table.rows == found.num_rows
    return table.columns, [each.type for each in table.arrow], found.to_pylist(), table.left_out


def declared(options):
    try:
        return declare(**options)
    except ParameterError:
        return Reading()


@settings(deadline=None, max_examples=60)
@given(parts=st.lists(texts(), min_size=1, max_size=3), options=READINGS, block=st.sampled_from([64, 1 << 22]))
def test_text_files_are_read_as_memory_reads_them(tmp_path_factory, parts, options, block):
    folder, how = tmp_path_factory.mktemp("parts"), declared(options)
    for number, text in enumerate(parts):
        (folder / f"part {number}.csv").write_text(text, encoding="utf-8", newline="")
    before, streamed.BLOCK_BYTES = streamed.BLOCK_BYTES, block
    try:
        assert outcome(lambda: in_blocks(folder, how)) == outcome(lambda: in_memory(folder, how))
    finally:
        streamed.BLOCK_BYTES = before


@settings(deadline=None, max_examples=25)
@given(data=st.data(), options=READINGS)
def test_declarations_hold_for_parquet_as_they_do_in_memory(tmp_path_factory, data, options):
    rows, how = data.draw(st.integers(1, 8)), declared(options)
    made = {name: data.draw(columns(rows)) for name in ("a", "b", "c")}
    path = tmp_path_factory.mktemp("parquet") / "table.parquet"
    numbers = data.draw(st.lists(st.integers(-99, 12) | st.none(), min_size=rows, max_size=rows))
    pq.write_table(pa.table({**made, "n": pa.array(numbers, pa.int64())}), path, row_group_size=3)
    assert outcome(lambda: in_blocks(path, how)) == outcome(lambda: in_memory(path, how))
