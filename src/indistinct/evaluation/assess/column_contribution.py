"""What every quasi-identifier adds to the risk: how it would be without the column, or one or more levels coarser.

It is computed on cells, as a search does: a recoding that changes one column merges cells.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from indistinct.errors import InputError
from indistinct.evaluation.assess.reidentification import Reidentification, prosecutor, uniques
from indistinct.frequencies.lattice import OUT, Cells
from indistinct.frequencies.value import PERSON, Classes, FrequencySet
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.machine.threads import spread
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True)
class RiskAfter:
    """The risk for a prosecutor after one column has changed, how many are unique, and how many classes there are."""

    prosecutor: Reidentification
    uniques: int
    classes: int

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return {**self.prosecutor.to_json(), "uniques": self.uniques, "classes": self.classes}


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one quasi-identifier adds to the risk.

    `removed` is the risk without it, and `levels[i]` the risk if it alone were published i + 1 levels coarser; none
    where it has no hierarchy that fits its values.
    """

    column: str
    removed: RiskAfter
    levels: tuple[RiskAfter, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        levels = [{"level": level, **risk.to_json()} for level, risk in enumerate(self.levels, start=1)]
        return {"removed": self.removed.to_json(), "levels": levels}


def contributions(
    cells: FrequencySet,
    domains: Sequence[Domain],
    *,
    columns: Mapping[str, Sequence[str]],
    taxonomies: Mapping[str, Taxonomy],
    threshold: Fraction,
) -> tuple[Contribution, ...]:
    """Return the contribution of each quasi-identifier to the risk, the largest first.

    `columns` are the published columns of each of them: a range may be shown as two bounds. `taxonomies` lie over the
    values that the table shows, where a hierarchy fits them.
    """
    persons = cells.classes.histograms.get((PERSON,))
    bare = Classes(cells.classes.sizes, {} if persons is None else {(PERSON,): persons})
    rolled = Cells(
        replace(cells, classes=bare, joint=None), tuple(taxonomies.get(each.column) or _flat(each) for each in domains)
    )
    index_of = {domain.column: index for index, domain in enumerate(domains)}

    def contribution(name: str) -> Contribution:
        own = [index_of[each] for each in columns[name]]
        removed = rolled.roll_up(rolled.base, [OUT if index in own else 0 for index in range(len(domains))])
        levels, finer = [], rolled.base
        if list(columns[name]) == [name] and name in taxonomies:
            for level in range(1, taxonomies[name].height + 1):
                finer = rolled.roll_up(finer, [level if index in own else 0 for index in range(len(domains))])
                levels.append(_risk(finer.classes, threshold))
        return Contribution(name, _risk(removed.classes, threshold), tuple(levels))

    _ = rolled.base  # computed once, before threads ask for it
    return tuple(
        sorted(spread(contribution, columns, rows=cells.rows), key=lambda each: each.removed.prosecutor.average)
    )


def _risk(classes: Classes, threshold: Fraction) -> RiskAfter:
    """Return the risk figures of classes."""
    return RiskAfter(prosecutor(classes, threshold=threshold), uniques(classes), len(classes))


def taxonomies_of_values(domains: Sequence[Domain], hierarchies: Mapping[str, Hierarchy]) -> dict[str, Taxonomy]:
    """Return the hierarchies that cover all values of their columns, bound to these values."""
    taxonomies = {}
    for domain in domains:
        if domain.column in hierarchies:
            with suppress(InputError):  # labels of a release are not the values that a hierarchy was made for
                taxonomies[domain.column] = hierarchies[domain.column].bind(domain)
    return taxonomies


def taxonomies_of_labels(domains: Sequence[Domain], originals: Mapping[str, Taxonomy]) -> dict[str, Taxonomy]:
    """Return hierarchies over published labels, for columns whose labels are all of one level."""
    taxonomies = {domain.column: _above(domain, originals.get(domain.column)) for domain in domains}
    return {name: taxonomy for name, taxonomy in taxonomies.items() if taxonomy is not None}


def _above(domain: Domain, original: Taxonomy | None) -> Taxonomy | None:
    """Return the hierarchy above published labels if they are exactly one level of the original hierarchy."""
    if original is None:
        return None
    texts = domain.texts()
    for level, labels in enumerate(original.labels):
        index = {label: node for node, label in enumerate(labels)}
        if len(index) < len(labels) or any(text not in index for text in texts):
            continue
        nodes = np.array([index[text] for text in texts])
        some = np.zeros(len(labels), dtype=np.int64)  # a value below each node: all of them share what is above it
        some[original.ancestors[:, level]] = np.arange(len(original.ancestors))
        ancestors = original.ancestors[some[nodes], level:].copy()
        ancestors[:, 0] = np.arange(len(domain))
        levels, leaves = [texts], [original.leaves[level][nodes]]
        for above in range(1, ancestors.shape[1]):  # nodes that no label is below are left out, and others renumbered
            used, ancestors[:, above] = np.unique(ancestors[:, above], return_inverse=True)
            levels.append(tuple(original.labels[level + above][node] for node in used))
            leaves.append(original.leaves[level + above][used])
        return Taxonomy(domain.column, ancestors, tuple(levels), tuple(leaves))
    return None


def _flat(domain: Domain) -> Taxonomy:
    """Return the values of a column with nothing above them."""
    codes: Codes = np.arange(len(domain), dtype=np.int32)
    return Taxonomy(domain.column, codes[:, None], (domain.texts(),), (np.ones(len(domain), dtype=np.int64),))
