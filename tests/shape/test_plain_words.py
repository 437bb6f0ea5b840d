"""Pages are written in plain American English: words that make a reader stop are not used.

The list has words and phrases with a plainer form, and British spellings. Code, links and titles of papers are not
looked at.
"""

import re
from pathlib import Path

import pytest

from references.documentation import DOCS, PAGES, ROOT, name_of

PLAINER = {
    r"nobody|no one else": "no person, or name who",
    r"somebody|someone": "a person",
    r"whoever|whomever": "name the person: an attacker, a reader, a caller",
    r"so many": "a number",
    r"told|tells of": "reported, shown, given",
    r"said of": "reported about",
    r"stands? (?:in|on|beside|for|there|behind|alone|out|before)": "is",
    r"betrays?|betrayed": "reveals",
    r"beside": "next to, with, compared with",
    r"as it is|as they are": "unmodified, as written",
    r"shows itself": "is shown",
    r"spelled|spelling": "written",
    r"breaks? links|broken links": "bucketization",
    r"look-alikes?": "population match",
}
AMERICAN = {
    r"learnt": "learned",
    r"per cent": "percent",
    r"behaviours?": "behavior",
    r"colours?": "color",
    r"neighbours?|neighbouring|neighbourhood": "neighbor",
    r"cent(?:re|res|red)": "center",
    r"favours?|honours?|honoured": "favor, honor",
    r"defences?": "defense",
    r"licences?": "license",
    r"organisations?": "organization",
    r"analyse[sd]?|minimise[sd]?|recognise[sd]?|summarise[sd]?": "-ize, -yze",
    r"labelled|modelled|cancelled": "labeled",
    r"generalise[sd]?|generalisation|anonymise[sd]?|pseudonymise[sd]?": "-ize",
}
# Titles of papers, laws and guidelines, as their authors write them.
QUOTED = (
    "Anonymisation Techniques",
    "anonymisation",
    "broken links",
    "Pseudonymisation",
)
# Written from code, whose texts are checked where they are declared; claims quote their sources.
GENERATED = {DOCS / "research" / "claims.md", *(DOCS / "reference").rglob("*.md")}
WRITTEN = [page for page in (*PAGES, ROOT / "benchmarks" / "README.md") if page not in GENERATED]


def prose_of(text: str) -> str:
    """Return a page without code, links' targets and quoted titles; lines stay where they are."""
    text = re.sub(r"^ *```.*?^ *```", lambda code: "\n" * code[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for title in QUOTED:
        text = text.replace(title, "")
    return text


def words_to_replace(text: str) -> list[str]:
    """Return each word or phrase that has a plainer form, with its line and the form."""
    lines = prose_of(text).splitlines()
    rules = [(re.compile(rf"\b(?:{words})\b", re.I), better) for words, better in (PLAINER | AMERICAN).items()]
    return [
        f"line {number}: {match[0]} ({better})"
        for number, line in enumerate(lines, 1)
        for rule, better in rules
        for match in rule.finditer(line)
    ]


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_a_page_uses_plain_words(page: Path) -> None:
    assert words_to_replace(page.read_text(encoding="utf-8")) == []


def test_words_are_found_in_prose_and_not_in_code() -> None:
    code = "```shell\nsomebody\n```"
    text = f"Nobody was told.\n\n{code}\n\n`whoever` and [beside](beside.md), learnt by Anonymisation Techniques.\n"
    assert [each.partition(" (")[0] for each in words_to_replace(text)] == [
        "line 1: Nobody",
        "line 1: told",
        "line 7: beside",
        "line 7: learnt",
    ]
