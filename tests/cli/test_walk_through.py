"""The walk through a hospital's export: every command on the page answers what the page shows."""

import importlib.util
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_page_shows_what_its_commands_answer(tmp_path):
    spec = importlib.util.spec_from_file_location("walk", EXAMPLES / "walk.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (EXAMPLES / "hospital.md").read_text(encoding="utf-8")
    assert module.walk(page, tmp_path) == page, "run `python examples/walk.py` and read what changed"
    assert page.count("$ indistinct ") >= 8
