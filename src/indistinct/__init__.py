"""Publish tables about people so that nobody in them can be singled out.

A *recoding* says what to publish for each combination of quasi-identifier values. An *algorithm* finds one, an
*engine* applies it, a *model* judges the result.
"""

__version__ = "0.1.0"

from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.partition.single import SingleDimensional
from indistinct.api import anonymize, apply, measure, open, verify  # noqa: A004
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
from indistinct.hierarchy import Hierarchy
from indistinct.metrics import Measurements
from indistinct.models import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
    XYAnonymity,
)
from indistinct.recoding.union import Recoding
from indistinct.release.certificate import Certificate
from indistinct.release.release import Release
from indistinct.schema import Schema
from indistinct.tables import Table

__all__ = [
    "AlphaK",
    "Certificate",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Hierarchy",
    "HierarchyError",
    "IndistinctError",
    "InfeasibleError",
    "InputError",
    "KAnonymity",
    "Measurements",
    "MissingExtraError",
    "Mondrian",
    "OutputError",
    "ParameterError",
    "PolicyError",
    "Recoding",
    "RecursiveLDiversity",
    "Release",
    "Schema",
    "SchemaError",
    "SingleDimensional",
    "TCloseness",
    "Table",
    "UnseenValueError",
    "VerificationError",
    "XYAnonymity",
    "anonymize",
    "apply",
    "measure",
    "open",
    "verify",
]
