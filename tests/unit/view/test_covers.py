"""What published values cover, as runs: the same as with every code written out."""

import numpy as np
import pyarrow as pa
import pytest

from indistinct.evaluation.measure import distributions
from indistinct.evaluation.measure.distributions import compare_distributions
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.columns import columns_of
from indistinct.view.cover import Cover, cover_of_codes, cover_of_each, joined_covers
from indistinct.view.meanings import Members, Node, Span, covered_by
from indistinct.view.value import ShownColumn, view_of_classes


def drawn_sets(seed, *, size=40, entries=30):
    draw = np.random.default_rng(seed)
    sets = [np.flatnonzero(draw.random(size) < draw.random()) for _ in range(entries - 2)]
    sets = [each if len(each) else np.array([0]) for each in sets]
    return [*sets, np.arange(size), np.array([size - 1])]


def cover(sets):
    return cover_of_codes(np.cumsum([0, *map(len, sets)]), np.concatenate(sets))


@pytest.mark.parametrize("seed", range(5))
def test_runs_say_what_codes_say(seed):
    sets, values = drawn_sets(seed), np.random.default_rng(seed).normal(size=40)
    runs = cover(sets)
    owners, codes = runs.written_out()
    assert codes.tolist() == np.concatenate(sets).tolist()
    assert owners.tolist() == np.repeat(np.arange(30), [len(each) for each in sets]).tolist()
    assert runs.lengths.tolist() == [len(each) for each in sets]
    assert runs.sums(values) == pytest.approx([values[each].sum() for each in sets])
    weights = np.abs(np.random.default_rng(seed).normal(size=30))
    assert runs.spread(weights, 41) == pytest.approx(np.bincount(codes, weights[owners], minlength=41))
    for entry, each in enumerate(sets):
        found = runs.code_at(np.full(len(each), entry), np.arange(len(each)))
        assert found.tolist() == each.tolist()
    some = np.array([3, 3, 0, 29])
    assert runs.take(some).written_out()[1].tolist() == np.concatenate([sets[place] for place in some]).tolist()


def test_what_nothing_covers_gets_nothing_at_all():
    """A running sum must not leave a trace, of which a logarithm or a root would make much."""
    runs = Cover(np.arange(4), np.array([0, 3, 3]), np.array([1, 5, 8]))
    given = runs.spread(np.array([0.1, 0.2, 0.3]), 12)
    assert given[[2, 9, 10, 11]].tolist() == [0, 0, 0, 0]
    assert given[6:9] == pytest.approx([0.3] * 3, rel=1e-15)


def test_a_range_of_a_million_values_is_one_run():
    column = columns_of([encode_column("n", pa.chunked_array([list(range(100_000))])).domain], {})[0]
    found = covered_by(column, [Span(0, 99_999), Span(5, 4, absent=False), Span(7, 7)] * 1000)
    assert len(found.low) == 2000
    assert found.lengths[:3].tolist() == [100_000, 0, 1]
    assert not found.exact
    assert cover_of_each(np.arange(5)).exact


def test_nodes_sets_and_ranges_keep_their_places():
    texts = pa.chunked_array([["11", "12", "21", "22", None]])
    domain = encode_column("zip", texts).domain
    column = columns_of([domain], {"zip": Hierarchy.masking()})[0]
    above = column.taxonomy.ancestors[:, 1]
    meanings = [Members((4,)), Node(1, int(above[1])), Node(0, 2), Members((0, 1, 3)), Node(1, int(above[3]))]
    found = covered_by(column, meanings)
    expected = [[4], np.flatnonzero(above == above[1]), [2], [0, 1, 3], np.flatnonzero(above == above[3])]
    owners, codes = found.written_out()
    assert [codes[owners == place].tolist() for place in range(5)] == [list(each) for each in expected]
    assert len(joined_covers([], 3)) == 3


def written_out_averages(cover, values):
    """Return the mean row of values over the codes that each published value covers, one after the other."""
    owners, codes = cover.written_out()
    return np.stack([values[codes[owners == entry]].mean(axis=0) for entry in range(len(cover))])


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_labels_that_are_written_out(seed, monkeypatch):
    monkeypatch.setattr(distributions, "GROUPS", 7)
    draw = np.random.default_rng(seed)
    columns = {name: encode_column(name, pa.chunked_array([draw.integers(0, 40, 300)])) for name in "ab"}
    covers, values = {}, {}
    for name, column in columns.items():
        size = len(column.domain)
        low, high = np.sort(draw.integers(0, size, (2, 25)), axis=0)
        covers[name], values[name] = Cover(np.arange(26), low, high), draw.integers(0, 25, 300)
    covered = {name: ShownColumn(column.domain, covers[name]) for name, column in columns.items()}
    shown = view_of_classes(covered, values, np.ones(300, dtype=np.int64))
    found = compare_distributions(columns, shown)
    groups = [distributions._group_values(c.domain, np.bincount(c.codes) / 300) for c in columns.values()]
    parts = [written_out_averages(covers[name], np.eye(7)[each]) for name, each in zip("ab", groups, strict=True)]
    after = sum(np.outer(parts[0][i], parts[1][j]) for i, j in zip(values["a"], values["b"], strict=True)) / 300
    before = np.zeros((7, 7))
    np.add.at(before, (groups[0][columns["a"].codes], groups[1][columns["b"].codes]), 1 / 300)
    assert found.pairs[0].total_variation == pytest.approx(np.abs(after - before).sum() / 2)
    for name, each in zip("ab", found.columns, strict=True):
        owners, codes = covers[name].written_out()
        weights = (np.bincount(values[name], minlength=25) / covers[name].lengths)[owners]
        share = np.bincount(codes, weights, minlength=len(columns[name].domain)) / 300
        was = np.bincount(columns[name].codes) / 300
        assert each.total_variation == pytest.approx(np.abs(share - was).sum() / 2)


@pytest.mark.parametrize("seed", range(3))
def test_bits_and_answers_say_who_covers_a_code(seed):
    for runs in (cover(drawn_sets(seed, entries=130)), Cover(np.arange(3), np.array([2, 0]), np.array([9, 39]))):
        expected = np.zeros((45, len(runs)), dtype=bool)
        owners, codes = runs.written_out()
        expected[codes, owners] = True
        entries, sought = np.meshgrid(np.arange(len(runs)), np.arange(-1, 44))
        found = runs.holds(sought.ravel(), entries.ravel()).reshape(sought.shape)
        assert not found[0].any()
        assert (found[1:] == expected[:44]).all()
        bits = np.unpackbits(runs.bits(30).view(np.uint8), axis=1, bitorder="little")[:, : len(runs)]
        assert (bits == expected[:30]).all()
