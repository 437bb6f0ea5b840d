"""Every algorithm, model and metric by its name in the literature. Being registered is being tested.

`MODELS`, `ALGORITHMS` and `METRICS` are what is built in; `EVERY_MODEL`, `EVERY_ALGORITHM` and `EVERY_METRIC` also
find what other packages register.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from types import MappingProxyType

from indistinct import models
from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.bucket.anatomy import Anatomy
from indistinct.algorithms.bucket.multiset import Multiset
from indistinct.algorithms.bucket.slicing import Slicing
from indistinct.algorithms.cluster.kaca import KACA
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
from indistinct.extension import Registry
from indistinct.metrics import EVERY_METRIC, METRICS, parse_metric
from indistinct.models import Model
from indistinct.spelling import parse, split

__all__ = [
    "ALGORITHMS",
    "EVERY_ALGORITHM",
    "EVERY_METRIC",
    "EVERY_MODEL",
    "METRICS",
    "MODELS",
    "all_of",
    "parse_algorithm",
    "parse_metric",
    "parse_model",
]

MODELS: Mapping[str, type[Model]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            models.KAnonymity,
            models.AlphaK,
            models.XYAnonymity,
            models.DistinctLDiversity,
            models.EntropyLDiversity,
            models.RecursiveLDiversity,
            models.TCloseness,
            models.LDiverseLinks,
            models.BasicBetaLikeness,
            models.EnhancedBetaLikeness,
            models.DeltaDisclosure,
            models.DeltaPresence,
            models.KMap,
            models.AverageRisk,
            models.SampleUniqueness,
            models.PopulationUniqueness,
        )
    }
)

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
            Anatomy,
            Multiset,
            Slicing,
        )
    }
)

EVERY_MODEL = Registry(MODELS, base=Model, group="indistinct.models")
EVERY_ALGORITHM = Registry(ALGORITHMS, base=Algorithm, group="indistinct.algorithms")


def parse_model(text: str) -> Model:
    """Return the model that a text spells; `&` joins several.

    >>> parse_model("k-anonymity:k=5 & t-closeness:sensitive=disease,t=0.2").parts()[0]
    KAnonymity(k=5)
    """
    return all_of(parse(part, EVERY_MODEL, what="model") for part in split(text, "&"))


def all_of(parts: Iterable[Model]) -> Model:
    """Return one model that asks for every one of several."""
    return reduce(lambda one, other: one & other, parts)


def parse_algorithm(text: str) -> Algorithm:
    """Return the algorithm that a text spells."""
    return parse(text, EVERY_ALGORITHM, what="algorithm")
