"""Counting rows in plain Python: slow, obvious, and sharing no code with the engine that works in memory."""

from collections import Counter
from unicodedata import normalize

import numpy as np
import pyarrow as pa

from indistinct.errors import UnseenValueError
from indistinct.frequencies.count import Counted, nobody
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Histogram, Joint
from indistinct.machine.arrays import starts_of
from indistinct.tables.domain import Domain


def count_rows(rows, schema, request):
    """Return what was asked for, and the cell and the joint code of every row."""
    others = request.population.data if request.population else []
    asked = dict.fromkeys(name for key in (request.quasi, *request.keys, *request.groupings) for name in key)
    asked.pop(PERSON, None)
    domains = {
        name: request.domains.get(name)
        or domain_of(name, schema, [*rows, *(others if name in request.quasi else [])], request.hierarchies.get(name))
        for name in asked
    }
    codes = {name: {value: code for code, value in enumerate(values_of(each))} for name, each in domains.items()}

    def vectors(some, names):
        if any(row[name] not in codes[name] for row in some for name in names):
            raise UnseenValueError("a value outside the domain", hint="search a new recoding")
        return [tuple(codes[name][row[name]] for name in names) for row in some]

    def cells_of(some, names):
        counts = sorted(Counter(vectors(some, names)).items())
        return FrequencySet(tuple(names), matrix([v for v, _ in counts]), Classes(np.array([n for _, n in counts])))

    cells, distinct = ranked(vectors(rows, request.quasi))
    who, pairs = people_of(rows, request), {}

    def codes_of(key):
        if key == (PERSON,):
            return who
        if key[0] == PERSON:
            both, pairs[key] = ranked(list(zip(who, codes_of(key[1:]), strict=True)))
            return both
        own = vectors(rows, key)
        return [code for (code,) in own] if len(key) == 1 else ranked(own)[0]

    keys = {key: codes_of(key) for key in request.keys}
    histograms = {key: histogram_of(key, own, cells, domains, request, pairs.get(key)) for key, own in keys.items()}
    joint, together = None, [None] * len(rows)
    if request.joint and keys:
        together, parts = ranked(list(zip(*keys.values(), strict=True)))
        joint = Joint(histogram(cells, together, len(parts)), dict(zip(keys, matrix(parts).T, strict=True)))
    classes = Classes(np.bincount(cells), histograms)
    frequencies = FrequencySet(tuple(request.quasi), matrix(distinct), classes, joint)
    groupings = {key: cells_of(rows, key) for key in request.groupings}
    population = cells_of(others, request.quasi) if request.population else None
    quasi = tuple(domains[name] for name in request.quasi)
    alone = {name: alone_in([row[name] for row in rows]) for name in request.alone}
    alike = alike_in(rows, request.person) if any(PERSON in key for key in request.keys) else None
    return Counted(quasi, frequencies, domains, groupings, population, alone, alike), cells, together


def alike_in(rows, person):
    def plain(value):
        return normalize("NFC", value).strip().lower() if isinstance(value, str) else value

    return len({tuple(plain(row[name]) for name in person) for row in rows})


def alone_in(values):
    return sum(count == 1 for value, count in Counter(values).items() if value is not None)


def domain_of(name, schema, rows, hierarchy):
    values, order = {row[name] for row in rows} - {None}, getattr(hierarchy, "values", None)
    arranged = sorted(values) if order is None else [value for value in order if value in values]
    kind, missing = schema.field(name).type, any(row[name] is None for row in rows)
    if not values:
        return Domain(name, pa.array([], pa.string()), missing=missing)
    return Domain(name, pa.array(arranged, kind), missing=missing, declared=order is not None)


def values_of(domain):
    return [*([None] if domain.missing else []), *domain.values.to_pylist()]


def ranked(vectors):
    distinct = sorted(set(vectors))
    rank = {vector: code for code, vector in enumerate(distinct)}
    return [rank[vector] for vector in vectors], distinct


def matrix(vectors):
    return np.array(vectors, dtype=np.int32).reshape(len(vectors), -1)


def histogram(owners, codes, width, taxonomy=None, texts=(), pairs=None):
    entries = sorted(Counter(zip(owners, codes, strict=True)).items())
    indptr = starts_of(np.bincount([owner for (owner, _), _ in entries], minlength=max(owners) + 1))
    own, counts = np.array([c for (_, c), _ in entries], np.int32), np.array([n for _, n in entries])
    return Histogram(indptr, own, counts, np.bincount(codes, minlength=width), taxonomy, texts, pairs)


def histogram_of(key, own, cells, domains, request, pairs=None):
    if key[0] == PERSON:
        return histogram(cells, own, max(own) + 1, pairs=None if pairs is None else tuple(matrix(pairs).T))
    if len(key) > 1:
        return histogram(cells, own, max(own) + 1, None, tuple(map(str, range(max(own) + 1))))
    domain, hierarchy = domains[key[0]], request.hierarchies.get(key[0])
    return histogram(cells, own, len(domain), hierarchy.bind(domain) if hierarchy else None, domain.texts())


def people_of(rows, request):
    for name in request.person if any(PERSON in key for key in request.keys) else ():
        if absent := sum(row[name] is None for row in rows):
            raise nobody(name, absent)
    return ranked([tuple(row[name] or 0 for name in request.person) for row in rows])[0]


def spelled(value):
    return repr(value) if isinstance(value, float) else pa.array([value]).cast(pa.string())[0].as_py()


def canonical(column):
    """Return a column without a dictionary, in which -0.0 and 0.0 are one."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):
        return column
    return pa.chunked_array([pa.array([None if x is None else x + 0.0 for x in column.to_pylist()], column.type)])
