"""Findings with what to do about them: each is one change of the job, done by one click and taken back by Undo.

A remedy is offered only where it is known to settle its finding: by the model that it asks for, or because it was
counted on the rows of the release.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import IndistinctError, ParameterError
from indistinct.evaluation.assess.profiles import exceeds, parse_profile
from indistinct.evaluation.attack.attributes import Skewness
from indistinct.evaluation.verdict import Verdict
from indistinct.evaluation.verdict_line import WEAK, Line, words_of
from indistinct.figures import number, percent
from indistinct.frequencies.singled_out import is_nearly_unique
from indistinct.job.policy import Policy
from indistinct.models import AlphaK, DistinctLDiversity, KAnonymity, Model, TCloseness
from indistinct.models.k_anonymity import sizes_asked, with_size
from indistinct.models.words import list_names
from indistinct.parameters import exact
from indistinct.recoding.transformations import Transformation
from indistinct.release.writing.delimited import Writing, is_formula
from indistinct.release.writing.formats import is_text_file
from indistinct.schema import Role
from indistinct.text_form import arguments_of
from indistinct.web.deciding import (
    Inspected,
    find_unprotected,
    least_values,
    with_roles,
    with_transformation,
)
from indistinct.web.tasks.searching import release_name
from indistinct.web.tasks.treatments import Treatment, Treatments

CAREFUL_T = 0.25
"""How far a class may differ from the whole table: less than the gain that the attack skewness needs."""
RISK_THRESHOLD = 0.09
"""The risk above which an assessment counts a member as at risk."""
RULED_OUT = 3
"""Values of a class after which two are left where an attacker can rule one out."""
TIGHT = ("downcoding", "combinatorial-refinement", "membership")
"""Attacks that use how tight published ranges are."""
COLUMN_KINDS = ("sensitive-column", "published-columns", "column-set", "identifying-values")
"""Lines that another treatment of their columns settles."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of a policy, and what it is in words."""

    words: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class PageFinding:
    """Something to decide: what it is in words, how grave, and what a click would change."""

    words: str
    tone: str
    remedies: tuple[Remedy, ...] = ()


# What a first look shows


def find_in_columns(policy: Policy, looked: Inspected, starter: Policy) -> list[PageFinding]:
    """Return findings on columns: those with identifying values, and those that no model protects."""
    findings = find_in_names(policy, looked, starter)
    unprotected = find_unprotected(policy)
    for column in looked["columns"]:
        name, rows = column["name"], looked["rows"]
        role = policy.schema.role(name)
        pointing = column["points_at"]["quasi" if role is Role.QUASI else "other"]
        if pointing and role not in (Role.IDENTIFIER, Role.PERSON) and name not in policy.transformations:
            words = f"{name} holds {pointing}. Published values may name people."
            findings.append(PageFinding(words, "bad", tuple(_drop_columns(policy, [name], looked, starter))))
            continue
        if role not in (Role.SENSITIVE, Role.INSENSITIVE) or name in policy.transformations:
            continue
        alone = round(column["unique_share"] * rows)
        if is_nearly_unique(alone, rows):
            words = f"{name} is published unmodified, and {percent(column['unique_share'])} of the rows have a value "
            words += "that no other row has: who knows it finds the row."
            findings.append(PageFinding(words, "warning", tuple(coarser_remedies(policy, column, looked, starter))))
        elif name in unprotected:
            findings.append(
                PageFinding(
                    f"No privacy guarantee protects {name} yet.", "warning", tuple(_protections(policy, column))
                )
            )
    return findings


def find_against_profile(policy: Policy, asked: Sequence[Model]) -> list[PageFinding]:
    """Return a finding if the requested class size is below that of the profile.

    `asked` are the models that the profile asks for.
    """
    needed, now = max(sizes_asked(asked), default=0), max(sizes_asked(policy.models), default=0)
    if now >= needed:
        return []
    has = f"k = {now} leaves a risk of {percent(1 / now)}" if now else "no class size is asked for"
    words = f"The profile {policy.about.profile} takes classes of at least {needed}, but {has}."
    return [PageFinding(words, "warning", tuple(_larger_classes(policy, needed)))]


