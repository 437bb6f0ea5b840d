"""Privacy models: each judges the classes of a release, whichever algorithm or engine made them."""

from indistinct.models.alpha_k import AlphaK
from indistinct.models.base import All, Judgement, Model, ModelTraits
from indistinct.models.distinct_l_diversity import DistinctLDiversity
from indistinct.models.entropy_l_diversity import EntropyLDiversity
from indistinct.models.k_anonymity import KAnonymity
from indistinct.models.l_diverse_links import LDiverseLinks
from indistinct.models.recursive_l_diversity import RecursiveLDiversity
from indistinct.models.t_closeness import TCloseness
from indistinct.models.xy_anonymity import XYAnonymity

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
