"""A certificate says what was verified on a published table. It holds no data values."""

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from itertools import chain
from typing import Any, get_args, get_origin, get_type_hints

from indistinct.markup import Document, piece
from indistinct.release.certificate_grids import counted_grid, verdict_grid

WHOLE = "the whole"
"""The misfit of a document that has no fields."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model found: the promise as it is written on the command line, and what was achieved.

    `needs_original` says that the published table alone does not show it: whoever checks it needs the original too.
    `larger_is_stronger` names the achieved values of which a larger one promises more; of others a smaller one does.
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
    """Columns that are published as they are and point at rows: so many have a value or combination of their own."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a release and earlier ones tell together of everybody who is in any of them.

    A person's history are the classes that the person stands in, release by release, and none where the person is
    missing. `smallest_history` people share one in the worst case. `people_below` share theirs with fewer than was
    promised to them in any release that they are in: `people_joined` of them are in this release alone, `people_left`
    in earlier ones alone. `k` is the largest promise. `shared_people` are in this release and in an earlier one.
    `people_before` were below what was promised before this release, which says nothing of them and is not refused for
    them. Sizes are compared, values never: models of sensitive values are judged on the people of this release alone.
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


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was counted on a published table.

    `recoding_digest` commits to the recoding (SHA-256 with its nonce) and `output_digest` is the SHA-256 of the file,
    once there is one; `other_digests` are those of further tables, by what they hold. `columns` are the columns of a
    release in buckets, each some attributes whose values belong together, `form` is what it shows of a bucket, and
    `generalized` are attributes that were recoded before. Where `people` were counted, class sizes and what models
    judged are people. `overlap` is there where the release was compared with earlier ones, and `population_size`
    where a model compared it with a population of so many people. `pseudonyms` are the columns that show some, and of
    which kind: keyed, which link releases under the same key, or random. `own_values` are columns that no recoding
    touched, where at least half of the rows have a value of their own. `warnings` are what a reader must know before
    trusting the release. In the form for others, `hidden` are the figures that are left out because they are smaller
    than `smallest_count`, or tell such a one; both are empty where nothing is.
    """

    version: str
    verdicts: tuple[Verdict, ...]
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

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        told = Document("certificate", self.to_json())
        title = "Certificate: " + ("every promise holds" if self.holds else "a promise does NOT hold")
        return piece(title, verdict_grid(told), counted_grid(told), notes=self.warnings)

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values."""
        return {"holds": self.holds, **_plain(asdict(self))}

    def to_text(self) -> str:
        """Return the certificate as a JSON document."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def misfit_of(told: Any) -> str | None:
    """Return which field of a JSON document is not as that of a certificate; None where all are.

    Somebody else may have written it: what reads a certificate relies on nothing but this. Fields that are not known
    are no misfit.

    >>> whole = Certificate("1", (Verdict("k-anonymity:k=2", True, {"k": 3}, 0, 0),), 9, 3, 3).to_json()
    >>> misfit_of(whole), misfit_of({**whole, "verdicts": [5]})
    (None, 'verdicts')
    """
    if not isinstance(told, dict):
        return WHOLE
    return _misfit(told, Certificate)


def _misfit(told: Mapping[str, Any], kind: Any) -> str | None:
    """Return the first field that is not as a dataclass has it, or that is missing."""
    hints = get_type_hints(kind)
    needed = (each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING)
    missing = (name for name in needed if name not in told)
    strange = (name for name in told if name in hints and not _fits(told[name], hints[name]))
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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
