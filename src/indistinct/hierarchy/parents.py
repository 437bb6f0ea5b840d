"""Hierarchies from tables that give the parent of each code, such as ICD and ATC."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from indistinct.errors import HierarchyError, InputError
from indistinct.figures import plural
from indistinct.hierarchy.explicit import Explicit
from indistinct.tables.opening import open_table

HINT = 'for instance { parents = "icd10.csv", code = "code", parent = "parent" }'


def read_parents(
    path: str | Path,
    *,
    code: str = "code",
    parent: str = "parent",
    root: str | None = None,
    base: Path | None = None,
) -> Explicit:
    """Read a table with a row for each code and its parent; a code without a parent is the root.

    Inner codes are values too, such as a category to which a diagnosis was coded. `root` is added above all codes
    without a parent, if there are several.
    """
    if not all(
        isinstance(text, str | Path) and str(text) for text in (path, code, parent, *([] if root is None else [root]))
    ):
        raise HierarchyError("`parents`, `code`, `parent` and `root` of a hierarchy must be texts", hint=HINT)
    file = Path(path) if base is None else base / path
    try:
        table = open_table(file, text=[code, parent], columns=[code, parent]).data
    except InputError as error:
        raise HierarchyError(f"{file}: {error.message}", hint=error.hint or HINT) from None
    columns = [table[name].cast(pa.string()).to_pylist() for name in (code, parent)]
    try:
        rows = rows_of_parents(zip(*columns, strict=True), root=root)
    except HierarchyError as error:
        raise HierarchyError(f"{file}: {error.message}", hint=error.hint, values=error.values) from None
    declared = Explicit(rows, form="parents", path=str(path))
    return replace(declared, code=code, parent=parent, root=root)


def rows_of_parents(
    pairs: Iterable[tuple[str | None, str | None]], *, root: str | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return a row for each code, from the code to the root; rows of codes near the root repeat the code.

    >>> rows_of_parents([("I10", "I"), ("I10.1", "I10"), ("I", None)])
    (('I', 'I', 'I'), ('I10', 'I10', 'I'), ('I10.1', 'I10', 'I'))
    """
    parents = _parents(pairs)
    _check_roots(parents, root)
    paths = {code: _path(code, parents, root) for code in parents}
    height = max(map(len, paths.values()))
    height = max(height, 2)
    rows = ((code,) * (height - len(path)) + path for code, path in paths.items())
    # Codes below one parent are adjacent, so that a node is one run.
    return tuple(sorted(rows, key=lambda row: row[::-1]))


def _parents(pairs: Iterable[tuple[str | None, str | None]]) -> dict[str, str | None]:
    """Return the parent of each code; raise for a code with several."""
    parents: dict[str, str | None] = {}
    several = []
    for code, parent in pairs:
        if not code:
            raise HierarchyError("a row has no code", hint="remove empty rows from the table of parents")
        above = parent or None
        if parents.setdefault(code, above) != above:
            several.append(code)
    if several:
        raise HierarchyError(
            f"codes with several parents: {len(set(several))}; a hierarchy has one parent for each code",
            hint="keep one row a code: of concept_ancestor those of one level of separation",
            values=several,
        )
    if not parents:
        raise HierarchyError("the table of parents has no row", hint=HINT)
    return parents


def _check_roots(parents: Mapping[str, str | None], root: str | None) -> None:
    """Raise unless all parents have rows, and there is one root."""
    absent = list(dict.fromkeys(each for each in parents.values() if each is not None and each not in parents))
    if absent:
        raise HierarchyError(
            f"parents without a row of their own: {len(absent)}",
            hint="add a row for each, with its parent, or with an empty parent for the root",
            values=absent,
        )
    roots = [code for code, parent in parents.items() if parent is None]
    if len(roots) > 1 and root is None:
        raise HierarchyError(
            f"{len(roots)} codes have no parent; expected one root",
            hint='put one above them: { parents = …, root = "*" }, root="*" in Python',
            values=roots,
        )
    if root is not None and root in parents and roots != [root]:
        raise HierarchyError("the root is also a code below others", hint="choose another name for the root")
    _check_cycles(parents)


def _check_cycles(parents: Mapping[str, str | None]) -> None:
    """Raise unless every code leads to a code without a parent."""
    sound: set[str] = set()
    for code in parents:
        path, each = [], code
        while each not in sound:
            path.append(each)
            above = parents[each]
            if above is None:
                break
            if above in path:
                raise HierarchyError(
                    f"a cycle of {plural(len(path) - path.index(above), 'code')}: each is above itself",
                    hint="give one of them another parent, or none",
                    values=path[path.index(above) :],
                )
            each = above
        sound.update(path)


def _path(code: str, parents: Mapping[str, str | None], root: str | None) -> tuple[str, ...]:
    """Return the path from a code to the root."""
    path = [code]
    while (above := parents[path[-1]]) is not None:
        path.append(above)
    return tuple(path) if root is None or path[-1] == root else (*path, root)
