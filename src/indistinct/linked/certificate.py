"""The certificate of a release of several tables: its guarantee, its counts, and how to read its labels."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.evaluation.verdict import Figures, Verdict, verdict_of
from indistinct.linked.calendar import OPEN
from indistinct.linked.declared import LinkedPolicy, LinkedTable
from indistinct.linked.people import day_ends, window_of_all
from indistinct.release.certificate import SMALLEST

KIND = "linked"
"""The value that identifies the certificate of several tables."""
FILE_NAME = "certificate.json"


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One table of a release: its file and digest, its rows, its roles, and how it was generalized.

    `original_rows` and `suppressed_rows` are None where they are hidden from readers. `levels` has the level of each
    generalized column, `width` that of published offsets in units, None where none are published.
    """

    file: str
    digest: str
    rows: int
    person: str
    people: bool = False
    knows: int | str | None = None
    original_rows: int | None = None
    suppressed_rows: int | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    time: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LinkedCertificate:
    """What was verified on the published tables of a release.

    `smallest_group` is the smallest number of people that an attacker is left with, and `largest_share` the largest
    share of such a group that shows one sensitive value. `bounds` has, for each date column of the people table, the
    first and the last day of each label. `assumptions` are what the guarantee relies on.
    """

    version: str
    model: str
    holds: bool
    smallest_group: int
    largest_share: float
    people: int
    tables: Mapping[str, TableEntry]
    knows: Mapping[str, int | str]
    knows_together: int
    original_people: int | None = None
    suppressed_people: int | None = None
    time: Mapping[str, Any] | None = None
    bounds: Mapping[str, Mapping[str, tuple[str | None, str | None]]] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    loss: float | None = None
    kind: str = KIND

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values."""
        document: dict[str, Any] = asdict(self)
        document["tables"] = {name: asdict(entry) for name, entry in self.tables.items()}
        return document

    def to_text(self) -> str:
        """Return the certificate as a JSON document."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def declared_roles(table: LinkedTable) -> dict[str, str]:
    """Return the role of each column of a table that is not dropped."""
    names = [name for name in table.schema.columns if name not in table.schema.identifiers]
    roles = {name: str(table.schema.role(name)) for name in names}
    roles |= {column.column: "list" for column in table.lists}
    return roles if table.time is None else roles | {table.time.column: "time"}


def declared_time(policy: LinkedPolicy, table: LinkedTable) -> dict[str, Any] | None:
    """Return the declared time column of a table, None without one."""
    if table.time is None or policy.time is None:
        return None
    window = [day.isoformat() for day in policy.time.windows[table.name]]
    return {"column": table.time.column, "known": not table.time.unknown, "window": window}


def declared_knowledge(policy: LinkedPolicy) -> dict[str, Any]:
    """Return the declared knowledge of attackers, and the anchor of times."""
    time = None if policy.time is None else {"anchor": policy.time.anchor, "as": policy.time.unit}
    return {"knows": dict(policy.knowledge.tables), "knows_together": policy.knowledge.rows, "time": time}


def hide_small(count: int, smallest: int = SMALLEST) -> int | None:
    """Return a count, or None where it is so small that it would be about single people.

    >>> hide_small(0), hide_small(3), hide_small(40)
    (0, None, 40)
    """
    return None if 0 < count < smallest else count


def assumptions_of(policy: LinkedPolicy) -> tuple[str, ...]:
    """Return the assumptions of the guarantee, as the policy declares them."""
    assumptions = []
    for table in policy.events:
        if table.time is not None and table.time.unknown:
            assumptions.append(f"attackers do not know the times in table {table.name}, which are published finely")
        if table.knows == 0 and table.is_counted:
            assumptions.append(f"attackers know no row of table {table.name}")
        plain = (*table.schema.sensitive, *table.schema.insensitive)
        if plain:
            assumptions.append(f"attackers know no value of {', '.join(plain)} of table {table.name}")
    return tuple(assumptions)


def labels_of_people(policy: LinkedPolicy, people: pa.Table) -> dict[str, set[str | None]]:
    """Return the labels of each quasi-identifier of the people table."""
    return {name: set(pc.unique(people[name].cast(pa.string())).to_pylist()) for name in policy.people.schema.quasi}


def bounds_of(
    policy: LinkedPolicy, labels: Mapping[str, set[str | None]], *, anchors_inside: bool
) -> dict[str, dict[str, tuple[str | None, str | None]]]:
    """Return the first and the last day of each published label of the date columns that the calendar uses."""
    bounds: dict[str, dict[str, tuple[str | None, str | None]]] = {}
    for name in dict.fromkeys([*policy.people.tells, *([] if policy.time is None else [policy.time.anchor])]):
        is_anchor = policy.time is not None and name == policy.time.anchor
        star = window_of_all(policy) if is_anchor and anchors_inside else (-OPEN, OPEN)
        texts = sorted(text for text in labels[name] if text is not None)
        bounds[name] = {text: _dates(day_ends(policy.people, name, text, star=star)) for text in texts}
    return bounds


def _dates(ends: tuple[int, int]) -> tuple[str | None, str | None]:
    """Return the first and last day as text, None for open ends."""
    first, last = (None if abs(end) >= OPEN else str(np.datetime64(end, "D")) for end in ends)
    return first, last


def read_linked_certificate(text: str) -> dict[str, Any]:
    """Return the certificate in a text; raise `InputError` for a text without a certificate of several tables."""
    try:
        document = json.loads(text)
        tables = document["tables"]
        whole = document["kind"] == KIND and all(
            isinstance(entry["file"], str) and isinstance(entry["digest"], str) for entry in tables.values()
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise InputError(
            "the certificate is not that of several tables", hint="it lies in the folder as certificate.json"
        )
    certificate: dict[str, Any] = document
    return certificate


def verdict_of_certificate(certificate: Mapping[str, Any]) -> Verdict:
    """Return the verdict by a certificate alone, before the release is verified again and attacked."""
    figures = figures_of_people(certificate["people"], certificate["smallest_group"], holds=certificate["holds"])
    return verdict_of(figures)


def figures_of_people(people: int, smallest: int, *, holds: bool) -> Figures:
    """Return the figures that the verdict on several tables is judged by."""
    return Figures("people", people, smallest, 0 if smallest > 1 else None, identifying=None, promise=holds)
