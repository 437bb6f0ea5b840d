"""What would let a search find a release where it found none: as much as the library says, and no more than asked."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from indistinct.algorithms.auto import Auto
from indistinct.errors import Feasible
from indistinct.figures import number, percent
from indistinct.job.policy import Policy
from indistinct.models import Model
from indistinct.models.k_anonymity import sizes_asked, with_size
from indistinct.suppression_limit import Budget
from indistinct.text_form import arguments_of
from indistinct.web.findings import Remedy
from indistinct.web.worker import TaskError

# Shares to leave out that are offered, the next larger one.
SHARES = (0.01, 0.02, 0.05, 0.1)


def remedies_for(error: TaskError, policy: Policy) -> list[Remedy]:
    """Return the changes that are clear from an error; a search that failed for another reason has none."""
    if error.feasible is None:
        return []
    weaker = _weaker_algorithm(error.feasible, policy) or _weaker_model(error.feasible, policy)
    if weaker is not None:
        return [weaker]
    return [*_suppression(error.feasible, policy), *_other_algorithm(policy), *_smaller_groups(policy)]


def _weaker_algorithm(feasible: Feasible, policy: Policy) -> Remedy | None:
    """Return a remedy with the best achievable parameter of the algorithm."""
    own = arguments_of(policy.algorithm)
    for name, value in feasible.bounds.items() if feasible.of_algorithm else ():
        if own.get(name) is not None and own[name] != value and (value > 1 or name != "l"):
            algorithm = type(policy.algorithm)(**{**own, name: int(value)})
            return Remedy(f"Search with {name} = {number(value)}", replace(policy, algorithm=algorithm))
    return None


def _weaker_model(feasible: Feasible, policy: Policy) -> Remedy | None:
    """Return a remedy with the best achievable parameter of the first model that cannot be satisfied."""
    for index, model in enumerate(policy.models):
        if feasible.column is not None and all(feasible.column not in key for key in model.keys):
            continue
        for name in [each for each in arguments_of(model) if each in feasible.bounds]:
            weaker = _with(model, name, feasible.bounds[name])
            if weaker is not None and weaker != model:
                models = (*policy.models[:index], weaker, *policy.models[index + 1 :])
                value = number(arguments_of(weaker)[name])
                return Remedy(f"Ask for {name} = {value}", replace(policy, models=models))
    return None


def _with(model: Model, name: str, value: float) -> Model | None:
    """Return a model with what a table can give, None where that is stronger than what is asked for."""
    larger = name in model.larger_is_stronger
    parameters = arguments_of(model)
    now = parameters[name]
    if not math.isfinite(value) or (value >= now if larger else value <= now):
        return None
    whole: Any = math.floor(value) if isinstance(now, int) else math.floor(value * 1000) / 1000
    if not larger:
        whole = math.ceil(value * 1000) / 1000
    return type(model)(**{**parameters, name: whole}) if whole > 0 else None


def _suppression(feasible: Feasible, policy: Policy) -> Iterator[Remedy]:
    """Yield remedies that raise the suppression limit to the needed share, or to the next larger one."""
    if not policy.algorithm.traits.suppresses:
        return
    now = policy.suppression.share  # what a number of rows is of all is not known here
    larger = None if now is None else next((each for each in SHARES if each > now), None)
    share = larger if feasible.share is None else feasible.share
    if share is not None and (now or 0.0) < share < 1:
        yield Remedy(f"Allow {percent(share)} to be suppressed", replace(policy, suppression=Budget(share)))


def _other_algorithm(policy: Policy) -> Iterator[Remedy]:
    if policy.algorithm.name != Auto.name:
        yield Remedy("Leave the choice of the algorithm to auto", replace(policy, algorithm=Auto()))


def _smaller_groups(policy: Policy) -> Iterator[Remedy]:
    """Yield a remedy that halves k."""
    k = max(sizes_asked(policy.models), default=0)
    if k > 2:
        smaller = max(2, k // 2)
        models = with_size(policy.models, smaller)
        yield Remedy(f"Ask for k = {smaller} instead of {k}", replace(policy, models=models))
