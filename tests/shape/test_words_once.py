"""A sentence of the page stands in one place, so that it is changed, or said in another language, once."""

import ast
from collections import defaultdict
from pathlib import Path

PAGE = Path(__file__).parents[2] / "src" / "indistinct" / "web"
# So many words make a sentence that somebody reads.
WORDS = 4


def sentences_of(path: Path) -> list[str]:
    """Return the texts of some words in a module that are no docstrings and no parts of a longer text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {
        id(part)
        for node in ast.walk(tree)
        for part in (
            node.values if isinstance(node, ast.JoinedStr) else [node.value] if isinstance(node, ast.Expr) else []
        )
    }
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in found if id(node) not in parts and len(node.value.split()) >= WORDS]


def test_a_sentence_of_the_page_stands_once():
    places = defaultdict(list)
    for path in sorted(PAGE.rglob("*.py")):
        for text in sentences_of(path):
            places[text].append(path.relative_to(PAGE).as_posix())
    assert len(places) > 100, "this test finds the sentences of the page"
    assert {text: where for text, where in places.items() if len(where) > 1} == {}
