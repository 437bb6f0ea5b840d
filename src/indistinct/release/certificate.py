"""A certificate says what was verified on a published table. It holds no data values."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from indistinct.markup import Document, piece
from indistinct.release.certificate_grids import counted_grid, verdict_grid


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
class Overlap:
    """What a release and earlier ones tell together of the people who are in several.

    Somebody who knows in which releases a person is looks among `smallest_intersection` people in the worst case;
    `people_below` are those who stand among fewer than `k`. Whoever takes one release from another learns what changed:
    `smallest_difference` is the smallest group of people who joined, left or changed that can be told apart so, and
    `people_isolated` are in groups of fewer than `k`. `changed_signatures` are people whose classes do not show the
    same set of sensitive values in all releases; `m` is the smallest number of values that are left for somebody by
    all releases, and of `people_certain` one is left, which no release told alone. Where keyed pseudonyms link several
    releases, `smallest_combination` people at least stand in the same set of classes in all of them together, and
    `people_linked` stand among fewer than `k` so. `complete` is False where somebody
    stands in so many combinations of classes that some releases were left out of the intersections.
    """

    shared_people: int
    smallest_intersection: int
    people_below: int
    k: int
    releases: int = 1
    smallest_difference: int = 0
    people_isolated: int = 0
    changed_signatures: int = 0
    m: int = 0
    people_certain: int = 0
    complete: bool = True
    smallest_combination: int = 0
    people_linked: int = 0


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
    which kind: keyed, which link releases under the same key, or random. `warnings` are what a reader must know before
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

    @property
    def holds(self) -> bool:
        """Whether every model holds."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def achieved(self) -> dict[str, float]:
        """Return every achieved value: `k`, `l` …; of models that share a name, the weakest."""
        weakest: dict[str, float] = {"k": self.smallest_class}
        for verdict in self.verdicts:
            for key, value in verdict.achieved.items():
                pick = min if key in verdict.larger_is_stronger else max
                weakest[key] = pick(weakest.get(key, value), value)
        return weakest

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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
