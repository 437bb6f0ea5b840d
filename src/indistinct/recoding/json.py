"""Recodings as JSON: versioned, so that a recoding written today still says the same tomorrow.

The law of change: a kind never changes its meaning and no field is ever reused; new kinds and new optional fields may
appear, and then `VERSION` grows.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, assert_never, get_args

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.domain import Domain, arrow_array
from indistinct.errors import InputError
from indistinct.recoding.kinds import ByBucket, ByCell, ByColumn, ByRegion, ByRow, RecodedColumn, Recoding
from indistinct.recoding.outputs import Form, PublishedColumn
from indistinct.recoding.regions import Cuts
from indistinct.recoding.summary import ColumnSummary
from indistinct.schema import Schema

FORMAT = "indistinct-recoding"
VERSION = 2
# Numbers that are hashed at a time.
BLOCK = 1 << 16


def recoding_to_json(recoding: Recoding) -> str:
    """Return a recoding as one JSON document. It holds original values: keep it as safe as the table."""
    return json.dumps(_plain(_document(recoding)), ensure_ascii=False, allow_nan=False)


def recoding_from_json(text: str) -> Recoding:
    """Build the recoding that `recoding_to_json` wrote."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT or data["version"] > VERSION:
            raise InputError(
                "this is not a recoding that this version can read",
                hint=f"expected format {FORMAT!r} with version up to {VERSION}",
            )
        return _recoding(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, pa.ArrowException):
        raise InputError("the recoding cannot be read", hint="it must be a file that indistinct wrote") from None


def digest(recoding: Recoding) -> str:
    """Return a SHA-256 commitment to a recoding, nonce included."""
    state = hashlib.sha256(recoding.nonce.encode())
    for path, part in parts_of(recoding).items():
        state.update(f"\n{path}:".encode())
        if isinstance(part, np.ndarray):
            state.update(f"{part.shape}".encode())
            kind = _width(part)
            state.update(kind.encode())
            for start in range(0, len(part), BLOCK):  # whole arrays would be copied
                state.update(np.ascontiguousarray(part[start : start + BLOCK], dtype=kind).tobytes())
        else:
            state.update(json.dumps(part, ensure_ascii=False).encode())
    return state.hexdigest()


def _width(part: Codes) -> str:
    """Return the narrowest type that holds an array, whatever type it has here."""
    if part.dtype.kind == "f":
        return "<f8"
    low, high = (int(part.min()), int(part.max())) if part.size else (0, 0)
    kinds = ("<i1", "<i2", "<i4", "<i8")
    return next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def parts_of(recoding: Recoding) -> dict[str, Any]:
    """Return a recoding as `path -> array or plain value`, without its nonce."""
    flat: dict[str, Any] = {}
    document = _document(recoding)
    del document["nonce"]
    _flatten("", document, flat)
    return flat


def _flatten(path: str, part: Any, flat: dict[str, Any]) -> None:
    if isinstance(part, Mapping):
        for key, value in part.items():
            _flatten(f"{path}/{key}", value, flat)
    elif isinstance(part, list) and part and isinstance(part[0], Mapping | np.ndarray):
        for place, value in enumerate(part):
            _flatten(f"{path}/{place}", value, flat)
    else:
        flat[path] = part


def _document(recoding: Recoding) -> dict[str, Any]:
    head = {
        "format": FORMAT,
        "version": VERSION,
        "nonce": recoding.nonce,
        "schema": None if recoding.schema is None else asdict(recoding.schema),
        "promise": recoding.promise,
        "columns": [_column_document(column) for column in recoding.columns],
    }
    match recoding:
        case ByColumn():
            levels = dict(recoding.levels) if recoding.levels is not None else None
            body: dict[str, Any] = {
                "kind": "by-column",
                "groups": list(recoding.groups),
                "suppressed": recoding.suppressed,
                "levels": levels,
                "star": recoding.star,
            }
        case ByRegion():
            body = {"kind": "by-region", "cuts": _fields(recoding.cuts), "values": recoding.values}
        case ByCell():
            body = {"kind": "by-cell", **_fields(recoding, "vectors", "class_ids", "values")}
        case ByRow():
            names = ("vectors", "cells", "joint", "class_ids", "counts", "values")
            body = {"kind": "by-row", **_fields(recoding, *names)}
        case ByBucket():
            body = {
                "kind": "by-bucket",
                "domains": [domain.to_json() for domain in recoding.domains],
                **_fields(recoding, "vectors", "cells", "joint", "class_ids", "counts", "form", "l", "size"),
                "slices": [list(names) for names in recoding.slices],
                "generalized": [_document(part) for part in recoding.generalized],
            }
        case _:
            assert_never(recoding)  # type: ignore[arg-type]
    return {**head, **body}


def _fields(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names or ("axis", "cut", "left", "right")}


