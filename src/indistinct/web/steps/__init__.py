"""The steps, in the order in which a steward takes them; each is a module that draws itself."""

from fastapi import Request
from nicegui import ui

from indistinct.web.frame import Step, build
from indistinct.web.guard import SESSION
from indistinct.web.steps import columns, explore, hierarchies, opening, privacy, release, risk, search

__all__ = ["STEPS", "register"]

STEPS = (
    opening.STEP,
    columns.STEP,
    hierarchies.STEP,
    privacy.STEP,
    search.STEP,
    explore.STEP,
    risk.STEP,
    release.STEP,
)


def register() -> None:
    """Tell the framework where each step is."""
    for step in STEPS:
        _register(step)


def _register(step: Step) -> None:
    @ui.page(f"/{step.name}")
    def show(request: Request) -> None:
        build(request.scope[SESSION], step, STEPS)
