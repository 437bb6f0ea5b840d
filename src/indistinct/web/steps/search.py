"""The step `search`."""

from indistinct.web.frame import Screen, Step


async def draw(screen: Screen) -> None:
    """Draw the step."""


STEP = Step(
    "search",
    "Search",
    "Let an algorithm find the release that loses least and keeps the promise.",
    draw,
)
