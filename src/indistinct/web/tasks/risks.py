"""What remains of the risk: an assessment of the published file, and attacks on it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.document.blocks import Block, JsonValues, Notice, Picture, Section, separate_pictures
from indistinct.errors import IndistinctError, MissingExtraError
from indistinct.evaluation.assess.assess import assess
from indistinct.evaluation.assess.assess_document import risk_grid
from indistinct.evaluation.assess.membership import Membership, membership_by_kind
from indistinct.evaluation.attack.attack import SECONDS, attack_all
from indistinct.job.policy import Policy
from indistinct.release.opening import read_alike, read_release
from indistinct.release.published import Published
from indistinct.reporting import risk
from indistinct.reporting.column_sets import column_set_facts
from indistinct.reporting.facts import MAX_ROWS_FOR_MEMBERSHIP, Facts
from indistinct.reporting.subject import Subject
from indistinct.web.tasks.published import Files, certificate_in, original_of, published_files
from indistinct.web.tasks.treatments import find_treatments
from indistinct.web.worker import Desk

NO_POPULATION = (
    "No population is known: every population match is taken to be in the table itself. Give its size below."
)


def assess_release(desk: Desk, policy: Policy, files: Files, *, population_size: int | None = None) -> dict[str, Any]:
    """Return the risk of a release against its original: the figures of `indistinct assess`, and what to show of them.

    A size that is given takes the place of the policy's population.
    """
    desk.enter("reading")
    given = published_files(desk, policy, files)
    desk.report(0.2)
    desk.enter("assessing")
    assessed = assess(
        given,
        population_size=population_size,
        progress=lambda share: desk.report(0.2 + 0.5 * share),
    )
    assessment, figures = assessed.to_json(), assessed.figures
    desk.report(0.6)
    desk.enter("comparing coarser columns")
    treatments = find_treatments(desk, policy, files)
    desk.report(0.7)
    desk.enter("looking for members")
    members, why = _members(given)
    desk.enter("drawing")
    documents = {
        "assess": JsonValues("assess", assessment),
        "certificate": JsonValues("certificate", certificate_in(files)),
    }
    if members:
        found_members = {name: dict(each.to_json()) for name, each in members.items()}
        documents["membership"] = JsonValues("membership", found_members)
    reasons = {"population": NO_POPULATION, "membership": why}
    with suppress(IndistinctError):
        documents["unique_on_columns"] = JsonValues("unique_on_columns", column_set_facts(given))
    facts = Facts(Subject(given, policy), documents, reasons, membership=members)
    return {
        "found": assessment,
        "figures": figures,
        "treatments": treatments,
        "pictures": _pictures(facts),
        "sections": _sections(facts),
    }


def _pictures(facts: Facts) -> list[Picture]:
    """Return the first pictures of risk, without that of running shares."""
    try:
        drawn, _ = separate_pictures(risk.pictures_of_risk(facts))
    except MissingExtraError:
        return []
    return [each for each in drawn if not each.caption.startswith(risk.RUNNING)]


def _members(given: Published) -> tuple[Mapping[str, Membership], str]:
    """Return membership disclosure for each kind of tuples, or why there is none."""
    if given.raw is not None and given.raw.rows > MAX_ROWS_FOR_MEMBERSHIP:
        return (
            {},
            f"The table has more than {MAX_ROWS_FOR_MEMBERSHIP:,} rows: `indistinct measure` tells this in its time.",
        )
    try:
        return membership_by_kind(given), ""
    except IndistinctError as error:
        return {}, f"This could not be computed: {error.message}."


def _sections(facts: Facts) -> list[Section]:
    """Return the sections of the report on risk, without pictures if the extra is not installed."""
    sections = []
    for part in (
        risk.found_again,
        risk.thresholds,
        lambda facts: risk.attributes(facts, internal=True),
        risk.membership,
    ):
        try:
            section = part(facts)
            if part is risk.found_again:  # its pictures are looked at first
                section = replace(section, blocks=tuple(separate_pictures(section.blocks)[1]))
            sections.append(section)
        except MissingExtraError as error:
            blocks: list[Block] = [Notice(f"No pictures: {error.message}", "warning")]
            if part is risk.found_again:
                sections.append(
                    Section("risk", "Risk of re-identification", (risk_grid(facts.documents["assess"]), *blocks))
                )
    return sections


def attack_release(
    desk: Desk,
    policy: Policy,
    files: Files,
    *,
    attacks: Sequence[str] | None = None,
    seconds: float = SECONDS,
    beside: Mapping[str, Path] | None = None,
) -> dict[str, Any]:
    """Run attacks: return the figures of `indistinct attack`, and blocks to draw.

    `beside` are files that an attacker or a judge has too: `external`, `control`, `earlier`.
    """
    desk.enter("reading")
    given, original = published_files(desk, policy, files), original_of(desk, policy)
    known: dict[str, Any] = {
        name: read_alike(path, original) for name, path in (beside or {}).items() if name != "earlier"
    }
    if beside and "earlier" in beside:
        known["earlier"] = read_release(beside["earlier"], policy.schema, algorithm=policy.algorithm)
    desk.enter("attacking")
    outcomes = attack_all(given, attacks=attacks, seconds=seconds, progress=desk.report, **known)
    document = outcomes.to_json()
    facts = Facts(Subject(given, policy), {"attack": JsonValues("attack", document)})
    return {"found": document, "sections": [risk.attacks(facts, internal=True)]}
