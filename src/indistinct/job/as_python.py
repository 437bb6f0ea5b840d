"""A job as Python that runs: everything that a policy says of a release, in the names of the public interface."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import indistinct
from indistinct.algorithms.auto import Auto
from indistinct.engines.base import without_password
from indistinct.hierarchy.registry import builder_call
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.policy import Policy
from indistinct.recoding.columns import Importance, LevelBounds, NumericForms
from indistinct.schema import ROLES
from indistinct.settings import SETTINGS, value_at
from indistinct.suppression_limit import Budget
from indistinct.tables.addresses import address_of
from indistinct.tables.value import to_options
from indistinct.text_form import spell

WIDTH = 100
INDENT = "    "

Arguments = Mapping[str, str]


def python_of(policy: Policy) -> str:
    """Return a program that does what a policy says.

    >>> from indistinct.models import KAnonymity
    >>> from indistinct.job.policy import Input, Output
    >>> from indistinct.schema import Schema
    >>> job = Policy(Input(Path("a.csv")), Schema(quasi=["age"]), (KAnonymity(5),), output=Output(Path("b.csv")))
    >>> print(python_of(job), end="")
    import indistinct as ind
    <BLANKLINE>
    table = ind.open("a.csv")
    schema = ind.Schema(quasi=["age"])
    release = ind.anonymize(table, schema, model=ind.KAnonymity(k=5))
    certificate = release.write("b.csv")
    print(certificate.holds)
    """
    schema = {field: _literal(getattr(policy.schema, field)) for field in ROLES.values()}
    lines = [
        "import indistinct as ind",
        "",
        _assign("table", _call("ind.open", [_place(policy)], _opening(policy))),
        _assign("schema", _call("ind.Schema", [], {name: text for name, text in schema.items() if text != "[]"})),
    ]
    if policy.hierarchies:
        built = {name: _hierarchy(each) for name, each in policy.hierarchies.items()}
        lines.append(_assign("hierarchies", _mapping(built)))
    lines.append(_assign("release", _call("ind.anonymize", ["table", "schema"], _options(policy))))
    lines.append(_assign("certificate", _call("release.write", [_target(policy)], _writing(policy))))
    lines.append("print(certificate.holds)")
    return "\n".join(lines) + "\n"


def _assign(name: str, expression: str) -> str:
    return f"{name} = {expression}"


def _call(name: str, first: list[str], named: Arguments) -> str:
    """Return a call, on one line if it fits."""
    parts = [*first, *(f"{key}={value}" for key, value in named.items())]
    line = f"{name}({', '.join(parts)})"
    if len(line) < WIDTH - 12 and "\n" not in line:
        return line
    return f"{name}(\n" + "".join(f"{_indented(part)},\n" for part in parts) + ")"


def _indented(text: str) -> str:
    return INDENT + text.replace("\n", f"\n{INDENT}")


def _mapping(items: Mapping[str, str]) -> str:
    """Return a dictionary of texts with expressions, one a line."""
    return "{\n" + "".join(f"{_indented(f'{_literal(key)}: {value}')},\n" for key, value in items.items()) + "}"


def _literal(value: Any) -> str:
    """Return a value of a policy as Python writes it; a long one takes several lines."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Path():
            return json.dumps(address_of(value) or value.as_posix(), ensure_ascii=False)
        case bool() | None | int() | float():
            return repr(value)
        case NumericForms():
            return _literal(value.plain)
        case Mapping():
            parts, marks = [f"{_literal(key)}: {_literal(each)}" for key, each in value.items()], "{}"
        case list() | tuple():
            parts, marks = list(map(_literal, value)), "[]"
        case _:
            raise TypeError(f"a policy holds no {type(value).__name__}")
    line = marks[0] + ", ".join(parts) + marks[1]
    if len(line) < WIDTH - 20 and "\n" not in line:
        return line
    return marks[0] + "\n" + "".join(f"{_indented(part)},\n" for part in parts) + marks[1]


def _place(policy: Policy) -> str:
    database = policy.input.database
    return _literal(without_password(database.database) if database else policy.input.path)


