"""The claims about the variants of Incognito: who checks less, scans less and is faster, and on which table."""

from indistinct_papers.incognito_times import SEARCHES, claims


def rows_of(table: str, k: int, size: int, **figures: tuple[float, int, int]) -> list[tuple[object, ...]]:
    """Return the rows of a setting; searches that are not named take 1 second, 100 checks and 10 scans."""
    known = {"basic": "basic incognito", "roots": "super-roots incognito", "cube": "cube incognito"}
    named = {known.get(name, name): measured for name, measured in figures.items()}
    return [(table, k, size, 50, search, *named.get(search, (1.0, 100, 10))) for search in SEARCHES]


def test_figures_say_on_which_table_a_variant_is_faster() -> None:
    rows = [
        *rows_of("adult", 2, 5, basic=(0.5, 60, 10), roots=(0.2, 60, 5)),
        *rows_of("adult", 10, 5, basic=(0.5, 60, 10), roots=(0.4, 60, 5)),
        *rows_of("orders", 2, 5, basic=(0.5, 60, 10), roots=(0.6, 60, 5)),
        *rows_of("orders", 10, 5, basic=(2.0, 120, 10), roots=(0.6, 120, 5)),
    ]
    found = {claim.text: claim for claim in claims(rows)}
    roots = found["super-roots make Incognito faster"]
    assert roots.verdict == "depends"
    assert roots.figures.startswith("adult: 0.40 to 0.80 of basic incognito, below in 2 of 2 settings")
    assert "orders: 0.30 to 1.20 of basic incognito, below in 1 of 2 settings, 1.20 and 0.30" in roots.figures
    assert found["super-roots scan the table less often"].verdict == "confirmed"
    assert found["Incognito checks fewer nodes than bottom-up search"].verdict == "depends"
    assert found["frequency sets that are computed beforehand (cube) make it faster"].verdict == "depends"


def test_searches_that_take_no_time_are_not_compared() -> None:
    short = dict.fromkeys(SEARCHES, (0.001, 60, 10))
    rows = [("adult", k, 3, 50, search, *short[search]) for k in (2, 10) for search in SEARCHES]
    found = {claim.text: claim for claim in claims(rows)}
    assert found["super-roots make Incognito faster"].verdict == "not tested"
    assert found["super-roots scan the table less often"].verdict == "not confirmed"


def test_each_sentence_has_its_place() -> None:
    rows = [("a", k, 3, 1, search, 1.0, 1, 1) for k in (2, 10) for search in SEARCHES]
    places = {claim.text: claim.place for claim in claims(rows)}
    slides = {text for text, place in places.items() if place.startswith("Halwe and Verma, slide of ")}
    assert len(slides) == 3
    assert slides == {text for text in places if "super-roots" in text or "cube" in text}
