"""The last sections of a report: why this solution, earlier releases, known limits, glossary."""

from collections.abc import Iterator
from typing import Any

from indistinct.algorithms.auto import Auto
from indistinct.document.blocks import Block, Listing, Notice, Paragraph, Section, Terms, grid
from indistinct.reporting.facts import Facts

GLOSSARY = {
    "attacker": "a person who tries to learn something about a person from the release and from other knowledge",
    "bucket": "rows of a release among which the links between columns are broken",
    "certificate": "what was verified on the published table",
    "class": "the published rows that agree in all quasi-identifiers",
    "homogeneous": "of a class: all of its members have the same sensitive value",
    "identifier": "a column that names a person; dropped, or shown as a pseudonym",
    "insensitive": "a column that is not generalized: unmodified or masked; rows that are unique on it are counted",
    "journalist": "an attacker who does not know who is in the table",
    "k": "how many rows, or people, a class has at least",
    "l": "how many different sensitive values a class has at least",
    "loss": "the mean share of detail that a cell lost: 0 is untouched, 1 all gone",
    "marketer": "an attacker who links the whole table and counts hits",
    "profile": "the risk that is acceptable for a way of giving data away: public, licensed or internal",
    "privacy guarantee": "what a privacy model guarantees of the published table, counted on it",
    "prosecutor": "an attacker who knows that a person is in the table",
    "quasi-identifier": "a column that others may know about a person; recoded",
    "recoding": "what is published for each combination of quasi-identifier values",
    "sensitive": "a column whose values must not be learned about a person",
    "suppression": "not publishing a row, or publishing * in place of a value",
    "t": "how far the sensitive values of a class are from those of all, at most",
    "total variation": "the largest error of the share of any set of values",
    "tuple": "a combination of values of several columns",
    "unique": "alone in a class",
    "β, δ": "how much more likely a class makes a sensitive value than it is among all",
}
HISTORY = (
    "A history has the classes of a person, release by release, and none where the person is missing. "
    "Values are not compared: guarantees about sensitive values cover the people of this release alone."
)


def why(facts: Facts, *, internal: bool) -> Section:
    """Return why this solution was chosen: what was tried, and what limits it."""
    blocks: list[Block] = []
    if not internal:
        blocks.append(Notice(facts.why_not("why")))
    elif facts.explanation is None:
        blocks.append(_explain_no_choice(facts))
    else:
        blocks.append(facts.explanation.attempt_grid())
        blocks.append(Listing(facts.explanation.sentences()))
    return Section("why", "Why this solution", tuple(blocks))


def _explain_no_choice(facts: Facts) -> Block:
    """Return why there is no choice to explain: the algorithm was named, or this is not the run that chose it."""
    subject, certificate = facts.subject, facts.json("certificate")
    if subject.applied:
        return Paragraph("A stored recoding was applied: nothing was searched for this table.")
    made = str((certificate and certificate.at("algorithm")) or "an algorithm that is not known")
    policy = subject.policy
    chosen = policy is not None and policy.algorithm.name == Auto.name
    if subject.release is not None or (policy is not None and not chosen):
        by = "The policy names the algorithm" if policy is not None and not chosen else "The algorithm was named"
        return Paragraph(f"{by}: {made}. No other was tried, so that there is no choice to explain.")
    words = f"The release was made by {made}. What else was tried is known only to the run that made it"
    if policy is not None and policy.output.report is not None:
        return Notice(f"{words}: its report, {policy.output.report.name}, tells it.")
    return Notice(f"{words}: had it chosen by itself, a report that it writes (`report` in [output]) would tell it.")


def earlier(facts: Facts) -> Section:
    """Return what this release and earlier ones reveal together."""
    certificate = facts.json("certificate")
    overlap = certificate and certificate.at("overlap")
    if certificate is None or not overlap:
        message = "No earlier release was compared with this one. A ledger remembers releases of the same people."
        return Section("earlier", "Earlier releases", (Notice(message),))
    lines = {
        "releases": "earlier releases that were compared",
        "k": "people who must share a history, by the largest k",
        "shared_people": "people who are in this release and in an earlier one",
        "smallest_history": "people who share a history of classes, at least",
        "people_below": "people who share a history with fewer than k",
        "people_joined": "of them, people who are in this release alone",
        "people_left": "of them, people who are in earlier releases alone",
        "people_before": "people who shared a history with fewer than k before, and are not in this release",
    }
    rows = [(words, certificate.figure("overlap", key, absent="hidden")) for key, words in lines.items()]
    table = grid("This release and earlier ones together", ("counted", "number"), rows, right=("number",))
    return Section("earlier", "Earlier releases", (table, Paragraph(HISTORY)))


def limits(facts: Facts) -> Section:
    """Return what is not guaranteed."""
    return Section("limits", "Known limits", (Listing(tuple(_limits(facts))),))


def _limits(facts: Facts) -> Iterator[str]:
    """Yield the limits of the guarantee in sentences."""
    schema, certificate = facts.subject.schema, facts.json("certificate")
    others = ", ".join((*schema.sensitive, *schema.insensitive))
    beyond = (
        f" An attacker who knows another published column of a person ({others}) may find the row." if others else ""
    )
    yield f"The guarantee covers the columns that were named quasi-identifiers.{beyond}"
    models = " ".join(str(verdict["model"]) for verdict in (certificate and certificate.at("verdicts")) or ())
    if schema.sensitive and not any(
        name in models for name in ("diversity", "diverse", "closeness", "beta", "delta-disclosure", "alpha")
    ):
        yield "No guarantee covers sensitive values: if all of a class share one, it is disclosed."
    if schema.sensitive:
        yield "Sensitive values are not recoded; a value that occurs once may name its owner."
    yield "It may be learned that a person is in the table, or is not: no model here prevents that."
    yield "Releases about the same people may tell together what each hides alone, also releases by others."
    yield "Algorithms are public and recode no more than needed, which itself tells something (minimality)."
    yield from facts.subject.structure.limits
    yield "An attack that fails here shows that this attack fails, not that none succeeds."
    yield "This is no differential privacy: the guarantee depends on what others know."
    if facts.reasons.get("why"):
        yield "Comparisons of the release with its original are in the internal report only."


def glossary(_facts: Facts) -> Section:
    """Return the glossary."""
    pairs: Any = tuple(GLOSSARY.items())
    return Section("glossary", "Words", (Terms(pairs),))
