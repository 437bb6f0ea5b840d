"""`indistinct analyze`: whether a study's own analysis still gives the same answer on a release."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.options import ENGINE, READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import check_picture, write_text
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import print_json, progress, show
from indistinct.cli.spelled import rules_of
from indistinct.errors import ParameterError, VerificationError

Formulas = Annotated[
    list[str] | None,
    typer.Option("--formula", metavar="FORMULA", help='Regression, such as "cost ~ age + C(sex)". Repeatable.'),
]
FamilyName = Annotated[
    str | None,
    typer.Option(
        "--family",
        metavar="NAME",
        help="linear, logistic or poisson; a formula that begins with Surv(…) is a Cox regression.",
    ),
]
Tables = Annotated[
    list[str] | None, typer.Option("--table-of", metavar="COLUMNS", help='Contingency table, such as "sex, disease".')
]
Means = Annotated[
    list[str] | None, typer.Option("--mean", metavar="COLUMN", help='Means by group, such as "cost by sex".')
]
Medians = Annotated[
    list[str] | None, typer.Option("--median", metavar="COLUMN", help='Medians by group, such as "age by disease".')
]
Correlations = Annotated[
    list[str] | None, typer.Option("--correlation", metavar="COLUMNS", help='Correlations, such as "age, cost".')
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        metavar="COLUMN=RULE",
        help="How ranges enter: imputation, midpoint or category. Repeatable.",
    ),
]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COLUMN", help="Column with survey weights.")]
LeastOverlap = Annotated[
    float | None,
    typer.Option("--least-overlap", metavar="SHARE", min=0.0, max=1.0, help="Exit with 4 if an overlap is smaller."),
]
ForestPlot = Annotated[
    Path | None, typer.Option("--chart", metavar="FILE", help="Draw all estimates before and after (.svg).")
]
EditionName = Annotated[
    str, typer.Option("--edition", metavar="NAME", help="internal, or external without estimates of few rows.")
]
Draws = Annotated[int, typer.Option("--draws", help="Imputations of values in ranges.", min=2)]
Seed = Annotated[int, typer.Option("--seed", help="What imputations are drawn from.")]


@share_options(*ROLES, "algorithm", "hierarchy", "transform", "pseudonym", *READING, *ENGINE, *SCREEN, algorithm=MadeBy)
def command(
    published: Annotated[Path, typer.Argument(metavar="RELEASE", help="The published table.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    formula: Formulas = None,
    family: FamilyName = None,
    table_of: Tables = None,
    mean: Means = None,
    median: Medians = None,
    correlation: Correlations = None,
    rule: Rules = None,
    weights: Weights = None,
    least_overlap: LeastOverlap = None,
    chart: ForestPlot = None,
    edition: EditionName = "internal",
    draws: Draws = 20,
    seed: Seed = 0,
    overwrite: options.Overwrite = False,
) -> None:
    """Run a study's analyses on the original and on a release, and compare the estimates.

    The original is the policy's input unless --original names another. Analyses come from flags or from [analysis] in
    the policy. Needs statsmodels: pip install "indistinct[analysis]".
    """
    if policy is None and original is None:
        raise ParameterError(
            "no original is given",
            hint="add --original FILE, the table as it was before publishing, or --policy policy.toml",
        )
    from indistinct.evaluation.analyze.analyze import analyze
    from indistinct.evaluation.analyze.regression import require_extra

    require_extra()
    if edition not in ("internal", "external"):
        raise ParameterError(f"`--edition` must be internal or external; got {edition!r}")
    if chart is not None:
        check_picture(chart, flag="--chart", overwrite=overwrite)
    job, given = published_file(published, flags, policy=policy, original=original, by_input=True)
    asked = [tuple(texts or ()) for texts in (formula, table_of, mean, median, correlation)]
    named = (
        dict(zip(("formulas", "tables", "means", "medians", "correlations"), asked, strict=True)) if any(asked) else {}
    )
    plan = replace(
        job.analysis,
        family=family or job.analysis.family,
        weights=weights or job.analysis.weights,
        rules=rules_of(rule) or job.analysis.rules,
        **named,
    )
    with progress("analyzing") as share:
        analyses = analyze(
            given,
            **plan.arguments,
            draws=draws,
            seed=seed,
            edition=edition,  # type: ignore[arg-type]  # checked above
            progress=share,
        )
    if chart is not None:
        write_text(chart, analyses.chart().svg, overwrite=overwrite)
    if flags.as_json:
        print_json({"published": str(published), **analyses.to_json()})
    else:
        show(analyses.document())
    if least_overlap is not None and (analyses.least_overlap is None or analyses.least_overlap < least_overlap):
        raise typer.Exit(VerificationError.exit_code)
