"""Releases in buckets of small tables are those of large ones, which go through compiled loops and threads."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import InfeasibleError
from indistinct.models import LDiverseLinks

quick = settings(deadline=None, max_examples=60)
ALGORITHMS = (
    "anatomy:l=2",
    "anatomy:l=2,form=permuted",
    "slicing:l=2,columns=each",
    "slicing:l=2,columns=whole",
    "multiset:l=2",
)


@st.composite
def tables(draw):
    """Return a table with text, numbers, missing cells and, at times, equal rows and chunks."""
    rows = draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    age = [None if cell == 0 else int(cell) for cell in rng.integers(0, 6, rows)]
    town = [None if cell == 0 else f"town {cell}" for cell in rng.integers(0, 4, rows)]
    disease = [f"d{cell}" for cell in rng.permutation(np.arange(rows) % 4)]
    table = pa.table({"age": [*age[:-1], 3], "town": pa.array([*town[:-1], "town 1"]), "disease": disease})
    if draw(st.booleans()):
        place = table.column_names.index("town")
        table = table.set_column(place, "town", table["town"].dictionary_encode())
    cut = draw(st.integers(0, rows))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


@quick
@given(tables(), st.sampled_from(ALGORITHMS), st.integers(0, 5))
def test_large_tables_are_released_as_small_ones(as_if_large, table, algorithm, seed):
    schema = ind.Schema(quasi=["age", "town"], sensitive=["disease"])

    def release():
        try:
            return ind.anonymize(table, schema, algorithm=algorithm, seed=seed)
        except InfeasibleError as error:
            return str(error)

    small = release()
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch)
        large = release()
    if isinstance(small, str):
        assert large == small
        return
    assert large.table.equals(small.table)
    assert {name: each.to_pylist() for name, each in large.others.items()} == {
        name: each.to_pylist() for name, each in small.others.items()
    }
    assert large.certificate.verdicts == small.certificate.verdicts
    assert large.certificate.holds


@pytest.mark.parametrize("large", [False, True])
def test_a_changed_value_is_found(as_if_large, monkeypatch, large):
    """One row's town is swapped for another that the table has as well: every single column still looks right."""
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "age": rng.integers(20, 60, 400),
            "town": [f"town {cell}" for cell in rng.integers(0, 9, 400)],
            "disease": [f"d{cell}" for cell in np.arange(400) % 5],
        }
    )
    schema = ind.Schema(quasi=["age", "town"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="anatomy:l=2")
    towns, ages = release.table["town"].to_pylist(), release.table["age"].to_pylist()
    # Two people of one age who change towns are the same table.
    other = next(place for place, town in enumerate(towns) if town != towns[0] and ages[place] != ages[0])
    towns[0], towns[other] = towns[other], towns[0]
    swapped = release.table.set_column(release.table.column_names.index("town"), "town", pa.array(towns))
    if large:
        as_if_large(monkeypatch)
    for shown, holds in ((release.table, True), (swapped, False)):
        published = ind.BucketTable(shown, release.certificate.columns, "tables", release.others["sensitive"])
        found = ind.verify(published, schema, LDiverseLinks(2), original=table)
        (verdict,) = [each for each in found.verdicts if each.model == "columns-preserved"]
        assert verdict.holds == holds
