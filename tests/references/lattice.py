"""The slow, obvious reference of full-domain recodings: every node of a lattice judged and measured row by row.

Rows are dictionaries, hierarchies are tables of ancestors, classes are counted with `collections.Counter`. It shares
nothing with the roll-up on which the algorithms rest.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pyarrow as pa

from indistinct.algorithms.base import Problem
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.hierarchy import Hierarchy
from indistinct.models import Model
from indistinct.recoding.columns import columns_of
from indistinct.testing.reference import violating_classes

Node = tuple[int, ...]
Vector = tuple[str, ...]
Ladder = Mapping[str, tuple[str, ...]]
"""Each raw value of a column, those without data included, with its ancestors from itself to the top."""


@dataclass(frozen=True, eq=False)
class LatticeTable:
    """A small table of text with a ladder for each quasi-identifier and the sensitive column `disease`."""

    rows: tuple[Mapping[str, str], ...]
    ladders: Mapping[str, Ladder]

    @property
    def heights(self) -> Node:
        """Return the height of each hierarchy."""
        return tuple(len(next(iter(ladder.values()))) - 1 for ladder in self.ladders.values())

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """Return the ladders as declared hierarchies."""
        return {name: Hierarchy.from_rows(ladder.values(), rooted=False) for name, ladder in self.ladders.items()}

    def arrow(self) -> pa.Table:
        """Return the rows as a table that can be opened."""
        return pa.table({name: [row[name] for row in self.rows] for name in (*self.ladders, "disease")})

    def problem(self, model: Model, *, suppression: int = 0, keys: Iterable[tuple[str, ...]] = ()) -> Problem:
        """Return what an algorithm is given."""
        request = Request(tuple(self.ladders), tuple(dict.fromkeys((*model.keys, *keys))), self.hierarchies)
        counted = count_source(self.arrow(), request)
        return Problem(counted.frequencies, columns_of(counted.domains, self.hierarchies), model, suppression)

    def nodes(self) -> Iterator[Node]:
        """Yield every node, lexicographically."""
        yield from product(*(range(height + 1) for height in self.heights))

    def partial_nodes(self, size: int) -> Iterator[Node]:
        """Yield every node over each choice of so many columns; a column that is left out has level -1."""
        for node in product(*(range(-1, height + 1) for height in self.heights)):
            if sum(level >= 0 for level in node) == size:
                yield node

    def generalized(self, node: Node) -> list[Vector]:
        """Return what each row publishes at a node."""
        kept = [(name, level) for name, level in zip(self.ladders, node, strict=True) if level >= 0]
        return [tuple(self.ladders[name][row[name]][level] for name, level in kept) for row in self.rows]

    def outside(self, node: Node, model: Model) -> set[Vector]:
        """Return the published vectors whose classes break a model."""
        vectors = self.generalized(node)
        shown = [{"class": vector, "disease": row["disease"]} for vector, row in zip(vectors, self.rows, strict=True)]
        return {key for (key,) in violating_classes(shown, ["class"], model=model, original=self.rows)}

    def suppressed(self, node: Node, model: Model) -> int:
        """Return how many rows a node suppresses under a model."""
        outside = self.outside(node, model)
        return sum(count for vector, count in Counter(self.generalized(node)).items() if vector in outside)

    def satisfying(self, model: Model, suppression: int = 0) -> set[Node]:
        """Return every node that satisfies a model within a budget and publishes at least a row."""
        allowed = min(suppression, len(self.rows) - 1)
        return {node for node in self.nodes() if self.suppressed(node, model) <= allowed}

    def precision(self, node: Node, weights: Sequence[int] = ()) -> Fraction:
        """Return Sweeney's precision of a node without suppression, exactly; a weighted mean where columns matter."""
        matter = weights or (1,) * len(node)
        steps = [w * Fraction(level, height) for level, height, w in zip(node, self.heights, matter, strict=True)]
        return 1 - sum(steps, Fraction(0)) / sum(matter)

    def scores(self, node: Node, model: Model, *, k: int = 1, weights: Sequence[float] = ()) -> dict[str, float]:
        """Return every registered metric of a node whose broken classes are suppressed.

        `weights` say how much columns matter: means over columns are weighted then, and so are sums.
        """
        vectors, outside = self.generalized(node), self.outside(node, model)
        classes = {vector: count for vector, count in Counter(vectors).items() if vector not in outside}
        rows, kept = len(self.rows), sum(classes.values())
        gone = rows - kept
        matter = weights or (1.0,) * len(node)
        cells = [_Cells.of(self, place, node[place], vectors, outside) for place in range(len(node))]
        width = rows * sum(matter)
        means = [sum(cell.losses) / rows for cell in cells]
        lost = math.fsum(w * x for cell, w in zip(cells, matter, strict=True) for x in cell.losses)
        ncp = math.fsum(w * x for cell, w in zip(cells, matter, strict=True) for x in cell.penalties)
        steps = math.fsum(w * x for cell, w in zip(cells, matter, strict=True) for x in cell.steps)
        majority = sum(
            max(Counter(row["disease"] for row, shown in self._with(vectors) if shown == vector).values())
            for vector in classes
        )
        return {
            "discernibility": float(sum(count * count for count in classes.values()) + gone * rows),
            "average-class-size": kept / len(classes) / k if classes else math.inf,
            "loss": lost / width,
            "geometric-loss": math.prod((1 + x) ** (w / sum(matter)) for x, w in zip(means, matter, strict=True)) - 1,
            "iloss": math.fsum(w * x for cell, w in zip(cells, matter, strict=True) for x in cell.excess),
            "ncp": ncp,
            "gcp": ncp / width,
            "precision": 1 - steps / width,
            "distortion": steps,
            "entropy": math.fsum(cell.bits for cell in cells),
            "classification": (rows - majority) / rows,
        }

    def _with(self, vectors: list[Vector]) -> Iterator[tuple[Mapping[str, str], Vector]]:
        return zip(self.rows, vectors, strict=True)


