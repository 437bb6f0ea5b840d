"""What every attack is given and what it reports: a target, tallies with their intervals, an outcome in words.

An attack is a frozen value with its parameters, like an algorithm. It sees a release as its readers do, and what it
declares that the attacker has; the original only decides which guesses were right. No text holds a value of the table.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from indistinct.algorithms.base import Algorithm
from indistinct.document.blocks import (
    ABSENT,
    Block,
    Cell,
    Document,
    JsonValues,
    Listing,
    Notice,
    Paragraph,
    Words,
    document,
    grid,
    listing,
)
from indistinct.document.result import Result
from indistinct.figures import number, percent, short
from indistinct.frequencies.structure import Units, units_of
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.stages import Progress as Progress
from indistinct.models.base import Model
from indistinct.parameters import WithDocumentedParameters, check_parameters
from indistinct.release.opening import OpenedTables
from indistinct.release.sources import Source
from indistinct.schema import Schema
from indistinct.suppression_limit import NO_BUDGET, Budget

# Deviations within which a normal estimate lies in 95 % of cases.
DEVIATIONS_OF_95_PERCENT = 1.959963984540054

Interval = tuple[float, float]


def wilson(successes: float, attempts: int) -> Interval:
    """Return the 95 % interval of a share of successes (Wilson 1927); nothing is known without attempts.

    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    """
    if attempts <= 0:
        return (0.0, 1.0)
    share, square = successes / attempts, DEVIATIONS_OF_95_PERCENT**2
    middle = (share + square / (2 * attempts)) / (1 + square / attempts)
    spread = DEVIATIONS_OF_95_PERCENT * math.sqrt(share * (1 - share) / attempts + square / (4 * attempts**2))
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


Value = TypeVar("Value")


def _silent(_share: float) -> None:
    """Discard progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A release under attack, and what an attacker or a judge may have in addition.

    `schema` gives the roles in the original and `hierarchies` those that the published labels come from. `original` is
    the table that the release was made from: it judges guesses, and serves as the knowledge of a well-informed
    attacker. `external` is a table of people with quasi-identifiers, and names or other columns; `control` has people
    who are not in the release. `model` and `algorithm` are how the release was made, where that is known, and `earlier`
    is another release about some of the same people. An earlier release may show values of others, and its labels are
    read over the values of the `later` one. `seed` fixes what an attack draws at random; nothing published depends on
    it. Where there is a `sample`, about this number of rows of the original are attacked, drawn by chance.
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
    later: "Target | None" = None
    suppression: Budget = NO_BUDGET
    seed: int | None = None
    sample: int | None = None
    progress: Progress = _silent
    learned: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def form(self) -> Units:
        """How the release shows its rows."""
        return units_of(self.published.structure.form)

    def once(self, name: Hashable, compute: Callable[[], Value]) -> Value:
        """Compute a value on the first call and return the stored one afterwards."""
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


BEYOND_CHANCE = (
    "The share is what an attack finds of all attempts, the baseline what guessing achieves without the release, the "
    "control what the attack achieves for people who are not in it. Beyond control is the risk: what it finds of those "
    "whom the control misses, or all that it finds without a control. An attack beats chance where it does better than "
    "both, with a confidence of 95 %."
)


def outcome_blocks(values: JsonValues) -> list[Block]:
    """Return the outcomes of attacks as a table and sentences; `values` has them as JSON values."""
    outcomes = values.at("outcomes")
    rows: list[tuple[Cell, ...]] = [_outcome_row(values, index) for index in range(len(outcomes))]
    headings = (
        "attack",
        "beats chance",
        "found",
        "share",
        "baseline",
        "control",
        "beyond control",
        "its 95 % interval",
    )
    caption = "What attacks achieve, with a confidence of 95 %"
    table = grid(caption, headings, rows, right=headings[2:7])
    none = "No attack was through in time." if values.at("left_out") else "No attack was tried."
    blocks: list[Block] = [table, Paragraph(BEYOND_CHANCE)] if rows else [Notice(none)]
    if values.at("sample"):
        blocks.append(
            Paragraph(
                f"Attacked were {number(values.at('sample'))} rows of the original, drawn at random; intervals allow "
                "for that. `indistinct attack all` attacks every row, which takes its time."
            )
        )
    blocks += listing(map(_outcome_sentence, outcomes))
    refused = tuple(f"{name}: {reason}" for name, reason in (values.at("refused") or {}).items())
    if refused:
        blocks += [Paragraph("Attacks that do not apply:"), Listing(refused)]
    if values.at("left_out"):
        blocks.append(Notice(f"Left out for lack of time (--seconds): {', '.join(values.at('left_out'))}.", "warning"))
    return blocks


