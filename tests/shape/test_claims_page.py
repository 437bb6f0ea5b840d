"""The page of claims is a record of one run: its claims are those that the figures judge, in their words."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tools.claims_page import HEADINGS, check_figures, main, page_of

from indistinct_papers import REPRODUCTIONS, Claim
from indistinct_papers.base import judge
from indistinct_papers.incognito_times import SEARCHES
from indistinct_papers.incognito_times import claims as claims_about_times
from indistinct_papers.local_recoding import ALGORITHMS
from indistinct_papers.local_recoding import claims as claims_about_clustering
from indistinct_papers.overlapping_slicing import claims as claims_about_sharing
from indistinct_papers.slicing import claims as claims_about_membership
from indistinct_papers.slicing_classification import claims as claims_about_learning
from indistinct_papers.slicing_classification import compare_kinds

PAGE = Path(__file__).parents[2] / "docs" / "research" / "claims.md"
VERDICTS = {"confirmed", "not confirmed", "depends"}


def rows_of(text: str) -> list[dict[str, str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    cells = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    return [dict(zip(HEADINGS, row, strict=True)) for row in cells if tuple(row) != HEADINGS]


def names_of(row: dict[str, str]) -> list[str]:
    return [name.strip("`") for name in row[HEADINGS[-1]].split(", ")]


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, str]]:
    """Return the rows of the page, those of our own variants last."""
    return rows_of(PAGE.read_text(encoding="utf-8"))


def test_the_page_counts_its_sentences(recorded) -> None:
    text = PAGE.read_text(encoding="utf-8")
    stated = rows_of(text.partition("## Variants of our own")[0])
    counts = Counter(row["verdict"] for row in stated)
    assert set(counts) <= VERDICTS
    assert {name for row in recorded for name in names_of(row)} <= set(REPRODUCTIONS)
    assert f"\n{len(stated)} sentences: " in text
    assert all(f"{count} {verdict}" in text for verdict, count in counts.items())


def test_a_sentence_stands_once_with_its_place_and_both_settings(recorded) -> None:
    assert len({(row["source"], row["claim"]) for row in recorded}) == len(recorded)
    for row in recorded:
        told = ("place", "source's setting", "our setting", "our figures", "what differs")
        assert [heading for heading in told if not row[heading].strip()] == [], row["claim"]


def test_every_verdict_follows_from_the_settings_that_are_printed(recorded) -> None:
    rules = {"": "every", "*often*": "often", "*some*": "some"}
    for row in recorded:
        figures, _, rule = row["holds in"].partition(", ")
        held, _, tested = figures.partition(" of ")
        assert judge(int(held), int(tested), rules[rule]) == row["verdict"]


# How a verdict counts its settings in the figures that are printed: each form finds those that hold, of how many.
STUBS = re.compile(r"; with stubs, as its source has them: .*?(?=; (?:k = |time: |distortion: |discernibility: )|$)")
COUNTED = re.compile(
    r"(?:\(so|below|below the optimum|smaller|smaller errors|faster|above|stated for|published ones for|^in|; in|^on)"
    r"(?: in)? (\d+) of (\d+)"
)
SEARCHED = re.compile(r"([\d,]+) against ([\d,]+) for \d")
GROWING = re.compile(r"GCP ([\d., ]+)")
AGAINST = re.compile(r"([\d.]+) against ([\d.]+)")
CORNERS = re.compile(r"([\d,]+) of ([\d,]+) rows in one class")
GROWTH = re.compile(r"time / n log n is ([\d.]+) to ([\d.]+) of")


def settings_in(row: dict[str, str]) -> tuple[int, int]:
    """Return in how many settings the printed figures say that a sentence holds, and how many they are of."""
    names, figures = names_of(row), STUBS.sub("", row["our figures"])
    if len(names) > 1:  # each figure's part follows its name
        ends = re.split(rf"(?:^|; )({'|'.join(map(re.escape, names))})(?:, \d+)?: ", figures)
        assert ends[0] == ""
        found = [settings_of(name, part) for name, part in zip(ends[1::2], ends[2::2], strict=True)]
        return sum(held for held, _ in found), sum(tested for _, tested in found)
    return settings_of(names[0], figures)


def settings_of(name: str, figures: str) -> tuple[int, int]:
    """Return the same of what one figure prints."""
    if name == "high-dimensional":
        return settings_by_columns(figures)
    if growth := GROWTH.search(figures):
        return sum(0.5 <= float(each) <= 2 for each in growth.groups()), 2
    if corners := CORNERS.findall(figures):
        shares = [whole_number(largest) / whole_number(rows) for largest, rows in corners]
        return sum(share > 0.4 for share in shares), len(shares)
    pairs = [(int(held), int(tested)) for held, tested in COUNTED.findall(figures)]
    searched = [(whole_number(one), whole_number(other)) for one, other in SEARCHED.findall(figures)]
    held = sum(held for held, _ in pairs) + sum(one < other for one, other in searched)
    return held, sum(tested for _, tested in pairs) + len(searched)


def settings_by_columns(figures: str) -> tuple[int, int]:
    """Return the settings of a figure by columns: a loss that grows, an error below another one, or more accuracy."""
    holds = list[bool]()
    for part in re.split(r"; (?!not for)", figures):
        if growing := GROWING.search(part):
            losses = [float(each) for each in growing.group(1).split(", ")]
            some = [less < more for less, more in pairwise(losses)]
        else:
            pairs = [(float(one), float(other)) for one, other in AGAINST.findall(part)]
            some = [one > other if "accuracy" in part else one < other for one, other in pairs]
        failed = re.search(r"not for (.*) columns", part)
        assert some.count(False) == (len(failed.group(1).split(", ")) if failed else 0), part
        holds += some
    return sum(holds), len(holds)


def whole_number(text: str) -> int:
    return int(text.replace(",", ""))


def test_every_verdict_is_traced_to_the_figures_that_are_printed(recorded) -> None:
    wrong = {}
    for row in recorded:
        traced = settings_in(row)
        if f"{traced[0]} of {traced[1]}" != row["holds in"].partition(", ")[0]:
            wrong[row["claim"]] = (traced, row["holds in"])
    assert wrong == {}


def test_every_claim_of_a_figure_is_on_the_page(recorded) -> None:
    clustering = [("a", 3, 1, 2, name, 1.0, 1.0, 1, 1.0) for name in ALGORITHMS]
    times = [("a", k, 3, 1, search, 1.0, 1, 1) for k in (2, 10) for search in SEARCHES]
    wanted = {
        "local-recoding": [claim.text for claim in claims_about_clustering(clustering)],
        "incognito-times": [claim.text for claim in claims_about_times(times)],
        "slicing": [claim.text for claim in claims_about_membership([])],
        "slicing-classification": [each.text for each in claims_about_learning(compare_kinds([]))],
        "overlapping-slicing": [claim.text for claim in claims_about_sharing([])],
    }
    there = {(row["claim"], name) for row in recorded for name in names_of(row)}
    assert [(text, name) for name, texts in wanted.items() for text in texts if (text, name) not in there] == []


@pytest.mark.parametrize(("name", "sizes"), [("mondrian-bounds", (10, 50)), ("mondrian-passes", (2, 4))])
def test_quick_figures_have_the_verdicts_of_the_page(name: str, sizes: tuple[int, ...]) -> None:
    made = REPRODUCTIONS[name].run(sizes, lambda share: None)
    verdicts = {(row["source"], row["claim"]): row["verdict"] for row in rows_of(PAGE.read_text(encoding="utf-8"))}
    for claim in made.claims:
        assert verdicts[claim.source, claim.text] == claim.verdict


RECORD = {"version": "1.2", "code": "abc", "date": "2026-01-02"}


def recorded_figure(name: str, claims: list[Claim], **record: object) -> dict[str, object]:
    sizes = list(REPRODUCTIONS[name].sizes)
    return {"claims": [each.to_json() for each in claims], "record": {**RECORD, "sizes": sizes, **record}}


def test_the_page_is_written_from_the_files_of_figures(tmp_path: Path) -> None:
    claim = Claim("a | b", "B (2)", 1, 2, "1 < 2", place="3.1", setting="theirs", ours="a table")
    other, again = replace(claim, source="A (1)", text="c", held=2), replace(claim, held=2, figures="1 < 3")
    claims = {"slicing": [claim, replace(claim, text="d", own=True)], "mondrian-k": [other, again]}
    figures = {name: recorded_figure(name, claims.get(name, [])) for name in REPRODUCTIONS}
    for name, figure in figures.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(figure), encoding="utf-8")
    target, files = tmp_path / "claims.md", sorted(map(str, tmp_path.glob("*.json")))
    assert main([str(target), *files]) == 0
    text = target.read_text(encoding="utf-8")
    assert text == page_of(dict(sorted(figures.items())))
    assert "\nAll figures: version 1.2, code `abc`, 2026-01-02.\n" in text
    assert "\n2 sentences: 1 confirmed, 1 depends.\n" in text
    united = "| depends | 3 of 4 | theirs | a table | mondrian-k: 1 < 3; slicing: 1 < 2 |  | `mondrian-k`, `slicing` |"
    assert united in text
    assert (
        text.index("| A (1) | 3.1 | c |") < text.index("| B (2) | 3.1 | a \\| b |") < text.index("Variants of our own")
    )
    assert text.index("Variants of our own") < text.index("| B (2) | 3.1 | d |")
    assert main([str(target), *files[1:]]) == 0
    missing = f"\nNot run, so that what they test is not on this page: `{Path(files[0]).stem}`.\n"
    assert missing in target.read_text(encoding="utf-8")


def test_the_page_names_the_figures_that_other_code_made() -> None:
    figures = {name: recorded_figure(name, []) for name in ("slicing", "mondrian-k", "examples")}
    figures["slicing"] = recorded_figure("slicing", [], code="def", date="2025-12-31")
    figures["examples"] = recorded_figure("examples", [], date="2026-01-03")
    text = page_of(figures)
    assert "\n`mondrian-k`, `examples`: version 1.2, code `abc`, 2026-01-02 to 2026-01-03.\n" in text
    assert "\n`slicing`: version 1.2, code `def`, 2025-12-31.\n" in text
    figures["slicing"] = recorded_figure("slicing", [], code=None)
    earlier = "\n`slicing`: version 1.2, an earlier run whose code was not recorded, 2026-01-02.\n"
    assert earlier in page_of(figures)


def test_a_figure_of_some_sizes_does_not_get_on_the_page() -> None:
    figures = {name: recorded_figure(name, []) for name in REPRODUCTIONS}
    check_figures(figures)
    figures["slicing"] = recorded_figure("slicing", [], sizes=[5])
    with pytest.raises(SystemExit, match="no figure: none; not in all sizes: slicing"):
        check_figures(figures)
    figures = {"slices": recorded_figure("slicing", [])}
    with pytest.raises(SystemExit, match="no figure: slices; not in all sizes: none"):
        check_figures(figures)


def test_the_page_says_which_code_made_every_figure() -> None:
    text = PAGE.read_text(encoding="utf-8")
    made = re.findall(
        r"^(All figures|`.*`): version [\d.]+, (?:code `[0-9a-f]{12}`|an earlier .*), 20.*[.]$", text, re.MULTILINE
    )
    not_run = re.findall(r"^Not run, so that what they test is not on this page: (.*)[.]$", text, re.MULTILINE)
    named = {name.strip("`") for names in [*made, *not_run] for name in names.split(", ")}
    assert named in ({"All figures"}, set(REPRODUCTIONS))
