"""The hospital of Xiao and Tao (2007): two 2-diverse releases whose signatures give Bob away, and an invariant one."""

import numpy as np
import pytest

from indistinct.release import comparison
from indistinct.release.certificate import Overlap
from indistinct.release.comparison import overlap_of
from indistinct.release.standing import Signatures, Standing

# Who stands in which class with which disease; ages and zip codes are in the paper, and make these classes.
FIRST = [
    {"Bob": "dyspepsia", "Alice": "bronchitis"},
    {"Andy": "flu", "David": "gastritis"},
    {"Gary": "flu", "Helen": "gastritis"},
    {"Jane": "dyspepsia", "Ken": "flu", "Linda": "gastritis"},
    {"Paul": "dyspepsia", "Steve": "gastritis"},
]
SECOND = [
    {"Bob": "dyspepsia", "David": "gastritis"},
    {"Emily": "flu", "Jane": "dyspepsia", "Linda": "gastritis"},
    {"Gary": "flu", "Mary": "gastritis"},
    {"Ray": "dyspepsia", "Steve": "gastritis"},
    {"Tom": "gastritis", "Vince": "flu"},
]
# With two counterfeit rows the signatures stay as they were: c1 and c2 are nobody.
INVARIANT = [
    {"Bob": "dyspepsia", "c1": "bronchitis"},
    {"David": "gastritis", "Emily": "flu"},
    {"Jane": "dyspepsia", "c2": "flu", "Linda": "gastritis"},
    {"Gary": "flu", "Mary": "gastritis"},
    {"Ray": "dyspepsia", "Steve": "gastritis"},
    {"Tom": "gastritis", "Vince": "flu"},
]
DISEASES = ["bronchitis", "dyspepsia", "flu", "gastritis"]


def standing(classes: list[dict[str, str]]) -> Standing:
    """Return the release by hand, with names in the place of pseudonyms."""
    where = {name: number for number, rows in enumerate(classes) for name in rows}
    values = {name: disease for rows in classes for name, disease in rows.items()}
    people = sorted(where)
    shown = [sorted({DISEASES.index(disease) for disease in rows.values()}) for rows in classes]
    one = np.arange(len(people) + 1)
    return Standing(
        {"name": "text"},
        np.array(people, dtype="S16"),
        np.array([values[name] for name in people], dtype="S16"),
        one,
        np.array([where[name] for name in people], dtype=np.int32),
        len(classes),
        {
            "disease": Signatures(
                "text",
                np.array(DISEASES, dtype="S16"),
                np.cumsum([0, *map(len, shown)]),
                np.array([code for codes in shown for code in codes], dtype=np.int32),
            )
        },
        {"disease": (one, np.array([DISEASES.index(values[name]) for name in people], dtype=np.int32))},
    )


def test_the_two_releases_of_the_paper_give_bob_away() -> None:
    found = overlap_of(standing(SECOND), [standing(FIRST)], k=2)
    # Bob and David moved on together; {dyspepsia, bronchitis} and {dyspepsia, gastritis} leave dyspepsia alone, and
    # {flu, gastritis} and {dyspepsia, gastritis} leave gastritis. Jane and Linda had flu beside them and still have.
    assert (found.people_certain, found.changed_signatures, found.m) == (2, 2, 1)
    assert found.shared_people == 6
    # Each of the six stands alone in the intersection, but for Jane and Linda, who stayed together.
    assert (found.smallest_intersection, found.people_below) == (1, 4)


def test_the_invariant_release_of_the_paper_keeps_m() -> None:
    found = overlap_of(standing(INVARIANT), [standing(FIRST)], k=2)
    assert (found.people_certain, found.changed_signatures, found.m) == (0, 0, 2)


def test_three_releases_tell_more_than_any_two() -> None:
    """A value is certain, and a person alone, only once all three are put together."""
    values = dict(zip("abcd", DISEASES, strict=True))

    def release(*groups: str) -> Standing:
        return standing([{name: values[name] for name in group} for group in groups])

    one, two, three = release("abc", "d"), release("abd", "c"), release("acd", "b")
    pair = overlap_of(three, [one], k=2)
    assert (pair.smallest_intersection, pair.people_below, pair.people_certain) == (1, 2, 0)  # b and d were alone
    every = overlap_of(three, [one, two], k=2)
    assert (every.people_below, every.people_certain) == (4, 1)  # a and c are alone too; what a has is certain
    assert every.m == 1


def test_who_was_in_more_releases_hides_who_was_in_fewer() -> None:
    """Somebody who knows that c was in the first release cannot rule out a and b, who were in the second too."""
    values = dict.fromkeys("abc", "flu")
    first, new, second = standing([values]), standing([values]), standing([{"a": "flu", "b": "flu"}])
    found = overlap_of(new, [first, second], k=3)
    # a and b stand among the two of the second release, c among three.
    assert (found.shared_people, found.smallest_intersection, found.people_below) == (3, 2, 2)


def test_who_joins_a_class_of_people_who_stay_is_told_by_the_difference() -> None:
    june = standing([{"a": "flu", "b": "gastritis", "c": "flu"}, {"d": "flu", "e": "gastritis", "f": "dyspepsia"}])
    july = standing(
        [{"a": "flu", "b": "gastritis", "c": "flu", "x": "dyspepsia"}, {"d": "flu", "e": "gastritis", "f": "dyspepsia"}]
    )
    found = overlap_of(july, [june], k=3)
    assert found == Overlap(6, 3, 0, 3, 1, smallest_difference=1, people_isolated=1, changed_signatures=3, m=2)
    # Where three join, or where the values of two others change as well, the difference speaks of three.
    three = standing(
        [{"a": "flu", "b": "gastritis", "c": "flu", "x": "flu", "y": "flu", "z": "gastritis"}, {"d": "flu"}]
    )
    assert overlap_of(three, [june], k=3).people_isolated == 2  # e and f left
    moved = standing(
        [{"a": "gastritis", "b": "flu", "c": "flu", "x": "flu"}, {"d": "flu", "e": "flu", "f": "gastritis"}]
    )
    found = overlap_of(moved, [june], k=3)
    assert (found.smallest_difference, found.people_isolated) == (2, 4)  # a and b, and e and f, changed; with x three


def test_too_many_combinations_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_COMBINATIONS", 3)
    found = overlap_of(standing(SECOND), [standing(FIRST)], k=2)
    assert not found.complete
    assert found.smallest_intersection == 1
