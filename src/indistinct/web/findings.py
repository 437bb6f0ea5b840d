"""Findings with what to do about them: each is one change of the job, done by one click and taken back by Undo."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import IndistinctError, ParameterError
from indistinct.figures import number, percent
from indistinct.frequencies.singled_out import is_nearly_unique
from indistinct.job.policy import Policy
from indistinct.models import DistinctLDiversity, KAnonymity, Model, TCloseness
from indistinct.models.k_anonymity import sizes_asked, with_size
from indistinct.recoding.transformations import Transformation
from indistinct.schema import Role
from indistinct.spelling import arguments_of
from indistinct.study.verdict import Line, Verdict, words_of
from indistinct.web.deciding import Inspected, find_unprotected, with_role, with_transformation

CAREFUL_T = 0.3
"""How far a group may differ from the whole table where a steward asks for closeness by a click."""
LARGER = (2, 3, 5, 12, 20, 50)
"""Sizes of groups that are offered, the next larger one."""
TIGHT = ("downcoding", "combinatorial-refinement", "membership")
"""Attacks that use how tight published ranges are."""
LIKELY = ("skewness", "similarity")
"""Attacks that use that a class makes values more likely than they are among all."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of a policy, and what it is in words."""

    words: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to decide: what it is in words, how grave, and what a click would change."""

    words: str
    tone: str
    remedies: tuple[Remedy, ...] = ()


# What a first look shows


def find_in_columns(policy: Policy, looked: Inspected, starter: Policy) -> list[Finding]:
    """Return what is to be decided about columns as they stand: those that point at rows, and those nobody protects."""
    found = []
    unprotected = find_unprotected(policy)
    for column in looked["columns"]:
        name, rows = column["name"], looked["rows"]
        if policy.schema.role(name) not in (Role.SENSITIVE, Role.INSENSITIVE) or name in policy.transformations:
            continue
        alone = round(column["unique_share"] * rows)
        if is_nearly_unique(alone, rows):
            words = f"{name} is published as it is, and {percent(column['unique_share'])} of the rows have a value of "
            words += "their own: whoever knows it finds the row."
            found.append(Finding(words, "warning", tuple(coarser_remedies(policy, column, looked, starter))))
        elif name in unprotected:
            found.append(Finding(f"No promise protects {name} yet.", "warning", tuple(_protections(policy, column))))
    return found


def coarser_remedies(policy: Policy, column: Mapping[str, Any], looked: Inspected, starter: Policy) -> Iterator[Remedy]:
    """Yield what would publish less of a column that is not recoded."""
    name = column["name"]
    if column.get("coarser"):
        coarser = Transformation(**column["coarser"])
        yield from _valid(_in_words(name, coarser), lambda: with_transformation(policy, name, coarser))
    known = f"Treat {name} as known to others"
    yield from _valid(known, lambda: with_role(policy, name, Role.QUASI, looked=looked, starter=starter))
    if not column.get("coarser"):
        nothing = Transformation(clear="all")
        yield from _valid(f"Publish nothing of {name}", lambda: with_transformation(policy, name, nothing))


def _in_words(name: str, coarser: Transformation) -> str:
    """Return what a transformation does, as a button says it.

    >>> _in_words("cost", Transformation(round=500, top=30_000))
    'Round cost to 500, nothing above 30,000'
    """
    if coarser.truncate is not None:
        return f"Publish the {coarser.truncate} of {name}"
    said = f"Round {name} to {number(coarser.round)}" if coarser.round is not None else f"Bound {name}"
    said += f", nothing above {number(coarser.top)}" if coarser.top is not None else ""
    return said + (f", nothing below {number(coarser.bottom)}" if coarser.bottom is not None else "")


def _protections(policy: Policy, column: Mapping[str, Any]) -> Iterator[Remedy]:
    name = column["name"]
    if column["distinct"] + (column["missing"] > 0) < 2:
        return
    yield from _adding(policy, f"Ask for several values of {name} in each group", DistinctLDiversity(name, l=2))
    yield from _close(policy, name)


def _close(policy: Policy, name: str) -> Iterator[Remedy]:
    yield from _adding(policy, f"Keep {name} in each group close to the whole table", TCloseness(name, t=CAREFUL_T))


def _adding(policy: Policy, words: str, model: Model) -> Iterator[Remedy]:
    same = [each for each in policy.models if type(each) is type(model) and each.keys == model.keys]
    if not same:
        yield from _valid(words, lambda: replace(policy, models=(*policy.models, model)))


def _valid(words: str, change: Any) -> Iterator[Remedy]:
    """Yield a change unless it cannot be made of this job."""
    try:
        yield Remedy(words, change())
    except (IndistinctError, ParameterError):
        return


# What a release shows


def remedies_for_line(line: Line, policy: Policy, looked: Inspected, starter: Policy) -> tuple[Remedy, ...]:
    """Return what a click can do about a line of a verdict."""
    by_name = {each["name"]: each for each in looked["columns"]}
    match line.kind:
        case "smallest-class":
            return tuple(_larger_groups(policy))
        case "limit" if line.figure in ("highest", "average", "at_risk", "uniques"):
            return tuple(_larger_groups(policy))
        case "limit" if line.figure in ("homogeneous", "largest_share"):
            return tuple(each for name in policy.schema.sensitive for each in _several(policy, name))
        case "sensitive-column" | "published-columns" | "column-set" | "identifiers":
            names = [name for name in line.columns if name in by_name and name not in policy.transformations]
            kept = [name for name in names if policy.schema.role(name) in (Role.SENSITIVE, Role.INSENSITIVE)]
            most = max((by_name[name]["unique_share"] for name in kept), default=0.0)
            worst = [name for name in kept if by_name[name]["unique_share"] >= most]
            return tuple(
                each for name in worst[:1] for each in coarser_remedies(policy, by_name[name], looked, starter)
            )
        case "attack" if line.attack is not None:
            return tuple(_defences(line.attack, policy))
        case _:
            return ()


def _larger_groups(policy: Policy) -> Iterator[Remedy]:
    now = max(sizes_asked(policy.models), default=1)
    larger = next((each for each in LARGER if each > max(now, 2)), None)
    if larger is not None:
        yield Remedy(f"Ask for groups of {larger}", replace(policy, models=_with_groups(policy.models, larger)))


def _with_groups(models: tuple[Model, ...], k: int) -> tuple[Model, ...]:
    return with_size(models, k) if sizes_asked(models) else (KAnonymity(k), *models)


def _defences(attack: str, policy: Policy) -> Iterator[Remedy]:
    """Yield what defends a release against an attack that succeeded."""
    if attack in TIGHT:
        regions = with_regions(policy.algorithm)
        if regions is not None and regions != policy.algorithm:
            yield Remedy("Show whole regions instead of the narrowest ranges", replace(policy, algorithm=regions))
    elif attack in LIKELY:
        for name in policy.schema.sensitive:
            yield from _close(policy, name)
    elif attack in ("homogeneity", "background-knowledge"):
        for name in policy.schema.sensitive:
            yield from _several(policy, name)
    elif attack == "record-linkage":
        yield from _larger_groups(policy)


def _several(policy: Policy, name: str) -> Iterator[Remedy]:
    yield from _adding(policy, f"Ask for several values of {name}", DistinctLDiversity(name, l=3))


def with_regions(algorithm: Algorithm) -> Algorithm | None:
    """Return an algorithm that shows whole regions, which tell nothing of the values at their ends; None if none does.

    >>> from indistinct.spelling import spell
    >>> spell(with_regions(parse_algorithm("mondrian:choose=loss")))
    'mondrian:extent=region,choose=loss'
    """
    own = arguments_of(algorithm)
    if "extent" in own:
        return type(algorithm)(**{**own, "extent": "region"})
    if algorithm.name in ("auto", "refine"):
        return parse_algorithm("mondrian:extent=region,choose=loss")
    return None


def find_in_verdict(verdict: Verdict, policy: Policy, looked: Inspected, starter: Policy) -> list[Finding]:
    """Return what is open in a verdict, with what to do about it; the same change is offered once."""
    found, offered = [], set[str]()
    for line in verdict.open:
        remedies = [each for each in remedies_for_line(line, policy, looked, starter) if each.words not in offered]
        offered |= {each.words for each in remedies}
        said = words_of(line)
        words = f"{said[:1].upper()}{said[1:]}."
        found.append(Finding(words, "bad" if line.state == "failed" else "warning", tuple(remedies)))
    return found
