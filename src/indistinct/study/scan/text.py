"""Delimited text: cells that a spreadsheet would run as formulas, and what stands before and behind the table."""

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow.compute as pc

from indistinct.figures import plural
from indistinct.release.writing.delimited import is_formula
from indistinct.study.scan.base import Check, Finding, Opened, Part, Severity, Subject
from indistinct.study.scan.compared import spelled
from indistinct.tables.delimited import read_cells
from indistinct.tables.encodings import MARKS
from indistinct.tables.value import Reading


def open_delimited(path: Path, content: bytes, reading: Reading) -> Opened:
    """Read delimited text as text, cell by cell; `content` is decompressed."""
    table, encoding = read_cells(path, reading)
    plain = content if encoding == "utf-8" else content.decode(encoding, errors="replace").encode()
    return Opened("delimited", table, (Part("the text", plain),), content)


def _formulas(subject: Subject) -> Iterator[Finding]:
    for place, name in enumerate(subject.columns):
        texts = spelled(subject.table.column(place))
        count = int(pc.sum(is_formula(texts)).as_py() or 0) + bool(re.match(r"[=@+\t\r]", name))
        if count:
            called = subject.called(name)
            yield Finding(
                "formula-cells",
                Severity.SUSPICION,
                called,
                count,
                f"{plural(count, 'distinct value')} of {called} begin as formulas do: a spreadsheet that opens the "
                "file would run them",
                "recode the values, or write Parquet; a quote before them changes what other programs read",
            )


def _around(subject: Subject) -> Iterator[Finding]:
    content: bytes = subject.file.inside
    marked = next((mark for mark, _ in MARKS if content.startswith(mark)), None)
    if marked is not None:
        yield Finding(
            "text-marks",
            Severity.NOTE,
            "the first bytes",
            len(marked),
            "the file begins with a byte order mark, as programs of one system write it",
            "nothing: readers skip it",
        )
    # Behind the rows there may be white space; control characters there are what editors and tapes leave.
    left = re.search(rb"[\x00\x1a][\x00-\x20]*\Z", content[-4096:]) if marked is None else None
    if left is not None:
        yield Finding(
            "text-marks",
            Severity.SUSPICION,
            "the last bytes",
            len(left[0]),
            f"{plural(len(left[0]), 'byte')} that are no text stand behind the last row",
            "write the table into a new file",
        )


CHECKS = (
    Check("formula-cells", "cells that a spreadsheet would run", _formulas, ("table",), ("delimited",)),
    Check("text-marks", "bytes before and behind the rows of a text file", _around, (), ("delimited",)),
)
