"""All kinds of hierarchies, and the reader and writer of their declarations in policies and flags."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from indistinct.errors import HierarchyError, IndistinctError, ParameterError, did_you_mean
from indistinct.hierarchy.builders import Dates, Masking, Suppression
from indistinct.hierarchy.explicit import Explicit, Order
from indistinct.hierarchy.intervals import CutPoints, Intervals
from indistinct.hierarchy.parents import read_parents
from indistinct.hierarchy.readers import read_hierarchy
from indistinct.hierarchy.trees import flatten
from indistinct.hierarchy.value import KINDS, Hierarchy, HierarchyKind
from indistinct.tables.domain import Kind
from indistinct.text_form import parse_field, spell_value, split


def _read_file(path: Any, *, base: Path | None = None, **options: Any) -> Explicit:
    """Read a hierarchy file with the options of a policy."""
    texts = (path, options.get("delimiter") or "", options.get("encoding") or "")
    if not all(isinstance(text, str | Path) for text in texts):
        raise HierarchyError("`file`, `delimiter` and `encoding` of a hierarchy must be texts")
    if not isinstance(options.get("header", False), bool):
        raise HierarchyError("`header` must be true or false", hint="true if the first row names the levels")
    return read_hierarchy(path, base=base, **options)


def _suppress(given: object = True) -> Suppression:
    if given is not True:
        raise HierarchyError("`suppression` must be true", hint="leave the key out")
    return Suppression()


def _tree(nested: Mapping[str, object], *, rooted: bool = True) -> Explicit:
    return Explicit(flatten(nested), rooted=rooted, form="tree")


KINDS.update(
    {
        kind.key: kind
        for kind in (
            HierarchyKind(
                "intervals",
                "intervals",
                Intervals,
                Intervals,
                "Intervals of equal width",
                "Each number becomes the interval that it lies in.",
                options=("origin",),
                separators=",",
                numbers=True,
                columns=(Kind.NUMBER,),
            ),
            HierarchyKind(
                "cuts",
                "intervals",
                CutPoints,
                CutPoints,
                "Intervals between cut points",
                "You say where one interval ends and the next begins.",
                separators="|,",
                numbers=True,
                keyword="cuts",
                columns=(Kind.NUMBER,),
            ),
            HierarchyKind(
                "dates",
                "dates",
                Dates,
                Dates,
                "Periods of the calendar",
                "Each date becomes its month, quarter, year or decade.",
                separators=",",
                usual=Dates().levels,
                columns=(Kind.DATE, Kind.TEXT),
            ),
            HierarchyKind(
                "mask",
                "masking",
                Masking,
                Masking,
                "Masking",
                "Each level hides one more character, as for postal codes.",
                options=("char", "levels", "length"),
                separators="",
                usual=Masking().side,
            ),
            HierarchyKind(
                "rows",
                "from_rows",
                Explicit,
                Explicit,
                "Table",
                "A row for each value: the value, then its coarser values.",
                options=("rooted",),
            ),
            HierarchyKind(
                "tree",
                "tree",
                Explicit,
                _tree,
                "Tree of groups",
                "You put values into groups, and groups into larger groups.",
                options=("rooted",),
            ),
            HierarchyKind(
                "file",
                "read_csv",
                Explicit,
                _read_file,
                "File",
                "A CSV file with a row for each value: the value, then its coarser values.",
                options=("delimiter", "rooted", "encoding", "header"),
            ),
            HierarchyKind(
                "parents",
                "read_parents",
                Explicit,
                read_parents,
                "Table of parents",
                "A file with a row for each code and its parent, as those of ICD and ATC.",
                options=("code", "parent", "root"),
            ),
            HierarchyKind(
                "order",
                "order",
                Order,
                Order,
                "Order",
                "You say which value is lower than which; neighbors may then be joined to a range.",
                separators="|",
            ),
            HierarchyKind(
                "suppression",
                "suppression",
                Suppression,
                _suppress,
                "Suppression",
                "A value is published unmodified, or suppressed.",
                separators="",
                usual=True,
            ),
        )
    }
)
OPTIONS = tuple(dict.fromkeys(option for kind in KINDS.values() for option in kind.options))
IN_FLAGS = (*(key for key, kind in KINDS.items() if kind.separators is not None), "file", "header")
"""With what the text of a flag may begin; it may also be just a path."""
_HINT = "for instance { intervals = [5, 10, 20] }"


def hierarchy_from_json(data: Mapping[str, Any], *, base: Path) -> Hierarchy:
    """Build the hierarchy that a policy declares; paths are relative to `base`. The inverse of `to_json`.

    >>> hierarchy_from_json({"intervals": [5, 10, 20]}, base=Path()).widths
    (5, 10, 20)
    """
    if not isinstance(data, Mapping):
        raise HierarchyError("a hierarchy must be a table of keys", hint=_HINT)
    for key in data:
        if key not in KINDS and key not in OPTIONS:
            raise HierarchyError(
                f"unknown key {key!r} of a hierarchy",
                unknown=key,
                hint=did_you_mean(str(key), (*KINDS, *OPTIONS)) or f"known: {', '.join(KINDS)}",
            )
    named = [key for key in data if key in KINDS]
    if len(named) != 1:
        raise HierarchyError(
            f"a hierarchy is declared by one of {', '.join(KINDS)}; got {', '.join(named) or 'none'}", hint=_HINT
        )
    kind = KINDS[named[0]]
    options = {key: value for key, value in data.items() if key != kind.key}
    for key in options:
        if key not in kind.options:
            raise HierarchyError(
                f"{key!r} does not go with {kind.key!r}",
                hint=f"other keys of {kind.key!r}: {', '.join(kind.options) or 'none'}",
            )
    if not isinstance(options.get("rooted", True), bool):
        raise HierarchyError("`rooted` must be true or false")
    if kind.key in ("file", "parents"):
        options["base"] = base
    built: Hierarchy = kind.build(data[kind.key], **options)
    return built


def hierarchy_from_spec(column: str, spec: str) -> Hierarchy:
    """Build the hierarchy that a flag declares for a column: a kind with its values and options, or a file.

    >>> hierarchy_from_spec("age", "intervals:5,10").widths
    (5, 10)
    >>> hierarchy_from_spec("zipcode", "mask:right,levels=2").to_json()
    {'mask': 'right', 'levels': 2}
    """
    key, _, rest = spec.partition(":")
    kind = KINDS.get(key)
    if kind is not None and kind.separators is not None:
        try:
            return hierarchy_from_json(_table_of(column, kind, rest), base=Path())
        except HierarchyError as error:
            raise HierarchyError(
                f"hierarchy of {column!r}: {error.message}", hint=error.hint, values=error.values, column=column
            ) from None
    if key == "header" and rest:
        _require_file(rest, column)
        return Hierarchy.read_csv(rest, header=True)
    if key != "file" and not Path(spec).suffix:
        raise ParameterError(
            f"the hierarchy of {column!r} is neither a file nor one of {', '.join(IN_FLAGS)}",
            hint=did_you_mean(key, IN_FLAGS) or f"for example {column}=mask:right",
        )
    path = rest if key == "file" else spec
    _require_file(path, column)
    return Hierarchy.read_csv(path)


def _require_file(path: str, column: str) -> None:
    if not Path(path).exists():
        raise HierarchyError(
            f"there is no file {path}, the hierarchy of column {column!r}",
            hint="check the path; a relative one starts at the working directory",
            column=column,
        )


def spec_of_hierarchy(hierarchy: Hierarchy) -> str | None:
    """Return the text of a flag that declares a hierarchy, None where no flag can.

    >>> spec_of_hierarchy(Hierarchy.intervals([5, 10], origin=2)), spec_of_hierarchy(Hierarchy.tree({"*": ["a"]}))
    ('intervals:5,10,origin=2', None)
    """
    options = hierarchy.to_json()
    kind = KINDS[next(iter(options))]
    value = options.pop(kind.key)
    if kind.key == "file" and set(options) <= {"header"}:
        return f"{'header' if options else 'file'}:{value}"
    if kind.separators is None:
        return None
    parts = [] if value is True else [_join(value, kind.separators)]
    text = ",".join([*parts, *(f"{name}={spell_value(each)}" for name, each in options.items())])
    spec = f"{kind.key}:{text}" if text else kind.key
    with suppress(IndistinctError):
        if hierarchy_from_spec("", spec) == hierarchy:
            return spec
    return None


def _table_of(column: str, kind: HierarchyKind, text: str) -> dict[str, Any]:
    """Return the declaration of a flag in the form of a policy."""
    pieces = split(text, ",") if kind.options else [text]
    named = [re.match(rf"\s*({'|'.join(kind.options)})\s*=(.*)", piece) if kind.options else None for piece in pieces]
    options = {
        match[1]: parse_field(match[2], kind.kind, match[1], what="hierarchy") for match in named if match is not None
    }
    rest = ",".join(piece for piece, match in zip(pieces, named, strict=True) if match is None)
    value = kind.usual if kind.usual is not None and not rest else _read(column, kind, rest, kind.separators or "")
    return {kind.key: value, **options}


def _read(column: str, kind: HierarchyKind, text: str, separators: str) -> Any:
    """Return the value after the kind in a flag."""
    if separators:
        return [_read(column, kind, part, separators[1:]) for part in text.split(separators[0])]
    return _number(column, kind, text) if kind.numbers else text


def _join(value: Any, separators: str) -> str:
    return separators[0].join(_join(each, separators[1:]) for each in value) if separators else str(value)


def _number(column: str, kind: HierarchyKind, text: str) -> float:
    """Parse a number of a hierarchy's specification."""
    try:
        value = float(text)
    except ValueError:
        raise ParameterError(
            f"the values of `{kind.key}` of {column!r} must be numbers", hint=f"for example {column}=intervals:5,10,20"
        ) from None
    return int(text) if text.strip().isdigit() else value


def builder_call(hierarchy: Hierarchy) -> tuple[str, Sequence[Any], dict[str, Any]]:
    """Return the method of `Hierarchy` that makes a hierarchy, with positional and named arguments.

    >>> builder_call(Hierarchy.masking("left", levels=2))
    ('masking', ['left'], {'levels': 2})
    """
    options = hierarchy.to_json()
    kind = KINDS[next(iter(options))]
    value = options.pop(kind.key)
    if kind.keyword is not None:
        return kind.builder, [], {kind.keyword: value, **options}
    return kind.builder, [] if value is True else [value], options
