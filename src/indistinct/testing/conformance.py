"""Run all checks of an algorithm, a model or a metric, and report all failures at once.

To check one of your own, call the function of its kind from a test.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import IndistinctError
from indistinct.metrics.base import Metric
from indistinct.metrics.registry import parse_metric
from indistinct.models import KAnonymity, Model
from indistinct.testing.checks import SPREAD, checks_for, edges_for, examples, models_for, publish_once
from indistinct.testing.checks.case import Judge, expect
from indistinct.testing.checks.declarations import check_metric_values, check_model_traits

ALGORITHMS = ("mondrian", "optimal", "kaca")
"""The algorithms with which a model is tried: by cuts, by levels and by merging."""


def check_algorithm(
    algorithm: Algorithm | str,
    *,
    models: Iterable[Model | str] | None = None,
    known: Mapping[str, str] | None = None,
) -> None:
    """Raise `AssertionError` with every failure of an algorithm: with every model, on small tables and at the edges.

    `models` are those to try, every registered one if left out. `known` gives failures that are expected, with
    reasons; one that does not happen is a failure itself.

    >>> check_algorithm("mondrian", models=["k-anonymity:k=3"])
    """
    chosen = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    failures: dict[str, str] = {}
    for name, edge in edges_for(chosen).items():
        failures |= _attempt(f"{name} at the edge", edge, chosen)
    tried = list(models_for(chosen) if models is None else models)
    for index, model in enumerate(tried):
        failures |= _failures(chosen, model, turn=index, turns=len(tried))
    _conclude(failures, known or {})


def check_model(
    model: Model | str,
    *,
    algorithms: Iterable[Algorithm | str] = ALGORITHMS,
    judge: Judge | None = None,
    known: Mapping[str, str] | None = None,
) -> None:
    """Raise `AssertionError` with every failure of a model: in what it declares, and in what algorithms make of it.

    `judge` is the model's definition in plain Python: it is given the rows of a class and those of the original
    table, and returns whether the class breaks the model. Registered models need none. The small tables have the
    sensitive column `disease`. `known` is as in `check_algorithm`.

    >>> check_model("distinct-l-diversity:sensitive=disease,l=2", algorithms=["mondrian"])
    """
    failures: dict[str, str] = {}
    for table, case in examples("mondrian", model).items():
        failures |= _attempt(f"traits on {table}", check_model_traits, case)
    for algorithm in algorithms:
        failures |= _failures(algorithm, model, judge=judge)
    _conclude(failures, known or {})


def check_metric(metric: Metric | str) -> None:
    """Raise `AssertionError` with every failure of a metric on small tables, from the finest node to the coarsest.

    The small tables have the sensitive column `disease`.

    >>> check_metric("discernibility")
    """
    chosen = parse_metric(metric) if isinstance(metric, str) else metric
    failures: dict[str, str] = {}
    for table, case in examples("node", KAnonymity(1)).items():
        failures |= _attempt(f"values on {table}", check_metric_values, chosen, case)
    _conclude(failures, {})


def _failures(
    algorithm: Algorithm | str, model: Model | str, *, turn: int = 0, turns: int = 1, judge: Judge | None = None
) -> dict[str, str]:
    """Return the failures with one of several models; those together try the checks of `SPREAD` on every table."""
    failures: dict[str, str] = {}
    cases = examples(algorithm, model, judge=judge)
    for index, (table, case) in enumerate(cases.items()):
        publish = publish_once()
        every = (index - turn) % min(turns, len(cases)) == 0
        for name, check in checks_for(case.algorithm).items():
            if every or name not in SPREAD:
                failures |= _attempt(f"{name} with {case.model.spec()} on {table}", check, case, publish=publish)
    return failures


def _attempt(label: str, check: Callable[..., None], *given: Any, **options: Any) -> dict[str, str]:
    """Run a check; return its failure by label, or nothing."""
    try:
        check(*given, **options)
    except AssertionError as error:
        return {label: str(error)}
    except IndistinctError as error:
        return {label: f"{type(error).__name__}: {error}"}
    return {}


def _conclude(failures: Mapping[str, str], known: Mapping[str, str]) -> None:
    lines = [f"{name}: {why}" for name, why in failures.items() if name not in known]
    lines += [f"{name}: passes, though it is a known failure" for name in known if name not in failures]
    expect(not lines, "\n".join([f"{len(lines)} failure(s)", *lines]))
