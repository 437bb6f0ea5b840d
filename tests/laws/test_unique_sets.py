"""Laws of unique column sets: small tables equal brute force, of rows and of people, on both ways of counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.evaluation.assess.special_uniques import msu_score, special_uniques
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Histogram
from indistinct.inspection import unique_sets as module
from indistinct.inspection.unique_sets import SEVERAL, minimal_uniques, owners_of
from references.unique_sets import column_sets, minimal_uniques_of, people_unique_in

quick = settings(max_examples=60, deadline=None)


@st.composite
def tables(draw):
    """Return rows of few values, whom each is about, and a largest number of columns."""
    width, rows = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    value = st.integers(0, draw(st.integers(0, 3)))
    table = draw(st.lists(st.tuples(*[value] * width), min_size=rows, max_size=rows))
    people = draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    return table, people, draw(st.integers(1, width + 1))


def frequencies_of(rows, people=None):
    """Return the frequency set of some rows, of people where it is said whom each is about, and each row's cell."""
    vectors = sorted(set(rows))
    cells = [vectors.index(row) for row in rows]
    histograms = {}
    if people is not None:
        inside = [sorted({p for p, c in zip(people, cells, strict=True) if c == cell}) for cell in range(len(vectors))]
        codes = np.array([p for some in inside for p in some])
        indptr = np.cumsum([0, *map(len, inside)])
        reference = np.bincount(codes, minlength=max(people) + 1)
        histograms[PERSON,] = Histogram(indptr, codes, np.ones(len(codes), np.int64), reference)
    names = tuple(f"c{j}" for j in range(len(rows[0])))
    classes = Classes(np.bincount(cells), histograms)
    return FrequencySet(names, np.array(vectors).reshape(len(vectors), -1), classes), cells


@pytest.mark.parametrize("of_people", [False, True])
@quick
@given(tables())
def test_scores_are_those_of_all_minimal_uniques(of_people, table):
    rows, people, size = table
    frequencies, cells = frequencies_of(rows, people if of_people else None)
    found = special_uniques(frequencies, size=size)
    expected = minimal_uniques_of(rows, people if of_people else range(len(rows)), min(size, len(rows[0])))
    width = len(rows[0])
    for cell, sets in zip(cells, expected, strict=True):
        assert found.uniques[cell] == len(sets)
        assert found.smallest[cell] == min(map(len, sets), default=0)
        assert found.scores[cell] == sum(msu_score(len(one), columns=width, size=size) for one in sets)
    assert found.special == len({cell for cell, sets in zip(cells, expected, strict=True) if sets})
    assert ((found.disclosure > 0) == (found.scores > 0)).all()
    assert (found.disclosure <= 1).all()


@pytest.mark.parametrize("of_people", [False, True])
@quick
@given(tables())
def test_people_of_every_column_set_are_those_of_brute_force(of_people, table):
    rows, people, size = table
    people = people if of_people else list(range(len(rows)))
    found = minimal_uniques(frequencies_of(rows, people if of_people else None)[0], size=size)
    each = minimal_uniques_of(rows, people, min(size, len(rows[0])))
    sets = column_sets(len(rows[0]), min(size, len(rows[0])))
    assert [one.columns for one in found.sets] == [tuple(f"c{j}" for j in columns) for columns in sets]
    assert [one.unique for one in found.sets] == [len(people_unique_in(rows, people, columns)) for columns in sets]
    assert [one.minimal for one in found.sets] == [
        len({person for person, mine in zip(people, each, strict=True) if columns in mine}) for columns in sets
    ]
    smallest = {}
    for person, mine in zip(people, each, strict=True):
        for columns in mine:
            smallest[person] = min(smallest.get(person, len(columns)), len(columns))
    assert found.by_size == {s: list(smallest.values()).count(s) for s in range(1, found.size + 1)}
    assert found.people == len(set(people))


@quick
@given(tables(), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_sets_above_a_share_are_minimal_and_all_of_them(table, share):
    rows, _, _ = table
    found = minimal_uniques(frequencies_of(rows)[0], size=len(rows[0]))
    chosen = [set(one.columns) for one in found.above(share)]
    for one in found.sets:
        enough = one.unique >= max(share * found.people, 1)
        assert enough == any(part <= set(one.columns) for part in chosen)
    assert not any(a < b for a in chosen for b in chosen)


@quick
@given(tables(), st.booleans())
def test_the_compiled_way_gives_the_same(as_if_large, table, of_people):
    rows, people, size = table
    frequencies, _ = frequencies_of(rows, people if of_people else None)
    plain, scores = minimal_uniques(frequencies, size=size), special_uniques(frequencies, size=size).scores
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch)
        patch.setattr(module, "MIN_SETS_TO_COMPILE", 1)
        assert minimal_uniques(frequencies, size=size) == plain
        assert (special_uniques(frequencies, size=size).scores == scores).all()


@quick
@given(tables())
def test_rows_need_not_be_cells(table):
    """Rows that are equal are not unique, whether they are counted together or one by one."""
    rows, _, size = table
    one_by_one = FrequencySet(
        tuple(f"c{j}" for j in range(len(rows[0]))), np.array(rows), Classes(np.ones(len(rows), dtype=np.int64))
    )
    assert minimal_uniques(one_by_one, size=size) == minimal_uniques(frequencies_of(rows)[0], size=size)


@quick
@given(tables())
def test_owners_are_the_only_ones_in_their_class(table):
    rows, people, _ = table
    frequencies, cells = frequencies_of(rows, people)
    for cell, owner in enumerate(owners_of(frequencies.classes)):
        inside = {person for person, c in zip(people, cells, strict=True) if c == cell}
        assert inside == {owner} if owner != SEVERAL else len(inside) > 1
