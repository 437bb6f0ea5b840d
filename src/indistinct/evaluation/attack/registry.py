"""Every attack by its name. Being registered is being tested."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.evaluation.attack.attributes import BackgroundKnowledge, Homogeneity, Similarity, Skewness
from indistinct.evaluation.attack.base import Attack
from indistinct.evaluation.attack.combinatorial_refinement import CombinatorialRefinement
from indistinct.evaluation.attack.definetti import DeFinetti
from indistinct.evaluation.attack.downcoding import Downcoding
from indistinct.evaluation.attack.intersection import Intersection
from indistinct.evaluation.attack.membership import MembershipAttack
from indistinct.evaluation.attack.minimality import Minimality
from indistinct.evaluation.attack.predictable_seed import PredictableSeed
from indistinct.evaluation.attack.record_linkage import RecordLinkage
from indistinct.evaluation.attack.row_order import UnsortedMatching
from indistinct.text_form import Registry, parse

# In this order all of them are run: those that try much, such as seeds or whole tables, come last.
_KINDS: tuple[type[Attack], ...] = (
    RecordLinkage,
    Homogeneity,
    BackgroundKnowledge,
    Skewness,
    Similarity,
    MembershipAttack,
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
    """Parse an attack, such as `record-linkage:errors=0.05`."""
    return parse(text, EVERY_ATTACK, what="attack")
