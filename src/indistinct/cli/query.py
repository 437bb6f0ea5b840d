"""`indistinct query`: ask a published file, once or with a workload."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import check_picture, write_text
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.release.published import Published


@share_options(*ROLES, "algorithm", "hierarchy", "transform", *READING, *SCREEN, algorithm=MadeBy)
def command(
    published: Annotated[Path, typer.Argument(metavar="RELEASE", help="The published table.")],
    flags: Flags,
    sql: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="SELECT COUNT(*), SUM, AVG, MIN or MAX … WHERE … GROUP BY …")
    ] = None,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    recoding: Annotated[
        Path | None,
        typer.Option("--recoding", metavar="FILE", help="The saved recoding: which values each label covers."),
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option("--workload", metavar="FILE", help="Queries, one per line, to compare with the original."),
    ] = None,
    sanity: Annotated[
        float,
        typer.Option(
            "--sanity",
            metavar="N",
            help="Smallest denominator of relative errors, so that tiny counts do not dominate.",
        ),
    ] = 1.0,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the errors of the --workload (.svg).")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Answer a COUNT, SUM, AVG, MIN or MAX from a release: an estimate, and certain bounds of the true answer.

    Which values a label covers is read from the original (--original, or the policy's input), from the saved recoding
    (--recoding), or from the file alone where that is enough. --workload compares the answers to many queries, one per
    line, with those of the original.
    """
    if (sql is None) == (workload is None):
        raise ParameterError(
            "no query is given" if sql is None else "give a query or --workload, not both",
            hint=f'indistinct query {published} "SELECT COUNT(*) WHERE age > 30"',
        )
    if plot is not None:
        if workload is None:
            raise ParameterError("--plot draws the errors of a workload", hint="give one with --workload")
        check_picture(plot, flag="--plot", overwrite=overwrite)
    if sql is not None:
        from indistinct.metrics.queries.parse import parse_query

        parse_query(sql)  # a query that cannot be read is refused before any table is
    by_input = original is None and _has_input(policy)
    if workload is not None and original is None and not by_input:
        raise ParameterError(
            "no original is given",
            hint="add --original FILE, the table as it was before publishing, or --policy policy.toml",
        )
    given = published_file(published, flags, policy=policy, original=original, recoding=recoding, by_input=by_input)[1]
    if workload is not None:
        _many(given, workload, sanity=sanity, plot=plot, overwrite=overwrite, as_json=flags.as_json)
        return
    from indistinct.evaluation.query.query import query as answer_query

    with progress("asking"):
        answer = answer_query(given, sql or "")
    if flags.as_json:
        for words in answer.notes:
            note(words)
        print_json(answer.to_json())
    else:
        show(answer.document())


def _has_input(policy: Path | None) -> bool:
    """Return whether the input of a policy exists, and note that labels are read with it."""
    from indistinct.job.policy import read_policy

    if policy is None:
        return False
    job = read_policy(policy)
    path = job.locate(job.input.path)
    if path.is_file():
        note(f"the meaning of labels comes from {path}")
    return path.is_file()


def _many(
    given: "Published",
    workload: Path,
    *,
    sanity: float,
    plot: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Print the errors of a workload of queries."""
    from indistinct.evaluation.query.query import workload_error

    with progress("asking"):
        errors = workload_error(given, workload=workload, sanity=sanity)
    if plot is not None:
        from indistinct.evaluation.query.workload import draw_errors

        write_text(plot, draw_errors(errors), overwrite=overwrite)
    if as_json:
        print_json({"workload": str(workload), "plot": None if plot is None else str(plot), **errors.to_json()})
        return
    show(errors.document())