def _opening(policy: Policy) -> Arguments:
    database = policy.input.database
    named = {} if database is None else {"table": database.table, "query": database.query}
    options = {key: value for key, value in named.items() if value is not None}
    return {key: _literal(value) for key, value in (options | to_options(policy.input.reading)).items()}


def _options(policy: Policy) -> dict[str, str]:
    """Return the arguments of `anonymize` except table and roles."""
    given: dict[str, str] = {}
    made_by_hand = ("model", "algorithm", "hierarchies", "transformations", "pseudonyms")
    if policy.models:
        given["model"] = " & ".join(_construct(each, each.spec()) for each in policy.models)
    if policy.algorithm != Auto():
        given["algorithm"] = _construct(policy.algorithm, spell(policy.algorithm))
    if policy.hierarchies:
        given["hierarchies"] = "hierarchies"
    if policy.transformations:
        made = {
            name: _call("ind.Transformation", [], {key: _literal(part) for key, part in each.options().items()})
            for name, each in policy.transformations.items()
        }
        given["transformations"] = _mapping(made)
    if policy.pseudonyms:
        given["pseudonyms"] = _mapping({name: _pseudonym(each) for name, each in policy.pseudonyms.items()})
    for setting in SETTINGS:
        function, _, parameter = (setting.python or "").partition(".")
        if function != "anonymize" or setting.field is None or parameter in (*made_by_hand, "smallest_count"):
            continue
        value = _plain(value_at(policy, setting.field))
        if value is not None:
            given[parameter] = _literal(value)
    return given


def _plain(value: Any) -> Any:
    """Return a value as a program writes it; None for one that says nothing."""
    match value:
        case Budget():
            return value.plain if value else None
        case Importance():
            return dict(value.weights) or None
        case LevelBounds():
            return dict(value.bounds) or None
        case NumericForms():
            return dict(value.by_column) or None
        case ():
            return None
        case _:
            return value


def _pseudonym(pseudonym: Any) -> str:
    named = {each.name: getattr(pseudonym, each.name) for each in fields(pseudonym)}
    return _call("ind.Pseudonym", [], {key: _literal(value) for key, value in named.items() if value})


def _construct(value: Any, spelling: str) -> str:
    """Return the constructor call of a model or an algorithm; its text form if the class is not public."""
    kind = type(value)
    if getattr(indistinct, kind.__name__, None) is kind:
        named = {each.name: getattr(value, each.name) for each in fields(value)}
        given = {each.name: named[each.name] for each in fields(value) if named[each.name] != each.default}
        try:
            return _call(f"ind.{kind.__name__}", [], {name: _literal(part) for name, part in given.items()})
        except TypeError:  # a value that is no plain one: a fraction, or another algorithm
            pass
    return _literal(spelling)


def _hierarchy(hierarchy: Hierarchy) -> str:
    builder, first, named = builder_call(hierarchy)
    options = {key: _literal(part) for key, part in named.items()}
    return _call(f"ind.Hierarchy.{builder}", [_literal(value) for value in first], options)


def _target(policy: Policy) -> str:
    """Write the target of the release as Python code."""
    table = policy.output.database
    if table is not None:
        named = {"table": table.table} if table.table else {}
        return _call(
            "ind.DatabaseTable",
            [_literal(without_password(table.database))],
            {k: _literal(v) for k, v in named.items()},
        )
    return _literal(policy.output.path or Path("release.csv"))


def _writing(policy: Policy) -> Arguments:
    """Return the arguments of `write` that differ from their defaults."""
    writing, smallest = policy.output.writing, policy.output.smallest_count
    given = {} if smallest is None else {"smallest_count": _literal(smallest)}
    if not writing.plain:
        kept = {
            each.name: getattr(writing, each.name)
            for each in fields(writing)
            if each.name != "labels" and getattr(writing, each.name) != each.default
        }
        given["writing"] = _call("ind.Writing", [], {name: _literal(part) for name, part in kept.items()})
    return given
