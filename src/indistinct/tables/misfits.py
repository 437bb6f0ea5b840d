"""Errors for cells and columns that do not fit their declaration; they give the location, never a cell's value."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.machine.arrays import Codes
from indistinct.tables.notation import likely_notation

MAX_LINES_NAMED = 5


class MisfitError(Exception):
    """Cells that do not fit the declared type of their column.

    The reader of the file converts it to an `InputError`.
    """

    def __init__(
        self, column: str, declared: str, rows: Codes, *, cells: int, texts: pa.ChunkedArray, count: int | None = None
    ) -> None:
        super().__init__(column)
        self.count = len(rows) if count is None else count
        self.column, self.declared, self.rows, self.cells, self.texts = column, declared, rows, cells, texts

    def error(self, lines: Callable[[Codes], list[int]] | None, *, word: str = "line", file: str = "") -> InputError:
        """Return the error with the number and location of the cells that do not fit, without their content.

        `file` is the file with the first of them, if there are several.
        """
        where, numbers = locate_rows(self.rows, lines, word=word, file=file)
        several = f"{self.count:,} of {self.cells:,} cells do not fit it"
        count = "it fits no cell" if self.count == self.cells else f"{several}, on {where}"
        better = _better(self.column, self.texts) if "date" in self.declared else None
        return InputError(
            f"column {self.column!r} was declared to have {self.declared}, but {count}",
            hint=f"{f'{better}; else ' if better else ''}correct the declaration or the cells, or declare marks for "
            "missing values (--missing, or `missing` under [input])",
            column=self.column,
            lines=numbers,
        )


class FutureError(MisfitError):
    """Dates in the future because their years have two digits: 45 is read as 2045."""

    def __init__(self, column: str, form: str, rows: Codes, *, cells: int, count: int | None = None) -> None:
        super().__init__(column, form, rows, cells=cells, texts=pa.chunked_array([], pa.string()), count=count)

    def error(self, lines: Callable[[Codes], list[int]] | None, *, word: str = "line", file: str = "") -> InputError:
        """Return the error with the number and location of dates in the future."""
        where, numbers = locate_rows(self.rows, lines, word=word, file=file)
        return InputError(
            f"with the date format {self.declared!r}, {self.count:,} of {self.cells:,} cells of column "
            f"{self.column!r} would lie in the future, on {where}: years of two digits do not show the century",
            hint=f"write years with four digits (%Y), or declare the column as text: `text = [{self.column!r}]`, or "
            f"`--text {self.column}`",
            column=self.column,
            lines=numbers,
        )


def locate_rows(
    rows: Codes, lines: Callable[[Codes], list[int]] | None, *, word: str = "line", file: str = ""
) -> tuple[str, list[int]]:
    """Return the location of the first rows, in words and as line or row numbers."""
    few = rows[:MAX_LINES_NAMED]
    numbers = lines(few) if lines is not None else (few + 1).tolist()
    more = ", …" if len(rows) > MAX_LINES_NAMED else ""
    return (
        f"{word}{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}{more}{f' of {file}' if file else ''}",
        numbers,
    )


def no_column_fits(form: str, fitting: Mapping[str, int], texts: Mapping[str, pa.ChunkedArray]) -> InputError:
    """Return the error of a date format that was declared for all columns and fits none; the hint has one that fits.

    `fitting` counts the texts of each column that the format fits; `texts` are samples of each column.
    """
    best = max(fitting, key=lambda name: fitting[name], default="")
    some = fitting.get(best, 0) > 0
    better = next(
        (suggestion for name in ([best] if some else texts) if (suggestion := _better(name, texts[name]))), None
    )
    usual = "correct it, or leave it out; a column of digits alone is named: dates={column: format}, or --dates "
    return InputError(
        f"the date format {form!r} fits no column, only single cells"
        if some
        else f"the date format {form!r} fits no cell of any column",
        hint=better or f"{usual}COLUMN={form}",
    )


def _better(name: str, texts: pa.ChunkedArray) -> str | None:
    """Return the words that name the date format of a column."""
    likely = likely_notation(texts)
    if likely is None or not likely.dates:
        return None
    lines, flags = (" or ".join(f"`{one}`" for one in each) for each in (likely.lines(name), likely.flags(name)))
    return f"column {name!r} fits {lines} under [input], or {flags}"
