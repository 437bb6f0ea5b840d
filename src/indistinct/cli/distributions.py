"""`indistinct distributions`: how far a published file is from the table it was made from, column by column."""

from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import check_picture, write_text
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import print_json, progress, show
from indistinct.errors import ParameterError

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
        raise ParameterError(
            "no original is given",
            hint="add --original FILE, the table as it was before publishing, or --policy policy.toml",
        )
    if chart is not None:
        check_picture(chart, flag="--chart", overwrite=overwrite)
    from indistinct.evaluation.measure.measure import distributions as compare_distributions

    given = published_file(published, flags, policy=policy, original=original, by_input=True)[1]
    with progress("comparing distributions") as share:
        compared = compare_distributions(given, progress=share)
    if chart is not None:
        from indistinct.evaluation.measure.distributions import draw_distributions

        write_text(chart, draw_distributions(compared, title="Distributions of the release"), overwrite=overwrite)
    if flags.as_json:
        print_json({"published": str(published), **compared.to_json()})
        return
    show(compared.document())
