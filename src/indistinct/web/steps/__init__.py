"""The steps, in the order in which a steward takes them; each is a module that draws itself.

Their modules need the whole library, so that they are imported once the server answers: the first step is shown before
the last is imported.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from fastapi import Request
from nicegui import ui

from indistinct.web import parts
from indistinct.web.frame import Screen, Step, build
from indistinct.web.guard import SESSION

__all__ = ["STEPS", "prepare", "register"]

IMPORTING, LOADED = threading.Lock(), dict[str, Any]()


def _drawn_by(module: str) -> Callable[[Screen], Awaitable[None]]:
    """Return a function that draws a step; its module is imported on first use.

    A job on several tables has modules of its own.
    """
    alone = module

    async def draw(screen: Screen) -> None:
        module = f"{SEVERAL}.{alone}" if screen.session.tables is not None else alone
        if screen.session.tables is not None and alone in FOR_ONE_TABLE:
            parts.notice(NOT_FOR_SEVERAL)
            return
        # Threads are few, and work may hold them all: one is asked for where there is something to import.
        loaded = LOADED[module] if module in LOADED else await asyncio.to_thread(_load, module)
        await loaded.draw(screen)

    return draw


def _load(module: str) -> Any:
    """Return a module here; one thread imports at a time, so that none meets what another has half imported."""
    with IMPORTING:
        LOADED[module] = import_module(f"{__name__}.{module}")
        return LOADED[module]


MODULES = {
    "open": "opening",
    "columns": "columns",
    "hierarchies": "hierarchies",
    "privacy": "privacy",
    "search": "search",
    "explore": "explore",
    "risk": "risk",
    "release": "release",
}
TEXTS = {
    "open": ("Open a table", "Choose the table that shall be published; it stays on this machine."),
    "columns": ("Columns", "Say what each column is to a person: the role decides what happens to it."),
    "hierarchies": (
        "Hierarchies",
        "Say to which coarser values each column may be recoded, and see what becomes of its values.",
    ),
    "privacy": ("Privacy", "Say what must hold of the release, and how many rows may be suppressed for it."),
    "search": ("Search", "Let an algorithm find the release that loses least and satisfies the privacy guarantee."),
    "explore": ("Explore", "Compare solutions, look at before and after, and choose another one."),
    "risk": ("Risk", "See which risk remains, and attack the release before others do."),
    "release": ("Release", "Take the table, its certificate, a report, and the policy to make it again."),
}
FOR_ONE_TABLE = ("hierarchies", "explore")
"""Steps that several tables of the same people do not have."""
SEVERAL = "several"
NOT_FOR_SEVERAL = "Several tables do not have this step: their levels are chosen by the search."
STEPS = tuple(
    Step(name, *TEXTS[name], _drawn_by(module), module not in FOR_ONE_TABLE) for name, module in MODULES.items()
)


def register() -> None:
    """Register the page of each step."""
    for step in STEPS:
        _register(step)


def prepare() -> None:
    """Import what draws the steps, the first one first."""
    for module in MODULES.values():
        _load(module)
    for module in MODULES.values():
        if module not in FOR_ONE_TABLE:
            _load(f"{SEVERAL}.{module}")


def _register(step: Step) -> None:
    @ui.page(f"/{step.name}")
    def show(request: Request) -> None:
        build(request.scope[SESSION], step, STEPS, asked=request.headers.get("accept-language", ""))
