"""Workbooks of binary records: .xlsb, records in a zip archive, and .xls, records in a compound file."""

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
Rows = Sequence[Sequence[object]]
Areas = Sequence[tuple[int, int, int, int]]
"""Merged areas: the first and the last row, the first and the last column, from 0 on."""
LAST, FREE, TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def binary_workbook(
    sheets: Mapping[str, Rows],
    *,
    merged: Areas = (),
    hidden: Sequence[str] = (),
    hidden_row: int = -1,
    left_over: Sequence[str] = (),
    entries: Mapping[str, str] | None = None,
) -> bytes:
    """Return a workbook (.xlsb); `left_over` are shared texts of no cell, `entries` further files."""
    strings: list[str] = []
    parts = {
        f"xl/worksheets/sheet{n}.bin": _sheet(rows, strings, merged, hidden_row)
        for n, rows in enumerate(sheets.values(), 1)
    }
    strings += left_over
    bundles = b"".join(
        _record(156, struct.pack("<II", int(name in hidden), n) + _wide(f"r{n}") + _wide(name))
        for n, name in enumerate(sheets, 1)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.bin"/>'
        for n in range(1, len(sheets) + 1)
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="bin" '
        'ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.bin"/></Relationships>',
        "xl/workbook.bin": _record(131) + _record(143) + bundles + _record(144) + _record(132),
        "xl/_rels/workbook.bin.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}<Relationship '
        f'Id="rs" Type="{OFFICE}/sharedStrings" Target="sharedStrings.bin"/></Relationships>',
        "xl/sharedStrings.bin": _record(159, struct.pack("<II", len(strings), len(strings)))
        + b"".join(_record(19, b"\0" + _wide(text)) for text in strings)
        + _record(160),
        **parts,
        **(entries or {}),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _sheet(rows: Rows, strings: list[str], merged: Areas, hidden_row: int) -> bytes:
    size = struct.pack("<4I", 0, len(rows) - 1, 0, max(map(len, rows)) - 1)
    body = [_record(129), _record(148, size), _record(145)]
    indexes = {text: index for index, text in enumerate(strings)}
    for number, row in enumerate(rows):
        flags = 0x10 if number == hidden_row else 0
        body.append(_record(0, struct.pack("<IIHBBBI", number, 0, 300, 0, flags, 0, 0)))
        for column, value in enumerate(row):
            head = struct.pack("<II", column, 0)
            if isinstance(value, str):
                if value not in indexes:
                    indexes[value] = len(strings)
                    strings.append(value)
                body.append(_record(7, head + struct.pack("<I", indexes[value])))
            elif value is not None:
                body.append(_record(5, head + struct.pack("<d", value)))
    body.append(_record(146))
    if merged:
        areas = b"".join(_record(176, struct.pack("<4I", *area)) for area in merged)
        body.append(_record(177, struct.pack("<I", len(merged))) + areas + _record(178))
    return b"".join([*body, _record(130)])


def _record(kind: int, payload: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    length, size = len(payload), b""
    while length > 127:
        size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
    return head + size + bytes([length]) + payload


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text.encode("utf-16-le")) // 2) + text.encode("utf-16-le")


def old_workbook(rows: Rows, *, merged: Areas = ()) -> bytes:
    """Return a workbook (.xls) with one sheet, S1, of texts and numbers."""
    sheet = [_old_record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))]
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            head = struct.pack("<HHH", number, column, 0)
            if isinstance(value, str):
                wide = not value.isascii()
                text = struct.pack("<HB", len(value), wide) + value.encode("utf-16-le" if wide else "ascii")
                sheet.append(_old_record(0x204, head + text))
            elif value is not None:
                sheet.append(_old_record(0x203, head + struct.pack("<d", value)))
    if merged:
        areas = b"".join(struct.pack("<4H", *area) for area in merged)
        sheet.append(_old_record(0xE5, struct.pack("<H", len(merged)) + areas))
    begin = _old_record(0x809, struct.pack("<HHHHII", 0x600, 0x5, 0, 0, 0, 0)) + _old_record(0x42, b"\xb0\x04")
    end = _old_record(0x0A)
    first = len(begin) + 4 + 10 + len(end)
    bound = _old_record(0x85, struct.pack("<IBBBB", first, 0, 0, 2, 0) + b"S1")
    return _compound(b"".join([begin, bound, end, *sheet, end]))


def _old_record(kind: int, payload: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(payload)) + payload


def _compound(stream: bytes) -> bytes:
    """Return a compound file of one stream: its sectors, the directory, and the table of sectors."""
    stream = stream.ljust(max(4096, -(-len(stream) // 512) * 512), b"\0")
    sectors, tables = len(stream) // 512, 1
    while tables * 128 < sectors + 1 + tables:
        tables += 1
    chain = [*range(1, sectors), LAST, LAST, *[TABLE] * tables]
    chain += [FREE] * (tables * 128 - len(chain))
    directory = _entry("Root Entry", 5, 1, LAST, 0) + _entry("Workbook", 2, FREE, 0, len(stream))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<9I", 0, tables, sectors, 0, 4096, LAST, 0, LAST, 0)
    header += struct.pack("<109I", *[*range(sectors + 1, sectors + 1 + tables), *[FREE] * (109 - tables)])
    return header + stream + directory + _entry("", 0, FREE, 0, 0) * 2 + struct.pack(f"<{len(chain)}I", *chain)


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    title = f"{name}\0".encode("utf-16-le") if name else b""
    head = title.ljust(64, b"\0") + struct.pack("<HBBIII", len(title), kind, 1, FREE, FREE, child)
    return head + bytes(36) + struct.pack("<IQ", start, size)
