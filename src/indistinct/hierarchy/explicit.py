"""Hierarchies listed value by value, and orders of values; tables cover the data, are nested, and have one root."""

import pathlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal, assert_never

import numpy as np

from indistinct.errors import HierarchyError
from indistinct.figures import plural
from indistinct.hierarchy.taxonomy import ROOT, Taxonomy, number
from indistinct.hierarchy.trees import nest, text_of
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes, Counts
from indistinct.parameters import Parameter, SeveralTexts
from indistinct.tables.domain import Domain, Kind

Path = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Explicit(Hierarchy):
    """A table of raw values and their coarser values; nested, and with one root unless `rooted` is False.

    Values match the data by their text, numbers by value (`17` is `17.0`). Leaves that do not occur in the data count
    too. The leaf with the empty text means missing; without it, missing is its own leaf directly below the root, or
    next to several roots. `form`, `path`, `delimiter`, `encoding` and `header` are the form in a policy. `code`,
    `parent` and `root` are those of a table of parents.
    """

    key: ClassVar[str] = "rows"
    rows: tuple[tuple[str, ...], ...]
    rooted: Annotated[bool, Parameter("One root", "The top level must have one value; true by default.")] = True
    form: Literal["rows", "tree", "file", "parents"] = "rows"
    path: str | None = None
    delimiter: Annotated[
        str | None, Parameter("Delimiter", "Delimiter of the file: semicolon, tab or comma; detected by default.")
    ] = None
    encoding: Annotated[str | None, Parameter("Encoding", "Encoding of the file; detected by default.")] = None
    header: Annotated[bool, Parameter("Header", "The first line of the file names the levels.")] = False
    code: Annotated[str | None, Parameter("Code", "Column of the codes in a table of parents; code by default.")] = None
    parent: Annotated[str | None, Parameter("Parent", "Column of the parent of each code; parent by default.")] = None
    root: Annotated[
        str | None, Parameter("Root", "What is put above all codes without a parent, where there are several.")
    ] = None

    def __post_init__(self) -> None:
        rows = rows_of(self.rows)
        _check_shape(rows)
        rows = tuple(dict.fromkeys(rows))
        _check_leaves(rows)
        _check_nesting(rows)
        if self.rooted:
            _check_root(rows)
        object.__setattr__(self, "rows", rows)

    @property
    def listed(self) -> tuple[tuple[str, ...], ...]:
        """Return `rows`."""
        return self.rows

    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the table to a column; raise where it does not cover a value of the data."""
        paths, chosen = _match(self.rows, domain, self.path)
        height = len(paths[0]) - 1
        ancestors = np.zeros((len(domain), height + 1), dtype=np.int32)
        ancestors[:, 0] = np.arange(len(domain))
        labels: list[Path] = [domain.texts()]
        leaves: list[Counts] = [np.ones(len(domain), dtype=np.int64)]
        for index in range(1, height + 1):
            names: dict[str | None, int] = {}
            nodes = np.array([names.setdefault(path[index], len(names)) for path in paths], dtype=np.int64)
            ancestors[:, index], firsts = number(nodes[chosen])
            order = nodes[chosen][firsts]
            if index == height:
                # A root without data keeps its number, so that the leaves of the whole hierarchy are counted.
                order = np.concatenate([order, np.setdiff1d(np.arange(len(names)), order)])
            spelled = list(names)
            labels.append(tuple(spelled[node] for node in order.tolist()))
            leaves.append(np.bincount(nodes, minlength=len(names))[order])
        return Taxonomy(domain.column, ancestors, tuple(labels), tuple(leaves))

    def complete_for(self, domain: Domain) -> "Explicit":
        """Return the table itself, without its file."""
        return replace(self, form="rows", path=None, delimiter=None, code=None, parent=None, root=None)

    def to_json(self) -> dict[str, Any]:
        """Return `{"rows": …}`, `{"tree": …}` or `{"file": path}`, with `"rooted": false` where that applies."""
        document: dict[str, Any]
        match self.form:
            case "rows":
                document = {"rows": [list(row) for row in self.rows]}
            case "tree":
                document = {"tree": nest(self.rows)}
            case "file":
                document = {"file": self.path}
                options = {"delimiter": self.delimiter, "encoding": self.encoding, "header": self.header or None}
                document |= {key: value for key, value in options.items() if value is not None}
            case "parents":
                document = {"parents": self.path}
                options = {"code": self.code, "parent": self.parent, "root": self.root}
                document |= {key: value for key, value in options.items() if value is not None}
            case _:
                assert_never(self.form)
        return document if self.rooted else {**document, "rooted": False}


def table_of_values(hierarchy: Hierarchy | None) -> Explicit | None:
    """Return a hierarchy that is a table of values, None for any other."""
    return hierarchy if isinstance(hierarchy, Explicit) else None


def move_file(hierarchy: Hierarchy, move: Callable[[pathlib.Path], pathlib.Path | None]) -> Hierarchy:
    """Return a hierarchy with its file at the path that `move` returns; where that is None, rows are written out.

    A hierarchy without a file is returned unchanged.
    """
    table = table_of_values(hierarchy)
    if table is None or table.path is None or table.form not in ("file", "parents"):
        return hierarchy
    path = move(pathlib.Path(table.path))
    if path is None:
        return replace(
            table,
            form="rows",
            path=None,
            delimiter=None,
            encoding=None,
            header=False,
            code=None,
            parent=None,
            root=None,
        )
    return replace(table, path=path.as_posix())


def check_rooted(taxonomy: Taxonomy) -> None:
    """Raise unless a bound hierarchy has one root, without which a search may find no recoding."""
    if not taxonomy.rooted:
        raise HierarchyError(
            f"the hierarchy of column {taxonomy.column!r} has {len(taxonomy.labels[-1])} roots; expected one",
            hint="add a top level with one value for all rows, for instance *",
            column=taxonomy.column,
        )


def rows_of(rows: Iterable[Sequence[object]]) -> tuple[tuple[str, ...], ...]:
    """Return a declared table as texts; raise unless it is a list of lists."""
    listed = [] if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable) else list(rows)
    if not listed or any(isinstance(row, str) or not isinstance(row, Sequence) for row in listed):
        raise HierarchyError(
            "a hierarchy must be a list of rows, each a list of a raw value and its coarser values",
            hint='for instance [["flu", "infection", "*"], ["gastritis", "stomach", "*"]]',
        )
    return tuple(tuple(text_of(value) for value in row) for row in listed)


def _check_shape(rows: Sequence[tuple[str, ...]]) -> None:
    """Raise unless all rows have the same number of levels."""
    width = len(rows[0])
    for index, row in enumerate(rows, start=1):
        if len(row) != width:
            raise HierarchyError(
                f"row {index} of the hierarchy has {plural(len(row), 'level')}; the first row has {width}",
                hint="repeat a value to fill its row, or write a tree, which is padded",
            )
    if width < 2:
        raise HierarchyError(
            "a hierarchy needs at least a raw value and a coarser one in each row",
            hint="add a last column with one value for all rows, for instance *",
        )


def _check_leaves(rows: Sequence[tuple[str, ...]]) -> None:
    """Raise if a value has several rows."""
    twice = [leaf for leaf, count in Counter(row[0] for row in rows).items() if count > 1]
    if twice:
        raise HierarchyError(
            f"{plural(len(twice), 'value')} of the hierarchy {'has' if len(twice) == 1 else 'have'} several rows with "
            "different coarser values",
            hint="keep one row a raw value",
            values=twice,
            level=0,
        )


def _check_nesting(rows: Sequence[tuple[str, ...]]) -> None:
    """Raise if a value of a level is below several values of the next."""
    for index in range(1, len(rows[0]) - 1):
        above: dict[str, str] = {}
        pairs = dict.fromkeys((row[index], row[index + 1]) for row in rows)
        broken = list(dict.fromkeys(low for low, high in pairs if above.setdefault(low, high) != high))
        if broken:
            raise HierarchyError(
                f"levels do not nest: values of level {index} lie below several values ({len(broken)})",
                hint="give values of one level that lie below different values different names",
                values=broken,
                level=index,
            )


ADD_ROOT = "add a last column with one value for all rows, for instance *"
"""How to give a hierarchy one root."""
HAS_HEADER = "if the first line names the levels: header:FILE with --hierarchy, header = true or header=True; else "
"""How to read a file with a header."""


def _check_root(rows: Sequence[tuple[str, ...]]) -> None:
    """Raise unless the top level has one value."""
    roots = list(dict.fromkeys(row[-1] for row in rows))
    if len(roots) > 1:
        raise HierarchyError(
            f"the top level of the hierarchy has {len(roots)} values; expected one root",
            hint=(HAS_HEADER if _only_first(rows) else "") + f"{ADD_ROOT}, or in Python rooted=False",
            advice=ADD_ROOT,
            values=roots,
            level=len(rows[0]) - 1,
            header=_only_first(rows),
        )


def _only_first(rows: Sequence[tuple[str, ...]]) -> bool:
    """Return whether only the first row has another root, as a row with the names of levels does."""
    return len({row[-1] for row in rows[1:]}) == 1 and rows[0][-1] != rows[-1][-1]


def _match(rows: Iterable[tuple[str, ...]], domain: Domain, file: str | None = None) -> tuple[list[Path], Codes]:
    """Return the path of each leaf, and the leaf of each code; `file` is the hierarchy's file, for errors."""
    paths: dict[Hashable, Path] = {}
    for path in rows:
        key = value_key(path[0], domain.kind)
        if paths.setdefault(key, path)[1:] != path[1:]:
            raise HierarchyError(
                f"the hierarchy of column {domain.column!r} has one value in several rows that differ above",
                hint="keep one row a value; numbers and dates may be written in one way only",
                values=[path[0]],
                column=domain.column,
            )
    texts = domain.texts()
    keys: list[Hashable] = [None if text is None else value_key(text, domain.kind) for text in texts]
    if domain.missing:
        _place_missing(paths, taken="" in keys)
    index_of = {key: index for index, key in enumerate(paths)}
    chosen = np.array([index_of.get(key, -1) for key in keys], dtype=np.int64)
    strangers = np.flatnonzero(chosen < 0)
    if len(strangers):
        raise HierarchyError(
            f"the hierarchy of column {domain.column!r}{'' if file is None else f', {file},'} does not cover "
            f"{plural(len(strangers), 'value')} of the data",
            hint="add a row for each of them (--show-values lists them, in Python `error.values`), or drop these "
            "rows of the table",
            values=[texts[code] for code in strangers.tolist()],
            column=domain.column,
        )
    return list(paths.values()), chosen