def find_in_names(policy: Policy, looked: Inspected, starter: Policy) -> list[PageFinding]:
    """Return the names of columns that a spreadsheet would run, where the release is a text file with a guard."""
    path, output = Path(release_name(policy)), policy.output
    published = list(policy.schema.published)
    if output.writing.marks is None or not is_text_file(path) or not published:
        return []
    names = pa.array(published).filter(is_formula(pa.array(published))).to_pylist()
    if not names:
        return []
    workbook = (output.path or Path()).parent / path.with_suffix(".xlsx").name
    bare = replace(output.writing, formulas=False, spreadsheet=False)
    remedies = (
        Remedy(
            "Write an Excel file (.xlsx)", replace(policy, output=replace(output, path=workbook, writing=Writing()))
        ),
        *_drop_columns(policy, names, looked, starter),
        Remedy("Write without the guard against formulas", replace(policy, output=replace(output, writing=bare))),
    )
    words = f"A spreadsheet takes the name of {list_names(names)} for a formula, and a name gets no apostrophe."
    return [PageFinding(words, "bad", remedies)]


def coarser_remedies(policy: Policy, column: Mapping[str, Any], looked: Inspected, starter: Policy) -> Iterator[Remedy]:
    """Yield remedies that publish less of a column that is not generalized."""
    name = column["name"]
    if column.get("coarser") and not is_number_of_a_case(column, looked["rows"]):
        coarser = Transformation(**column["coarser"])
        yield from _valid(_in_words(name, coarser), lambda: with_transformation(policy, name, coarser))
    yield from _make_quasi(policy, [name], looked, starter)
    yield from _drop_columns(policy, [name], looked, starter)


def is_number_of_a_case(column: Mapping[str, Any], rows: int) -> bool:
    """Return whether a column has a whole number for each row, which counts cases and measures nothing.

    >>> column = {"type": "number", "whole": True, "unique_share": 1.0}
    >>> is_number_of_a_case(column, 4_000), is_number_of_a_case({**column, "unique_share": 0.8}, 4_000)
    (True, False)
    """
    return bool(column.get("whole")) and round(column["unique_share"] * rows) == rows


def _make_quasi(policy: Policy, names: Sequence[str], looked: Inspected, starter: Policy) -> Iterator[Remedy]:
    """Yield a remedy that makes columns quasi-identifiers."""
    roles = dict.fromkeys(names, Role.QUASI)
    as_what = "a quasi-identifier" if len(names) == 1 else "quasi-identifiers"
    yield from _valid(
        f"Make {list_names(names)} {as_what}", lambda: with_roles(policy, roles, looked=looked, starter=starter)
    )


def _drop_columns(policy: Policy, names: Sequence[str], looked: Inspected, starter: Policy) -> Iterator[Remedy]:
    """Yield a remedy that drops columns."""
    roles = dict.fromkeys(names, Role.IDENTIFIER)
    as_what = "an identifier" if len(names) == 1 else "identifiers"
    yield from _valid(
        f"Drop {list_names(names)} (make it {as_what})"
        if len(names) == 1
        else f"Drop {list_names(names)} (make them {as_what})",
        lambda: with_roles(policy, roles, looked=looked, starter=starter),
    )


def _in_words(name: str, coarser: Transformation) -> str:
    """Return the words of a button that applies a masking.

    >>> _in_words("cost", Transformation(round=500, top=30_000))
    'Round cost to 500, nothing above 30,000'
    """
    if coarser.level is not None:
        return f"Join rare values of {name}"
    if coarser.truncate is not None:
        return f"Publish the {coarser.truncate} of {name}"
    words = f"Round {name} to {number(coarser.round)}" if coarser.round is not None else f"Bound {name}"
    words += f", nothing above {number(coarser.top)}" if coarser.top is not None else ""
    return words + (f", nothing below {number(coarser.bottom)}" if coarser.bottom is not None else "")


def _protections(policy: Policy, column: Mapping[str, Any]) -> Iterator[Remedy]:
    """Yield remedies that protect a sensitive column."""
    if column["distinct"] + (column["missing"] > 0) < 2:
        return
    yield from _diverse(policy, [column["name"]], least_values(column, policy))
    yield from _add_t_closeness(policy, [column["name"]])


def _diverse(policy: Policy, names: Sequence[str], least: int) -> Iterator[Remedy]:
    """Yield a remedy that requires several values of columns in each class; weaker models are replaced."""
    asked = {each.sensitive: each.l for each in _models_of(policy, DistinctLDiversity)}
    missing = [name for name in names if asked.get(name, 0) < least]
    if missing:
        gone = [each for each in _models_of(policy, DistinctLDiversity) if each.sensitive in missing]
        models = (*_without(policy, gone), *(DistinctLDiversity(name, l=least) for name in missing))
        words = f"Ask for at least {least} values of {list_names(missing)} in each class"
        yield from _valid(words, lambda: replace(policy, models=models))


