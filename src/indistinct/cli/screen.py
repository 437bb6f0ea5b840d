"""What a command shows: results on stdout, as text or as one JSON document; progress and messages on stderr."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from indistinct.release.certificate import Certificate


def results() -> "Console":
    """Return the screen for results."""
    from rich.console import Console

    # Names of columns may look like markup; lines of a file are not cut where no terminal is.
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def errors() -> "Console":
    """Return the screen for messages."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def note(message: str) -> None:
    """Say something that is not the result."""
    errors().print(f"note: {message}")


def print_json(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a run."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on stderr while a share from 0 to 1 is reported; none where nobody watches."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = errors()
    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*parts, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def grid(*headings: str, right: Sequence[str] = ()) -> "Table":
    """Return an empty table with these headings."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    return table


def verdict_table(certificate: "Certificate") -> "Table":
    """Return what each model asked for and what was achieved."""
    table = grid("model", "holds", "achieved", "violating classes", right=("violating classes",))
    for verdict in certificate.verdicts:
        achieved = ", ".join(f"{key} = {number(value)}" for key, value in verdict.achieved.items())
        table.add_row(
            verdict.model, "yes" if verdict.holds else "NO", achieved, f"{verdict.violating_classes:,}"
        )
    return table


def metric_table(metrics: Mapping[str, float]) -> "Table":
    """Return metrics by name."""
    table = grid("metric", "value", right=("value",))
    for name, value in metrics.items():
        table.add_row(name, number(value))
    return table


def number(value: float) -> str:
    """Return a number for people: whole ones whole, others to six digits."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.6g}"


def percent(share: float) -> str:
    """Return a share for people."""
    return f"{100 * share:.3g} %"
