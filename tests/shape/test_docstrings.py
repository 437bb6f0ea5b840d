"""`help` of a public name suffices: every parameter and result has its meaning where it is declared."""

import inspect
import re
from dataclasses import fields
from typing import Any

import pytest

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS
from indistinct.evaluation.attack.registry import ATTACKS
from indistinct.metrics import METRICS
from indistinct.models.registry import MODELS
from indistinct.parameters import parameters_of

FUNCTIONS = [name for name in ind.__all__ if inspect.isfunction(getattr(ind, name))]
KINDS = {**ALGORITHMS, **MODELS, **METRICS, **ATTACKS}


def section_of(value: object, title: str) -> str:
    """Return a numpydoc section of a docstring, empty if there is none."""
    found = re.search(rf"^{title}\n-{{3,}}\n(.*?)(?=^\w+\n-{{3,}}$|\Z)", inspect.getdoc(value) or "", re.M | re.S)
    return found[1] if found else ""


def entries_of(text: str) -> set[str]:
    """Return the names that a section explains; several may share an explanation."""
    return {name.strip() for line in re.findall(r"(?m)^\S.*$", text) for name in line.split(",")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_explains_its_parameters_result_and_use(name: str) -> None:
    function = getattr(ind, name)
    taken = inspect.signature(function).parameters.values()
    explained = entries_of(section_of(function, "Parameters"))
    assert {f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name for each in taken} == explained
    assert section_of(function, "Returns") != ""
    assert ">>> " in section_of(function, "Examples")


@pytest.mark.parametrize("called", [*(getattr(ind, name) for name in FUNCTIONS), *KINDS.values()])
def test_a_signature_shows_types_without_the_meanings_of_parameters(called: Any) -> None:
    constructor = [called.__init__] if isinstance(called, type) else []
    for each in (called, *constructor):
        shown = str(inspect.signature(each))
        assert "Parameter(" not in shown
        assert "<class" not in shown


@pytest.mark.parametrize("name", KINDS)
def test_a_registered_kind_explains_its_parameters(name: str) -> None:
    kind = KINDS[name]
    assert (
        entries_of(section_of(kind, "Parameters")) == {each.name for each in fields(kind)} == set(parameters_of(kind))
    )
