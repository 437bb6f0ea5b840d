"""Laws of the metrics on generated recodings; a slow recomputation, row by row, must agree."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.metrics import (
    Distortion,
    GeneralizedTuple,
    Metric,
    NonUniformEntropy,
    class_distance,
    standard_metrics,
    tuple_distance,
    weighted_hierarchical_distance,
)
from indistinct.metrics.loss import Scheme
from indistinct.recoding.outputs import Assignment
from references.by_hand import HandColumn, HandValue, assignment_by_hand

# A number along its line, and a name with a binary hierarchy over eight values.
COLUMNS = (
    HandColumn("number", size=8, span=7, height=1, ranged=True),
    HandColumn("name", size=8, height=3),
)
K = 2
METRICS: tuple[Metric, ...] = (*standard_metrics(k=K, target="y"),)
MONOTONE = tuple(metric for metric in METRICS if metric.monotone)

Row = tuple[int, int]
Labelled = tuple[Row, str]
Partition = tuple[list[list[Labelled]], list[Labelled]]

rows = st.tuples(st.tuples(st.integers(0, 7), st.integers(0, 7)), st.sampled_from("yn"))
laws = settings(deadline=None, max_examples=80)


def ancestor(value: int, level: int) -> HandValue:
    return HandValue(f"{value >> level}@{level}", low=0, high=0, leaves=2**level, level=level)


def show(members: list[Labelled]) -> list[HandValue]:
    """Return the tightest range and the closest common ancestor of a group."""
    numbers = [row[0] for row, _ in members]
    names = [row[1] for row, _ in members]
    low, high = min(numbers), max(numbers)
    level = next(level for level in range(4) if len({name >> level for name in names}) == 1)
    stretch = HandValue(f"{low}-{high}", low, high, leaves=high - low + 1, level=int(low != high))
    return [stretch, ancestor(names[0], level)]


def united(groups: list[list[Labelled]]) -> list[list[Labelled]]:
    """Unite the groups that show the same, as a reader of the release would."""
    classes: dict[tuple[HandValue, ...], list[Labelled]] = {}
    for members in groups:
        classes.setdefault(tuple(show(members)), []).extend(members)
    return list(classes.values())


def assign(groups: list[list[Labelled]], dropped: list[Labelled]) -> Assignment:
    everything = [*[(members, show(members)) for members in groups], (dropped, None)]
    return assignment_by_hand(
        COLUMNS,
        [([row for row, _ in members], shown) for members, shown in everything],
        sensitive={"y": [label for members, _ in everything for _, label in members]},
    )


@st.composite
def partitions(draw: st.DrawFn, *, classes: int = 1) -> Partition:
    groups = draw(st.lists(st.lists(rows, min_size=1, max_size=4), min_size=classes, max_size=6))
    return groups, draw(st.lists(rows, max_size=3))


def slow(groups: list[list[Labelled]], dropped: list[Labelled]) -> dict[str, float]:
    """Recompute every metric from rows, one cell at a time."""
    classes = united(groups)
    n = sum(map(len, classes)) + len(dropped)
    cells = n * len(COLUMNS)
    total = Counter[str]()
    losses = [0.0] * len(COLUMNS)
    for members in classes:
        shown = show(members)
        total["discernibility"] += len(members) ** 2
        labels = Counter(label for _, label in members)
        total["wrong"] += len(members) - max(labels.values())
        for _ in members:
            for place, (column, value) in enumerate(zip(COLUMNS, shown, strict=True)):
                width = (value.high - value.low) / column.span if column.ranged else None
                loss = width if width is not None else (value.leaves - 1) / (column.size - 1)
                share = 0 if value.leaves == 1 else value.leaves / column.size
                losses[place] += loss
                total["loss"] += loss
                total["iloss"] += (value.leaves - 1) / column.size
                total["ncp"] += width if width is not None else share
                total["levels"] += value.level / column.height
    for _ in dropped:
        total["discernibility"] += n
        total["wrong"] += 1
        for place, column in enumerate(COLUMNS):
            losses[place] += 1
            total["loss"] += 1
            total["iloss"] += (column.size - 1) / column.size
            total["ncp"] += 1
            total["levels"] += 1
    released = n - len(dropped)
    return {
        "discernibility": total["discernibility"],
        "average-class-size": released / len(classes) / K,
        "loss": total["loss"] / cells,
        "iloss": total["iloss"],
        "ncp": total["ncp"],
        "gcp": total["ncp"] / cells,
        "precision": 1 - total["levels"] / cells,
        "distortion": total["levels"],
        "entropy": slow_entropy(classes, dropped),
        "geometric-loss": math.prod(1 + loss / n for loss in losses) ** (1 / len(COLUMNS)) - 1,
        "classification": total["wrong"] / n,
    }


def slow_entropy(classes: list[list[Labelled]], dropped: list[Labelled]) -> float:
    bits = 0.0
    for place in range(len(COLUMNS)):
        pairs = [(row[place], show(members)[place].text) for members in classes for row, _ in members]
        pairs += [(row[place], "suppressed") for row, _ in dropped]
        whole = Counter(published for _, published in pairs)
        bits -= sum(count * math.log2(count / whole[pair[1]]) for pair, count in Counter(pairs).items())
    return bits


@given(partitions())
@laws
def test_metrics_agree_with_a_recomputation_row_by_row(partition: Partition) -> None:
    assignment = assign(*partition)
    expected = slow(*partition)
    assert {metric.name for metric in METRICS} == set(expected)
    for metric in METRICS:
        assert metric.value(assignment) == pytest.approx(expected[metric.name], abs=1e-9), metric.name


@given(partitions())
@laws
def test_values_stay_within_their_bounds(partition: Partition) -> None:
    assignment = assign(*partition)
    for metric in METRICS:
        low, high = metric.bounds
        value = metric.value(assignment)
        assert low is None or value >= low, metric.name
        assert high is None or value <= high, metric.name


@given(partitions(classes=2), st.data())
@laws
def test_merging_classes_never_improves_a_monotone_metric(partition: Partition, data: st.DataObject) -> None:
    groups, dropped = partition
    fine = united(groups)
    first = data.draw(st.integers(0, len(fine) - 1))
    second = data.draw(st.integers(0, len(fine) - 1).filter(lambda place: place != first or len(fine) == 1))
    coarse = [members for place, members in enumerate(fine) if place not in (first, second)]
    coarse.append(fine[first] + (fine[second] if second != first else []))
    before, after = assign(fine, dropped), assign(coarse, dropped)
    for metric in MONOTONE:
        gained = metric.value(after) - metric.value(before)
        assert (gained if metric.goal == "max" else -gained) <= 1e-9, metric.name


@given(partitions(), st.data())
@laws
def test_suppressing_a_class_improves_nothing_but_the_average(partition: Partition, data: st.DataObject) -> None:
    groups, dropped = partition
    fine = united(groups)
    victim = data.draw(st.integers(0, len(fine) - 1))
    kept = [members for place, members in enumerate(fine) if place != victim]
    before, after = assign(fine, dropped), assign(kept, dropped + fine[victim])
    for metric in MONOTONE:
        if metric.name != "average-class-size":
            gained = metric.value(after) - metric.value(before)
            assert (gained if metric.goal == "max" else -gained) <= 1e-9, metric.name


@given(st.lists(rows, min_size=1, max_size=12), st.integers(0, 2))
@laws
def test_entropy_never_falls_on_the_way_up_a_full_domain_lattice(table: list[Labelled], level: int) -> None:
    def node(height: int) -> Assignment:
        groups = [([row[1:]], [ancestor(row[1], height)]) for row, _ in table]
        return assignment_by_hand(COLUMNS[1:], groups)

    counts = Counter(row[1] for row, _ in table)
    nodes = Counter(row[1] >> level for row, _ in table)
    by_hand = -sum(n * math.log2(n / nodes[value >> level]) for value, n in counts.items())
    assert NonUniformEntropy().value(node(level)) == pytest.approx(by_hand, abs=1e-9)
    assert NonUniformEntropy().value(node(level + 1)) >= by_hand - 1e-9


schemes = st.sampled_from(["uniform", "height"])
betas = st.floats(1, 4)


@given(st.integers(0, 9), st.data(), schemes, betas)
@laws
def test_whd_is_additive_and_a_whole_climb_is_one(
    height: int, data: st.DataObject, scheme: Scheme, beta: float
) -> None:
    levels = sorted(data.draw(st.tuples(*[st.integers(1, height + 1)] * 3)))

    def whd(p: int, q: int) -> float:
        return weighted_hierarchical_distance(p, q, height=height, scheme=scheme, beta=beta)

    r, q, p = levels
    assert whd(p, r) == pytest.approx(whd(p, q) + whd(q, r))
    assert (whd(p, q) == 0) == (p == q)
    assert whd(height + 1, 1) == pytest.approx(1 if height else 0)


@given(st.integers(1, 6), st.data(), schemes, betas)
@laws
def test_distortion_of_a_cell_is_whd_from_its_leaf(
    height: int, data: st.DataObject, scheme: Scheme, beta: float
) -> None:
    level = data.draw(st.integers(0, height))
    column = HandColumn("name", size=2**height, height=height)
    assignment = assignment_by_hand([column], [([(0,)], [ancestor(0, level)])])
    climbed = weighted_hierarchical_distance(height + 1, height + 1 - level, height=height, scheme=scheme, beta=beta)
    assert Distortion(scheme, beta).value(assignment) == pytest.approx(climbed)


BINARY = Taxonomy(
    "name",
    np.arange(8)[:, None] >> np.arange(4),
    tuple(tuple(f"{node}@{level}" for node in range(8 >> level)) for level in range(4)),
    tuple(np.full(8 >> level, 2**level) for level in range(4)),
)
leaves = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(GeneralizedTuple.raw)


@given(leaves, leaves, leaves, schemes, betas)
@laws
def test_tuple_distance_is_a_metric_on_leaves(
    x: GeneralizedTuple, y: GeneralizedTuple, z: GeneralizedTuple, scheme: Scheme, beta: float
) -> None:
    def distance(first: GeneralizedTuple, second: GeneralizedTuple) -> float:
        return tuple_distance(first, second, taxonomies=[BINARY, BINARY], scheme=scheme, beta=beta)

    assert distance(x, y) == distance(y, x)
    assert (distance(x, y) == 0) == (x == y)
    assert distance(x, z) <= distance(x, y) + distance(y, z) + 1e-12


@given(leaves, leaves, st.integers(1, 5), st.integers(1, 5), schemes)
@laws
def test_merging_two_classes_of_equal_rows_costs_their_distance(
    x: GeneralizedTuple, y: GeneralizedTuple, n: int, m: int, scheme: Scheme
) -> None:
    distance = class_distance(x, y, sizes=(n, m), taxonomies=[BINARY, BINARY], scheme=scheme)
    columns = [COLUMNS[1], COLUMNS[1]]
    pairs = list(zip(x.codes, y.codes, strict=True))
    shown = [ancestor(a, next(level for level in range(4) if a >> level == b >> level)) for a, b in pairs]
    assignment = assignment_by_hand(columns, [([x.codes] * n + [y.codes] * m, shown)])
    assert Distortion(scheme).value(assignment) == pytest.approx(distance)
