"""A certificate says what was verified on a published table. It holds no data values."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from indistinct.as_json import AsJson
from indistinct.document.blocks import Cell, Document, Grid, JsonValues, document, grid, listing
from indistinct.document.result import Result
from indistinct.errors import ParameterError
from indistinct.figures import counts_of, hide_counts, short, unit_of
from indistinct.frequencies.structure import units_of
from indistinct.machine.arguments import with_checked_arguments
from indistinct.recoding.outputs import MAIN
from indistinct.release.guarantee import CHECKS, failed_checks, guarantee_in_words

WHOLE = "the whole"
"""The misfit of a document that has no fields."""


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """What a model found: the guarantee as written on the command line, and what was achieved.

    `needs_original` says that the published table alone does not show it: a check needs the original too.
    `larger_is_stronger` names the achieved values whose larger ones are stronger; of others smaller ones are.
    `compared_with_original` says that what was achieved is measured against the whole original.
    """

    model: str
    holds: bool
    achieved: Mapping[str, float]
    violating_classes: int
    violating_rows: int
    needs_original: bool = False
    larger_is_stronger: tuple[str, ...] = ()
    compared_with_original: bool = False


@dataclass(frozen=True, slots=True)
class PeopleCounted:
    """How many people a release is about, how many the original was, and how many lost a row."""

    published: int
    original: int | None = None
    suppressed: int | None = None


@dataclass(frozen=True, slots=True)
class OwnValues:
    """Unmodified columns that point at rows, and the number of rows with a unique value or combination."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a release and earlier ones reveal together about the people who are in any of them.

    A person's history are the classes that the person is in, release by release, and none where the person is
    missing. `smallest_history` people share one in the worst case. `people_below` share theirs with fewer than was
    guaranteed to them in any release that they are in: `people_joined` of them are in this release alone, `people_left`
    in earlier ones alone. `k` is the largest guarantee. `shared_people` are in this release and in an earlier one.
    `people_before` were below the guarantee before this release, which reveals nothing about them and is not refused
    for them. Sizes are compared, values never: models of sensitive values are judged on the people of this release
    alone.
    """

    shared_people: int
    smallest_history: int
    people_below: int
    k: int
    releases: int = 1
    people_joined: int = 0
    people_left: int = 0
    people_before: int = 0


@dataclass(frozen=True, slots=True)
class About:
    """How a release came about, as far as its readers may know; verification adds what it counted."""

    algorithm: str | None = None
    recoding_digest: str | None = None
    output_digest: str | None = None
    other_digests: Mapping[str, str] = field(default_factory=dict)
    seeded: bool = False
    warnings: tuple[str, ...] = ()
    overlap: Overlap | None = None
    pseudonyms: Mapping[str, str] = field(default_factory=dict)
    sample: float | None = None
    table_version: int | None = None


@dataclass(frozen=True, slots=True)
class Certificate(Result):
    """What was counted on a published table: models, equivalence classes, suppression, and warnings for its readers.

    It holds no value of the data. Where the schema has a person ID, class sizes and verdicts count people.

    Attributes
    ----------
    version
        Version of indistinct that verified the table.
    verdicts
        What each model achieved, and whether it is satisfied.
    rows, classes, smallest_class
        Published rows, equivalence classes (or buckets), and the size of the smallest.
    original_rows, suppressed_rows
        Rows of the original, and how many of them were suppressed; None where the original was not given.
    quasi_identifiers
        The quasi-identifiers.
    algorithm
        Algorithm that searched, with its parameters.
    recoding_digest
        SHA-256 of the recoding with its nonce, which commits to it.
    output_digest, other_digests
        SHA-256 of the file, and of further tables by what they hold.
    form, columns, generalized
        Of a release in buckets: what it shows of a bucket, which attributes share a column, and which were generalized.
    seeded
        Whether randomness came from a given seed.
    warnings
        What a reader must know before trusting the release.
    people
        Number of people, where they were counted.
    overlap
        Comparison with earlier releases, where there was one.
    hidden, smallest_count
        In the form for others: figures that are left out because they are smaller than `smallest_count`, or disclose
        one.
    population_size
        Number of people in the population, where a model compared with it.
    pseudonyms
        Columns of pseudonyms by kind: keyed, which link releases under the same key, or random.
    own_values
        Columns that were not generalized and in which at least half of the rows have a value of their own.
    sample
        Share of the rows that was drawn at random before; the original is what was drawn.
    table_version
        Version of the Delta table, or ID of the Iceberg snapshot, that was read.

    Examples
    --------
    >>> verdict = ModelVerdict("k-anonymity:k=2", True, {"k": 3}, 0, 0, larger_is_stronger=("k",))
    >>> certificate = Certificate("0.2.0", (verdict,), rows=6, classes=2, smallest_class=3)
    >>> certificate.holds, certificate.achieved
    (True, {'k': 3})
    """

    version: str
    verdicts: tuple[ModelVerdict, ...]
    rows: int
    classes: int
    smallest_class: int
    original_rows: int | None = None
    suppressed_rows: int | None = None
    quasi_identifiers: tuple[str, ...] = ()
    algorithm: str | None = None
    recoding_digest: str | None = None
    output_digest: str | None = None
    other_digests: Mapping[str, str] = field(default_factory=dict)
    form: str | None = None
    columns: tuple[tuple[str, ...], ...] = ()
    generalized: tuple[str, ...] = ()
    seeded: bool = False
    warnings: tuple[str, ...] = ()
    people: PeopleCounted | None = None
    overlap: Overlap | None = None
    hidden: tuple[str, ...] = ()
    smallest_count: int | None = None
    population_size: int | None = None
    pseudonyms: Mapping[str, str] = field(default_factory=dict)
    own_values: tuple[OwnValues, ...] = ()
    sample: float | None = None
    table_version: int | None = None

    @property
    def holds(self) -> bool:
        """Whether every model holds."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def achieved(self) -> dict[str, float]:
        """Return every achieved value: `k`, `l` …; of models that share a name, the weakest.

        Where no model has a `k`, it is the smallest class: that of k-map counts a population.
        """
        weakest: dict[str, float] = {}
        for verdict in self.verdicts:
            for key, value in verdict.achieved.items():
                pick = min if key in verdict.larger_is_stronger else max
                weakest[key] = pick(weakest.get(key, value), value)
        return {"k": self.smallest_class, **weakest}

    def document(self) -> Document:
        """Return each model with what it achieves, what was counted, and warnings."""
        values = JsonValues("certificate", self.to_json())
        title = f"Certificate: {guarantee_in_words(holds=self.holds, checks=failed_checks(values.at('verdicts')))}"
        return document(title, verdict_grid(values), counted_grid(values), *listing(self.warnings))

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values."""
        return {"holds": self.holds, **AsJson.to_json(self)}

    def to_text(self) -> str:
        """Return the certificate as a JSON document."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def misfit_of(stored: Any) -> str | None:
    """Return which field of a JSON document is not as that of a certificate; None where all are.

    It may come from elsewhere: what reads a certificate relies on nothing but this. Fields that are not known
    are no misfit.

    >>> whole = Certificate("1", (ModelVerdict("k-anonymity:k=2", True, {"k": 3}, 0, 0),), 9, 3, 3).to_json()
    >>> misfit_of(whole), misfit_of({**whole, "verdicts": [5]})
    (None, 'verdicts')
    """
    if not isinstance(stored, dict):
        return WHOLE
    return _misfit(stored, Certificate)


