"""Every attack by its name. Being registered is being tested."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.attacks.base import Attack
from indistinct.attacks.combinatorial_refinement import CombinatorialRefinement
from indistinct.attacks.definetti import DeFinetti
from indistinct.attacks.downcoding import Downcoding
from indistinct.attacks.minimality import Minimality
from indistinct.extension import Registry
from indistinct.spelling import parse

_KINDS: tuple[type[Attack], ...] = (
    DeFinetti,
    Minimality,
    Downcoding,
    CombinatorialRefinement,
)
ATTACKS: Mapping[str, type[Attack]] = MappingProxyType({kind.name: kind for kind in _KINDS})

EVERY_ATTACK = Registry(ATTACKS, base=Attack, group="indistinct.attacks")


def parse_attack(text: str) -> Attack:
    """Return the attack that a text spells, such as `record-linkage:errors=0.05`."""
    return parse(text, EVERY_ATTACK, what="attack")
