"""Profiles make an assessment a gate: how a release is given away decides which risk is acceptable.

A profile is a frozen value with its thresholds, written like a model: `public`, or `public:highest=0.05`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

from indistinct.as_json import AsJson
from indistinct.errors import ParameterError
from indistinct.figures import percent
from indistinct.models import AlphaK, AverageRisk, DistinctLDiversity, KAnonymity, Model, SampleUniqueness
from indistinct.parameters import exact
from indistinct.schema import Schema
from indistinct.text_form import parse, spell

Attacker = Literal["prosecutor", "journalist"]
State = Literal["passed", "failed", "not checked"]

LIMITS = {
    "highest": "highest risk of an attacker",
    "average": "average risk of an attacker",
    "at_risk": "share of members above the threshold",
    "uniques": "share of members who are alone in their class",
    "published_uniques": "share of members who are unique on unmodified columns that are not sensitive, with their "
    "class",
    "population_uniques": "estimated share of the population that is unique",
    "homogeneous": "share of members whose class has one sensitive value only",
    "largest_share": "largest share of a sensitive value in a class",
}
"""What a profile may limit."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Limits on the figures of an assessment; None where a figure is not limited.

    `attacker` is the one for whom `highest`, `average` and `at_risk` are computed. A profile that `refuses_own_values`
    fails where at least half of the members have a value of their own in a sensitive column, and one that
    `refuses_identifying_values` where a column holds free text, names or numbers of people.
    """

    name: ClassVar[str]
    refuses_own_values: ClassVar[bool] = False
    refuses_identifying_values: ClassVar[bool] = False
    sources: ClassVar[Mapping[str, str]] = MappingProxyType({})
    highest: float | Fraction | None = None
    average: float | Fraction | None = None
    at_risk: float | Fraction | None = None
    uniques: float | Fraction | None = None
    published_uniques: float | Fraction | None = None
    population_uniques: float | Fraction | None = None
    homogeneous: float | Fraction | None = None
    largest_share: float | Fraction | None = None
    attacker: Attacker = "prosecutor"

    def __post_init__(self) -> None:
        for limit in LIMITS:
            value = getattr(self, limit)
            if value is not None and (isinstance(value, bool) or not 0 <= value <= 1):
                raise ParameterError.of(
                    "profile",
                    limit,
                    f"{self.name!r} must be a share from 0 to 1; got {value!r}",
                    hint=f"for example {self.name}:{limit}=0.05",
                )
        if self.attacker not in get_args(Attacker):
            raise ParameterError.of(
                "profile",
                "attacker",
                f"{self.name!r} must be one of {', '.join(get_args(Attacker))}",
                hint="a journalist does not know who is in the release; that takes a population",
            )

    def spec(self) -> str:
        """Return the profile as written on the command line."""
        return spell(self)

    @property
    def limits(self) -> Iterator[tuple[str, float | Fraction, str | None]]:
        """Yield each limit with its value and its source; a changed value has no source."""
        own = {each.name: each.default for each in fields(self)}
        for limit in LIMITS:
            value = getattr(self, limit)
            if value is not None:
                yield limit, value, self.sources.get(limit) if value == own[limit] else None


@dataclass(frozen=True, slots=True)
class Public(Profile):
    """For the public: no risk is above 0.09, no person is unique by other columns, no class has one sensitive value."""

    name: ClassVar[str] = "public"
    refuses_own_values: ClassVar[bool] = True
    refuses_identifying_values: ClassVar[bool] = True
    sources: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "highest": "European Medicines Agency, Policy 0070 (2018); Health Canada (2019): 0.09 for public release",
            "uniques": "Article 29 Working Party, WP216 (2014): no person is singled out",
            "published_uniques": "Article 29 Working Party, WP216 (2014): no person is singled out, by any column",
            "homogeneous": "Machanavajjhala et al. 2006: no class has one sensitive value only",
        }
    )
    highest: float | Fraction | None = 0.09
    uniques: float | Fraction | None = 0.0
    published_uniques: float | Fraction | None = 0.0
    homogeneous: float | Fraction | None = 0.0


@dataclass(frozen=True, slots=True)
class Licensed(Profile):
    """For recipients under contract: the average risk is at most 0.09, and no class has fewer than three members."""

    name: ClassVar[str] = "licensed"
    sources: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "average": "El Emam 2013: average risk where recipients are bound by contract; 0.09 as in Policy 0070",
            "highest": "El Emam 2013: strict average risk, no class of fewer than three",
            "uniques": "Article 29 Working Party, WP216 (2014): no person is singled out",
            "published_uniques": "our choice: at most one member in twenty",
        }
    )
    average: float | Fraction | None = 0.09
    highest: float | Fraction | None = Fraction(1, 3)
    uniques: float | Fraction | None = 0.0
    published_uniques: float | Fraction | None = 0.05


@dataclass(frozen=True, slots=True)
class Internal(Profile):
    """For colleagues: an average risk as in classes of five, and few who are alone."""

    name: ClassVar[str] = "internal"
    sources: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "average": "the usual smallest cell of five (El Emam 2013, chapter on thresholds)",
            "uniques": "our choice: at most one member in twenty",
        }
    )
    average: float | Fraction | None = 0.2
    uniques: float | Fraction | None = 0.05


PROFILES: Mapping[str, type[Profile]] = MappingProxyType({kind.name: kind for kind in (Public, Licensed, Internal)})


def parse_profile(text: str) -> Profile:
    """Parse the name and parameters of a profile.

    >>> parse_profile("public:highest=0.05").highest
    0.05
    """
    return parse(text, PROFILES, what="profile")


@dataclass(frozen=True, slots=True)
class GateLine:
    """One limit of a profile and what was found; a figure that is not known was not checked, and does not pass."""

    figure: str
    limit: float | Fraction
    value: float | None
    state: State
    source: str | None

    @property
    def passed(self) -> bool:
        """Whether the limit is kept."""
        return self.state == "passed"

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain JSON values."""
        return {
            "figure": self.figure,
            "meaning": LIMITS[self.figure],
            "limit": float(self.limit),
            "value": self.value,
            "passed": self.passed,
            "state": self.state,
            "source": self.source,
        }


