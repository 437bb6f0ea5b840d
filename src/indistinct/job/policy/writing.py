"""Policies to TOML, in the form in which people write them: one line a column."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.items import Array, InlineTable, Item, SingleKey, Table, Trivia, Whitespace

from indistinct.engines.base import DatabaseTable, without_password
from indistinct.job.policy.value import Policy, rebased
from indistinct.metrics.base import Metric
from indistinct.models import Model
from indistinct.recoding.columns import spell_bounds
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import filled
from indistinct.schema import Role
from indistinct.settings import TABLES, settings_of, value_at
from indistinct.suppression_limit import Budget
from indistinct.tables.addresses import address_of
from indistinct.tables.value import to_options
from indistinct.text_form import spell


def write_policy(
    policy: Policy,
    path: str | Path,
    *,
    overwrite: bool = False,
    heading: str = "",
    notes: Mapping[str, str] | None = None,
) -> Path:
    """Write a policy as TOML, with paths relative to the file; return the path.

    `heading` becomes comments at the top, `notes` one comment above each column that it names.
    """
    target = Path(path)
    text = policy_to_toml(rebased(policy, target.parent), heading=heading, notes=notes)
    write_atomically(target, filled(text), overwrite=overwrite)
    return target


def policy_to_toml(policy: Policy, *, heading: str = "", notes: Mapping[str, str] | None = None) -> str:
    """Return a policy as TOML; `policy_from_toml` is the inverse.

    What has its default is left out, except the algorithm.
    """
    tables = {name: _keys(policy, name) for name in TABLES}
    document = tomlkit.document()
    for line in heading.splitlines():
        document.add(tomlkit.comment(line))
    for name, given in tables.items():
        present = {key: value for key, value in given.items() if value is not None}
        if name == "columns":
            width = max((len(SingleKey(key).as_string()) for key in present), default=0)
            document.add(name, toml_table(present, notes=notes or {}, width=width))
        elif present:
            document.add(name, toml_table(present))
    return tomlkit.dumps(document)


def _keys(policy: Policy, table: str) -> dict[str, Any]:
    """Return the keys of a table of the policy; those with a default are None."""
    match table:
        case "columns":
            return {name: _column(policy, name) for name in policy.schema.columns}
        case "input":
            more = {**_place(policy.input.database, policy.input.path), **to_options(policy.input.reading)}
        case "output":
            own = policy.output.path
            more = _place(policy.output.database, own) if policy.output.database or own else {}
        case "algorithm":
            more = {"use": spell(policy.algorithm)}
        case _:
            more = {}
    plain = {
        key: _plain(value_at(policy, setting.field))
        for key, setting in settings_of(table).items()
        if setting.field is not None and key not in more and not setting.field.startswith("input.reading.")
    }
    return more | plain


def _plain(value: Any) -> Any:
    """Return a value as TOML has it; None for one that says nothing."""
    match value:
        case Path():
            return _spelled(value)
        case Budget():
            return value.plain if value else None
        case Model():
            return value.spec()
        case Metric():
            return spell(value)
        case tuple():
            return [_plain(each) for each in value] or None
        case False | "":
            return None
        case dict():
            return value or None
        case _:
            return value


def _spelled(path: Path) -> str:
    return address_of(path) or path.as_posix()


def _place(database: DatabaseTable | None, path: Path | None) -> dict[str, Any]:
    """Return the keys of a path, or of a table of a database, whose address is written without its password."""
    if database is None:
        return {"path": None if path is None else _spelled(path)}
    return {"path": without_password(database.database), "table": database.table, "query": database.query}


def inline(value: Any) -> str:
    """Return a value as text on one line of a policy.

    >>> inline({"intervals": [5, 10]})
    '{ intervals = [5, 10] }'
    """
    return _item(value).as_string()


def _column(policy: Policy, name: str) -> Any:
    """Return the entry of a column: its role as text, or a table if it has further settings."""
    role, hierarchy = policy.schema.role(name), policy.hierarchies.get(name)
    transformation, pseudonym = policy.transformations.get(name), policy.pseudonyms.get(name)
    more = {} if transformation is None else transformation.options()
    more |= {} if hierarchy is None else {"hierarchy": hierarchy.to_json()}
    more |= {} if pseudonym is None else {"pseudonym": pseudonym.options()}
    more |= {"fresh": True} if name in policy.fresh else {}
    weight = policy.importance.of(name)
    more |= {} if weight == 1 else {"importance": int(weight) if weight.is_integer() else weight}
    bounds = dict(policy.levels.bounds).get(name)
    more |= {} if bounds is None else {"levels": spell_bounds(bounds)}
    form = dict(policy.numeric.by_column).get(name)
    more |= {} if form is None else {"numeric": form}
    more |= {"reason": policy.reasons[name]} if name in policy.reasons else {}
    if not more and role in (Role.IDENTIFIER, Role.PERSON, Role.INSENSITIVE):
        return str(role)
    return {"role": str(role), **more}


def toml_table(given: Mapping[str, Any], *, notes: Mapping[str, str] = MappingProxyType({}), width: int = 0) -> Table:
    """Return a table of one line a key, with notes above and keys as wide as the widest."""
    table = tomlkit.table()
    for name, value in given.items():
        if name in notes:
            table.add(tomlkit.comment(notes[name]))
        gap = " " * (width - len(SingleKey(name).as_string()))
        table.append(SingleKey(name, sep=f"{gap} = "), _item(value))
    return table


def _item(value: Any) -> Item:
    """Return a value on one line, made of its parts at once: tomlkit appends to long lists in quadratic time."""
    if isinstance(value, Mapping):
        inside, gap = Container(parsed=True), Whitespace(" " if value else "")
        for key, part in ((None, gap), *((SingleKey(key), _item(part)) for key, part in value.items()), (None, gap)):
            inside.append(key, part)
        return InlineTable(inside, Trivia(), new=True)
    if isinstance(value, list | tuple):
        parts = [part for each in value for part in (_item(each), Whitespace(", "))]
        return Array(parts[:-1], Trivia())
    return tomlkit.item(value)
