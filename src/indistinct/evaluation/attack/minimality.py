"""Minimality (Wong et al. 2007): what the choice of an algorithm tells about sensitive values.

The attacker knows all people's quasi-identifiers, the release, and the algorithm with its model and hierarchies. The
sensitive values of a class may be dealt out to its people in many ways. Each way is a table, a *world*; the attacker
runs the algorithm on it and keeps the worlds that give this very release. If the algorithm looks at sensitive values,
fewer are left, and the value of a person may be surer than the class shows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import comb, prod
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Algorithm, Problem, run_search
from indistinct.errors import InfeasibleError, InputError, ParameterError
from indistinct.evaluation.attack.base import Attack, Outcome, Tally, Target
from indistinct.evaluation.attack.finer import settle, shown_classes
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Codes, Floats, starts_of
from indistinct.models.base import Model
from indistinct.parameters import Parameter, Whole
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import QuasiColumn
from indistinct.release.sources import count_source
from indistinct.tables.domain import Domain
from indistinct.text_form import spell

# Chances that differ by less differ by rounding.
ROUNDING = 1e-9
# Tables with more rows have too many possible worlds.
MAX_ROWS = 2000
DEFENCE = "a search that does not look at sensitive values (k-anonymity with a larger k), or anatomy"

Table = tuple[tuple[int, ...], ...]
"""How often each cell of a class (a row) has each of its sensitive values (a column)."""

Release = tuple[tuple[str | None, ...] | None, ...]
"""What is published of each cell: its labels, None for one that is suppressed."""


@dataclass(frozen=True, slots=True)
class Minimality(Attack):
    """Compute each person's chances over all tables that the algorithm maps to the release: exact, for small tables.

    More than `worlds` tables are refused. The attacker names the likeliest value of each person about whom the
    algorithm reveals something, and is judged by the original.
    """

    name: ClassVar[str] = "minimality"
    needs: ClassVar[tuple[str, ...]] = ("original", "model", "algorithm")
    worlds: Annotated[
        int,
        Parameter(
            "Possible tables", "Number of possible original tables that may be enumerated; 2000 take seconds.", Whole()
        ),
    ] = 2000

    def refusal(self, target: Target) -> str | None:
        """Return why the attack does not apply, such as too many tables."""
        missing = Attack.refusal(self, target)
        if missing is not None:
            return missing
        model, algorithm = _model_and_algorithm(target)
        looked_at = _sensitive_keys(model, algorithm)
        if not target.published.structure.whole_rows or algorithm.traits.splits:
            return "it parts rows with equal values, and the attack needs classes that follow from them"
        if algorithm.traits.draws:
            return "the algorithm draws at random, and the table alone does not decide what it publishes"
        if target.schema.person:
            return "it counts people, and the attack deals values out to rows"
        if len(looked_at) > 1 or any(len(key) > 1 for key in looked_at):
            return "the algorithm looks at several sensitive columns together, and the attack deals out one"
        if target.original is not None and target.published.main.rows < target.original.rows:
            return "rows were suppressed, and their sensitive values are unknown"
        if not looked_at:
            return None
        if model.needs_population:
            return "the algorithm compares with a population as well, which the attack does not have"
        return self._too_many(target, looked_at[0])

    def _too_many(self, target: Target, key: Key) -> str | None:
        """Return why the worlds cannot be enumerated, None if they can."""
        rows = target.published.main.rows
        try:
            possible = rows <= MAX_ROWS and known_table(target, key).number(self.worlds) <= self.worlds
        except InputError as error:
            return error.message
        if possible:
            return None
        return f"its {rows:,} rows leave more than {self.worlds:,} possible tables, and each would be searched"

    def run(self, target: Target) -> Outcome:
        """Count the people whose sensitive value becomes more certain, and correct, by knowing the algorithm."""
        model, algorithm = _model_and_algorithm(target)
        looked_at = _sensitive_keys(model, algorithm)
        if not looked_at:
            rows = target.published.main.rows
            return Outcome(
                self.name,
                Tally(rows, 0),
                0.0,
                f"{algorithm.name} does not look at sensitive values for {spell(model)}: its choice tells nothing "
                f"about those of {rows:,} people, and a control does not apply.",
                defence=DEFENCE,
                details={"worlds": 0, "possible": 0, "named": 0, "breached": 0, "certain": 0},
            )
        known = known_table(target, looked_at[0])
        chances, kept = posterior(known, target, worlds=self.worlds)
        return self._outcome(known, chances, kept)

    def _outcome(self, known: "Known", chances: Floats, kept: int) -> Outcome:
        """Count the people for whom the most probable value became more certain than before, and correct."""
        share, truth, rows = known.shares(), known.truth(), known.cells.counts
        guess = chances.argmax(axis=1)
        every = np.arange(len(rows))
        sure, prior = chances[every, guess], share[every, guess]
        named = sure > prior + ROUNDING
        right = np.where(named, truth[every, guess], 0).sum()
        breached = named & (sure > share.max(axis=1) + ROUNDING)
        people, surer = int(rows.sum()), int(rows[named].sum())
        certain = int(rows[named & (sure > 1 - ROUNDING)].sum())
        sentence = (
            f"Knowing the algorithm, an attacker is surer than the classes show of the sensitive values of {surer:,} "
            f"of {people:,} people, and right about {int(right):,}; {certain:,} are certain."
            if surer
            else f"What is known of the algorithm makes no sensitive value of {people:,} people surer than it was."
        )
        return Outcome(
            self.name,
            Tally(people, float(right)),
            float((prior * rows)[named].sum() / people) if people else 0.0,
            f"{sentence} It speaks of all people of the release, so that a control does not apply.",
            defence=DEFENCE,
            details={
                "worlds": known.number(self.worlds),
                "possible": kept,
                "named": surer,
                "breached": int(rows[breached].sum()),
                "certain": certain,
                "largest_chance": float(chances.max(initial=0.0)),
            },
        )


def _model_and_algorithm(target: Target) -> tuple[Model, Algorithm]:
    if target.model is None or target.algorithm is None:
        raise ParameterError("minimality needs the model and the algorithm", hint="pass model=… and algorithm=…")
    return target.model, target.algorithm


def _sensitive_keys(model: Model, algorithm: Algorithm) -> list[Key]:
    """Return the columns that the search looks at in addition to quasi-identifiers; a population is none."""
    return list(dict.fromkeys([*model.table_keys, *algorithm.keys]))


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What the attacker knows, and the truth: the cells of the table, the class of each, one sensitive column.

    `cells` has the true histogram; the attacker sees its sums over classes.
    """

    cells: FrequencySet
    columns: tuple[QuasiColumn, ...]
    class_ids: Codes
    key: Key
    domains: Mapping[str, Domain] = field(default_factory=dict)

    @property
    def histogram(self) -> Histogram:
        """Return the sensitive values of each cell."""
        return self.cells.classes.histograms[self.key]

    def truth(self) -> Codes:
        """Return the count of each value in each cell."""
        histogram, width = self.histogram, len(self.histogram.reference)
        words = histogram.owners() * width + histogram.codes
        return np.bincount(words, weights=histogram.counts, minlength=len(self.cells) * width).reshape(-1, width)

    def shares(self) -> Floats:
        """Return the share of each value in the class of each cell: what the release shows."""
        truth, size = self.truth(), int(self.class_ids.max(initial=-1)) + 1
        sums = np.stack([np.bincount(self.class_ids, weights=column, minlength=size) for column in truth.T], axis=1)
        return (sums / sums.sum(axis=1, keepdims=True))[self.class_ids]

    def _margins(self) -> list[tuple[Codes, tuple[int, ...], tuple[int, ...]]]:
        """Return for each class its cells, their numbers of rows, and how often each value occurs in it."""
        truth = self.truth().astype(np.int64)
        margins: list[tuple[Codes, tuple[int, ...], tuple[int, ...]]] = []
        for class_id in range(int(self.class_ids.max(initial=-1)) + 1):
            own = np.flatnonzero(self.class_ids == class_id)
            margins.append((own, tuple(self.cells.counts[own].tolist()), tuple(truth[own].sum(axis=0).tolist())))
        return margins

    def number(self, limit: int) -> int:
        """Return how many tables look like this release, or a number above the limit if there are more."""
        number = 1
        for _, rows, values in self._margins():
            number *= ways_to_deal(rows, values, limit=limit)
            if number > limit:
                break
        return number

    def worlds(self) -> Iterator[tuple[Codes, int]]:
        """Yield every table that looks like this release: counts of cells × values, and how many dealings give it."""
        margins = self._margins()
        dealt = [list(deal(rows, values)) for _, rows, values in margins]
        for tables in product(*dealt):
            counts, weight = np.zeros((len(self.cells), len(self.histogram.reference)), dtype=np.int64), 1
            for (own, _, _), table in zip(margins, tables, strict=True):
                counts[own] = table
                weight *= prod(_orders(row) for row in table)
            yield counts, weight


