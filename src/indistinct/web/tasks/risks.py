"""What remains of the risk: an assessment of the published file, and attacks on it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indistinct.assessing import assess
from indistinct.attacking import SECONDS, attack_all
from indistinct.errors import IndistinctError, MissingExtraError
from indistinct.markup import Document
from indistinct.policy import Policy
from indistinct.release.published import BucketTable
from indistinct.release.reading import read_alike, read_release
from indistinct.reporting import risk
from indistinct.reporting.content import Block, Notice, Section
from indistinct.reporting.facts import LARGEST_MEMBERSHIP, Facts
from indistinct.reporting.subject import Beside, subject_of
from indistinct.risks.membership import Membership
from indistinct.risks.membership_of_release import membership_of
from indistinct.risks.risk_grids import risk_grid
from indistinct.web.tasks.published import Compared, Files, algorithm_told, certificate_in, compared
from indistinct.web.worker import Desk

NO_POPULATION = "No population is known: every look-alike is taken to be in the table itself. Give its size above."


def assess_release(
    desk: Desk, policy: Policy, files: Files, *, population_size: int | None = None, profile: str | None = None
) -> dict[str, Any]:
    """Return the risk of a release beside its original: the figures of `indistinct assess`, and what to show of them.

    A size that is given takes the place of the policy's population.
    """
    desk.enter("reading")
    given = compared(desk, policy, files)
    desk.report(0.2)
    desk.enter("assessing")
    found = assess(
        given.published,
        policy.schema,
        original=given.original,
        population=None if population_size is not None else given.population,
        population_size=population_size,
        profile=profile,
        hierarchies=policy.used_hierarchies,
        recoding=files["recoding"],
        progress=lambda share: desk.report(0.2 + 0.5 * share),
    ).to_json()
    desk.report(0.7)
    desk.enter("looking for members")
    members, why = _members(given, policy)
    desk.enter("drawing")
    documents = {"assess": Document("assess", found), "certificate": Document("certificate", certificate_in(files))}
    if members:
        documents["membership"] = Document("membership", {name: dict(each.to_json()) for name, each in members.items()})
    facts = _facts(given, policy, documents, {"population": NO_POPULATION, "membership": why}, members)
    return {"found": found, "sections": _sections(facts)}


def _members(given: Compared, policy: Policy) -> tuple[Mapping[str, Membership], str]:
    """Return membership disclosure for each kind of tuples, or why there is none."""
    kinds: dict[str, dict[str, Any]] = {"quasi-identifiers": {"hierarchies": policy.used_hierarchies}}
    if isinstance(given.published, BucketTable):
        kinds = {"all attributes": {"quasi_only": False}, "without sensitive ones": {"quasi_only": True}}
    if given.original.rows > LARGEST_MEMBERSHIP:
        return {}, f"The table has more than {LARGEST_MEMBERSHIP:,} rows: `indistinct measure` tells this in its time."
    try:
        return {
            kind: membership_of(given.published, policy.schema, original=given.original, **options)
            for kind, options in kinds.items()
        }, ""
    except IndistinctError as error:
        return {}, f"This could not be computed: {error.message}."


def _facts(
    given: Compared,
    policy: Policy,
    documents: Mapping[str, Document],
    reasons: Mapping[str, str],
    members: Mapping[str, Membership],
) -> Facts:
    subject = subject_of(given.published, policy.schema, Beside(policy=policy, original=given.original))
    return Facts(subject, documents, reasons, membership=members)


def _sections(facts: Facts) -> list[Section]:
    """Return what the report says of risk; without the packages that draw there are no pictures."""
    sections = []
    for part in (
        risk.found_again,
        risk.thresholds,
        lambda facts: risk.attributes(facts, internal=True),
        risk.membership,
    ):
        try:
            sections.append(part(facts))
        except MissingExtraError as error:
            blocks: list[Block] = [Notice(f"No pictures: {error.message}", "warning")]
            if part is risk.found_again:
                sections.append(Section("risk", "Risk of being found", (risk_grid(facts.documents["assess"]), *blocks)))
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
    """Return what attacks achieve: the figures of `indistinct attack`, and what to show of them.

    `beside` are files that an attacker or a judge has too: `external`, `control`, `earlier`.
    """
    desk.enter("reading")
    given = compared(desk, policy, files)
    known: dict[str, Any] = {
        name: read_alike(path, given.original) for name, path in (beside or {}).items() if name != "earlier"
    }
    if beside and "earlier" in beside:
        known["earlier"] = read_release(beside["earlier"], policy.schema, algorithm=policy.algorithm)
    desk.enter("attacking")
    outcomes = attack_all(
        given.published,
        policy.schema,
        attacks=attacks,
        seconds=seconds,
        progress=desk.report,
        original=given.original,
        hierarchies=policy.used_hierarchies,
        model=policy.model,
        algorithm=algorithm_told(policy),
        **known,
    )
    found = outcomes.to_json()
    facts = _facts(given, policy, {"attack": Document("attack", found)}, {}, {})
    return {"found": found, "sections": [risk.attacks(facts, internal=True)]}
