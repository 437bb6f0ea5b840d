"""Small files, short functions, plain names, exact public names: machines guard the shape."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import indistinct

ROOT = Path(indistinct.__file__).parent
TESTS = Path(__file__).parents[1]

LONGEST_FILE = 400
LONGEST_FUNCTION = 50
# Compiled loops may be one function where calls would cost an allocation a part; each is checked against a twin.
LONG_FUNCTIONS = {
    "algorithms/partition/_strict_kernels.py:partition_strict": "the whole recursion of strict partitioning",
    "algorithms/bucket/_kernels.py:partition_tuples": "the whole recursion of slicing, without calls",
    "models/_link_probability_kernels.py:link_tuples": "one pass over a tuple's buckets, without calls",
    "algorithms/full_domain/_kernels.py:sweep": "the whole walk over a lattice, without calls",
}
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
OUTSIDE = re.compile(r"(?<!\w)/(work|home|tmp|root)/")


def sources(root=ROOT):
    return sorted(root.rglob("*.py"))


def named(path):
    return str(path.relative_to(ROOT if ROOT in path.parents else TESTS))


every_source = pytest.mark.parametrize("path", sources(), ids=named)
every_file = pytest.mark.parametrize("path", [*sources(), *sources(TESTS)], ids=named)


@every_file
def test_files_are_small(path):
    assert len(path.read_text().splitlines()) < LONGEST_FILE


@every_source
def test_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            allowed = f"{named(path)}:{node.name}" in LONG_FUNCTIONS
            assert length < LONGEST_FUNCTION or allowed, f"{node.name} has {length} lines"


def test_the_list_of_long_functions_is_true():
    for entry in LONG_FUNCTIONS:
        place, name = entry.split(":")
        found = [n for n in ast.walk(ast.parse((ROOT / place).read_text())) if isinstance(n, ast.FunctionDef)]
        (function,) = [n for n in found if n.name == name]
        assert function.end_lineno - function.lineno + 1 >= LONGEST_FUNCTION


@every_source
def test_names_say_what_is_inside(path):
    parts = [part.removesuffix(".py").strip("_") for part in path.relative_to(ROOT).parts]
    assert not FORBIDDEN & set(parts)


@every_file
def test_nothing_is_left_unfinished(path):
    if path == Path(__file__):
        return
    assert not UNFINISHED.search(path.read_text())


@every_file
def test_no_path_of_one_machine(path):
    if path == Path(__file__):
        return
    assert not OUTSIDE.search(path.read_text())


@every_source
def test_every_module_says_what_it_is_for(path):
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert text
    assert text.splitlines()[0].endswith((".", ":", "?"))


@every_source
def test_public_names_are_exact(path):
    """A package that shows names lists them; each is there, sorted, and nothing else is."""
    if path.name != "__init__.py":
        return
    tree = ast.parse(path.read_text())
    shows = [n for n in tree.body if not isinstance(n, ast.Expr)]
    if not shows:
        return
    dotted = ".".join(["indistinct", *path.relative_to(ROOT).parent.parts])
    module = importlib.import_module(dotted)
    listed = list(module.__all__)
    assert listed == sorted(listed, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert hasattr(module, name), f"{dotted} lists {name}, which it does not have"


def test_everything_public_is_listed():
    names = [name for name in indistinct.__all__ if not name.startswith("_")]
    assert {"Schema", "Mondrian", "KAnonymity", "anonymize", "apply", "measure", "open", "verify"} <= set(names)
    assert set(names) <= set(dir(indistinct))
    with pytest.raises(AttributeError):
        _ = indistinct.no_such_name


@every_source
def test_randomness_has_no_module_level_state(path):
    text = path.read_text()
    assert "np.random.seed" not in text
    assert not re.search(r"^random\.seed|^[A-Z_]+ = (np\.)?random\.(default_rng|Random)", text, re.MULTILINE)
