"""The facts that readers of the data may know, for the external edition.

Sections only see the facts of their edition. Whatever a reader can count on the published file is kept: the risk of the
table alone, the numbers of values that it shows. About the original, and about people where several rows belong to one
person, only the certificate for others is used, which hides small counts and whatever two figures together would
reveal. Figures that compare with the original are rounded so coarsely that no step is smaller than the smallest count,
and are left out if any row was suppressed, because they would reveal the values of suppressed rows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, get_args

from indistinct.document.blocks import JsonValues, Notice, Section
from indistinct.errors import InputError, ParameterError, did_you_mean
from indistinct.evaluation.assess.assess import assess
from indistinct.evaluation.verdict import Figures, Verdict, subsets_promised, verdict_of
from indistinct.evaluation.verdict_line import Line
from indistinct.release.certificate import ALWAYS_SHOWN, FIGURES, SAMPLE_SIZE, SMALLEST_GROUPS, for_others
from indistinct.release.certificate import HIDDEN as NOT_TOLD
from indistinct.release.guarantee import failed_checks
from indistinct.release.published import Published
from indistinct.reporting.columns import AS_IT_IS, published_codes
from indistinct.reporting.facts import NOT_COUNTED, Facts
from indistinct.reporting.subject import Subject

Edition = Literal["internal", "external"]
EDITIONS: tuple[Edition, ...] = ("internal", "external")
WITHHELD = "This compares the release with its original, or with people: it is in the internal report only."
"""Why something is missing for readers; shown once at the end."""
NOT_TRIED = "No attack was tried for this edition: guesses are judged by the original, which was not at hand."
ROUNDING_STEP = 0.01
# Fields of a certificate that are not for readers: locations of files, random draws.
PRIVATE = ("seeded",)
# The field of an assessment that names classes.
NAMING = "worst"


def edition_of(name: str) -> Edition:
    """Return the edition of a name; raise `ParameterError` for one that is not known."""
    for edition in EDITIONS:
        if name == edition:
            return edition
    known = ", ".join(get_args(Edition))
    raise ParameterError(
        f"`edition` must be one of {known}; got {name!r}",
        hint=did_you_mean(str(name), EDITIONS) or "internal shows all",
    )


def for_readers(facts: Facts) -> Facts:
    """Return the facts for an external edition."""
    subject = facts.subject
    reasons = {name: _uncounted(reason) for name, reason in facts.reasons.items()}
    documents: dict[str, JsonValues] = {}
    certificate = _certificate(facts)
    if certificate is not None:
        documents["certificate"] = JsonValues("certificate", certificate)
    figures, risk = None, None
    try:
        figures, risk = _risk(subject)
    except (InputError, ParameterError) as error:
        reasons["assess"] = f"This could not be computed: {error.message}."
    verdict = _verdict_for_readers(facts, figures, certificate)
    if verdict is not None:
        documents["verdict"] = JsonValues("verdict", verdict.to_json())
    if risk is not None:
        documents["assess"] = JsonValues("assess", risk)
    elif subject.schema.person:
        reasons["assess"] = WITHHELD
    documents["columns"] = JsonValues("columns", _columns(facts))
    documents["suppression"] = JsonValues("suppression", {"starred": _at(facts, "suppression", "starred") or {}})
    coarse = _coarse(facts)
    if coarse is None:
        reasons["measure"] = WITHHELD
    else:
        documents["measure"] = JsonValues("measure", {"metrics": coarse})
    attacks = _attacks(facts)
    if attacks is not None:
        documents["attack"] = JsonValues("attack", attacks)
    elif subject.published.raw is None:
        reasons["attack"] = NOT_TRIED
    withheld = ("distributions", "query", "classify", "membership", "before", "population", "why", "subgroups")
    reasons |= dict.fromkeys(withheld, WITHHELD)
    return Facts(subject, documents, reasons)


def without_hollow(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Return the sections that have content."""
    nothing = Notice(WITHHELD)
    remaining = [replace(each, blocks=tuple(block for block in each.blocks if block != nothing)) for each in sections]
    return tuple(each for each in remaining if each.blocks)


