"""The step `columns`."""

from indistinct.web.frame import Screen, Step


async def draw(screen: Screen) -> None:
    """Draw the step."""


STEP = Step(
    "columns",
    "Columns",
    "Say what each column is to a person: the role decides what happens to it.",
    draw,
)
