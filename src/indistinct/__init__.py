"""Publish tables about people so that nobody in them can be singled out.

A *recoding* says what to publish for each combination of quasi-identifier values. An *algorithm* finds one,
an *engine* applies it, a *model* judges the result.
"""

import ast
import logging
from difflib import get_close_matches
from importlib import import_module, resources
from types import FunctionType

__version__ = "0.2.0"

# Stages report here what they counted, never a cell's value; nobody sees it unless a program asks for it.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# The stub beside this module lists the public names for type checkers and for us. A name is loaded when it is first
# asked for: the command line answers --help without Arrow and Numba.
_HOMES = {
    name.name: f"{__name__}.{node.module}"
    for node in ast.parse((resources.files(__name__) / "__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for name in node.names
}
__all__ = sorted(_HOMES, key=lambda name: (not name.isupper(), not name[0].isupper(), name))  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        close = get_close_matches(name, __all__, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")
    value: object = getattr(import_module(_HOMES[name]), name)
    if isinstance(value, FunctionType):
        value = import_module(f"{__name__}.machine.arguments").with_checked_arguments(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
