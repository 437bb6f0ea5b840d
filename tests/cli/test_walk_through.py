"""The walk through a hospital's export, and the guide that looks at it: every command answers what its page shows."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "commands"), [("hospital.md", 8), ("finding-what-is-risky.md", 1)])
def test_the_page_shows_what_its_commands_answer(tmp_path, name, commands):
    spec = importlib.util.spec_from_file_location("walk", EXAMPLES / "walk.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (path,) = [page for page in module.PAGES if page.name == name]
    page = path.read_text(encoding="utf-8")
    assert module.walk(page, tmp_path) == page, "run `python examples/walk.py` and read what changed"
    assert page.count("$ indistinct ") >= commands