def _place_missing(paths: dict[Hashable, Path], *, taken: bool) -> None:
    """Add the path of missing under the key None: that of the empty text, unless the data contain that too."""
    if "" in paths and not taken:
        paths[None] = paths.pop("")
        for key, path in paths.items():
            paths[key] = tuple(text or None for text in path)
        return
    roots = {path[-1] for path in paths.values()}
    width = len(next(iter(paths.values())))
    paths[None] = (*[None] * (width - 1), roots.pop() if len(roots) == 1 else None)


def value_key(text: str, kind: Kind) -> Hashable:
    """Return a key that is equal for all ways to write one value."""
    if kind is Kind.DATE:
        spaced = text.replace("T", " ")
        shortened = spaced.rstrip("0").rstrip(".") if "." in spaced else spaced
        return shortened.removesuffix(" 00:00:00").removesuffix(" 00:00")
    if kind is Kind.NUMBER:
        with suppress(InvalidOperation):
            size = Decimal(text)
            return size if size.is_finite() else text
    return text


@dataclass(frozen=True, slots=True)
class Order(Hierarchy):
    """The declared order of a column's values, lowest first; the only coarser value is the top."""

    key: ClassVar[str] = "order"
    categorical: ClassVar[bool] = False
    values: Annotated[
        Sequence[str],
        Parameter(
            "Values, lowest first",
            "All values of the column, each once, for instance low, high.",
            SeveralTexts("a list of values", least=1),
        ),
    ]

    # Checked here, because the error of a refused parameter quotes it, and these are values of the table.
    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Sequence) or not self.values:
            raise HierarchyError("an order must be a list of values", hint="for instance order(['low', 'high'])")
        object.__setattr__(self, "values", tuple(text_of(value) for value in self.values))
        twice = [value for value, count in Counter(self.values).items() if count > 1]
        if twice:
            raise HierarchyError(
                f"the declared order names values more than once ({len(twice)})", hint="name each once", values=twice
            )

    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the order to a column; raise where it does not name a value of the data."""
        return Explicit(tuple((value, ROOT) for value in self.values)).bind(domain)


def declared_order(hierarchy: Hierarchy | None) -> Sequence[str] | None:
    """Return the order of values that a hierarchy declares, None if it declares none.

    >>> declared_order(Order(["low", "high"])), declared_order(None)
    (('low', 'high'), None)
    """
    return hierarchy.values if isinstance(hierarchy, Order) else None
