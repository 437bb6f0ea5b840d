"""Privacy models: each judges the classes of a release, whichever algorithm or engine made them."""

from indistinct.models.anonymity import AlphaK, KAnonymity, XYAnonymity
from indistinct.models.base import All, Judgement, Model, ModelTraits
from indistinct.models.closeness import TCloseness
from indistinct.models.diversity import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from indistinct.models.l_diverse_links import LDiverseLinks

__all__ = [
    "All",
    "AlphaK",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Judgement",
    "KAnonymity",
    "LDiverseLinks",
    "Model",
    "ModelTraits",
    "RecursiveLDiversity",
    "TCloseness",
    "XYAnonymity",
]
