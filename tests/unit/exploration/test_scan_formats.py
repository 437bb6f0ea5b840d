"""Scans of binary workbooks, open documents and files of statistics programs, whose cells are read."""

import io
import struct
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import indistinct as ind
from indistinct.exploration.scan.scan import ScanVerdict
from references.binary_workbooks import binary_workbook, old_workbook
from references.open_documents import open_document
from references.workbooks import workbook

ROWS = 60
RNG = np.random.default_rng(3)
ORIGINAL = pa.table(
    {
        "name": [f"Person-{number:03d}-Qzxv" for number in range(ROWS)],
        "age": RNG.integers(20, 60, ROWS),
        "ill": [f"disease {code}" for code in RNG.integers(0, 30, ROWS)],
    }
)
SCHEMA = ind.Schema(["name"], ["age"], ["ill"])


def cells(order=None):
    places = RNG.permutation(ROWS) if order is None else order
    shown = ORIGINAL.take(pa.array(places))
    ages = [f"[{age // 20 * 20}-{age // 20 * 20 + 20}[" for age in shown["age"].to_pylist()]
    return [["age", "ill"], *map(list, zip(ages, shown["ill"].to_pylist(), strict=True))]


WRITERS = {
    ".xlsx": workbook,
    ".xlsb": lambda rows: binary_workbook({"S1": rows}),
    ".ods": lambda rows: open_document({"S1": rows}),
}


def scanned(content, suffix, folder):
    path = folder / f"published{suffix}"
    path.write_bytes(content)
    return ind.scan(path, original=ORIGINAL, schema=SCHEMA)


def checks(scan):
    return {finding.check for finding in scan.leaks}


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_cells_of_every_workbook_are_scanned(suffix, tmp_path):
    sound = scanned(WRITERS[suffix](cells()), suffix, tmp_path)
    assert (sound.leaks, sound.rows, sound.verdict) == ((), ROWS, ScanVerdict.NO_LEAK)
    in_order = scanned(WRITERS[suffix](cells(range(ROWS))), suffix, tmp_path)
    assert checks(in_order) == {"row-order"}
    named = [[*row, name] for row, name in zip(cells(), ["name", *ORIGINAL["name"].to_pylist()], strict=True)]
    assert "identifiers" in checks(scanned(WRITERS[suffix](named), suffix, tmp_path))


def test_numbers_and_texts_of_a_binary_workbook_are_those_that_its_reader_sees(tmp_path):
    rows = [["age", "share", "town"], [31.0, 0.25, "Oslo"], [7.0, 1e20, "Å"]]
    (tmp_path / "a.xlsb").write_bytes(binary_workbook({"S1": rows}))
    read = ind.open(tmp_path / "a.xlsb").data
    scan = ind.scan(tmp_path / "a.xlsb", original=read)
    assert scan.rows == read.num_rows == 2
    assert not any(finding.check == "another-original" for finding in scan.findings)


def test_what_a_binary_workbook_hides_is_found(tmp_path):
    def found(**options):
        sheets = {"S1": cells(), **({"S2": [["name"], ["x"]]} if "hidden" in options else {})}
        return checks(scanned(binary_workbook(sheets, **options), ".xlsb", tmp_path))

    assert found(left_over=["deleted"]) == {"workbook-strings"}
    assert found(hidden=["S2"]) == {"workbook-hidden"}
    assert found(hidden_row=3) == {"workbook-hidden"}
    assert found(entries={"xl/comments1.bin": "x"}) == {"workbook-entries", "workbook-unused-entries"}
    assert found(left_over=["Person-007-Qzxv"]) == {"workbook-strings", "values-in-the-bytes"}


def test_what_an_open_document_hides_is_found(tmp_path):
    content = open_document({"S1": cells()})
    assert checks(scanned(_with_text(content, "<office:annotation/>"), ".ods", tmp_path)) == {"workbook-entries"}


def _with_text(content, text):
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            part = old.read(name).decode()
            new.writestr(name, part.replace("<text:p>", f"{text}<text:p>", 1) if name == "content.xml" else part)
    return packed.getvalue()


@pytest.mark.parametrize("suffix", [".xlsx", ".xlsb"])
def test_sheets_that_are_not_read_are_never_without_a_leak(suffix, tmp_path):
    second = [["name"], ["x"]]
    content = {
        ".xlsx": lambda: workbook(cells(), second=second),
        ".xlsb": lambda: binary_workbook({"S1": cells(), "S2": second}),
    }[suffix]()
    scan = scanned(content, suffix, tmp_path)
    assert (scan.verdict, scan.clean) == (ScanVerdict.NOT_SCANNED, False)
    assert [each.what for each in scan.unread] == ["the cells of sheet 2"]


def test_old_workbooks_are_refused(tmp_path):
    with pytest.raises(ind.InputError, match="older format"):
        scanned(old_workbook(cells()), ".xls", tmp_path)


def frame():
    header, *rows = cells()
    return pd.DataFrame(rows, columns=header)


def test_files_of_stata_and_sas(tmp_path):
    for suffix, write in ((".dta", pyreadstat.write_dta), (".xpt", pyreadstat.write_xport)):
        path = tmp_path / f"a{suffix}"
        write(frame(), path)
        scan = scanned(path.read_bytes(), suffix, tmp_path)
        assert (scan.leaks, scan.rows, scan.verdict) == ((), ROWS, ScanVerdict.NO_LEAK)
        write(frame(), path, file_label="Person-007-Qzxv")
        leaking = scanned(path.read_bytes(), suffix, tmp_path)
        assert checks(leaking) == {"values-in-the-bytes"}
        assert "Qzxv" not in str(leaking.to_json())
    stata = (tmp_path / "a.dta").read_bytes()
    assert "hidden-rows" in checks(scanned(stata + b"rows", ".dta", tmp_path))


def test_a_transport_file_of_two_tables(tmp_path):
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(frame(), path)
    one = path.read_bytes()
    two = one + one[one.index(b"HEADER RECORD*******MEMB") :]
    scan = scanned(two, ".xpt", tmp_path)
    assert (scan.verdict, scan.clean) == (ScanVerdict.NOT_SCANNED, False)
    path.write_bytes(two)
    with pytest.raises(ind.InputError, match="holds 2 tables"):
        ind.open(path)


def test_values_declared_missing_are_read(tmp_path):
    """SPSS shows 31 as missing, and everybody can take the declaration away."""
    ages = pd.DataFrame({"age": ORIGINAL["age"].to_numpy().astype(float)})
    pyreadstat.write_sav(ages, tmp_path / "a.sav", missing_ranges={"age": [{"lo": 20, "hi": 40}]})
    scan = ind.scan(tmp_path / "a.sav")
    (found,) = [each for each in scan.findings if each.check == "declared-missing"]
    assert found.count == sum(20 <= age <= 40 for age in ORIGINAL["age"].to_pylist())


def test_attributes_of_a_file_of_spss(tmp_path):
    pyreadstat.write_sav(frame(), tmp_path / "a.sav")
    content = (tmp_path / "a.sav").read_bytes()
    end = content.index(struct.pack("<ii", 999, 0))
    for text, noted in ((b"made('by somebody'\n)", True), (b"age:$@Role('0'\n)", False)):
        number = 17 if noted else 18
        record = struct.pack("<iiii", 7, number, 1, len(text)) + text
        scan = scanned(content[:end] + record + content[end:], ".sav", tmp_path)
        assert any(each.check == "file-notes" for each in scan.findings) == noted
