"""A study's analyses in the step `search`: what becomes of them on the release, and suggestions by the roles."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from indistinct.document.blocks import Section
from indistinct.frequencies.structure import structure_of
from indistinct.job.policy import Policy
from indistinct.job.policy.value import AnalysisPlan
from indistinct.models.words import list_names
from indistinct.web import parts
from indistinct.web.blocks import draw_section
from indistinct.web.deciding import Inspected
from indistinct.web.findings import is_number_of_a_case
from indistinct.web.following import ANALYSES, follow, key_of_analyses
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.standing import INSPECTED
from indistinct.web.tasks.usefulness import QUESTIONS, ShownAnalyses

FIRST_ANALYSIS = (
    "Choose what the release is for: it is computed on the table and on the release, and becomes part of the policy."
)
ALSO = "Analyze as well:"
MAX_SUGGESTIONS = 3
# Names of columns in a question; of more, the first ones and how many others there are.
MAX_NAMED = 5
PLAIN_NAME = re.compile(r"[^\W\d]\w*")
Column = Mapping[str, Any]
"""What `inspect` found of a column, as JSON values."""
MAX_CATEGORIES = 12
"""Categories of a covariate or of a table's column beyond which a suggestion has too many terms to read."""


@dataclass(frozen=True, slots=True)
class SuggestedAnalysis:
    """An analysis that a click adds: the question in words, its kind and text in a plan, and a formula's family."""

    words: str
    kind: str
    text: str
    family: str | None = None


def draw_analyses(screen: Screen, made: Any) -> None:
    """Draw the results of the policy's analyses on the release, and suggestions for more."""
    policy, session = screen.policy, screen.session
    suggested = suggest_analyses(
        policy, session.result(INSPECTED), linked=structure_of(made["form"], (), ()).whole_rows
    )
    if not policy.analysis.asks and not suggested:
        return
    with parts.tag("section", id="analyses", aria_label="Analyses"):
        parts.heading("Does the study's analysis still give the same answer?")
        if policy.analysis.asks:
            fresh = session.is_fresh(ANALYSES, key_of_analyses(policy, made))
            _draw_found(session.result(ANALYSES) if fresh else None)
            _draw_asked(screen)
        if suggested:
            _draw_suggestions(screen, suggested)


def _draw_found(analyses: ShownAnalyses | None) -> None:
    """Draw the results of analyses before and after."""
    if analyses is None:
        parts.say("Not computed yet: it runs in the background, on the table and on the release.", kind="hint")
        return
    parts.say(analyses.sentence)
    if analyses.picture is not None:
        parts.picture(analyses.picture, caption="Estimates with 95 % confidence intervals, before and after.")
    draw_section(Section("estimates", "All estimates", analyses.blocks), closed=True)


def _draw_asked(screen: Screen) -> None:
    """Draw the analyses of the policy, each with a button that takes it away."""
    with parts.tag("ul", id="asked-analyses"):
        for index, (kind, text) in enumerate(_list_analyses(screen.policy.analysis)):
            with parts.tag("li"):
                parts.tag("code", Own(text))
                parts.tag("span", " ")
                screen.button(
                    "Remove",
                    lambda kind=kind, text=text: _take(screen, without_analysis(screen.policy.analysis, kind, text)),
                    name=f"remove-analysis-{index}",
                    label=f"Remove the analysis {text}",
                )


def _draw_suggestions(screen: Screen, suggested: Sequence[SuggestedAnalysis]) -> None:
    """Draw the suggested analyses with buttons to add them."""
    parts.say(ALSO if screen.policy.analysis.asks else FIRST_ANALYSIS, kind="hint")
    with parts.tag("ul", id="suggested-analyses"):
        for index, each in enumerate(suggested):
            with parts.tag("li"):
                plan = with_analysis(screen.policy.analysis, each)
                screen.button(each.words, lambda plan=plan: _take(screen, plan), name=f"analyze-{index}")
                parts.tag("span", " ")
                parts.tag("code", Own(each.text))


def _take(screen: Screen, plan: AnalysisPlan) -> None:
    screen.change(replace(screen.policy, analysis=plan))
    follow(screen.session)


def _list_analyses(plan: AnalysisPlan) -> Iterator[tuple[str, str]]:
    for kind in QUESTIONS:
        yield from ((kind, text) for text in getattr(plan, kind))


