"""Membership: people covered by a published label were in the table, and others were not (Nergiz et al. 2007)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.evaluation.attack.base import Attack, Outcome, Tally, Target, share_of
from indistinct.evaluation.attack.crowd import Crowd, control_crowd, draw_people, original_crowd, unit_of
from indistinct.evaluation.attack.matching import groups_of, matches_of
from indistinct.figures import percent
from indistinct.frequencies.encode import group_rows


@dataclass(frozen=True, slots=True)
class MembershipAttack(Attack):
    """An attacker who says which of two people was in the table: the one whose quasi-identifiers a label covers.

    It needs a control: people of the same kind who were not in the table. Each is paired with a person of the table;
    where labels cover both or neither, a coin decides. The baseline is the coin, and so is the control: of two people
    outside, no guess is right more often. The risk is then the share of people of the table whom labels cover, less the
    share of those outside.
    """

    name: ClassVar[str] = "membership"
    needs: ClassVar[tuple[str, ...]] = ("original", "control")

    def run(self, target: Target) -> Outcome:
        """Look who is covered, inside and outside the table, and pair them."""
        inside, outside = draw_people(original_crowd(target), target), control_crowd(target)
        assert outside is not None  # noqa: S101  (it is needed)
        own, other = self._tally_covered(target, inside), self._tally_covered(target, outside)
        pairs = min(own.attempts, other.attempts)
        tally = Tally(pairs, pairs * (0.5 + (own.share - other.share) / 2))
        unit = unit_of(target)
        sentence = (
            f"Asked which of two people was in the table, an attacker is right about {share_of(tally, 'pairs')}, and a "
            f"coin about half: labels cover {percent(own.share)} of the {unit} of the table and {percent(other.share)} "
            "of those outside."
        )
        defence = (
            "publish labels that tell nothing of gaps: a full-domain recoding, or mondrian with extent=region; or "
            "bound the share of a population that is in each class (delta-presence)"
        )
        details = {
            "unit": unit,
            "covered_inside": own.share,
            "covered_outside": other.share,
            "unknown_to_the_original": self._strangers(inside, outside),
        }
        return Outcome(self.name, tally, 0.5, sentence, Tally(pairs, pairs / 2), defence, details)

    @staticmethod
    def _tally_covered(target: Target, crowd: Crowd) -> Tally:
        matches = matches_of(target, groups_of(target), crowd)
        return crowd.tally(np.ones(len(crowd), dtype=bool), matches.covered)

    @staticmethod
    def _strangers(inside: Crowd, outside: Crowd) -> int:
        """Return how many rows of the control have quasi-identifiers that no person in the table has."""
        names = list(outside.known)
        columns = [np.concatenate([inside.known[name], outside.known[name]]) + 1 for name in names]
        ids = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns]).group_ids()
        return int((~np.isin(ids[len(inside) :], ids[: len(inside)])).sum())
