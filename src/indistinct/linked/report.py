"""A report about a release of several tables: one HTML page without scripts."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
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
from indistinct.evaluation.verdict import AttackFigures, Verdict, verdict_of
from indistinct.figures import percent, plural
from indistinct.linked.assess import LinkedAssessment, assess_release
from indistinct.linked.attack import LinkedOutcome, attack_release
from indistinct.linked.certificate import assumptions_of, figures_of_people
from indistinct.linked.checking import check_release
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.folder import open_folder
from indistinct.linked.guarantee import ALL
from indistinct.linked.measure import LinkedMeasurements, measure_release
from indistinct.linked.opening import open_linked
from indistinct.linked.pictures import draw_known_rows
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
    """A page about a release, the documents that its figures come from, its verdict, and whether all is satisfied.

    `picture` is the risk by known rows; nothing where the extra that draws is not installed.
    """

    html: str
    documents: Mapping[str, Any]
    verdict: Verdict
    holds: bool
    picture: str = ""


def report_folder(folder: Path, policy: LinkedPolicy, *, seed: int | None = None) -> LinkedReport:
    """Return a report about a release in a folder, verified against its originals."""
    opened, tables = open_linked(policy), open_folder(folder, policy).read()
    verdict = check_release(folder, policy, originals=True)
    documents, sections = {"verify": verdict.to_json()}, [Section("verification", "Verification", (_checks(verdict),))]
    picture, attack = "", None
    if verdict.judgement is not None:
        risk, cost = assess_release(policy, tables, (1, 2, 3)), measure_release(opened, tables)
        attack = attack_release(opened, tables, seed=seed)
        documents |= {"assess": risk.to_json(), "attack": attack.to_json(), "measure": cost.to_json()}
        picture = draw_known_rows(risk) if find_spec("altair") and find_spec("vl_convert") else ""
        sections += [
            Section("risk", "Risk by known rows", (*_drawn(picture), _risks(risk))),
            Section("attack", "Attack by known rows", (Paragraph(f"{attack.sentence}."), _outcome(attack))),
            Section("utility", "Utility", (_costs(cost),)),
        ]
    judged = verdict_of_tables(verdict, attack)
    beginning = _beginning(policy, verdict, judged)
    sections = [beginning, *sections, Section("not-promised", "Not promised", listing(NOT_PROMISED))]
    page = page_html(
        Document(f"Release of {len(policy.tables)} tables", tuple(sections)),
        byline="For the steward, not for readers of the release.",
        footer=f"Written by indistinct {__version__}. One file: no script, nothing fetched.",
    )
    return LinkedReport(page, documents, judged, verdict.holds, picture)


def verdict_of_tables(verified: LinkedVerdict, attack: LinkedOutcome | None = None) -> Verdict:
    """Return the verdict on a release of several tables, from its verification and the attack on it, if it was run."""
    smallest = 0 if verified.judgement is None else verified.judgement.k
    figures = figures_of_people(verified.people, smallest, holds=verified.holds)
    if attack is None:
        return verdict_of(figures)
    beyond = max(attack.risk - attack.baseline, 0.0)
    return verdict_of(figures, attacks=[AttackFigures(attack.attack, attack.succeeds, beyond)])


def _beginning(policy: LinkedPolicy, verdict: LinkedVerdict, judged: Verdict) -> Section:
    """Return the first section of the report: verdict and known rows."""
    known = [
        f"all rows of {name}" if rows == ALL else f"{plural(int(rows), 'row')} of {name}"
        for name, rows in policy.knowledge.tables.items()
    ]
    people, together = policy.people.name, plural(policy.knowledge.rows, "row")
    knowledge = f"Attackers know the quasi-identifiers of {people}, {', '.join(known)}; {together} together at most."
    words = "Every check is satisfied" if verdict.holds else "NOT every check is satisfied"
    notice = Notice(judged.sentence, "missing" if judged.tone == "checking" else judged.tone)
    model = Paragraph(f"{policy.model.spec()}: {words}.")
    assumed = listing(f"Assumed: {each}." for each in assumptions_of(policy))
    return Section("verdict", "", (notice, model, Paragraph(knowledge), *assumed))


def _checks(verdict: LinkedVerdict) -> Grid:
    rows = [(check.name, "yes" if check.holds else "NO", check.words) for check in verdict.checks]
    return grid("", ("check", "satisfied", "found"), rows, most=len(rows))


def _drawn(drawn: str) -> tuple[Block, ...]:
    """Return the picture of the risk; a sentence in its place where charts cannot be drawn."""
    if not drawn:
        return (Notice('Charts are drawn by the extra report: pip install "indistinct[report]".'),)
    return (Picture("Share of people below k", "the figures are in the table that follows", drawn),)


def _risks(assessment: LinkedAssessment) -> Grid:
    """Return the table of risks."""
    document = JsonValues("assess", assessment.to_json())
    rows = [
        (
            risk.table,
            str(risk.known),
            "yes" if risk.people_columns else "no",
            document.figure("risks", index, "share", words=percent, absent="too many to count"),
        )
        for index, risk in enumerate(assessment.risks)
    ]
    headings = ("table", "known rows", "people columns known", f"people below {assessment.k}")
    return grid("", headings, rows, right=headings[-1:], most=len(rows))


def _outcome(outcome: LinkedOutcome) -> Grid:
    """Return the table of the attack's outcome."""
    document = JsonValues("attack", outcome.to_json())
    shares = ("risk", "baseline", "control")
    rows = [
        (words, document.figure(name, words=percent) if name in shares else document.figure(name))
        for name, words in FIGURES.items()
    ]
    return grid("", ("figure", "value"), rows, right=("value",))


def _costs(measurements: LinkedMeasurements) -> Grid:
    """Return the table of information loss."""
    document = JsonValues("measure", measurements.to_json())
    rows = [
        (
            each.table,
            document.figure("tables", index, "rows"),
            document.figure("tables", index, "deleted", words=percent),
            document.figure("tables", index, "loss"),
        )
        for index, each in enumerate(measurements.tables)
    ]
    headings = ("table", "rows", "deleted", "loss")
    return grid("", headings, rows, right=headings[1:], most=len(rows))
