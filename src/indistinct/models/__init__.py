"""Privacy models: each judges the classes of a release, independent of the algorithm and the engine."""

from indistinct.models.alpha_k import AlphaK
from indistinct.models.average_risk import AverageRisk
from indistinct.models.base import All, Judgement, Model, ModelTraits
from indistinct.models.basic_beta_likeness import BasicBetaLikeness
from indistinct.models.delta_disclosure import DeltaDisclosure
from indistinct.models.delta_presence import DeltaPresence
from indistinct.models.distinct_l_diversity import DistinctLDiversity
from indistinct.models.enhanced_beta_likeness import EnhancedBetaLikeness
from indistinct.models.entropy_l_diversity import EntropyLDiversity
from indistinct.models.k_anonymity import KAnonymity
from indistinct.models.k_map import KMap
from indistinct.models.l_diverse_links import LDiverseLinks
from indistinct.models.population_uniqueness import PopulationUniqueness
from indistinct.models.recursive_l_diversity import RecursiveLDiversity
from indistinct.models.sample_uniqueness import SampleUniqueness
from indistinct.models.subset_anonymity import SubsetAnonymity
from indistinct.models.t_closeness import TCloseness
from indistinct.models.xy_anonymity import XYAnonymity

__all__ = [
    "All",
    "AlphaK",
    "AverageRisk",
    "BasicBetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "Judgement",
    "KAnonymity",
    "KMap",
    "LDiverseLinks",
    "Model",
    "ModelTraits",
    "PopulationUniqueness",
    "RecursiveLDiversity",
    "SampleUniqueness",
    "SubsetAnonymity",
    "TCloseness",
    "XYAnonymity",
]
