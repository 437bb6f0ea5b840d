"""Sheets of workbooks: types, names, what is refused, and what no message repeats."""

import datetime as dt
import shutil
import subprocess
import sys

import pyarrow as pa
import pytest

import indistinct as ind
from references.binary_workbooks import binary_workbook, old_workbook
from references.open_documents import open_document
from references.sheets import spreadsheet

ROWS = [
    ["age", "city", "born", "seen", "well", None],
    [31, "Oslo", dt.date(1980, 2, 3), dt.datetime(2020, 1, 2, 3, 4, 5), True],
    [None, "Bergen", None, None, False],
    [],
    [7.0, "Molde", dt.date(1981, 2, 3), dt.datetime(2020, 1, 2), None],
]


@pytest.fixture
def write(tmp_path):
    def make(sheets, **options):
        path = tmp_path / "book.xlsx"
        path.write_bytes(spreadsheet(sheets, **options))
        return path

    return make


@pytest.mark.parametrize("first_row", [1, 4])
def test_a_sheet_has_types_also_where_cells_are_empty(write, first_row):
    table = ind.open(write({"People": ROWS}, first_row=first_row))
    kinds = {
        "age": pa.int64(),
        "city": pa.string(),
        "born": pa.date32(),
        "seen": pa.timestamp("us"),
        "well": pa.bool_(),
    }
    assert {field.name: field.type for field in table.data.schema} == kinds
    assert table.data["born"].to_pylist() == [dt.date(1980, 2, 3), None, dt.date(1981, 2, 3)]
    assert table.data["seen"].to_pylist()[0] == dt.datetime(2020, 1, 2, 3, 4, 5)
    assert table.data["age"].to_pylist() == [31, None, 7]
    assert table.left_out == ("1 empty line",)


def test_a_sheet_is_chosen_by_name_or_because_no_other_has_cells(write):
    other = [["code"], ["x"]]
    assert ind.open(write({"People": ROWS, "Notes": other}), sheet="Notes").columns == ("code",)
    assert ind.open(write({"People": ROWS, "Empty": []})).rows == 3
    with pytest.raises(ind.InputError, match="2 sheets with cells") as caught:
        ind.open(write({"People": ROWS, "Notes": other}))
    assert "Oslo" not in str(caught.value)
    with pytest.raises(ind.InputError, match="no sheet of that name among its 2") as caught:
        ind.open(write({"People": ROWS, "Notes": other}), sheet="Note")
    assert "Notes" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([["Patients of 2020", None, None], *ROWS], {}, "a title"),
        (ROWS, {"merged": ["A2:B2"]}, "merged cells"),
        (ROWS[1:], {}, "looks like data"),
        ([*ROWS, ["Total", None, None, None, None]], {}, "looks like a total"),
        ([["age", None], [31, "Oslo"], [32, "Bergen"]], {}, "a title"),
        ([["age", "sex", None], [31, "m", "Oslo"], [32, "f", "Bergen"]], {}, "columns without: 3"),
        ([], {}, "no sheet of"),
    ],
)
def test_what_is_no_table_is_refused_without_a_value(write, rows, options, message):
    path = write({"People": rows}, **options)
    with pytest.raises(ind.InputError, match=message) as caught:
        ind.open(path)
    said = str(caught.value).replace(str(path.parent), "")  # whose number may be anything
    assert not any(value in said for value in ("Oslo", "Bergen", "31"))


def test_an_encrypted_workbook_is_named_as_such(tmp_path):
    path = tmp_path / "secret.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 900 + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(ind.InputError, match="an encrypted workbook"):
        ind.open(path)
    (tmp_path / "broken.xlsx").write_bytes(b"hello")
    with pytest.raises(ind.InputError, match="cannot be read as a workbook"):
        ind.open(tmp_path / "broken.xlsx")


KINDS = {"age": pa.int64(), "city": pa.string(), "born": pa.date32(), "seen": pa.timestamp("us"), "well": pa.bool_()}


