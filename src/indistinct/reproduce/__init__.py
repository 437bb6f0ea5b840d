"""Published figures, made again: what algorithms gave in the literature beside what they give here."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.reproduce.base import Figure, Reproduction
from indistinct.reproduce.high_dimensional import reproduce_high_dimensional
from indistinct.reproduce.incognito_nodes import PUBLISHED, reproduce_incognito_nodes
from indistinct.reproduce.inference_attacks import reproduce_inference_attacks
from indistinct.reproduce.local_recoding import reproduce_local_recoding
from indistinct.reproduce.mondrian_quality import reproduce_mondrian_quality
from indistinct.reproduce.slicing import reproduce_slicing
from indistinct.reproduce.slicing_classification import reproduce_slicing_classification

__all__ = ["REPRODUCTIONS", "Figure", "Reproduction"]

REPRODUCTIONS: Mapping[str, Figure] = MappingProxyType(
    {
        "high-dimensional": Figure((5, 10, 20, 40, 60), "columns", reproduce_high_dimensional),
        "incognito-nodes": Figure(tuple(PUBLISHED), "quasi-identifiers", reproduce_incognito_nodes),
        "inference-attacks": Figure((2, 4, 6), "values of k and l", reproduce_inference_attacks),
        "local-recoding": Figure((3, 4, 5, 6, 7), "quasi-identifiers", reproduce_local_recoding),
        "mondrian-quality": Figure((2, 5, 10, 25, 50, 100), "values of k", reproduce_mondrian_quality),
        "slicing": Figure((5, 10, 20, 50, 100), "bucket sizes", reproduce_slicing),
        "slicing-classification": Figure((2, 5), "values of l", reproduce_slicing_classification),
    }
)
"""Every figure by the name that `indistinct reproduce` knows it by."""
