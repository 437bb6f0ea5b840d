"""Pages, help and code are written in plain English: words that make a reader stop are not used.

The list has words and phrases with a plainer form, and British spellings for pages. Code in pages, links and titles of
papers are not checked. Of the code, docstrings, comments and messages are.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
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
# Docstrings and comments speak to developers: they name people and things, in at most one subordinate clause.
PLAINER_IN_DOCSTRINGS = {
    r"of which|of whom": "a second sentence",
    r"stands?": "is, are",
    r"said": "stated, reported",
    r"everybody|everyone|anybody|anyone": "each person, all people, a person",
    r"so much": "an amount, a share",
    r"speaks? of": "is about",
    r"known of": "known facts about",
    r"promises|promised": "guarantees, guaranteed",
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
    r"analysed?|minimise[sd]?|recognise[sd]?|summarise[sd]?": "-ize, -yze",
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


# Both packages, whose docstrings, comments and messages use plain words; and what they may say all the same.
PACKAGES = (ROOT / "src" / "indistinct", ROOT / "papers" / "src" / "indistinct_papers")
CODE = sorted(module for package in PACKAGES for module in package.rglob("*.py"))
QUOTED_IN_CODE = ("as it is (", "Who stands in small", 'class="beside"', "indistinct.text_form import")
QUOTED_IN_DOCSTRINGS = ("that is no promise'", "stand-in")  # a message in an example
LIBRARY = [module for module in CODE if "papers" not in module.parts]  # papers still has both
# Words that name no value: what the variable holds does.
VAGUE_VARIABLES = {"found", "told", "said", "shown", "met"}
# The reference of the command line and of policies is made of help texts.
HELP = [DOCS / "reference" / name for name in ("policy.md", "models.md", "hierarchies.md")]


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
    return _replace(enumerate(prose_of(text).splitlines(), 1), PLAINER | AMERICAN)


def _replace(lines: Iterable[tuple[int, str]], words: Mapping[str, str]) -> list[str]:
    rules = [(re.compile(rf"\b(?:{each})\b", re.I), better) for each, better in words.items()]
    return [
        f"line {number}: {match[0]} ({better})"
        for number, line in lines
        for rule, better in rules
        for match in rule.finditer(line)
    ]


def words_of_code(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, comments and messages of a module with their lines; a text of one word is none."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, _without_quoted(node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], _without_quoted(token.string)


def docstrings_and_comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, texts below constants, and comments of a module with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, _without_quoted(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], _without_quoted(token.string)


def vague_variables(source: str) -> list[str]:
    """Return the assignments in functions whose variable has a name that fits any value."""
    functions = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    names = (node for function in functions for node in ast.walk(function) if isinstance(node, ast.Name))
    vague = {(n.lineno, n.id) for n in names if isinstance(n.ctx, ast.Store) and n.id in VAGUE_VARIABLES}
    return [f"line {line}: {name}" for line, name in sorted(vague)]


def _without_quoted(text: str) -> str:
    text = re.sub(r"`[^`\n]*`", "", text)
    for quoted in (*QUOTED_IN_CODE, *QUOTED_IN_DOCSTRINGS):
        text = text.replace(quoted, "")
    return text


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_a_page_uses_plain_words(page: Path) -> None:
    assert words_to_replace(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", HELP, ids=name_of)
def test_help_uses_plain_words(page: Path) -> None:
    assert words_to_replace(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", CODE, ids=name_of)
def test_code_uses_plain_words(module: Path) -> None:
    assert _replace(words_of_code(module.read_text(encoding="utf-8")), PLAINER) == []


@pytest.mark.parametrize("module", LIBRARY, ids=name_of)
def test_docstrings_and_comments_name_people_and_things(module: Path) -> None:
    lines = docstrings_and_comments(module.read_text(encoding="utf-8"))
    assert _replace(lines, PLAINER_IN_DOCSTRINGS) == []


@pytest.mark.parametrize("module", LIBRARY, ids=name_of)
def test_a_variable_is_named_by_what_it_holds(module: Path) -> None:
    assert vague_variables(module.read_text(encoding="utf-8")) == []


def test_docstrings_are_checked_and_messages_are_not() -> None:
    source = '"""Of which."""\nLIMIT = 3\n"""So much."""\nraise ValueError("stands")  # said\n'
    found = _replace(docstrings_and_comments(source), PLAINER_IN_DOCSTRINGS)
    assert [each.partition(" (")[0] for each in found] == ["line 1: Of which", "line 3: So much", "line 4: said"]


def test_a_vague_variable_is_reported() -> None:
    source = "def read(lines):\n    found = lines[0]\n    count = len(lines)\n    return found, count\n"
    assert vague_variables(source) == ["line 2: found"]


def test_words_of_code_are_docstrings_comments_and_messages() -> None:
    source = '"""Nobody is here."""\nTOLD = "told"  # was told\nraise ValueError(f"{TOLD} stands in it")\n'
    found = _replace(words_of_code(source), PLAINER)
    assert [each.partition(" (")[0] for each in found] == ["line 1: Nobody", "line 3: stands in", "line 2: told"]


def test_words_are_found_in_prose_and_not_in_code() -> None:
    code = "```shell\nsomebody\n```"
    text = f"Nobody was told.\n\n{code}\n\n`whoever` and [beside](beside.md), learnt by Anonymisation Techniques.\n"
    assert [each.partition(" (")[0] for each in words_to_replace(text)] == [
        "line 1: Nobody",
        "line 1: told",
        "line 7: beside",
        "line 7: learnt",
    ]
