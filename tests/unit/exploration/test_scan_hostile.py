"""Files that are encrypted, broken or hostile: a clear error, or what could be read; nothing runs and nothing hangs."""

import base64
import gzip
import io
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

import indistinct as ind
from indistinct.errors import InputError, OutOfMemoryError
from indistinct.exploration.scan import pickles
from references.workbooks import workbook

ROWS = [["age", "town"], [30, "Oslo"], [40, "Bergen"]]


def refusal(content, name, folder):
    path = folder / name
    path.write_bytes(content)
    with pytest.raises((InputError, OutOfMemoryError)) as caught:
        ind.scan(path)
    return str(caught.value)


def zipped(**entries):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return packed.getvalue()


def locked():
    """Return an archive whose entries say that they are encrypted."""
    content = bytearray(zipped(a="b"))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"PARE" + bytes(40) + b"PARE", "x.parquet"),
        (b"PAR1" + bytes(40) + b"PARE", "x.parquet"),
        (locked(), "x.zip"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "x.xlsx"),
    ],
)
def test_an_encrypted_file_is_an_error(content, name, tmp_path):
    assert "is encrypted" in refusal(content, name, tmp_path)


class Keys(encryption.KmsClient):
    """Keys that are wrapped in nothing."""

    def __init__(self, _configuration):
        super().__init__()

    def wrap_key(self, key_bytes, _master):
        return base64.b64encode(key_bytes)


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_columns_are_an_error(plaintext_footer, tmp_path):
    table = pa.table({"age": [1, 2], "sex": ["f", "m"]})
    how = encryption.EncryptionConfiguration("footer", column_keys={"k": ["age"]}, plaintext_footer=plaintext_footer)
    keys = encryption.CryptoFactory(Keys).file_encryption_properties(encryption.KmsConnectionConfig(), how)
    pq.write_table(table, tmp_path / "x.parquet", encryption_properties=keys)
    assert "is encrypted" in refusal((tmp_path / "x.parquet").read_bytes(), "x.parquet", tmp_path)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (OLE, "x.xls", "an older format"),
        (b"PAR1 and no footer PAR1", "x.parquet", "cannot be read as a Parquet file"),
        (b"ARROW1\0\0 and no footer ARROW1", "x.arrow", "cannot be read as an Arrow"),
        (b"FEA1" + bytes(30), "x.feather", "version 1"),
        (b"PK\x03\x04 and nothing", "x.xlsx", "cannot be read as a zip archive"),
        (b"\x80\x04 no pickle", "x.pkl", "cannot be read as a pickle"),
        (b"\x1f\x8b\x08 no gzip", "x.csv.gz", "not a complete gzip file"),
        (gzip.compress(b"age\n1\n2\n", mtime=0)[:-6], "x.csv.gz", "not a complete gzip file"),
        (b"BZh91AY", "x.csv.bz2", "compressed with bzip2"),
        (b"\0\1\2", "x.bin", "cannot be scanned"),
        (b"", "x.csv", "is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(content, name, words, tmp_path):
    assert words in refusal(content, name, tmp_path)


def test_what_is_no_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        ind.scan(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="has no file"):
        ind.scan(tmp_path)
    with pytest.raises(InputError, match="got int"):
        ind.scan(5)


def test_a_pickle_is_never_run(tmp_path):
    class Writes:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    for protocol in range(6):
        path = tmp_path / f"{protocol}.pkl"
        path.write_bytes(pickle.dumps([Writes(), "text"], protocol=protocol))
        scan = ind.scan(path)
        assert "pickle-code" in {finding.check for finding in scan.leaks}
        assert any(each.what == "the cells" for each in scan.not_checked)
    assert not (tmp_path / "ran").exists()


def test_a_pickle_of_a_plain_frame_runs_no_foreign_code(tmp_path):
    frame = pd.DataFrame({"a": range(5), "b": list("vwxyz"), "c": pd.Categorical(list("vwxyz"))})
    frame["when"] = pd.to_datetime("2024-01-01")
    frame.to_pickle(tmp_path / "a.pkl")
    scan = ind.scan(tmp_path / "a.pkl")
    assert (scan.leaks, scan.clean, str(scan.verdict)) == ((), False, "not scanned")


def test_identifiers_in_a_pickle_are_found_without_running_it(tmp_path):
    names = [f"Somebody Number{number}" for number in range(5)]
    schema = ind.Schema(["name"], ["age"])
    original = pa.table({"name": names, "age": range(5)})
    pd.DataFrame({"who": names}).to_pickle(tmp_path / "a.pkl")
    leaks = ind.scan(tmp_path / "a.pkl", original=original, schema=schema).leaks
    assert {"values-in-the-bytes"} == {finding.check for finding in leaks}


def test_a_long_pickle_is_read_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(pickles, "MAX_INSTRUCTIONS", 50)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(list(range(1000))))
    assert any(each.what == "the rest of the pickle" for each in ind.scan(tmp_path / "a.pkl").not_checked)


