"""Imports go one way, and heavy or optional packages come late."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import indistinct

ROOT = Path(indistinct.__file__).parent

# A package may import those on a lower layer, and itself. What is not named here has no place yet: give it one.
LAYERS = {
    "errors": 0,
    "arrays": 1,
    "compiled": 1,
    "parallel": 1,
    "extension": 1,
    "schema": 1,
    "spelling": 2,
    "domain": 2,
    "randomness": 3,
    "hierarchy": 3,
    "tables": 3,
    "frequencies": 4,
    "recoding": 5,
    "models": 6,
    "metrics": 6,
    "datasets": 7,
    "algorithms": 7,
    "engines": 7,
    "release": 8,
    "risks": 9,
    "attacks": 9,
    "summary": 10,
    "report": 11,
    "registry": 11,
    "inspection": 12,
    "policy": 13,
    "api": 14,
    "exploration": 15,
    "reproduce": 15,
    "testing": 15,
    "cli": 16,
    "web": 16,
    "documentation": 17,
}
# What the package says of itself, its version and its public names, may be read by everyone.
ITSELF = {"__init__", "__main__"}
# Packages that are imported only inside functions, and the only folder that may do so at the top of a module.
LATE = {
    "pandas": None,
    "polars": None,
    "duckdb": None,
    "pyspark": None,
    "altair": None,
    "vl_convert": None,
    "nicegui": "web",
    "hypothesis": "testing",
    "tomlkit": "policy",
}


def modules():
    return sorted(path for path in ROOT.rglob("*.py"))


def part_of(path):
    """Return the package or module directly below the root."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(tree):
    """Yield every imported module by its full name, and whether the import runs with the module."""
    inside = {id(node) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.Lambda) for node in ast.walk(f)}
    guarded = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and ast.unparse(test.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        early = id(node) not in inside and id(node) not in guarded
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, early
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for name in node.names:
                yield (f"{node.module}.{name.name}" if node.module == "indistinct" else str(node.module)), early


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    here = part_of(path)
    if here in ITSELF:
        return
    assert here in LAYERS, f"{here} has no layer"
    for name, _ in imports_of(ast.parse(path.read_text())):
        first, _, rest = name.partition(".")
        there = rest.partition(".")[0]
        if first != "indistinct" or there in ("", "__version__", here):
            continue
        assert there in LAYERS, f"{there} has no layer"
        assert LAYERS[there] < LAYERS[here], f"{here} must not import {there}"


def test_algorithms_and_engines_never_import_each_other():
    for one, other in (("algorithms", "engines"), ("engines", "algorithms")):
        for path in (ROOT / one).rglob("*.py"):
            assert not any(
                name.startswith(f"indistinct.{other}") for name, _ in imports_of(ast.parse(path.read_text()))
            )


def test_verification_knows_no_algorithm_no_engine_and_no_recoding():
    for name, _ in imports_of(ast.parse((ROOT / "release/verify.py").read_text())):
        assert not name.startswith(("indistinct.algorithms", "indistinct.engines", "indistinct.recoding"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_optional_packages_are_imported_when_used(path):
    for name, early in imports_of(ast.parse(path.read_text())):
        package = name.partition(".")[0]
        if package in LATE and early:
            assert part_of(path) == LATE[package], f"{package} is imported before it is needed"


def loaded_by(statement):
    """Return the modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_importing_the_package_is_light():
    heavy = {"numba", "pandas", "polars", "duckdb", "typer", "rich", "hypothesis", "altair", "tomlkit"}
    assert not loaded_by("import indistinct") & heavy


def test_anonymizing_needs_no_optional_package():
    """Arrow itself looks for pandas, so what counts is that nothing breaks without it."""
    statement = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "duckdb", "pyspark", "altair", "typer", "rich", "hypothesis"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import indistinct as ind, pyarrow as pa
table = pa.table({"age": [1, 2, 3, 4]})
release = ind.anonymize(table, ind.Schema(quasi=["age"]), model=ind.KAnonymity(2))
assert ind.measure(release)["discernibility"] == 8
"""
    assert "indistinct" in loaded_by(statement)


def test_helping_is_light():
    assert not loaded_by("import indistinct.cli") & {"numba", "pandas", "polars", "duckdb", "altair"}