def _misfit(stored: Mapping[str, Any], kind: Any) -> str | None:
    """Return the first field that is not as a dataclass has it, or that is missing."""
    hints = get_type_hints(kind)
    needed = (each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING)
    missing = (name for name in needed if name not in stored)
    strange = (name for name in stored if name in hints and not _fits(stored[name], hints[name]))
    return next(chain(missing, strange), None)


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a JSON value can be what a field holds; a number may be hidden, and so be None."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple:
        return isinstance(value, list) and all(_fits(each, parts[0]) for each in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_fits(each, parts[1]) for each in value.values())
    if parts:  # one of several
        return any(_fits(value, part) for part in parts)
    if kind in (int, float):
        return value is None or (isinstance(value, int | kind) and not isinstance(value, bool))
    if is_dataclass(kind):
        return isinstance(value, dict) and _misfit(value, kind) is None
    return isinstance(value, kind)


COUNTED = "Privacy models, counted on the published table"
COUNTED_PEOPLE = "Privacy models, counted in people, by what is published of their rows"


def verdict_grid(stored: JsonValues, *, caption: str | None = None, spell: Callable[[str], str] | None = None) -> Grid:
    """Return a table of required and achieved parameters by model; `stored` is a certificate as JSON values.

    `spell` words a model; without it a model is shown as the command line takes it.
    """
    caption = caption or (COUNTED_PEOPLE if stored.at("people") else COUNTED)
    groups = units_of(stored.at("form"))
    rows: list[tuple[Cell, ...]] = []
    for index, verdict in enumerate(stored.at("verdicts") or ()):
        achieved = ", ".join(f"{key} = {_achieved(value)}" for key, value in verdict["achieved"].items())
        rows.append(
            (
                verdict["model"] if spell is None else spell(verdict["model"]),
                stored.figure("verdicts", index, "holds", words=yes_or_no),
                achieved or "–",
                "–" if verdict["model"] in CHECKS else stored.figure("verdicts", index, "violating_classes"),
            )
        )
    headings = ("model", "satisfied", "achieved", f"violating {groups}")
    return grid(caption, headings, rows, right=headings[3:])


