"""A published figure next to ours, as a value and as a page: what an algorithm gave then and gives now.

A source claims something; a `Claim` carries what it says, what came of it here, and the figures that say so.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal, TypeVar

from indistinct.algorithms.base import Progress
from indistinct.errors import IndistinctError, MissingExtraError
from indistinct.figures import number
from indistinct_papers import page

Result = TypeVar("Result")
Cell = int | float | str | None
# What a table may have on a page without being folded.
MANY_ROWS = 25
Verdict = Literal["confirmed", "not confirmed", "depends", "not tested"]

SHADES: Mapping[str, str] = {"confirmed": "good", "not confirmed": "bad", "depends": "warn"}


Rule = Literal["every", "often", "some"]
"""In which settings a sentence must hold: in every one, in most where it says *often*, in one for *in some*."""


# CPU seconds that searches are repeated for: clocks may tick every four milliseconds only.
MEASURED_S = 0.1


def cpu_seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the mean CPU seconds of some work, repeated until they can be measured, and what it returned."""
    runs, began = 0, time.process_time()
    while True:
        result, runs = work(), runs + 1
        spent = time.process_time() - began
        if spent >= MEASURED_S:
            return spent / runs, result


def judge(held: int, tested: int, rule: Rule = "every") -> Verdict:
    """Return the verdict on a sentence that holds in some of the settings tested.

    >>> judge(6, 6), judge(0, 6), judge(4, 6), judge(0, 0)
    ('confirmed', 'not confirmed', 'depends', 'not tested')
    >>> judge(4, 6, "often"), judge(3, 6, "often"), judge(1, 6, "some")
    ('confirmed', 'depends', 'confirmed')
    """
    if not tested:
        return "not tested"
    enough = {"every": held == tested, "often": 2 * held > tested, "some": held > 0}[rule]
    return "confirmed" if enough else "depends" if held else "not confirmed"


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a source, in how many of our settings it holds, the figures, and what differs.

    `source` names the source briefly, such as `LeFevre et al. (2006)`, and `place` says where the sentence is.
    `setting` is the source's own, `ours` the one that the figures are of. The verdict follows from the settings in
    which the sentence `held` of those `tested`, by one `rule`. What is compared is not in the source itself where the
    claim is of a variant of `own`.
    """

    text: str
    source: str
    held: int
    tested: int
    figures: str
    differs: str = ""
    place: str = ""
    setting: str = ""
    ours: str = ""
    rule: Rule = "every"
    own: bool = False

    @property
    def verdict(self) -> Verdict:
        """What came of the sentence."""
        return judge(self.held, self.tested, self.rule)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "claim": self.text,
            "source": self.source,
            "place": self.place,
            "setting": self.setting,
            "ours": self.ours,
            "verdict": self.verdict,
            "held": self.held,
            "tested": self.tested,
            "rule": self.rule,
            "own": self.own,
            "figures": self.figures,
            "differs": self.differs,
        }

    def lines(self) -> Iterator[str]:
        """Yield what a terminal shows: the verdict and the claim, then the figures, then what differs."""
        where = f"{self.source}, {self.place}" if self.place else self.source
        yield f"{self.verdict}: {self.text}, says {where}"
        yield f"    {self.figures}"
        if self.differs:
            yield f"    differs: {self.differs}"


def claim_from_json(document: Mapping[str, Any]) -> Claim:
    """Return the claim that `to_json` wrote."""
    kept = {name: value for name, value in document.items() if name not in ("claim", "verdict")}
    return Claim(document["claim"], **kept)


def unite_parts(text: str, parts: Mapping[str, Claim]) -> Claim:
    """Return one claim of a sentence with several parts, each named; it holds as often as its parts do.

    >>> part = Claim("", "Author (2000)", 1, 2, "1 < 2")
    >>> whole = unite_parts("a, and b", {"a": part, "b": part})
    >>> whole.verdict, whole.held, whole.tested, whole.figures
    ('depends', 2, 4, 'a: 1 < 2; b: 1 < 2')
    """
    first, several = next(iter(parts.values())), list(parts.values())
    return replace(
        first,
        text=text,
        held=sum(each.held for each in several),
        tested=sum(each.tested for each in several),
        figures="; ".join(f"{name}: {each.figures}" for name, each in parts.items()),
        differs=_join(each.differs for each in several),
        place=_join(each.place for each in several),
        setting=_join(each.setting for each in several),
        ours=_join(each.ours for each in several),
    )


def unite_sentences(claims: Sequence[tuple[str, Claim]]) -> list[tuple[tuple[str, ...], Claim]]:
    """Return one claim for each sentence of each source, and the names of the figures that test it."""
    by_sentence: dict[tuple[str, str, bool], list[tuple[str, Claim]]] = {}
    for name, claim in claims:
        by_sentence.setdefault((claim.source, claim.text, claim.own), []).append((name, claim))
    united = []
    for (_, text, _), several in by_sentence.items():
        names = tuple(dict.fromkeys(name for name, _ in several))
        numbered = {
            name if len(several) == len(names) else f"{name}, {index + 1}": claim
            for index, (name, claim) in enumerate(several)
        }
        united.append((names, several[0][1] if len(several) == 1 else unite_parts(text, numbered)))
    return united


def _join(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


@dataclass(frozen=True, slots=True)
class Example:
    """A table as a document prints it, with what came of it here, row by row; `made` says how ours was made.

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
    `examples` are tables of documents and ours. `differs` says what differs from the published setting, and why.
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
            "Each part is printed by one command. Published figures are next to ours where the source prints any; "
            "where it prints curves alone, what can be compared is what it says of them."
        ),
        page.contents(made),
        *_list_verdicts(made),
    ]
    for name, figure in made.items():
        parts += [page.heading(f"indistinct reproduce {name}", anchor=name), *_show_figure(figure)]
    return page.page("Published figures, made again", parts)


def _list_verdicts(made: Made) -> Iterator[str]:
    """Yield a row for each sentence of a source, with its verdict and the figures that give it."""
    claims = [
        (name, claim)
        for name, figure in made.items()
        if not isinstance(figure, IndistinctError)
        for claim in figure.claims
    ]
    if claims:
        rows = [
            (claim.text, claim.verdict, claim.figures, claim.source, ", ".join(names))
            for names, claim in unite_sentences(claims)
        ]
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
    """Yield a table of a document next to ours; rows that differ are highlighted."""
    yield page.subheading(f"{example.document}: {example.name}")
    yield page.paragraph(f"Left as printed, right ours: {example.made}.", small=True)
    rows = list(example.rows())
    changed = [index for index, row in enumerate(rows) if row[len(example.headings)]]
    yield page.table((*example.headings, "≠", *example.headings), rows, marked=changed)
    if example.erratum:
        yield page.paragraph(example.erratum)


def _text(cell: Cell) -> str:
    return "" if cell is None else number(cell) if isinstance(cell, int | float) else cell
