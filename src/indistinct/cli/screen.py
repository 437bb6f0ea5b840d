"""What a command shows: the release on stdout, as text or as one JSON document; messages on stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


# Where no terminal says how wide a line is.
WIDTH = 120


def screen(*, stderr: bool = False) -> "Console":
    """Return the screen for results, or the one for messages."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    # Names of columns may look like markup.
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def show(*parts: "str | Table") -> None:
    """Print results: tables fit the screen, lines are never cut."""
    console = screen()
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def say(message: str, *, style: str | None = None) -> None:
    """Print a message that is not the result."""
    screen(stderr=True).print(message, style=style, soft_wrap=True)


def note(message: str) -> None:
    """Say what the user should know beside the result."""
    say(f"note: {message}")


def print_json(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a run."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on stderr while a share from 0 to 1 is reported; none where nobody watches."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = screen(stderr=True)
    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*parts, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def grid(*headings: str, right: Sequence[str] = ()) -> "Table":
    """Return an empty table with these headings."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return table


def metric_table(metrics: Mapping[str, float]) -> "Table":
    """Return metrics by name."""
    table = grid("metric", "value", right=("value",))
    for name, value in metrics.items():
        table.add_row(name, number(value))
    return table


def number(value: float) -> str:
    """Return a number for people: whole ones whole up to a quadrillion, others to six digits."""
    return f"{int(value):,}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def percent(share: float) -> str:
    """Return a share for people."""
    return f"{100 * share:.3g} %"
