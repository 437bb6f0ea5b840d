"""Bounds of class sizes, the lemma about medians, and how times grow: verdicts follow from what figures print."""

from indistinct_papers import mondrian_bounds, mondrian_growth
from indistinct_papers.mondrian_growth import GREEDY, HEADINGS, MULTI, OPTIMAL


def test_relaxed_parts_keep_their_bound_and_the_lemma_about_medians_fails() -> None:
    made = mondrian_bounds.reproduce_mondrian_bounds((10,), lambda share: None)
    assert made.claims == mondrian_bounds.claims(made.rows)
    found = {claim.text: claim for claim in made.claims}
    assert found["in relaxed partitioning a class has at most 2k - 1 rows"].verdict == "confirmed"
    lemma = found["if a cut of an attribute is allowable, the cut at its median is"]
    assert lemma.verdict == "depends"
    assert 0 < lemma.held < lemma.tested
    (quality,) = [claim for text, claim in found.items() if text.startswith("C_DM and C_AVG")]
    assert (quality.verdict, quality.held, quality.tested) == ("confirmed", 22, 22)
    assert "C_DM 0.21 to 1.00 of its bound" in quality.figures  # one class of all rows attains it on every star
    (row,) = [row for row in made.rows if row[5] == mondrian_bounds.LEFT]
    assert (row[6], row[7], row[8]) == (1, 7, 6)  # one class of seven rows, above the bound of six
    assert (lemma.tested, lemma.held) == mondrian_bounds.try_medians()
    assert f"{lemma.held} of {lemma.tested} drawn tables" in " ".join(made.findings)


def test_every_relaxed_part_has_k_to_2k_less_one_rows() -> None:
    made = mondrian_bounds.reproduce_mondrian_bounds((10,), lambda share: None)
    relaxed = [row for row in made.rows if row[5] == mondrian_bounds.RELAXED]
    assert len(relaxed) == 6
    assert all(row[7] <= row[8] == 2 * row[4] - 1 for row in relaxed)


def timed(*seconds: tuple[int, str, float]) -> list[tuple[object, ...]]:
    """Return rows of the figure; a time for n log n is given as if n log n were n."""
    return [("uniform", rows, name, took, 1e9 * took / rows) for rows, name, took in seconds]


def test_growth_is_judged_from_the_first_table_that_takes_time() -> None:
    others = [(rows, name, 1.0) for rows in (4_000, 16_000, 64_000) for name in (GREEDY, OPTIMAL)]
    steady = [(4_000, MULTI, 0.04), (16_000, MULTI, 0.016), (64_000, MULTI, 0.064), *others]
    order, faster = mondrian_growth.claims(timed(*steady))
    assert (order.verdict, order.held, order.tested) == ("confirmed", 1, 1)
    assert (faster.verdict, faster.tested) == ("confirmed", 6)
    worse = [(rows, name, 100 * took if rows == 64_000 and name == MULTI else took) for rows, name, took in steady]
    order, faster = mondrian_growth.claims(timed(*worse))
    assert order.verdict == "not confirmed"
    assert (faster.verdict, faster.held) == ("depends", 4)


def test_the_figure_prints_what_its_claims_say(monkeypatch) -> None:
    monkeypatch.setattr(mondrian_growth, "FEWEST", 500)
    made = mondrian_growth.reproduce_mondrian_growth((500, 1_000), lambda share: None)
    assert made.claims == mondrian_growth.claims(made.rows)
    assert len(made.rows) == 2 * 2 * 3
    assert set(HEADINGS) == set(made.to_json()["rows"][0])


def test_a_bound_of_quality_that_is_broken_is_not_confirmed() -> None:
    made = mondrian_bounds.reproduce_mondrian_bounds((10,), lambda share: None)
    worse = [(*row[:10], 10 * row[10]) if row[0] == "star" else row for row in made.rows]
    (quality,) = [claim for claim in mondrian_bounds.claims(worse) if claim.text.startswith("C_DM and C_AVG")]
    assert (quality.verdict, quality.held, quality.tested) == ("depends", 18, 22)