@dataclass(frozen=True, slots=True)
class _Cells:
    """One column of a node: what each of its cells costs."""

    losses: list[float]
    excess: list[float]
    penalties: list[float]
    steps: list[float]
    bits: float

    @staticmethod
    def of(table: LatticeTable, place: int, level: int, vectors: list[Vector], outside: set[Vector]) -> "_Cells":
        name, ladder = list(table.ladders.items())[place]
        leaves, size = Counter(path[level] for path in ladder.values()), len(ladder)
        cells = _Cells([], [], [], [], _bits(table, name, place, vectors, outside))
        for vector in vectors:
            gone, n = vector in outside, leaves[vector[place]]
            cells.losses.append(1.0 if gone else (n - 1) / (size - 1) if size > 1 else 0.0)
            cells.excess.append((size - 1) / size if gone else (n - 1) / size)
            cells.penalties.append(1.0 if gone else 0.0 if n == 1 else n / size)
            cells.steps.append(1.0 if gone else level / table.heights[place])
        return cells


def _bits(table: LatticeTable, name: str, place: int, vectors: list[Vector], outside: set[Vector]) -> float:
    """Return what a column's generalization takes from all rows, and suppression from the generalized values."""
    raw, coarse = Counter(row[name] for row in table.rows), Counter(vector[place] for vector in vectors)
    bits = [math.log2(coarse[vector[place]] / raw[row[name]]) for row, vector in zip(table.rows, vectors, strict=True)]
    dropped = Counter(vector[place] for vector in vectors if vector in outside)
    gone = sum(dropped.values())
    return math.fsum(bits) + math.fsum(count * math.log2(gone / count) for count in dropped.values())


def random_table(seed: int, *, rooted: bool = True, most_columns: int = 4, most_height: int = 3) -> LatticeTable:
    """Return a small table with random hierarchies, the same for the same seed; heights are at least 1."""
    dice = random.Random(seed)  # noqa: S311
    ladders = {f"q{place}": _ladder(dice, most_height, rooted=rooted) for place in range(dice.randint(1, most_columns))}
    common = {name: dice.sample(sorted(ladder), dice.randint(1, len(ladder))) for name, ladder in ladders.items()}
    diseases = ["flu", "HIV", "ulcer", "cold"][: dice.randint(2, 4)]
    rows: list[dict[str, str]] = []
    for _ in range(dice.randint(2, 24)):
        row = {name: dice.choice(values) for name, values in common.items()}
        # Half of the rows repeat an earlier vector, so that classes of several sizes occur at every level.
        if rows and dice.random() < 0.5:
            row = {name: dice.choice(rows)[name] if dice.random() < 0.1 else rows[-1][name] for name in ladders}
        rows.append({**row, "disease": dice.choice(diseases)})
    return LatticeTable(tuple(rows), ladders)


def _ladder(dice: random.Random, most_height: int, *, rooted: bool) -> Ladder:
    height, leaves = dice.randint(1, most_height), [f"v{place}" for place in range(dice.randint(1, 5))]
    paths = {leaf: [leaf] for leaf in leaves}
    for level in range(1, height + 1):
        groups = 1 if rooted and level == height else dice.randint(1, 3)
        below = {path[-1] for path in paths.values()}
        parents = {node: f"{level}:{dice.randrange(groups)}" for node in sorted(below)}
        for path in paths.values():
            path.append(parents[path[-1]])
    return {leaf: tuple(path) for leaf, path in paths.items()}
