"""The walk through a hospital's export: every command answers what its page shows, and a guide quotes it."""

import importlib.util
from pathlib import Path

from references.documentation import DOCS, blocks_of

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_page_shows_what_its_commands_answer(tmp_path):
    spec = importlib.util.spec_from_file_location("walk", EXAMPLES / "walk.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert module.walk(page, tmp_path) == page, "run `python examples/walk.py` and read what changed"
    assert page.count("$ indistinct ") >= 8


def test_the_guide_quotes_what_the_page_shows():
    (quoted,) = blocks_of(DOCS / "guides" / "finding-what-is-risky.md", "text")
    assert quoted.count("\n") == 6
    assert quoted in (EXAMPLES / "hospital.md").read_text(encoding="utf-8")