def check_people(table):
    """Check that a table is what the rows are, whatever wrote the workbook."""
    assert {field.name: field.type for field in table.data.schema} == KINDS
    assert table.data["age"].to_pylist() == [31, None, 7]
    assert table.data["city"].to_pylist() == ["Oslo", "Bergen", "Molde"]
    assert table.data["born"].to_pylist() == [dt.date(1980, 2, 3), None, dt.date(1981, 2, 3)]
    assert table.data["seen"].to_pylist() == [dt.datetime(2020, 1, 2, 3, 4, 5), None, dt.datetime(2020, 1, 2)]
    assert table.data["well"].to_pylist() == [True, False, None]
    assert table.left_out == ("1 empty line",)


def test_sheets_of_open_documents(tmp_path):
    path = tmp_path / "book.ods"
    path.write_bytes(open_document({"People": ROWS}))
    check_people(ind.open(path))
    path.write_bytes(open_document({"People": ROWS, "Notes": [["code"], ["x"]], "Empty": []}))
    check_people(ind.open(path, sheet="People"))
    with pytest.raises(ind.InputError, match="2 sheets with cells"):
        ind.open(path)
    path.write_bytes(open_document({"People": ROWS}, encrypted=True))
    with pytest.raises(ind.InputError, match="an encrypted workbook"):
        ind.open(path)
    path.write_bytes(open_document({"People": ROWS})[:900])
    with pytest.raises(ind.InputError, match="cannot be read as a workbook"):
        ind.open(path)


def test_merged_cells_of_open_documents(tmp_path):
    """They are told as those of other workbooks are, and only where they are on the sheet that is read."""
    path, other = tmp_path / "book.ods", [["code", "word"], ["x", None]]
    path.write_bytes(open_document({"People": ROWS, "Rest & more": other}, merged="Rest & more"))
    check_people(ind.open(path, sheet="People"))
    with pytest.raises(ind.InputError, match="has 1 merged cells") as caught:
        ind.open(path, sheet="Rest & more")
    assert "word" not in str(caught.value)


@pytest.mark.skipif(shutil.which("localc") is None, reason="LibreOffice Calc (libreoffice-calc) is not installed")
def test_sheets_of_old_workbooks(write, tmp_path):
    """A file as Excel 97 wrote it, and the same with the record that says that it is encrypted."""
    book = write({"People": ROWS})
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/profile", "--convert-to", "xls"]
    subprocess.run([*command, "--outdir", str(tmp_path), str(book)], capture_output=True, timeout=600, check=True)
    old = tmp_path / "book.xls"
    check_people(ind.open(old))
    content = old.read_bytes()
    second = content.index(bytes.fromhex("09081000")) + 20  # behind the record that begins a workbook
    (tmp_path / "locked.xls").write_bytes(content[:second] + b"\x2f\x00" + content[second + 2 :])
    with pytest.raises(ind.InputError, match="an encrypted workbook"):
        ind.open(tmp_path / "locked.xls")
    (tmp_path / "cut.xls").write_bytes(content[:1500])
    with pytest.raises(ind.InputError, match="cannot be read as a workbook"):
        ind.open(tmp_path / "cut.xls")


def test_a_column_of_several_types_is_text_and_declarations_hold(write):
    rows = [["code", "visit"], [7.0, "31.01.2024"], ["A1", "01.02.2024"], [True, "02.02.2024"]]
    table = ind.open(write({"S": rows}), dates="%d.%m.%Y")
    assert table.data["code"].to_pylist() == ["7", "A1", "true"]
    assert table.kinds["visit"] == "date"


def test_marks_for_missing_do_not_make_text_of_dates_and_numbers(write):
    days = [dt.date(2024, 1, 1 + row) for row in range(4)]
    rows = [["seen", "age", "hour"], *([day, row, dt.datetime(2024, 1, 1, row)] for row, day in enumerate(days))]
    rows += [[-99, "n/a", "n/a"], ["n/a", -99, -99]]
    path = write({"People": rows})
    table = ind.open(path, missing=["", "-99", "n/a"]).data
    assert table.schema.types == [pa.date32(), pa.int64(), pa.timestamp("us")]
    assert [table[name].null_count for name in table.column_names] == [2, 2, 2]
    own = ind.open(path, missing={"seen": ["-99", "n/a"]}).data
    assert own.schema.types == [pa.date32(), pa.string(), pa.string()]
    assert ind.open(path).data.schema.types == [pa.string()] * 3