def _add_t_closeness(policy: Policy, names: Sequence[str]) -> Iterator[Remedy]:
    """Yield a remedy that adds t-closeness for sensitive columns without one as strict as `CAREFUL_T`."""
    stated = _models_of(policy, TCloseness)
    asked = {each.sensitive: each.t for each in stated if each.distance == "equal"}
    missing = [name for name in names if asked.get(name, 1.0) > CAREFUL_T]
    if missing:
        gone = [each for each in stated if each.sensitive in missing]
        models = (*_without(policy, gone), *(TCloseness(name, t=CAREFUL_T) for name in missing))
        words = f"Keep {list_names(missing)} in each class close to the whole table (t = {CAREFUL_T})"
        yield from _valid(words, lambda: replace(policy, models=models))


M = TypeVar("M", bound=Model)


def _models_of(policy: Policy, kind: type[M]) -> list[M]:
    """Return the models of a kind that a policy names."""
    return [each for each in policy.models if isinstance(each, kind)]


def _without(policy: Policy, gone: Collection[Model]) -> tuple[Model, ...]:
    """Return the models of a policy without some."""
    return tuple(each for each in policy.models if each not in gone)


def _valid(words: str, change: Any) -> Iterator[Remedy]:
    """Yield a change unless it cannot be made of this job, or changes nothing."""
    try:
        yield Remedy(words, change())
    except (IndistinctError, ParameterError):
        return


# What a release shows


@dataclass(frozen=True, slots=True)
class Situation:
    """A job with the facts about its table and its release."""

    policy: Policy
    looked: Inspected
    starter: Policy
    treatments: Treatments

    @property
    def limits(self) -> Mapping[str, Any]:
        """Return the limits of the profile by the figure that they are about."""
        named = self.policy.about.profile
        return {} if named is None else {figure: limit for figure, limit, _ in parse_profile(named).limits}

    @property
    def protectable(self) -> list[str]:
        """Return the sensitive columns that have several values, and not another one in nearly every row."""
        rows = self.looked["rows"]
        several = {
            each["name"]
            for each in self.looked["columns"]
            if each["distinct"] + (each["missing"] > 0) > 1
            and not is_nearly_unique(round(each["unique_share"] * rows), rows)
        }
        return [name for name in self.policy.schema.sensitive if name in several]


def remedies_for_line(line: Line, known: Situation) -> tuple[Remedy, ...]:
    """Return the remedies that a click can apply for a line of a verdict."""
    policy = known.policy
    match line.kind:
        case "smallest-class":
            return tuple(_larger_classes(policy, WEAK))
        case "limit" if line.figure is not None:
            return tuple(_for_limit(line.figure, known))
        case "attack" if line.attack is not None:
            return tuple(_defences(line.attack, known, fails=line.state == "failed"))
        case kind if kind in COLUMN_KINDS:
            return tuple(_for_columns(line, known))
        case "several-classes":
            return tuple(_for_several_classes(known))
        case _:
            return ()


def _for_several_classes(known: Situation) -> Iterator[Remedy]:
    """Yield to drop what changes between the rows of a person, where something else is left to be generalized."""
    varying = known.treatments.varying
    if varying and set(known.policy.schema.quasi) - set(varying):
        yield from _drop_columns(known.policy, varying, known.looked, known.starter)


def _for_limit(figure: str, known: Situation) -> Iterator[Remedy]:
    """Yield remedies that satisfy a limit of the profile."""
    policy, limit = known.policy, known.limits.get(figure)
    if figure in ("highest", "average") and limit:
        yield from _larger_classes(policy, size_for(limit))
    elif figure == "at_risk":
        yield from _larger_classes(policy, size_for(RISK_THRESHOLD))
    elif figure == "uniques":
        yield from _larger_classes(policy, WEAK)
    elif figure == "homogeneous":
        yield from _diverse(policy, known.protectable, 2)
    elif figure == "largest_share" and limit:
        models = tuple(AlphaK(name, alpha=limit, k=1) for name in known.protectable)
        words = f"Ask that no value of {list_names(known.protectable)} has more than {percent(limit)} of a class"
        others = _without(policy, _models_of(policy, AlphaK))
        yield from _valid(words, lambda: replace(policy, models=(*others, *models)))


def size_for(risk: Any) -> int:
    """Return the class size that keeps every risk within a limit.

    >>> size_for(0.09), size_for(0.2)
    (12, 5)
    """
    return math.ceil(1 / exact(risk))


def _larger_classes(policy: Policy, size: int) -> Iterator[Remedy]:
    now = max(sizes_asked(policy.models), default=1)
    if size > now:
        models = with_size(policy.models, size) if sizes_asked(policy.models) else (KAnonymity(size), *policy.models)
        yield from _valid(f"Ask for classes of at least {size}", lambda: replace(policy, models=models))


