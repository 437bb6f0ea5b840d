"""The step `explore`: other solutions, and what became of rows and columns in the one that was found."""

from collections.abc import Callable

from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.sessions import job_of
from indistinct.web.standing import RELEASED
from indistinct.web.steps.algorithm_grid import draw_grid
from indistinct.web.steps.before_after import draw_column, draw_rows
from indistinct.web.steps.solutions import EXPLORED, LOOKED, draw_solutions
from indistinct.web.tasks.exploring import explored_job

VIEWS = {
    "solutions": ("All solutions", draw_solutions),
    "grid": ("Algorithms and k", draw_grid),
    "rows": ("Before and after", draw_rows),
    "column": ("One column", draw_column),
}
VIEW = "view"


async def draw(screen: Screen) -> None:
    """Draw the views to choose from, and the one that is chosen."""
    shown = screen.choices.get(VIEW, next(iter(VIEWS)))
    with parts.tag("div", classes="actions"):
        with parts.tag("div", classes="views", role="group", aria_label="What to look at"):
            for name, (title, _) in VIEWS.items():
                at = f"view-{name}"
                chosen = screen.button(title, _turn(screen, name), name=at)
                chosen.props["aria-pressed"] = "true" if name == shown else "false"
        if screen.session.result(RELEASED) is not None:
            parts.link("Go on to risk", "/risk", classes="" if _has_main(screen, shown) else "main")
    await VIEWS[shown][1](screen)


def _has_main(screen: Screen, shown: str) -> bool:
    """Return whether a view has a main action of its own."""
    if shown == "solutions":
        return LOOKED in screen.choices or not screen.session.is_fresh(EXPLORED, explored_job(screen.policy))
    return shown == "grid" or not screen.session.is_fresh(RELEASED, job_of(screen.policy))


def _turn(screen: Screen, name: str) -> Callable[[], None]:
    return lambda: screen.choices.__setitem__(VIEW, name)
