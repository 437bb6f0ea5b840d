"""Who stands where in a release, by pseudonym: what is left of an assignment once nobody's name and value is in it.

Two releases are compared by it, whether the earlier one was made again by its recoding or is remembered by a ledger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.engines.base import Engine, Source
from indistinct.frequencies.encode import encode_column
from indistinct.frequencies.grouping import group_rows
from indistinct.frequencies.request import Request
from indistinct.machine.arrays import Codes, starts_of
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.projection import project
from indistinct.release.pseudonyms.linked import class_sets
from indistinct.release.pseudonyms.making import pseudonyms
from indistinct.schema import Schema
from indistinct.tables.domain import Domain
from indistinct.tables.value import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Standing:
    """The people of a release and the classes in which each stands.

    Person `i` stands in `classes[indptr[i]:indptr[i + 1]]`. `people` are pseudonyms and ascend; `person` has the
    columns that tell people apart, with their types. `k` is the smallest class that was promised. A release is `fresh`
    where every column that is published as it is was measured anew for it.
    """

    person: Mapping[str, str]
    people: Codes
    indptr: Codes
    classes: Codes
    size: int
    k: int = 1
    fresh: bool = False

    def __len__(self) -> int:
        return len(self.people)

    def without(self, held: Codes) -> "Standing":
        """Return the release without the people whom a mask marks."""
        counts = np.diff(self.indptr)
        classes = self.classes[np.repeat(~held, counts)]
        return replace(self, people=self.people[~held], indptr=starts_of(counts[~held]), classes=classes)


def standing_of(
    engine: Engine, source: Source, assignment: Assignment, *, schema: Schema, key: bytes, k: int, fresh: bool = False
) -> Standing:
    """Return who stands in which class of what an assignment publishes, under a key."""
    names, person = assignment.frequencies.names, tuple(schema.person)
    known = {domain.column: domain for domain in assignment.domains}
    counted = engine.count(source, Request((*names, *person), domains=known, published=True))
    cells, domains = counted.frequencies, counted.known
    projected, places = project(cells, names)
    if not np.array_equal(projected.vectors, assignment.frequencies.vectors):
        raise AssertionError("the cells of a table do not depend on who stands in them")
    class_ids = assignment.class_ids[places].astype(np.int64)
    kept = class_ids >= 0
    people, ranks = _people(key, [domains[name] for name in person], cells.vectors[kept, len(names) :])
    indptr, classes = class_sets(ranks, class_ids[kept], len(assignment.classes))
    kinds = {name: str(domains[name].kind) for name in person}
    return Standing(kinds, people, indptr, classes.astype(np.int32), len(assignment.classes), k, fresh)


def rows_of_people(table: Table, people: Codes, *, schema: Schema, key: bytes) -> Codes:
    """Mark the rows of a table that are about some people, who are pseudonyms under a key."""
    columns = [encode_column(name, table.data[name]) for name in schema.person]
    everybody, ranks = _people(
        key, [each.domain for each in columns], np.stack([each.codes for each in columns], axis=1)
    )
    marked: Codes = np.isin(everybody, people)[ranks]
    return marked


def _people(key: bytes, domains: Sequence[Domain], who: Codes) -> tuple[Codes, Codes]:
    """Return the pseudonyms of people, ascending, and where each row's person is among them."""
    grouping = group_rows(list(who.T), [len(domain) for domain in domains])
    words = pseudonyms(key, domains, who[grouping.first], purpose="person")
    order = np.argsort(words, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return words[order], ranks[grouping.group_ids()]
