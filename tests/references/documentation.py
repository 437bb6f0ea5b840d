"""Pages of the documentation, the code in them, and how it is run."""

import importlib.util
import io
import re
import shlex
import shutil
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.csv
from rich.console import Console

from indistinct import cli
from indistinct.samples import generate_patients
from references.arx_projects import clinic_project

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").glob("*.md")])
HAND_WRITTEN = [page for page in PAGES if DOCS / "reference" not in page.parents]
# Pages about databases take a server for granted that has this one.
DATABASE = "postgresql:///clinic"


def name_of(page: Path) -> str:
    """Return the path of a page as readers know it."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the code of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def pages_with(language: str, *, databases: bool) -> list[Path]:
    """Return the pages with code in a language that take a database for granted, or those that do not."""
    pages = [page for page in HAND_WRITTEN if blocks_of(page, language)]
    return [page for page in pages if (DATABASE in page.read_text(encoding="utf-8")) == databases]


def run_python_examples(page: Path, folder: Path) -> None:
    """Run the Python code of a page, one block after the other, in the working directory."""
    pa.csv.write_csv(generate_patients(2_000, seed=1), folder / "patients.csv")
    _prepare(page, folder)
    names: dict[str, object] = {}
    for block in blocks_of(page, "python"):
        exec(compile(block, name_of(page), "exec"), names)  # noqa: S102


def run_shell_examples(page: Path, folder: Path) -> None:
    """Run the commands of a page, one after the other, in the working directory, which is empty but for policies."""
    _prepare(page, folder)
    text = "".join(blocks_of(page, "shell")).replace("\\\n", " ")
    if " examples/" in text:
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    if page.parent.name == "examples":
        load_demo().main(folder / "demo-output", Console(file=io.StringIO()))
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "mkdir":
            (folder / words[1]).mkdir()
        elif words and words[0] != "make":
            assert words[0] == "indistinct", f"a shell example calls make, mkdir or indistinct: {line}"
            assert cli.main(words[1:]) == 0, line


def load_demo() -> ModuleType:
    """Return the module of the demo."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples" / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _prepare(page: Path, folder: Path) -> None:
    """Put the files in place that a reader writes: policies, and a project of ARX."""
    if "clinic.deid" in "".join(blocks_of(page, "shell")):
        clinic_project(folder / "clinic.deid")
    for text in blocks_of(page, "toml"):
        if "[input]" in text:
            (folder / "policy.toml").write_text(text, encoding="utf-8")