def counted_grid(stored: JsonValues) -> Grid:
    """Return how many rows, classes and people were counted."""
    groups = units_of(stored.at("form"))
    smallest = "people in the smallest" if stored.at("people") else "rows in the smallest"
    rows: list[tuple[Cell, Cell]] = [
        ("published rows", stored.figure("rows")),
        (groups, stored.figure("classes")),
        (f"{smallest} of the {groups}", stored.figure("smallest_class")),
        ("rows of the original", stored.figure("original_rows", absent=_unknown(stored, "original_rows"))),
        ("suppressed rows", stored.figure("suppressed_rows", absent=_unknown(stored, "suppressed_rows"))),
    ]
    if stored.at("people"):
        for key, words in (("published", "published people"), ("original", "people of the original")):
            rows.append((words, stored.figure("people", key, absent=_unknown(stored, f"people.{key}"))))
        suppressed = stored.figure("people", "suppressed", absent=_unknown(stored, "people.suppressed"))
        rows.append(("people with a suppressed row", suppressed))
    if stored.at("population_size"):
        rows.append(("people of the population", stored.figure("population_size")))
    if stored.at("sample"):
        rows.append(("share of rows that was drawn at random", stored.figure("sample")))
    if stored.at("table_version") is not None:
        rows.append(("version of the table that was read", str(stored.at("table_version"))))
    return grid("What was counted", ("counted", "number"), rows, right=("number",))


def yes_or_no(value: bool) -> str:
    """Return a truth in a word."""
    return "yes" if value else "NO"


def _achieved(value: float | None) -> str:
    return "hidden" if value is None else short(value)


def _unknown(stored: JsonValues, name: str) -> str:
    return "hidden" if name in (stored.at("hidden") or ()) else "not known"


SMALLEST = 11
"""Smaller counts are hidden unless something else is asked for: the usual limit for tables of health data."""
UNITS = ("rows", "people", "classes")
# The figures of a certificate that only the original shows, by what they count.
FIGURES = {
    ("original_rows",): "rows",
    ("suppressed_rows",): "rows",
    ("people", "published"): "people",
    ("people", "original"): "people",
    ("people", "suppressed"): "people",
    ("overlap", "shared_people"): "people",
    ("overlap", "people_below"): "people",
    ("overlap", "people_joined"): "people",
    ("overlap", "people_left"): "people",
    ("overlap", "people_before"): "people",
}
# Sizes of the smallest group: they are not subtracted from anything, so each is judged on its own.
SMALLEST_GROUPS = (("overlap", "smallest_history"),)
# What a model achieves that a reader computes on the file in rows. Where people are counted only k and l are given.
SHOWN_BY_ROWS = frozenset({"k", "l", "alpha", "c", "threshold", "share", "low", "high"})
ALWAYS_SHOWN = frozenset({"k", "l"})
SUPPRESSED = "rows_suppressed"
"""How the name of a count begins that is a part of the suppressed rows."""
# The spec of a model that estimates from a sample has the size of the original.
SAMPLE_SIZE = re.compile(r"(?<=[:,]sample_size=)[0-9]+")
HIDDEN = "[hidden]"


def check_smallest(smallest: int) -> int:
    """Return a threshold; raise unless it is a whole number from 0, which hides nothing."""
    if isinstance(smallest, bool) or not isinstance(smallest, int) or smallest < 0:
        raise ParameterError(
            f"`smallest_count` must be a whole number from 0; got {smallest!r}",
            hint="11 hides counts up to 10, and 0 hides none",
        )
    return smallest


def text_for_others(certificate: Certificate, *, smallest: int = SMALLEST) -> str:
    """Return the certificate next to a release, as a JSON document."""
    document = for_others(certificate, smallest=smallest)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@with_checked_arguments
