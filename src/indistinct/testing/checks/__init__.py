"""The checks that every registered algorithm must pass, with every model.

    >>> from indistinct.testing.checks import CHECKS, examples
    >>> for case in examples("mondrian", "k-anonymity:k=3").values():
    ...     CHECKS["model_holds"](case)

A check is a function of a `Case` and of how it is published; it raises `AssertionError` where a recoding breaks its
guarantee. An edge is such a function of an algorithm. `indistinct.testing.check_algorithm` runs them all.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from indistinct.algorithms.base import Algorithm
from indistinct.frequencies.structure import Unit
from indistinct.testing.checks.buckets import BUCKET_CHECKS, BUCKET_EDGES
from indistinct.testing.checks.case import Case, Publish, publish_case, publish_once
from indistinct.testing.checks.edges import EDGES
from indistinct.testing.checks.examples import ALGORITHM_EXAMPLES, MODEL_EXAMPLES, examples, forms_of, models_for
from indistinct.testing.checks.invariance import check_column_order, check_doubling, check_names, check_row_order
from indistinct.testing.checks.promises import check_infeasible, check_model_holds, check_suppression, check_traits
from indistinct.testing.checks.shown import (
    check_certificate,
    check_columns,
    check_dictionaries,
    check_metadata,
    check_order,
    check_rows_match_recoding,
    check_seed,
    check_shuffling,
)
from indistinct.testing.checks.values import check_other_columns, check_unseen_value, check_values_cover

__all__ = [
    "ALGORITHM_EXAMPLES",
    "CHECKS",
    "MODEL_EXAMPLES",
    "SPREAD",
    "Case",
    "Publish",
    "checks_for",
    "edges_for",
    "examples",
    "forms_of",
    "models_for",
    "publish_case",
    "publish_once",
]

CHECKS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        check.__name__.removeprefix("check_"): check
        for check in (
            check_columns,
            check_metadata,
            check_dictionaries,
            check_order,
            check_shuffling,
            check_seed,
            check_certificate,
            check_rows_match_recoding,
            check_model_holds,
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
"""Every check of releases in classes by its name; each is given a case."""

SPREAD = frozenset({"dictionaries", "shuffling", "seed", "unseen_value", "row_order", "column_order", "names"})
"""The checks of what comes before and after a search, whatever the model: of several models each tries them on some
tables. A search sees cells, which rows in another order give as well."""


CHECKS_BY_UNIT: Mapping[Unit, Mapping[str, Callable[..., None]]] = {"class": CHECKS, "bucket": BUCKET_CHECKS}
EDGES_BY_UNIT: Mapping[Unit, Mapping[str, Callable[..., None]]] = {"class": EDGES, "bucket": BUCKET_EDGES}


def checks_for(algorithm: Algorithm) -> Mapping[str, Callable[..., None]]:
    """Return the checks of what an algorithm publishes: classes or buckets."""
    return CHECKS_BY_UNIT[algorithm.traits.unit]


def edges_for(algorithm: Algorithm) -> Mapping[str, Callable[..., None]]:
    """Return the edges of what an algorithm may be given."""
    return EDGES_BY_UNIT[algorithm.traits.unit]
