"""Documentation is tested: all has its entry, examples run, generated pages do not drift, links lead on."""

import ast
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
import yaml
from rich.console import Console
from tools import reference_pages
from tools.python_names import page_of
from typer.main import get_command

import indistinct as ind
from indistinct import cli
from indistinct.algorithms.base import AlgorithmTraits
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import IndistinctError
from indistinct.evaluation.attack.registry import ATTACKS
from indistinct.hierarchy import KINDS, Hierarchy, hierarchy_from_json
from indistinct.job.policy import read_policy
from indistinct.metrics import METRICS
from indistinct.models import ModelTraits
from indistinct.models.registry import MODELS
from references.documentation import (
    DOCS,
    HAND_WRITTEN,
    PAGES,
    ROOT,
    blocks_of,
    load_demo,
    name_of,
    pages_with,
    run_python_examples,
    run_shell_examples,
)

# Pages of theory about what a release is worth to its users.
USES = ("classification", "distributions")


def _prose(page: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


# Everything has its entry.


def test_every_algorithm_and_model_has_a_page_of_theory() -> None:
    """The page says how it is spelled, what always holds, and where it comes from."""
    wanted = {name: (f"`{name}", "## What always holds", "## References") for name in (*ALGORITHMS, *MODELS)}
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (DOCS / "theory").glob("*.md")}
    risks = {"risk-measures", "special-uniques", "individual-risk", "histories", "class-sets", "linked-anonymity"}
    assert set(pages) == {
        *wanted,
        *risks,
        "importance-and-levels",
        "attacks",
        "attacks-by-inference",
        "metrics",
        "queries",
        "references",
        *USES,
        "README",
    }
    assert [(name, part) for name, parts in wanted.items() for part in parts if part not in pages[name]] == []
    assert [name for name in METRICS if f"\n### {name}\n" not in pages["metrics"]] == []
    attacks = pages["attacks"] + pages["attacks-by-inference"]
    assert [name for name in ATTACKS if f"\n### {name}\n" not in attacks] == []


def test_every_trait_is_explained() -> None:
    for traits in (ModelTraits, AlgorithmTraits):
        text = (DOCS / "reference" / "python" / page_of(traits.__name__)).read_text(encoding="utf-8")
        assert [field.name for field in fields(traits) if f"`{field.name}`" not in text] == []


def test_the_page_of_features_lists_everything_that_is_registered() -> None:
    text = (DOCS / "features.md").read_text(encoding="utf-8")
    assert [name for name in (*ALGORITHMS, *MODELS, *METRICS, *ATTACKS) if f"`{name}`" not in text] == []


def test_every_command_is_in_the_reference_and_the_change_log() -> None:
    reference = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    commands = sorted(get_command(cli.app).commands)
    assert [name for name in commands if f"## `indistinct {name}`" not in reference] == []
    assert [name for name in commands if f"`{name}`" not in changes] == []


def test_every_error_is_in_the_reference() -> None:
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    errors = [name for name in ind.__all__ if name.endswith("Error") and name != "WorkloadError"]  # a metric
    assert errors
    for name in errors:
        assert issubclass(getattr(ind, name), IndistinctError)
        assert f"| `{name}` |" in text


def test_every_public_name_is_in_the_reference() -> None:
    folder = DOCS / "reference" / "python"
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert [name for name in ind.__all__ if f"| [`{name}`]({page_of(name)}) |" not in index] == []
    assert [name for name in ind.__all__ if not (folder / page_of(name)).read_text().startswith(f"# `{name}`\n")] == []
    assert len({page_of(name).lower() for name in ind.__all__}) == len(ind.__all__), "one file for two names"


def test_the_reference_is_what_the_code_says() -> None:
    assert reference_pages.drift(DOCS / "reference") == [], "run `make docs`"


RAISED = """
def check(k, few):
    if few:
        raise InputError(f"column {k!r} has <{few}> values " "of `x`", hint="use *" if few else f"take {k}")
    raise ParameterError.of("KAnonymity", "k", f"must be at least 1; got {k}")
    raise InputError(f"{k}", hint="nothing to search for")
"""


def test_error_messages_are_read_from_the_source(tmp_path: Path) -> None:
    (tmp_path / "raising.py").write_text(RAISED, encoding="utf-8")
    messages = reference_pages.error_messages(["InputError", "ParameterError"], tmp_path)
    assert messages == {
        "InputError": [reference_pages.Message("column … has <…> values of `x`", "use * / take …")],
        "ParameterError": [reference_pages.Message("`k` of KAnonymity must be at least 1; got …", "")],
    }
    assert reference_pages.markdown("use * of <x>") == r"use \* of &lt;x&gt;"