def _for_columns(line: Line, known: Situation) -> Iterator[Remedy]:
    """Yield other treatments of columns with unique combinations or identifying values."""
    policy, looked, starter = known.policy, known.looked, known.starter
    names = [name for name in line.columns if name in policy.schema.columns]
    names = [name for name in names if policy.schema.role(name) in (Role.SENSITIVE, Role.INSENSITIVE)]
    kind: str = line.kind
    if kind == "identifying-values":
        yield from _drop_columns(policy, names, looked, starter) if names else ()
    elif kind == "sensitive-column":
        for name in names:
            yield from _coarser_ways(known, name, lambda way: way.unique == 0)
            yield from _make_quasi(policy, [name], looked, starter)
            yield from _drop_columns(policy, [name], looked, starter)
    elif names:
        yield from _for_unmodified(known)


def _for_unmodified(known: Situation) -> Iterator[Remedy]:
    """Yield treatments of unmodified columns that reduce uniques to the limit of the profile."""
    policy, treatments = known.policy, known.treatments
    limit = known.limits.get("published_uniques") or 0.0

    def settles(unique: int) -> bool:
        return not exceeds(unique / max(treatments.members, 1), limit)

    names = policy.schema.insensitive
    for name in names:
        yield from _coarser_ways(known, name, lambda way: settles(way.together))
    yield from _make_quasi(policy, names, known.looked, known.starter)
    dropped = next((each for each, unique in treatments.dropped if settles(unique)), tuple(names))
    yield from _drop_columns(policy, dropped, known.looked, known.starter)


def _coarser_ways(known: Situation, name: str, settles: Callable[[Treatment], bool]) -> Iterator[Remedy]:
    """Yield maskings of a column that solve the problem (`settles`)."""
    policy, column = known.policy, next(each for each in known.looked["columns"] if each["name"] == name)
    for way in known.treatments.ways.get(name, ()):
        unusable = way.hierarchy is not None and name in policy.hierarchies
        if settles(way) and not unusable and not is_number_of_a_case(column, known.looked["rows"]):
            words = _in_words(name, way.transformation)
            yield from _valid(
                words,
                lambda way=way: with_transformation(policy, name, way.transformation, hierarchy=way.hierarchy),
            )


def _defences(attack: str, known: Situation, *, fails: bool) -> Iterator[Remedy]:
    """Yield defenses against an attack that succeeded; dropping a column is offered only where it `fails`."""
    policy = known.policy
    if attack in TIGHT:
        regions = with_regions(policy.algorithm)
        if regions is not None and regions != policy.algorithm:
            yield Remedy("Show whole regions instead of the narrowest ranges", replace(policy, algorithm=regions))
    elif attack == Skewness.name:
        yield from _add_t_closeness(policy, known.protectable)
    elif attack == "similarity" and fails:
        for name in known.protectable:
            yield from _drop_columns(policy, [name], known.looked, known.starter)
    elif attack == "homogeneity":
        yield from _diverse(policy, known.protectable, 2)
    elif attack == "background-knowledge":
        yield from _diverse(policy, known.protectable, RULED_OUT)
    elif attack == "record-linkage":
        yield from _larger_classes(policy, size_for(known.limits.get("highest") or RISK_THRESHOLD))


def with_regions(algorithm: Algorithm) -> Algorithm | None:
    """Return the algorithm with whole regions, whose ends reveal no values; None if there is no such form.

    >>> from indistinct.text_form import spell
    >>> spell(with_regions(parse_algorithm("mondrian:choose=loss")))
    'mondrian:extent=region,choose=loss'
    """
    own = arguments_of(algorithm)
    if "extent" in own:
        return type(algorithm)(**{**own, "extent": "region"})
    if algorithm.name in ("auto", "refine"):
        return parse_algorithm("mondrian:extent=region,choose=loss")
    return None


def find_in_verdict(
    verdict: Verdict, policy: Policy, looked: Inspected, starter: Policy, *, treatments: Treatments | None = None
) -> list[PageFinding]:
    """Return the open lines of a verdict with remedies; each change is offered once.

    `treatments` are those that were counted on the rows of the release.
    """
    findings, offered = [], set[str]()
    known = Situation(policy, looked, starter, treatments or Treatments())
    for line in verdict.open:
        remedies = [each for each in remedies_for_line(line, known) if each.words not in offered]
        offered |= {each.words for each in remedies}
        sentence = words_of(line)
        words = f"{sentence[:1].upper()}{sentence[1:]}."
        findings.append(PageFinding(words, "bad" if line.state == "failed" else "warning", tuple(remedies)))
    return findings
