"""Why a release was chosen: what was tried, what each attempt lost, and what limits the best one.

It contains names, settings and figures, never cell values. It is for the data steward: losses of other attempts are
computed from the original table and are not part of the release.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from indistinct.as_json import AsJson, to_plain
from indistinct.document.blocks import Grid, grid
from indistinct.figures import percent, short
from indistinct.metrics.base import BETTER, SHARES, Goal

# Number of columns with the largest losses that are named.
MAX_COLUMNS_NAMED = 3


@dataclass(frozen=True, slots=True)
class Attempt:
    """A search that was run and the loss of its answer; or the `reason` why it has none."""

    algorithm: str
    loss: float | None = None
    classes: int = 0
    suppressed: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What an algorithm would lose with another `setting` (`loss`), and what it loses now (`before`)."""

    algorithm: str
    setting: str
    before: float
    loss: float


@dataclass(frozen=True, slots=True)
class Proof(AsJson):
    """The quality of an exhaustive search's answer: it costs `best`, and no answer costs less than `bound`.

    `nodes` is the number of nodes that were evaluated.

    >>> print(Proof(best=200, bound=150, nodes=1024))
    best 200, none below 150, gap 25 %, 1,024 nodes
    """

    in_json: ClassVar[str] = "best bound nodes gap proven"
    best: float
    bound: float
    nodes: int

    @property
    def proven(self) -> bool:
        """Whether no answer is better."""
        return self.bound >= self.best

    @property
    def gap(self) -> float:
        """The largest share of its cost by which the answer could be better."""
        return 0.0 if self.proven else (self.best - self.bound) / self.best

    def __str__(self) -> str:
        return f"best {self.best:,}, none below {self.bound:,}, gap {percent(self.gap)}, {self.nodes:,} nodes"

    def sentence(self) -> str:
        """Return in words how good the answer is."""
        if self.proven:
            return f"proven: nothing is below {self.best:,} ({self.nodes:,} nodes)"
        return (
            f"not proven: the search was stopped after {self.nodes:,} nodes; nothing is below {self.bound:,}, so that "
            f"at most {percent(self.gap)} could be gained"
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons for a choice among algorithms, or for the answer of an exhaustive search.

    `algorithm` is the one that was chosen, `loss` what it loses by the `metric`, and `columns` each column's share of
    that. `changes` were tried with a fast algorithm, which need not be the chosen one. `proof` says how good the answer
    is, where the search was exhaustive. `notes` are sentences of the search itself.
    """

    metric: str
    goal: Goal
    algorithm: str
    loss: float
    attempts: tuple[Attempt, ...]
    columns: Mapping[str, float]
    changes: tuple[Change, ...] = ()
    proof: Proof | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> tuple[str, ...]:
        """Return the explanation as sentences."""
        tried = ", ".join(f"{each.algorithm} {self.spell_loss(each.loss or 0.0)}" for each in self.ranking)
        return (
            f"{self.algorithm} was chosen by {self.metric}, {BETTER[self.goal]} is better: {tried}",
            *self.reasons(),
        )

    def spell_loss(self, value: float) -> str:
        """Return a value of the metric as text: a share in percent."""
        return percent(value) if self.metric in SHARES else short(value)

    @property
    def ranking(self) -> tuple[Attempt, ...]:
        """The attempts that gave a release, the best first."""
        sign = 1 if self.goal == "min" else -1
        successes = [each for each in self.attempts if each.loss is not None]
        return tuple(sorted(successes, key=lambda each: sign * (each.loss or 0.0)))

    def reasons(self) -> tuple[str, ...]:
        """Return what limits the best attempt, as sentences.

        Attempts that failed, columns with the most loss, easier settings.
        """
        sentences = [f"{each.algorithm} {each.reason}" for each in self.attempts if each.loss is None]
        if self.proof is not None:
            sentences.append(self.proof.sentence())
        sentences.extend(self.notes)
        most = sorted(self.columns.items(), key=lambda item: -item[1])[:MAX_COLUMNS_NAMED]
        if sum(self.columns.values()) > 0:
            named = ", ".join(f"{name} {percent(share)}" for name, share in most if share > 0)
            sentences.append(f"the columns that lose most: {named} of all that is lost")
        for each in self.changes:
            after, before = self.spell_loss(each.loss), self.spell_loss(each.before)
            change = "the same" if after == before else f"{after} instead of {before}"
            sentences.append(f"{each.setting}: {change}, by the search {each.algorithm}")
        return tuple(sentences)

    def attempt_grid(self) -> Grid:
        """Return the attempts, the best first, and the rows that each would suppress if any does, as a table."""
        suppresses = any(each.suppressed for each in self.ranking)
        headings = (self.metric, "classes", *(["suppressed"] if suppresses else []))
        rows = [
            (each.algorithm, self.spell_loss(each.loss or 0.0), short(each.classes), short(each.suppressed))
            for each in self.ranking
        ]
        cells = [row[: 1 + len(headings)] for row in rows]
        return grid("What was tried, the best first", ("algorithm", *headings), cells, right=headings, most=len(rows))

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values."""
        document = {
            "metric": self.metric,
            "better": BETTER[self.goal],
            "algorithm": self.algorithm,
            "loss": self.loss,
            "attempts": [
                {"algorithm": each.algorithm, "loss": each.loss, "classes": each.classes}
                | ({"suppressed": each.suppressed} if each.reason is None else {"reason": each.reason})
                for each in self.attempts
            ],
            "columns": self.columns,
            "changes": self.changes,
            **({} if self.proof is None else {"proof": self.proof}),
            **({"notes": self.notes} if self.notes else {}),
        }
        return {name: to_plain(each) for name, each in document.items()}
