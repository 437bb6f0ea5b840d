"""A workbook written by hand, entry by entry, so that anything can be planted in it."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINKS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def sheet(rows: Sequence[Sequence[object]], strings: list[str], extra: str = "", hidden_row: int = 0) -> str:
    """Return the XML of a sheet; texts are put among the shared ones."""
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = []
        for column, value in enumerate(row):
            place = f"{chr(ord('A') + column)}{number}"
            if isinstance(value, str):
                if value not in strings:
                    strings.append(value)
                cells.append(f'<c r="{place}" t="s"><v>{strings.index(value)}</v></c>')
            else:
                cells.append(f'<c r="{place}"><v>{value}</v></c>')
        hidden = ' hidden="1"' if number == hidden_row else ""
        lines.append(f'<row r="{number}"{hidden}>{"".join(cells)}</row>')
    return f"<worksheet {MAIN}>{extra}<sheetData>{''.join(lines)}</sheetData></worksheet>"


def workbook(
    rows: Sequence[Sequence[object]],
    *,
    second: Sequence[Sequence[object]] = (),
    state: str = "visible",
    left_over: Sequence[str] = (),
    entries: Mapping[str, str] | None = None,
    names: str = "",
    **options: object,
) -> bytes:
    """Return a workbook of one or two sheets; `left_over` are shared texts of no cell, `entries` further files."""
    strings: list[str] = []
    sheets = [sheet(rows, strings, **options), *([sheet(second, strings)] if second else [])]
    strings += left_over
    listed = "".join(
        f'<sheet name="S{n}" sheetId="{n}" r:id="r{n}" state="{state if n > 1 else "visible"}"/>'
        for n in range(1, len(sheets) + 1)
    )
    links = "".join(f'<Relationship Id="r{n}" Target="worksheets/sheet{n}.xml"/>' for n in range(1, len(sheets) + 1))
    links += '<Relationship Id="r0" Target="sharedStrings.xml"/>'
    files = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": '<Relationships><Relationship Id="r1" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f"<workbook {MAIN} {LINKS}><sheets>{listed}</sheets>{names}</workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships>{links}</Relationships>",
        "xl/sharedStrings.xml": f"<sst {MAIN}>{''.join(f'<si><t>{escape(t)}</t></si>' for t in strings)}</sst>",
        **{f"xl/worksheets/sheet{n}.xml": text for n, text in enumerate(sheets, start=1)},
        **(entries or {}),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()
