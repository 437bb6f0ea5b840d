"""The step `privacy`."""

from indistinct.web.frame import Screen, Step


async def draw(screen: Screen) -> None:
    """Draw the step."""


STEP = Step(
    "privacy",
    "Privacy",
    "Say what must hold of the release, and how many rows may be left out for it.",
    draw,
)