def test_a_message_is_written_with_each_text_that_calls_give() -> None:
    tree = ast.parse(
        'def parse(text, *, what):\n    raise InputError(f"there is no {what} {text}")\n'
        'parse(text, what="model")\nparse(text, what="metric")\n'
    )
    given = reference_pages._keyword_texts([tree])
    messages = {message.text for _, message in reference_pages._messages_of(tree, ["InputError"], {}, given)}
    assert messages == {"there is no model …", "there is no metric …"}
    given = reference_pages._keyword_texts([tree, ast.parse("parse(text, what=kind)")])
    assert not given, "a text that only a run has"


def test_errors_by_message_has_every_kind_that_is_raised_and_the_words_that_are_seen() -> None:
    text = (DOCS / "reference" / "errors-by-message.md").read_text(encoding="utf-8")
    assert "`k` of" not in text, "marks are escaped"
    for name in ("InputError", "SchemaError", "PolicyError", "OutputError", "ParameterError", "InfeasibleError"):
        assert text.count(f"| `{name}` |\n") > 3, name
    for seen in ("there is no model … |", "there is no metric … |", "no role is given to column(s) … |"):
        assert f"| {seen}" in text
    assert r"there is no file … " in text


def test_drift_is_noticed(tmp_path: Path) -> None:
    assert reference_pages.main([str(tmp_path)]) == 0
    assert reference_pages.main([str(tmp_path), "--check"]) == 0
    page = tmp_path / "models.md"
    page.write_text(page.read_text(encoding="utf-8").replace("k-anonymity", "m-anonymity"), encoding="utf-8")
    (tmp_path / "stray.md").write_text("# About nothing\n", encoding="utf-8")
    (tmp_path / "errors.md").unlink()
    assert reference_pages.drift(tmp_path) == ["errors.md", "models.md", "stray.md"]
    assert reference_pages.main([str(tmp_path), "--check"]) == 1


def test_every_hierarchy_builder_stands_with_its_policy_spelling() -> None:
    text = (DOCS / "concepts" / "hierarchies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(Hierarchy\.\w+\(.*?\))` \| `(\{.*?\})` \|", text, re.M)
    assert {re.match(r"Hierarchy\.(\w+)", python)[1] for python, _ in rows} == {kind.builder for kind in KINDS.values()}
    for python, policy in rows:
        if "…" not in python and "read_csv" not in python:
            declared = eval(python, {"Hierarchy": Hierarchy})  # noqa: S307
            spelled = tomllib.loads(f"it = {policy}")["it"]
            assert hierarchy_from_json(spelled, base=Path()) == declared, python


def test_verification_loads_no_algorithm_no_recoding_and_no_engine_as_the_concepts_say() -> None:
    code = "import sys, indistinct.release.verification.verify; print(*(n for n in sys.modules if 'indistinct' in n))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = ran.stdout.split()
    loaded = {name.split(".")[1] for name in modules if "." in name}
    assert "models" in loaded
    assert not loaded & {"algorithms", "engines", "job", "registry"}
    # It knows what is published; it knows no kind of recoding and what none of them does.
    assert {name.split(".")[2] for name in modules if name.startswith("indistinct.recoding.")} == {"outputs"}


# Links lead somewhere, and nothing tells where it was written.


def test_links_lead_to_pages_and_not_into_them() -> None:
    targets = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page))]
    ours = [(page, target) for page, target in targets if not target.startswith(("https://", "mailto:"))]
    assert ours
    assert [(name_of(page), target) for page, target in ours if not (page.parent / target).exists()] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in seen and page.suffix == ".md":
            seen.add(page)
            links = re.findall(r"\]\(([^)\s#]+)\)", _prose(page))
            ahead += [(page.parent / link).resolve() for link in links if "://" not in link]
    assert [name_of(page) for page in HAND_WRITTEN if page.resolve() not in seen] == []


def test_no_page_names_a_path_of_a_machine() -> None:
    files = [page for page in (*PAGES, *sorted((ROOT / "examples").glob("*.*"))) if page.is_file()]
    here = re.compile(r"(?<![\w.])/(?:work|root|home|tmp|Users|opt|usr)/|\b(?:localhost|127\.0\.0\.1)\b")
    assert [name_of(page) for page in files if here.search(page.read_text(encoding="utf-8"))] == []


