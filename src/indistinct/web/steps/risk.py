"""The step `risk`."""

from indistinct.web.frame import Screen, Step


async def draw(screen: Screen) -> None:
    """Draw the step."""


STEP = Step(
    "risk",
    "Risk",
    "See which risk remains, and attack the release before others do.",
    draw,
)