def ways_to_deal(rows: tuple[int, ...], values: tuple[int, ...], *, limit: int) -> int:
    """Return the number of tables with these sums of rows and of columns, or a number above the limit if it is above.

    >>> ways_to_deal((2, 1), (1, 2), limit=10)
    2
    """
    left = {values: 1}
    for size in rows[:-1]:
        after: dict[tuple[int, ...], int] = {}
        number = 0
        for values_left, ways in left.items():
            for taken in _takings(size, values_left):
                rest = tuple(a - b for a, b in zip(values_left, taken, strict=True))
                after[rest] = after.get(rest, 0) + ways
                number += ways
                if number > limit:  # whatever is left can be dealt out to the other rows
                    return number
        left = after
    return sum(left.values())


def deal(rows: tuple[int, ...], values: tuple[int, ...]) -> Iterator[Table]:
    """Yield every table with these sums of rows and of columns.

    >>> list(deal((2, 1), (1, 2)))
    [((0, 2), (1, 0)), ((1, 1), (0, 1))]
    """
    if len(rows) == 1:
        yield (values,)
        return
    for taken in _takings(rows[0], values):
        rest = tuple(a - b for a, b in zip(values, taken, strict=True))
        for table in deal(rows[1:], rest):
            yield (taken, *table)


def _takings(size: int, values: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield every way to take a number of some values."""
    if len(values) == 1:
        if size <= values[0]:
            yield (size,)
        return
    for first in range(max(0, size - sum(values[1:])), min(size, values[0]) + 1):
        for others in _takings(size - first, values[1:]):
            yield (first, *others)


def _orders(row: tuple[int, ...]) -> int:
    """Return in how many ways the people of a cell can have its values."""
    total, orders = sum(row), 1
    for count in row:
        orders *= comb(total, count)
        total -= count
    return orders


def known_table(target: Target, key: Key) -> Known:
    """Return the table that the attacker tries to guess, and the published class of each of its cells."""
    classes = shown_classes(target)
    class_of_cell, settled = settle(classes, whole=True)
    if not settled.all() or (class_of_cell < 0).any():
        raise InputError(
            "the published classes do not show which rows of the original they contain",
            hint="check that original, schema and hierarchies are those of this release; labels must not overlap",
        )
    counted = count_source(target.original, Request(target.schema.quasi, (key,), target.hierarchies))
    return Known(counted.frequencies, classes.columns, class_of_cell, key, counted.known)


def posterior(known: Known, target: Target, *, worlds: int) -> tuple[Floats, int]:
    """Return the probability of each value over the worlds that give this release, and the number of these worlds."""
    release = _search_world(known, known.truth().astype(np.int64), target)
    if release is None or not _same_classes(release, known.class_ids):
        raise InputError(
            "the algorithm does not make this release of the original",
            hint="give model, algorithm, hierarchies and suppression as they were",
        )
    chances, total, kept, number = np.zeros(known.truth().shape), 0, 0, known.number(worlds)
    for index, (counts, weight) in enumerate(known.worlds()):
        if _search_world(known, counts, target) == release:
            chances += weight * counts / known.cells.counts[:, None]
            total, kept = total + weight, kept + 1
        target.progress((index + 1) / number)
    return chances / total, kept


def _search_world(known: Known, counts: Codes, target: Target) -> Release | None:
    """Run the algorithm on a world; None where it finds nothing."""
    model, algorithm = _model_and_algorithm(target)
    owners, codes = np.nonzero(counts)
    indptr = starts_of(np.bincount(owners, minlength=len(counts)))
    histogram = replace(known.histogram, indptr=indptr, codes=codes.astype(np.int32), counts=counts[owners, codes])
    cells = replace(known.cells, classes=Classes(known.cells.counts, {known.key: histogram}), joint=None)
    allowed = target.suppression.allows(known.cells.rows)
    try:
        release = run_search(algorithm, Problem(cells, known.columns, model, suppression=allowed, known=known.domains))
    except InfeasibleError:
        return None
    published = assign(cells, replace(release, schema=target.schema))
    texts = [output.cast(pa.string()).to_pylist() for column in published.columns for _, output in column.outputs]
    positions = [j for j, column in enumerate(published.columns) for _ in column.outputs]
    labels = [
        tuple(text[code] for text, code in zip(texts, values[positions].tolist(), strict=True))
        for values in published.values
    ]
    return tuple(None if index < 0 else labels[index] for index in published.class_ids.tolist())


def _same_classes(release: Release, class_ids: Codes) -> bool:
    """Return whether cells that show the same are those of one class, and none is suppressed."""
    pairs = set(zip(release, class_ids.tolist(), strict=True))
    return None not in release and len(pairs) == len(set(release)) == len(set(class_ids.tolist()))
