"""A hierarchy gives the coarser values to which each value of a column may be generalized.

Declarations (`Hierarchy` and its builders) are independent of a table; `bind` applies one to a column's domain and
returns a `Taxonomy`, the codes that algorithms use.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from indistinct.errors import HierarchyError, ParameterError
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.parameters import check_parameters
from indistinct.tables.domain import Domain, Kind

if TYPE_CHECKING:
    from indistinct.hierarchy.builders import Dates, Masking, Suppression
    from indistinct.hierarchy.explicit import Explicit, Order
    from indistinct.hierarchy.intervals import CutPoints, Intervals


@dataclass(frozen=True, slots=True)
class HierarchyKind:
    """One way to declare a hierarchy.

    A policy and a flag name it by its `key`, with the first parameter of its class `kind` as the value:
    `{ mask = "right" }`, `mask:right`. Other parameters are `options`: `{ mask = "right", levels = 2 }`,
    `mask:right,levels=2`. In a flag the values of a list, and of the lists in it, are joined by the `separators`; None
    where no flag declares the kind. Without a value it has the `usual` one. `builder` is the method of `Hierarchy`,
    which takes the value by the name `keyword` if that is not its first argument; `build` makes the hierarchy. Forms
    show `title` and `meaning`, for `columns` of the named kinds or of all.
    """

    key: str
    builder: str
    kind: type["Hierarchy"]
    build: Callable[..., Any]
    title: str
    meaning: str
    options: tuple[str, ...] = ()
    separators: str | None = None
    numbers: bool = False
    usual: Any = None
    keyword: str | None = None
    columns: tuple[str, ...] = ()


KINDS: dict[str, HierarchyKind] = {}
"""Every kind by its key; `registry.py` fills it, because the kinds import this module."""


class Hierarchy(ABC):
    """A generalization hierarchy: coarser and coarser values of a column.

    The class is not called itself; one of its methods declares a hierarchy. Rules for any values: `intervals` of
    numbers, `dates`, `masking` of characters, `order` of names, and `suppression`. Lists of values: `tree`,
    `from_rows`, `read_csv` (a table of levels) and `read_parents` (a table of codes with their parents, such as ICD).
    Pass hierarchies by column: ``anonymize(…, hierarchies={"age": Hierarchy.intervals([5, 10, 20])})``.

    Attributes
    ----------
    key
        Name of the kind in a policy.
    categorical
        Whether numbers under the hierarchy are codes: they are grouped by the hierarchy, not by size.
    self_explaining
        Whether a label alone shows which values it covers.

    Raises
    ------
    HierarchyError
        If the declaration is broken, for example if levels are not nested.

    Examples
    --------
    >>> Hierarchy.intervals([5, 10, 20]).to_json()
    {'intervals': [5, 10, 20]}
    >>> Hierarchy.intervals(cuts=[[18, 40, 65], [40]]).to_json()
    {'cuts': [[18, 40, 65], [40]]}
    >>> Hierarchy.masking("right", levels=2).to_json()
    {'mask': 'right', 'levels': 2}
    """

    __slots__ = ()
    key: ClassVar[str]
    categorical: ClassVar[bool] = True
    self_explaining: ClassVar[bool] = False

    def __post_init__(self) -> None:
        try:
            check_parameters(self)
        except ParameterError as error:
            raise HierarchyError(error.message, hint=error.hint) from None

    @abstractmethod
    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the hierarchy to a column's values; raise `HierarchyError` where it does not cover them."""

    @classmethod
    def advise(cls, given: object) -> str | None:
        """Return a hint for an argument that is no mapping to hierarchies, or None."""
        example = '{"age": Hierarchy.intervals([5, 10, 20])}'
        if not isinstance(given, Mapping):
            return f"give them by column: {example}"
        texts = any(isinstance(each, str | Path) for each in given.values())
        return (
            f'a file is read by Hierarchy.read_csv("age.csv"); for example {example}'
            if texts
            else f"for example {example}"
        )

    @property
    def listed(self) -> tuple[tuple[str, ...], ...]:
        """Return each declared value with its coarser values; empty for hierarchies by rule."""
        return ()

    def complete_for(self, domain: Domain) -> "Hierarchy":
        """Return a declaration that depends neither on the data nor on a file, so that new values get the same labels.

        Everything that the hierarchy took from the column or its file becomes part of the declaration.
        """
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a policy writes it: the first parameter under the kind's key, then other options.

        >>> Hierarchy.masking("left", levels=2).to_json()
        {'mask': 'left', 'levels': 2}
        """
        parameters = fields(self)  # type: ignore[arg-type]  # every kind is a dataclass
        values = [_plain(getattr(self, each.name)) for each in parameters]
        options = {each.name: value for each, value in zip(parameters, values, strict=True) if value != each.default}
        first = parameters[0].name if parameters else None
        return {self.key: values[0] if values else True} | {k: v for k, v in options.items() if k != first}

    @staticmethod
    def from_rows(rows: Iterable[Sequence[object]], *, rooted: bool = True) -> "Explicit":
        """Declare a table: each row is a raw value and its coarser values, the top last.

        >>> Hierarchy.from_rows([["flu", "infection", "*"], ["gastritis", "stomach", "*"]]).rows[0]
        ('flu', 'infection', '*')
        """
        return KINDS["rows"].build(rows, rooted=rooted)

    @staticmethod
    def read_csv(
        path: str | Path,
        *,
        delimiter: str | None = None,
        rooted: bool = True,
        encoding: str | None = None,
        header: bool = False,
    ) -> "Explicit":
        """Read a table of levels: one row a raw value, levels left to right, as ARX writes it.

        The delimiter is found among semicolon, tab and comma and the encoding among the usual ones unless they are
        given. With `header` the first row names the levels and is left out.
        """
        return KINDS["file"].build(path, delimiter=delimiter, rooted=rooted, encoding=encoding, header=header)

    @staticmethod
    def read_parents(
        path: str | Path, *, code: str = "code", parent: str = "parent", root: str | None = None
    ) -> "Explicit":
        """Read a table that names the parent of each code, as those of ICD and ATC; `root` is put above several.

        A code without a parent is the root. Inner codes are values of the column too.
        """
        return KINDS["parents"].build(path, code=code, parent=parent, root=root)

    @staticmethod
    def tree(nested: Mapping[str, object], *, rooted: bool = True) -> "Explicit":
        """Declare a nested tree; a branch that ends early is padded by repeating its value upward.

        >>> Hierarchy.tree({"*": {"married": ["civil", "church"], "single": []}}).rows
        (('civil', 'married', '*'), ('church', 'married', '*'), ('single', 'single', '*'))
        """
        return KINDS["tree"].build(nested, rooted=rooted)

    @staticmethod
    def intervals(
        widths: Sequence[float] | None = None, *, origin: float = 0, cuts: Sequence[Sequence[float]] | None = None
    ) -> "Intervals | CutPoints":
        """Declare intervals of numbers, finest first: by widths that divide each other, or by lists of cuts.

        With `widths` each level has intervals of one width, from `origin` on. With `cuts` each level has the intervals
        between its cuts; the cuts of a level are among those of the level before. Give one of both.

        >>> Hierarchy.intervals([5, 10, 20]).to_json()
        {'intervals': [5, 10, 20]}
        >>> Hierarchy.intervals(cuts=[[18, 40, 65], [40]]).to_json()
        {'cuts': [[18, 40, 65], [40]]}
        """
        if widths is not None and cuts is None:
            return KINDS["intervals"].build(widths, origin)
        if cuts is not None and widths is None and origin == 0:
            return KINDS["cuts"].build(cuts)
        raise HierarchyError(
            "intervals are declared either by widths and an origin, or by cuts",
            hint="Hierarchy.intervals([5, 10, 20]) or Hierarchy.intervals(cuts=[[18, 40, 65], [40]])",
        )

    @staticmethod
    def dates(levels: Sequence[str] = ("month", "quarter", "year", "decade")) -> "Dates":
        """Declare the calendar: any ascending choice of day, month, quarter, year and decade.

        >>> Hierarchy.dates(["month", "year"]).to_json()
        {'dates': ['month', 'year']}
        """
        return KINDS["dates"].build(levels)

    @staticmethod
    def masking(
        side: str = "right", *, char: str = "*", levels: int | None = None, length: int | None = None
    ) -> "Masking":
        """Declare masking of one more character a level, from the right or from the left, as for postcodes.

        `length` is that of the longest value, if it is not to be found in the data.

        >>> Hierarchy.masking(levels=2).to_json()
        {'mask': 'right', 'levels': 2}
        """
        return KINDS["mask"].build(side, char=char, levels=levels, length=length)

    @staticmethod
    def order(values: Sequence[object]) -> "Order":
        """Declare the order of a column's values, lowest first; the only coarser value is the top.

        >>> Hierarchy.order(["primary", "secondary", "tertiary"]).values
        ('primary', 'secondary', 'tertiary')
        """
        return KINDS["order"].build(values)

    @staticmethod
    def suppression() -> "Suppression":
        """Declare a hierarchy of two levels: a value is published unmodified, or suppressed.

        >>> Hierarchy.suppression().to_json()
        {'suppression': True}
        """
        return KINDS["suppression"].build()


def _plain(value: Any) -> Any:
    """Return a value with lists in place of tuples."""
    return list(map(_plain, value)) if isinstance(value, tuple) else value


NOUNS = {Kind.NUMBER: "numbers", Kind.DATE: "dates", Kind.TEXT: "text"}


def require(domain: Domain, kind: Kind, *, builder: str) -> None:
    """Raise unless a builder supports a column's kind of values; a column without values has any kind."""
    if len(domain.values) and domain.kind is not kind:
        raise HierarchyError(
            f"{builder} need {NOUNS[kind]}; column {domain.column!r} holds {NOUNS[domain.kind]}",
            hint="for any column: a CSV file with the levels of each value, mask or suppression",
            column=domain.column,
        )
