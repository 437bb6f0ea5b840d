"""Imports go one way, and heavy or optional packages come late."""

import ast
import json
import subprocess
import sys

# A package may import those on a lower layer, and itself. What is not named here has no place yet: give it one.
LAYERS = {
    "errors": 0,
    "addresses": 1,
    "arrays": 1,
    "encodings": 1,
    "compiled": 1,
    "memory": 1,
    "input_files": 1,
    "parallel": 1,
    "locks": 1,
    "extension": 1,
    "figures": 1,
    "schema": 1,
    "stages": 1,
    "markup": 2,
    "spill": 2,
    "_ordering_kernels": 2,
    "spelling": 2,
    "domain": 2,
    "ordering": 3,
    "randomness": 3,
    "hierarchy": 3,
    "patterns": 3,
    "tables": 3,
    "frequencies": 4,
    "transformations": 4,
    "queries": 5,
    "recoding": 5,
    "models": 6,
    "metrics": 6,
    "datasets": 7,
    "algorithms": 7,
    "engines": 7,
    "release": 8,
    "risks": 9,
    "answers": 9,
    "attacks": 9,
    "summary": 10,
    "drawing": 11,
    "registry": 11,
    "inspection": 12,
    "jobs": 12,
    "promise": 12,
    "level_search": 13,
    "policy": 13,
    "api": 14,
    "exploration": 15,
    "measuring": 15,
    "querying": 15,
    "learning": 16,
    "assessing": 15,
    "attacking": 15,
    "scanning": 15,
    "comparing": 16,
    "reporting": 17,
    "reproduce": 17,
    "testing": 17,
    "warm_up": 18,
    "web": 18,
    "cli": 19,
    "documentation": 20,
}
# What the package says of itself, its version and its public names, may be read by everyone.
ITSELF = {"__init__", "__main__"}
# Packages that are imported only inside functions, and the only folder that may do so at the top of a module.
LATE = {
    "pandas": None,
    "polars": None,
    "duckdb": None,
    "adbc_driver_postgresql": None,
    "pyspark": None,
    "altair": None,
    "vl_convert": None,
    "jinja2": None,
    "sklearn": None,
    "scipy": None,
    "threadpoolctl": None,
    "python_calamine": None,
    "pyreadstat": None,
    "fsspec": None,
    "nicegui": "web",
    "fastapi": "web",
    "uvicorn": "web",
    "hypothesis": "testing",
    "sqlglot": None,
    "tomlkit": "policy",
}


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


def broken_order(package):
    """Yield every import that does not lead to a lower layer."""
    for source in package:
        if source.part in ITSELF:
            continue
        for name, _ in imports_of(source.tree):
            first, _, rest = name.partition(".")
            there = rest.partition(".")[0]
            if first != "indistinct" or there in ("", "__version__", source.part):
                continue
            if there not in LAYERS or LAYERS[there] >= LAYERS[source.part]:
                yield f"{source.name} must not import {there}"


def test_imports_go_one_way(package):
    assert {source.part for source in package} - ITSELF - set(LAYERS) == set(), "each part has a layer"
    assert list(broken_order(package)) == []


def test_algorithms_and_engines_never_import_each_other(package):
    apart = {"algorithms": "indistinct.engines", "engines": "indistinct.algorithms"}
    broken = [
        f"{source.name} must not import {name}"
        for source in package
        if source.part in apart
        for name, _ in imports_of(source.tree)
        if name.startswith(apart[source.part])
    ]
    assert broken == []


def test_verification_knows_no_algorithm_no_engine_and_no_recoding(package):
    (verify,) = [source for source in package if source.name == "release/verify.py"]
    banned = ("indistinct.algorithms", "indistinct.engines", "indistinct.recoding")
    assert [name for name, _ in imports_of(verify.tree) if name.startswith(banned)] == []


def test_optional_packages_are_imported_when_used(package):
    early = [
        f"{source.name} imports {name} before it is needed"
        for source in package
        for name, at_once in imports_of(source.tree)
        if at_once and LATE.get(name.partition(".")[0], source.part) != source.part
    ]
    assert early == []


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
