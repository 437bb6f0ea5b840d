"""`indistinct ledger`: what a ledger remembers of earlier releases; no name and no value is in it."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.linked import refuse_linked
from indistinct.cli.screen import note, print_json, show
from indistinct.document.blocks import Grid, grid
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indistinct.release.history.ledger import LedgerEntry

# Digits of a digest that distinguish releases on a screen; --json has all of them.
DIGEST_DIGITS = 12


class Action(StrEnum):
    """What to do with a ledger."""

    SHOW = "show"
    FORGET = "forget"


def command(
    action: Annotated[
        Action, typer.Argument(metavar="ACTION", help="`show` lists every release; `forget` removes one.")
    ],
    ledger: Annotated[Path, typer.Argument(metavar="FILE", help="A file that --ledger wrote.")],
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", help="The release to forget, by its number; with `forget` alone.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the releases in a ledger, or forget one: number, time, people, classes and digests, never a value.

    A ledger is the private file in which `anonymize --ledger` and `apply --ledger` keep the releases about the same
    people.

    `forget` removes one, so that later releases are not compared with it: use it for a release that was never
    published, or was withdrawn before it was read.
    """
    refuse_linked(ledger, "a ledger")
    from indistinct.release.history.ledger import forget_release, read_ledger

    if (number is None) == (action is Action.FORGET):
        raise ParameterError(
            "`forget` needs the number of a release" if number is None else "`show` takes no number",
            hint=f"`indistinct ledger show {ledger}` lists the numbers",
        )
    if number is not None:
        forget_release(ledger, number)
        note(f"release {number} is forgotten: later ones will not be compared with it")
    entries = read_ledger(ledger)
    if as_json:
        print_json({"ledger": str(ledger), "releases": [asdict(entry) for entry in entries]})
    else:
        show(_grid(entries) if entries else "no release is in it")


def _grid(entries: "Sequence[LedgerEntry]") -> Grid:
    """Return the table of a ledger's entries."""
    rows = [
        (
            str(each.number),
            each.made if each.published else f"{each.made}, never finished",
            *(f"{count:,}" for count in (each.people, each.classes, each.k)),
            "yes" if each.fresh else "no",
            each.certificate_digest[:DIGEST_DIGITS],
        )
        for each in entries
    ]
    headings = ("release", "made", "people", "classes", "k", "fresh", "certificate")
    return grid("", headings, rows, right=("release", "people", "classes", "k"), most=len(rows))
