"""Sentences that the modules of the package say, and which of them a catalogue lacks."""

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import indistinct
from indistinct.document.catalogue import Catalogue


def sentences_of(module: str, internal: Collection[str] = ()) -> Iterator[str]:
    """Yield each run of words of a module's texts, without docstrings, markup, and what is not shown.

    Names at the top of the module that are `internal`, errors that are not shown, and classes of style are left out.
    """
    for part in ast.parse((Path(indistinct.__file__).parent / module).read_text(encoding="utf-8")).body:
        names = {getattr(part, "name", "")} | {each.id for each in getattr(part, "targets", []) if hasattr(each, "id")}
        if names & set(internal):
            continue
        skipped = {id(each.value) for each in ast.walk(part) if isinstance(each, ast.Expr)}
        skipped |= {
            id(inside)
            for each in ast.walk(part)
            if (isinstance(each, ast.keyword) and each.arg == "classes") or _is_assertion(each)
            for inside in ast.walk(each)
        }
        if not module.startswith("web/"):  # a page shows its errors
            skipped |= {
                id(inside) for each in ast.walk(part) if isinstance(each, ast.Raise) for inside in ast.walk(each)
            }
        for each in ast.walk(part):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in skipped:
                runs = (run.strip(" ;:,.") for run in re.split(r"\{[^{}]*\}", each.value))
                yield from (run for run in runs if _is_sentence(run))


def find_untranslated(module: str, catalogue: Catalogue, internal: Collection[str] = ()) -> list[str]:
    """Return the runs of words of a module that no message of a catalogue has."""
    messages = (re.sub(r"\{\w*(?::\w+)?\}", "\n", each.source) for each in catalogue.patterns)
    known = "\n".join([*catalogue.exact, *messages])
    return [
        run for run in sentences_of(module, internal) if run not in known and run[:1].lower() + run[1:] not in known
    ]


def _is_sentence(run: str) -> bool:
    return len(re.findall(r"[A-Za-z]{2,} ", f"{run} ")) >= 3 and not re.search(r"</|\(\)|=>|^\{ const|^<", run)


def _is_assertion(part: ast.AST) -> bool:
    """Return whether a part of a module raises an error that only a mistake in the program can raise."""
    return isinstance(part, ast.Call) and getattr(part.func, "id", "") == "AssertionError"
