"""The step `explore`."""

from indistinct.web.frame import Screen, Step


async def draw(screen: Screen) -> None:
    """Draw the step."""


STEP = Step(
    "explore",
    "Explore",
    "Compare solutions, look at before and after, and choose another one.",
    draw,
)
