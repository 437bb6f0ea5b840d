"""Which stage a run is in, for whoever watches: reading, counting, searching, publishing, verifying, and rows.

An engine says so in the log `indistinct.stage`, at the level of debugging; the command line shows it beside its bar.
"""

import logging

LOG = logging.getLogger("indistinct.stage")


def enter(stage: str) -> None:
    """Say that a stage begins."""
    LOG.debug("%s", stage, extra={"stage": stage, "rows": None})


def passed(rows: int, *, of: int | None = None) -> None:
    """Say how many rows a stage has passed, of all where that is known."""
    LOG.debug("%d rows", rows, extra={"stage": None, "rows": (rows, of)})
