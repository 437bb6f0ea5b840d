"""What a profile of risk asks of a release, as models: a release that satisfies them passes the profile's gate."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from indistinct.figures import percent
from indistinct.models import AlphaK, AverageRisk, DistinctLDiversity, KAnonymity, Model, SampleUniqueness
from indistinct.models.parameters import exact
from indistinct.schema import Schema
from indistinct.study.assess.profiles import LIMITS, Profile


@dataclass(frozen=True, slots=True)
class Asked:
    """The models that a profile comes to, and the limits that no model stands for, in words."""

    models: tuple[Model, ...]
    unmet: tuple[str, ...] = ()


def asked_by(profile: Profile, schema: Schema, *, distinct: Mapping[str, int] | None = None) -> Asked:
    """Return the models that a profile asks for, for a table with these roles.

    `distinct` says how many values a column has: one that has a single value cannot be protected from being known.

    >>> from indistinct.study.assess.profiles import Public
    >>> [model.spec() for model in asked_by(Public(), Schema(quasi=["age"], sensitive=["disease"])).models]
    ['k-anonymity:k=12', 'distinct-l-diversity:sensitive=disease,l=2']
    """
    limits = {name: exact(value) for name, value, _ in profile.limits}
    models: list[Model] = []
    if limits.get("highest"):
        models.append(KAnonymity(math.ceil(1 / limits["highest"])))
    alone = limits.get("uniques")
    if alone is not None and not any(isinstance(each, KAnonymity) and each.k > 1 for each in models):
        models.append(SampleUniqueness(alone) if alone else KAnonymity(2))
    if limits.get("average"):
        models.append(AverageRisk(limits["average"]))
    protected = [name for name in schema.sensitive if (distinct or {}).get(name, 2) > 1]
    if "homogeneous" in limits:
        models += [DistinctLDiversity(name, l=2) for name in protected]
    if limits.get("largest_share"):
        models += [AlphaK(name, alpha=limits["largest_share"], k=1) for name in protected]
    beyond = ("at_risk", "population_uniques", *(("published_uniques",) if schema.insensitive else ()))
    others = [name for name in beyond if name in limits]
    unmet = [f"{LIMITS[name]}: at most {percent(float(limits[name]))}" for name in others]
    if not schema.sensitive and ("homogeneous" in limits or "largest_share" in limits):
        unmet.append("what it asks of sensitive columns: no column has this role")
    return Asked(tuple(models), tuple(unmet))


def told_limits(profile: Profile) -> list[tuple[str, str, str]]:
    """Return each limit of a profile in words, as a figure, and who asks for it.

    >>> from indistinct.study.assess.profiles import Internal
    >>> told_limits(Internal())[0][:2]
    ('average risk of an attacker', '20 %')
    """
    return [(LIMITS[name], percent(float(limit)), source or "") for name, limit, source in profile.limits]