def _outcome_row(values: JsonValues, index: int) -> tuple[Cell, ...]:
    """Return the row of one attack for the table of outcomes."""

    def figure(key: str, words: Words = percent, absent: str = ABSENT) -> Cell:
        return values.figure("outcomes", index, key, words=words, absent=absent)

    attempts = values.at("outcomes", index, "attempts")
    return (
        str(values.at("outcomes", index, "attack")),
        figure("succeeds", lambda value: "YES" if value else "no"),
        figure("successes", lambda value: f"{number(round(value, 1))} of {short(attempts)}"),
        figure("successes", lambda value: percent(value / attempts) if attempts else ABSENT),
        figure("baseline"),
        figure("control", absent="none"),
        figure("risk"),
        figure("interval", lambda ends: f"{percent(ends[0])} to {percent(ends[1])}"),
    )


def _outcome_sentence(outcome: Mapping[str, Any]) -> str:
    beaten = "does not beat chance" if outcome["successes"] else "finds nothing"
    words = f"{outcome['attack']} {'beats chance' if outcome['succeeds'] else beaten}. {outcome['sentence']}"
    return f"{words} To defend: {outcome['defend']}." if outcome["succeeds"] and outcome["defend"] else words


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Result):
    """The result of an attack.

    `tally` counts the people of the release, or rows, that were attacked; `control` counts people who are not in it.
    `baseline` is the success rate of guessing from public knowledge, without the release. `sentence` is the result in
    words, and `defence` the option that prevents the attack. `details` are further figures of this attack; no text has
    a value of the table.
    """

    attack: str
    tally: Tally
    baseline: float
    sentence: str
    control: Tally | None = None
    defence: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> Document:
        """Return the figures of the outcome, what it means, and what would close the hole."""
        beats = "beats chance" if self.succeeds else "does not beat chance"
        title = f"{self.attack} {beats}: {percent(self.tally.share)} of {short(self.tally.attempts)} attempts"
        return document(title, *outcome_blocks(JsonValues("attack", {"outcomes": [self.to_json()]})))

    @property
    def risk(self) -> float:
        """Return the residual risk: successes above the control rate, as a share of the possible ones; at least 0.

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


OTHER_FORM: Mapping[Units, str] = {
    "buckets": "it is in buckets, and its values are not generalized",
    "classes": "it is in classes, and the attack deals values out inside buckets",
}
"""Why an attack on the other form does not apply to a release, by the release's form."""


class Attack(WithDocumentedParameters, ABC):
    """An attack: a frozen value with its parameters.

    `needs` names the parts of a target without which it cannot run, such as `original`, and `form` how the release must
    show its rows, where not every form will do.
    """

    __slots__ = ()
    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    form: ClassVar[Units | None] = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def refusal(self, target: Target) -> str | None:
        """Return why the attack does not apply to a release, None where it does."""
        if self.form not in (None, target.form):
            return OTHER_FORM[target.form]
        missing = [part for part in self.needs if getattr(target, part) is None]
        return f"it needs {' and '.join(NEEDED[part] for part in missing)}" if missing else None

    @abstractmethod
    def run(self, target: Target) -> Outcome:
        """Run the attack; raise `InputError` if the tables do not match."""


NO_CONTROL = "no control was given, so it is unknown how often this holds for people outside the release"


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
    successes = number(round(tally.successes, 2))
    return (
        f"{successes} of {tally.attempts:,} {unit} ({percent(tally.share)}, between {percent(low)} and {percent(high)})"
    )


def against(control: Tally | None, what: str = "outside the release it would seem so") -> str:
    """Describe the result of the control in words."""
    if control is None:
        return NO_CONTROL
    return f"{what} for {number(round(control.successes, 2))} of {control.attempts:,} ({percent(control.share)})"
