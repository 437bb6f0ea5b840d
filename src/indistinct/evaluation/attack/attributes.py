"""Attacks on sensitive values: homogeneity, background knowledge, skewness and similarity.

In each an attacker finds the groups that may hold a person, and looks at the sensitive values that they show.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.attack.base import Attack, Outcome, Tally, Target, against, share_of
from indistinct.evaluation.attack.crowd import Crowd, control_crowd, domain_of, draw_people, original_crowd, unit_of
from indistinct.evaluation.attack.matching import Belief, belief, groups_of, matches_of, prior_belief
from indistinct.figures import percent, plural
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.models.arithmetic import per_class
from indistinct.parameters import Number, Parameter, Whole
from indistinct.tables.domain import Domain
from indistinct.text_form import arguments_of

# Shares are sums of fractions: what differs by less is equal.
TOLERANCE = 1e-9


CONFIDENCE = Parameter(
    "Confidence",
    "Share of the candidates from which a value counts as learned: 1 is certainty.",
    Number("above 0 and at most 1", low=math.ulp(0.0), high=1),
)
ATTACKED_COLUMN = Parameter("Attacked column", "Sensitive column that is attacked; none attacks all of them.")


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveColumn:
    """A sensitive column of the original: its values, and its hierarchy where one is known."""

    domain: Domain
    taxonomy: Taxonomy | None


class AttributeAttack(Attack):
    """An attack that learns sensitive values; all people of the original covered by a label are attacked.

    The baseline is the share of people about whom the distribution of the whole release reveals as much. A person with
    several rows is found out by any of them.
    """

    __slots__ = ()
    needs: ClassVar[tuple[str, ...]] = ("original",)

    @property
    def column(self) -> str | None:
        """Return the one sensitive column that is attacked; every one where it is None."""
        return arguments_of(self).get("sensitive") or None

    @abstractmethod
    def learns(self, known: Belief, own: Codes, column: SensitiveColumn) -> Mask:
        """Mark the rows whose sensitive value the attacker learns, given each row's own value."""

    @abstractmethod
    def claim(self) -> str:
        """Return what the attacker learns, as the middle of the sentence that reports the outcome."""

    @property
    @abstractmethod
    def defence(self) -> str:
        """Return which option closes the hole."""

    def columns(self, target: Target) -> tuple[str, ...]:
        """Return the sensitive columns that are attacked."""
        published = {name for source in target.published.sources.values() for name in source.columns}
        present = tuple(name for name in target.schema.sensitive if name in published)
        if self.column is not None and self.column not in present:
            raise ParameterError(f"{self.name} needs a sensitive column of the release; {self.column!r} is none")
        return present if self.column is None else (self.column,)

    def refusal(self, target: Target) -> str | None:
        """It needs a sensitive column."""
        if not target.schema.sensitive:
            return "the release has no sensitive column"
        return Attack.refusal(self, target)

    def run(self, target: Target) -> Outcome:
        """Attack every sensitive column; a person counts who is found out by one."""
        crowd, control = draw_people(original_crowd(target), target), control_crowd(target)
        names = self.columns(target)
        attacked, learnt, before = self._attack_columns(target, crowd, names)
        tally = crowd.tally(attacked, np.logical_or.reduce(list(learnt.values())))
        outside = None if control is None else self._attack_control(target, control, names)
        baseline = crowd.tally(attacked, np.logical_or.reduce(list(before.values()))).share
        unit = unit_of(target)
        sentence = (
            f"An attacker who knows their quasi-identifiers {self.claim()} of {share_of(tally, unit)}; "
            f"{against(outside)}."
        )
        details = {
            "unit": unit,
            "by_column": {name: crowd.tally(attacked, mask).successes for name, mask in learnt.items()},
        }
        return Outcome(self.name, tally, baseline, sentence, outside, self.defence, details)

    def _attack_columns(
        self, target: Target, crowd: Crowd, names: tuple[str, ...]
    ) -> tuple[Mask, dict[str, Mask], dict[str, Mask]]:
        """Return masks of the attacked people and, by column, of those disclosed and of those known before."""
        attacked = np.zeros(len(crowd), dtype=bool)
        learnt: dict[str, Mask] = {}
        before: dict[str, Mask] = {}
        for index, name in enumerate(names):
            groups, column = groups_of(target, name), self._column(target, name)
            if name not in crowd.values:
                raise InputError(f"the control has no column {name!r}", hint="it must show the sensitive columns")
            own = crowd.values[name]
            matches = matches_of(target, groups, crowd)
            known = belief(groups, matches, size=len(column.domain))
            learnt[name] = matches.covered & self.learns(known, own, column)
            before[name] = self.learns(prior_belief(known), own, column)
            attacked |= matches.covered
            target.progress((index + 1) / len(names))
        return attacked, learnt, before

    def _attack_control(self, target: Target, control: Crowd, names: tuple[str, ...]) -> Tally:
        _, learnt, _ = self._attack_columns(target, control, names)
        return control.tally(np.ones(len(control), dtype=bool), np.logical_or.reduce(list(learnt.values())))

    @staticmethod
    def _column(target: Target, name: str) -> SensitiveColumn:
        """Return the domain and hierarchy of a sensitive column."""
        domain = domain_of(target, name)
        hierarchy = target.hierarchies.get(name)
        return SensitiveColumn(domain, None if hierarchy is None else hierarchy.bind(domain))


