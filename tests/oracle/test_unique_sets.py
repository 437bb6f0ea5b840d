"""Unique column sets of census-like rows and of visits, against pandas."""

from functools import reduce
from itertools import combinations
from operator import or_

import pandas as pd
import pytest

import indistinct as ind
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import PERSON
from indistinct.inspection.unique_sets import minimal_uniques
from indistinct.samples import CENSUS_QUASI, generate_census, generate_visits

SIZE = 3


@pytest.mark.parametrize("threads", [None, 2])
def test_rows_of_a_census(monkeypatch, threads):
    if threads:  # the way of large tables
        monkeypatch.setattr("indistinct.machine.threads.LARGE_ROWS", 1)
        monkeypatch.setenv("INDISTINCT_THREADS", str(threads))
    table = generate_census(1500, seed=3)
    found = minimal_uniques(count_source(ind.open(table), Request(CENSUS_QUASI)).frequencies, size=SIZE)
    frame = table.to_pandas()
    unique = {
        columns: ~frame.duplicated(list(columns), keep=False)
        for size in range(1, SIZE + 1)
        for columns in combinations(CENSUS_QUASI, size)
    }
    assert {one.columns: one.unique for one in found.sets} == {
        columns: int(alone.sum()) for columns, alone in unique.items()
    }
    for one in found.sets:
        smaller = [unique[part] for part in combinations(one.columns, len(one.columns) - 1) if part]
        before = reduce(or_, smaller, pd.Series(False, index=frame.index))
        assert one.minimal == int((unique[one.columns] & ~before).sum())
    assert found.by_size[3] > 0


def test_people_of_visits():
    quasi = ["age", "sex", "zipcode"]
    table = generate_visits(1200, seed=4)
    request = Request(quasi, [(PERSON,)], person=["person"])
    found = minimal_uniques(count_source(ind.open(table), request).frequencies)
    frame = table.to_pandas()
    assert found.people == frame["person"].nunique() < len(frame)
    for one in found.sets:
        groups = frame.groupby(list(one.columns), observed=True)["person"]
        assert one.unique == frame.loc[groups.transform("nunique") == 1, "person"].nunique()
