"""A published figure beside ours, as a value: what an algorithm gave then and gives now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from indistinct.algorithms.base import Progress

Cell = int | float | str | None


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One figure: a table, where it was published, on which data, and what the numbers say.

    `differs` says what differs from the published setting, and why. `picture` draws the figure as SVG, where there is
    a drawing.
    """

    title: str
    source: str
    data: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    findings: tuple[str, ...]
    facts: Mapping[str, Any]
    picture: Callable[[], str] | None = None
    differs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; every row is a mapping."""
        return {
            "title": self.title,
            "source": self.source,
            "data": self.data,
            "rows": [dict(zip(self.headings, row, strict=True)) for row in self.rows],
            "findings": list(self.findings),
            "differs": list(self.differs),
            **self.facts,
        }


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that can be reproduced: `run` is given the sizes to try and where to report progress."""

    sizes: tuple[int, ...]
    meaning: str
    run: Callable[[tuple[int, ...], Progress], Reproduction]
