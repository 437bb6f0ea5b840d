"""Which stage a run is in, for whoever watches: reading, counting, searching, publishing, verifying, and rows.

An engine says so in the log `indistinct.stage`, at the level of debugging; whoever runs it shows it beside a bar.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOG = logging.getLogger("indistinct.stage")
COMPILING = "compiling, once"
"""What is said while a kernel is compiled, which the next run need not do."""
_entered = [""]


def enter(stage: str) -> None:
    """Say that a stage begins."""
    _entered[0] = stage
    LOG.debug("%s", stage, extra={"stage": stage, "rows": None})


def enter_compiling(begins: bool) -> None:
    """Say that the stage waits for a compiler, or that it goes on."""
    stage = COMPILING if begins else _entered[0] or "working"
    LOG.debug("%s", stage, extra={"stage": stage, "rows": None})


def report_rows(rows: int, *, of: int | None = None) -> None:
    """Say how many rows a stage has passed, of all where that is known."""
    LOG.debug("%d rows", rows, extra={"stage": None, "rows": (rows, of)})


@contextmanager
def watch_stages(show: Callable[[str, str], None]) -> Iterator[None]:
    """Show the stages of a run, and the rows that each has passed, in words, while it runs.

    A stage that goes on is told as an empty text, with its rows.
    """

    class Stages(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told = vars(record)
            done, of = told.get("rows") or (None, None)
            show(told.get("stage") or "", "" if done is None else f"{done:,}{f' of {of:,}' if of else ''} rows")

    handler, level = Stages(), LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG)
    LOG.propagate = False
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)
        LOG.propagate = True