def test_entities_of_a_workbook_are_not_expanded(tmp_path):
    laughs = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><cp>&c;</cp>'
    for encoding in ("utf-8", "utf-16"):
        entries = {"docProps/core.xml": laughs.encode(encoding)}
        assert "document type" in refusal(workbook(ROWS, entries=entries), "x.xlsx", tmp_path)
    broken = workbook(ROWS, entries={"xl/worksheets/sheet1.xml": "<worksheet><row"})
    assert "cannot be read as a workbook" in refusal(broken, "x.xlsx", tmp_path)


def test_what_inflates_without_end_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("indistinct.machine.memory.ALLOWED_BYTES_AT_LEAST", 1 << 16)
    assert "of memory or more" in refusal(gzip.compress(b"age\n" + b"1\n" * (1 << 18)), "x.csv.gz", tmp_path)
    assert "of memory or more" in refusal(workbook([["a"], *[[1]] * 9000]), "x.xlsx", tmp_path)


def test_a_cell_far_away_does_not_take_memory(tmp_path):
    far = '<worksheet><sheetData><row r="1"><c r="XFD1"><v>1</v></c></row>'
    far += "".join(f'<row r="{row}"><c r="A{row}"><v>1</v></c></row>' for row in range(2, 3000))
    content = workbook(ROWS, entries={"xl/worksheets/sheet1.xml": far + "</sheetData></worksheet>"})
    assert "too far apart" in refusal(content, "x.xlsx", tmp_path)


def test_a_workbook_is_read_as_its_cells(tmp_path):
    (tmp_path / "x.xlsx").write_bytes(workbook([["age", "town"], [30, "a < b"], [40, "Bergen"]]))
    original = pa.table({"age": ["30", "40", "50"], "town": ["a < b", "Bergen", "Oslo"]})
    scan = ind.scan(tmp_path / "x.xlsx", original=original)
    assert (scan.kind, scan.rows, scan.clean) == ("excel", 2, True)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"hidden_row": 2}, 1),
        ({"extra": '<cols><col min="1" max="2" hidden="1"/></cols>'}, 2),
        ({"second": [["name"], ["somebody"]], "state": "hidden"}, 2),
    ],
)
def test_what_a_workbook_hides_is_counted(options, count, tmp_path):
    (tmp_path / "x.xlsx").write_bytes(workbook(ROWS, **options))
    (found,) = [finding for finding in ind.scan(tmp_path / "x.xlsx").leaks if finding.check == "workbook-hidden"]
    assert found.count == count


def test_a_hidden_sheet_shows_values_of_the_original(tmp_path):
    content = workbook(ROWS, second=[["town"], ["Hammerfest"]], state="hidden")
    (tmp_path / "x.xlsx").write_bytes(content)
    original = pa.table({"age": [30, 40, 50], "town": ["Oslo", "Bergen", "Hammerfest"]})
    leaks = ind.scan(tmp_path / "x.xlsx", original=original).leaks
    assert {"workbook-hidden", "values-in-the-bytes"} == {finding.check for finding in leaks}


def test_names_that_may_be_data_are_numbered(tmp_path):
    """The first line of a file without names may be somebody."""
    original = pa.table({"name": ["a", "b"], "age": [30, 40], "town": ["x", "y"]})
    table = pa.table({"Somebody": [f"x{n}" for n in range(30)], "31": [f"y{n}" for n in range(30)]})
    told = str(ind.scan(table, original=original).to_json())
    assert "Somebody" not in told
    assert "column number 1" in told


