"""`indistinct reproduce`: a published figure, made again with our algorithms beside the published numbers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.output import write_text
from indistinct.cli.screen import grid, print_json, progress, show
from indistinct.errors import ParameterError
from indistinct.figures import number
from indistinct.schema import did_you_mean

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.reproduce import Reproduction


# Under these headings stand words.
WORDS = ("algorithm", "target", "classifier")


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Which figure: high-dimensional, incognito-nodes, inference-attacks, local-recoding, "
            "mondrian-quality, slicing or slicing-classification.",
        ),
    ],
    sizes: Annotated[
        str | None, typer.Option("--sizes", metavar="LIST", help="Only some rows of the figure, such as 3-6 or 2,5,10.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write it as JSON (.json), or its picture (.svg), as well."
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Print a published figure beside what the algorithms give now.

    high-dimensional: loss and accuracy of generalized, bucketized and sliced tables with many columns, generated.
    incognito-nodes: the nodes that bottom-up and Incognito search on Adult, which INDISTINCT_DATA must lead to.
    inference-attacks: what deFinetti, downcoding and combinatorial refinement infer from releases of a generated table.
    local-recoding: time, distortion and discernibility of clustering, on Adult or on a generated table; has a picture.
    mondrian-quality: strict, relaxed and single-dimensional partitioning of Adult, or of a generated table.
    slicing: fake tuples and matching buckets of sliced and bucketized Adult, or of a generated table; has a picture.
    slicing-classification: what is learned from generalized, bucketized and sliced Adult, or from a generated table.
    """
    from indistinct.release.targets import check_targets
    from indistinct.report.charts import altair
    from indistinct.reproduce import REPRODUCTIONS

    if name not in REPRODUCTIONS:
        known = f"known: {', '.join(REPRODUCTIONS)}"
        raise ParameterError(f"there is no figure {name!r}", hint=did_you_mean(name, REPRODUCTIONS) or known)
    figure = REPRODUCTIONS[name]
    wanted = figure.sizes if sizes is None else sizes_of(sizes, figure.sizes, meaning=figure.meaning)
    if output is not None:
        check_targets([output], sources=[], overwrite=overwrite)
        if output.suffix == ".svg":
            altair()  # before minutes of searching
    with progress(f"reproducing {name}") as share:
        made = figure.run(wanted, share)
    if output is not None:
        _write(made, output, overwrite=overwrite)
    if as_json:
        print_json(made.to_json())
    else:
        show(f"{made.title}\n{made.data}\n{made.source}\n", _grid(made), "", *made.findings)


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


def _write(made: "Reproduction", output: Path, *, overwrite: bool) -> None:
    text = json.dumps(made.to_json(), indent=2, allow_nan=False) + "\n"
    if output.suffix == ".svg":
        if made.picture is None:
            raise ParameterError("this figure has no picture", hint="write it as .json")
        text = made.picture()
    write_text(output, text, overwrite=overwrite)


def _grid(made: "Reproduction") -> "Table":
    table = grid(*made.headings, right=[name for name in made.headings if name not in WORDS])
    for row in made.rows:
        table.add_row(*(number(cell) if isinstance(cell, int | float) else str(cell or "") for cell in row))
    return table
