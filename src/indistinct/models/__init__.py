"""Privacy models: each judges the classes of a release, whichever algorithm or engine made them."""

from indistinct.models.anonymity import AlphaK, KAnonymity, XYAnonymity
from indistinct.models.base import All, Model, ModelTraits
from indistinct.models.closeness import TCloseness
from indistinct.models.diversity import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity

__all__ = [
    "All",
    "AlphaK",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "KAnonymity",
    "Model",
    "ModelTraits",
    "RecursiveLDiversity",
    "TCloseness",
    "XYAnonymity",
]
