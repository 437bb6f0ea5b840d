"""Which stage a run is in, for whoever watches: reading, counting, searching, publishing, verifying, and rows.

An engine says so in the log `indistinct.stage`, at the level of debugging; whoever runs it shows it beside a bar.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOG = logging.getLogger("indistinct.stage")

Progress = Callable[[float], None]
"""What is told the share of the work that is done."""

PREPARING = "preparing, once"
"""The stage in which kernels are compiled and kept: in the first run, and never again."""

PREPARING_EACH_RUN = "preparing, in every run"
"""The stage in which kernels are compiled and cannot be kept, as no directory for them can be written safely."""

_ENTERED: ContextVar[str] = ContextVar("stage", default="")


def enter(stage: str) -> None:
    """Say that a stage begins."""
    _ENTERED.set(stage)
    LOG.debug("%s", stage, extra={"stage": stage, "rows": None})


@contextmanager
def interrupt(stage: str) -> Iterator[None]:
    """Say that another stage comes in between, and after it that the one before goes on."""
    before = _ENTERED.get()
    enter(stage)
    try:
        yield
    finally:
        enter(before)


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
