"""Small files that hold far more than their size says are refused before memory is taken, in every format."""

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import indistinct as ind
from indistinct.engines import chosen_engine
from indistinct.errors import InputError, OutOfMemoryError
from indistinct.machine.memory import Allowance
from indistinct.tables.extents import count_spans
from indistinct.tables.value import Reading
from indistinct.web.tasks.looking import look
from indistinct.web.worker import Desk
from references.sheets import spreadsheet

# Addresses of the process that opens the bombs, so that one that goes off harms nobody, and what it may really take.
ADDRESSES, MOST = 4 << 30, 900 << 20
# What is taken in any case there: a quarter of what it is else, so that the bombs may be smaller too.
QUARTER = 512 << 20
SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
FAR = b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
OPENER = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (%d, %d))
import indistinct as ind
import indistinct.machine.memory
from indistinct.errors import IndistinctError
indistinct.machine.memory.ALLOWED_BYTES_AT_LEAST = %d
told = {}
for name, path in (argument.split(" ", 1) for argument in sys.argv[1:]):
    try:
        {"open": ind.open, "scan": ind.scan}[name](path)
        told[f"{name} {path}"] = "read"
    except IndistinctError as error:
        told[f"{name} {path}"] = f"{type(error).__name__}: {error}"
# What getrusage tells survives a start from a larger process; this is of the program alone.
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(json.dumps([told, int(peak) * 1024]))
"""


def book(content, *, name="xl/worksheets/sheet1.xml", said=None):
    """Return a workbook with other content for its sheet; the archive may say another size than that has."""
    plain, made = zipfile.ZipFile(io.BytesIO(spreadsheet({"people": [["a"]]}))), io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in plain.namelist():
            archive.writestr(entry, content if entry == name else plain.read(entry))
    packed = made.getvalue()
    return packed if said is None else packed.replace(len(content).to_bytes(4, "little"), said.to_bytes(4, "little"))


def open_document(content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    return made.getvalue()


def repeated(rows, columns):
    return (
        f'<office:document-content xmlns:office="{OFFICE}" xmlns:table="{TABLE}"><office:body><office:spreadsheet>'
        f'<table:table table:name="s"><table:table-row table:number-rows-repeated="{rows}"><table:table-cell '
        f'office:value-type="float" office:value="1" table:number-columns-repeated="{columns}"/></table:table-row>'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )


def record(kind, content):
    return bytes([kind, len(content)]) + content


def binary_book():
    """Return a binary workbook with one cell in each of two far corners."""
    cells = b"".join(
        record(0, row.to_bytes(4, "little") + bytes(13)) + record(2, column.to_bytes(4, "little") + bytes(8))
        for row, column in ((0, 0), (1048575, 16383))
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.bin", b"")
        archive.writestr("xl/worksheets/sheet1.bin", cells)
    return made.getvalue()


def many_rows(path, millions=8):
    table = pa.table({"a": np.ones(1_000_000, np.int64), "b": pa.array(["x"] * 1_000_000)})
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(millions):
            writer.write_table(table)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bombs")
    (place / "text.csv.gz").write_bytes(gzip.compress(b"a,b\n") + gzip.compress(b"1,1\n" * (1 << 20)) * 64)
    (place / "far.xlsx").write_bytes(book(SHEET % FAR))
    (place / "inside.xlsx").write_bytes(book(SHEET % FAR, said=7))
    (place / "repeated.ods").write_bytes(open_document(repeated(1_000_000, 1_000)))
    (place / "far.xlsb").write_bytes(binary_book())
    many_rows(place / "rows.parquet")
    frame = pa.table({"a": [1.0] * 10}).to_pandas()
    pyreadstat.write_sav(frame, str(place / "rows.sav"))
    with (place / "rows.sav").open("r+b") as file:  # how many rows there are
        file.seek(80)
        file.write((100_000_000).to_bytes(4, "little"))
    return place


REFUSED = ("text.csv.gz", "far.xlsx", "inside.xlsx", "repeated.ods", "far.xlsb", "rows.parquet", "rows.sav")


def test_bombs_are_refused_before_memory_is_taken(folder):
    paths = [str(folder / name) for name in REFUSED]
    assert max(Path(path).stat().st_size for path in paths) < 3_000_000
    script = OPENER % (ADDRESSES, ADDRESSES, QUARTER)
    scanned = [f"scan {folder / name}" for name in ("text.csv.gz", "rows.parquet")]
    jobs = [*(f"open {path}" for path in paths), *scanned]
    ran = subprocess.run([sys.executable, "-c", script, *jobs], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    told, peak = json.loads(ran.stdout)
    for path in paths:
        assert "OutOfMemoryError" in told[f"open {path}"], path
        assert "--memory 8GB" in told[f"open {path}"]
        assert "at most 5" in told[f"open {path}"], told[f"open {path}"]
    packed, rows = scanned
    assert "OutOfMemoryError" in told[packed]
    assert told[rows] == "read"  # some of its row groups, and it says so
    assert peak < MOST


def test_the_page_refuses_them_in_the_same_words_without_its_folder(folder):
    with pytest.raises(OutOfMemoryError, match=r"^far\.xlsx holds sheets that span 17,179,869,184 cells"):
        look(Desk(), folder / "far.xlsx", Reading())


def test_more_memory_and_less_are_allowed(tmp_path):
    path = tmp_path / "rows.parquet"
    many_rows(path, millions=3)
    with pytest.raises(OutOfMemoryError, match="at most 190 MB are allowed"):
        ind.open(path, engine="memory", memory="200MB", columns=["a", "b"])
    assert ind.open(path, engine="memory", memory="400MB").rows == 3_000_000
    assert (Allowance(7).most, Allowance(0).most) == (70 + (2 << 30), 2 << 30)
    allowed = Allowance(10, 1000)
    allowed.require(1000, "it", "a table", otherwise="nothing")
    with pytest.raises(OutOfMemoryError, match="it holds a table: that takes 1 MB of memory or more"):
        allowed.require(1001, "it", "a table", otherwise="nothing")


def test_several_files_are_bounded_together(tmp_path):
    for name in ("a", "b"):
        many_rows(tmp_path / f"{name}.parquet", millions=2)
    with pytest.raises(OutOfMemoryError, match="holds 4,000,000 rows of 2 columns"):
        ind.open(tmp_path, engine="memory", memory="200MB")


def test_files_that_hold_too_many_rows_for_memory_are_read_where_they_lie(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("indistinct.machine.memory.ALLOWED_BYTES_AT_LEAST", QUARTER)
    assert chosen_engine(folder / "rows.parquet").name == "duckdb"
    many_rows(tmp_path / "few.parquet", millions=1)
    assert chosen_engine(tmp_path / "few.parquet").name == "memory"


def test_a_cell_that_stands_alone_spans_nothing(tmp_path):
    path = tmp_path / "alone.xlsx"
    path.write_bytes(book(SHEET % b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'))
    assert count_spans(path, None, most=1 << 30).cells == 1
    with pytest.raises(InputError, match="no rows"):
        ind.inspect(ind.open(path))


def test_rows_that_an_open_document_repeats_behind_its_cells_are_nothing(tmp_path):
    path = tmp_path / "usual.ods"
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    behind = f'<table:table-row table:number-rows-repeated="1048000">{empty}</table:table-row></table:table>'
    path.write_bytes(open_document(repeated(3, 2).replace("</table:table>", behind)))
    assert count_spans(path, None, most=1 << 30).cells == 6


@pytest.mark.parametrize("sheet", [None, "near", "far"])
def test_the_sheet_that_is_read_counts(sheet, tmp_path):
    path = tmp_path / "two.xlsx"
    rows = [["a", "b"], [1, 2]]
    path.write_bytes(spreadsheet({"near": rows, "far": [*rows, *[[row, row] for row in range(98)]]}))
    assert count_spans(path, sheet, most=1 << 30).cells == {None: 204, "near": 4, "far": 200}[sheet]


def test_a_text_that_many_cells_share_counts_for_each(tmp_path):
    path = tmp_path / "shared.xlsx"
    rows = b"".join(b'<row r="%d"><c r="A%d" t="s"><v>0</v></c></row>' % (row, row) for row in range(1, 1001))
    packed = io.BytesIO(book(SHEET % rows))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b"<sst><si><t>" + b"x" * 30_000 + b"</t></si></sst>")
    path.write_bytes(packed.getvalue())
    assert count_spans(path, None, most=1 << 20).size > 1 << 20
