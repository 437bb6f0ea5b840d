"""What follows from a decision about a column: its role, a reason, a transformation or a pseudonym.

Each function returns a policy that can be written and read again: what a role does not go with is taken out with it.
So it does for the two questions that a steward is asked first, from which most of the rest follows.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.errors import ParameterError
from indistinct.evaluation.assess.profiles import Profile, models_asked_by, parse_profile
from indistinct.frequencies.singled_out import is_nearly_unique
from indistinct.hierarchy import Hierarchy, hierarchy_from_json
from indistinct.inspection.starter import MANY_VALUES
from indistinct.job.policy import Policy
from indistinct.job.policy.value import relative_path
from indistinct.models import AverageRisk, DistinctLDiversity, KAnonymity, Model, SampleUniqueness
from indistinct.models.k_anonymity import sizes_asked
from indistinct.parameters import exact
from indistinct.recoding.columns import importance_of, levels_of, numeric_forms
from indistinct.recoding.transformations import Transformation, check_transformations
from indistinct.release.pseudonyms.making import Pseudonym
from indistinct.schema import Role, Schema
from indistinct.suppression_limit import NO_BUDGET, Budget

DROPPED = (Role.IDENTIFIER, Role.PERSON)
"""Columns with these roles are not in a release; a pseudonym may take their place."""
KEPT = (Role.SENSITIVE, Role.INSENSITIVE)
"""Columns with these roles are published unmodified or masked."""
SAME, LEAST = "same", "least"
"""The shapes that a release can have: the same groups for the whole table, or the least loss."""
FEW = 0.05
"""The suppression limit where the whole table has the same groups."""
Inspected = Mapping[str, Any]
"""What `inspect` found, as JSON values."""


def names_of(looked: Inspected) -> list[str]:
    """Return the columns in the order of the table."""
    return [each["name"] for each in looked["columns"]]


def find_differences(policy: Policy, looked: Inspected) -> list[str]:
    """Return the columns with another role than the suggested one."""
    return [each["name"] for each in looked["columns"] if policy.schema.role(each["name"]) != each["role"]]


def with_role(policy: Policy, name: str, role: Role, *, looked: Inspected, starter: Policy) -> Policy:
    """Change the role of a column, and remove settings incompatible with the new role.

    A quasi-identifier gets the hierarchy that was suggested for it, and a sensitive column a model that protects it, as
    in a first policy.
    """
    if policy.schema.role(name) is role:
        return policy
    return with_roles(policy, {name: role}, looked=looked, starter=starter)


def with_suggestions(policy: Policy, *, looked: Inspected, starter: Policy) -> Policy:
    """Give every column its suggested role."""
    roles = {each["name"]: Role(each["role"]) for each in looked["columns"]}
    changed = {name: roles[name] for name in find_differences(policy, looked)}
    return with_roles(policy, changed, looked=looked, starter=starter)


def with_roles(policy: Policy, changed: Mapping[str, Role], *, looked: Inspected, starter: Policy) -> Policy:
    """Change the roles of some columns, and remove settings incompatible with the new roles."""
    if not changed:
        return policy
    roles = {name: changed.get(name, policy.schema.role(name)) for name in names_of(looked)}
    schema = Schema.from_roles(roles)
    models = tuple(model for model in policy.models if not _is_about(model, changed, allowed=schema.sensitive))
    fresh = [each for each in looked["columns"] if changed.get(each["name"]) == "sensitive"]
    new = [_protecting(each, looked["rows"], policy) for each in fresh]
    models = (*models, *(each for each in new if each is not None and not _is_protected(each.sensitive, models)))
    if policy.models and not models:
        raise ParameterError(
            "the only model that the release is asked for is about this column, and needs it to be sensitive",
            hint="add another model in the step Privacy first, such as k-anonymity",
        )
    transformations = {name: each for name, each in policy.transformations.items() if roles[name] in KEPT}
    kept = {
        name: each
        for name, each in policy.hierarchies.items()
        if roles[name] in (Role.QUASI, Role.SENSITIVE)
        or (name in transformations and transformations[name].level is not None)
    }
    offered = suggested_hierarchies(policy.algorithm, looked, starter)
    suggested = {n: h for n, h in offered.items() if changed.get(n) is Role.QUASI and n not in kept}
    recoded = schema.quasi != policy.schema.quasi
    return replace(
        policy,
        schema=schema,
        models=models,
        hierarchies={**kept, **suggested},
        transformations=transformations,
        pseudonyms={name: each for name, each in policy.pseudonyms.items() if roles[name] in DROPPED},
        fresh=tuple(name for name in policy.fresh if name in (*schema.sensitive, *schema.insensitive)),
        importance=importance_of({name: each for name, each in policy.importance.weights if name in schema.quasi}),
        levels=levels_of({name: each for name, each in policy.levels.bounds if name in {**kept, **suggested}}),
        numeric=numeric_forms({name: each for name, each in policy.numeric.by_column if name in schema.quasi}),
        target=policy.target if policy.target in schema.published else None,
        metrics=tuple(each for each in policy.metrics if all(n in schema.published for key in each.keys for n in key)),
        # A node has a level for each quasi-identifier.
        algorithm=Auto() if recoded and policy.algorithm.name == ChosenNode.name else policy.algorithm,
    )


# The two questions


def suggested_hierarchies(algorithm: Algorithm, looked: Inspected, starter: Policy) -> dict[str, Hierarchy]:
    """Return the suggested hierarchies: those of a first policy, or all where an algorithm needs levels."""
    if shape_of(algorithm) != SAME:
        return dict(starter.hierarchies)
    named = {each["name"]: each["hierarchy"] for each in looked["columns"] if each["hierarchy"] is not None}
    return {name: hierarchy_from_json(given, base=Path()) for name, given in named.items()}


def shape_of(algorithm: Algorithm) -> str:
    """Return whether an algorithm makes the same groups for the whole table, or groups that fit each part.

    >>> shape_of(Optimal()), shape_of(Auto())
    ('same', 'least')
    """
    return SAME if algorithm.traits.recodings == {"by-column"} and algorithm.traits.hierarchies else LEAST


def with_answers(policy: Policy, answers: Mapping[str, str], *, looked: Inspected, starter: Policy) -> Policy:
    """Return the policy that follows from who gets the release and which groups it shall have.

    The guarantee comes from the profile of the recipients. The same groups for the whole table need levels for each
    column, and a few outliers are suppressed for them.
    """
    if answers.get("shape") == SAME:
        algorithm: Algorithm = Optimal()
        suppression = policy.suppression or Budget(FEW)
    else:
        algorithm, suppression = Auto(), NO_BUDGET if policy.suppression == Budget(FEW) else policy.suppression
    offered = suggested_hierarchies(algorithm, looked, starter)
    needed = {name: each for name, each in offered.items() if name in policy.schema.quasi}
    ours = [name for name in policy.schema.quasi if policy.hierarchies.get(name) in (None, _suggestion(looked, name))]
    others = {name: each for name, each in policy.hierarchies.items() if name not in ours}
    changed = replace(policy, algorithm=algorithm, suppression=suppression, hierarchies={**needed, **others})
    if answers.get("who") is None:
        return changed
    models = models_for(parse_profile(answers["who"]), changed, looked)
    return replace(changed, models=models, about=replace(policy.about, profile=answers["who"]))


def _suggestion(looked: Inspected, name: str) -> Hierarchy | None:
    given = next((each["hierarchy"] for each in looked["columns"] if each["name"] == name), None)
    return None if given is None else hierarchy_from_json(given, base=Path())


def models_for(profile: Profile, policy: Policy, looked: Inspected) -> tuple[Model, ...]:
    """Return the models of a profile that the algorithm of a policy can search for.

    One that judges classes one by one keeps an average risk by keeping that of every class.
    """
    distinct = {each["name"]: each["distinct"] for each in looked["columns"]}
    unique = {each["name"] for each in looked["columns"] if is_nearly_unique(_alone(each, looked), looked["rows"])}
    asked = models_asked_by(profile, policy.schema, distinct=distinct).models
    # A column in which nearly all values differ has several in every class, whatever is asked.
    asked = tuple(each for each in asked if not {name for key in each.keys for name in key} & unique)
    if shape_of(policy.algorithm) == SAME:
        return asked
    average = [each.threshold for each in asked if isinstance(each, AverageRisk)]
    others = tuple(each for each in asked if not isinstance(each, AverageRisk | SampleUniqueness | KAnonymity))
    k = max([*sizes_asked(asked), *(math.ceil(1 / exact(each)) for each in average), 2])
    members = looked.get("people") or looked["rows"]
    return (KAnonymity(max(1, min(k, members))), *others)


def _alone(column: Mapping[str, Any], looked: Inspected) -> int:
    """Return the number of rows with a unique value of a column."""
    return round(column["unique_share"] * looked["rows"])


def _is_about(model: Any, changed: Mapping[str, Role], *, allowed: tuple[str, ...] | Any) -> bool:
    return any(name in changed and name not in allowed for key in model.keys for name in key)


def _is_protected(name: str, models: tuple[Any, ...]) -> bool:
    return any(name in key for model in models for key in model.keys)


def find_unprotected(policy: Policy) -> list[str]:
    """Return the sensitive columns that no model is about."""
    return [name for name in policy.schema.sensitive if not _is_protected(name, policy.models)]


def _protecting(column: Mapping[str, Any], rows: int, policy: Policy) -> DistinctLDiversity | None:
    """Return the model that protects a sensitive column; where every value differs it says nothing."""
    alone = round(column["unique_share"] * rows)
    if column["distinct"] < 2 or is_nearly_unique(alone, rows):
        return None
    return DistinctLDiversity(column["name"], l=least_values(column, policy))


def least_values(column: Mapping[str, Any], policy: Policy) -> int:
    """Return the number of distinct values that classes of a sensitive column should have, by the profile.

    >>> from indistinct.job.policy.value import Input
    >>> least_values({"distinct": 30}, Policy(Input(Path("a.csv")), Schema(), ()))
    3
    """
    return 3 if policy.about.profile is None and column["distinct"] >= MANY_VALUES else 2


def with_importance(policy: Policy, name: str, weight: float) -> Policy:
    """Set the attribute weight of a column; 1 is the default."""
    others = {column: each for column, each in policy.importance.weights if column != name}
    return replace(policy, importance=importance_of({**others, **({} if weight == 1 else {name: weight})}))


def with_levels(policy: Policy, name: str, bounds: str) -> Policy:
    """Set minimum and maximum generalization of a column, such as 1..3; an empty text removes them."""
    others = {column: each for column, each in policy.levels.bounds if column != name}
    return replace(policy, levels=levels_of({**others, **({name: bounds.strip()} if bounds.strip() else {})}))


def with_reason(policy: Policy, name: str, reason: str) -> Policy:
    """Return a policy that says why a column has its role; no text says nothing."""
    others = {column: text for column, text in policy.reasons.items() if column != name}
    return replace(policy, reasons={**others, name: reason.strip()} if reason.strip() else others)


def with_transformation(
    policy: Policy, name: str, transformation: Transformation | None, *, hierarchy: Hierarchy | None = None
) -> Policy:
    """Return a policy that publishes a column masked, or unmodified; `hierarchy` is used if it has none yet."""
    others = {column: each for column, each in policy.transformations.items() if column != name}
    hierarchies = dict(policy.hierarchies)
    if transformation is None or transformation.level is None:
        if policy.schema.role(name) is Role.INSENSITIVE:
            hierarchies.pop(name, None)
    elif hierarchy is not None:
        hierarchies.setdefault(name, hierarchy)
    if transformation is not None:
        others[name] = transformation
    check_transformations(others, policy.schema, hierarchies)
    return replace(policy, transformations=others, hierarchies=hierarchies)


def with_pseudonym(policy: Policy, name: str, pseudonym: Pseudonym | None) -> Policy:
    """Return a policy that publishes a pseudonym in place of an identifier, or nothing."""
    others = {column: each for column, each in policy.pseudonyms.items() if column != name}
    return replace(policy, pseudonyms=others if pseudonym is None else {**others, name: pseudonym})


def path_in(policy: Policy, path: Path, *, private: Path) -> Path:
    """Return a path as a policy names it: from its own folder, unless that is the private one of a session."""
    return path if policy.base.resolve().is_relative_to(private.resolve()) else relative_path(path, policy.base)


def read_anew(old: Policy, fresh: Policy, *, looked: Inspected) -> Policy:
    """Return a policy for a table that is read in another way; decisions are kept for the columns that still exist.

    `fresh` is the first policy for the table under its current reading, which decides about columns that are new.
    """
    if set(old.schema.columns) == set(fresh.schema.columns):
        return replace(old, input=fresh.input, base=fresh.base)
    there = set(old.schema.columns) & set(fresh.schema.columns)
    if not there:
        return fresh
    decided = {name: old.schema.role(name) for name in there}
    policy = with_roles(
        fresh, {name: role for name, role in decided.items() if fresh.schema.role(name) is not role},
        looked=looked, starter=fresh,
    )  # fmt: skip
    gone = set(old.schema.columns) - there
    models = tuple(model for model in old.models if not any(name in gone for key in model.keys for name in key))
    return replace(
        policy,
        models=models or policy.models,
        hierarchies={**policy.hierarchies, **{name: each for name, each in old.hierarchies.items() if name in there}},
        transformations={name: each for name, each in old.transformations.items() if name in there},
        pseudonyms={name: each for name, each in old.pseudonyms.items() if name in there},
        fresh=tuple(name for name in old.fresh if name in there),
        reasons={name: each for name, each in old.reasons.items() if name in there},
        importance=importance_of({n: each for n, each in old.importance.weights if n in policy.schema.quasi}),
        levels=levels_of({n: each for n, each in old.levels.bounds if n in there and n in old.hierarchies}),
        numeric=numeric_forms({n: each for n, each in old.numeric.by_column if n in policy.schema.quasi}),
        suppression=old.suppression,
        about=old.about,
    )
