"""Small files, short functions, plain names, exact public names: machines guard the shape.

Each rule is one test over all files; it names every file that breaks the rule.
"""

import ast
import importlib
import re
from pathlib import Path

import pytest

import indistinct
from indistinct.models.registry import MODELS

LONGEST_FILE = 700
LONGEST_FUNCTION = 50
# Compiled loops may be one function where calls would cost an allocation a part; each is checked against a twin.
LONG_FUNCTIONS = {
    "models/_link_probability_kernels.py:link_tuples": "one pass over a tuple's buckets, without calls",
    "tables/_field_kernels.py:number_fields": "one pass over the bytes of a file, without calls that copy",
}
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
OUTSIDE = re.compile(r"(?<!\w)/(work|home|tmp|root)/")
MODULE_STATE = re.compile(
    r"np\.random\.seed|^random\.seed|^[A-Z_]+ = (np\.)?random\.(default_rng|Random)", re.MULTILINE
)


def test_files_are_small(every_file):
    lines = {source.name: len(source.text.splitlines()) for source in every_file}
    assert {name: count for name, count in lines.items() if count >= LONGEST_FILE} == {}


def lines_of_code(function):
    """Return the lines of a function's body that follow its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 0


def test_a_docstring_does_not_count_as_code():
    code = 'def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a\n\n\ndef g():\n    """One."""\n'
    assert [lines_of_code(function) for function in ast.parse(code).body] == [2, 0]


def test_functions_are_short(both_packages):
    """The list of exceptions is strict: a function that became short must leave it.

    Docstrings do not count: a public function with many parameters describes each of them.
    """
    lengths = {f"{s.name}:{f.name}": lines_of_code(f) for s in both_packages for f in s.functions()}
    long = {name: count for name, count in lengths.items() if count >= LONGEST_FUNCTION}
    assert long.keys() - LONG_FUNCTIONS == set(), f"at most {LONGEST_FUNCTION - 1} lines, not {long}"
    assert LONG_FUNCTIONS.keys() - long == set(), "no longer long: remove from the list"


def test_names_say_what_is_inside(both_packages):
    parts = {
        source.name: {part.removesuffix(".py").strip("_") for part in Path(source.name).parts}
        for source in both_packages
    }
    assert [name for name, own in parts.items() if own & FORBIDDEN] == []


def test_nothing_is_left_unfinished(every_file):
    others = [source for source in every_file if source.path != Path(__file__)]
    assert [source.name for source in others if UNFINISHED.search(source.text)] == []


def test_no_path_of_one_machine(every_file):
    others = [source for source in every_file if source.path != Path(__file__)]
    assert [source.name for source in others if OUTSIDE.search(source.text)] == []


def test_every_module_says_what_it_is_for(both_packages):
    first = {source.name: (ast.get_docstring(source.tree) or "").partition("\n")[0] for source in both_packages}
    assert {name: line for name, line in first.items() if not line.endswith((".", ":", "?"))} == {}


def test_a_model_lives_in_the_file_of_its_name():
    for name, kind in MODELS.items():
        assert kind.__module__ == f"indistinct.models.{name.replace('-', '_')}"


def test_public_names_are_exact(both_packages):
    """A package that shows names lists them; each is there, sorted, and nothing else is."""
    wrong = {}
    for source in both_packages:
        if source.path.name != "__init__.py" or all(isinstance(node, ast.Expr) for node in source.tree.body):
            continue
        module = importlib.import_module(".".join([source.root.name, *Path(source.name).parent.parts]))
        listed = list(module.__all__)
        if listed != sorted(set(listed), key=lambda name: (not name.isupper(), not name[0].isupper(), name)):
            wrong[source.name] = "not sorted, or listed twice"
        absent = [name for name in listed if not hasattr(module, name)]
        if absent:
            wrong[source.name] = f"lists {absent}, which it does not have"
    assert wrong == {}


def test_everything_public_is_listed():
    names = [name for name in indistinct.__all__ if not name.startswith("_")]
    assert {"Schema", "Mondrian", "KAnonymity", "anonymize", "apply", "measure", "open", "verify"} <= set(names)
    assert dir(indistinct) == sorted([*names, "__version__"])
    with pytest.raises(AttributeError):
        _ = indistinct.no_such_name


def test_the_stub_lists_the_public_names_and_their_modules():
    """Type checkers read the stub, Python reads the table: both name the same module for every name."""
    stub = ast.parse(Path(indistinct.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    listed = [(alias.asname, node.module) for node in imports for alias in node.names]
    assert all(alias.name == alias.asname and node.level == 1 for node in imports for alias in node.names)
    assert sorted(listed) == sorted(indistinct._MODULE_OF.items())


@pytest.mark.parametrize("name", indistinct.__all__)
def test_a_public_name_is_the_object_of_its_module(name):
    module = importlib.import_module(f"indistinct.{indistinct._MODULE_OF[name]}")
    assert getattr(indistinct, name) is getattr(module, name)


def test_randomness_has_no_module_level_state(both_packages):
    assert [source.name for source in both_packages if MODULE_STATE.search(source.text)] == []
