"""What a process loads before it is asked, so that the first picture of a steward does not wait for it."""

import importlib
from contextlib import suppress

import numpy as np

from indistinct.drawing.columns import bars_of_numbers, draw_bars
from indistinct.errors import MissingExtraError

TASKS = ("looking", "columns", "hierarchies", "classes")
"""The tasks that answer quickly."""


def get_ready() -> None:
    """Load what quick tasks need, and draw a picture that nobody sees: the first one takes longest."""
    for name in TASKS:
        importlib.import_module(f"indistinct.web.tasks.{name}")
    with suppress(ImportError, MissingExtraError):
        draw_bars("", bars_of_numbers(np.arange(3.0), np.ones(3, dtype=np.int64)))
