"""The step `hierarchies`."""

from indistinct.web.frame import Screen, Step


async def draw(screen: Screen) -> None:
    """Draw the step."""


STEP = Step(
    "hierarchies",
    "Hierarchies",
    "Say how the values of a column become coarser, level by level.",
    draw,
)
