"""Laws of rolling cells up and of the bounds that a search over the lattice rests on."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.objective import objective_of
from indistinct.algorithms.full_domain.optimal import can_sweep, survey_lattice
from indistinct.engines import count_source
from indistinct.frequencies import _kernels
from indistinct.frequencies.count import Request
from indistinct.frequencies.lattice import OUT, Cells, Lattice, down_set, specializations, up_set
from indistinct.metrics import METRICS, AverageClassSize, parse_metric
from indistinct.recoding.assign import assign
from indistinct.testing.strategies import samples
from references.lattice import LatticeTable, random_table

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 100_000)
DISEASE = ("disease",)


PAIRS = ind.KAnonymity(2)


def space_of(data: LatticeTable, model=PAIRS, suppression=0) -> FullDomain:
    return FullDomain(data.problem(model, suppression=suppression, keys=[DISEASE]))


def contents(cells: Cells, rolled, data: LatticeTable) -> dict:
    """Return each class as its published labels, with its size and its diseases."""
    found = {}
    histogram = rolled.classes.histograms[DISEASE]
    fields = [cells.field(rolled, j) for j in range(len(data.heights))]
    for place in range(len(rolled)):
        labels = tuple(
            cells.taxonomies[j].labels[level][fields[j][place]] for j, level in enumerate(rolled.levels) if level != OUT
        )
        entries = slice(histogram.indptr[place], histogram.indptr[place + 1])
        told = {
            histogram.texts[c]: int(n) for c, n in zip(histogram.codes[entries], histogram.counts[entries], strict=True)
        }
        assert labels not in found, "two classes publish the same"
        assert all(field[place] == 0 for field, level in zip(fields, rolled.levels, strict=True) if level == OUT)
        found[labels] = (int(rolled.classes.sizes[place]), told)
    return found


def grouped(data: LatticeTable, node) -> dict:
    diseases = defaultdict(Counter)
    for vector, row in zip(data.generalized(node), data.rows, strict=True):
        diseases[vector][row["disease"]] += 1
    return {vector: (sum(counts.values()), dict(counts)) for vector, counts in diseases.items()}


def climb(data: LatticeTable, draw, start):
    """Return a node above another; a column that is left out stays so."""
    return tuple(
        OUT if level == OUT else draw(st.sampled_from([*range(level, height + 1), OUT]))
        for level, height in zip(start, data.heights, strict=True)
    )


@quick
@given(seeds, st.data())
def test_a_roll_up_groups_the_generalized_rows(seed, draws):
    data = random_table(seed, rooted=bool(seed % 2))
    cells = space_of(data).cells
    node = climb(data, draws.draw, (0,) * len(data.heights))
    assert contents(cells, cells.roll_up(cells.base, node), data) == grouped(data, node)


@quick
@given(seeds, st.data())
def test_the_way_up_does_not_matter(seed, draws):
    data = random_table(seed)
    cells = space_of(data).cells
    rolled = cells.base
    for _ in range(3):
        rolled = cells.roll_up(rolled, climb(data, draws.draw, rolled.levels))
    direct = cells.roll_up(cells.base, rolled.levels)
    assert contents(cells, rolled, data) == contents(cells, direct, data)
    assert int(rolled.classes.sizes.sum()) == len(data.rows)


def wide_table(seed: int, *, columns: int, values: int, rows: int = 60) -> LatticeTable:
    """Return a table whose vectors need many bits: every column takes its own width of a word."""
    dice = np.random.default_rng(seed)
    names = [f"{value:06d}" for value in range(values)]
    ladder = {name: (name, name[:-1] + "*", name[:-2] + "**", "*") for name in names}
    ladders = {f"q{j}": ladder for j in range(columns)}
    # Every value occurs in every column, so that a field is as wide as the domain.
    picks = np.concatenate([np.tile(np.arange(values)[:, None], columns), dice.integers(0, 3, (rows, columns))])
    rows_ = [{**{f"q{j}": names[v] for j, v in enumerate(row)}, "disease": "flu"} for row in picks.tolist()]
    return LatticeTable(tuple(rows_), ladders)


@pytest.mark.parametrize(
    ("columns", "values", "words"), [(5, 130, 1), (8, 130, 1), (9, 130, 2), (10, 200, 2), (17, 200, 3)]
)
def test_cells_of_several_words(columns, values, words):
    data = wide_table(columns, columns=columns, values=values)
    cells = space_of(data).cells
    assert cells.base.words.shape[1] == words
    for node in (
        (0,) * columns,
        (1,) * columns,
        (0,) * (columns - 1) + (2,),
        (3,) * (columns - 1) + (0,),
        (OUT, *(2,) * (columns - 1)),
    ):
        assert contents(cells, cells.roll_up(cells.base, node), data) == grouped(data, node)


def test_cells_of_several_words_are_searched_without_a_walk():
    data = wide_table(1, columns=9, values=130)
    space = space_of(data)
    assert not can_sweep(space, objective_of(space, parse_metric("loss")))


@quick
@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(
            st.tuples(st.tuples(*[st.sampled_from([0, 1, 2**32, 2**63, 2**64 - 1])] * width), st.integers(1, 5)),
            max_size=40,
        ).map(lambda rows: (width, rows))
    )
)
def test_grouping_by_hash_is_its_plain_twin(case):
    width, rows = case
    words = np.array([row for row, _ in rows], dtype=np.uint64).reshape(len(rows), width)
    counts = np.array([count for _, count in rows], dtype=np.int64)
    labels = np.empty(len(rows), dtype=np.int32)
    found, sizes = _kernels.group_words_by_hash(words, counts, labels)
    expected: dict = {}
    for row, count in rows:
        expected[row] = expected.get(row, 0) + count
    assert [tuple(map(int, row)) for row in found] == list(expected)  # in order of first appearance
    assert sizes.tolist() == list(expected.values())
    assert [list(expected)[label] for label in labels] == [row for row, _ in rows]


def test_grouping_many_words_by_hash():
    words = np.random.default_rng(1).integers(0, 5_000, (50_000, 1)).astype(np.uint64) << np.uint64(40)
    labels = np.empty(len(words), dtype=np.int32)
    found, sizes = _kernels.group_words_by_hash(words, np.ones(len(words), dtype=np.int64), labels)
    distinct, counts = np.unique(words, return_counts=True)
    order = np.argsort(found[:, 0])
    assert np.array_equal(found[order, 0], distinct)
    assert np.array_equal(sizes[order], counts)
    assert np.array_equal(found[labels], words)


# The lattice.


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4))
@quick
def test_neighbours_are_one_step_apart(heights):
    lattice = Lattice(tuple(heights))
    nodes = list(product(*(range(height + 1) for height in heights)))
    assert [tuple(node) for node in lattice.nodes().tolist()] == nodes
    assert lattice.size == len(nodes)
    assert lattice.top == nodes[-1]
    assert lattice.node_heights().reshape(-1).tolist() == [sum(node) for node in nodes]
    for node in nodes:
        above, below = set(lattice.above(node)), set(specializations(node))
        assert above == {
            o for o in nodes if sum(o) == sum(node) + 1 and all(a >= b for a, b in zip(o, node, strict=True))
        }
        assert below == {o for o in nodes if node in set(lattice.above(o))}
        assert node in lattice
        marks = np.zeros(lattice.shape, dtype=int)
        marks[up_set(node)] += 1
        marks[down_set(node)] += 2
        assert [int(marks[o]) for o in nodes] == [
            all(a >= b for a, b in zip(o, node, strict=True)) + 2 * all(a <= b for a, b in zip(o, node, strict=True))
            for o in nodes
        ]
    assert (*lattice.top[:-1], lattice.top[-1] + 1) not in lattice
    assert lattice.top[:-1] not in lattice
    assert (-1, *lattice.top[1:]) not in lattice


# Bounds.

SPELLED = [
    *(name + (":target=disease" if name == "classification" else "") for name in METRICS if name != "workload-error"),
    "distortion:scheme=height,beta=2",
]


def near(score: float) -> float:
    return score + 1e-9 * max(abs(score), 1)


@pytest.mark.parametrize("metric", SPELLED)
@few
@given(seed=seeds, k=st.integers(1, 6), model=st.sampled_from(["k", "distinct", "entropy"]))
def test_bounds_are_never_above_a_score(metric, seed, k, model):
    """The floor of a node holds for the node, sharpened by rows that a generalization has to suppress."""
    data = random_table(seed, rooted=bool(seed % 3), most_columns=3)
    chosen = {
        "k": ind.KAnonymity(k),
        "distinct": ind.DistinctLDiversity("disease", l=2),
        "entropy": ind.EntropyLDiversity("disease", l=1.5),
    }[model]
    space = space_of(data, chosen, suppression=len(data.rows))
    asked = AverageClassSize(1) if metric == "average-class-size" else parse_metric(metric)  # as the reference reckons
    objective = objective_of(space, asked)
    nodes = list(data.nodes())
    rolled = {node: space.cells.roll_up(space.cells.base, node) for node in nodes}
    broken = {node: space.outside(rolled[node]) for node in nodes}
    scores = {node: objective.score(rolled[node], broken[node]) for node in nodes}
    name = metric.partition(":")[0]
    if metric in METRICS or name == "classification":
        for node in nodes:
            assert objective.sign * scores[node] == pytest.approx(data.scores(node, chosen)[name])
    unknown = objective.floors(np.array(nodes), np.zeros(len(nodes), dtype=np.int64))
    for node, floor in zip(nodes, unknown, strict=True):
        assert floor <= near(scores[node])
    for node in nodes:
        above = [o for o in nodes if all(a >= b for a, b in zip(o, node, strict=True))]
        below = np.array([o for o in nodes if all(a <= b for a, b in zip(o, node, strict=True))])
        assert objective.floor_above(rolled[node]) <= near(min(scores[o] for o in above))
        if chosen.traits.absorbing:
            least = np.full(len(below), space.suppressed_rows(rolled[node]))
            sharper = objective.floors(below, least)
            assert all(f <= near(scores[tuple(o)]) for f, o in zip(sharper, below.tolist(), strict=True))


@quick
@given(samples(), st.integers(1, 4), st.data())
def test_a_score_is_the_metric_of_the_recoding_whatever_the_columns(sample, k, draws):
    """The score comes from cells and levels, the metric from the recoded table."""
    model = ind.KAnonymity(k)
    counted = count_source(sample.table, Request(sample.schema.quasi, (DISEASE,), sample.hierarchies))
    space = FullDomain(Problem(counted.frequencies, sample.columns(counted), model, suppression=sample.table.num_rows))
    node = tuple(draws.draw(st.integers(0, height)) for height in space.lattice.heights)
    rolled = space.cells.roll_up(space.cells.base, node)
    broken = space.outside(rolled)
    assignment = assign(counted.frequencies, space.recoding_without(rolled, np.flatnonzero(broken)))
    for spelled in SPELLED:
        metric = parse_metric(spelled).for_promise(model.smallest)
        objective = objective_of(space, metric)
        assert objective.sign * objective.score(rolled, broken) == pytest.approx(metric.value(assignment)), spelled


@pytest.mark.parametrize("metric", [m for m in SPELLED if not m.startswith("classification")])
@few
@given(seed=seeds, k=st.integers(1, 6))
def test_a_walk_over_the_lattice_is_every_node_on_its_own(metric, seed, k):
    data = random_table(seed, rooted=bool(seed % 3))
    space = space_of(data, ind.KAnonymity(k), suppression=len(data.rows))
    objective = objective_of(space, parse_metric(metric))
    assert can_sweep(space, objective)
    suppressed, scores = survey_lattice(space, objective)
    for place, node in enumerate(data.nodes()):
        rolled = space.cells.roll_up(space.cells.base, node)
        assert suppressed[place] == space.suppressed_rows(rolled)
        expected = objective.score(rolled, space.outside(rolled))
        assert scores[place] == pytest.approx(expected) or (np.isinf(expected) and np.isinf(scores[place]))


def test_suppressed_rows_never_grow_on_the_way_up_under_an_absorbing_model():
    """This is what lets a search conclude from a node to its specializations; without the trait it is false."""
    grew = 0
    for seed in range(60):
        data = random_table(seed, most_columns=2)
        for model in (
            ind.KAnonymity(3),
            ind.DistinctLDiversity("disease", l=2),
            ind.EntropyLDiversity("disease", l=1.8),
        ):
            rows = {node: data.suppressed(node, model) for node in data.nodes()}
            pairs = [(rows[n], rows[o]) for n in rows for o in Lattice(data.heights).above(n)]
            if model.traits.absorbing:
                assert all(finer >= coarser for finer, coarser in pairs)
            grew += any(finer < coarser for finer, coarser in pairs)
    assert grew
