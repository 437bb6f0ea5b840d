"""Stored recodings of versions 1 and 2, brought to the layout of version 3."""

from collections.abc import Mapping, Sequence
from typing import Any

RENAMED = {"labels": "class_ids"}
LISTS = ("class_ids", "cells", "joint", "counts", "star")
MATRICES = ("vectors", "values", "suppressed")
TYPES = {"counts": "int64", "leaves": "int64", "axis": "int16", "absent": "bool"}
"""The type of numbers by field, where it is not `int32`."""


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document that version 3 would have written."""
    new = {RENAMED.get(key, key): value for key, value in data.items() if key not in ("format", "version")}
    width = len(new["columns"]) or len(new.get("domains", ()))
    new["columns"] = [_column(column) for column in new["columns"]]
    for key in LISTS:
        if new.get(key) is not None:
            new[key] = _numbers(new[key], TYPES.get(key, "int32"))
    for key in MATRICES:
        if key in new:
            new[key] = _matrix(new[key], width)
    if "groups" in new:
        new["groups"] = [_numbers(group) for group in new["groups"]]
    if "cuts" in new:
        new["cuts"] = {key: _numbers(part, TYPES.get(key, "int32")) for key, part in new["cuts"].items()}
    if "domains" in new:
        new["domains"] = [_domain(domain) for domain in new["domains"]]
        new["generalized"] = [upgraded(part) for part in new["generalized"]]
    return new


def _column(data: Mapping[str, Any]) -> dict[str, Any]:
    published, covers = dict(data["published"]), dict(data["covers"])
    published["column"] = data["domain"]["column"]
    published["outputs"] = [[each["name"], _values(each)] for each in published["outputs"]]
    for key, kind in (("low", "double"), ("high", "double"), ("leaves", "int64"), ("levels", "int32")):
        published[key] = _numbers(published[key], kind)
    for key in ("low", "high", "absent"):
        covers[key] = _numbers(covers[key], TYPES.get(key, "int32"))
    if covers["members"] is not None:
        starts, members = covers["members"]
        covers["members"] = [_numbers(starts, "int64"), _numbers(members)]
    return {
        "domain": _domain(data["domain"]),
        "ranks": _numbers(data["ranks"]),
        "floor": data["floor"],
        "summary": {"published": published, **covers},
    }


def _domain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"column": data["column"], "values": _values(data), "missing": data["missing"], "declared": data["declared"]}


def _values(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": data["type"], "values": data["values"]}


def _numbers(values: Sequence[Any], kind: str = "int32") -> dict[str, Any]:
    return {"type": kind, "shape": [len(values)], "values": values}


def _matrix(rows: Sequence[Sequence[Any]], width: int) -> dict[str, Any]:
    if any(len(row) != width for row in rows):
        raise ValueError("every row has a number for each column")
    return {"type": "int32", "shape": [len(rows), width], "values": [number for row in rows for number in row]}
