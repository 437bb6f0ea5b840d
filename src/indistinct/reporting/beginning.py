"""The first sections of a report: the release, its purpose, and what was done to each column."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

import indistinct
from indistinct.document.blocks import (
    Block,
    Cell,
    Code,
    JsonValues,
    Listing,
    Notice,
    Paragraph,
    Section,
    Terms,
    Tone,
    grid,
    sentence,
)
from indistinct.evaluation.assess.profiles import limits_in_words
from indistinct.figures import count_unit, number, percent
from indistinct.frequencies.structure import unit_of, units_of
from indistinct.job.as_command import (
    Flag,
    hierarchy_flags,
    pseudonym_flags,
    role_flags,
    suppression_flags,
    transformation_flags,
    words_of_unsaid,
    write_flags,
)
from indistinct.job.policy.writing import policy_to_toml
from indistinct.models.registry import MODELS, parse_model_or_none
from indistinct.models.words import promise_for_one, words_of
from indistinct.recoding.transformations import parse_transformation
from indistinct.release.certificate import counted_grid, verdict_grid
from indistinct.release.guarantee import CHECKED, failed_checks, guarantee_sentence
from indistinct.reporting.facts import Facts
from indistinct.reporting.risk_bars import risk_bars
from indistinct.reporting.subject import Subject, file_name_of
from indistinct.text_form import arguments_of, name_of, spell

MAX_POLICY = 20_000
"""Number of characters of a policy that are shown; a longer one is identified by its digest."""
ROLES = {"quasi": "quasi-identifier"}
"""How roles are called where their own word is none."""
STATED = {
    "purpose": "what the release is for",
    "recipient": "who gets it, and under which terms",
    "operator": "who made it",
    "reviewer": "who reviewed it",
    "reassess": "when the risk is looked at again",
}

# Where a parameter begins in a specification.
PARAMETER = re.compile(r"[:,](?=[a-z_]+=)")

# What k = 1 leaves of guarantees about classes: no class is empty.
OF_ONE = {"k-anonymity": "No protection", "k-map": "No protection", "alpha-k": "No value is too likely"}


def verdict(facts: Facts, *, internal: bool) -> Section:
    """Return the verdict with the figures on which it is based, and what the release is for and who gets it.

    Those responsible for the release sign below.
    """
    stated = facts.subject.statement
    about = [(word, text) for word, text in (("purpose", stated.purpose), ("recipient", stated.recipient)) if text]
    signed: list[tuple[str, Cell | None]] = [
        ("operator", stated.operator),
        ("reviewer", stated.reviewer),
        ("reviewed on", None),
        ("risk to be assessed again on", stated.reassess),
    ]
    if not internal:  # external readers have nothing to sign
        signed = [(word, text) for word, text in signed if text]
    terms = [Terms(pairs) for pairs in (_key_figures(facts), (*about, *signed)) if pairs]
    return Section("verdict", "Verdict", (*_open(facts), *risk_bars(facts.subject, facts.json("assess")), *terms))


def _key_figures(facts: Facts) -> tuple[tuple[str, Cell | None], ...]:
    """Return the key figures: rows and classes, risk and cost."""
    certificate, risk, cost = (facts.json(name) for name in ("certificate", "assess", "measure"))
    figures: list[tuple[str, Cell | None]] = []
    if certificate is not None:
        figures.append(("published rows", certificate.figure("rows")))
        figures.append((units_of(certificate.at("form")), _groups_in_words(certificate)))
    # In buckets quasi-identifiers are unmodified: a bucket hides values, not the row of a person.
    if risk is not None and facts.subject.structure.hides_rows and risk.at("prosecutor", "highest") is not None:
        figures.append(("highest risk of re-identification", risk.figure("prosecutor", "highest", words=percent)))
    if cost is not None and cost.at("metrics", "loss") is not None:
        figures.append(("detail lost", cost.figure("metrics", "loss", words=percent)))
    return tuple(figures)


def _groups_in_words(certificate: JsonValues) -> str:
    unit = "people" if certificate.at("people") else "rows"
    smallest = count_unit(certificate.at("smallest_class") or 0, unit)
    return f"{number(certificate.at('classes'))}; the smallest has {smallest}"


def summary(facts: Facts) -> Section:
    """Return the guarantees, whether they are satisfied, and the counts."""
    certificate = facts.json("certificate")
    blocks: list[Block] = []
    if certificate is None:
        blocks.append(Notice(facts.why_not("certificate")))
    else:
        first, *others = _verdict(facts, certificate)
        blocks += [first, *_promises(facts, certificate), *others]
        blocks += [Notice(sentence(str(warning)), "warning") for warning in certificate.at("warnings") or ()]
        if certificate.at("hidden"):
            count = number(certificate.at("smallest_count") or 0)
            blocks.append(Paragraph(f"Counts below {count}, and figures that tell one, are hidden."))
    return Section("summary", "Privacy guarantee", tuple(blocks))


def _promises(facts: Facts, certificate: JsonValues) -> list[Block]:
    """Return what each guarantee means for one person."""
    models = [parse_model_or_none(str(each["model"])) for each in certificate.at("verdicts") or ()]
    sentences = tuple(promise_for_one(model, facts.subject.schema) for model in models if model is not None)
    return [Listing(sentences)] if sentences else []


def _open(facts: Facts) -> list[Block]:
    """Return the verdict: what is open, what is satisfied, and what was not checked."""
    verdict = facts.json("verdict")
    if verdict is None:
        return [Notice(f"There is no verdict. {facts.why_not('verdict')}")]
    tone: Tone = verdict.at("tone")
    blocks: list[Block] = [Notice(str(verdict.at("sentence")), tone), Listing(tuple(verdict.at("sentences")))]
    profile = facts.subject.profile
    if profile is not None:
        limits = "; ".join(f"{words}: {limit}" for words, limit, _ in limits_in_words(profile))
        blocks.append(Paragraph(f"The profile {profile.spec()} allows at most: {limits}."))
    return blocks


def _verdict(facts: Facts, certificate: JsonValues) -> list[Block]:
    """Return whether guarantees are satisfied, and who counted.

    This report, or the writer of the file's certificate.
    """
    holds, not_here = bool(certificate.at("holds")), facts.reasons.get("certificate")
    if not_here is not None:
        words = (
            "The certificate of the file says that the privacy guarantee is satisfied; this report did not count it."
        )
        words = words if holds else "The certificate of the file says that the privacy guarantee is NOT satisfied."
        caption = "Privacy models, as the certificate of the file says"
        table = verdict_grid(certificate, caption=caption, spell=promise_in_words)
        return [Notice(words, "warning" if holds else "bad"), Notice(not_here), table, counted_grid(certificate)]
    by = "in people, by what is published of their rows" if certificate.at("people") else "on the published table"
    broken = guarantee_sentence(holds=holds, checks=failed_checks(certificate.at("verdicts")))
    words = f"The privacy guarantee is satisfied, counted {by}." if holds else broken
    verdict = facts.json("verdict")
    # Nothing is shown as good next to something that is open.
    clear = verdict is not None and not any(line["state"] in ("failed", "warning") for line in verdict.at("lines"))
    tone: Tone = ("good" if clear else "warning") if holds else "bad"
    return [Notice(words, tone), verdict_grid(certificate, spell=promise_in_words), counted_grid(certificate)]


def identity(facts: Facts, *, made: str, policy_digest: str | None, internal: bool) -> Section:
    """Return what identifies the release: digests, versions and settings."""
    subject, certificate = facts.subject, facts.json("certificate")
    name = file_name_of(subject)
    pairs: list[tuple[str, Cell | None]] = [
        ("release", name or "a table in memory, not written yet"),
        ("SHA-256 of the release", _digest(facts)),
        ("made by", f"indistinct {(certificate and certificate.at('version')) or indistinct.__version__}"),
        ("algorithm", _algorithm(facts)),
        ("SHA-256 of the recoding", (certificate and certificate.at("recoding_digest")) or "not known"),
        ("SHA-256 of the input's schema", subject.schema_digest()),
        ("SHA-256 of the policy", policy_digest or "no policy was given"),
        ("report made on", made),
    ]
    others = (certificate and certificate.at("other_digests")) or {}
    pairs += [(f"SHA-256 of the table of {table} values", digest) for table, digest in others.items()]
    blocks: list[Block] = [Terms(tuple(pairs))]
    if internal:
        blocks += _again(subject, name)
    return Section("identity", "Which release this is", tuple(blocks))


def _digest(facts: Facts) -> str:
    certificate = facts.json("certificate")
    digest = facts.subject.file_certificate.get("output_digest") or (certificate and certificate.at("output_digest"))
    return str(digest or "not known: it has no certificate")


def _algorithm(facts: Facts) -> str:
    certificate = facts.json("certificate")
    named = certificate and certificate.at("algorithm")
    return str(named or "not known")


def _again(subject: Subject, name: str | None) -> list[Block]:
    """Return the command and the policy that make the release again."""
    policy = subject.policy
    if policy is None:
        return _by_flags(subject, name)
    policy_file, written = quote(policy.name or "policy.toml"), quote(name or "release.parquet")
    usual = "ORIGINAL" if policy.input.database else quote(str(policy.input.path))
    raw = subject.published.raw
    path = None if raw is None else raw.path
    other = None if path is None or policy.input.database or path.name == Path(policy.input.path).name else path.name
    read = quote(other) if other else usual
    flag = f" --input {read}" if other else ""
    flags = "".join(f" {each}" for each in write_flags(pseudonym_flags(policy.pseudonyms)))
    making = f"apply RECODING {read}{flags}" if subject.applied else f"anonymize {policy_file}{flag}"
    lines = (
        f"indistinct {making} -o {written}",
        f"indistinct report {written} --policy {policy_file} --original {read} -o report.html",
    )
    text = policy_to_toml(policy)
    excerpt = text if len(text) <= MAX_POLICY else text[:MAX_POLICY] + "\n… the rest is in the policy itself"
    caption = "The policy" if policy.name else "The policy, which was in no file: save it as policy.toml"
    return [Code("To make it again", "\n".join(lines)), Code(caption, excerpt)]


def _by_flags(subject: Subject, name: str | None) -> list[Block]:
    """Return the command that makes a release without a policy again, as far as known."""
    flags, written = flags_of(subject), quote(name or "release.parquet")
    lines = (
        f"indistinct anonymize ORIGINAL {' '.join(flags.making)} -o {written}",
        f"indistinct report {written} {' '.join(flags.judging)} --original ORIGINAL -o report.html",
    )
    blocks: list[Block] = [Code("To make it again; no policy was given, so by flags", "\n".join(lines))]
    return [*blocks, Notice(f"Not known here: {'; '.join(flags.missing)}.")] if flags.missing else blocks


def purpose(facts: Facts, *, internal: bool) -> Section:
    """Return the purpose and the recipients of the release, and the assumed attackers."""
    stated = facts.subject.statement
    blocks: list[Block] = []
    pairs = [(key, getattr(stated, key)) for key in ("purpose", "recipient") if getattr(stated, key)]
    if pairs:
        blocks.append(Terms(tuple(pairs)))
    missing = [f"{key} ({words})" for key, words in STATED.items() if not getattr(stated, key)]
    if missing:
        where = " The table [about] of a policy holds them." if internal else ""
        blocks.append(Notice(f"Not stated: {'; '.join(missing)}.{where}"))
    blocks += [Paragraph("Attackers that are considered:"), Listing((*_list_assumed(facts), *stated.assumed))]
    blocks += [
        Paragraph("Attackers that are not considered:"),
        Listing((*_list_not_assumed(facts), *stated.not_assumed)),
    ]
    return Section("purpose", "Purpose, recipient, attackers", tuple(blocks))


def _list_assumed(facts: Facts) -> tuple[str, ...]:
    """Return the attackers against whom the release is protected."""
    schema, certificate = facts.subject.schema, facts.json("certificate")
    known = ", ".join(schema.quasi)
    people = "person" if not schema.person else "person with several rows"
    groups = unit_of(None if certificate is None else certificate.at("form"))
    attackers = [
        f"an attacker who knows that a {people} is in the table, and all of: {known} (prosecutor)",
        f"an attacker who knows the same, but not whether the person is in the table (journalist): no safer than the "
        f"prosecutor's {groups} makes it, unless a population is known",
        "an attacker who links the whole table with a register and counts how many are right (marketer)",
    ]
    if schema.insensitive:
        attackers.append(
            f"an attacker who knows one or two of the columns that are not recoded: {', '.join(schema.insensitive)}"
        )
    if schema.sensitive:
        attackers.append(f"an attacker who finds the {groups} of a person and reads off {', '.join(schema.sensitive)}")
    return tuple(attackers)


def _list_not_assumed(facts: Facts) -> tuple[str, ...]:
    """Return the attackers against whom the release is not protected."""
    schema, certificate = facts.subject.schema, facts.json("certificate")
    attackers = []
    if schema.insensitive:
        attackers.append(
            f"an attacker who knows more than two of {', '.join(schema.insensitive)} of a person, or quasi-identifiers "
            "as well: declared insensitive"
        )
    if schema.sensitive:
        attackers.append("an attacker who knows sensitive values of many others in the table, or rules them out")
    if not (certificate and certificate.at("overlap")):
        attackers.append("an attacker who holds another release about the same people: none was compared with this one")
    attackers += [
        "an attacker who has the original, the recoding, or the machine that this was made on",
        "an attacker who has whatever will be published about these people later",
    ]
    return tuple(attackers)


def columns(facts: Facts, *, internal: bool) -> Section:
    """Return for every column its role with the reason, what was done to it, and its loss."""
    facts_of_columns = facts.json("columns")
    rows: list[tuple[Cell, ...]] = []
    reasons = any(each.get("reason") for each in (facts_of_columns.content if facts_of_columns else {}).values())
    for name in {} if facts_of_columns is None else facts_of_columns.content:
        each: list[Cell] = [name, ROLES.get(role := _text(facts_of_columns, name, "role"), role)]
        if reasons:
            each.append(_text(facts_of_columns, name, "reason", "not stated"))
        each.append(_text(facts_of_columns, name, "transformation"))
        if internal:
            each.append(facts_of_columns.figure(name, "before") if facts_of_columns else "–")
        each.append(facts_of_columns.figure(name, "after") if facts_of_columns else "–")
        if internal:
            each.append(facts_of_columns.figure(name, "loss", words=percent) if facts_of_columns else "–")
        rows.append(tuple(each))
    counted = ("values before", "values after", "loss") if internal else ("values in the release",)
    headings = ("column", "role", *(("why",) if reasons else ()), "what was done", *counted)
    blocks: list[Block] = [grid("Columns of the original", headings, rows, right=counted)]
    called = labelled_columns({} if facts_of_columns is None else facts_of_columns.content)
    if called:
        blocks.append(grid("What columns and codes are called", ("column", "label", "codes"), called))
    if internal and not any(
        each.get("before") for each in (facts_of_columns.content if facts_of_columns else {}).values()
    ):
        blocks.append(Notice(facts.reasons.get("before", "The values of the original were not counted.")))
    unknown = [name for name in facts.subject.published.main.columns if name not in _roles(facts)]
    added = facts.subject.structure.added_columns
    if added:
        blocks.append(Paragraph("The column `bucket` was added: rows with the same number are in one bucket."))
    unknown = [name for name in unknown if name not in (*added, *facts.subject.pseudonyms)]
    if unknown:
        blocks.append(Notice(f"Columns that were added or have no role: {', '.join(unknown)}", "warning"))
    return Section("columns", "Columns", tuple(blocks))


def labelled_columns(values: Mapping[str, Any]) -> list[tuple[Cell, ...]]:
    """Return the labels of columns and codes of a statistics program, for the columns that have any."""
    return [
        (name, each.get("label") or "–", ", ".join(f"{code} = {label}" for code, label in each["codes"].items()) or "–")
        for name, each in values.items()
        if each.get("label") or each.get("codes")
    ]


def _roles(facts: Facts) -> tuple[str, ...]:
    return facts.subject.published.roles.columns


def _text(found: Any, name: str, key: str, absent: str = "–") -> str:
    return str((found and found.at(name, key)) or absent)


@dataclass(frozen=True, slots=True)
class FlagsOfRelease:
    """Shell flags: those of `anonymize`, those of commands that assess a file, and notes on what no flag expresses."""

    making: tuple[str, ...]
    judging: tuple[str, ...]
    missing: tuple[str, ...]


def flags_of(subject: Subject) -> FlagsOfRelease:
    """Return the flags that make a release again."""
    model, recoding = subject.published.promise, subject.published.recoding
    declared = subject.declared if isinstance(subject.declared, Mapping) else {}
    transformations = {name: parse_transformation(spec) for name, spec in subject.transformations.items()}
    both = [
        *role_flags(subject.schema),
        *hierarchy_flags(subject.published.used_hierarchies, same_values=True),
        # The roles decide again whether a model counts rows or people.
        *(() if model is None else (("--model", part.spec()) for part in model.parts())),
        *transformation_flags(transformations),
        *pseudonym_flags(declared),
    ]
    algorithm = _algorithm_flags(subject)
    judging = [*both, *(algorithm if subject.structure.told_by_algorithm else [])]
    dropped = () if recoding is None else suppression_flags(recoding.budget)
    drawn = subject.file_certificate.get("sample")
    making = [*both, *algorithm, *dropped, *([("--sample", repr(drawn))] if drawn else [])]
    missing = {
        "the model": model is None,
        "the algorithm": not algorithm,
        **{f"the key or the choice of the pseudonyms of {name}": name not in declared for name in subject.pseudonyms},
        "how much may be suppressed": recoding is None,
    }
    unknown = (words for words, is_missing in missing.items() if is_missing)
    return FlagsOfRelease(
        tuple(write_flags(making)), tuple(write_flags(judging)), tuple(chain(words_of_unsaid(both), unknown))
    )


def _algorithm_flags(subject: Subject) -> list[Flag]:
    """Return the flag of the algorithm: from the certificate, otherwise as given."""
    made_by = subject.published.made_by
    named = subject.file_certificate.get("algorithm") or (None if made_by is None else spell(made_by))
    return [("--algorithm", str(named))] if named else []


def promise_in_words(spelled: str) -> str:
    """Return a guarantee as a few words with its name and figures; one without words has these alone.

    >>> promise_in_words("k-anonymity:k=11")
    'No person is singled out (k-anonymity, k = 11)'
    >>> promise_in_words("k-anonymity:k=1")
    'No protection (k-anonymity, k = 1)'
    """
    name, model = name_of(spelled), parse_model_or_none(spelled)
    plain = ", ".join([name, *(each.replace("=", " = ", 1) for each in PARAMETER.split(spelled)[1:])])
    if model is not None and name in OF_ONE and arguments_of(model)["k"] == 1:
        return f"{OF_ONE[name]} ({plain})"
    words = CHECKED.get(name) or (words_of(MODELS[name]).title.partition(" (")[0] if name in MODELS else "")
    return f"{words} ({plain})" if words else plain
