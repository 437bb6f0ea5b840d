"""Every attack by its name. Being registered is being tested."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.attacks.background_knowledge import BackgroundKnowledge
from indistinct.attacks.base import Attack
from indistinct.attacks.combinatorial_refinement import CombinatorialRefinement
from indistinct.attacks.definetti import DeFinetti
from indistinct.attacks.downcoding import Downcoding
from indistinct.attacks.homogeneity import Homogeneity
from indistinct.attacks.intersection import Intersection
from indistinct.attacks.membership import Membership
from indistinct.attacks.minimality import Minimality
from indistinct.attacks.predictable_seed import PredictableSeed
from indistinct.attacks.record_linkage import RecordLinkage
from indistinct.attacks.similarity import Similarity
from indistinct.attacks.skewness import Skewness
from indistinct.attacks.unsorted_matching import UnsortedMatching
from indistinct.extension import Registry
from indistinct.spelling import parse

# In this order all of them are run: those that try much, such as seeds or whole tables, come last.
_KINDS: tuple[type[Attack], ...] = (
    RecordLinkage,
    Homogeneity,
    BackgroundKnowledge,
    Skewness,
    Similarity,
    Membership,
    UnsortedMatching,
    Intersection,
    DeFinetti,
    Downcoding,
    CombinatorialRefinement,
    Minimality,
    PredictableSeed,
)
ATTACKS: Mapping[str, type[Attack]] = MappingProxyType({kind.name: kind for kind in _KINDS})

EVERY_ATTACK = Registry(ATTACKS, base=Attack, group="indistinct.attacks")


def parse_attack(text: str) -> Attack:
    """Return the attack that a text spells, such as `record-linkage:errors=0.05`."""
    return parse(text, EVERY_ATTACK, what="attack")
