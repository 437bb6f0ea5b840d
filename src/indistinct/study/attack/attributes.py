"""Attacks on sensitive values: an attacker finds the groups that may hold a person and looks at what they show."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.errors import InputError, ParameterError
from indistinct.hierarchy.value import Taxonomy
from indistinct.machine.arrays import Codes
from indistinct.spelling import arguments_of
from indistinct.study.attack.base import Attack, Outcome, Tally, Target
from indistinct.study.attack.crowd import Crowd, control_crowd, domain_of, drawn, original_crowd, unit_of
from indistinct.study.attack.groups import groups_of
from indistinct.study.attack.matching import Belief, belief, matches_of, prior_belief
from indistinct.study.attack.sentences import against, share_of
from indistinct.tables.domain import Domain

# Shares are sums of fractions: what differs by less is equal.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A sensitive column of the original: its values, and its hierarchy where one is known."""

    domain: Domain
    taxonomy: Taxonomy | None


class AttributeAttack(Attack):
    """An attack that learns sensitive values; everybody in the original whom a label covers is attacked.

    The baseline is the share of people of whom the distribution of the whole release tells as much. Somebody with
    several rows is found out by any of them.
    """

    __slots__ = ()
    needs: ClassVar[tuple[str, ...]] = ("original",)

    @property
    def column(self) -> str | None:
        """Return the one sensitive column that is attacked; every one where it is None."""
        return arguments_of(self).get("sensitive") or None

    @abstractmethod
    def learns(self, known: Belief, own: Codes, column: Column) -> Codes:
        """Return of which rows the attacker learns enough, given each row's own value."""

    @abstractmethod
    def claim(self) -> str:
        """Return what is learnt, as in `whoever knows their quasi-identifiers … of 3 people`."""

    @property
    @abstractmethod
    def defence(self) -> str:
        """Return which option closes the hole."""

    def columns(self, target: Target) -> tuple[str, ...]:
        """Return the sensitive columns that are attacked."""
        shown = {name for source in target.published.sources.values() for name in source.columns}
        present = tuple(name for name in target.schema.sensitive if name in shown)
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
        crowd, control = drawn(original_crowd(target), target), control_crowd(target)
        names = self.columns(target)
        attacked, learnt, before = self._attacked(target, crowd, names)
        tally = crowd.tally(attacked, np.logical_or.reduce(list(learnt.values())))
        outside = None if control is None else self._outside(target, control, names)
        baseline = crowd.tally(attacked, np.logical_or.reduce(list(before.values()))).share
        unit = unit_of(target)
        sentence = (
            f"Whoever knows their quasi-identifiers {self.claim()} of {share_of(tally, unit)}; {against(outside)}."
        )
        details = {
            "unit": unit,
            "by_column": {name: crowd.tally(attacked, mask).successes for name, mask in learnt.items()},
        }
        return Outcome(self.name, tally, baseline, sentence, outside, self.defence, details)

    def _attacked(
        self, target: Target, crowd: Crowd, names: tuple[str, ...]
    ) -> tuple[Codes, dict[str, Codes], dict[str, Codes]]:
        """Return who is covered, of whom each column is learnt, and of whom it was clear before."""
        attacked = np.zeros(len(crowd), dtype=bool)
        learnt, before = {}, {}
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

    def _outside(self, target: Target, control: Crowd, names: tuple[str, ...]) -> Tally:
        _, learnt, _ = self._attacked(target, control, names)
        return control.tally(np.ones(len(control), dtype=bool), np.logical_or.reduce(list(learnt.values())))

    @staticmethod
    def _column(target: Target, name: str) -> Column:
        domain = domain_of(target, name)
        hierarchy = target.hierarchies.get(name)
        return Column(domain, None if hierarchy is None else hierarchy.bind(domain))
