"""Engines open sources, count them and publish what an assignment says; they know no algorithm and no recoding."""

import logging
from typing import Any

from indistinct.engines.base import Engine, Source
from indistinct.engines.memory import Memory
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.tables import Reading

__all__ = ["ENGINES", "count_source", "open_source"]

LOG = logging.getLogger("indistinct.open")

ENGINES: tuple[Engine, ...] = (Memory(),)
"""Every engine, in the order in which they are asked whether a source is theirs."""


def open_source(source: Any, reading: Reading | None = None) -> tuple[Engine, Source]:
    """Return a source and the engine that it belongs to."""
    for engine in ENGINES:
        opened = engine.open(source, reading or Reading())
        if opened is not None:
            LOG.info("opened %d rows of %d columns in the engine %s", opened.rows, len(opened.columns), engine.name)
            return engine, opened
    raise InputError(f"no engine can read a {type(source).__name__}", hint="give a path or a frame")


def count_source(source: Any, request: Request) -> Counted:
    """Return the cells of anything that can be opened."""
    engine, opened = open_source(source)
    return engine.count(opened, request)
