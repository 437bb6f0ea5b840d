"""`indistinct query`: ask a published file, once or with a workload."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import options
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import check_picture, write_text
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import grid, note, print_json, progress, show
from indistinct.errors import ParameterError
from indistinct.figures import number, percent

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from indistinct.release.published import Published
    from indistinct.study.query.answer import Answer
    from indistinct.study.query.workload import WorkloadErrors


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
        typer.Option("--recoding", metavar="FILE", help="The recoding, which tells what labels stand for."),
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option("--workload", metavar="FILE", help="Many queries, one a line: compare with the original."),
    ] = None,
    sanity: Annotated[
        float, typer.Option("--sanity", metavar="N", help="Relative errors are over no smaller truth than this.")
    ] = 1.0,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the errors of a workload (.svg).")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Ask a release: an estimate, the bounds between which the truth lies, and whether the answer is exact.

    What labels stand for is told by the original, which is the policy's input unless --original names another, by the
    recoding, or as far as it goes by the file alone. A workload is a file of queries, whose answers are compared with
    those of the original.
    """
    if (sql is None) == (workload is None):
        raise ParameterError(
            "give a query or a workload, one of both", hint='indistinct query release.csv "SELECT COUNT(*)" …'
        )
    if plot is not None:
        if workload is None:
            raise ParameterError("--plot draws the errors of a workload", hint="give one with --workload")
        check_picture(plot, flag="--plot", overwrite=overwrite)
    by_input = original is None and _has_input(policy)
    if workload is not None and original is None and not by_input:
        raise ParameterError("no original is given", hint="name the table before publishing with --original")
    given = published_file(published, flags, policy=policy, original=original, recoding=recoding, by_input=by_input)[1]
    if workload is not None:
        _many(given, workload, sanity=sanity, plot=plot, overwrite=overwrite, as_json=flags.as_json)
        return
    from indistinct.study.query import querying

    with progress("asking"):
        found = querying.query(given, sql or "")
    _report(found, as_json=flags.as_json)


def _has_input(policy: Path | None) -> bool:
    """Return whether the table that a policy reads is there, and say that it tells what labels stand for."""
    from indistinct.job.policy import read_policy

    if policy is None:
        return False
    job = read_policy(policy)
    path = job.locate(job.input.path)
    if path.is_file():
        note(f"what labels stand for is told by {path}")
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
    from indistinct.study.query import querying

    with progress("asking"):
        found = querying.workload_error(given, workload=workload, sanity=sanity)
    if plot is not None:
        from indistinct.study.query.workload import draw_errors

        write_text(plot, draw_errors(found), overwrite=overwrite)
    if as_json:
        print_json({"workload": str(workload), "plot": None if plot is None else str(plot), **found.to_json()})
        return
    show(_errors_table(found), _sentence(found))


def _errors_table(found: "WorkloadErrors") -> "Grid":
    table = grid("error", "mean", "median", "95th percentile", right=("mean", "median", "95th percentile"))
    for name, figures in found.figures().items():
        table.add_row(name, *("–" if value is None else number(value) for value in figures.values()))
    return table


def _sentence(found: "WorkloadErrors") -> str:
    words = f"{number(len(found.workload))} queries; {percent(found.matching)} of them are answered exactly"
    words += f"; relative errors are over the truth, at least {number(found.sanity)}"
    return words + (f"; {number(found.unanswered)} have no answer" if found.unanswered else "") + "."


def _report(found: "Answer", *, as_json: bool) -> None:
    for words in found.notes:
        note(words)
    if as_json:
        print_json(found.to_json())
        return
    names = [*found.query.groups]
    table = grid(*names, "answer", "at least", "at most", "expected error", right=("answer", "at least", "at most"))
    for each in found.groups or (found,):
        group = ["missing" if each.group[name] is None else str(each.group[name]) for name in names]
        table.add_row(*group, *(_figure(value) for value in (each.value, each.low, each.high)), _error(each))
    show(table)


def _figure(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float) and abs(value) == float("inf"):
        return "unbounded"
    return number(value) if isinstance(value, int | float) else str(value)


def _error(found: "Answer") -> str:
    if found.exact:
        return "exact"
    return "estimate" if found.error is None else f"estimate ± {number(found.error)}"
