"""What an attack says to a steward: figures in one sentence, and never a value of the table."""

from indistinct.figures import number, percent
from indistinct.study.attack.base import Tally
from indistinct.study.attack.intervals import wilson

NO_CONTROL = "no control was given, so that nobody knows how often this holds for people outside the release"


def share_of(tally: Tally, unit: str) -> str:
    """Return how many of those attacked, with the interval of the share.

    >>> share_of(Tally(200, 3), "people")
    '3 of 200 people (1.5 %, between 0.511 % and 4.32 %)'
    >>> share_of(Tally(0, 0), "people")
    'none, since the release shows no people that could be attacked'
    """
    if not tally.attempts:
        return f"none, since the release shows no {unit} that could be attacked"
    low, high = wilson(tally.successes, tally.attempts)
    shown = number(round(tally.successes, 2))
    return f"{shown} of {tally.attempts:,} {unit} ({percent(tally.share)}, between {percent(low)} and {percent(high)})"


def against(control: Tally | None, what: str = "outside the release it would seem so") -> str:
    """Return what the control says."""
    if control is None:
        return NO_CONTROL
    return f"{what} for {number(round(control.successes, 2))} of {control.attempts:,} ({percent(control.share)})"
