"""Tables that tasks read: opened once for a path and a way of reading, and kept."""

from pathlib import Path
from typing import Any

from indistinct.job.opening import open as open_table
from indistinct.job.policy import Policy
from indistinct.tables import Reading, Table
from indistinct.web.worker import Desk


def open_kept(desk: Desk, source: Any, reading: Reading) -> Table:
    """Return the opened table at a path; the last ones are cached."""
    table: Table = desk.keep(("table", *stamp_of(source, reading)), lambda: open_table(source, reading=reading))
    return table


def stamp_of(source: Any, reading: Reading) -> tuple[Any, ...]:
    """Return a value that identifies a table: its path, its time of change, and its reading options."""
    there = isinstance(source, Path) and source.is_file()
    written = (source.stat().st_mtime_ns, source.stat().st_size) if there else None
    return source, written, repr(reading)


def table_of(desk: Desk, policy: Policy) -> Table:
    """Return the table that a policy reads."""
    return open_kept(desk, policy.source, policy.input.reading)