@dataclass(frozen=True, slots=True)
class BackgroundKnowledge(AttributeAttack):
    """An attacker who knows `excluded` values that a person does not have: the worst ones, for that person.

    It succeeds where the person's own value then has at least a `share`; 1 is certainty. `sensitive` names one column,
    else all are attacked.
    """

    name: ClassVar[str] = "background-knowledge"
    excluded: Annotated[
        int, Parameter("Excluded values", "Number of other values that the attacker can rule out.", Whole(0))
    ] = 1
    share: Annotated[float, CONFIDENCE] = 1.0
    sensitive: Annotated[str, ATTACKED_COLUMN] = ""

    def learns(self, known: Belief, own: Codes, column: SensitiveColumn) -> Mask:
        """Mark rows whose own value has the share after the most frequent other values are excluded."""
        return own_share_without(known, own, self.excluded) >= self.share - TOLERANCE

    def claim(self) -> str:
        """Return what the attacker learns, in words."""
        return f"and can rule {plural(self.excluded, 'other value')} out {share_told(self.share)}"

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        return f"ask for at least {self.excluded + 2} values in every class: distinct-l-diversity:l={self.excluded + 2}"


def own_share_without(known: Belief, own: Codes, excluded: int) -> Codes:
    """Return the share of each row's own value when the `excluded` most frequent other values are ruled out."""
    owners, vectors = known.owners(), len(known.indptr) - 1
    order = np.lexsort((-known.shares, owners))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(known.indptr[:-1], known.number)

    def largest(number: int) -> Codes:
        chosen = ranks < number
        return np.bincount(owners[chosen], weights=known.shares[chosen], minlength=vectors)

    entries = known.entries_of(own)
    mine = np.where(entries < 0, 0.0, np.append(known.shares, 0.0)[entries])
    among = np.append(ranks, excluded)[entries] < excluded
    others = np.where(among, largest(excluded + 1)[known.vector_of_row] - mine, largest(excluded)[known.vector_of_row])
    left = np.maximum(1 - others, mine)
    return np.divide(mine, left, out=np.zeros(len(own)), where=left > TOLERANCE)


def share_told(share: float) -> str:
    """Return the confidence of an attacker in words."""
    return f"learns {'for certain' if share == 1 else f'with a confidence of {percent(share)}'} the sensitive value"


@dataclass(frozen=True, slots=True)
class Homogeneity(AttributeAttack):
    """An attacker who reads a sensitive value off the class of a person.

    It succeeds where the person's own value has at least a `share` there; 1 is certainty. `sensitive` names one column,
    else all are attacked.
    """

    name: ClassVar[str] = "homogeneity"
    share: Annotated[float, CONFIDENCE] = 1.0
    sensitive: Annotated[str, ATTACKED_COLUMN] = ""

    def learns(self, known: Belief, own: Codes, column: SensitiveColumn) -> Mask:
        """Mark rows whose own value has the share."""
        return known.own_shares(own) >= self.share - TOLERANCE

    def claim(self) -> str:
        """Return what the attacker learns, in words."""
        return share_told(self.share)

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        if self.share == 1:
            return "ask for several values in every class: distinct-l-diversity:l=2 or more, or entropy-l-diversity"
        return f"bound the share of a value in every class: alpha-k:alpha={self.share}, or entropy-l-diversity"


