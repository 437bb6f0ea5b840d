"""Small classes from plain lists, to try a model on without an engine or a table."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from indistinct.frequencies.value import Classes, Histogram, Key
from indistinct.hierarchy.taxonomy import Taxonomy


def classes_of(
    groups: Sequence[Sequence[Any]],
    key: Key = ("s",),
    *,
    original: Iterable[Any] | None = None,
    paths: Mapping[Any, Sequence[str]] | None = None,
) -> Classes:
    """Return one class for each group of sensitive values (vectors as tuples, None for missing).

    `original` holds the values of the whole original table, all groups together if left out; `paths` lays a
    hierarchy over them, as in `taxonomy_of`.

    >>> classes_of([["flu", "flu", "HIV"], []]).histograms[("s",)].counts.tolist()
    [1, 2]
    """
    table = Counter(value for group in groups for value in group) if original is None else Counter(original)
    domain = canonical({*table, *(value for group in groups for value in group)})
    code = {value: place for place, value in enumerate(domain)}
    counted = [sorted((code[value], count) for value, count in Counter(group).items()) for group in groups]
    histogram = Histogram(
        indptr=np.cumsum([0, *map(len, counted)], dtype=np.int64),
        codes=np.array([place for entries in counted for place, _ in entries], dtype=np.int32),
        counts=np.array([count for entries in counted for _, count in entries], dtype=np.int64),
        reference=np.array([table[value] for value in domain], dtype=np.int64),
        taxonomy=None if paths is None else taxonomy_of(domain, paths, column=key[0]),
        texts=tuple(None if value is None else str(value) for value in domain),
    )
    return Classes(np.array([len(group) for group in groups], dtype=np.int64), {key: histogram})


def taxonomy_of(domain: Sequence[Any], paths: Mapping[Any, Sequence[str]], *, column: str = "s") -> Taxonomy:
    """Return the taxonomy in which `paths[value]` are the ancestors of a value, from level 1 to the top."""
    height = len(next(iter(paths.values()), ()))
    ancestors = np.zeros((len(domain), height + 1), dtype=np.int32)
    labels: list[tuple[str | None, ...]] = []
    for level in range(height + 1):
        names = [value if level == 0 else paths[value][level - 1] for value in domain]
        number = {name: node for node, name in enumerate(dict.fromkeys(names))}
        ancestors[:, level] = [number[name] for name in names]
        labels.append(tuple(None if name is None else str(name) for name in number))
    leaves = tuple(np.bincount(ancestors[:, level], minlength=len(labels[level])) for level in range(height + 1))
    return Taxonomy(column, ancestors, tuple(labels), leaves)


def canonical(values: Iterable[Any]) -> list[Any]:
    """Return distinct values in canonical order: missing first, then ascending."""
    return sorted(set(values), key=lambda value: (value is not None, 0 if value is None else value))
