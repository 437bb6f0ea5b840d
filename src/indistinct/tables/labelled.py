"""Files of SPSS, Stata and SAS as Arrow tables for the engines: codes become the texts that label them.

Nothing else of such a file is read: its label, notes, user names and times of making never reach a release.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, MissingExtraError
from indistinct.tables.files import choose
from indistinct.tables.value import Labels, Reading, check_names

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
# Numbers of these programs are floating-point: whole ones are exact below this.
EXACT = 1 << 53


class Labelled(NamedTuple):
    """The table of a file, what labels its columns, and what readers must know of those that keep their codes."""

    data: pa.Table
    labels: dict[str, Labels] = {}  # noqa: RUF012 (nobody writes to it)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column as it was read, and the labels of its codes."""

    name: str
    cells: list[Any]
    labels: Mapping[Any, str] = field(default_factory=dict)


def statistics_package(purpose: str) -> Any:
    """Return the package that reads and writes files of statistics programs; raise `MissingExtraError` without it."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("pyreadstat", extra="stats", purpose=purpose) from None
    return pyreadstat


def read_labelled(
    path: Path, reading: Reading, columns: Sequence[str] | None = None, *, suffix: str | None = None
) -> Labelled:
    """Return the table of a file, in which values that the file declares to be missing are missing.

    A column of codes becomes text where each of its codes has a label of its own, unless `reading.codes` keeps the
    codes. Where some have none, or two have the same, all keep their codes: half of the column would be text. `suffix`
    says which program's file it is, where its name does not.
    """
    cells, told = _parsed(path, suffix or path.suffix.lower(), reading.encoding)
    names = list(told.column_names)
    check_names(names)
    chosen = choose(names, columns)
    texts = {name: label for name, label in zip(names, told.column_labels or (), strict=False) if label}
    found: dict[str, pa.Array] = {}
    labels, notes = {}, []
    for name in chosen:
        column = _Column(name, cells[name], told.variable_value_labels.get(name) or {})
        spelled = None if reading.codes or not column.labels else _spelled(column)
        if column.labels and spelled is None and not reading.codes:
            notes.append(
                f"column {name!r} keeps its codes: not every code that occurs has a label of its own among its labels"
            )
        found[name] = _plain(column) if spelled is None else pa.array(spelled, pa.string())
        labels[name] = Labels(texts.get(name, ""), _codes(column.labels))
    return Labelled(pa.table(found), labels, tuple(notes))


def _parsed(path: Path, suffix: str, encoding: str | None) -> tuple[dict[str, list[Any]], Any]:
    package = statistics_package("a file of SPSS, Stata or SAS")
    read = getattr(package, READERS[suffix])
    try:
        cells, told = read(str(path), output_format="dict", **({"encoding": encoding} if encoding else {}))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (its errors are of many types, and may quote cells)
        raise InputError(
            f"{path} cannot be read as a file of SPSS, Stata or SAS",
            hint="check that the file is complete, not encrypted, and its suffix is right; else name its encoding",
        ) from None
    return {name: [_cell(each) for each in column] for name, column in cells.items()}, told


def _cell(value: Any) -> Any:
    """Return a cell's value; a blank text is how these programs say that one is missing."""
    if isinstance(value, float) and np.isnan(value):
        return None
    return None if isinstance(value, str) and not value else value


def _spelled(column: _Column) -> list[str | None] | None:
    """Return the labels of cells; None unless each code that occurs has one of its own."""
    occurring = {cell for cell in column.cells if cell is not None}
    mine = {code: column.labels[code].strip() for code in occurring if _is_label(column.labels.get(code))}
    if len(mine) < len(occurring) or len(set(mine.values())) < len(mine):
        return None
    return [None if cell is None else mine[cell] for cell in column.cells]


def _is_label(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _codes(labels: Mapping[Any, str]) -> dict[str, Any]:
    """Return the code of each label that only one code has."""
    texts = [text.strip() for text in labels.values() if _is_label(text)]
    return {text.strip(): code for code, text in labels.items() if _is_label(text) and texts.count(text.strip()) == 1}


def _plain(column: _Column) -> pa.Array:
    """Return cells as what they are; numbers that are all whole are integers, as a text file would give them."""
    present = [cell for cell in column.cells if cell is not None]
    if present and all(isinstance(cell, int | float) for cell in present):
        whole = all(float(cell).is_integer() and abs(cell) < EXACT for cell in present)
        kind = pa.int64() if whole else pa.float64()
        return pa.array([None if c is None else int(c) if whole else float(c) for c in column.cells], kind)
    try:
        return pa.array(column.cells) if present else pa.array(column.cells, pa.string())
    except (pa.ArrowException, OverflowError):
        # Letters stand for kinds of missing in Stata and SAS; anything else that is mixed cannot be told.
        if all(isinstance(c, int | float) or re.fullmatch("[A-Za-z_]", str(c)) for c in present):
            numbers = [None if isinstance(cell, str) else cell for cell in column.cells]
            return _plain(_Column(column.name, numbers))
        raise InputError(
            f"column {column.name!r} mixes types", hint="write it again as numbers or as text", column=column.name
        ) from None