@dataclass(frozen=True, slots=True)
class Skewness(AttributeAttack):
    """An attacker who compares the share of a value in the class of a person with its share in the whole release.

    It succeeds where the person's own value gained at least `gain`: 0.3 is from one in ten to four in ten. `sensitive`
    names one column, else all are attacked.
    """

    name: ClassVar[str] = "skewness"
    gain: Annotated[
        float,
        Parameter(
            "Gain",
            "Increase of the probability from which a value counts as learned, above 0 and at most 1.",
            Number("above 0 and at most 1", low=math.ulp(0.0), high=1),
        ),
    ] = 0.3
    sensitive: Annotated[str, ATTACKED_COLUMN] = ""

    def learns(self, known: Belief, own: Codes, column: SensitiveColumn) -> Mask:
        """Mark rows whose own value is more likely than before by the gain."""
        return (own >= 0) & (known.own_shares(own) - known.prior[own] >= self.gain - TOLERANCE)

    def claim(self) -> str:
        """Return what the attacker learns, in words."""
        return (
            f"rightly finds a share that is {percent(self.gain)} or more above that of the whole release, for the value"
        )

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        return f"bound the distance from the whole table: t-closeness with t below {self.gain:g}"


@dataclass(frozen=True, slots=True)
class Similarity(AttributeAttack):
    """An attacker to whom a kind of value is enough: one node of the sensitive hierarchy, or a narrow range.

    It succeeds where all values that are possible for a person lie below one node, `level` steps above the values, or
    where numbers and dates lie within a `width`, a share of the whole range. Columns of text without a hierarchy are
    left out. `sensitive` names one column, else all are attacked.
    """

    name: ClassVar[str] = "similarity"
    level: Annotated[
        int, Parameter("Level", "Level of the sensitive hierarchy on which values count as similar.", Whole())
    ] = 1
    width: Annotated[
        float,
        Parameter(
            "Width",
            "Share of the column's range within which numbers count as similar, at least 0 and below 1.",
            Number("at least 0 and below 1", low=0, high=1 - 1e-16),
        ),
    ] = 0.1
    sensitive: Annotated[str, ATTACKED_COLUMN] = ""

    def columns(self, target: Target) -> tuple[str, ...]:
        """Return the columns whose values can be compared."""
        return tuple(name for name in AttributeAttack.columns(self, target) if self._compares(target, name))

    def refusal(self, target: Target) -> str | None:
        """It needs to know which values are alike."""
        reason = AttributeAttack.refusal(self, target)
        if reason is None and not self.columns(target):
            return "no sensitive column is a number or a date, or has a hierarchy of two levels"
        return reason

    def _compares(self, target: Target, name: str) -> bool:
        """Return whether values of a column can be similar: they are ordered, or have a hierarchy."""
        column = self._column(target, name)
        return column.domain.ordered if column.taxonomy is None else column.taxonomy.height > 1

    def learns(self, known: Belief, own: Codes, column: SensitiveColumn) -> Mask:
        """Mark rows whose possible values, including their own, are all similar."""
        if column.taxonomy is not None:
            level = min(self.level, column.taxonomy.height - 1)
            most = 0.0
            line: Codes | Floats = column.taxonomy.ancestors[:, level].astype(np.float64)
        else:
            line = column.domain.positions()
            most = self.width * float(line.max(initial=0) - line.min(initial=0))
        low, high = (per_class(end, line[known.codes], indptr=known.indptr) for end in (np.minimum, np.maximum))
        return (high - low <= most)[known.vector_of_row] & (known.entries_of(own) >= 0)

    def claim(self) -> str:
        """Return what the attacker learns, in words."""
        return "learns the kind of value, or nearly the number,"

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        return "use a model that knows which values are alike: t-closeness with distance=hierarchical or ordered"
