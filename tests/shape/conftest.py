"""The sources that the rules of shape look at, read and parsed once."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

import indistinct
import indistinct_papers

PACKAGE = Path(indistinct.__file__).parent
PAPERS = Path(indistinct_papers.__file__).parent
TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Source:
    """A file of Python code, named by its path below the package or below the tests."""

    root: Path
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    @property
    def part(self) -> str:
        """Return the package or module directly below the root."""
        return self.path.relative_to(self.root).parts[0].removesuffix(".py")

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def functions(self):
        """Return every function of the file, those inside others too."""
        return [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def read(root):
    return [Source(root, path) for path in sorted(root.rglob("*.py"))]


@pytest.fixture(scope="session")
def package():
    """Every module of the package."""
    return read(PACKAGE)


@pytest.fixture(scope="session")
def papers():
    """Every module of `indistinct_papers`."""
    return read(PAPERS)


@pytest.fixture(scope="session")
def both_packages(package, papers):
    """Every module of both packages."""
    return [*package, *papers]


@pytest.fixture(scope="session")
def every_file(both_packages):
    """Every module of both packages and of their tests."""
    return [*both_packages, *read(TESTS)]
