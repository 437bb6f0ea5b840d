"""A release as a workbook (.xlsx): one sheet whose cells are numbers, days, truths and texts, and nothing to be run.

A text is a text there, so that no spreadsheet takes =1+1 for a formula or 1-5 for a day. The file holds the cells and
two styles for days and moments: no names of people or programs, no times, no notes.
"""

import datetime as dt
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import OutputError
from indistinct.release.writing.delimited import Writing, spell_values
from indistinct.tables.dictionaries import is_text

MAX_ROWS, MAX_COLUMNS, LONGEST_TEXT = (1 << 20) - 1, 1 << 14, 32_767
"""What a sheet can hold, below its line of names."""
EPOCH = (1980, 1, 1, 0, 0, 0)
DAY_ZERO, FIRST_DAY = dt.date(1899, 12, 30), dt.date(1900, 3, 1)
# Beyond it, a cell's number is not exact.
MAX_EXACT_NUMBER = 1 << 53
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\r")
# Readers of a sheet take _x0041_ for the sign of this number.
ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
    f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="release" sheetId="1" '
    'r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{OFFICE}/styles" '
    'Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts count="2"><numFmt numFmtId="164" '
    'formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
    '<fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill>'
    '<patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1">'
    '<xf/></cellStyleXfs><cellXfs count="3"><xf/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" '
    'applyNumberFormat="1"/></cellXfs></styleSheet>',
}
SHEET = "xl/worksheets/sheet1.xml"


def write_workbook(batches: Iterator[pa.Table], path: Path, _writing: Writing) -> None:
    """Write a table, given in batches, as the only sheet of a workbook."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for name, text in PARTS.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), HEAD + text, zipfile.ZIP_DEFLATED)
        entry = zipfile.ZipInfo(SHEET, EPOCH)
        entry.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(entry, "w", force_zip64=True) as sheet:
            sheet.write(f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>'.encode())
            written = 0
            for table in batches:
                if not written:
                    _check_width(table.num_columns)
                    sheet.write(_row([_text(name) for name in table.column_names]))
                    written = 1
                written += table.num_rows
                if written > MAX_ROWS + 1:
                    raise OutputError(f"a sheet holds {MAX_ROWS:,} rows at most", hint="write .csv or .parquet")
                for batch in table.to_batches(max_chunksize=1 << 14):
                    _check_blank_rows(batch)
                    columns = [_cells(batch.column(index)) for index in range(batch.num_columns)]
                    sheet.write(b"".join(map(_row, zip(*columns, strict=True))))
            sheet.write(b"</sheetData></worksheet>")


def _check_width(width: int) -> None:
    if width > MAX_COLUMNS:
        raise OutputError(f"a sheet holds {MAX_COLUMNS:,} columns at most", hint="write .csv or .parquet")


def _check_blank_rows(batch: pa.RecordBatch) -> None:
    """Raise if a row has no value at all: readers of a sheet take it for the end of the table, or for no row."""
    blank = np.ones(batch.num_rows, dtype=bool)
    for column in batch.columns:
        cells = column.dictionary_decode() if isinstance(column.type, pa.DictionaryType) else column
        absent = pc.fill_null(pc.equal(cells, ""), True) if is_text(cells.type) else cells.is_null()
        blank &= absent.to_numpy(zero_copy_only=False)
    if blank.any():
        raise OutputError(
            "a row has no value in any column, and readers of a sheet leave it out", hint="write .csv or .parquet"
        )


def _row(cells: Any) -> bytes:
    return f"<row>{''.join(cells)}</row>".encode()


def _cells(column: pa.Array) -> list[str]:
    """Return a cell for each value; a missing one is empty."""
    if isinstance(column.type, pa.DictionaryType):
        spelled = _cells(column.dictionary)
        return ["<c/>" if code is None else spelled[code] for code in column.indices.to_pylist()]
    write = _writer_for(column.type) if _is_exact(column) else None
    if write is None:
        return [_text(text) if text is not None else "<c/>" for text in spell_values(column).to_pylist()]
    return ["<c/>" if value is None else write(value) for value in column.to_pylist()]


def _is_exact(column: pa.Array) -> bool:
    """Return whether a sheet can hold the whole numbers of a column exactly."""
    if not pa.types.is_integer(column.type) or column.null_count == len(column):
        return True
    ends = pc.min_max(column).as_py()
    return bool(ends["min"] > -MAX_EXACT_NUMBER and ends["max"] < MAX_EXACT_NUMBER)


def _writer_for(kind: pa.DataType) -> Callable[[Any], str] | None:
    """Return the function that writes values of a type unchanged; None where they are written as text."""
    if pa.types.is_boolean(kind):
        return lambda value: f'<c t="b"><v>{int(value)}</v></c>'
    if pa.types.is_integer(kind):
        return lambda value: f"<c><v>{value}</v></c>"
    if pa.types.is_floating(kind):
        return lambda value: f"<c><v>{value!r}</v></c>" if value - value == 0 else _text(str(value))
    if pa.types.is_date(kind):
        return _day
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _text
    return None


def _day(value: dt.date) -> str:
    """Return the cell of a day; one before 1900 has no number in a sheet."""
    return f'<c s="1"><v>{(value - DAY_ZERO).days}</v></c>' if value >= FIRST_DAY else _text(value.isoformat())


def _text(value: str) -> str:
    """Return the cell of a text; raise for characters or lengths that a sheet cannot store."""
    if len(value) > LONGEST_TEXT or UNWRITABLE.search(value):
        raise OutputError(
            f"a text has a sign that no sheet can hold, or more than {LONGEST_TEXT:,} of them",
            hint="write .csv or .parquet, or clear the column",
        )
    literal = ESCAPE.sub("_x005F_", value)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(literal)}</t></is></c>'
