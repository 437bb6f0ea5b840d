"""A register with names: the table that an attacker holds against a release, given or made from the original."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.frequencies.slices import together
from indistinct.machine.arrays import Codes
from indistinct.study.attack.base import Target
from indistinct.study.attack.crowd import Crowd, columns_known, crowd_of, drawn, encoded, original_crowd, table_of


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """People whom an attacker knows, and who they are in the original.

    Somebody may have several entries; `people` tells. `entries` and `originals` number people in the same way; -1 is
    somebody who is not in the original. `by` says how they were compared: by names, by quasi-identifiers, or not at all
    since the register was made from the original.
    """

    people: Crowd
    entries: Codes
    originals: Codes
    by: str


def register_of(target: Target, *, errors: float) -> Register:
    """Return the external table, or a register of everybody in the original; a share of its cells gets errors."""
    original = original_crowd(target)
    if target.external is None:
        some = drawn(original, target)
        return Register(with_errors(some, target, errors), some.persons, original.persons, "simulated")
    people = crowd_of(target, target.external, "the external table")
    entries, originals, by = identities(target, people, original)
    some = drawn(people, target)
    return Register(with_errors(some, target, errors), entries[some.rows], originals, by)


def with_errors(crowd: Crowd, target: Target, errors: float) -> Crowd:
    """Return a crowd in which a share of the cells shows another value of the column, by chance."""
    if not errors:
        return crowd
    chance = np.random.default_rng(target.seed)
    sizes = {column.name: len(column.domain) for column in columns_known(target)}
    known = {}
    for name, codes in crowd.known.items():
        wrong = (chance.random(len(codes)) < errors) & (sizes[name] > 1) & (codes >= 0)
        steps = chance.integers(1, max(sizes[name], 2), len(codes))
        known[name] = np.where(wrong, (codes + steps) % sizes[name], codes)
    return replace(crowd, known=known)


def identities(target: Target, people: Crowd, original: Crowd) -> tuple[Codes, Codes, str]:
    """Number the people of the external table and of the original alike, and say by what; -1 is nobody there."""
    mine, theirs = table_of(target.external, "the external table"), table_of(target.original, "the original")
    names = [name for name in target.schema.hidden if name in mine.column_names and name in theirs.column_names]
    if names:
        columns = [_texts(mine, theirs, name) for name in names]
        return (*_numbered([one for one, _ in columns], [other for _, other in columns]), "names")
    shared = list(people.known)
    entries, originals = _numbered([people.known[n] for n in shared], [original.known[n] for n in shared])
    return entries, originals, "quasi-identifiers"


def _texts(mine: pa.Table, theirs: pa.Table, name: str) -> tuple[Codes, Codes]:
    """Return a column of names in both tables, in codes of the original; -1 is a name that it does not have."""
    one, other = (encoded(table, name) for table in (mine, theirs))
    if one.domain.kind is other.domain.kind:
        codes = one.domain.translate(other.domain)
    else:
        places = {text: code for code, text in enumerate(other.domain.texts())}
        codes = np.array([places.get(text, -1) for text in one.domain.texts()], dtype=np.int64)
    return codes[one.codes], other.codes.astype(np.int64)


def _numbered(mine: list[Codes], theirs: list[Codes]) -> tuple[Codes, Codes]:
    ids, others = together(theirs, mine, rows=0)
    assert others is not None  # noqa: S101
    return np.where(np.isin(others, ids), others, -1), ids
