"""Published figures, made again: what algorithms gave in the literature next to what they give here."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct_papers.base import Claim, Example, Figure, Reproduction
from indistinct_papers.examples import DOCUMENTS, reproduce_examples
from indistinct_papers.high_dimensional import reproduce_high_dimensional
from indistinct_papers.incognito_nodes import PUBLISHED, reproduce_incognito_nodes
from indistinct_papers.incognito_times import reproduce_incognito_times
from indistinct_papers.inference_attacks import reproduce_inference_attacks
from indistinct_papers.local_recoding import reproduce_local_recoding
from indistinct_papers.mondrian_bounds import reproduce_mondrian_bounds
from indistinct_papers.mondrian_cuts import reproduce_mondrian_cuts
from indistinct_papers.mondrian_growth import reproduce_mondrian_growth
from indistinct_papers.mondrian_passes import reproduce_mondrian_passes
from indistinct_papers.mondrian_predicates import reproduce_mondrian_predicates
from indistinct_papers.mondrian_quality import reproduce_mondrian_quality
from indistinct_papers.mondrian_synthetic import reproduce_by_attributes, reproduce_by_k, reproduce_by_sigma
from indistinct_papers.mondrian_targets import reproduce_mondrian_targets
from indistinct_papers.mondrian_workload import reproduce_mondrian_workload
from indistinct_papers.overlapping_slicing import reproduce_overlapping_slicing
from indistinct_papers.scoreboards import LIGHTHOUSE, reproduce_lighthouse, reproduce_nist
from indistinct_papers.slicing import reproduce_slicing
from indistinct_papers.slicing_classification import reproduce_slicing_classification

__all__ = ["REPRODUCTIONS", "Claim", "Example", "Figure", "Reproduction"]

REPRODUCTIONS: Mapping[str, Figure] = MappingProxyType(
    {
        "examples": Figure(tuple(range(1, len(DOCUMENTS) + 1)), "documents", reproduce_examples),
        "high-dimensional": Figure((5, 10, 20, 40, 60), "columns", reproduce_high_dimensional),
        "incognito-nodes": Figure(tuple(PUBLISHED), "quasi-identifiers", reproduce_incognito_nodes),
        "incognito-times": Figure((3, 4, 5, 6, 7, 8, 9), "columns", reproduce_incognito_times),
        "inference-attacks": Figure((2, 4, 6), "values of k and l", reproduce_inference_attacks),
        "lighthouse": Figure(tuple(LIGHTHOUSE), "values of k", reproduce_lighthouse),
        "local-recoding": Figure((3, 4, 5, 6, 7), "quasi-identifiers", reproduce_local_recoding),
        "mondrian-attributes": Figure((2, 3, 4, 5, 6, 7, 8), "attributes", reproduce_by_attributes),
        "mondrian-bounds": Figure((10, 50, 250, 1_000), "rows along an axis", reproduce_mondrian_bounds),
        "mondrian-cuts": Figure((10, 25, 50), "values of k", reproduce_mondrian_cuts),
        "mondrian-k": Figure((2, 5, 10, 25, 50, 100), "values of k", reproduce_by_k),
        "mondrian-growth": Figure((4_000, 16_000, 64_000), "rows", reproduce_mondrian_growth),
        "mondrian-passes": Figure((2, 4, 8, 16, 32, 64), "times what fits", reproduce_mondrian_passes),
        "mondrian-predicates": Figure((10, 25, 50), "values of k", reproduce_mondrian_predicates),
        "mondrian-quality": Figure((2, 5, 10, 25, 50, 100, 250, 500, 1_000), "values of k", reproduce_mondrian_quality),
        "mondrian-sigma": Figure((1, 2, 3, 4, 5), "tenths of sigma", reproduce_by_sigma),
        "mondrian-targets": Figure((10, 50, 100, 250), "values of k", reproduce_mondrian_targets),
        "mondrian-workload": Figure((10, 25, 50), "values of k", reproduce_mondrian_workload),
        "nist-crc": Figure((6, 12), "values of k", reproduce_nist),
        "overlapping-slicing": Figure((2, 5), "values of l", reproduce_overlapping_slicing),
        "slicing": Figure((5, 10, 20, 50, 100), "bucket sizes", reproduce_slicing),
        "slicing-classification": Figure((2, 5), "values of l", reproduce_slicing_classification),
    }
)
"""Every figure by the name that `indistinct reproduce` knows it by."""