def test_long_texts_in_statistics_may_be_cut(tmp_path):
    from indistinct.exploration.scan.parquet import _cut

    assert [
        _cut("abc", "abcdef", last=False),
        _cut("abd", "abcdef", last=True),
        _cut("abcdef", "abcdef", last=True),
    ] == [0] * 3
    assert [_cut("zzz", "abcdef", last=True), _cut("aaa", "abcdef", last=False)] == [1, 1]


def test_what_is_not_checked_is_said(tmp_path):
    pq.write_table(pa.table({"age": np.arange(5) % 2}), tmp_path / "x.parquet")
    told = {each.what: each.reason for each in ind.scan(tmp_path / "x.parquet").not_checked}
    assert told["whether rows stand as those of the original do"] == "the original is not given"
    assert any("dictionary pages" in what for what in told)
    scan = ind.scan(
        tmp_path / "x.parquet", original=pa.table({"age": [0, 1, 0, 1, 0]}), schema=ind.Schema(quasi=["age"])
    )
    assert not any("not given" in each.reason for each in scan.not_checked)


def test_two_byte_order_marks_are_an_error_with_a_hint(tmp_path):
    content = "\ufeff\ufeffage,sex\n1,x\n2,y\n".encode("utf-16-le")
    assert "cannot be read as delimited text" in refusal(content, "x.csv", tmp_path)
    with pytest.raises(InputError):
        ind.open(tmp_path / "x.csv")


ODD = {
    "lists": pa.array([[1], None, [2, 3]]),
    "structs": pa.array([{"a": 1}, None, {"a": 2}]),
    "views": pa.array(["x", None, "y"], pa.string_view()),
    "bytes": pa.array([b"\xff", None, b"x"]),
    "nothing": pa.nulls(3),
    "huge": pa.array([2**64 - 1, None, 1], pa.uint64()),
    "half": pa.array(np.array([1, 2, 3], np.float16)),
    "spans": pa.array([1, None, 2], pa.duration("s")),
    "intervals": pa.array([pa.MonthDayNano([1, 2, 3]), None, None]),
    "codes": pa.array([1.5, None, 1.5]).dictionary_encode(),
    "viewed": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.uint8()), pa.array(["x", "y"], pa.string_view())),
    "moments": pa.array([1, None, 2], pa.timestamp("ns", "Europe/Oslo")),
}


@pytest.mark.parametrize("kind", ["frame", "arrow", "parquet"])
def test_columns_of_any_type_are_scanned(kind, tmp_path):
    kinds = {
        name: column for name, column in ODD.items() if kind != "parquet" or name not in ("intervals", "half", "viewed")
    }
    source = table = pa.table(kinds)
    original = pa.table({"views": ["x", "y", "z"], "huge": [1, 2, 3]})
    if kind == "parquet":
        source = tmp_path / "x.parquet"
        pq.write_table(table, source)
    elif kind == "arrow":
        source = tmp_path / "x.arrow"
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table)
    scan = ind.scan(source, original=original, schema=ind.Schema(quasi=["views"], insensitive=["huge"]))
    assert scan.rows == 3
    assert "unused-categories" not in {finding.check for finding in scan.findings}


def with_damaged_entries(content):
    """Return an archive whose entries are compressed by LZMA, and damaged at their start."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as read, zipfile.ZipFile(made, "w", zipfile.ZIP_LZMA) as written:
        for name in read.namelist():
            written.writestr(name, read.read(name))
    packed = bytearray(made.getvalue())
    for entry in written.infolist():
        start = entry.header_offset + 30 + len(entry.filename) + 9
        packed[start : start + 4] = b"\xff" * 4
    return bytes(packed)


def test_a_workbook_of_damaged_entries_is_refused(tmp_path):
    (tmp_path / "x.xlsx").write_bytes(with_damaged_entries(workbook(ROWS)))
    with pytest.raises(InputError):
        ind.scan(tmp_path / "x.xlsx")
    with pytest.raises(InputError):
        ind.inspect(tmp_path / "x.xlsx")
