"""A published figure next to ours, as a value and as a page: what an algorithm gave then and gives now.

A source claims something; a `Claim` carries what it says, what came of it here, and the figures that say so.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from indistinct.algorithms.base import Progress
from indistinct.drawing import page
from indistinct.errors import IndistinctError, MissingExtraError
from indistinct.figures import number

Cell = int | float | str | None
# What a table may have on a page without being folded.
MANY_ROWS = 25
Verdict = Literal["confirmed", "not confirmed", "depends", "not tested"]

SHADES: Mapping[str, str] = {"confirmed": "good", "not confirmed": "bad", "depends": "warn"}


@dataclass(frozen=True, slots=True)
class Claim:
    """What a source says, whether it is so here, the figures that say it, and what differs from the source's setting.

    `source` names the source briefly, such as `LeFevre et al. (2006)`. A claim `depends` where it holds in some
    settings and not in others, which `figures` names. It is `not tested` where there is nothing to compare with.
    """

    text: str
    source: str
    verdict: Verdict
    figures: str
    differs: str = ""

    def to_json(self) -> dict[str, str]:
        """Return plain JSON values."""
        return {
            "claim": self.text,
            "source": self.source,
            "verdict": self.verdict,
            "figures": self.figures,
            "differs": self.differs,
        }

    def lines(self) -> Iterator[str]:
        """Yield what a terminal shows: the verdict and the claim, then the figures, then what differs."""
        yield f"{self.verdict}: {self.text}, says {self.source}"
        yield f"    {self.figures}"
        if self.differs:
            yield f"    differs: {self.differs}"


def judge(held: int, tested: int) -> Verdict:
    """Return the verdict on a claim that holds in so many of the settings tested.

    >>> judge(6, 6), judge(0, 6), judge(4, 6), judge(0, 0)
    ('confirmed', 'not confirmed', 'depends', 'not tested')
    """
    if not tested:
        return "not tested"
    return "confirmed" if held == tested else "depends" if held else "not confirmed"


@dataclass(frozen=True, slots=True)
class Example:
    """A table as a document prints it, beside what came of it here, row by row; `made` says how ours was made.

    `erratum` says in a sentence why rows differ, or that what the document says of its table does not hold.
    """

    document: str
    name: str
    made: str
    headings: tuple[str, ...]
    printed: tuple[tuple[str, ...], ...]
    ours: tuple[tuple[str, ...], ...]
    erratum: str = ""

    @property
    def equal(self) -> bool:
        """Return whether every row is as printed."""
        return self.printed == self.ours

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield printed rows and ours side by side, with a mark where they differ; one may have more."""
        nothing = ("",) * len(self.headings)
        for printed, ours in zip_longest(self.printed, self.ours, fillvalue=nothing):
            yield (*printed, "" if printed == ours else "≠", *ours)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "document": self.document,
            "name": self.name,
            "made": self.made,
            "equal": self.equal,
            "headings": list(self.headings),
            "printed": [list(row) for row in self.printed],
            "ours": [list(row) for row in self.ours],
            "erratum": self.erratum,
        }


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One figure: a table, where it was published, on which data, and what the numbers say.

    `claims` are what the source says of the figure, each with its verdict; `findings` are what else the numbers say.
    `examples` are tables of documents beside ours. `differs` says what differs from the published setting, and why.
    `picture` draws the figure as SVG, where there is
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
    claims: tuple[Claim, ...] = ()
    examples: tuple[Example, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; every row is a mapping."""
        return {
            "title": self.title,
            "source": self.source,
            "data": self.data,
            "rows": [dict(zip(self.headings, row, strict=True)) for row in self.rows],
            "findings": list(self.findings),
            "differs": list(self.differs),
            "claims": [claim.to_json() for claim in self.claims],
            **({"examples": [example.to_json() for example in self.examples]} if self.examples else {}),
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
    """Return a page with every verdict, then every figure under its name; one that was not made has its reason."""
    parts = [
        page.paragraph(
            "Each part is printed by one command. Published figures stand beside ours where the source prints any; "
            "where it prints curves alone, what can be compared is what it says of them."
        ),
        page.contents(made),
        *_list_verdicts(made),
    ]
    for name, figure in made.items():
        parts += [page.heading(f"indistinct reproduce {name}", anchor=name), *_show_figure(figure)]
    return page.page("Published figures, made again", parts)


def _list_verdicts(made: Made) -> Iterator[str]:
    """Yield every claim with its verdict and the command that gives it."""
    rows = [
        (claim.text, claim.verdict, claim.figures, claim.source, name)
        for name, figure in made.items()
        if not isinstance(figure, IndistinctError)
        for claim in figure.claims
    ]
    if rows:
        counts = Counter(row[1] for row in rows)
        summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        yield page.heading("What the sources claim, and what came of it")
        yield page.paragraph(f"{len(rows)} claims: {summary}.")
        headings = ("claim", "verdict", "our figures", "source", "reproduce")
        by_source = sorted(rows, key=lambda row: row[3])
        yield page.table(headings, by_source, shades_of=SHADES, sentences=True)


def _show_figure(figure: Reproduction | IndistinctError) -> Iterator[str]:
    if isinstance(figure, IndistinctError):
        yield page.paragraph(f"Not made: {figure.message}. {figure.hint or ''}")
        return
    yield page.paragraph(figure.title)
    yield page.paragraph(f"{figure.source} {figure.data}", small=True)
    if figure.claims:
        cells = [(claim.text, claim.verdict, claim.figures, claim.differs) for claim in figure.claims]
        yield page.table(("claim", "verdict", "our figures", "what differs"), cells, shades_of=SHADES, sentences=True)
    if figure.findings:
        yield page.listing(figure.findings)
    if figure.differs:
        yield page.paragraph("What differs, and why:")
        yield page.listing(figure.differs)
    if figure.picture is not None:
        try:
            yield page.picture(figure.picture())
        except MissingExtraError as error:
            yield page.paragraph(f"No picture: {error.message}; {error.hint}")
    for example in figure.examples:
        yield from _show_example(example)
    rows = [[_text(cell) for cell in row] for row in figure.rows]
    numbers = [
        name
        for index, name in enumerate(figure.headings)
        if all(isinstance(row[index], int | float | None) for row in figure.rows)
    ]
    table = page.table(figure.headings, rows, right=numbers)
    yield table if len(rows) <= MANY_ROWS else page.folded(f"all {len(rows)} rows", [table])


def _show_example(example: Example) -> Iterator[str]:
    """Yield a table of a document beside ours; rows that differ stand out."""
    yield page.subheading(f"{example.document}: {example.name}")
    yield page.paragraph(f"Left as printed, right ours: {example.made}.", small=True)
    rows = list(example.rows())
    changed = [index for index, row in enumerate(rows) if row[len(example.headings)]]
    yield page.table((*example.headings, "≠", *example.headings), rows, marked=changed)
    if example.erratum:
        yield page.paragraph(example.erratum)


def _text(cell: Cell) -> str:
    return "" if cell is None else number(cell) if isinstance(cell, int | float) else cell