def _column_document(column: RecodedColumn) -> dict[str, Any]:
    summary, published = column.summary, column.summary.published
    return {
        "domain": column.domain.to_json(),
        "ranks": column.ranks,
        "floor": column.floor,
        "published": {
            "outputs": [
                {"name": name, "type": str(array.type), "values": array.cast(pa.string()).to_pylist()}
                for name, array in published.outputs
            ],
            **{key: getattr(published, key) for key in ("low", "high", "leaves", "levels")},
            **{key: getattr(published, key) for key in ("span", "size", "height", "ranged")},
        },
        "covers": {
            "low": summary.low,
            "high": summary.high,
            "absent": summary.absent,
            "members": list(summary.members) if summary.members is not None else None,
        },
    }


def _plain(part: Any) -> Any:
    """Return a document with arrays as lists."""
    if isinstance(part, Mapping):
        return {key: _plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain(value) for value in part]
    return part.tolist() if isinstance(part, np.ndarray) else part


def _recoding(data: Mapping[str, Any]) -> Recoding:
    columns = tuple(_column(column) for column in data["columns"])
    width = len(columns)
    about: dict[str, Any] = {
        "nonce": data["nonce"],
        "schema": None if data["schema"] is None else Schema(**data["schema"]),
        "promise": data["promise"],
    }
    match data["kind"]:
        case "by-column":
            groups = tuple(_ints(group) for group in data["groups"])
            star = None if data.get("star") is None else _ints(data["star"])
            return ByColumn(columns, groups, _matrix(data["suppressed"], width), data["levels"], star, **about)
        case "by-region":
            tree = data["cuts"]
            cuts = Cuts(_ints(tree["axis"], np.int16), *(_ints(tree[key]) for key in ("cut", "left", "right")))
            return ByRegion(columns, cuts, _matrix(data["values"], width), **about)
        case "by-cell":
            vectors, values = _matrix(data["vectors"], width), _matrix(data["values"], width)
            return ByCell(columns, vectors, _ints(data["class_ids"]), values, **about)
        case "by-row":
            joint = None if data["joint"] is None else _ints(data["joint"])
            return ByRow(
                columns,
                _matrix(data["vectors"], width),
                _ints(data["cells"]),
                joint,
                _ints(data["class_ids"]),
                _ints(data["counts"], np.int64),
                _matrix(data["values"], width),
                **about,
            )
        case "by-bucket":
            return _by_bucket(data, about)
        case kind:
            raise InputError(f"a recoding of kind {kind!r} is not known to this version", hint="update indistinct")


def _by_bucket(data: Mapping[str, Any], about: Mapping[str, Any]) -> ByBucket:
    domains = tuple(Domain.from_json(domain) for domain in data["domains"])
    slices = tuple(tuple(names) for names in data["slices"])
    _check_slices(data, slices, [domain.column for domain in domains], about["schema"])
    return ByBucket(
        (),
        domains,
        _matrix(data["vectors"], len(domains)),
        _ints(data["cells"]),
        None if data["joint"] is None else _ints(data["joint"]),
        _ints(data["class_ids"]),
        _ints(data["counts"], np.int64),
        slices,
        tuple(_recoding(part) for part in data["generalized"]),
        form=data["form"],
        l=data["l"],
        size=data["size"],
        **about,
    )


def _check_slices(
    data: Mapping[str, Any], slices: tuple[tuple[str, ...], ...], known: list[str], schema: Schema | None
) -> None:
    """Raise `ValueError` unless every attribute is in one slice, and form and numbers are those of buckets."""
    if data["form"] not in get_args(Form) or not isinstance(data["l"], int | None) or not isinstance(data["size"], int):
        raise ValueError("no form or no numbers of buckets")
    sensitive = () if schema is None else schema.sensitive
    if sorted(name for names in slices for name in names) != sorted([*known, *sensitive]):
        raise ValueError("the slices do not name every attribute once")
    if data["form"] == "tables" and slices != (tuple(known), tuple(sensitive)):
        raise ValueError("two tables show what is known, and what is sensitive")


def _column(data: Mapping[str, Any]) -> RecodedColumn:
    published, covers = data["published"], data["covers"]
    outputs = tuple((o["name"], arrow_array(o["values"], o["type"])) for o in published["outputs"])
    summary = ColumnSummary(
        PublishedColumn(
            data["domain"]["column"],
            outputs,
            low=np.array(published["low"], dtype=np.float64),
            high=np.array(published["high"], dtype=np.float64),
            leaves=_ints(published["leaves"], np.int64),
            levels=_ints(published["levels"]),
            **{key: published[key] for key in ("span", "size", "height", "ranged")},
        ),
        _ints(covers["low"]),
        _ints(covers["high"]),
        np.array(covers["absent"], dtype=bool),
        None if covers["members"] is None else (_ints(covers["members"][0], np.int64), _ints(covers["members"][1])),
    )
    return RecodedColumn(Domain.from_json(data["domain"]), _ints(data["ranks"]), data["floor"], summary)


def _ints(values: Any, kind: Any = np.int32) -> Codes:
    found = np.array(values, dtype=kind)
    if found.ndim != 1:
        raise ValueError("a list of numbers is wanted")
    return found


def _matrix(values: Any, width: int) -> Codes:
    return np.array(values, dtype=np.int32).reshape(-1, width)
