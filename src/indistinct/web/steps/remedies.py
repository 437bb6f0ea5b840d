"""What would let a search find a release where it found none: as much as the library says, and no more than asked."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from indistinct.algorithms.auto import Auto
from indistinct.figures import number, percent
from indistinct.models import KAnonymity, Model
from indistinct.policy import Policy
from indistinct.web.worker import TaskError

# Shares to leave out that are offered, the next larger one.
SHARES = (0.01, 0.02, 0.05, 0.1)
INFEASIBLE = "InfeasibleError"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of a policy, and what it is in words."""

    words: str
    policy: Policy


def remedies_for(error: TaskError, policy: Policy) -> list[Remedy]:
    """Return the changes that are clear from an error; a search that failed for another reason has none."""
    if error.kind != INFEASIBLE:
        return []
    weaker = list(_weaker(error.hint or "", policy))
    if weaker:
        return weaker
    return [*_suppression(error, policy), *_other_algorithm(policy), *_smaller_groups(policy)]


def _weaker(hint: str, policy: Policy) -> Iterator[Remedy]:
    """Yield what the hint says that the table can give, for the first model that asks for more."""
    told = {name: float(value.replace(",", "")) for name, value in re.findall(BOUNDS, hint)}
    largest = re.search(r"the largest l that .*? is (\d+)", hint)
    if largest is not None:
        told["l"] = float(largest[1])
    own: Any = policy.algorithm
    if "l" in told and getattr(own, "l", None) is not None and 1 < told["l"] != own.l:
        yield Remedy(f"Search with l = {number(told['l'])}", replace(policy, algorithm=replace(own, l=int(told["l"]))))
        return
    for place, model in enumerate(policy.models):
        for each in fields(model):  # type: ignore[arg-type]  # every model is a dataclass
            if each.name in told:
                made = _with(model, each.name, told[each.name])
                if made is not None and made != model:
                    models = (*policy.models[:place], made, *policy.models[place + 1 :])
                    shown = number(getattr(made, each.name))
                    yield Remedy(f"Ask for {each.name} = {shown}", replace(policy, models=models))
                    return


BOUNDS = r"\b([klt]|beta|alpha|threshold) (?:=|at most) ([0-9][0-9,.]*[0-9]|[0-9])"


def _with(model: Model, name: str, value: float) -> Model | None:
    """Return a model with what a table can give, None where that is stronger than what is asked for."""
    larger = name in model.larger_is_stronger
    now = getattr(model, name)
    if value >= now if larger else value <= now:
        return None
    whole: Any = math.floor(value) if isinstance(now, int) else math.floor(value * 1000) / 1000
    if not larger:
        whole = math.ceil(value * 1000) / 1000
    return type(model)(**{**_given(model), name: whole}) if whole > 0 else None


def _given(model: Any) -> dict[str, Any]:
    return {each.name: getattr(model, each.name) for each in fields(model)}


def _suppression(error: TaskError, policy: Policy) -> Iterator[Remedy]:
    """Yield the share that would have to be left out, or the next larger one where that is not told."""
    if not policy.algorithm.traits.suppresses:
        return
    hint = error.hint or ""
    named = re.search(r"suppression\s?=\s?([0-9.]+[0-9])", hint)
    counted = re.search(r"only if ([0-9,]+) of ([0-9,]+)", error.message)
    share = next((each for each in SHARES if each > policy.suppression), None)
    if named:
        share = float(named[1])
    elif counted:
        some, everybody = (int(each.replace(",", "")) for each in counted.groups())
        share = math.ceil(some / everybody * 1000) / 1000
    if share is not None and policy.suppression < share < 1:
        yield Remedy(f"Allow {percent(share)} to be left out", replace(policy, suppression=share))


def _other_algorithm(policy: Policy) -> Iterator[Remedy]:
    if not isinstance(policy.algorithm, Auto):
        yield Remedy("Leave the choice of the algorithm to auto", replace(policy, algorithm=Auto()))


def _smaller_groups(policy: Policy) -> Iterator[Remedy]:
    for place, model in enumerate(policy.models):
        if isinstance(model, KAnonymity) and model.k > 2:
            made = replace(model, k=max(2, model.k // 2))
            models = (*policy.models[:place], made, *policy.models[place + 1 :])
            yield Remedy(f"Ask for k = {made.k} instead of {model.k}", replace(policy, models=models))
