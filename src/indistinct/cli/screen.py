"""What a command shows: the release on stdout, as text or as one JSON document; messages on stderr."""

import json
import logging
import os
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from indistinct.errors import without_secrets
from indistinct.figures import number
from indistinct.machine.stages import PREPARING, PREPARING_EACH_RUN, watch_stages

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


# Where no terminal says how wide a line is. Every table fits.
WIDTH = 80
# Names of columns are cut to so many letters where they stand in a table.
LONGEST_NAME = 24
LONGEST_MESSAGE = 1500
# A character that no text has, since it is set aside for private use.
FILLER = "\ue000"
# How many bars somebody sees at the moment.
BARS: list[str] = []


def printable(text: str) -> str:
    r"""Return text in which nothing steers a terminal, begins a line or turns the direction of writing.

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
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    # Names of columns may look like markup.
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def show(*parts: "str | Table") -> None:
    """Print results: tables fit the screen, sentences are broken between words where somebody reads them."""
    console = screen()
    for part in parts:
        if isinstance(part, str):
            _sentence(console, part)
        else:
            for block in _blocks(part, console.width):
                console.print(block)


def _blocks(table: "Table", width: int) -> "Iterator[Table]":
    """Yield a table or, where its columns do not fit, several below each other that repeat the first column."""
    from rich.cells import cell_len
    from rich.table import Table

    cells = [[printable(str(cell)) for cell in column.cells] for column in table.columns]
    heads = [printable(str(column.header)) for column in table.columns]
    words = [
        [word for cell in [head, *own] for word in (cell.split() if not c.no_wrap else [cell[:LONGEST_NAME]])]
        for c, head, own in zip(table.columns, heads, cells, strict=True)
    ]
    needed = [max(map(cell_len, each), default=0) + len("  ") for each in words]
    ahead, first = list(range(1, len(needed))), True
    while ahead or first:
        first, chosen = False, [0, *ahead[:1]]
        del ahead[:1]
        while ahead and sum(needed[index] for index in (*chosen, ahead[0])) - len("  ") <= width:
            chosen.append(ahead.pop(0))
        columns = [replace(table.columns[index].copy(), header=heads[index]) for index in chosen]
        block = Table(*columns, box=table.box, show_edge=False, pad_edge=False, padding=table.padding)
        for row in range(table.row_count):
            block.add_row(*(cells[index][row] for index in chosen))
        yield block


def say(message: str, *, style: str | None = None) -> None:
    """Print a message that is not the result; one that lists very much is cut."""
    shown = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} …"
    _sentence(screen(stderr=True), shown, style=style)


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
    from rich.cells import cell_len

    indent = " " * (len(line) - len(line.lstrip()) + 2)
    # Letters such as those of Japanese are two columns wide, which only a second character tells.
    wide = line if line.isascii() else "".join(mark + FILLER * (cell_len(mark) - 1) for mark in line)
    filled = textwrap.fill(wide, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace(FILLER, "")


def note(message: str) -> None:
    """Say what the user should know beside the result."""
    say(f"note: {message}")


def print_json(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a run."""
    sys.stdout.write(without_secrets(json.dumps(document, indent=2, allow_nan=False)) + "\n")


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on stderr while a share from 0 to 1 is reported; none where nobody watches."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = screen(stderr=True)
    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*parts, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(printable(what), total=1.0)
        entered = [""]

        def tell(stage: str, rows: str) -> None:
            entered[0] = stage or entered[0]
            bar.update(task, description=printable(f"{entered[0]} {rows}".rstrip()))

        BARS.extend([what] if console.is_terminal else [])
        try:
            with watch_stages(tell):
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
    said: list[str] = []

    def tell(stage: str, _rows: str) -> None:
        if stage in PREPARING_NOTES and not said and not BARS:
            said.append(stage)
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


def grid(*headings: str, right: Sequence[str] = (), names: Sequence[str] = ()) -> "Table":
    """Return an empty table with these headings; under those in `names` stand names, which are cut and never broken."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        is_name = heading in names
        table.add_column(
            heading,
            justify="right" if heading in right else "left",
            overflow="ellipsis" if is_name else "fold",
            no_wrap=is_name,
            min_width=None if is_name else max(map(len, heading.split())),
            max_width=LONGEST_NAME if is_name else None,
        )
    return table


def metric_table(metrics: Mapping[str, float]) -> "Table":
    """Return metrics by name, which way is good, and what each means."""
    from indistinct.metrics import describe_metric

    table = grid("metric", "value", "better", "meaning", right=("value",), names=("metric",))
    for name, value in metrics.items():
        table.add_row(name, number(value), *describe_metric(name))
    return table
