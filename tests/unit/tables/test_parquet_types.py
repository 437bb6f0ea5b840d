"""Parquet of every type and encoding: read alike by the engines that open files, or refused by the name of a column."""

import base64
import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

import indistinct as ind
from indistinct.cli import main
from indistinct.errors import InputError
from indistinct.job.policy import read_policy
from references.sheets import spreadsheet

ROWS = 8
AGE = pa.array([30] * 4 + [40] * 4)
DAYS = [dt.date(2020, 1, 1 + row) for row in range(ROWS)]
MOMENTS = [dt.datetime(2020, 1, 1 + row, 3, 4, 5) for row in range(ROWS)]
AMOUNTS = [Decimal("1.25")] * 4 + [Decimal("-2.50")] * 4
LETTERS = list("aabbccdd")
ENGINES = ("memory", "duckdb")


class Number(pa.ExtensionType):
    """A type that somebody registered."""

    def __init__(self):
        super().__init__(pa.int64(), "indistinct.tests.number")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage, _serialized):
        return cls()


def extension(kind, storage):
    return pa.ExtensionArray.from_storage(kind, storage)


WIDTHS = {f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for bits in (8, 16, 32, 64) for sign in ("", "u")}
READ = {
    **{name: pa.array([1, 2, 3, 4, 5, 6, 7, 100], kind) for name, kind in WIDTHS.items()},
    "large uint64": pa.array([*range(ROWS - 1), 2**64 - 1], pa.uint64()),
    "half": pa.array(np.arange(ROWS, dtype=np.float16)),
    "float": pa.array([0.0, *range(1, ROWS)], pa.float32()),
    "double": pa.array([0.0, *range(1, ROWS)], pa.float64()),
    "largest is minus zero": pa.array([-0.0, *range(-7, 0)], pa.float64()),
    "not a number": pa.array([float("nan"), *range(1, ROWS)], pa.float64()),
    "no number at all": pa.array([float("nan")] * ROWS),
    "infinite": pa.array([float("inf"), -float("inf"), *range(6)], pa.float64()),
    **{f"decimal{bits}": pa.array(AMOUNTS, getattr(pa, f"decimal{bits}")(7, 2)) for bits in (32, 64, 128, 256)},
    "day": pa.array(DAYS, pa.date32()),
    "day in ms": pa.array(DAYS, pa.date64()),
    **{f"moment {unit}": pa.array(MOMENTS, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    **{f"zoned {unit}": pa.array(MOMENTS, pa.timestamp(unit, "Europe/Paris")) for unit in ("s", "ms", "us", "ns")},
    "nanoseconds": pa.array([1577934245000000001 + row for row in range(ROWS)], pa.timestamp("ns")),
    **{f"lasts {unit}": pa.array(range(ROWS), pa.duration(unit)) for unit in ("s", "ms", "us", "ns")},
    **{f"hour {unit}": pa.array([dt.time(3, row) for row in range(ROWS)], pa.time32(unit)) for unit in ("s", "ms")},
    **{f"hour {unit}": pa.array([dt.time(3, row) for row in range(ROWS)], pa.time64(unit)) for unit in ("us", "ns")},
    "truth": pa.array([True, False] * 4),
    "string": pa.array(LETTERS),
    "long string": pa.array([letter * 300 for letter in LETTERS]),
    "large string": pa.array(LETTERS, pa.large_string()),
    "string view": pa.array(LETTERS, pa.string_view()),
    "coded string": pa.array(LETTERS).dictionary_encode(),
    "coded number": pa.array([1, 1, 2, 2, 3, 3, 4, 4]).dictionary_encode(),
    "coded day": pa.array(DAYS).dictionary_encode(),
    "nothing": pa.nulls(ROWS),
    "missing number": pa.nulls(ROWS, pa.int64()),
    "uuid": extension(pa.uuid(), pa.array([bytes([row]) * 16 for row in range(ROWS)], pa.binary(16))),
    "json": extension(pa.json_(), pa.array(['{"a": 1}'] * ROWS)),
    "bool8": extension(pa.bool8(), pa.array([1, 0] * 4, pa.int8())),
    "registered": extension(Number(), pa.array(range(ROWS))),
}
REFUSED = {
    "binary": pa.array([b"a", b"\xff"] * 4),
    "large binary": pa.array([b"a", b"\xff"] * 4, pa.large_binary()),
    "binary view": pa.array([b"a", b"\xff"] * 4, pa.binary_view()),
    "fixed binary": pa.array([b"ab", b"\xff\xfe"] * 4, pa.binary(2)),
    "list": pa.array([[1, 2]] * ROWS),
    "large list": pa.array([[1, 2]] * ROWS, pa.large_list(pa.int64())),
    "fixed list": pa.array([[1, 2]] * ROWS, pa.list_(pa.int64(), 2)),
    "struct": pa.array([{"x": 1, "y": "a"}] * ROWS),
    "map": pa.array([[("a", 1)]] * ROWS, pa.map_(pa.string(), pa.int64())),
    "deep": pa.array([{"x": [{"y": {"z": 1}}]}] * ROWS),
    "late moments in a struct": pa.array([{"t": 2**62}] * ROWS, pa.struct([("t", pa.timestamp("us"))])),
    "late days in a list": pa.array([[2**30]] * ROWS, pa.list_(pa.date32())),
    "late hours in a map": pa.array([[("a", 2**62)]] * ROWS, pa.map_(pa.string(), pa.duration("s"))),
}
WHOLE = pa.table({"age": AGE, **READ})


def written(table, folder, name="table.parquet", **options):
    path = folder / name
    pq.write_table(table, path, **options)
    return path


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return written(WHOLE, tmp_path_factory.mktemp("types"))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_plain_type_is_released(engine, everything, tmp_path):
    schema = ind.Schema(quasi=["age"], insensitive=list(READ))
    out = tmp_path / "out.parquet"
    ind.anonymize(everything, schema, model="k-anonymity:k=4", engine=engine, output=out)
    assert ind.verify(out, schema, "k-anonymity:k=4", engine=engine).holds
    assert ind.scan(out, schema=schema).clean
    published = ind.open(out)
    assert published.columns == ("age", *READ)
    uuids = {f"{row:02x}" * 4 + f"-{row:02x}{row:02x}" * 3 + "-" + f"{row:02x}" * 6 for row in range(ROWS)}
    assert set(published.data["uuid"].to_pylist()) == uuids
    assert sorted(published.data["decimal32"].to_pylist()) == sorted(AMOUNTS)
    assert set(map(str, published.data["bool8"].to_pylist())) == {"True", "False"}


def test_every_plain_type_is_inspected_and_scanned(everything):
    assert ind.inspect(ind.open(everything)).rows == ROWS
    assert ind.scan(everything, schema=ind.Schema(quasi=["age"], insensitive=list(READ))).clean


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_value_is_refused_by_name_and_can_be_left_out(name, engine, tmp_path):
    path = written(pa.table({"age": AGE, "v": REFUSED[name]}), tmp_path)
    with pytest.raises(InputError, match="column 'v' has the type") as raised:
        ind.open(path, engine=engine)
    assert "--columns" in raised.value.hint
    assert ind.open(path, engine=engine, columns=["age"]).columns == ("age",)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_value_is_scanned(name, tmp_path):
    assert ind.scan(written(pa.table({"age": AGE, "v": REFUSED[name]}), tmp_path)).clean


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_text_in_every_encoding_is_read(encoding, engine, tmp_path):
    texts = ["", "a", None, "b"] * 500
    table = pa.table({"age": [30] * 2000, "v": texts})
    path = written(table, tmp_path, use_dictionary=False, column_encoding={"v": encoding, "age": "PLAIN"})
    (batch,) = ind.open(path, engine="duckdb").batches(["v"]) if engine == "duckdb" else (ind.open(path).data,)
    assert batch["v"].to_pylist() == texts
    assert ind.scan(path).clean


def test_moments_in_96_bits_are_read(tmp_path):
    path = written(pa.table({"age": AGE, "v": MOMENTS}), tmp_path, use_deprecated_int96_timestamps=True)
    assert ind.open(path).data["v"].to_pylist() == MOMENTS
    assert ind.scan(path).clean


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_stands_twice_is_named(engine, tmp_path):
    path = written(pa.table([AGE, AGE], names=["v", "v"]), tmp_path)
    with pytest.raises(InputError, match="have the same name: 'v'"):
        ind.open(path, engine=engine)


class Keys(encryption.KmsClient):
    """Keeps keys for nobody: these are only for a test."""

    def __init__(self, _configuration):
        super().__init__()

    def wrap_key(self, key, _master):
        return base64.b64encode(key)

    def unwrap_key(self, key, _master):
        return base64.b64decode(key)


def sealed(folder):
    """Write a file of which one column is encrypted."""
    config = encryption.EncryptionConfiguration(footer_key="f", column_keys={"k": ["v"]}, plaintext_footer=True)
    keys = encryption.CryptoFactory(Keys)
    how = keys.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    path, table = folder / "sealed.parquet", pa.table({"age": AGE, "v": LETTERS})
    with pq.ParquetWriter(path, table.schema, encryption_properties=how) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_encrypted_columns_are_named(engine, tmp_path):
    path = sealed(tmp_path)
    with pytest.raises(InputError, match="has encrypted columns: 'v'"):
        ind.open(path, engine=engine)
    with pytest.raises(InputError, match="is encrypted"):
        ind.scan(path)
    assert ind.open(path, columns=["age"]).rows == ROWS


@pytest.mark.parametrize("tool", ["duckdb", "polars", "arrow"])
def test_statistics_of_other_tools_are_no_leak(tool, tmp_path):
    path = tmp_path / "other.parquet"
    frame = pl.DataFrame(
        {
            "age": [30] * 20,
            "from zero": [float(row) for row in range(20)],
            "to zero": [-float(row) for row in range(20)],
            "long": ["x" * 300 + str(row % 2) for row in range(20)],
            "accents": ["é" * 300 + str(row % 2) for row in range(20)],
            "cut in a letter": ["x" + "é" * 300 for row in range(20)],
            "amount": [Decimal("0.125")] * 20,
            "moment": [dt.datetime(2020, 1, 1, 0, 0, 0, row % 2 + 1) for row in range(20)],
        }
    )
    if tool == "duckdb":
        duckdb.connect().from_arrow(frame.to_arrow()).project("*, uuid() AS id").write_parquet(str(path))
    elif tool == "polars":
        frame.write_parquet(path)
    else:
        written(frame.to_arrow(), tmp_path, path.name)
    assert not [found for found in ind.scan(path).leaks if found.check == "parquet-statistics"]


def test_statistics_that_no_row_has_are_a_leak_in_every_type(tmp_path):
    """A file that is given other pages keeps the statistics of the rows that it had."""
    from indistinct.exploration.scan.parquet import _strangers

    names = [name for name in READ if name not in ("no number at all", "nothing", "missing number", "string view")]
    path = written(WHOLE.select(names), tmp_path)
    told = pq.ParquetFile(path).metadata.row_group(0)
    table = pq.read_table(path)
    checked = 0
    for number, name in enumerate(names):
        statistics, cells = told.column(number).statistics, table[name]
        if statistics is None or not statistics.has_min_max:
            continue
        few = cells.filter(pa.array([str(cell) not in map(str, ends(cells)) for cell in cells]))
        assert (_strangers(statistics, cells), _strangers(statistics, few) > 0) == (0, True), name
        checked += 1
    assert checked > 35


def ends(cells):
    """Return the smallest and the largest of some cells."""
    plain = [cell for cell in cells if cell.as_py() == cell.as_py()]
    ordered = sorted(plain, key=lambda cell: cell.as_py())
    return ordered[0], ordered[-1]


def test_columns_are_chosen_by_flag_policy_and_in_python(tmp_path, capsys):
    names = ("age", "sex", "ward")
    table = pa.table({"age": AGE, "sex": LETTERS, "ward": ["x"] * ROWS, "v": [[1]] * ROWS})
    path, out = written(table, tmp_path), tmp_path / "out.csv"
    roles = ["--quasi", "age", "--insensitive", "sex,ward", "--model", "k-anonymity:k=4"]
    for engine in ENGINES:
        flags = ["--columns", ",".join(names), "--engine", engine, "-o", str(out), "--overwrite"]
        assert main(["anonymize", str(path), *roles, *flags]) == 0
        assert ind.open(out, published=True).columns == names
    policy = tmp_path / "policy.toml"
    assert main(["inspect", str(path), "--columns", "age,sex,ward", "-o", str(policy)]) == 0
    assert 'columns = ["age", "sex", "ward"]' in policy.read_text()
    assert read_policy(policy).input.reading.columns == names
    assert main(["inspect", str(path), "--columns", "age,sxe"]) == 1
    assert "did you mean 'sex'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".xlsx", ".sav", ".dta", ".xpt", "frame", "pandas"])
def test_columns_are_chosen_in_every_format(suffix, tmp_path):
    table = pa.table({"AGE": AGE, "SEX": LETTERS, "WARD": list("xyxyxyxy")})
    source = tmp_path / f"table{suffix}"
    if suffix == "frame":
        source = table
    elif suffix == "pandas":
        source = table.to_pandas().assign(v=[object()] * ROWS)
    elif suffix == ".xlsx":
        rows = [list(row.values()) for row in table.to_pylist()]
        source.write_bytes(spreadsheet({"people": [table.column_names, *rows]}))
    else:
        schema = ind.Schema(quasi=["AGE"], insensitive=["SEX", "WARD"])
        ind.anonymize(table, schema, model="k-anonymity:k=1", output=source)
    opened = ind.open(source, columns=["WARD", "AGE"])
    assert opened.columns == ("WARD", "AGE")
    assert sorted(map(str, opened.data["AGE"].to_pylist())) == sorted(map(str, AGE.to_pylist()))
    assert opened.reading.columns == ("WARD", "AGE")


def test_a_recoding_reads_the_same_columns_of_the_next_table(tmp_path):
    table = pa.table({"age": AGE, "sex": LETTERS, "v": [[1]] * ROWS})
    path, recoding = written(table, tmp_path), tmp_path / "recoding.json"
    schema = ind.Schema(quasi=["age"], insensitive=["sex"])
    opened = ind.open(path, columns=["age", "sex"])
    ind.anonymize(opened, schema, model="k-anonymity:k=4", output=tmp_path / "a.csv", save_recoding=recoding)
    assert ind.apply(recoding, path).table.column_names == ["age", "sex"]
