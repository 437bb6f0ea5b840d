"""What a command shows: the release on stdout, as text or as one JSON document; messages on stderr."""

import json
import logging
import os
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indistinct.document.blocks import (
    Block,
    Cell,
    Code,
    Document,
    Grid,
    Listing,
    Notice,
    Paragraph,
    Picture,
    Terms,
)
from indistinct.document.html import BEFORE_PERCENT
from indistinct.errors import without_secrets
from indistinct.machine.stages import PREPARING, PREPARING_EACH_RUN, watch_stages

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


# Where no terminal says how wide a line is. Every table fits.
DEFAULT_WIDTH = 80
# Characters of a name that a table shows, and the headings of columns that hold names.
LONGEST_NAME = 24
# Blanks between two columns of a table.
BLANKS_BETWEEN_COLUMNS = 2
NAME_HEADINGS = ("column", "with", "metric", "attack", "classifier", "term")
LONGEST_MESSAGE = 1500
# A character that no text has, since it is set aside for private use.
FILLER = "\ue000"
# Replaces a space where a line must not break, while a table is laid out.
GLUE = "\ue001"
# The titles of the progress bars on the screen.
BARS: list[str] = []


def printable(text: str) -> str:
    r"""Escape control characters, line breaks and changes of writing direction in a text.

    Names of columns come from others' files, and may hold any character.

    >>> printable("age\x1b[2J"), printable("a\u202eb"), printable("two\nlines"), printable("Größe %")
    ('age\\x1b[2J', 'a\\u202eb', 'two\\nlines', 'Größe %')
    """
    if text.isprintable():
        return text
    harmless = (mark.isprintable() or unicodedata.category(mark) == "Zs" for mark in text)
    return "".join(mark if safe else repr(mark)[1:-1] for mark, safe in zip(text, harmless, strict=True))


def screen(*, stderr: bool = False) -> "Console":
    """Return the screen for results, or the one for messages."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else DEFAULT_WIDTH
    # Names of columns may look like markup.
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def show(*parts: "str | Block | Document") -> None:
    """Print results: tables fit the screen, sentences are broken between words on a terminal."""
    console = screen()
    for part in parts:
        _print(console, part)


def _print(console: "Console", part: "str | Block | Document", *, heading: str = "") -> None:
    """Print a text, block or document."""
    match part:
        case Document():
            _print_document(console, part)
        case Grid():
            _print_grid(console, part, heading=heading)
        case Code(caption, text):
            for line in filter(None, (caption, *text.split("\n"))):
                console.print(printable(line), soft_wrap=True)
        case _:
            for line in _lines_of(part):
                _sentence(console, line)


def _lines_of(part: "str | Block") -> "Iterator[str]":
    """Yield the lines of a block."""
    match part:
        case str(text) | Paragraph(text) | Notice(text) | Picture(_, text):
            yield text
        case Listing(items):
            yield from (f"  {item}" for item in items)
        case Terms(pairs):
            width = max((len(word) for word, _ in pairs), default=0)
            yield from (f"{word:<{width}}  {text_of(cell or '')}" for word, cell in pairs)


def _print_grid(console: "Console", grid: Grid, *, heading: str) -> None:
    """Print a table with its caption, in blocks of columns that fit the screen."""
    if grid.caption not in ("", heading):
        _sentence(console, grid.caption, style="bold")
    for block in _blocks(grid, console.width):
        _print_table(console, block)
    if len(grid.rows) > grid.most:
        _sentence(console, f"{len(grid.rows) - grid.most:,} more rows; --json has all")


def _print_document(console: "Console", document: Document) -> None:
    """Print a document with its sections."""
    _sentence(console, document.title, style="bold")
    for section in document.sections:
        if section.title:
            _sentence(console, f"\n{section.title}", style="bold")
        previous: Block | None = None
        for block in section.blocks:
            follows = isinstance(block, Listing) and isinstance(previous, Paragraph | Notice)
            if not follows and not (section.title and previous is None):
                console.print()
            previous = block
            _print(console, block, heading=section.title)


def _print_table(console: "Console", table: "Table") -> None:
    with console.capture() as captured:
        console.print(table)
    lines = captured.get().replace(GLUE, " ").splitlines()
    console.file.write("".join(f"{line.rstrip()}\n" for line in lines))


def text_of(cell: Cell) -> str:
    """Return a cell as a terminal shows it."""
    return cell if isinstance(cell, str) else cell.text


def _blocks(grid: Grid, width: int) -> "Iterator[Table]":
    """Yield a table or, where its columns do not fit, several below each other that repeat the first column."""
    rows = [[_glue(printable(text_of(cell))) for cell in row] for row in grid.rows[: grid.most]]
    columns = [
        _ScreenColumn.of(printable(heading), [row[index] for row in rows], right=heading in grid.right)
        for index, heading in enumerate(grid.headings)
    ]
    ahead, first = list(range(1, len(columns))), True
    while ahead or first:
        first, chosen = False, [0, *ahead[:1]]
        del ahead[:1]
        while (
            ahead
            and sum(columns[index].least + BLANKS_BETWEEN_COLUMNS for index in (*chosen, ahead[0]))
            - BLANKS_BETWEEN_COLUMNS
            <= width
        ):
            chosen.append(ahead.pop(0))
        yield _rich_table([columns[index] for index in chosen], width)


@dataclass(frozen=True, slots=True)
class _ScreenColumn:
    """A column of a table on the screen: its texts, and the characters that it needs at least and at most."""

    heading: str
    cells: list[str]
    right: bool
    is_name: bool
    least: int
    most: int

    @classmethod
    def of(cls, heading: str, cells: list[str], *, right: bool) -> "_ScreenColumn":
        """Measure a column: the width it needs at least, and at most."""
        from rich.cells import cell_len

        is_name = _is_name_column(heading)
        most = max(map(cell_len, (heading, *cells)))
        if is_name:
            return cls(heading, cells, right, is_name, min(most, LONGEST_NAME), min(most, LONGEST_NAME))
        words = [*heading.split(), *" ".join(cells).split()]
        return cls(heading, cells, right, is_name, max(map(cell_len, words), default=0), most)


def _widths(columns: Sequence[_ScreenColumn], width: int) -> list[int]:
    """Return the width of each column: its minimum, and an equal part of the rest."""
    widths = [column.least for column in columns]
    left = width - sum(widths) - BLANKS_BETWEEN_COLUMNS * (len(columns) - 1)
    for widened, index in enumerate(sorted(range(len(columns)), key=lambda index: columns[index].most - widths[index])):
        more = max(min(left // (len(columns) - widened), columns[index].most - widths[index]), 0)
        widths[index] += more
        left -= more
    return widths


def _is_name_column(heading: str) -> bool:
    """Return whether a column holds names, or is named by one: these are cut and never broken."""
    return heading in NAME_HEADINGS or max(map(len, heading.split()), default=0) > LONGEST_NAME


def _glue(text: str) -> str:
    """Replace the space before a percent sign by a no-break space."""
    return BEFORE_PERCENT.sub(GLUE, text)


def _rich_table(columns: Sequence[_ScreenColumn], width: int) -> "Table":
    """Return a table of the library rich with these columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, wide in zip(columns, _widths(columns, width), strict=True):
        table.add_column(
            column.heading,
            justify="right" if column.right else "left",
            overflow="ellipsis" if column.is_name else "fold",
            no_wrap=column.is_name,
            width=wide,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def say(message: str, *, style: str | None = None) -> None:
    """Print a message that is not the result; one that lists very much is cut."""
    text = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} …"
    _sentence(screen(stderr=True), text, style=style)


