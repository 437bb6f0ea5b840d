"""A report about a release of several tables: one HTML page without scripts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct import __version__
from indistinct.document.blocks import (
    Block,
    Document,
    Grid,
    JsonValues,
    Notice,
    Paragraph,
    Picture,
    Section,
    grid,
    listing,
)
from indistinct.document.html import page_html
from indistinct.errors import MissingExtraError
from indistinct.figures import percent, plural
from indistinct.linked.assess import LinkedAssessment, assess_release
from indistinct.linked.attack import LinkedOutcome, attack_release
from indistinct.linked.certificate import assumptions_of
from indistinct.linked.checking import check_release
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.folder import open_folder
from indistinct.linked.guarantee import ALL
from indistinct.linked.measure import LinkedMeasurements, measure_release
from indistinct.linked.opening import open_linked
from indistinct.linked.verify import LinkedVerdict

NOT_PROMISED = (
    "Columns that are no quasi-identifiers may identify people who are known by them.",
    "Releases of the same people do not protect each other.",
)
FIGURES = {
    "attempts": "people attacked",
    "singled_out": "people with one candidate",
    "below_k": "people with fewer than k candidates",
    "smallest": "fewest candidates of a person",
    "risk": "chance of naming the right person",
    "baseline": "the same without known rows",
    "control": "people for whom rows of another person leave one candidate",
}
"""The figures of the attack, and what a report calls them."""


@dataclass(frozen=True, slots=True)
class LinkedReport:
    """A page about a release, the documents that its figures come from, and whether everything is satisfied."""

    html: str
    documents: Mapping[str, Any]
    holds: bool


def report_folder(folder: Path, policy: LinkedPolicy, *, seed: int | None = None) -> LinkedReport:
    """Return a report about a release in a folder, verified beside its originals."""
    opened, tables = open_linked(policy), open_folder(folder, policy).read()
    verdict = check_release(folder, policy, originals=True)
    documents = {"verify": verdict.to_json()}
    sections = [_verdict(policy, verdict), Section("verification", "Verification", (_checks(verdict),))]
    if verdict.judgement is not None:
        risk, cost = assess_release(policy, tables, (1, 2, 3)), measure_release(opened, tables)
        attack = attack_release(opened, tables, seed=seed)
        documents |= {"assess": risk.to_json(), "attack": attack.to_json(), "measure": cost.to_json()}
        sections += [
            Section("risk", "Risk by known rows", (*_picture(risk), _risks(risk))),
            Section("attack", "Attack by known rows", (Paragraph(f"{attack.sentence}."), _outcome(attack))),
            Section("utility", "Utility", (_costs(cost),)),
        ]
    sections.append(Section("not-promised", "Not promised", listing(NOT_PROMISED)))
    page = page_html(
        Document(f"Release of {len(policy.tables)} tables", tuple(sections)),
        byline="For the steward, not for readers of the release.",
        footer=f"Written by indistinct {__version__}. One file: no script, nothing fetched.",
    )
    return LinkedReport(page, documents, verdict.holds)


def _verdict(policy: LinkedPolicy, verdict: LinkedVerdict) -> Section:
    known = [
        f"all rows of {name}" if rows == ALL else f"{plural(int(rows), 'row')} of {name}"
        for name, rows in policy.knowledge.tables.items()
    ]
    people, together = policy.people.name, plural(policy.knowledge.rows, "row")
    knowledge = f"Attackers know the quasi-identifiers of {people}, {', '.join(known)}; {together} together at most."
    words = "Every check is satisfied" if verdict.holds else "NOT every check is satisfied"
    notice = Notice(f"{words}: {policy.model.spec()}.", "good" if verdict.holds else "bad")
    assumed = listing(f"Assumed: {each}." for each in assumptions_of(policy))
    return Section("verdict", "", (notice, Paragraph(knowledge), *assumed))


def _checks(verdict: LinkedVerdict) -> Grid:
    rows = [(check.name, "yes" if check.holds else "NO", check.words) for check in verdict.checks]
    return grid("", ("check", "satisfied", "found"), rows, most=len(rows))


def draw_known_rows(assessment: LinkedAssessment) -> str:
    """Return an SVG: a chart for attackers with and without people columns, a line a table."""
    from indistinct.drawing.charts import draw
    from indistinct.drawing.lines import line_charts

    measure = f"share below k = {assessment.k}"
    rows = [
        {
            "known rows": risk.known,
            "attackers": "with people columns" if risk.people_columns else "rows alone",
            "table": risk.table,
            measure: risk.share,
        }
        for risk in assessment.risks
        if risk.share is not None and risk.known != ALL
    ]
    charts = line_charts(
        rows, x=("known rows", "known rows"), across="attackers", lines="table", measures={measure: "linear"}
    )
    title = f"People left among fewer than {assessment.k}, by known rows"
    return draw(
        charts, title=title, notes=[f"{assessment.people:,} people"], legend=[str(row["table"]) for row in rows]
    )


def _picture(found: LinkedAssessment) -> tuple[Block, ...]:
    """Return the picture of the risk; a sentence in its place where charts cannot be drawn."""
    try:
        drawn = draw_known_rows(found)
    except MissingExtraError as error:
        return (Notice(f"{error.message}. {error.hint or ''}"),)
    return (Picture("Share of people below k", "the figures are in the table that follows", drawn),)


def _risks(found: LinkedAssessment) -> Grid:
    document = JsonValues("assess", found.to_json())
    rows = [
        (
            risk.table,
            str(risk.known),
            "yes" if risk.people_columns else "no",
            document.figure("risks", place, "share", words=percent, absent="too many to count"),
        )
        for place, risk in enumerate(found.risks)
    ]
    headings = ("table", "known rows", "people columns known", f"people below {found.k}")
    return grid("", headings, rows, right=headings[-1:], most=len(rows))


def _outcome(found: LinkedOutcome) -> Grid:
    document = JsonValues("attack", found.to_json())
    shares = ("risk", "baseline", "control")
    rows = [
        (words, document.figure(name, words=percent) if name in shares else document.figure(name))
        for name, words in FIGURES.items()
    ]
    return grid("", ("figure", "value"), rows, right=("value",))


def _costs(found: LinkedMeasurements) -> Grid:
    document = JsonValues("measure", found.to_json())
    rows = [
        (
            each.table,
            document.figure("tables", place, "rows"),
            document.figure("tables", place, "deleted", words=percent),
            document.figure("tables", place, "loss"),
        )
        for place, each in enumerate(found.tables)
    ]
    headings = ("table", "rows", "deleted", "loss")
    return grid("", headings, rows, right=headings[1:], most=len(rows))
