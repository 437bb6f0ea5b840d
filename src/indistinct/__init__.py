"""Publish tables about people so that nobody in them can be singled out.

A *recoding* says what to publish for each combination of quasi-identifier values. An *algorithm* finds one,
an *engine* applies it, a *model* judges the result.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
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
    from indistinct.api import anonymize, apply, measure, measure_table, open, verify  # noqa: A004
    from indistinct.errors import (
        HierarchyError,
        IndistinctError,
        InfeasibleError,
        InputError,
        MissingExtraError,
        OutputError,
        ParameterError,
        PolicyError,
        SchemaError,
        UnseenValueError,
        VerificationError,
    )
    from indistinct.exploration import Exploration, explore
    from indistinct.hierarchy import Hierarchy
    from indistinct.metrics import Measurements
    from indistinct.models import (
        AlphaK,
        DistinctLDiversity,
        EntropyLDiversity,
        KAnonymity,
        LDiverseLinks,
        RecursiveLDiversity,
        TCloseness,
        XYAnonymity,
    )
    from indistinct.recoding.kinds import Recoding
    from indistinct.release.certificate import Certificate
    from indistinct.release.published import BucketTable
    from indistinct.release.release import Release
    from indistinct.risks.membership import Membership
    from indistinct.risks.membership_of_release import membership_of
    from indistinct.schema import Schema
    from indistinct.tables import Table

__all__ = [
    "KACA",
    "AlphaK",
    "Anatomy",
    "BottomUp",
    "BucketTable",
    "CellSuppression",
    "Certificate",
    "ChosenNode",
    "Datafly",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Exploration",
    "Hierarchy",
    "HierarchyError",
    "Incognito",
    "IndistinctError",
    "InfeasibleError",
    "InputError",
    "KAnonymity",
    "LDiverseLinks",
    "Measurements",
    "Membership",
    "MissingExtraError",
    "Mondrian",
    "Multiset",
    "Optimal",
    "OutputError",
    "ParameterError",
    "PolicyError",
    "Recoding",
    "RecursiveLDiversity",
    "Refine",
    "Release",
    "Samarati",
    "Schema",
    "SchemaError",
    "SingleDimensional",
    "Slicing",
    "TCloseness",
    "Table",
    "TopDown",
    "TopDownKACA",
    "TopDownSpecialization",
    "TwoLevel",
    "UnseenValueError",
    "ValueSuppression",
    "VerificationError",
    "XYAnonymity",
    "anonymize",
    "apply",
    "explore",
    "measure",
    "measure_table",
    "membership_of",
    "open",
    "verify",
]

# A name is loaded when it is first asked for: the command line answers --help without Arrow and Numba.
_NAMES_BY_HOME: dict[str, tuple[str, ...]] = {
    "indistinct.algorithms.bucket.anatomy": ("Anatomy",),
    "indistinct.algorithms.bucket.multiset": ("Multiset",),
    "indistinct.algorithms.bucket.slicing": ("Slicing",),
    "indistinct.algorithms.cluster.kaca": ("KACA",),
    "indistinct.algorithms.cluster.refine": ("Refine",),
    "indistinct.algorithms.cluster.top_down": ("TopDown",),
    "indistinct.algorithms.cluster.top_down_kaca": ("TopDownKACA",),
    "indistinct.algorithms.cluster.two_level": ("TwoLevel",),
    "indistinct.algorithms.full_domain.bottom_up": ("BottomUp",),
    "indistinct.algorithms.full_domain.cell_suppression": ("CellSuppression",),
    "indistinct.algorithms.full_domain.node": ("ChosenNode",),
    "indistinct.algorithms.full_domain.datafly": ("Datafly",),
    "indistinct.algorithms.full_domain.incognito": ("Incognito",),
    "indistinct.algorithms.full_domain.optimal": ("Optimal",),
    "indistinct.algorithms.full_domain.samarati": ("Samarati",),
    "indistinct.algorithms.full_domain.tds": ("TopDownSpecialization",),
    "indistinct.algorithms.full_domain.value_suppression": ("ValueSuppression",),
    "indistinct.algorithms.partition.mondrian": ("Mondrian",),
    "indistinct.algorithms.partition.single_dimensional": ("SingleDimensional",),
    "indistinct.api": ("anonymize", "apply", "measure", "measure_table", "open", "verify"),
    "indistinct.errors": (
        "HierarchyError",
        "IndistinctError",
        "InfeasibleError",
        "InputError",
        "MissingExtraError",
        "OutputError",
        "ParameterError",
        "PolicyError",
        "SchemaError",
        "UnseenValueError",
        "VerificationError",
    ),
    "indistinct.exploration": ("Exploration", "explore"),
    "indistinct.hierarchy": ("Hierarchy",),
    "indistinct.metrics": ("Measurements",),
    "indistinct.models": (
        "AlphaK",
        "DistinctLDiversity",
        "EntropyLDiversity",
        "KAnonymity",
        "LDiverseLinks",
        "RecursiveLDiversity",
        "TCloseness",
        "XYAnonymity",
    ),
    "indistinct.recoding.kinds": ("Recoding",),
    "indistinct.release.published": ("BucketTable",),
    "indistinct.release.certificate": ("Certificate",),
    "indistinct.release.release": ("Release",),
    "indistinct.risks.membership": ("Membership",),
    "indistinct.risks.membership_of_release": ("membership_of",),
    "indistinct.schema": ("Schema",),
    "indistinct.tables": ("Table",),
}
_HOMES = {name: home for home, names in _NAMES_BY_HOME.items() for name in names}

if not TYPE_CHECKING:  # a checker that saw this function would take every misspelt name for granted

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