def _sentence(console: "Console", text: str, *, style: str | None = None) -> None:
    """Print text in lines of the screen's width; a word that is longer, such as a path, is never broken.

    Nothing is broken where no width is known, so that a program can look for a sentence. Ends of lines count only
    before and after the text: one inside may be that of a column's name.
    """
    before, after = len(text) - len(text.lstrip("\n")), len(text) - len(text.rstrip("\n"))
    inside = printable(without_secrets(text.strip("\n")))
    text = "\n" * before + inside + "\n" * (after if inside else 0)
    if console.file.isatty() or "COLUMNS" in os.environ:
        text = "\n".join(_broken(line, console.width) for line in text.split("\n"))
    console.print(text, style=style, soft_wrap=True)


def _broken(line: str, width: int) -> str:
    """Break a line to a width; following lines are indented."""
    from rich.cells import cell_len

    indent = " " * (len(line) - len(line.lstrip()) + 2)
    # Letters such as those of Japanese are two columns wide: a filler character makes up for the second.
    wide = line if line.isascii() else "".join(mark + FILLER * (cell_len(mark) - 1) for mark in line)
    filled = textwrap.fill(_glue(wide), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace(FILLER, "").replace(GLUE, " ")


def note(message: str) -> None:
    """Print a note to stderr."""
    say(f"note: {message}")


def print_json(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a run."""
    sys.stdout.write(without_secrets(json.dumps(document, indent=2, allow_nan=False)) + "\n")


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on stderr while a share from 0 to 1 is reported; none if stderr is no terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = screen(stderr=True)
    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*parts, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(printable(what), total=1.0)
        entered = [""]

        def show_stage(stage: str, rows: str) -> None:
            entered[0] = stage or entered[0]
            bar.update(task, description=printable(f"{entered[0]} {rows}".rstrip()))

        BARS.extend([what] if console.is_terminal else [])
        try:
            with watch_stages(show_stage):
                yield lambda share: bar.update(task, completed=share)
        finally:
            BARS.clear()


PREPARING_NOTES = {
    PREPARING: "compiling for this machine takes some seconds; later runs start at once",
    PREPARING_EACH_RUN: "compiling for this machine takes some seconds, and cannot be kept: no directory can "
    "be written that is safe from other users; set NUMBA_CACHE_DIR to a directory of yours that only you can write",
}


@contextmanager
def say_preparing() -> Iterator[None]:
    """Say once that kernels are being compiled, unless a bar says so."""
    lines: list[str] = []

    def tell(stage: str, _rows: str) -> None:
        if stage in PREPARING_NOTES and not lines and not BARS:
            lines.append(stage)
            note(f"{stage}: {PREPARING_NOTES[stage]}")

    with watch_stages(tell):
        yield


@contextmanager
def stages() -> Iterator[None]:
    """Say on stderr what the stages of a run count, while it runs."""

    class Messages(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(f"{record.name.rpartition('.')[2]}: {record.getMessage()}")

    log, handler = logging.getLogger("indistinct"), Messages()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
