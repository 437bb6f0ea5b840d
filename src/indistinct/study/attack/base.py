"""What every attack is given and what it reports: a target, tallies with their intervals, an outcome in words.

An attack is a frozen value with its parameters, like an algorithm. It sees a release as its readers do, beside what it
declares that the attacker has; the original only decides which guesses were right. No text holds a value of the table.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from indistinct.algorithms.base import Algorithm
from indistinct.budget import NO_BUDGET, Budget
from indistinct.engines.base import Source
from indistinct.figures import number, percent, short
from indistinct.hierarchy import Hierarchy
from indistinct.markup import Cell, Document, Grid, Result, grid
from indistinct.models.base import Model
from indistinct.parameters import check_parameters
from indistinct.release.opening import OpenedTables
from indistinct.schema import Schema

# A normal estimate lies within so many deviations in 95 % of cases.
DEVIATIONS = 1.959963984540054

Interval = tuple[float, float]


def wilson(successes: float, attempts: int) -> Interval:
    """Return the 95 % interval of a share of successes (Wilson 1927); nothing is known without attempts.

    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    """
    if attempts <= 0:
        return (0.0, 1.0)
    share, square = successes / attempts, DEVIATIONS**2
    middle = (share + square / (2 * attempts)) / (1 + square / attempts)
    spread = DEVIATIONS * math.sqrt(share * (1 - share) / attempts + square / (4 * attempts**2))
    half = spread / (1 + square / attempts)
    return (max(middle - half, 0.0) if share > 0 else 0.0, min(middle + half, 1.0) if share < 1 else 1.0)


def newcombe(successes: float, attempts: int, others: float, other_attempts: int) -> Interval:
    """Return the 95 % interval of the difference of two shares (Newcombe 1998, method 10).

    >>> [round(end, 2) for end in newcombe(56, 70, 48, 80)]
    [0.05, 0.33]
    """
    first, second = wilson(successes, attempts), wilson(others, other_attempts)
    one = successes / attempts if attempts > 0 else 0.5
    other = others / other_attempts if other_attempts > 0 else 0.5
    low = one - other - math.hypot(one - first[0], second[1] - other)
    high = one - other + math.hypot(first[1] - one, other - second[0])
    return (max(low, -1.0), min(high, 1.0))


Progress = Callable[[float], None]
Value = TypeVar("Value")


def _silent(_share: float) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A release under attack, and what an attacker or a judge may have beside it.

    `schema` gives the roles in the original and `hierarchies` those that the published labels come from. `original` is
    the table that the release was made from: it judges guesses, and stands in for what a well-informed attacker knows.
    `external` is a table of people with quasi-identifiers, and names or other columns; `control` has people who are not
    in the release. `model` and `algorithm` are how the release was made, where that is known, and `earlier` is another
    release about some of the same people. `seed` fixes what an attack draws at random; nothing published depends on it.
    Where there is a `sample`, about so many rows of the original are attacked, drawn by chance.
    `learned` keeps what several attacks look at, such as the classes of the release.
    """

    published: OpenedTables
    schema: Schema
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    original: Source | None = None
    external: Source | None = None
    control: Source | None = None
    model: Model | None = None
    algorithm: Algorithm | None = None
    earlier: "Target | None" = None
    suppression: Budget = NO_BUDGET
    seed: int | None = None
    sample: int | None = None
    progress: Progress = _silent
    learned: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, name: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what was computed under a name, computing it when it is first asked for."""
        if name not in self.learned:
            self.learned[name] = compute()
        value: Value = self.learned[name]
        return value


@dataclass(frozen=True, slots=True)
class Tally:
    """How often something was tried, and how often it succeeded: expected successes may be fractions."""

    attempts: int
    successes: float

    @property
    def share(self) -> float:
        """Return the share of successes; 0 without attempts."""
        return self.successes / self.attempts if self.attempts else 0.0


def outcome_grid(outcomes: "Sequence[Outcome]") -> Grid:
    """Return a line for each outcome of an attack."""
    rows: list[tuple[Cell, ...]] = []
    for index, each in enumerate(outcomes):
        found = Document("attack", {"outcomes": {index: each.to_json()}})
        keys = {"attempts": short, "risk": percent, "baseline": percent}
        figures = [found.figure("outcomes", index, key, words=words) for key, words in keys.items()]
        low, high = wilson(each.tally.successes, each.tally.attempts)
        succeeds = "yes" if each.succeeds else "no"
        rows.append((each.attack, succeeds, *figures, f"{percent(low)} to {percent(high)}", each.sentence))
    headings = ("attack", "succeeds", "attempts", "risk", "baseline", "success, 95 %", "what it means")
    return grid("Attacks", headings, rows, right=headings[2:5])


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Result):
    """What an attack achieved.

    `tally` counts the people of the release, or rows, that were attacked; `control` counts people who are not in it.
    `baseline` is the share of successes of somebody who guesses from what everybody knows, without the release.
    `sentence` says it to a steward, and `defence` which option would close the hole. `details` are further figures of
    this attack; no text here holds a value of the table.
    """

    attack: str
    tally: Tally
    baseline: float
    sentence: str
    control: Tally | None = None
    defence: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def heading(self) -> str:
        """Return the attack, and whether it succeeds."""
        told = "succeeds" if self.succeeds else "does not succeed"
        return f"{self.attack} {told}: {percent(self.tally.share)} of {short(self.tally.attempts)} attempts"

    def grids(self) -> Iterable[Grid]:
        """Return the figures of the outcome."""
        return [outcome_grid([self])]

    def remarks(self) -> Iterable[str]:
        """Return what would close the hole."""
        return () if self.defence is None else (self.defence,)

    @property
    def risk(self) -> float:
        """Return the residual risk: what succeeds beyond the control, as a share of what could; at least 0.

        Without a control it is the share of successes.
        """
        if self.control is None:
            return self.tally.share
        return self._share_beyond_control(self.tally.share - self.control.share)

    @property
    def interval(self) -> Interval:
        """Return the 95 % interval of the risk: Wilson's, or Newcombe's of the difference where there is a control."""
        if self.control is None:
            return wilson(self.tally.successes, self.tally.attempts)
        own, other = self.tally, self.control
        low, high = newcombe(own.successes, own.attempts, other.successes, other.attempts)
        return (self._share_beyond_control(low), self._share_beyond_control(high))

    def _share_beyond_control(self, difference: float) -> float:
        control = 0.0 if self.control is None else self.control.share
        return min(max(difference / (1 - control), 0.0), 1.0) if control < 1 else 0.0

    @property
    def beyond_chance(self) -> float:
        """Return by how much more often it succeeds than the baseline and the control, at least; below 0 if it may not.

        It is the lower limit of a 95 % interval.
        """
        low, _ = wilson(self.tally.successes, self.tally.attempts)
        if self.control is None:
            return low - self.baseline
        own, other = self.tally, self.control
        return min(low - self.baseline, newcombe(own.successes, own.attempts, other.successes, other.attempts)[0])

    @property
    def succeeds(self) -> bool:
        """Whether the attack does better than the baseline and the control, with a confidence of 95 %."""
        low, _ = wilson(self.tally.successes, self.tally.attempts)
        return low > self.baseline and (self.control is None or self.interval[0] > 0)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain JSON values."""
        control = self.control
        return {
            "attack": self.attack,
            "attempts": self.tally.attempts,
            "successes": self.tally.successes,
            "success_interval": list(wilson(self.tally.successes, self.tally.attempts)),
            "baseline": self.baseline,
            "control": None if control is None else control.share,
            "control_attempts": None if control is None else control.attempts,
            "control_interval": None if control is None else list(wilson(control.successes, control.attempts)),
            "risk": self.risk,
            "interval": list(self.interval),
            "beyond_chance": self.beyond_chance,
            "succeeds": self.succeeds,
            "sentence": self.sentence,
            "defend": self.defence,
            "details": dict(self.details),
        }


NEEDED = {
    "original": "the original table (original, --original)",
    "control": "a table of people of the same kind who are not in the original (control, --control)",
    "earlier": "an earlier release of the same people (earlier, --earlier)",
    "model": "the model that the release was made for (model, --model)",
    "algorithm": "the algorithm that made it (algorithm, --algorithm)",
}
"""What the parts of a target are, in words, and how they are given."""


class Attack(ABC):
    """An attack: a frozen value with its parameters.

    `needs` names the parts of a target without which it cannot run, such as `original`.
    """

    __slots__ = ()
    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_parameters(self)

    def refusal(self, target: Target) -> str | None:
        """Return why the attack does not apply to a release, None where it does."""
        missing = [part for part in self.needs if getattr(target, part) is None]
        return f"it needs {' and '.join(NEEDED[part] for part in missing)}" if missing else None

    @abstractmethod
    def run(self, target: Target) -> Outcome:
        """Return what the attack achieves; raise `InputError` where tables do not fit each other."""


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
