"""Policies of several tables to TOML, and their files in another folder."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.hierarchy import Hierarchy
from indistinct.hierarchy.explicit import move_file
from indistinct.job.policy.writing import toml_table
from indistinct.linked.declared import DEFAULT_NODES, LinkedPolicy, LinkedTable, TimeRules
from indistinct.schema import Role
from indistinct.tables.value import to_options
from indistinct.text_form import spell


def linked_policy_to_toml(policy: LinkedPolicy, *, heading: str = "") -> str:
    """Return the policy of several tables as TOML; `linked_policy_from_toml` is the inverse.

    What has its default is left out.
    """
    import tomlkit

    document = tomlkit.document()
    for line in heading.splitlines():
        document.add(tomlkit.comment(line))
    tables = tomlkit.table(is_super_table=True)
    for table in policy.tables:
        own = toml_table(_keys_of_table(table))
        columns = _columns(policy, table)
        own.append("columns", toml_table(columns, width=max(len(tomlkit.key(name).as_string()) for name in columns)))
        tables.append(table.name, own)
    document.append("tables", tables)
    sections = {
        "time": {} if policy.time is None else _time(policy.time, [table.name for table in policy.events]),
        "privacy": _privacy(policy),
        "algorithm": _algorithm(policy),
        "output": {} if policy.folder is None else {"folder": f"{policy.folder.as_posix()}/"},
    }
    for name, given in sections.items():
        if given:
            document.append(name, toml_table(given))
    return tomlkit.dumps(document)


def _keys_of_table(table: LinkedTable) -> dict[str, Any]:
    """Return the keys of a table, without its columns."""
    path = Path(f"{table.name}.csv") if table.path is None else table.path
    return {
        "path": path.as_posix(),
        **to_options(table.reading),
        **({"people": True} if table.people else {}),
        **({} if table.knows is None else {"knows": table.knows}),
    }


def _columns(policy: LinkedPolicy, table: LinkedTable) -> dict[str, Any]:
    """Return the entry of each column: its role as text, or a table if it has further settings."""
    unit = "days" if policy.time is None else policy.time.unit
    entries: dict[str, Any] = {}
    for name in table.schema.columns:
        more = _hierarchy(table.hierarchies.get(name))
        more |= {"tells": table.tells[name]} if name in table.tells else {}
        role = table.schema.role(name)
        entries[name] = {"role": str(role), **more} if more or role in (Role.QUASI, Role.SENSITIVE) else str(role)
    for column in table.lists:
        own = {"role": "quasi", "list": column.separator, "knows": column.knows}
        entries[column.column] = own | _hierarchy(column.hierarchy)
    if table.time is not None:
        widths = {} if table.time.widths is None else {"hierarchy": {unit: list(table.time.widths)}}
        unknown = {"unknown": True} if table.time.unknown else {}
        entries[table.time.column] = {"role": "time", **widths, **unknown}
    return entries


def _hierarchy(given: Hierarchy | None) -> dict[str, Any]:
    return {} if given is None else {"hierarchy": given.to_json()}


def _time(rules: TimeRules, names: list[str]) -> dict[str, Any]:
    """Return the rules of time; one window where all event tables have the same."""
    windows = {name: [day.isoformat() for day in days] for name, days in rules.windows.items() if name in names}
    distinct = {tuple(days) for days in windows.values()}
    window: Any = windows if len(distinct) > 1 or set(windows) < set(names) else list(next(iter(distinct)))
    return {"anchor": rules.anchor, "window": window, "as": rules.unit}


def _privacy(policy: LinkedPolicy) -> dict[str, Any]:
    """Return the keys of the table [privacy]."""
    return {
        "models": [policy.model.spec()],
        **({} if policy.together is None else {"knows_together": policy.together}),
        **({"suppression": policy.suppression.plain} if policy.suppression else {}),
        **({} if policy.rows == 1 else {"rows": policy.rows}),
    }


def _algorithm(policy: LinkedPolicy) -> dict[str, Any]:
    return {
        **({} if policy.algorithm == Mondrian() else {"use": spell(policy.algorithm)}),
        **({} if policy.nodes == DEFAULT_NODES else {"nodes": policy.nodes}),
    }


def move_linked(
    policy: LinkedPolicy,
    move: Callable[[Path], Path],
    *,
    base: Path,
    move_hierarchy: Callable[[Path], Path | None] | None = None,
) -> LinkedPolicy:
    """Return the policy of several tables for another folder, whose paths are changed by `move`.

    `move_hierarchy` says so of the files of hierarchies; where it says None, a hierarchy is written out.
    """
    how = move_hierarchy or move

    def moved(table: LinkedTable) -> LinkedTable:
        return replace(
            table,
            path=None if table.path is None else move(table.path),
            hierarchies={name: move_file(each, how) for name, each in table.hierarchies.items()},
            lists=tuple(
                each if each.hierarchy is None else replace(each, hierarchy=move_file(each.hierarchy, how))
                for each in table.lists
            ),
        )

    return replace(policy, tables=tuple(map(moved, policy.tables)), base=base)