# Examples run.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", pages_with("python", databases=False), ids=name_of)
def test_python_examples_run(page: Path, folder: Path) -> None:
    run_python_examples(page, folder)


@pytest.mark.parametrize("page", pages_with("shell", databases=False), ids=name_of)
def test_shell_examples_run(page: Path, folder: Path) -> None:
    run_shell_examples(page, folder)


def test_examples_in_docstrings_run() -> None:
    found = [
        *pkgutil.walk_packages(ind.__path__, "indistinct."),
        *pkgutil.iter_modules([str(ROOT / "tests" / "references")], "references."),
    ]
    names = [module.name for module in found if not module.name.endswith("__main__")]
    ran = {name: doctest.testmod(importlib.import_module(name)) for name in names}
    assert sum(result.attempted for result in ran.values()) > 50
    assert [name for name, result in ran.items() if result.failed] == []


# The demo is what the README and the policy say.


def test_the_demo_runs_again_and_prints_what_its_page_shows(folder: Path) -> None:
    demo = load_demo()
    for _ in range(2):
        screen = io.StringIO()
        release = demo.main(Path("demo-output"), Console(file=screen, width=96, highlight=False))
        shown = [line.strip() for line in screen.getvalue().splitlines()]
        assert release.certificate.holds
    (block,) = [text for text in blocks_of(ROOT / "examples" / "README.md", "text") if "5-anonymous release" in text]
    wanted = [line.strip() for line in block.splitlines() if "[0-" not in line]
    assert [line for line in wanted if line not in shown] == []
    check_before_and_after(Path("demo-output"))
    assert ind.verify("demo-output/release.csv", release.schema, demo.MODEL).holds
    assert Path("demo-output/release.csv.certificate.json").is_file()


def check_before_and_after(folder: Path) -> None:
    """The people of the README's table are in the demo's table, and their class is what the release shows of them."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "| → |" in line]
    types = dict.fromkeys(("age", "zipcode", "admitted"), pa.string())
    before, after = (
        pyarrow.csv.read_csv(folder / name, convert_options=pyarrow.csv.ConvertOptions(column_types=types)).to_pylist()
        for name in ("patients.csv", "release.csv")
    )
    people = {(row["name"], row["age"], row["zipcode"], row["admitted"]) for row in before if row["sex"] == "male"}
    labels = {tuple(row[5:8]) for row in rows}
    published = sorted(
        (row["age"], row["zipcode"], row["admitted"], row["disease"])
        for row in after
        if row["sex"] == "male" and (row["age"], row["zipcode"], row["admitted"]) in labels
    )
    assert len(rows) == 6
    assert {tuple(row[:4]) for row in rows} <= people
    assert published == sorted(tuple(row[5:]) for row in rows)


def test_the_policy_of_the_patients_is_theload_demo() -> None:
    demo, policy = load_demo(), read_policy(ROOT / "examples" / "patients.toml")
    assert (policy.schema, policy.model, policy.hierarchies) == (demo.SCHEMA, demo.MODEL, demo.HIERARCHIES)


def test_the_citation_is_of_this_version() -> None:
    """What a citation file must have, by its schema 1.2.0, and nothing that its schema does not know."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    known = {"abstract", "authors", "cff-version", "keywords", "license", "message", "title", "type", "version"}
    assert {"cff-version", "message", "title", "authors"} <= set(cited) <= known
    assert (cited["cff-version"], cited["type"], cited["version"]) == ("1.2.0", "software", ind.__version__)
    assert all(set(author) == {"name"} for author in cited["authors"])
    assert (
        cited["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"]
    )


def test_the_names_of_the_papers_own_behaviour_are_spelled_right() -> None:
    """Everything in the table of which-algorithm that is spelled with parameters can be parsed."""
    text = (DOCS / "guides" / "which-algorithm.md").read_text(encoding="utf-8")
    table = text.partition("## As the papers have them")[2].partition("\n## ")[0]
    names = [name.replace("\\|", "|") for name in re.findall(r"`([a-z-]+:[^`]+)`", table)]
    assert {"two-level:rule=literal", "datafly:outliers=k"} <= set(names)
    for name in names:
        assert parse_algorithm(name.replace("…", "300")).name == name.partition(":")[0]
    assert [name for name in ALGORITHMS if f"`{name}`" not in table] == []
