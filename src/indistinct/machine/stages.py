"""The stage of a run, for progress displays: reading, counting, searching, publishing, verifying, and its rows.

Engines log stages to `indistinct.stage` at debug level; interfaces show them next to a progress bar.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOG = logging.getLogger("indistinct.stage")

Progress = Callable[[float], None]
"""Called with the share of the work that is done."""

PREPARING = "preparing, once"
"""The stage in which kernels are compiled and kept, in the first run only."""

PREPARING_EACH_RUN = "preparing, in every run"
"""The stage in which kernels are compiled but cannot be kept, because there is no safe directory for them."""

_ENTERED: ContextVar[str] = ContextVar("stage", default="")


def enter(stage: str) -> None:
    """Log that a stage begins."""
    _ENTERED.set(stage)
    LOG.debug("%s", stage, extra={"stage": stage, "rows": None})


@contextmanager
def interrupt(stage: str) -> Iterator[None]:
    """Log a stage that interrupts the current one, which continues afterwards."""
    before = _ENTERED.get()
    enter(stage)
    try:
        yield
    finally:
        enter(before)


def report_rows(rows: int, *, of: int | None = None) -> None:
    """Log how many rows a stage has processed, and of how many if that is known."""
    LOG.debug("%d rows", rows, extra={"stage": None, "rows": (rows, of)})


@contextmanager
def watch_stages(show: Callable[[str, str], None]) -> Iterator[None]:
    """Call `show` with the stages of a run, and the rows that each has processed, while the block runs.

    A stage that continues is shown as an empty text, with its rows.
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
