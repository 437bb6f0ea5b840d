"""Workbooks as spreadsheet programs write them, entry by entry: numbers, texts, dates, truths and empty cells."""

import datetime as dt
import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/>'
    '<xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>'
)
FIRST_DAY = dt.datetime(1899, 12, 30)


def spreadsheet(
    sheets: Mapping[str, Sequence[Sequence[object]]], *, first_row: int = 1, merged: Sequence[str] = ()
) -> bytes:
    """Return a workbook (.xlsx) of sheets; `first_row` is where their cells begin, `merged` are areas such as A1:C1."""
    parts = {
        f"xl/worksheets/sheet{n}.xml": _sheet(rows, first_row, merged) for n, rows in enumerate(sheets.values(), 1)
    }
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, start=1)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    kinds = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.'
        'spreadsheetml.worksheet+xml"/>'
        for name in parts
    )
    entries = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        f"{kinds}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}<Relationship '
        f'Id="rs" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": STYLES,
        **parts,
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return packed.getvalue()


def _sheet(rows: Sequence[Sequence[object]], first_row: int, merged: Sequence[str]) -> str:
    lines = []
    for number, row in enumerate(rows, start=first_row):
        cells = [_cell(f"{chr(ord('A') + column)}{number}", value) for column, value in enumerate(row)]
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    areas = "".join(f'<mergeCell ref="{area}"/>' for area in merged)
    below = f"<mergeCells>{areas}</mergeCells>" if merged else ""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData>{below}</worksheet>'


def _cell(place: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    if isinstance(value, dt.datetime):
        return f'<c r="{place}" s="2"><v>{(value - FIRST_DAY) / dt.timedelta(days=1)}</v></c>'
    if isinstance(value, dt.date):
        return f'<c r="{place}" s="1"><v>{(dt.datetime(value.year, value.month, value.day) - FIRST_DAY).days}</v></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
