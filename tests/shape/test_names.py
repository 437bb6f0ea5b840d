"""Plain words: functions are verbs with an object, and a short module with one importer lives in that importer.

The figures are those of `tools/tree.py`. Folders still to be done are listed; the list only shrinks.
"""

import ast
import importlib.util
from pathlib import Path

import pytest

# A folder leaves its list once nothing in it breaks the rule: a folder that is listed in vain fails too.
WITH_PARTICIPLES = set()
WITH_LONELY_MODULES = set()


@pytest.fixture(scope="module")
def tree():
    path = Path(__file__).parents[2] / "tools" / "tree.py"
    spec = importlib.util.spec_from_file_location("tree", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folders_of(names):
    """Return the folders of some modules or functions."""
    return {name.split(".")[0] for name in names}


def test_no_function_is_named_by_a_lone_participle(tree):
    banned = [f"{module}.{name}" for module, name in tree.functions() if name.strip("_") in tree.BANNED]
    done = [name for name in banned if name.split(".")[0] not in WITH_PARTICIPLES]
    assert done == [], "name a function by a verb and its object"
    assert folders_of(banned) == WITH_PARTICIPLES, "a folder without such names leaves the list"


def test_short_modules_with_one_importer_live_in_it(tree):
    lonely = tree.lonely()
    done = [each for each in lonely if each.split(".")[0] not in WITH_LONELY_MODULES]
    assert done == [], "move the code into its importer"
    assert folders_of(lonely) == WITH_LONELY_MODULES, "a folder without such modules leaves the list"


def test_a_model_in_the_file_of_its_name_is_no_lonely_module(tree):
    assert tree.is_registered("models.average_risk", "models")
    assert not tree.is_registered("models.base", "models")


def test_a_public_class_has_a_name_of_its_own():
    """A reader who meets a name finds one class; private classes, with an underscore, may repeat one."""
    root = Path(__file__).parents[2] / "src" / "indistinct"
    homes = {}
    for path in sorted(root.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(root)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
