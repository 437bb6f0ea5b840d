"""Hierarchies by rule: the calendar, masking, and suppression alone. Their leaves are the values of the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import HierarchyError
from indistinct.hierarchy.taxonomy import Level, Taxonomy, level, taxonomy_from_levels
from indistinct.hierarchy.value import Hierarchy, require
from indistinct.machine.arrays import Codes
from indistinct.parameters import Character, Parameter, SeveralOf, Whole
from indistinct.tables.domain import Domain, Kind

# Months per level, and how the number of a level is published.
_MONTHS: dict[str, tuple[int, Callable[[int], str]]] = {
    "month": (1, lambda i: f"{i // 12:04d}-{i % 12 + 1:02d}"),
    "quarter": (3, lambda i: f"{i // 4:04d}-Q{i % 4 + 1}"),
    "year": (12, lambda i: f"{i:04d}"),
    "decade": (120, lambda i: f"{i * 10:04d}s"),
}
CALENDAR = SeveralOf(("day", *_MONTHS))


@dataclass(frozen=True, slots=True)
class Dates(Hierarchy):
    """The calendar over dates, timestamps and ISO texts: `2024-03`, `2024-Q1`, `2024`, `2020s`, `*`.

    Timestamps belong to the day of their own time zone.
    """

    key: ClassVar[str] = "dates"
    categorical: ClassVar[bool] = False
    levels: Annotated[
        Sequence[str], Parameter("Periods, one level each", "From fine to coarse, for instance month, year.", CALENDAR)
    ] = ("month", "quarter", "year", "decade")

    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the calendar to a column of dates, timestamps or ISO texts."""
        days = _days(domain)
        months = days.astype("datetime64[M]").astype(np.int64) + 1970 * 12
        levels = []
        for name in self.levels:
            if name == "day":
                levels.append(level(days.astype(np.int64), lambda day: str(np.datetime64(day, "D"))))
            else:
                span, label = _MONTHS[name]
                levels.append(level(months // span, label))
        return taxonomy_from_levels(domain, levels)


@dataclass(frozen=True, slots=True)
class Masking(Hierarchy):
    """Masking of one more character a level: `4351`, `435*`, `43**`, `4***`, `*`.

    Characters are counted from the side that stays: with `longest` the length of the longest value of the
    data, level `i` of masking from the right keeps the first `longest - i` characters. So values with equal
    beginnings stay together whatever their lengths; a value shorter than what is kept loses
    no character yet, and its label has the mask all the same: `43` is `43*` on the first level, because the mask also
    replaces characters that a shorter value lacks. `levels` limits the steps before the top.
    `length` declares `longest`; a longer value is then not covered. Numbers are masked in the form they are written.
    """

    key: ClassVar[str] = "mask"
    side: Annotated[
        Literal["right", "left"],
        Parameter(
            "Characters are hidden from the", "From the right: 4351, 435*, 43**; from the left: 4351, *351, **51."
        ),
    ] = "right"
    char: Annotated[str, Parameter("Character in place of a hidden one", "For instance * or #.", Character())] = "*"
    levels: Annotated[
        int | None, Parameter("Levels before the top", "By default one for each character but the last.", Whole())
    ] = None
    length: Annotated[
        int | None, Parameter("Length of the longest value", "By default that of the table.", Whole(0))
    ] = None

    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the masks to a column of any kind."""
        texts = domain.values.cast(pa.string())
        longest = self._longest(domain)
        too_long = texts.filter(pc.greater(pc.utf8_length(texts), longest))
        if len(too_long):
            raise HierarchyError(
                f"column {domain.column!r} holds values longer than its mask of {longest} characters ({len(too_long)})",
                hint="declare the length of the longest value",
                values=too_long.to_pylist(),
                column=domain.column,
            )
        steps = longest - 1 if self.levels is None else min(self.levels, longest - 1)
        levels, parts, nodes = [], texts, np.arange(len(texts), dtype=np.int32)
        for step in range(1, steps + 1):
            # The kept part of a value is a prefix of the part kept one level below, so only distinct parts are
            # processed.
            encoded = self._keep_letters(parts, longest - step).dictionary_encode()
            parts, nodes = encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)[nodes]
            levels.append(Level(nodes, self._labels(parts, hidden=step)))
        return taxonomy_from_levels(domain, levels)

    def complete_for(self, domain: Domain) -> "Masking":
        """Return the mask with the length of the column's longest value."""
        return replace(self, length=self._longest(domain))

    def _longest(self, domain: Domain) -> int:
        """Return the length up to which values are padded."""
        if self.length is not None:
            return self.length
        return pc.max(pc.utf8_length(domain.values.cast(pa.string()))).as_py() or 0

    def _keep_letters(self, texts: pa.Array, kept: int) -> pa.Array:
        if self.side == "right":
            return pc.utf8_slice_codeunits(texts, 0, kept)
        return pc.utf8_slice_codeunits(texts, -kept)

    def _labels(self, parts: pa.Array, *, hidden: int) -> list[str]:
        """Return the labels of kept parts; Arrow numbers them by first occurrence, like nodes.

        A value shorter than the kept part has the mask too, so that no level above the values publishes a value itself.
        The empty text stays empty up to the top, as a missing value does.
        """
        mask = pa.scalar(self.char * hidden, parts.type)
        pair = (parts, mask) if self.side == "right" else (mask, parts)
        masked = pc.binary_join_element_wise(*pair, pa.scalar("", parts.type))
        labels: list[str] = pc.if_else(pc.equal(pc.utf8_length(parts), 0), parts, masked).to_pylist()
        return labels


@dataclass(frozen=True, slots=True)
class Suppression(Hierarchy):
    """Two levels: a value is published unmodified, or suppressed."""

    key: ClassVar[str] = "suppression"
    self_explaining: ClassVar[bool] = True

    def bind(self, domain: Domain) -> Taxonomy:
        """Bind the root directly above a column's values."""
        return taxonomy_from_levels(domain, [])


def _days(domain: Domain) -> Codes:
    """Return the days of a column's values."""
    values = domain.values
    if domain.kind is Kind.TEXT:
        values = _parse_dates(domain)
    else:
        require(domain, Kind.DATE, builder="dates")
    if not len(values):
        return np.zeros(0, dtype="datetime64[D]")
    days: Codes = values.cast(pa.date32(), safe=False).to_numpy(zero_copy_only=False)
    return days.astype("datetime64[D]")


def _parse_dates(domain: Domain) -> pa.Array:
    """Parse the values of a domain as dates; raise `HierarchyError` for others."""
    try:
        return domain.values.cast(pa.string()).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        strange = [text for text in domain.values.cast(pa.string()).to_pylist() if not _is_date(text)]
        raise HierarchyError(
            f"column {domain.column!r} holds values that are not ISO dates ({len(strange)})",
            hint="write dates as year-month-day, or use masking, a table or suppression for this column",
            values=strange,
            column=domain.column,
        ) from None


def _is_date(text: str) -> bool:
    """Return whether a text is an ISO date."""
    try:
        pa.scalar(text).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return False
    return True
