"""`indistinct inspect`: a first look at a table, what is risky in it, and a first policy for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import data_of, policy_of, source_of
from indistinct.cli.options import DATABASE, READING, SCREEN, Flags, share_options
from indistinct.cli.screen import note, print_json, show
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.inspection.value import Inspection


@share_options(*READING, "memory", "table", *DATABASE, *SCREEN)
def command(
    flags: Flags,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="The table to profile, or a database; leave it out with --from."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="POLICY", help="Write a first policy (.toml) here.")
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="PROJECT", help="Take over an ARX project (.deid): policy, hierarchies and table."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page about the columns and risky combinations here."),
    ] = None,
    unique_sets: Annotated[
        int,
        typer.Option("--unique-sets", metavar="SIZE", help="Check combinations of up to SIZE columns."),
    ] = 3,
    overwrite: options.Overwrite = False,
) -> None:
    """Profile a table: suggest a role for each column, and show which combinations of columns single people out.

    Roles follow from the values, in any language: names of people, addresses, telephone, account and national numbers,
    postal codes, dates, diagnoses. -o writes a first policy, --html a page. Notations of numbers and dates, NA strings,
    codes and people with several rows are recognized and declared in the policy.

    Only counts are shown; --show-values adds the most frequent values. From a table that does not fit in --memory a
    random sample of rows is profiled, and its size is shown.

    With --from project.deid, write the policy, the hierarchies and the table of an ARX project, here or next to -o, and
    list what could not be taken over.
    """
    if project is not None:
        _take_over(project, data, output, html, flags, overwrite=overwrite)
        return
    if data is None:
        raise ParameterError("no table is given", hint="name a file, or an ARX project with --from project.deid")
    from indistinct.inspection.inspect import inspect
    from indistinct.inspection.inspection_document import write_inspection_page
    from indistinct.inspection.starter import write_starter
    from indistinct.release.writing.places import check_targets, place_at

    given = data_of(data, flags)
    targets, sources = [path for path in (output, html) if path is not None], [given] if isinstance(given, Path) else []
    check_targets(targets, sources=sources, overwrite=overwrite)
    policy, name = policy_of(given, flags), place_at(given).name
    inspection = inspect(source_of(policy, flags), unique_sets=unique_sets, memory=flags.memory)
    if output is not None:
        write_starter(inspection, given, output, reading=inspection.reading, overwrite=overwrite)
    if html is not None:
        write_inspection_page(inspection, html, name=name, values=flags.show_values, overwrite=overwrite)
    if flags.as_json:
        for warning in inspection.warnings:
            note(warning)
        written = {"policy": output, "page": html}
        paths = {key: None if path is None else str(path) for key, path in written.items()}
        print_json({"data": name, **inspection.to_json(values=flags.show_values), **paths})
    else:
        _show(inspection, name, output, html, show_values=flags.show_values)


def _take_over(
    project: Path, data: str | None, output: Path | None, html: Path | None, flags: Flags, *, overwrite: bool
) -> None:
    """Convert a project of ARX to a policy with its hierarchies."""
    from indistinct.inspection.inspection_document import inspection_document, write_inspection_page
    from indistinct.inspection.taking_over import take_over
    from indistinct.release.writing.places import check_targets

    if data is not None:
        raise ParameterError("--from takes the table of the project", hint="leave out the table, or leave out --from")
    policy = Path(f"{project.stem}.toml") if output is None else output
    check_targets([] if html is None else [html], sources=[project, policy], overwrite=overwrite)
    taken = take_over(project, policy, overwrite=overwrite)
    inspection, values = taken.inspection, flags.show_values
    if html is not None:
        write_inspection_page(inspection, html, name=taken.data.name, values=values, overwrite=overwrite)
    if flags.as_json:
        for warning in inspection.warnings:
            note(warning)
        hierarchies = {name: str(path) for name, path in taken.hierarchies.items()}
        population = None if taken.population is None else str(taken.population)
        about = {"hierarchies": hierarchies, "population": population, "not_taken_over": list(taken.lost)}
        paths = {"policy": str(taken.policy), "page": None if html is None else str(html), "project": about}
        print_json({"data": str(taken.data), **inspection.to_json(values=values), **paths})
        return
    show(inspection_document(inspection, name=taken.data.name, values=values), "")
    for title, path in {"table": taken.data, "population": taken.population, "page": html}.items():
        if path is not None:
            show(f"{title:<12}{path}")
    for name, path in taken.hierarchies.items():
        show(f"hierarchy   {path}  ({name})")
    show(f"policy      {taken.policy}")
    if taken.lost:
        show("", "Not taken over:", *(f"- {each}" for each in taken.lost))


def _show(inspection: "Inspection", data: str, output: Path | None, html: Path | None, *, show_values: bool) -> None:
    """Print an inspection, and where its page and policy are."""
    from indistinct.inspection.inspection_document import inspection_document

    show(inspection_document(inspection, name=data, values=show_values), "")
    if html is not None:
        show(f"page    {html}  (for those who have the table)")
    if output is not None:
        show(f"policy  {output}  (a beginning: decide the roles yourself before you run it)")
    else:
        show("-o policy.toml writes a first policy" + ("" if html else ", --html page.html a page"))
