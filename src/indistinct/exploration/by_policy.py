"""Studies by a policy: its table is masked as for its releases, and explored or compared with its settings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import ParameterError
from indistinct.exploration.compare.compare import Comparison, compare
from indistinct.exploration.explore import Exploration, explore
from indistinct.job.policy import Policy
from indistinct.job.policy.value import AnalysisPlan
from indistinct.job.published import transform_by_policy

METRICS = ("loss", "discernibility")
"""Metrics of nodes where a policy names none."""


def explore_by_policy(
    source: Any, policy: Policy, *, metrics: Sequence[Any] | None = None, **options: Any
) -> Exploration:
    """Return every node of the lattice of a table, judged by the models and settings of a policy.

    `metrics` replace those of the policy, and `options` are those of `explore`.
    """
    if policy.model is None:
        raise ParameterError("no model is given", hint="say what must hold, for example --model k-anonymity:k=5")
    return explore(
        transform_by_policy(source, policy),
        policy.schema,
        model=policy.model,
        hierarchies=policy.used_hierarchies,
        suppression=policy.suppression,
        metrics=metrics or policy.metrics or METRICS,
        population=policy.population,
        original=source,
        **options,
    )


def compare_by_policy(source: Any, policy: Policy, **options: Any) -> Comparison:
    """Compare algorithms, models and suppression limits on a table with the roles and settings of a policy.

    `options` are those of `compare`, and override the policy.
    """
    settings: dict[str, Any] = {
        "algorithms": [policy.algorithm],
        "models": [policy.model],
        "suppression": policy.suppression,
        "metrics": policy.metrics or None,
        "target": policy.target,
    }
    given = {key: value for key, value in options.items() if value is not None}
    return compare(
        transform_by_policy(source, policy),
        policy.schema,
        hierarchies=policy.used_hierarchies,
        population=policy.population,
        original=source,
        **(settings | given),
    )


def prefer_by_policy(source: Any, policy: Policy, analysis: AnalysisPlan, **options: Any) -> tuple[Policy, Comparison]:
    """Return the policy with the algorithm that preserves a study's analyses best, and the comparison.

    The candidates are the algorithms among which the policy's algorithm chooses. Raises `InfeasibleError` if none has a
    release.
    """
    comparison = compare_by_policy(source, policy, analysis=analysis, **options)
    return replace(policy, algorithm=parse_algorithm(comparison.best().point.algorithm)), comparison