def for_others(certificate: Certificate, *, smallest: int = SMALLEST) -> dict[str, Any]:
    """Return a certificate as JSON values without small counts; `hidden` lists the values that are null therefore.

    All counts of rows are hidden if one of them is below `smallest`, or if a difference between two of them, or from a
    count that readers can make, is. The same applies to counts of people, and of classes. A count of 0 is shown.
    Achieved values over people are hidden with the counts of people. Achieved values compared with the original are
    hidden if a row was suppressed: with the shares in the file they reveal how many suppressed rows had each value.

    Parameters
    ----------
    certificate
        The certificate of a release.
    smallest
        Counts below this are hidden.

    Returns
    -------
    dict
        The certificate as JSON values, with None for hidden ones.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44]})
    >>> release = ind.anonymize(table, ind.Schema(quasi=["age"]), model=ind.KAnonymity(k=3))
    >>> for_others(release.certificate)["hidden"]
    ['original_rows']
    """
    document = certificate.to_json()
    hidden: list[str] = []
    units = {unit for unit in UNITS if _tells(certificate, document, unit, smallest)}
    for path, unit in FIGURES.items():
        if unit in units and _at(document, path):
            hidden.append(_hide(document, path))
    hidden += [_hide(document, path) for path in SMALLEST_GROUPS if 0 < (_at(document, path) or 0) < smallest]
    stays = _achieved_shown(certificate, units)
    for verdict in document["verdicts"]:
        if {"rows", "people"} & units and SAMPLE_SIZE.search(verdict["model"]):
            verdict["model"] = SAMPLE_SIZE.sub(HIDDEN, verdict["model"])
            hidden.append(f"sample_size of {verdict['model']}")
        if "rows" in units and verdict["needs_original"] and verdict["violating_rows"]:
            verdict["violating_rows"] = None
            hidden.append(f"violating_rows of {verdict['model']}")
        beside = bool(smallest and certificate.suppressed_rows and verdict["compared_with_original"])
        for key in (key for key, value in verdict["achieved"].items() if value and (beside or key not in stays)):
            verdict["achieved"][key] = None
            hidden.append(f"{key} of {verdict['model']}")
    warnings = [str(hide_counts(warning, units)) for warning in certificate.warnings]
    if warnings != document["warnings"]:
        hidden.append("counts in warnings")
    return document | {"warnings": warnings, "hidden": hidden, "smallest_count": smallest if hidden else None}


def _achieved_shown(certificate: Certificate, units: Collection[str]) -> Collection[str]:
    """Return the achieved values that reveal nothing about withheld counts."""
    if "people" in units and certificate.people is not None:
        return ALWAYS_SHOWN
    every = {key for verdict in certificate.verdicts for key in verdict.achieved}
    return SHOWN_BY_ROWS if "rows" in units else every


def _tells(certificate: Certificate, document: dict[str, Any], unit: str, smallest: int) -> bool:
    """Return whether counts of a unit, or differences of two of them, are below `smallest`."""
    figures = [*_counts(certificate, document, unit), *_rest(certificate, unit)]
    known = {"rows": certificate.rows, "people": certificate.rows, "classes": certificate.classes}[unit]
    if any(0 < figure < smallest for figure in figures):
        return True
    return any(0 < abs(one - two) < smallest for one, two in combinations([known, *figures], 2) if one and two)


def _counts(certificate: Certificate, document: dict[str, Any], unit: str) -> Iterator[int]:
    """Yield the counts of a unit that the published file does not show."""
    for path, own in FIGURES.items():
        value = _at(document, path)
        if own == unit and value is not None:
            yield value
    for warning in certificate.warnings:
        yield from (count for name, count in counts_of(warning).items() if unit_of(name) == unit)
    if unit == "rows":
        yield from (verdict.violating_rows for verdict in certificate.verdicts if verdict.needs_original)


def _rest(certificate: Certificate, unit: str) -> Iterator[int]:
    """Yield the counts that a reader can derive by adding and subtracting others.

    Rows that were suppressed for no reason that a warning gives, people who lost some of their rows only, and rows
    beyond the first of each person, in the original and of those suppressed.
    """
    people = certificate.people
    if unit == "people" and people is not None and people.original is not None and people.suppressed is not None:
        yield max(people.suppressed - (people.original - people.published), 0)
        rows = (certificate.original_rows, certificate.suppressed_rows)
        yield from (
            max(more - own, 0)
            for more, own in zip(rows, (people.original, people.suppressed), strict=True)
            if more is not None
        )
    if unit == "rows" and certificate.suppressed_rows is not None:
        parts = [counts_of(warning).get(SUPPRESSED, 0) for warning in certificate.warnings]
        yield max(certificate.suppressed_rows - sum(parts), 0)


def _at(document: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at a path of a document, None if it is missing."""
    value: Any = document
    for key in path:
        value = None if value is None else value[key]
    return value


def _hide(document: dict[str, Any], path: tuple[str, ...]) -> str:
    """Clear the value at a path, and return the path as text."""
    _at(document, path[:-1])[path[-1]] = None
    return ".".join(path)


def table_path(path: str | Path, name: str) -> Path:
    """Return the path of a table of a release: the main one has the release's path, others are next to it.

    >>> table_path("release.csv.gz", "sensitive").name
    'release.sensitive.csv.gz'
    """
    whole = Path(path)
    if name == MAIN:
        return whole
    ending = "".join(whole.suffixes[-2:]) if whole.suffix == ".gz" else whole.suffix
    return whole.with_name(f"{whole.name.removesuffix(ending)}.{name}{ending}")


def certificate_path(path: str | Path) -> Path:
    """Return the path of a release's certificate; that it does not exist is no error here."""
    return Path(path).parent / f"{Path(path).name}.certificate.json"
