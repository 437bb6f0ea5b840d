"""Two-level clustering on the worked example of Verma (2013)."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.metrics import Distortion
from indistinct_papers.documents import PEOPLE as ROWS
from indistinct_papers.documents import PEOPLE_NAMES

PEOPLE = pa.table({"row": range(1, 7)} | dict(zip(PEOPLE_NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))
SCHEMA = ind.Schema(quasi=["job", "birth", "postcode"], insensitive=["row", "illness"])


@pytest.mark.parametrize("algorithm", ["two-level", "two-level:rule=literal", "two-level:stub=true"])
def test_the_published_two_anonymous_table(algorithm):
    release = ind.anonymize(
        PEOPLE, SCHEMA, model="k-anonymity:k=2", algorithm=algorithm, hierarchies={"postcode": ind.Hierarchy.masking()}
    )
    found = {}
    for row in release.table.to_pylist():
        shown = (row["job"], row["birth"], row["postcode"])
        found.setdefault(shown, set()).add(row["row"])
    assert found == {("cat1", "*", "4350"): {1, 2}, ("cat1", "1955", "543*"): {3, 4}, ("cat2", "1975", "4350"): {5, 6}}
    assert Distortion().value(release.assignment) == 2.5
