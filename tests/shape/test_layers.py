"""Imports go one way, and heavy or optional packages come late."""

import ast
import json
import subprocess
import sys
from pathlib import Path

# From low to high: a part may import those on a lower line, and itself. What is not named here has no place yet.
ORDER = (
    ("errors", "figures", "settings"),
    ("as_json",),
    ("document", "machine", "suppression_limit"),
    ("schema",),
    ("parameters", "tables", "text_form"),
    ("hierarchy",),
    ("frequencies", "samples"),
    ("recoding", "models", "drawing"),
    ("view",),
    ("metrics", "engines"),
    ("algorithms",),
    ("release",),
    ("job",),
    ("inspection", "testing"),
    ("evaluation",),
    ("linked",),
    ("exploration",),
    ("reporting",),
    ("sklearn", "accessors", "web"),
    ("cli",),
)
LAYERS = {part: layer for layer, parts in enumerate(ORDER) for part in parts}
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
    "sklearn": "sklearn",
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
    "tomlkit": "job",
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


def test_the_product_imports_nothing_of_papers(package):
    """`indistinct reproduce` finds the other package by its entry point, at run time."""
    found = [source.name for source in package for name, _ in imports_of(source.tree) if name.startswith("indistinct_")]
    assert found == []


def test_papers_draw_on_the_product_and_on_no_other_folder_of_the_project(papers):
    others = ("tests", "references", "benchmarks", "tools")
    assert [s.name for s in papers for name, _ in imports_of(s.tree) if name.partition(".")[0] in others] == []


def test_verification_knows_no_algorithm_no_engine_and_no_recoding(package):
    (verify,) = [source for source in package if source.name == "release/verification/verify.py"]
    banned = ("indistinct.algorithms", "indistinct.engines", "indistinct.recoding")
    assert [name for name, _ in imports_of(verify.tree) if name.startswith(banned)] == []


JUDGES = (
    "evaluation/verify.py",
    "evaluation/assess/",
    "evaluation/attack/",
    "evaluation/query/",
    "evaluation/measure/",
)
# What judging modules still import of the folders that make releases, and why.
IMPORTED_BY_JUDGES = {
    "assess/assessed_tables.py": "counts tables, and takes people from the assignment of a release",
    "assess/membership.py": "reads labels over the values of the original",
    "attack/base.py": "is given the algorithm of a release",
    "attack/crowd.py": "reads labels over the values of every table at hand",
    "attack/downcoding.py": "concludes from the traits of an algorithm",
    "attack/finer.py": "reads labels over the values of the original",
    "attack/minimality.py": "runs the search again on every possible table",
    "attack/predictable_seed.py": "shuffles rows again as the engine did",
    "measure/learning/classification.py": "publishes folds again",
    "measure/measure.py": "gives metrics the assignment of a release",
    "query/query.py": "takes the values of a column from a recoding",
}


def test_verbs_that_judge_import_nothing_that_makes_releases(package):
    folders = ("indistinct.algorithms", "indistinct.engines", "indistinct.recoding")
    importing = {
        source.name.removeprefix("evaluation/")
        for source in package
        if source.name.startswith(JUDGES)
        for name, _ in imports_of(source.tree)
        if name.startswith(folders)
    }
    assert importing == set(IMPORTED_BY_JUDGES)


def test_optional_packages_are_imported_when_used(both_packages):
    early = [
        f"{source.name} imports {name} before it is needed"
        for source in both_packages
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


def test_a_file_in_memory_passes_through_no_other_engine(tmp_path):
    """A reader who follows a row of a CSV file meets the engine for memory, and what all engines share."""
    rows = "\n".join(f"{age},{'ab'[age % 2]}" for age in range(20, 80))
    (tmp_path / "people.csv").write_text(f"age,ill\n{rows}\n", encoding="utf-8")
    code = """
import json, sys, threading
import indistinct as ind
called = set()
def watch(frame, event, _):
    if event == "call" and frame.f_code.co_name != "<module>":
        called.add(frame.f_code.co_filename)
schema = ind.Schema(quasi=["age"], sensitive=["ill"])
options = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "output": "release.csv", "overwrite": True}
for watching in (False, True):  # importing calls functions as well
    if watching:
        threading.setprofile(watch)
        sys.setprofile(watch)
    ind.anonymize("people.csv", schema, **options)
    ind.assess("release.csv", schema=schema, original="people.csv")
sys.setprofile(None)
print(json.dumps(sorted(called)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    engines = [Path(each).parts for each in json.loads(done.stdout)]
    called = {"/".join(parts[parts.index("engines") + 1 :]) for parts in engines if "engines" in parts}
    assert {"base.py", "memory/count.py", "memory/publish.py"} <= called
    assert {name for name in called if not name.startswith("memory/")} <= {"__init__.py", "base.py", "groups.py"}


def test_tests_of_modules_lie_in_folders_of_modules(package, every_file):
    folders = {source.part for source in package if "/" in source.name}
    paths = [source.name.split("/") for source in every_file if source.part == "unit"]
    tested = {folder for _, folder, *rest in paths if rest}
    assert tested
    assert tested <= folders
