"""`indistinct distributions`: how far a published file is from the table it was made from, column by column."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import check_picture, write_text
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import grid, print_json, progress, show
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.study.measure.distributions import BeforeAfter, Distributions

Chart = Annotated[
    Path | None,
    typer.Option("--chart", metavar="FILE", help="Draw distances and dependence of all pairs as heat maps (.svg)."),
]


@share_options(*ROLES, "algorithm", "hierarchy", "transform", *READING, *SCREEN, algorithm=MadeBy)
def command(
    published: Annotated[Path, typer.Argument(metavar="PUBLISHED", help="The published table.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    chart: Chart = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Compare the distributions of a published table with those of its original.

    The original is the policy's input unless --original names another. Every column and every two columns are compared:
    total variation, Hellinger, Kullback-Leibler, Wasserstein, and correlation or Cramér's V before and after. A label
    is spread evenly over the values that it covers.
    """
    if policy is None and original is None:
        raise ParameterError("no original is given", hint="name the table before publishing with --original")
    if chart is not None:
        check_picture(chart, flag="--chart", overwrite=overwrite)
    from indistinct.study.measure import measuring

    given = published_file(published, flags, policy=policy, original=original, by_input=True)[1]
    with progress("comparing distributions") as share:
        found = measuring.distributions(given, progress=share)
    if chart is not None:
        from indistinct.study.measure.distributions import draw_distributions

        write_text(chart, draw_distributions(found, title="Distributions of the release"), overwrite=overwrite)
    if flags.as_json:
        print_json({"published": str(published), **found.to_json()})
        return
    kept = f"{found.published_rows:,} of {found.rows:,} rows are published"
    show(kept, "", _columns(found), "", _pairs(found))


def _columns(found: "Distributions") -> "Table":
    headings = ("total variation", "Hellinger", "KL bits", "Wasserstein", "of span")
    table = grid("column", *headings, right=headings, names=("column",))
    for each in found.columns:
        measured = (each.total_variation, each.hellinger, each.kullback_leibler, each.wasserstein)
        table.add_row(each.column, *map(_spell_distance, measured), _spell_distance(each.wasserstein_share))
    return table


def _pairs(found: "Distributions") -> "Table":
    right = ("total variation", "Cramér's V", "Spearman")
    table = grid("column", "with", *right, right=right, names=("column", "with"))
    for each in sorted(found.pairs, key=lambda pair: -pair.total_variation):
        twice = (each.cramers_v, each.spearman)
        table.add_row(*each.columns, _spell_distance(each.total_variation), *map(_both, twice))
    return table


def _both(both: "BeforeAfter | None") -> str:
    return "–" if both is None else " → ".join("–" if each is None else f"{each:.2f}" for each in both)


def _spell_distance(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
