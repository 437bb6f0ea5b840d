"""The checks that every registered algorithm must pass, with every model.

    >>> from indistinct.testing.checks import CHECKS, examples
    >>> for case in examples("mondrian", "k-anonymity:k=3").values():
    ...     CHECKS["model"](case)

A check is a function of a `Case` and of how it is published; it raises `AssertionError` where a recoding breaks its
promise. Whoever writes an algorithm runs them all.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from indistinct.testing.checks.buckets import BUCKET_CHECKS
from indistinct.testing.checks.case import Case, Publish, publish_case
from indistinct.testing.checks.edges import EDGES
from indistinct.testing.checks.examples import ALGORITHM_EXAMPLES, MODEL_EXAMPLES, examples, forms_of
from indistinct.testing.checks.invariance import (
    check_column_order,
    check_doubling,
    check_names,
    check_row_order,
)
from indistinct.testing.checks.promises import check_infeasible, check_model, check_suppression, check_traits
from indistinct.testing.checks.shown import (
    check_certificate,
    check_columns,
    check_dictionaries,
    check_metadata,
    check_order,
    check_rows_match_recoding,
    check_seed,
)
from indistinct.testing.checks.values import check_other_columns, check_unseen_value, check_values_cover

__all__ = [
    "ALGORITHM_EXAMPLES",
    "BUCKET_CHECKS",
    "CHECKS",
    "EDGES",
    "MODEL_EXAMPLES",
    "Case",
    "Publish",
    "examples",
    "forms_of",
    "publish_case",
]

CHECKS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        check.__name__.removeprefix("check_"): check
        for check in (
            check_columns,
            check_metadata,
            check_dictionaries,
            check_order,
            check_seed,
            check_certificate,
            check_rows_match_recoding,
            check_model,
            check_infeasible,
            check_suppression,
            check_traits,
            check_other_columns,
            check_values_cover,
            check_unseen_value,
            check_row_order,
            check_column_order,
            check_names,
            check_doubling,
        )
    }
)
"""Every check by its name; each is given a case."""
