"""A release that is made part by part has the classes and rows of the one that is made in memory."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines.levels import Room
from indistinct.errors import InfeasibleError, InputError
from indistinct.testing.strategies import samples
from references.engine_runs import rows_of
from references.level_runs import MODELS, NOWHERE, by_levels, measurements

few = settings(deadline=None, max_examples=5, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def answers(table, schema, folder, **options):
    """Return a release in memory, and one that DuckDB makes part by part."""
    memory = ind.anonymize(table, schema, engine="memory", seed=1, **options)
    place = folder / "release.parquet"
    parts = ind.anonymize(table, schema, engine="duckdb", seed=1, output=place, overwrite=True, **options)
    return memory, parts, pq.read_table(place)


def require_equal(memory, parts, written):
    assert rows_of(written) == rows_of(memory.table)
    assert written.column_names == memory.table.column_names
    mine, theirs = (replace(each.certificate, **NOWHERE) for each in (parts, memory))
    assert mine == theirs


@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_samples_of_every_kind(model, data, tmp_path_factory):
    sample = data.draw(samples(most_rows=40))
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    room = Room(data.draw(st.integers(10, 12)), data.draw(st.sampled_from([0, 3, 100])), 100, 0)
    options = {"model": model.format(k=data.draw(st.integers(2, 5))), "hierarchies": sample.hierarchies}
    with pytest.MonkeyPatch.context() as patch:
        by_levels(room, patch)
        try:
            found = answers(
                sample.table, sample.schema, tmp_path_factory.mktemp("parts"), algorithm="mondrian", **options
            )
        except (InfeasibleError, InputError):
            assume(False)
    require_equal(*found)


@pytest.mark.parametrize("model", MODELS)
@few
@given(data=st.data())
def test_measurements(model, data, tmp_path_factory):
    table = data.draw(measurements())
    schema = ind.Schema(quasi=table.column_names[:-1], sensitive=["disease"])
    room = Room(data.draw(st.integers(100, 160)), data.draw(st.sampled_from([0, 10])), 100, 0)
    form = data.draw(st.sampled_from(["numeric=interval", "numeric=bounds"]))
    wanted = model.format(k=data.draw(st.integers(2, 5)))
    with pytest.MonkeyPatch.context() as patch:
        by_levels(room, patch)
        try:
            found = answers(table, schema, tmp_path_factory.mktemp("parts"), model=wanted, algorithm=f"mondrian:{form}")
        except InfeasibleError:
            assume(False)
    require_equal(*found)
