"""A published figure next to ours, as a value and as a page: what an algorithm gave then and gives now."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from indistinct.algorithms.base import Progress
from indistinct.drawing import page
from indistinct.errors import IndistinctError, MissingExtraError
from indistinct.figures import number

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


Made = Mapping[str, Reproduction | IndistinctError]


def page_of(made: Made) -> str:
    """Return a page with every figure under its name; one that could not be made has its reason."""
    parts = [
        page.paragraph(
            "Each part is printed by one command. Published figures stand beside ours where the source prints any; "
            "where it prints curves alone, what can be compared is who is below whom."
        )
    ]
    for name, figure in made.items():
        parts += [page.heading(f"indistinct reproduce {name}"), *_parts(figure)]
    return page.page("Published figures, made again", parts)


def _parts(figure: Reproduction | IndistinctError) -> Iterator[str]:
    if isinstance(figure, IndistinctError):
        yield page.paragraph(f"Not made: {figure.message}. {figure.hint or ''}")
        return
    yield page.paragraph(figure.title)
    yield page.paragraph(f"{figure.source} {figure.data}", small=True)
    yield page.listing(figure.findings)
    if figure.differs:
        yield page.paragraph("What differs, and why:")
        yield page.listing(figure.differs)
    if figure.picture is not None:
        try:
            yield page.picture(figure.picture())
        except MissingExtraError as error:
            yield page.paragraph(f"No picture: {error.message}; {error.hint}")
    rows = [[_text(cell) for cell in row] for row in figure.rows]
    numbers = [
        name
        for index, name in enumerate(figure.headings)
        if all(isinstance(row[index], int | float | None) for row in figure.rows)
    ]
    yield page.table(figure.headings, rows, right=numbers)


def _text(cell: Cell) -> str:
    return "" if cell is None else number(cell) if isinstance(cell, int | float) else cell
