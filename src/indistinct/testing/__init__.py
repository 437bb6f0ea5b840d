"""Checks that every algorithm, model and metric must pass, also those of other packages.

    >>> from indistinct.testing import check_algorithm
    >>> check_algorithm("mondrian", models=["k-anonymity:k=2"])

conformance         `check_algorithm`, `check_model` and `check_metric`: run every check that applies
checks              the checks, the small tables, and the edges of what may be given
reference           every model judged on rows in plain Python
bucket_reference    what a release in buckets links, in plain Python
strategies          small tables, hierarchies, models and recodings for Hypothesis, which must be installed
"""

from indistinct.testing.conformance import check_algorithm, check_metric, check_model

__all__ = ["check_algorithm", "check_metric", "check_model"]
