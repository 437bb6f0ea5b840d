"""The grid of a comparison: every algorithm with every model and every budget of suppression."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import parse_algorithm
from indistinct.budget import NO_BUDGET, AnyBudget, Budget, parse_budget
from indistinct.errors import ParameterError
from indistinct.metrics import Metric, parse_metric
from indistinct.models import Model
from indistinct.models.registry import parse_model
from indistinct.spelling import spell, split_specs

STANDARD = ("gcp", "discernibility")
"""What is measured where nothing is named."""
Algorithms = str | Algorithm | Sequence[str | Algorithm]
Models = str | Model | Sequence[str | Model | None] | None
Metrics = str | Metric | Sequence[str | Metric]
Budgets = AnyBudget | Sequence[AnyBudget]


@dataclass(frozen=True, slots=True)
class Point:
    """One release to try: an algorithm and a model by their spelling, and what may be suppressed.

    The model is None where the algorithm promises something by itself.
    """

    algorithm: str
    model: str | None
    suppression: Budget = NO_BUDGET

    def __post_init__(self) -> None:
        object.__setattr__(self, "suppression", parse_budget(self.suppression))

    @property
    def name(self) -> str:
        """Return the point as part of a file name.

        >>> Point("mondrian:relaxed=true", "k-anonymity:k=5").name
        'mondrian-relaxed-true-k-anonymity-k-5'
        """
        words = [self.algorithm, self.model or "", f"drop {self.suppression}" if self.suppression else ""]
        return re.sub(r"[^0-9a-zA-Z.]+", "-", " ".join(words)).strip("-")


def points_of(algorithms: Algorithms, models: Models, suppression: Budgets) -> tuple[Point, ...]:
    """Return every combination once, algorithms slowest, and raise for a spelling or a budget that is not possible.

    >>> [point.model for point in points_of("mondrian", "k-anonymity:k=5,k-anonymity:k=2", 0)]
    ['k-anonymity:k=5', 'k-anonymity:k=2']
    """
    searches = [parse_algorithm(each) if isinstance(each, str) else each for each in _listed(algorithms)]
    asked = [parse_model(each) if isinstance(each, str) else each for each in _listed(models)] or [None]
    budgets = [parse_budget(each) for each in _list_budgets(suppression)]
    if not searches or not budgets:
        raise ParameterError("a comparison needs an algorithm and a budget of suppression", hint="algorithms=['auto']")
    grid = [
        Point(spell(search), None if model is None else model.spec(), budget)
        for search, model, budget in product(searches, asked, budgets)
        if model is not None or search.promise() is not None
    ]
    if not grid:
        raise ParameterError("no model is given", hint="name models to compare, such as k-anonymity:k=5")
    return tuple(dict.fromkeys(grid))


def _list_budgets(given: Budgets) -> list[AnyBudget]:
    """Return budgets one by one: a text may name several.

    >>> _list_budgets("0, 4 rows")
    ['0', ' 4 rows']
    """
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [part for each in several for part in (each.split(",") if isinstance(each, str) else [each])]


def metrics_of(metrics: Metrics | None) -> tuple[Metric, ...]:
    """Return the metrics that are named, by default two that every release in classes has."""
    named = _listed(STANDARD if metrics is None else metrics)
    chosen = tuple(parse_metric(each) if isinstance(each, str) else each for each in named)
    names = [metric.name for metric in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not chosen:
        told = f"asked for twice: {', '.join(twice)}" if twice else "none is named"
        raise ParameterError(f"each metric is measured once; {told}", hint="for example gcp,discernibility")
    return chosen


def _listed(given: Any) -> list[Any]:
    """Return what is named one by one: a text may name several."""
    if given is None:
        return []
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    return [part for each in several for part in (split_specs(each) if isinstance(each, str) else [each])]
