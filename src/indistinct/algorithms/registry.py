"""All algorithms by their registered names, and how their texts are parsed; the common tests run on each of them."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.bucket.anatomy import Anatomy
from indistinct.algorithms.bucket.slicing import Multiset, Slicing
from indistinct.algorithms.cluster.kaca import KACA
from indistinct.algorithms.cluster.mdav import MDAV
from indistinct.algorithms.cluster.refine import Refine
from indistinct.algorithms.cluster.top_down import TopDown
from indistinct.algorithms.cluster.top_down_kaca import TopDownKACA
from indistinct.algorithms.cluster.two_level import TwoLevel
from indistinct.algorithms.full_domain.bottom_up import BottomUp
from indistinct.algorithms.full_domain.cell_suppression import CellSuppression
from indistinct.algorithms.full_domain.datafly import Datafly
from indistinct.algorithms.full_domain.incognito import Incognito
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.full_domain.samarati import Samarati
from indistinct.algorithms.full_domain.tds import TopDownSpecialization
from indistinct.algorithms.full_domain.value_suppression import ValueSuppression
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.partition.single_dimensional import SingleDimensional
from indistinct.text_form import Registry, parse

ALGORITHMS: Mapping[str, type[Algorithm]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Auto,
            Mondrian,
            SingleDimensional,
            Datafly,
            Samarati,
            BottomUp,
            Incognito,
            Optimal,
            ChosenNode,
            TopDownSpecialization,
            ValueSuppression,
            CellSuppression,
            KACA,
            TopDown,
            TopDownKACA,
            TwoLevel,
            Refine,
            MDAV,
            Anatomy,
            Multiset,
            Slicing,
        )
    }
)

EVERY_ALGORITHM = Registry(ALGORITHMS, base=Algorithm, group="indistinct.algorithms")


def parse_algorithm(text: str) -> Algorithm:
    """Return the algorithm that a text such as `mondrian:relaxed` describes."""
    return parse(text, EVERY_ALGORITHM, what="algorithm")
