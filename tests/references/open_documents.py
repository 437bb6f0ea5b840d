"""Sheets as LibreOffice writes them (.ods), entry by entry: cells with types, runs of empty ones, and encryption."""

import datetime as dt
import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
)
MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
MEDIA = "application/vnd.oasis.opendocument.spreadsheet"
LOCKED = '<manifest:encryption-data manifest:checksum-type="SHA256/1K" manifest:checksum="bm9uZQ=="/>'


def open_document(
    sheets: Mapping[str, Sequence[Sequence[object]]], *, merged: str | None = None, encrypted: bool = False
) -> bytes:
    """Return a document of sheets; the first cell below the names of the sheet `merged` reaches over two columns."""
    tables = "".join(
        f'<table:table table:name="{escape(name)}">{_rows(rows, merged=name == merged)}</table:table>'
        for name, rows in sheets.items()
    )
    content = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    entries = {
        "mimetype": MEDIA,
        "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{MANIFEST}">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{MEDIA}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">'
        f"{LOCKED if encrypted else ''}</manifest:file-entry></manifest:manifest>",
        "content.xml": f"<office:document-content {SPACES}>{content}</office:document-content>",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return packed.getvalue()


def _rows(rows: Sequence[Sequence[object]], *, merged: bool) -> str:
    # A sheet ends in a million empty rows, told as one.
    rest = '<table:table-row table:number-rows-repeated="1048000">{}</table:table-row>'
    empty = '<table:table-cell table:number-columns-repeated="1024"/>'
    lines = []
    for number, row in enumerate(rows):
        span = ' table:number-columns-spanned="2" table:number-rows-spanned="1"' if merged and number == 1 else ""
        cells = "".join(_cell(value, span if not place else "") for place, value in enumerate(row))
        lines.append(f"<table:table-row>{cells or empty}</table:table-row>")
    return "".join(lines) + rest.format(empty)


def _cell(value: object, span: str) -> str:
    match value:
        case None:
            return "<table:table-cell/>"
        case bool():
            told = f'office:value-type="boolean" office:boolean-value="{str(value).lower()}"'
        case str():
            told = 'office:value-type="string"'
        case dt.date():
            told = f'office:value-type="date" office:date-value="{value.isoformat()}"'
        case _:
            told = f'office:value-type="float" office:value="{value}"'
    return f"<table:table-cell {told}{span}><text:p>{escape(str(value))}</text:p></table:table-cell>"
