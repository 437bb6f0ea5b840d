"""Policies to TOML, in the form in which people write them: one line a column."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.policy.value import Policy, rebased
from indistinct.release.staging import filled
from indistinct.release.writing import write_atomically
from indistinct.schema import Role
from indistinct.spelling import spell


def write_policy(
    policy: Policy,
    path: str | Path,
    *,
    overwrite: bool = False,
    heading: str = "",
    notes: Mapping[str, str] | None = None,
) -> Path:
    """Write a policy as TOML, with its paths as they are seen from the file; return the path.

    `heading` becomes comments at the top, `notes` one comment above each column that it names.
    """
    place = Path(path)
    text = policy_to_toml(rebased(policy, place.parent), heading=heading, notes=notes)
    write_atomically(place, filled(text), overwrite=overwrite)
    return place


def policy_to_toml(policy: Policy, *, heading: str = "", notes: Mapping[str, str] | None = None) -> str:
    """Return a policy as TOML; `policy_from_toml` is the inverse.

    What has its default is left out, except the algorithm.
    """
    read = policy.input.reading
    output = {"path": policy.output.path, "report": policy.output.report}
    parts = [
        "".join(f"# {line}".rstrip() + "\n" for line in heading.splitlines()),
        _table(
            "input",
            {
                "path": policy.input.path.as_posix(),
                "delimiter": read.delimiter,
                "encoding": read.encoding,
                "missing": None if read.missing == ("",) else list(read.missing),
                "text": list(read.text) or None,
            },
        ),
        _columns(policy, notes or {}),
        _table(
            "privacy",
            {"models": [model.spec() for model in policy.models] or None, "suppression": policy.suppression or None},
        ),
        _table("algorithm", {"use": spell(policy.algorithm)}),
        _table(
            "measure",
            {"metrics": [spell(metric) for metric in policy.metrics] or None, "target": policy.target},
        ),
        _table("output", {key: None if path is None else path.as_posix() for key, path in output.items()}),
    ]
    return "\n".join(part for part in parts if part)


def _columns(policy: Policy, notes: Mapping[str, str]) -> str:
    width = max((len(_key(name)) for name in policy.schema.columns), default=0)
    lines = ["[columns]"]
    for name in policy.schema.columns:
        if name in notes:
            lines.append(f"# {notes[name]}")
        lines.append(f"{_key(name):<{width}} = {_value(_column(policy, name))}")
    return "\n".join(lines) + "\n"


def _column(policy: Policy, name: str) -> Any:
    """Return the role alone for a column that is dropped or kept, a table for one that privacy is about."""
    role, hierarchy = policy.schema.role(name), policy.hierarchies.get(name)
    if role in (Role.IDENTIFIER, Role.INSENSITIVE):
        return str(role)
    return {"role": str(role)} if hierarchy is None else {"role": str(role), "hierarchy": hierarchy.to_json()}


def _table(name: str, given: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in given.items() if value is not None]
    return "\n".join([f"[{name}]", *lines]) + "\n" if lines else ""


def _value(value: Any) -> str:
    """Return a value as TOML writes it on one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else repr(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    # JSON and TOML escape alike, but for the one control character that JSON lets through.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
