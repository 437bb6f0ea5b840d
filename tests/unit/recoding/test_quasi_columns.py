"""Quasi-identifiers as algorithms see them: what has no length is refused before a search."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError


@pytest.mark.parametrize("algorithm", ["mondrian", "auto", "datafly"])
def test_a_distance_that_is_no_number_is_refused_with_its_column(algorithm):
    table = pa.table({"x": [1.7e308, -1.7e308, 1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(InputError, match=r"column 'x' holds numbers beyond 10\^307") as caught:
        ind.anonymize(
            table,
            ind.Schema(quasi=["x"]),
            model="k-anonymity:k=2",
            algorithm=algorithm,
            hierarchies={"x": ind.Hierarchy.suppression()},
        )
    assert "larger unit" in caught.value.hint
    assert "1.7" not in str(caught.value)
