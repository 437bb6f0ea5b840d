"""The public names of the package, in the groups under which the reference shows them."""

from collections.abc import Sequence
from typing import Any

import indistinct
from indistinct.algorithms.registry import ALGORITHMS
from indistinct.errors import IndistinctError
from indistinct.models.registry import MODELS

PUBLIC: tuple[str, ...] = tuple(vars(indistinct)["__all__"])
# Groups that are made from a registry or from a base class.
ALGORITHM_GROUP, MODEL_GROUP, ERROR_GROUP = "Algorithms", "Privacy models", "Errors"
GROUPS: dict[str, str] = {
    "Publish": "anonymize run apply open Schema Hierarchy Release Certificate DatabaseTable Writing TextProgress",
    "Masking and pseudonyms": "transform Transformation Pseudonym",
    "Check": "published verify assess attack attack_all scan report fill_form Published Assessment Membership "
    "membership_of Attack Outcome Outcomes Scan Finding Report FilledForm Context for_others",
    "Utility": "measure measure_table query workload_error distributions classify analyze intervals Measurements "
    "Answer WorkloadErrors Workload Query IsMissing Distributions Histogram Classification LogisticRegression "
    "RandomForest GradientBoosting NaiveBayes Analyses AnalysisResult Codebook LabelEntry",
    "Explore before publishing": "inspect compare explore Inspection Compare Comparison Exploration",
    "Releases over time": "read_ledger forget_release LedgerEntry",
    "Several tables": "anonymize_tables LinkedRelease LinkedCertificate LinkedAssessment TimeColumn TimeRules "
    "ListColumn",
    ALGORITHM_GROUP: "",
    MODEL_GROUP: "",
    "Extensions and research": "problem Problem Algorithm AlgorithmTraits Model ModelTraits Metric WorkloadError Table "
    "Recoding Assignment Classes BucketTable recode_classes recode_levels",
    ERROR_GROUP: "",
}


def grouped_names() -> dict[str, list[str]]:
    """Return every public name once, by its group."""
    groups = {title: names.split() for title, names in GROUPS.items()}
    groups[ALGORITHM_GROUP] = _public(list(ALGORITHMS.values()))
    groups[MODEL_GROUP] = [*_public(list(MODELS.values())), "LinkedAnonymity"]
    groups[ERROR_GROUP] = [name for name in PUBLIC if _is_error(getattr(indistinct, name))]
    listed = [name for names in groups.values() for name in names]
    if sorted(listed) != sorted(PUBLIC):
        wrong = sorted({*set(listed) ^ set(PUBLIC), *(name for name in listed if listed.count(name) > 1)})
        raise ValueError(f"put each public name into one group of {__name__}: {', '.join(wrong)}")
    return groups


def page_of(name: str) -> str:
    """Return the file of a name; `compare` and `Compare` would be one file where case does not count."""
    return f"{name}-class.md" if name[0].isupper() else f"{name}.md"


def _public(kinds: Sequence[type[Any]]) -> list[str]:
    names = {getattr(indistinct, name): name for name in PUBLIC}
    return [names[kind] for kind in kinds if kind in names]


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, IndistinctError)
