"""Published figures, made again: what algorithms gave in the literature beside what they give here."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.reproduce.base import Figure, Reproduction
from indistinct.reproduce.incognito_nodes import INCOGNITO_NODES
from indistinct.reproduce.local_recoding import LOCAL_RECODING
from indistinct.reproduce.mondrian_quality import MONDRIAN_QUALITY
from indistinct.reproduce.slicing import SLICING

__all__ = ["REPRODUCTIONS", "Figure", "Reproduction"]

REPRODUCTIONS: Mapping[str, Figure] = MappingProxyType(
    {
        "incognito-nodes": INCOGNITO_NODES,
        "local-recoding": LOCAL_RECODING,
        "mondrian-quality": MONDRIAN_QUALITY,
        "slicing": SLICING,
    }
)
"""Every figure by the name that `indistinct reproduce` knows it by."""
