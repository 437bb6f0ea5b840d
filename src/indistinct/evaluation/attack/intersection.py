"""Intersection: two releases about the same people leave fewer candidates together than each alone.

After Ganta, Kasiviswanathan and Smith (2008), who call it the composition attack.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from indistinct.evaluation.attack.base import Attack, Outcome, Tally, Target, against, share_of
from indistinct.evaluation.attack.crowd import (
    Crowd,
    control_crowd,
    crowd_of,
    domain_of,
    draw_people,
    identities,
    original_crowd,
    unit_of,
)
from indistinct.evaluation.attack.matching import Belief, Groups, belief, groups_of, match
from indistinct.figures import percent
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, Mask, run_entries
from indistinct.parameters import Parameter, Whole


@dataclass(frozen=True, slots=True)
class Intersection(Attack):
    """An attacker who knows that a person is in two releases, and keeps what both allow.

    It succeeds where fewer than `k` candidates are in the person's classes of both, or where one sensitive value is
    possible in both and it is the right one. Without `k` it is that of the release's model, or the size of the smaller
    of both smallest classes. The baseline is what either release gives away alone.
    """

    name: ClassVar[str] = "intersection"
    needs: ClassVar[tuple[str, ...]] = ("original", "earlier")
    k: Annotated[
        int,
        Parameter(
            "Smallest candidate set (k)",
            "People with fewer candidates count as found; 0 takes the k of the release.",
            Whole(0),
        ),
    ] = 0

    def run(self, target: Target) -> Outcome:
        """Intersect the candidate sets of all people who are in both releases."""
        earlier = _earlier(target)
        everybody = _in_both(target)
        crowd = draw_people(everybody, target)
        k = self._k(target, earlier)
        together, alone, details = _find_out(target, earlier, crowd, among=everybody, k=k)
        attacked = together.attacked
        tally = crowd.tally(attacked, together.found)
        baseline = crowd.tally(attacked, alone).share
        control = control_crowd(target)
        outside: Tally | None = None
        if control is not None:
            theirs = _find_out(target, earlier, control, among=everybody, k=k)[0]
            outside = control.tally(np.ones(len(control), dtype=bool), theirs.found)
        unit = unit_of(target)
        sentence = (
            f"Both releases together leave fewer than {k:,} candidates, or one sensitive value, for "
            f"{share_of(tally, unit)} who are in both; one of them alone does so for {percent(baseline)}; "
            f"{against(outside)}."
        )
        defence = (
            "do not publish the same people again under other classes: apply the earlier recoding, or compare with it "
            "(--previous, --previous-input) and ask for a larger k"
        )
        return Outcome(self.name, tally, baseline, sentence, outside, defence, {"unit": unit, "k": k, **details})

    def _k(self, target: Target, earlier: Target) -> int:
        """Return the k to compare candidate sets with: given, guaranteed, or the smallest group."""
        if self.k or target.model is not None:
            return self.k or (0 if target.model is None else target.model.smallest)
        sizes = np.concatenate([groups_of(each).sizes for each in (target, earlier)])
        return int(sizes.min()) if len(sizes) else 0


@dataclass(frozen=True, slots=True, eq=False)
class _FoundOut:
    """Which rows are covered by both releases, and which of them are found out."""

    attacked: Mask
    found: Mask


def _earlier(target: Target) -> Target:
    """Return the earlier release, with labels read over the values of all known tables."""
    return target.once("earlier", lambda: _read_earlier(target))


def _read_earlier(target: Target) -> Target:
    """Return the earlier release as a target with the domains of this one."""
    assert target.earlier is not None  # noqa: S101  (it is needed)
    hierarchies = {**target.hierarchies, **target.earlier.hierarchies}
    return replace(target.earlier, original=target.original, hierarchies=hierarchies, later=target, learned={})


def _in_both(target: Target) -> Crowd:
    """Return the people of the original who are also in the table of the earlier release."""
    crowd = original_crowd(target)
    assert target.earlier is not None  # noqa: S101
    if target.earlier.original is not None:
        target_then = replace(target, external=target.earlier.original, learned={})
        others = crowd_of(target_then, target_then.external, "the earlier table")
        entries, originals, _ = identities(target_then, others, original_crowd(target_then))
        crowd = crowd.take(np.flatnonzero(np.isin(originals, entries)))
    return crowd


def _find_out(
    target: Target, earlier: Target, crowd: Crowd, *, among: Crowd, k: int
) -> tuple[_FoundOut, Mask, dict[str, object]]:
    """Return who is disclosed by both releases together and who by one alone, with figures.

    Candidates are counted `among` those who are in both releases, also for people who are in none.
    """
    pair = [match(groups_of(each), crowd, target.progress) for each in (target, earlier)]
    attacked = pair[0].covered & pair[1].covered
    inside = pair if among is crowd else [match(groups_of(each), among, target.progress) for each in (target, earlier)]
    sizes = _intersections(among.persons, [each.only() for each in inside], [each.only() for each in pair])
    few = (sizes > 0) & (sizes < k)
    alone = np.zeros(len(crowd), dtype=bool)
    for each, matches in zip((target, earlier), pair, strict=True):
        candidates = matches.sums(groups_of(each).sizes)[matches.vector_of_row]
        alone |= (candidates > 0) & (candidates < k)
    certain = np.zeros(len(crowd), dtype=bool)
    for name in target.schema.sensitive:
        if all(_shows(each, name) for each in (target, earlier)) and name in crowd.values:
            own = crowd.values[name]
            beliefs = [_belief(each, crowd, name) for each in (target, earlier)]
            certain |= (_common(beliefs[0], beliefs[1]) == 1) & (beliefs[0].entries_of(own) >= 0)
            for known in beliefs:
                alone |= (known.number[known.vector_of_row] == 1) & (known.entries_of(own) >= 0)
    disclosed = attacked & (few | certain)
    details: dict[str, object] = {
        "below_k": crowd.tally(attacked, few).successes,
        "one_value": crowd.tally(attacked, certain).successes,
        "smallest": int(sizes[attacked & (sizes > 0)].min(initial=np.iinfo(np.int64).max)) if few.any() else None,
    }
    return _FoundOut(attacked, disclosed), alone & attacked, details


def _shows(target: Target, name: str) -> bool:
    """Return whether a release publishes a column."""
    return any(name in source.columns for source in target.published.sources.values())


def _belief(target: Target, crowd: Crowd, name: str) -> Belief:
    """Return what a release reveals about a sensitive column of a crowd."""
    groups: Groups = groups_of(target, name)
    return belief(groups, match(groups, crowd), size=len(domain_of(target, name)))


def _intersections(persons: Codes, inside: list[Codes], asked: list[Codes]) -> Codes:
    """Return, for each asked row, how many people share its classes of both releases; 0 where one is unclear.

    `persons` numbers the people of the rows that are counted. `inside` has the classes of these rows, and `asked` those
    of the asked rows, once per release; -1 is unclear.
    """
    rows = len(persons)
    both = [np.concatenate(pair) for pair in zip(inside, asked, strict=True)]
    clear = (both[0] >= 0) & (both[1] >= 0)
    classes = group_rows([codes + 1 for codes in both], [int(codes.max(initial=-1)) + 2 for codes in both]).group_ids()
    person, own = persons[clear[:rows]], classes[:rows][clear[:rows]]
    number = int(classes.max(initial=-1)) + 1
    seen = group_rows([own, person], [max(number, 1), int(person.max(initial=0)) + 1]).first
    return np.where(clear, np.bincount(own[seen], minlength=number)[classes], 0)[rows:]


def _common(one: Belief, other: Belief) -> Codes:
    """Return how many values are possible in both releases, for each row."""
    pairs = group_rows([one.vector_of_row, other.vector_of_row], [len(one.indptr), len(other.indptr)])
    first, second = one.vector_of_row[pairs.first], other.vector_of_row[pairs.first]
    size = len(one.prior)
    lengths = one.number[first]
    owners = np.repeat(np.arange(len(first)), lengths)
    entries = run_entries(one.indptr[first], lengths)
    keys = other.owners() * size + other.codes
    both = np.isin(second[owners] * size + one.codes[entries], keys)
    return np.bincount(owners[both], minlength=len(first))[pairs.group_ids()]
