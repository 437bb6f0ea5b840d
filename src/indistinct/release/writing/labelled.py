"""A release as a file of SPSS (.sav), Stata (.dta), or as a transport file of SAS (.xpt), for statistics programs.

Numbers, dates and times are theirs; everything else is text, and so are published ranges. A column whose published
texts are all labels of codes in the original is written as these codes with their labels; only those are kept
that occur. Nothing of the file that was read goes into it but what labels its columns: no notes, no file label.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import IndistinctError, MissingExtraError, OutputError
from indistinct.release.writing.delimited import Writing, count_texts, spell_values
from indistinct.tables.dictionaries import is_text
from indistinct.tables.labelled import MAX_EXACT_INTEGER, statistics_package
from indistinct.tables.value import ColumnLabels


@dataclass(frozen=True, slots=True)
class Program:
    """A program's files: how they are written, what a variable may and may not be called, what labels codes.

    `trims` says that blanks at the end of texts are lost. A text has at most `longest_text` bytes, the label of a code
    `longest_label`, and that of a column `longest_title`, in bytes or in characters.
    """

    name: str
    write: str
    variable: str
    reserved: str
    value_labels: bool = True
    largest_code: int = MAX_EXACT_INTEGER
    trims: bool = True
    longest_text: int = 32_767
    longest_label: int = 120
    longest_title: int = 256
    title_in_bytes: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


PROGRAMS = {
    ".sav": Program(
        "SPSS",
        "write_sav",
        r"[^\W\d_][\w.@#$]{0,63}(?<![.])",
        "(?i)all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with",
        options={"row_compress": True},
    ),
    ".dta": Program(
        "Stata",
        "write_dta",
        r"[^\W\d]\w{0,31}",
        "_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip|str[0-9]*|strL|using|with",
        largest_code=2_147_483_620,
        trims=False,
        longest_text=2_000_000_000,
        longest_label=32_000,
        longest_title=80,
        title_in_bytes=False,
    ),
    ".xpt": Program(
        "SAS",
        "write_xport",
        r"[A-Za-z_][A-Za-z0-9_]{0,31}",
        "(?i)_n_|_error_|_numeric_|_character_|_all_",
        value_labels=False,
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class _LabeledColumn:
    """A column for a statistics program: its cells, the labels of its codes, and how its numbers are shown."""

    cells: Any
    labels: dict[Any, str] | None = None
    whole: bool = False


def write_labelled(batches: Iterator[pa.Table], path: Path, writing: Writing, *, suffix: str) -> None:
    """Write a table, all of it at once, as a file of a statistics program."""
    program = PROGRAMS[suffix]
    package = statistics_package(f"a file of {program.name}")
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", extra="pandas", purpose=f"writing a file of {program.name}") from None
    table = pa.concat_tables(batches)
    _check_names(table.column_names, program)
    columns = {name: _column(name, table[name], writing.labels.get(name), program) for name in table.column_names}
    frame = pandas.DataFrame({name: pandas.Series(column.cells) for name, column in columns.items()})
    texts = {name: _title(writing.labels[name].text, program) for name in columns if name in writing.labels}
    options = {**program.options, "column_labels": {name: text for name, text in texts.items() if text}}
    if program.value_labels:
        options["variable_value_labels"] = {name: each.labels for name, each in columns.items() if each.labels}
    if program.name == "SPSS":
        options["variable_format"] = {name: "F12.0" for name, each in columns.items() if each.whole}
    try:
        getattr(package, program.write)(frame, str(path), **options)
    except (IndistinctError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 (its errors are of many types, and may quote cells)
        raise OutputError(
            f"the table cannot be written as a file of {program.name}",
            hint="a text may be too long for it, or a number too large; write Parquet or CSV",
        ) from None


def find_losses(table: pa.Table, writing: Writing, program: Program) -> tuple[str, ...]:
    """Return notes on what a file of a statistics program cannot store."""
    notes = []
    for name in table.column_names:
        title = writing.labels[name].text if name in writing.labels else ""
        if title != _title(title, program):
            notes.append(f"the label of column {name!r} is longer than {program.name} keeps, and was cut")
        if program.trims and is_text(table[name].type) and _ends_blank(table[name]):
            notes.append(f"blanks at the end of texts in column {name!r} are lost: a file of {program.name} has none")
    return tuple(notes)


def _ends_blank(column: pa.ChunkedArray) -> bool:
    return count_texts(column, lambda texts: pc.ends_with(texts, " ")) > 0


def _title(text: str, program: Program) -> str:
    """Return the label of a column, as long as a program keeps it."""
    if not program.title_in_bytes:
        return text[: program.longest_title]
    return text.encode()[: program.longest_title].decode(errors="ignore")


def _check_names(names: list[str], program: Program) -> None:
    """Raise `OutputError` unless a statistics program accepts these names and they differ in more than case."""
    for name in names:
        if not re.fullmatch(program.variable, name) or re.fullmatch(program.reserved, name):
            raise OutputError(
                f"{program.name} knows no variable called {name!r}",
                hint="rename the column: a letter first, then letters, digits and _, and no word of the program",
            )
    twice = [name for name, count in Counter(map(str.lower, names)).items() if count > 1]
    if twice:
        raise OutputError(
            f"{program.name} takes columns called {twice[0]!r}, in large and small letters, for one",
            hint="rename one of the columns",
        )


def _column(name: str, column: pa.ChunkedArray, labels: ColumnLabels | None, program: Program) -> _LabeledColumn:
    """Convert a column to what the program (SPSS, Stata or SAS) stores: numbers, dates, text or codes with labels."""
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if is_text(column.type):
        texts = column.cast(pa.string()).to_pylist()
        return _coded(texts, labels, program) or _text(name, texts, program)
    if pa.types.is_boolean(kind):
        return _numbers(column.cast(pa.int8()), whole=True)
    if pa.types.is_integer(kind) and _is_exact(column):
        return _numbers(column, whole=True)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(column, whole=False)
    if pa.types.is_duration(kind):
        seconds = pc.divide(column.cast(pa.duration("us"), safe=False).cast(pa.int64()).cast(pa.float64()), 1e6)
        return _numbers(seconds, whole=False)
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None and _in_seconds(column)):
        plain = column.cast(pa.date32() if pa.types.is_date(kind) else pa.timestamp("us"))
        return _LabeledColumn(_objects(plain.to_pylist()))
    if pa.types.is_time(kind) and _in_seconds(column):
        return _LabeledColumn(_objects(column.cast(pa.time64("us"), safe=False).to_pylist()))
    spelled = pa.chunked_array([spell_values(column.combine_chunks())])
    return _text(name, spelled.to_pylist(), program)


def _coded(texts: list[str | None], labels: ColumnLabels | None, program: Program) -> _LabeledColumn | None:
    """Return a column of labels as their codes; None unless every text is a label of one."""
    occurring = {text for text in texts if text is not None}
    if labels is None or not program.value_labels or not occurring or not occurring <= set(labels.codes):
        return None
    codes = {text: labels.codes[text] for text in sorted(occurring)}
    whole = all(isinstance(code, int | float) and float(code).is_integer() for code in codes.values())
    if not whole or any(abs(code) > program.largest_code for code in codes.values()):
        return None
    if any(len(text.encode()) > program.longest_label for text in codes):  # it would be cut, and two may begin alike
        return None
    cells = pa.chunked_array([pa.array([None if text is None else int(codes[text]) for text in texts], pa.int64())])
    return _LabeledColumn(
        _numbers(cells, whole=True).cells, {int(code): text for text, code in codes.items()}, whole=True
    )


def _text(name: str, texts: list[str | None], program: Program) -> _LabeledColumn:
    """Prepare a text column for a statistics program; raise if it cannot store its empty texts."""
    present = {text for text in texts if text is not None}
    blank = {text for text in present if not (text.rstrip(" ") if program.trims else text)}
    if blank:
        raise OutputError(
            f"column {name!r} has {'empty' if '' in blank else 'blank'} texts, which {program.name} cannot "
            "distinguish from "
            "missing ones",
            hint="let an empty text be missing, or write Parquet",
        )
    if any(len(text.encode()) > program.longest_text for text in present):
        raise OutputError(
            f"column {name!r} has a text of more than {program.longest_text:,} bytes, which {program.name} cannot hold",
            hint="shorten it, clear the column (clear), or write Parquet",
        )
    return _LabeledColumn(_objects(["" if text is None else text for text in texts]))


def _numbers(column: pa.ChunkedArray, *, whole: bool) -> _LabeledColumn:
    exact = column.cast(pa.int64()) if whole and not column.null_count else column.cast(pa.float64())
    return _LabeledColumn(exact.to_numpy(), whole=whole)


def _objects(cells: list[Any]) -> Any:
    import pandas

    return pandas.Series(cells, dtype="object")


def _is_exact(column: pa.ChunkedArray) -> bool:
    """Return whether every whole number is one as a floating-point number; a long one is written as text."""
    ends = pc.min_max(column)
    return all(end is None or abs(end) <= MAX_EXACT_INTEGER for end in ends.as_py().values())


def _in_seconds(column: pa.ChunkedArray) -> bool:
    """Return whether all moments or times are whole seconds; some programs lose fractions."""
    try:
        column.cast(pa.time32("s") if pa.types.is_time(column.type) else pa.timestamp("s"))
    except pa.ArrowInvalid:
        return False
    return True
