"""The files of a release and what they are compared with, read as the command line reads them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct import api
from indistinct.algorithms.auto import Auto
from indistinct.engines.base import Source
from indistinct.policy import Policy
from indistinct.release.population import read_population
from indistinct.release.published import BucketTable
from indistinct.release.reading import read_release
from indistinct.tables import Reading, Table, open_table
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk

Files = Mapping[str, Any]
"""Where the files of a release lie: `table`, `certificate`, `recoding`, and a list of `others`."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A release as its readers have it, its original as it was published from, and the population if there is one."""

    published: Source | BucketTable
    original: Table
    population: Table | None


def compared(desk: Desk, policy: Policy, files: Files) -> Compared:
    """Open a release beside its original, whose columns are transformed as those of the release."""
    whole = original_of(desk, policy)
    shown = api.transform(whole, policy.schema, policy.transformations, hierarchies=policy.hierarchies)
    return Compared(read_published(policy, files["table"]), shown, population_of(policy))


def read_published(policy: Policy, path: Path) -> Source | BucketTable:
    """Return the tables of a release; what is text in the original is text there."""
    before = policy.input.reading
    texts = (name for name, kind in before.types.items() if kind == "text")
    how = Reading(header=before.header, text=tuple(dict.fromkeys((*before.text, *texts))))
    return read_release(path, policy.schema, algorithm=policy.algorithm, reading=how)


def original_of(desk: Desk, policy: Policy) -> Table:
    """Return the table that a policy reads, in memory and as it is."""
    source: Any = table_of(desk, policy)
    return source if isinstance(source, Table) else open_table(source)


def population_of(policy: Policy) -> Table | None:
    """Return the population of a policy, read as its table is; None if it has none."""
    path, reading = policy.population, policy.input.reading
    if path is None:
        return None
    table: Table = read_population(lambda how: api.open(path, reading=how), reading.about, policy.schema)
    return table


def certificate_in(files: Files) -> dict[str, Any]:
    """Return what the certificate for others says that lies beside a release."""
    told: dict[str, Any] = json.loads(Path(files["certificate"]).read_text(encoding="utf-8"))
    return told


def algorithm_told(policy: Policy) -> Any:
    """Return how a release was made, where the policy says so."""
    return None if isinstance(policy.algorithm, Auto) else policy.algorithm
