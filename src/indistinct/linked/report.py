"""A report about a release of several tables: one HTML page without scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from indistinct.document.blocks import Grid, JsonValues, grid
from indistinct.document.html import escape, grid_html
from indistinct.evaluation.verdict import AttackFigures, Figures, Verdict, verdict_of
from indistinct.linked.assess import LinkedAssessment, assess_release
from indistinct.linked.attack import LinkedOutcome, attack_release
from indistinct.linked.certificate import assumptions_of
from indistinct.linked.checking import check_release
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.folder import open_folder
from indistinct.linked.measure import LinkedMeasurements, measure_release
from indistinct.linked.opening import open_linked
from indistinct.linked.pictures import draw_known_rows
from indistinct.linked.verify import LinkedVerdict

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; } caption { text-align: left; font-weight: bold; }
figure { margin: 1em 0; overflow-x: auto; }
table { break-inside: avoid; } h1, caption { break-after: avoid; }
th, td { text-align: left; padding: 0.2em 1em 0.2em 0; border-bottom: 1px solid #bbb; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
"""


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
    """Return a report about a release in a folder, verified beside its originals."""
    opened, tables = open_linked(policy), open_folder(folder, policy).read()
    verdict = check_release(folder, policy, originals=True)
    documents = {"verify": verdict.to_json()}
    grids, pictures, attack = [_checks(verdict)], [], None
    if verdict.judgement is not None:
        risk, cost = assess_release(policy, tables, (1, 2, 3)), measure_release(opened, tables)
        attack = attack_release(opened, tables, seed=seed)
        documents |= {"assess": risk.to_json(), "attack": attack.to_json(), "measure": cost.to_json()}
        grids += [_risks(risk), _outcome(attack), _costs(cost)]
        pictures = [draw_known_rows(risk)] if find_spec("altair") and find_spec("vl_convert") else []
    judged = verdict_of_tables(verdict, attack)
    page = _page(policy, verdict, judged, pictures, grids)
    return LinkedReport(page, documents, judged, verdict.holds, "".join(pictures))


def verdict_of_tables(verified: LinkedVerdict, attack: LinkedOutcome | None = None) -> Verdict:
    """Return the verdict on a release of several tables, from its verification and the attack on it, if it was run."""
    smallest = 0 if verified.judgement is None else verified.judgement.k
    figures = _figures(verified.people, smallest, holds=verified.holds)
    if attack is None:
        return verdict_of(figures)
    beyond = max(attack.risk - attack.baseline, 0.0)
    return verdict_of(figures, attacks=[AttackFigures(attack.attack, attack.succeeds, beyond)])


def verdict_of_certificate(certificate: Mapping[str, Any]) -> Verdict:
    """Return what a certificate tells by itself, before the release is verified once more and attacked."""
    found = _figures(certificate["people"], certificate["smallest_group"], holds=certificate["holds"])
    return verdict_of(found)


def _figures(people: int, smallest: int, *, holds: bool) -> Figures:
    return Figures("people", people, smallest, 0 if smallest > 1 else None, identifying=None, promise=holds)


def _page(
    policy: LinkedPolicy, verdict: LinkedVerdict, judged: Verdict, pictures: Sequence[str], grids: Sequence[Grid]
) -> str:
    words = "every check is satisfied" if verdict.holds else "NOT everything is satisfied"
    known = [
        f"{rows} row(s) of {name}" if rows != "all" else f"all rows of {name}"
        for name, rows in policy.knowledge.tables.items()
    ]
    parts = [
        f"<h1>Release of {len(policy.tables)} tables</h1>",
        f"<p><strong>{escape(judged.sentence)}</strong></p>",
        f"<p>{escape(policy.model.spec())}: {words}. Attackers know the quasi-identifiers of "
        f"{escape(policy.people.name)}{escape(', ' + ', '.join(known) if known else '')}, "
        f"{policy.knowledge.rows} rows together at most.</p>",
        *(f"<p>Assumed: {escape(each)}.</p>" for each in assumptions_of(policy)),
        *(f"<figure>{svg[svg.index('<svg') :]}</figure>" for svg in pictures),
        *map(grid_html, grids),
        "<p>Not promised: columns that are no quasi-identifiers may identify people who are known by them, and "
        "releases of the same people do not protect each other.</p>",
    ]
    head = f"<meta charset='utf-8'><title>Release of several tables</title><style>{STYLE}</style>"
    return f"<!DOCTYPE html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _checks(verdict: LinkedVerdict) -> Grid:
    rows = [(check.name, "yes" if check.holds else "NO", check.words) for check in verdict.checks]
    return grid("Verification", ("check", "satisfied", "found"), rows)


def _risks(found: LinkedAssessment) -> Grid:
    document = JsonValues("assess", found.to_json())
    rows = [
        (
            risk.table,
            str(risk.known),
            "yes" if risk.people_columns else "no",
            document.figure("risks", place, "share", words=lambda share: f"{share:.1%}", absent="too many to count"),
        )
        for place, risk in enumerate(found.risks)
    ]
    headings = ("table", "known rows", "people columns known", f"people below {found.k}")
    return grid("Risk by known rows", headings, rows, right=headings[-1:])


def _outcome(found: LinkedOutcome) -> Grid:
    document = JsonValues("attack", found.to_json())
    figures = ("attempts", "singled_out", "below_k", "smallest", "risk", "baseline", "control")
    rows = [(name.replace("_", " "), document.figure(name)) for name in figures]
    return grid("Attack by known rows", ("figure", "value"), rows, right=("value",))


def _costs(found: LinkedMeasurements) -> Grid:
    document = JsonValues("measure", found.to_json())
    rows = [
        (
            each.table,
            document.figure("tables", place, "rows"),
            document.figure("tables", place, "deleted", words=lambda share: f"{share:.1%}"),
            document.figure("tables", place, "loss"),
        )
        for place, each in enumerate(found.tables)
    ]
    headings = ("table", "rows", "deleted", "loss")
    return grid("Utility", headings, rows, right=headings[1:])
