"""The page of claims is a record of one run: its claims are those that the figures judge, in their words."""

import json
from collections import Counter
from pathlib import Path

import pytest
from tools.claims_page import HEADINGS, main, page_of

from indistinct_papers import REPRODUCTIONS
from indistinct_papers.incognito_times import SEARCHES
from indistinct_papers.incognito_times import claims as claims_about_times
from indistinct_papers.local_recoding import ALGORITHMS
from indistinct_papers.local_recoding import claims as claims_about_clustering
from indistinct_papers.slicing import claims as claims_about_membership
from indistinct_papers.slicing_classification import compare_kinds

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "claims.md"
VERDICTS = {"confirmed", "not confirmed", "depends"}


def rows_of(text: str) -> list[dict[str, str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines[2:]]
    return [dict(zip(HEADINGS, row, strict=True)) for row in cells]


@pytest.fixture(scope="module")
def recorded() -> set[tuple[str, str]]:
    """Return claims with the figure that judges them."""
    return {(row["claim"], row[HEADINGS[-1]].strip("`")) for row in rows_of(PAGE.read_text(encoding="utf-8"))}


def test_the_page_counts_its_claims(recorded) -> None:
    text = PAGE.read_text(encoding="utf-8")
    counts = Counter(row["verdict"] for row in rows_of(text))
    assert set(counts) <= VERDICTS
    assert {name for _, name in recorded} <= set(REPRODUCTIONS)
    assert sum(counts.values()) == len(recorded)
    assert f"\n{len(recorded)} claims: " in text
    assert all(f"{count} {verdict}" in text for verdict, count in counts.items())


def test_every_claim_of_a_figure_is_on_the_page(recorded) -> None:
    clustering = [("a", 3, 1, 2, name, 1.0, 1.0, 1, 1.0) for name in ALGORITHMS]
    times = [("a", k, 3, 1, search, 1.0, 1, 1) for k in (2, 10) for search in SEARCHES]
    wanted = {
        "local-recoding": [claim.text for claim in claims_about_clustering(clustering)],
        "incognito-times": [claim.text for claim in claims_about_times(times)],
        "slicing": [claim.text for claim in claims_about_membership([])],
        "slicing-classification": [each.text for each in compare_kinds([])],
    }
    missing = [(text, name) for name, texts in wanted.items() for text in texts if (text, name) not in recorded]
    assert missing == []


@pytest.mark.parametrize(("name", "sizes"), [("mondrian-bounds", (10, 50)), ("mondrian-passes", (2, 4))])
def test_quick_figures_have_the_verdicts_of_the_page(name: str, sizes: tuple[int, ...]) -> None:
    made = REPRODUCTIONS[name].run(sizes, lambda share: None)
    text = PAGE.read_text(encoding="utf-8")
    for claim in made.claims:
        assert f"| {claim.source} | {claim.text} | {claim.verdict} |" in text


def test_the_page_is_written_from_a_run(tmp_path: Path) -> None:
    claim = {"source": "B (2)", "claim": "a | b", "verdict": "depends", "figures": "1 of 2", "differs": ""}
    other = {**claim, "source": "A (1)", "claim": "c", "verdict": "confirmed"}
    document = {"figures": {"slicing": {"claims": [claim]}, "mondrian-k": {"claims": [other]}}, "missing": {}}
    source, target = tmp_path / "figures.json", tmp_path / "claims.md"
    source.write_text(json.dumps(document), encoding="utf-8")
    assert main([str(source), str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert text == page_of(document)
    assert "\n2 claims: 1 depends, 1 confirmed.\n" in text
    assert text.index("| A (1) | c |") < text.index("| B (2) | a \\| b |")
