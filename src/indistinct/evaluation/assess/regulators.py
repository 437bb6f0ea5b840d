"""Figures that regulators and data holders use in practice, each passed, failed or not checkable, with its source.

No model is behind them: they are thresholds on the size of classes, and lists of what a table must not show.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from indistinct.as_json import AsJson
from indistinct.figures import plural
from indistinct.frequencies.singled_out import SingledOut
from indistinct.inspection.patterns.base import PatternShare
from indistinct.inspection.roles import POSTAL
from indistinct.schema import Schema
from indistinct.tables.domain import Domain, Kind

Status = Literal["passed", "failed", "not checkable"]

EMA = "European Medicines Agency, Policy 0070, external guidance (2018)"
HEALTH_CANADA = "Health Canada, Public Release of Clinical Information, guidance (2019)"
ONTARIO = (
    "Information and Privacy Commissioner of Ontario, De-Identification Guidelines for Structured Data (October 2025); "
    "the figures are those of the edition of 2016, which it replaced"
)
CMS = "US Centers for Medicare & Medicaid Services, cell size suppression policy"
SAFE_HARBOR = "US HIPAA Privacy Rule, safe harbor, 45 CFR 164.514(b)(2)"
WP216 = "Article 29 Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216)"

# Words of column names for the identifiers of the safe harbor; its last kind, "any other", has no words.
NAMES = {
    "names": "name forename surname firstname lastname fullname",
    "telephone and fax numbers": "phone telephone mobile fax",
    "email addresses": "email mail",
    "social security numbers": "ssn",
    "medical record, health plan and account numbers": "mrn account iban",
    "certificate, licence, vehicle and device numbers": "passport licence license vehicle plate vin serial device",
    "web and network addresses": "url website ip",
    "street addresses": "street address",
}
OLDEST, ZIP_DIGITS = 89, 3
NO_VALUES: Mapping[str, int] = MappingProxyType({})
NO_PATTERNS: Mapping[str, PatternShare] = MappingProxyType({})
_WORDS = re.compile(r"[a-z]+")
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
# A year and a month that belong together, and no range of numbers such as 5872.22-8965.96 or 10037-10050.
_DAYS = re.compile(r"(?<![\d.])\d{4}-(?:0[1-9]|1[0-2])(?!\d)")


@dataclass(frozen=True, slots=True)
class PracticeFinding(AsJson):
    """What one rule of practice says of a table: what it asks for, what was found, and who asks for it."""

    rule: str
    asks: str
    status: Status
    source: str
    value: float | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ShownTable:
    """What a table shows: its columns with their kinds, and the values of those that were counted."""

    schema: Schema
    kinds: Mapping[str, Kind]
    domains: Mapping[str, Domain] = field(default_factory=dict)


def findings(
    table: ShownTable,
    *,
    smallest: int,
    uniques: int,
    homogeneous: float | None,
    alone: int | None = None,
    published: SingledOut | None = None,
    own_values: Mapping[str, int] = NO_VALUES,
    identifying: Mapping[str, PatternShare] = NO_PATTERNS,
) -> tuple[PracticeFinding, ...]:
    """Check a table against every rule of practice.

    `smallest` is the size of its smallest class, `homogeneous` the largest share of members whose class has a single
    value of a sensitive column; None where there is no sensitive column. `published` counts the members who are unique
    on unmodified columns, `own_values` those who are unique on each sensitive column, and `identifying` has the columns
    whose values look like free text, names or numbers of people. Of a release in buckets `alone` is how many rows show
    a combination of quasi-identifiers that no other row shows: its values are unmodified, so that no rule about the
    size of classes can be checked on it.
    """
    return (
        *(_sizes(smallest) if alone is None else map(_no_classes, _sizes(smallest))),
        _identifiers(table, identifying),
        _ages(table),
        _areas(table),
        _dates(table),
        _singling_out(uniques, published, own_values) if alone is None else _in_buckets(alone, published),
        *_questions(homogeneous),
    )


def _sizes(smallest: int) -> Iterator[PracticeFinding]:
    """Check the class sizes that published rules ask for."""
    for source, rule in ((EMA, "ema-0.09"), (HEALTH_CANADA, "health-canada-0.09")):
        yield _risk(f"{rule}-strict", Fraction("0.09"), smallest, source, note="1/11 = 0.0909 is above 0.09")
        yield _cell(f"{rule}-rounded", 11, smallest, source, note="1/11 is written 0.09, which allows classes of 11")
    for sensitivity, limit, size in (("low", "0.09", 11), ("medium", "0.075", 15), ("high", "0.05", 20)):
        note = f"for data of {sensitivity} sensitivity: a risk of {limit}, in practice classes of {size}"
        yield _cell(f"ontario-{sensitivity}", size, smallest, ONTARIO, note=note)
    yield _cell("cms-cells", 11, smallest, CMS, note="no cell of 1 to 10 people is shown")


def _risk(rule: str, limit: Fraction, smallest: int, source: str, *, note: str) -> PracticeFinding:
    """Check the highest risk against a rule."""
    passed = not smallest or Fraction(1, smallest) <= limit
    value = 1 / smallest if smallest else 0.0
    return PracticeFinding(rule, f"highest risk at most {float(limit):g}", _status(passed), source, value, note)


def _cell(rule: str, size: int, smallest: int, source: str, *, note: str) -> PracticeFinding:
    """Check the smallest class against a rule."""
    passed = not smallest or smallest >= size
    return PracticeFinding(rule, f"classes of at least {size}", _status(passed), source, smallest, note)


def _identifiers(table: ShownTable, identifying: Mapping[str, PatternShare]) -> PracticeFinding:
    """Look for columns that point at people, by their role, the words of their names, and their values.

    Free text, and what only looks like names, may hold identifiers or none: a person has to read it.
    """
    leaked = [name for name in table.schema.hidden if name in table.kinds]
    words = {word: kind for kind, several in NAMES.items() for word in several.split()}
    others = [name for name in table.kinds if name not in leaked]
    kinds = {name: words[word] for name in others for word in _WORDS.findall(name.lower()) if word in words}
    leaks = [f"{name!r} has the role identifier or person" for name in leaked]
    leaks += [f"{name!r} is named like {kind}" for name, kind in kinds.items()]
    sure = {name: each for name, each in identifying.items() if each.certain and each.name != "free-text"}
    leaks += [f"{name!r} holds {each.meaning}" for name, each in sure.items() if name not in kinds]
    doubtful = [f"{name!r} holds {each.meaning}" for name, each in identifying.items() if name not in sure]
    note = "; ".join((*leaks, *doubtful)) or "columns were judged by role, name and values; pictures were not looked at"
    asks, status = "none of the 18 kinds of identifiers", _status(not leaks)
    if doubtful and not leaks:
        status = "not checkable"
    return PracticeFinding(
        "safe-harbor-identifiers", asks, status, SAFE_HARBOR, float(len(leaks) + len(doubtful)), note
    )


def _ages(table: ShownTable) -> PracticeFinding:
    """Look whether ages over 89 are one category."""
    rule, asks = "safe-harbor-ages", f"ages over {OLDEST} as one category"
    named = [name for name in table.kinds if {"age", "alter"} & set(_WORDS.findall(name.lower()))]
    known = [name for name in named if name in table.domains]
    if not known:
        note = "no column is named as ages" if not named else f"the values of {named[0]!r} were not counted"
        return PracticeFinding(rule, asks, "not checkable", SAFE_HARBOR, note=note)
    most = 0
    for name in known:
        texts = [text for text in table.domains[name].texts() if text is not None]
        most = max(most, sum(any(float(n) > OLDEST for n in _NUMBERS.findall(text)) for text in texts))
    note = f"{plural(most, 'distinct value')} of {', '.join(map(repr, known))} with ages over {OLDEST}"
    return PracticeFinding(rule, asks, _status(most <= 1), SAFE_HARBOR, float(most), note)


def _areas(table: ShownTable) -> PracticeFinding:
    """Look whether postal codes show more than three digits; whether their areas are populous is not known here."""
    rule, asks = "safe-harbor-areas", "at most three digits of a zip code, of areas with more than 20,000 people"
    known = [name for name in table.domains if POSTAL & set(_WORDS.findall(name.lower()))]
    if not known:
        note = "no column that was counted is named as zip codes; smaller areas than states were not looked for"
        return PracticeFinding(rule, asks, "not checkable", SAFE_HARBOR, note=note)
    texts = [text for name in known for text in table.domains[name].texts() if text is not None]
    finer = sum(sum(mark.isdigit() for mark in text) > ZIP_DIGITS for text in texts)
    which = ", ".join(map(repr, known))
    if finer:
        note = f"{plural(finer, 'distinct value')} of {which} with more than three digits"
        return PracticeFinding(rule, asks, "failed", SAFE_HARBOR, float(finer), note)
    note = f"three digits or fewer in {which}; compare the areas with the census, which is not at hand"
    return PracticeFinding(rule, asks, "not checkable", SAFE_HARBOR, 0.0, note)


def _dates(table: ShownTable) -> PracticeFinding:
    """Look for dates finer than years in date columns and labels; safe harbor allows only the year."""
    rule, asks = "safe-harbor-dates", "no element of a date but its year"
    dated = [name for name, kind in table.kinds.items() if kind is Kind.DATE and name not in table.schema.hidden]
    for name, domain in table.domains.items():
        texts = domain.texts() if domain.kind is Kind.TEXT else ()
        if any(text is not None and _DAYS.search(text) for text in texts):
            dated.append(name)
    note = f"dates in {', '.join(map(repr, dated))}" if dated else "judged by kinds of columns and by labels"
    return PracticeFinding(rule, asks, _status(not dated), SAFE_HARBOR, float(len(dated)), note)


def _no_classes(finding: PracticeFinding) -> PracticeFinding:
    """Mark a rule about classes as not checkable on buckets."""
    note = (
        "buckets are no equivalence classes: quasi-identifiers are published unmodified, whatever the size of a bucket"
    )
    return replace(finding, status="not checkable", value=None, note=note)


SINGLING_OUT, SINGLED_OUT = "wp216-singling-out", "can a person be singled out?"


def _singling_out(
    uniques: int, published: SingledOut | None, own_values: Mapping[str, int] = NO_VALUES
) -> PracticeFinding:
    """Judge classes and unmodified columns: a member who is unique in a class, or on the columns, is singled out.

    An attacker who knows a unique sensitive value finds the member too; whether one knows it, no table says.
    """
    status: Status
    own = [name for name, alone in own_values.items() if alone]
    if uniques:
        status, note = _status(False), "members who are alone in their class"
    elif published is not None and (published.least or not own):
        status = "failed" if published.least else "passed" if not published.most else "not checkable"
        columns = ", ".join(map(repr, published.columns))
        note = f"members who are unique on the unmodified columns that are not sensitive, with their class: {columns}"
    elif own:
        columns = ", ".join(map(repr, own))
        status, note = (
            "not checkable",
            f"no member is unique in its class, but some are by their value of the sensitive {columns}",
        )
    else:
        status, note = _status(True), "members who are alone in their class"
    value = uniques or (0 if published is None else published.least)
    return PracticeFinding(SINGLING_OUT, SINGLED_OUT, status, WP216, float(value), note)


def _in_buckets(alone: int, published: SingledOut | None) -> PracticeFinding:
    """Judge what buckets show unmodified: a unique combination singles a person out; none does not rule it out."""
    note = "rows with a unique combination of quasi-identifiers, which buckets publish unmodified"
    if alone:
        return PracticeFinding(SINGLING_OUT, SINGLED_OUT, "failed", WP216, float(alone), note)
    if published is not None and published.least:
        return _singling_out(0, published)
    note = "no slice shows a combination of its own; several slices of a bucket together were not looked at"
    return PracticeFinding(SINGLING_OUT, SINGLED_OUT, "not checkable", WP216, 0.0, note)


def _questions(homogeneous: float | None) -> Iterator[PracticeFinding]:
    """Answer the other two questions of WP216, linkability and inference, if classes allow it."""
    note = "classes do not answer it: run the attack record-linkage with an external table"
    yield PracticeFinding(
        "wp216-linkability", "can records of one person be linked?", "not checkable", WP216, note=note
    )
    rule, asks = "wp216-inference", "can a value of a person be inferred?"
    if homogeneous is None:
        yield PracticeFinding(rule, asks, "not checkable", WP216, note="no column has the role sensitive")
    else:
        note = "the share of members whose class has one sensitive value only; lesser inferences were not judged"
        yield PracticeFinding(rule, asks, _status(homogeneous == 0), WP216, homogeneous, note)


def _status(passed: bool) -> Status:
    return "passed" if passed else "failed"
