"""All figures on one page: what was published beside what algorithms give here, what differs, and why."""

from collections.abc import Iterator, Mapping

from indistinct.drawing import page
from indistinct.errors import IndistinctError, MissingExtraError
from indistinct.figures import number
from indistinct.reproduce.base import Cell, Reproduction

Made = Mapping[str, "Reproduction | IndistinctError"]


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


def _parts(figure: "Reproduction | IndistinctError") -> Iterator[str]:
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
        for place, name in enumerate(figure.headings)
        if all(isinstance(row[place], int | float | None) for row in figure.rows)
    ]
    yield page.table(figure.headings, rows, right=numbers)


def _text(cell: Cell) -> str:
    return "" if cell is None else number(cell) if isinstance(cell, int | float) else cell