def test_moments_of_a_sheet_that_are_all_at_midnight_are_days(write):
    rows = [["seen"], [dt.datetime(2024, 1, 1)], [dt.date(2024, 1, 2)]]
    assert ind.open(write({"People": rows})).data["seen"].to_pylist() == [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    first, hours = write({"People": rows[:2]}), spreadsheet({"People": [["seen"], [dt.datetime(2024, 1, 1, 5)]]})
    (first.parent / "second.xlsx").write_bytes(hours)
    assert ind.open(first.parent).data["seen"].type == pa.timestamp("us"), "one file with hours"


def test_a_sheet_is_released(write, tmp_path):
    rows = [
        ["name", "age", "born", "ill"],
        *([f"p{i}", 20 + i % 9, dt.date(1980, 1, 1 + i % 9), "flu"] for i in range(40)),
    ]
    schema = ind.Schema(identifiers=["name"], quasi=["age", "born"], sensitive=["ill"])
    release = ind.anonymize(write({"S": rows}), schema, model="k-anonymity:k=4", output=tmp_path / "out.csv")
    assert release.certificate.holds
    assert ind.verify(tmp_path / "out.csv", schema, "k-anonymity:k=4").holds


def test_without_the_package_one_sentence_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ind.MissingExtraError, match="python-calamine") as caught:
        ind.open(write({"People": ROWS}))
    assert caught.value.hint == 'pip install "indistinct[excel]"'


PEOPLE = [["age", "town"], *([20 + i % 9, "Oslo"] for i in range(30))]
BOOKS = {
    "book.xlsx": lambda rows: spreadsheet({"S": rows}),
    "book.xlsb": lambda rows: binary_workbook({"S": rows}),
    "book.xls": old_workbook,
    "book.ods": lambda rows: open_document({"S": rows}),
}
MERGED_AREAS = {
    "book.xlsx": lambda head: spreadsheet({"S": PEOPLE}, merged=["A1:B1" if head else "B2:B3"]),
    "book.xlsb": lambda head: binary_workbook({"S": PEOPLE}, merged=[(0, 0, 0, 1) if head else (1, 2, 1, 1)]),
    "book.xls": lambda head: old_workbook(PEOPLE, merged=[(0, 0, 0, 1) if head else (1, 2, 1, 1)]),
}


@pytest.mark.parametrize("name", MERGED_AREAS)
@pytest.mark.parametrize("head", [True, False])
def test_merged_cells_are_refused_in_every_kind_of_workbook(tmp_path, name, head):
    path = tmp_path / name
    path.write_bytes(MERGED_AREAS[name](head))
    with pytest.raises(ind.InputError, match="has 1 merged cells"):
        ind.open(path)


@pytest.mark.parametrize("name", BOOKS)
def test_a_workbook_cut_anywhere_is_an_error_and_compiled_code_says_nothing(tmp_path, name, capfd):
    path, content = tmp_path / name, BOOKS[name](PEOPLE)
    path.write_bytes(content)
    assert ind.open(path).data["age"].to_pylist() == [row[0] for row in PEOPLE[1:]]
    for part in range(1, 7):
        path.write_bytes(content[: len(content) * part // 7])
        with pytest.raises(ind.InputError):
            ind.open(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["book.xlsx", "book.xlsb", "book.ods"])
def test_a_damaged_archive_is_named_as_such(tmp_path, name):
    content = bytearray(BOOKS[name](PEOPLE))
    directory = content.rindex(b"PK\x01\x02")
    content[directory : directory + 4] = b"PK\x09\x09"
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ind.InputError, match="cannot be read as a workbook"):
        ind.open(tmp_path / name)


def test_cells_far_apart_do_not_end_the_process(tmp_path):
    """The reader of sheets would take a rectangle of four billion cells, and abort."""
    path, rows = tmp_path / "book.xls", [["age", "town", 7.0]]
    content = bytearray(old_workbook(rows))
    last = content.index(bytes.fromhex("0302 0e00 0000 0200"))
    content[last + 4 : last + 8] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    with pytest.raises(ind.InputError, match="too far apart, or it is damaged"):
        ind.open(path)