def with_analysis(plan: AnalysisPlan, suggestion: SuggestedAnalysis) -> AnalysisPlan:
    """Return a plan with one analysis more."""
    texts = (*getattr(plan, suggestion.kind), suggestion.text)
    changed: dict[str, Any] = {suggestion.kind: texts, "family": suggestion.family or plan.family}
    return replace(plan, **changed)


def without_analysis(plan: AnalysisPlan, kind: str, text: str) -> AnalysisPlan:
    """Return a plan without one analysis; a plan that is left without a formula has no family.

    >>> without_analysis(AnalysisPlan(formulas=("ill ~ age",), family="logistic"), "formulas", "ill ~ age").asks
    False
    """
    changed: dict[str, Any] = {kind: tuple(each for each in getattr(plan, kind) if each != text)}
    left = replace(plan, **changed)
    return left if left.formulas else replace(left, family=None)


# Suggestions


def suggest_analyses(policy: Policy, looked: Inspected, *, linked: bool) -> list[SuggestedAnalysis]:
    """Return a few analyses that the roles suggest and the policy does not have yet.

    Outcomes are columns that are not generalized, and covariates are quasi-identifiers. Where a release is not
    `linked`, as in buckets, only tables of two columns can be estimated.
    """
    about, plan = {each["name"]: each for each in looked["columns"]}, policy.analysis
    quasi = [about[name] for name in policy.schema.quasi if name in about]
    outcomes = [about[name] for name in (*policy.schema.sensitive, *policy.schema.insensitive) if name in about]
    suggestions: list[SuggestedAnalysis] = []
    for outcome in outcomes:
        if not linked or not (regression := _regression(outcome, quasi, plan, looked["rows"])):
            suggestions += _contingency_table(outcome, quasi)
        else:
            suggestions.append(regression)
    asked = set(_list_analyses(plan))
    new = [each for each in suggestions if (each.kind, each.text) not in asked]
    return sorted(new, key=lambda each: QUESTIONS.index(each.kind))[:MAX_SUGGESTIONS]


def _regression(outcome: Column, quasi: Sequence[Column], plan: AnalysisPlan, rows: int) -> SuggestedAnalysis | None:
    """Return a linear regression of a number, or a logistic one of two values; a plan has one family."""
    family = "logistic" if outcome["distinct"] == 2 else "linear"
    if family == "linear" and (outcome["type"] != "number" or is_number_of_a_case(outcome, rows)):
        return None
    covariates = [each for each in quasi if each["type"] == "number" or _is_category(each)]
    mixed = plan.formulas and (plan.family or "linear") != family
    if not covariates or mixed or outcome["distinct"] < 2:
        return None
    terms = " + ".join(_term(each) for each in covariates)
    words = f"Does {outcome['name']} depend on {_list_some([each['name'] for each in covariates])}?"
    return SuggestedAnalysis(words, "formulas", f"{_spell_name(outcome['name'])} ~ {terms}", family)


def _list_some(names: Sequence[str]) -> str:
    """Return names, of many the first ones and how many others there are."""
    if len(names) <= MAX_NAMED:
        return list_names(names)
    return f"{', '.join(names[: MAX_NAMED - 1])} and {len(names) - MAX_NAMED + 1} others"


def _contingency_table(outcome: Column, quasi: Sequence[Column]) -> Iterator[SuggestedAnalysis]:
    """Yield the table of a category by the first quasi-identifier that is one."""
    by = next((each["name"] for each in quasi if _is_category(each) and "," not in each["name"]), None)
    name = outcome["name"]
    if by is not None and _is_category(outcome) and "," not in name:
        yield SuggestedAnalysis(f"How frequent is each {name} by {by}?", "tables", f"{by}, {name}")


def _is_category(column: Column) -> bool:
    return column["type"] == "text" and 2 <= column["distinct"] <= MAX_CATEGORIES


def _term(column: Column) -> str:
    name = _spell_name(column["name"])
    return name if column["type"] == "number" or name != column["name"] else f"C({name})"


def _spell_name(name: str) -> str:
    """Return the name of a column as a formula has it.

    >>> _spell_name("age"), _spell_name("body weight")
    ('age', '`body weight`')
    """
    return name if PLAIN_NAME.fullmatch(name) else f"`{name}`"
