"""The step `release`."""

from indistinct.web.frame import Screen, Step


async def draw(screen: Screen) -> None:
    """Draw the step."""


STEP = Step(
    "release",
    "Release",
    "Take the table, its certificate, a report, and the policy to make it again.",
    draw,
)