def _uncounted(reason: str) -> str:
    """Return why something is missing, without counts: an error message may contain a number of rows."""
    return f"{reason.partition(':')[0].rstrip('.')}." if re.search(r"\d", reason) else reason


def _certificate(facts: Facts) -> dict[str, Any] | None:
    """Return the certificate for others; a certificate next to a file is one already."""
    document = facts.json("certificate")
    if document is None:
        return None
    if facts.certificate is None:
        certificate = _without_small(dict(document.content), facts.subject.smallest)
    else:
        certificate = for_others(facts.certificate, smallest=facts.subject.smallest)
        beside = facts.subject.file_certificate
        certificate |= {key: beside[key] for key in NOT_COUNTED if beside.get(key)}
        if beside.get("overlap") and not certificate.get("overlap"):
            certificate["overlap"] = beside["overlap"]
    certificate |= (
        {"overlap": _overlap(certificate["overlap"], facts.subject.smallest)} if certificate.get("overlap") else {}
    )
    return {key: value for key, value in certificate.items() if key not in PRIVATE}


def _overlap(overlap: Mapping[str, Any], smallest: int) -> dict[str, Any]:
    """Return what earlier releases reveal together, without counts of people if one of them is small."""
    people = [path[1] for path in FIGURES if path[0] == "overlap"]
    counts = [count for key in people if (count := overlap.get(key))]
    small = any(count < smallest for count in counts)
    small = small or any(0 < abs(one - other) < smallest for one, other in combinations(counts, 2))
    groups = [key for _, key in SMALLEST_GROUPS if 0 < (overlap.get(key) or 0) < smallest]
    hidden = [key for key in people if overlap.get(key)] if small else []
    return {**overlap, **dict.fromkeys((*hidden, *groups))}


def _without_small(certificate: dict[str, Any], smallest: int) -> dict[str, Any]:
    """Return a certificate read from a file without its counts of the original, if these reveal a small one.

    The writer of the certificate may have hidden less than this edition must.
    """
    people = certificate.get("people") or {}
    counts = [certificate.get("original_rows"), certificate.get("suppressed_rows"), *people.values()]
    figures = [certificate.get("rows"), *counts]
    known = [count for count in figures if isinstance(count, int) and count]
    small = any(count < smallest for count in known[1:])
    if not small and not any(0 < abs(one - other) < smallest for one, other in combinations(known, 2)):
        return certificate
    hidden = [
        *(certificate.get("hidden") or ()),
        "original_rows",
        "suppressed_rows",
        *(f"people.{key}" for key in people),
    ]
    nobody = dict.fromkeys(people) if people else None
    warnings = [warning for warning in certificate.get("warnings") or () if not re.search(r"\d", str(warning))]
    verdicts = [_verdict(each) for each in certificate.get("verdicts") or ()]
    kept: dict[str, Any] = {"original_rows": None, "suppressed_rows": None, "people": nobody, "warnings": warnings}
    kept |= {"verdicts": verdicts}
    return certificate | kept | {"hidden": list(dict.fromkeys(hidden)), "smallest_count": smallest}


def _verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict without figures that need the original: achieved values except k and l, and the sample."""
    achieved = {key: value if key in ALWAYS_SHOWN else None for key, value in (verdict.get("achieved") or {}).items()}
    model = SAMPLE_SIZE.sub(NOT_TOLD, str(verdict.get("model")))
    return {**verdict, "model": model, "achieved": achieved} | (
        {"violating_rows": None} if verdict.get("needs_original") else {}
    )


def _verdict_for_readers(
    facts: Facts, figures: Figures | None, certificate: Mapping[str, Any] | None
) -> Verdict | None:
    """Return the verdict on the release, without figures that readers cannot count on the file.

    Every line of the internal edition is there with its state. Its numbers are left out unless readers count the same
    on the file, with the guarantee of the certificate for others.
    """
    holds = None if certificate is None else certificate.get("holds")
    models = [] if certificate is None else [str(each["model"]) for each in certificate.get("verdicts") or ()]
    checks = () if certificate is None else failed_checks(certificate.get("verdicts") or ())
    promise, counted = holds if isinstance(holds, bool) else None, None
    if figures is not None:
        promised = replace(figures, promise=promise, subsets=subsets_promised(models), checks=checks)
        counted = verdict_of(promised, facts.subject.profile)
    if facts.verdict is None:
        return counted
    numbers = {} if counted is None else {_subject_of(line): line.numbers for line in counted.lines}
    return replace(facts.verdict, lines=tuple(_without_hidden(line, numbers) for line in facts.verdict.lines))


def _subject_of(line: Line) -> tuple[Any, ...]:
    """Return the subject of a line, by which lines of two verdicts are matched."""
    return line.kind, line.columns, line.attack, line.figure, "with_class" in line.numbers


def _without_hidden(line: Line, shown: Mapping[tuple[Any, ...], Mapping[str, float]]) -> Line:
    """Return a line without numbers that readers cannot count themselves."""
    if shown.get(_subject_of(line)) == line.numbers:
        return line
    return replace(line, numbers={key: value for key, value in line.numbers.items() if key in NOT_COUNTED_ON_DATA})


NOT_COUNTED_ON_DATA = ("limit", "with_class", "in_buckets", "left_open", "tried", "left")
"""Numbers of a verdict's lines that are not counted on data: limits of a profile, and the subject of a line."""


