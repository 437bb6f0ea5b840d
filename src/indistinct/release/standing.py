"""Who stands where in a release, by pseudonym: what is left of an assignment once nobody's name and value is in it.

Two releases are compared by it, whether the earlier one was made again by its recoding or is remembered by a ledger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from indistinct.arrays import Codes, starts_of
from indistinct.domain import Domain
from indistinct.engines.base import Engine, Source
from indistinct.frequencies.grouping import group_rows
from indistinct.frequencies.request import Request
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.projection import project
from indistinct.release.pseudonyms import KIND, LENGTH, digests, pseudonyms
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """The set of values that each class shows in a sensitive column.

    Class `i` shows `values[codes[indptr[i]:indptr[i + 1]]]`. Values are pseudonyms and ascend, and so do the codes of
    a class.
    """

    type: str
    values: Codes
    indptr: Codes
    codes: Codes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Standing:
    """The people of a release and the classes in which each stands.

    Person `i` stands in `classes[indptr[i]:indptr[i + 1]]`. `people` are pseudonyms and ascend. `rows` has a digest of
    each person's own sensitive values, which is another one as soon as these change; `person` has the columns that
    tell people apart, with their types. `own` has the codes of each person's values by column, as compressed sparse
    rows: only of a release that is being made.
    """

    person: Mapping[str, str]
    people: Codes
    rows: Codes
    indptr: Codes
    classes: Codes
    size: int
    signatures: Mapping[str, Signatures] = field(default_factory=dict)
    own: Mapping[str, tuple[Codes, Codes]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.people)

    def owners(self) -> Codes:
        """Return the person behind every entry of `classes`."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))


def standing_of(engine: Engine, source: Source, assignment: Assignment, *, schema: Schema, key: bytes) -> Standing:
    """Return who stands in which class of what an assignment publishes, under a key."""
    names, person = assignment.frequencies.names, tuple(schema.person)
    sensitive = tuple(name for name in schema.sensitive if name in source.columns and name not in names)
    known = {domain.column: domain for domain in assignment.domains}
    counted = engine.count(source, Request((*names, *person, *sensitive), domains=known, published=True))
    cells, domains = counted.frequencies, counted.known
    projected, places = project(cells, names)
    if not np.array_equal(projected.vectors, assignment.frequencies.vectors):
        raise AssertionError("the cells of a table do not depend on who stands in them")
    class_ids = assignment.class_ids[places].astype(np.int64)
    who = cells.vectors[:, len(names) : len(names) + len(person)]
    absent = ((who == 0) & np.array([domains[name].missing for name in person])).any(axis=1)
    kept = (class_ids >= 0) & ~absent
    class_ids, who, counts = class_ids[kept], who[kept], cells.counts[kept]
    values = cells.vectors[kept, len(names) + len(person) :]
    people, ranks = _people(key, [domains[name] for name in person], who)
    indptr, classes = _lists(ranks, class_ids, len(people), len(assignment.classes))
    tokens = {name: _tokens(key, domains[name]) for name in sensitive}
    coded = {name: tokens[name][1][values[:, index]] for index, name in enumerate(sensitive)}
    signatures, own = {}, {}
    for name, (pool, _) in tokens.items():
        kind = str(domains[name].kind)
        signatures[name] = Signatures(kind, pool, *_lists(class_ids, coded[name], len(assignment.classes), len(pool)))
        own[name] = _lists(ranks, coded[name], len(people), len(pool))
    return Standing(
        {name: str(domains[name].kind) for name in person},
        people,
        _rows(key, people, ranks, [(tokens[name][0], coded[name]) for name in sensitive], counts),
        indptr,
        classes,
        len(assignment.classes),
        signatures,
        own,
    )


def _people(key: bytes, domains: Sequence[Domain], who: Codes) -> tuple[Codes, Codes]:
    """Return the pseudonyms of people, ascending, and where each row's person is among them."""
    grouping = group_rows(list(who.T), [len(domain) for domain in domains])
    told = pseudonyms(key, domains, who[grouping.first], purpose="person")
    order = np.argsort(told, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return told[order], ranks[grouping.group_ids()]


def _tokens(key: bytes, domain: Domain) -> tuple[Codes, Codes]:
    """Return the pseudonyms of a column's values, ascending, and where that of each code is among them."""
    told = pseudonyms(key, [domain], np.arange(len(domain))[:, None], purpose="value")
    order = np.argsort(told, kind="stable")
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return told[order], places


def _lists(one: Codes, two: Codes, size: int, width: int) -> tuple[Codes, Codes]:
    """Return the distinct second numbers beside each first one below `size`, as compressed sparse rows."""
    grouping = group_rows([one, two], [max(size, 1), max(width, 1)])
    first = grouping.first
    return starts_of(np.bincount(one[first], minlength=size)), two[first].astype(np.int32)


def _rows(key: bytes, people: Codes, ranks: Codes, columns: Sequence[tuple[Codes, Codes]], counts: Codes) -> Codes:
    """Return a digest of every person's sensitive values, with how often each vector of them stands there."""
    if not len(people):
        return np.zeros(0, dtype=KIND)
    codes = [coded for _, coded in columns]
    grouping = group_rows([ranks, *codes], [len(people), *(len(pool) for pool, _ in columns)])
    first = grouping.first
    times = np.add.reduceat(counts[grouping.order], grouping.starts[:-1]).astype(">i8")
    parts = [times.view("S8"), *(pool[coded[first]] for pool, coded in columns)]
    content = np.concatenate(
        [np.frombuffer(part.tobytes(), np.uint8).reshape(len(first), part.itemsize) for part in parts], axis=1
    )
    starts = (starts_of(np.bincount(ranks[first], minlength=len(people))) * content.shape[1]).tolist()
    whole, names = content.tobytes(), people.tobytes()
    texts = [
        names[LENGTH * index : LENGTH * (index + 1)] + whole[starts[index] : starts[index + 1]]
        for index in range(len(people))
    ]
    return digests(key, texts)
