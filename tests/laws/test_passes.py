"""Level by level over rows, strict Mondrian gives the answer that it gives on cells in memory."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.partition.by_passes import MedianSearch
from indistinct.engines.passes import Room
from indistinct.errors import InfeasibleError, InputError
from indistinct.frequencies.passes import KeyColumn, KeyRanges, KeyTree, Scale, Within, rows_within, survey_rows
from indistinct.testing.strategies import samples
from references.engine_runs import rows_of
from references.pass_runs import MODELS, NOWHERE, by_passes, measurements

few = settings(deadline=None, max_examples=6)


def answers(table, schema, **options):
    """Return a release in memory and one of the engine duckdb, which is told to hold little."""
    return [ind.anonymize(table, schema, engine=engine, seed=1, **options) for engine in ("memory", "duckdb")]


def require_equal(memory, levels):
    assert rows_of(levels.table) == rows_of(memory.table)
    assert levels.table.column_names == memory.table.column_names
    mine, theirs = (replace(each.certificate, **NOWHERE) for each in (levels, memory))
    assert mine == theirs


@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_samples_of_every_kind(model, data):
    sample = data.draw(samples(most_rows=40))
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    room = Room(data.draw(st.integers(1, 8)), data.draw(st.sampled_from([0, 3, 100])), 100, 1000)
    wanted = model.format(k=data.draw(st.integers(2, 5)))
    extent = data.draw(st.sampled_from(["range", "region"]))
    options = {"model": wanted, "algorithm": f"mondrian:extent={extent}", "hierarchies": sample.hierarchies}
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        try:
            pair = answers(sample.table, sample.schema, **options)
        except (InfeasibleError, InputError):
            assume(False)
    require_equal(*pair)


@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_measurements(model, data):
    table = data.draw(measurements())
    schema = ind.Schema(quasi=table.column_names[:-1], sensitive=["disease"])
    room = Room(data.draw(st.integers(1, 60)), data.draw(st.sampled_from([0, 10])), 100, 1000)
    form = data.draw(st.sampled_from(["numeric=interval", "numeric=bounds", "extent=region"]))
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        try:
            pair = answers(
                table,
                schema,
                model=model.format(k=data.draw(st.integers(2, 5))),
                algorithm=f"mondrian:{form}",
            )
        except InfeasibleError:
            assume(False)
    require_equal(*pair)
    if pair[1].recoding.cuts.classes > 1 and "t-" not in model:
        assert pair[1].recoding.cuts.classes == pair[0].recoding.cuts.classes


@given(st.integers(0, 10_000), st.sampled_from([2, 64]), st.integers(1, 5))
@few
def test_a_median_is_selected_exactly(seed, buckets, collected):
    rng = np.random.default_rng(seed)
    numbers = rng.choice(np.concatenate([rng.normal(size=60), np.exp(90 * rng.normal(size=60)), [0.0, -0.0]]), 200)
    keys = KeyColumn("x", pa.float64()).keys(pa.chunked_array([numbers]))[:, None]
    leaf = np.zeros(1, dtype=np.int64)
    tree = KeyTree(leaf - 1, leaf.astype(np.uint64), leaf, leaf)
    scale = Scale.between(keys.min(axis=0)[None], keys.max(axis=0)[None], buckets)
    survey = survey_rows(keys, tree, scale)
    filled = np.flatnonzero(survey.counts[0, 0])
    search = MedianSearch(
        200, int(scale.low[0, 0]), int(scale.shift[0, 0]), filled.astype(np.uint64), survey.counts[0, 0][filled]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indistinct.algorithms.partition.by_passes.MAX_ROWS_LISTED", collected)
        patch.setattr("indistinct.algorithms.partition.by_passes.BUCKETS_OF_RANGE", 7)
        while search.shift:
            search = search.narrowed()
            ends = (np.array([end], dtype=np.uint64) for end in (search.low, search.high, search.shift))
            asked = KeyRanges(leaf, *ends)
            found = Within.merged([rows_within(some, tree, asked) for some in np.array_split(keys, 3)])
            search.learn(*found.tally.of_owner(0), int(found.before[0]), bool(found.led[0]))
    middle = search.middle()
    exact = np.partition(keys[:, 0], 99)[99]
    assert middle.median == exact
    assert middle.rows == ((keys < exact).sum(), (keys == exact).sum(), (keys > exact).sum())
    below = keys[keys < exact]
    assert middle.led == bool(len(below))
    assert not len(below) or middle.before == below.max()


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.date32(), pa.timestamp("us")]
)
@few
@given(data=st.data())
def test_keys_ascend_as_values_do(kind, data):
    drawn = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 100)), min_size=1, max_size=20))
    sign = 1 if kind == pa.uint64() else data.draw(st.sampled_from([1, -1]))
    numbers = pa.array([None if each is None else sign * each for each in drawn], pa.int64())
    cells = numbers.cast(pa.int32() if kind == pa.date32() else kind).cast(kind)
    column = KeyColumn("x", kind)
    keys = column.keys(pa.chunked_array([cells]))
    assert column.values(keys).equals(cells)
    ranks = [-1000 if each is None else sign * each for each in drawn]
    assert np.array_equal(np.argsort(keys, kind="stable"), np.argsort(ranks, kind="stable"))