@dataclass(frozen=True, slots=True)
class Gate(AsJson):
    """A profile, what each of its limits says of a table, and whether the table passes all that the profile asks."""

    in_json: ClassVar[str] = "profile=profile.spec passed state lines"
    profile: Profile
    lines: tuple[GateLine, ...]
    state: State

    @property
    def passed(self) -> bool:
        """Whether every limit is kept, and nothing else fails."""
        return self.state == "passed"

    @property
    def failed(self) -> tuple[GateLine, ...]:
        """Return the limits that are not shown to be kept."""
        return tuple(line for line in self.lines if not line.passed)


def judge(
    profile: Profile, figures: Mapping[str, float | None], *, at_most: Mapping[str, float] | None = None
) -> tuple[GateLine, ...]:
    """Compare figures with the limits of a profile; fractions of whole numbers are compared exactly.

    Of a figure with an upper bound in `at_most`, `figures` have the lower one. Where only the lower one keeps a limit,
    the limit is not checked, and the line has the upper one.
    """
    lines = []
    for name, limit, source in profile.limits:
        value = figures.get(name)
        most = value if value is None else (at_most or {}).get(name, value)
        state: State = "passed"
        if value is None or most is None:
            state = "not checked"
        elif exceeds(value, limit):
            state = "failed"
        elif exceeds(most, limit):
            state = "not checked"
        lines.append(GateLine(name, limit, most if state == "not checked" else value, state, source))
    return tuple(lines)


def exceeds(value: float, limit: float | Fraction) -> bool:
    """Return whether a share is above a limit; the rounding of a division does not decide.

    >>> exceeds(1 / 11, 0.09), exceeds(1 / 3, Fraction(1, 3))
    (True, False)
    """
    bound = exact(limit)
    return not (value <= float(bound) or Fraction(value).limit_denominator(10**12) <= bound)


@dataclass(frozen=True, slots=True)
class AskedModels:
    """The models that a profile comes to, and the limits that no model covers, in words."""

    models: tuple[Model, ...]
    unmet: tuple[str, ...] = ()


def models_asked_by(profile: Profile, schema: Schema, *, distinct: Mapping[str, int] | None = None) -> AskedModels:
    """Return the models that satisfy a profile, for a table with these roles.

    `distinct` says how many values a column has: one that has a single value cannot be protected from being known.

    >>> [model.spec() for model in models_asked_by(Public(), Schema(quasi=["age"], sensitive=["disease"])).models]
    ['k-anonymity:k=12', 'distinct-l-diversity:sensitive=disease,l=2']
    """
    limits = {name: exact(value) for name, value, _ in profile.limits}
    models: list[Model] = []
    k = math.ceil(1 / limits["highest"]) if limits.get("highest") else 0
    if k:
        models.append(KAnonymity(k))
    alone = limits.get("uniques")
    if alone is not None and k <= 1:
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
    return AskedModels(tuple(models), tuple(unmet))


def limits_in_words(profile: Profile) -> list[tuple[str, str, str]]:
    """Return each limit of a profile in words, as a percentage, and its source.

    >>> limits_in_words(Internal())[0][:2]
    ('average risk of an attacker', '20 %')
    """
    return [(LIMITS[name], percent(float(limit)), source or "") for name, limit, source in profile.limits]
