"""Column sets that a first look reports are those of brute force: of rows, of people, and found by a sample."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.inspection import combinations as module
from indistinct.inspection.combinations import risky_combinations
from indistinct.inspection.inspect import inspect
from references.unique_sets import column_sets, minimal_uniques_of, people_unique_in

quick = settings(max_examples=40, deadline=None)


@st.composite
def tables(draw):
    width, rows = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    value = st.integers(0, draw(st.integers(0, 3)))
    table = draw(st.lists(st.tuples(*[value] * width), min_size=rows, max_size=rows))
    return table, draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))


def by_brute_force(rows, people, size):
    """Return how many people each column set singles out, and of how many all its columns are needed."""
    names = [f"c{j}" for j in range(len(rows[0]))]
    minimal = minimal_uniques_of(rows, people, size)
    found = {}
    for columns in column_sets(len(names), size):
        needed = {people[place] for place, sets in enumerate(minimal) if columns in sets}
        if needed:
            alone = people_unique_in(rows, people, columns)
            found[tuple(names[j] for j in columns)] = (len(alone), len(needed))
    return found


def reported(found):
    return {each.columns: (each.unique, each.minimal) for each in found.sets}


@pytest.mark.parametrize("of_people", [False, True])
@quick
@given(tables())
def test_reported_sets_are_those_of_brute_force(of_people, table):
    rows, people = table
    codes = {f"c{j}": np.array([row[j] for row in rows]) for j in range(len(rows[0]))}
    size = min(3, len(codes))
    owners = people if of_people else list(range(len(rows)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_SETS_REPORTED", 100)
        found = risky_combinations(codes, people=np.array(people) if of_people else None, rows=len(rows))
    assert reported(found) == by_brute_force(rows, owners, size)
    assert found.members == len(set(owners)) == found.looked_at
    assert not found.notes
    assert [each.minimal for each in found.sets] == sorted((each.minimal for each in found.sets), reverse=True)


@pytest.mark.parametrize("of_people", [False, True])
@quick
@given(tables(), st.integers(1, 9))
def test_what_a_sample_finds_is_counted_among_all(of_people, table, sought):
    rows, people = table
    rows, people = rows * 2 + rows[:1], people + [each + 6 for each in people] + [99]
    codes = {f"c{j}": np.array([row[j] for row in rows]) for j in range(len(rows[0]))}
    owners = people if of_people else list(range(len(rows)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_SETS_REPORTED", 100)
        patch.setattr(module, "MAX_WORK_FOR_ALL", 0)
        patch.setattr(module, "SAMPLE_MEMBERS", sought)
        found = risky_combinations(codes, people=np.array(people) if of_people else None, rows=len(rows))
    every = by_brute_force(rows, owners, found.found.size)
    assert set(reported(found).items()) <= set(every.items())
    assert found.members == len(set(owners))
    assert found.looked_at <= found.members
    assert found.sampled == (found.looked_at < found.members)


@quick
@given(tables())
def test_a_look_at_a_table_reports_them(table):
    rows, _ = table
    names = [f"c{j}" for j in range(len(rows[0]))]
    found = inspect(pa.table({name: [f"v{row[j]}" for row in rows] for j, name in enumerate(names)}))
    varied = [j for j in range(len(names)) if len({row[j] for row in rows}) > 1]
    assert found.combinations.columns == tuple(names[j] for j in varied)
    if varied:
        kept = [tuple(row[j] for j in varied) for row in rows]
        every = by_brute_force(kept, range(len(rows)), min(3, len(varied)))
        renamed = {tuple(names[varied[int(name[1:])]] for name in columns): told for columns, told in every.items()}
        assert set(reported(found.combinations).items()) <= set(renamed.items())
        assert len(found.combinations.sets) == min(len(renamed), module.MAX_SETS_REPORTED)
