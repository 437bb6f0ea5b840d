"""Claims of sources: their verdicts, as a value, as JSON, on the terminal and on the page."""

from dataclasses import replace

import pytest

from indistinct.errors import InputError
from indistinct_papers import Claim, Example, Reproduction
from indistinct_papers.base import claim_from_json, cpu_seconds, judge, page_of, unite_sentences

CLAIM = Claim(
    text="one beats the other",
    source="Somebody (2000)",
    held=1,
    tested=2,
    figures="1 < 2 at k = 5, 4 > 3 at k = 10",
    differs="another table",
)


def figure_with(*claims: Claim) -> Reproduction:
    return Reproduction(
        title="A figure",
        source="Somebody (2000).",
        data="two rows",
        headings=("k", "value"),
        rows=((5, 1), (10, 4)),
        findings=("something else",),
        facts={},
        claims=claims,
    )


def test_a_claim_that_holds_in_some_settings_depends() -> None:
    assert [judge(*each) for each in ((3, 3), (0, 3), (2, 3), (0, 0))] == [
        *("confirmed", "not confirmed", "depends", "not tested")
    ]


def test_json_carries_claims_in_order() -> None:
    second = Claim("two", "Somebody (2000)", 9, 9, "9 of 9")
    document = figure_with(CLAIM, second).to_json()
    first = document["claims"][0]
    assert (first["claim"], first["verdict"], first["held"], first["tested"]) == (
        "one beats the other",
        "depends",
        1,
        2,
    )
    assert claim_from_json(first) == CLAIM
    assert [claim["differs"] for claim in document["claims"]] == ["another table", ""]


def test_the_rule_of_a_sentence_says_in_which_settings_it_must_hold() -> None:
    verdicts = [judge(held, 6, rule) for rule in ("often", "some") for held in (0, 1, 3, 4, 6)]
    often = ["not confirmed", "depends", "depends", "confirmed", "confirmed"]
    assert verdicts == [*often, "not confirmed", *["confirmed"] * 4]


def test_one_sentence_of_several_figures_is_one_claim_and_variants_stay_apart() -> None:
    more = replace(CLAIM, held=2, figures="1 < 3", differs="another table")
    rows = unite_sentences([("one", CLAIM), ("two", more), ("two", replace(CLAIM, own=True))])
    assert [names for names, _ in rows] == [("one", "two"), ("two",)]
    united = rows[0][1]
    assert (united.held, united.tested, united.verdict) == (3, 4, "depends")
    assert united.figures == f"one: {CLAIM.figures}; two: 1 < 3"
    assert united.differs == "another table"


def test_the_terminal_shows_verdict_claim_figures_and_what_differs() -> None:
    verdict, figures, differs = CLAIM.lines()
    assert verdict == "depends: one beats the other, says Somebody (2000)"
    assert (figures.strip(), differs.strip()) == (CLAIM.figures, "differs: another table")


def test_the_page_begins_with_every_verdict() -> None:
    text = page_of({"some-figure": figure_with(CLAIM), "missing": InputError("no table", hint="get it")})
    table = text.index("What the sources claim")
    assert table < text.index("indistinct reproduce some-figure")
    assert '<td>one beats the other</td><td class="warn">depends</td><td>1 &lt; 2 at k = 5' in text
    assert "<p>1 claims: 1 depends.</p>" in text
    assert '<a href="#some-figure">' in text
    assert '<h2 id="some-figure">' in text
    assert "Not made: no table" in text
    assert '<table class="sentences">' in text


def test_long_tables_are_folded_and_pages_have_a_dark_side() -> None:
    long = replace(figure_with(), rows=tuple((number, number) for number in range(26)))
    text = page_of({"short": figure_with(), "long": long})
    assert text.count("<details><summary>all 26 rows</summary>") == 1
    assert "prefers-color-scheme: dark" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_examples_stand_beside_the_printed_rows() -> None:
    example = Example("A book", "Table 1", "by hand", ("a", "b"), (("1", "2"),), (("1", "3"),), "It must be 3.")
    made = replace(figure_with(), examples=(example,))
    assert made.to_json()["examples"][0]["erratum"] == "It must be 3."
    text = page_of({"examples": made})
    assert "<h3>A book: Table 1</h3>" in text
    assert '<tr class="marked"><td>1</td><td>2</td><td>≠</td><td>1</td><td>3</td></tr>' in text
    assert "examples" not in figure_with().to_json()


def test_short_work_is_repeated_until_its_time_can_be_told(monkeypatch) -> None:
    """A clock that ticks every four milliseconds tells the time of work that takes one."""
    runs = list[int]()
    monkeypatch.setattr("indistinct_papers.base.time.process_time", lambda: len(runs) // 4 * 0.004)
    seconds, result = cpu_seconds(lambda: runs.append(1) or "done")
    assert result == "done"
    assert seconds == pytest.approx(0.001)
    assert len(runs) == 100