def _risk(subject: Subject) -> tuple[Figures, dict[str, Any] | None]:
    """Return the figures and the risk as a reader counts them on the file.

    Where people have several rows, classes do not count people, so only the figures of columns remain.
    """
    given = subject.published
    own = given.roles if subject.structure.whole_rows else given.schema
    roles = replace(own, identifiers=(), person=())
    known = assess(Published(given.tables, roles))
    if subject.schema.person:
        return replace(known.figures, unit="people", members=0, own_values={}), None
    figures = known.to_json()
    columns = {name: {k: v for k, v in each.items() if k != NAMING} for name, each in figures["sensitive"].items()}
    kept = {key: value for key, value in figures.items() if key not in ("columns", "before", "journalist", "verdict")}
    assessment = {**kept, "sensitive": columns, "before": None, "notes": subject.notes(figures["notes"], roles)}
    return known.figures, assessment


def _columns(facts: Facts) -> dict[str, Any]:
    """Return what was done to columns, without figures counted on the original.

    Labels of a statistics program are kept for published columns, and for the codes that these show.
    """
    columns, subject = facts.json("columns"), facts.subject
    keys, kept = ("role", "reason", "transformation", "after"), {}
    for name, each in ({} if columns is None else columns.content).items():
        published = name in subject.schema.published
        changed = name not in subject.schema.quasi and each["transformation"] != AS_IT_IS
        codes = published_codes(subject, name, each["codes"]) if published and not changed else {}
        labels = {"label": each["label"] if published else None, "codes": codes}
        kept[name] = {key: each[key] for key in keys} | labels
    return kept


def _coarse(facts: Facts) -> dict[str, float] | None:
    """Return shares of lost detail in whole percent, where that reveals nothing about single people."""
    certificate, metrics = facts.certificate, _at(facts, "measure", "metrics")
    if certificate is None or metrics is None or certificate.suppressed_rows or certificate.rows < _enough(facts):
        return None
    shares = {name: metrics[name] for name in ("loss", "gcp", "precision") if metrics.get(name) is not None}
    return {name: round(round(value / ROUNDING_STEP) * ROUNDING_STEP, 2) for name, value in shares.items()} or None


def _enough(facts: Facts) -> int:
    """Return the number of rows whose hundredth part is the smallest count of people."""
    return round(max(facts.subject.smallest, 1) / ROUNDING_STEP)


def _attacks(facts: Facts) -> dict[str, Any] | None:
    """Return which attacks were tried, and whether any was better than chance."""
    attacks = facts.json("attack")
    if attacks is None:
        return None
    tried = sorted(each["attack"] for each in attacks.at("outcomes"))
    return {"tried": tried, "succeeds": attacks.at("succeeds")}


def _at(facts: Facts, name: str, *path: str) -> Any:
    document: JsonValues | None = facts.json(name)
    return None if document is None else document.at(*path)


def plain_documents(facts: Facts) -> Mapping[str, Mapping[str, Any]]:
    """Return the documents of an edition as plain JSON values."""
    return {name: document.content for name, document in facts.documents.items()}
