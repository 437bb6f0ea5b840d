"""`indistinct reproduce`: a published figure, made again with our algorithms compared with the published numbers."""

import datetime
import hashlib
import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct import __version__
from indistinct.cli import options
from indistinct.cli.output import write_text
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.document.blocks import Grid, grid
from indistinct.errors import IndistinctError, InputError, ParameterError, did_you_mean
from indistinct.figures import number

if TYPE_CHECKING:
    from indistinct_papers import Reproduction

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)
"""What the entry point `reproduce` of the group `indistinct.commands` names."""


@app.command("reproduce")
def command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which figure, as listed above, or all of them on one page.")
    ],
    sizes: Annotated[
        str | None, typer.Option("--sizes", metavar="LIST", help="Only some rows of the figure, such as 3-6 or 2,5,10.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write it as a page (.html), as JSON (.json), or its picture (.svg), as well.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Print a published figure next to what the algorithms give now, and say what differs and why.

    examples: the tables of five documents next to ours, with what is wrong in them; sizes are documents.
    high-dimensional: loss, query error and accuracy of generalized, bucketized and sliced tables with many columns.
    incognito-nodes: the nodes that bottom-up and Incognito search on Adult (needs INDISTINCT_DATA).
    incognito-times: seconds, checks and scans of searches on Adult and on generated orders; has a picture.
    inference-attacks: what deFinetti, downcoding and combinatorial refinement infer from releases of a generated table.
    lighthouse: suppressed cells of Adult, compared with Airbnb's Mondrian (needs INDISTINCT_DATA).
    local-recoding: time, distortion and discernibility of clustering, on Adult or on a generated table; has a picture.
    mondrian-k, mondrian-sigma, mondrian-attributes: partitioning of uniform and normal tables; each has a picture.
    mondrian-bounds: the largest class and its bound, and tables on which single-dimensional classes grow.
    mondrian-cuts: single- and multidimensional cuts in the plane; has a picture.
    mondrian-growth: the time of multi- and single-dimensional searches by rows; has a picture.
    mondrian-passes: how often rows are read and written where a table is larger than memory.
    mondrian-predicates: the error of counts whose predicates name several attributes; has a picture.
    mondrian-quality: multi- and single-dimensional partitioning of Adult, or of a generated table; has a picture.
    mondrian-targets: what is learned from partitioned tables that are cut for it; has a picture.
    mondrian-workload: the error of counts over partitioned tables, next to the published one.
    nist-crc: k-marginals of NIST's community excerpts (needs INDISTINCT_DATA).
    overlapping-slicing: what columns of slicing that share attributes keep, and how well they hide who is there.
    slicing: fake tuples and matching buckets of sliced and bucketized Adult, or of a generated table; has a picture.
    slicing-classification: what is learned from generalized, bucketized and sliced Adult, or from a generated table.
    all: everything, as one page without a script; takes minutes.
    """
    from indistinct.release.writing.places import check_targets
    from indistinct_papers import REPRODUCTIONS

    whole = name == "all"
    if not whole and name not in REPRODUCTIONS:
        known = f"known: all, {', '.join(REPRODUCTIONS)}"
        raise ParameterError(f"there is no figure {name!r}", hint=did_you_mean(name, REPRODUCTIONS) or known)
    _check_output(output, whole=whole, sizes=sizes)
    if output is not None:
        check_targets([output], sources=[], overwrite=overwrite)
    made = _make_figures() if whole else {name: _make_figure(name, sizes)}
    asked = {each: figure.sizes for each, figure in REPRODUCTIONS.items()}
    if not whole and sizes is not None:
        asked = {name: sizes_of(sizes, asked[name], meaning=REPRODUCTIONS[name].meaning)}
    if output is not None:
        _write(made, output, asked, overwrite=overwrite)
    if as_json:
        shown = _documents(made, asked)
        missing = {each: figure.message for each, figure in made.items() if isinstance(figure, IndistinctError)}
        print_json({"figures": shown, "missing": missing} if whole else shown[name])
    else:
        for figure in made.values():
            show(*_show_figure(figure), "")


def _check_output(output: Path | None, *, whole: bool, sizes: str | None) -> None:
    """Raise before minutes of searching for what could not be written, or makes no sense."""
    from indistinct.drawing.charts import altair

    if whole and sizes is not None:
        raise ParameterError("--sizes goes with one figure", hint="every figure has sizes of its own")
    if whole and (output is None or output.suffix not in (".html", ".json")):
        raise ParameterError("all figures need a page", hint="for example indistinct reproduce all -o figures.html")
    if output is not None and output.suffix == ".svg":
        altair()


def _make_figure(name: str, sizes: str | None) -> "Reproduction":
    from indistinct_papers import REPRODUCTIONS

    figure = REPRODUCTIONS[name]
    wanted = figure.sizes if sizes is None else sizes_of(sizes, figure.sizes, meaning=figure.meaning)
    with progress(f"reproducing {name}") as share:
        return figure.run(wanted, share)


def _make_figures() -> "dict[str, Reproduction | IndistinctError]":
    """Return every figure; a figure whose table is missing is reported and does not stop the others."""
    from indistinct_papers import REPRODUCTIONS

    made: dict[str, Reproduction | IndistinctError] = {}
    for name in REPRODUCTIONS:
        try:
            made[name] = _make_figure(name, None)
        except InputError as error:
            note(f"{name} is left out: {error.message}; {error.hint}")
            made[name] = error
    return made


def sizes_of(text: str, known: tuple[int, ...], *, meaning: str) -> tuple[int, ...]:
    """Return the sizes that a flag names, of those that a figure has.

    >>> sizes_of("3-5,7", (3, 4, 5, 6, 7), meaning="quasi-identifiers")
    (3, 4, 5, 7)
    """
    wanted = set[int]()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            low, high = int(first), int(last if dash else first)
        except ValueError:
            low, high = 0, -1
        found = {size for size in known if low <= size <= high}
        if not found or not {low, high} <= found:
            raise ParameterError(
                f"--sizes must name {meaning} of the figure", hint=f"it has {', '.join(map(str, known))}"
            )
        wanted |= found
    return tuple(sorted(wanted))


def _documents(
    made: "Mapping[str, Reproduction | IndistinctError]", sizes: Mapping[str, tuple[int, ...]]
) -> dict[str, dict[str, Any]]:
    """Return each figure in plain JSON values, with a record of the code, the day and the sizes that made it."""
    code, day = digest_of_code(), datetime.datetime.now(datetime.UTC).date().isoformat()
    record = {"version": __version__, "code": code, "date": day}
    return {
        name: {**figure.to_json(), "record": {**record, "sizes": list(sizes[name])}}
        for name, figure in made.items()
        if not isinstance(figure, IndistinctError)
    }


def digest_of_code() -> str:
    """Return a digest of every module of both packages: equal digests mean that the same code made two figures."""
    digest = hashlib.sha256()
    for package in ("indistinct", "indistinct_papers"):
        (folder,) = (Path(place) for place in importlib.import_module(package).__path__)
        for module in sorted(folder.rglob("*.py")):
            digest.update(f"{package}/{module.relative_to(folder).as_posix()}\0".encode())
            digest.update(module.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:12]


def _write(
    made: "Mapping[str, Reproduction | IndistinctError]",
    output: Path,
    sizes: Mapping[str, tuple[int, ...]],
    *,
    overwrite: bool,
) -> None:
    from indistinct_papers.base import page_of

    figures = {name: figure for name, figure in made.items() if not isinstance(figure, IndistinctError)}
    first = next(iter(figures.values()))
    if output.suffix == ".html":
        text = page_of(made)
    elif output.suffix == ".svg":
        if first.picture is None:
            raise ParameterError("this figure has no picture", hint="write it as .json or .html")
        text = first.picture()
    else:
        documents = _documents(made, sizes)
        document = next(iter(documents.values())) if len(made) == 1 else documents
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    write_text(output, text, overwrite=overwrite)


def _show_figure(made: "Reproduction | IndistinctError") -> Iterator[str | Grid]:
    if isinstance(made, IndistinctError):
        return
    numbers = [
        name
        for place, name in enumerate(made.headings)
        if all(isinstance(row[place], int | float | None) for row in made.rows)
    ]
    rows = [[number(cell) if isinstance(cell, int | float) else str(cell or "") for cell in row] for row in made.rows]
    yield from (made.title, made.data, f"{made.source}\n")
    for example in made.examples:
        yield f"{example.document}: {example.name}\nleft as printed, right ours: {example.made}\n"
        both = list(example.rows())
        yield grid("", (*example.headings, "≠", *example.headings), both, most=len(both))
        yield f"{example.erratum}\n"
    yield grid("", made.headings, rows, right=numbers, most=len(rows))
    yield ""
    for claim in made.claims:
        yield from claim.lines()
    yield from made.findings
    yield from (f"differs: {words}" for words in made.differs)
