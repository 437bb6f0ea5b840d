"""`indistinct inspect`: a first look at a table, and a first policy for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import data_of, opened, policy_of
from indistinct.cli.options import DATABASE, READING, SCREEN, Flags, shared
from indistinct.cli.screen import grid, note, print_json, show
from indistinct.figures import percent

if TYPE_CHECKING:
    from indistinct.inspection import Inspection


@shared(*READING, "table", *DATABASE, *SCREEN)
def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The table to look at, or a database.")],
    flags: Flags,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="POLICY", help="Write a first policy (.toml) here.")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Profile the columns of a table and suggest roles and hierarchies; with -o, write a first policy.

    Notations of numbers and dates, marks for missing values, codes and people who have several rows are found by the
    values of the columns and declared in the policy. Shows numbers and marks only; --show-values adds the most frequent
    values.
    """
    from indistinct.inspection import inspect
    from indistinct.policy.starter import write_starter
    from indistinct.release.database import name_of
    from indistinct.release.targets import check_targets

    given = data_of(data, flags)
    if output is not None:
        check_targets([output], sources=[given] if isinstance(given, Path) else [], overwrite=overwrite)
    policy, name = policy_of(given, flags), name_of(given)
    found = inspect(opened(policy, table=flags.table, raw=True))
    if output is not None:
        write_starter(found, given, output, reading=found.reading, overwrite=overwrite)
    for warning in found.warnings:
        note(warning)
    if flags.as_json:
        policy_path = None if output is None else str(output)
        print_json({"data": name, **found.to_json(values=flags.show_values), "policy": policy_path})
    else:
        _show(found, name, output, show_values=flags.show_values)


def _show(found: "Inspection", data: str, output: Path | None, *, show_values: bool) -> None:
    counts = ("distinct", "missing", "unique", "smallest group")
    table = grid("column", "type", *counts, "role", right=counts, names=("column", "role"))
    for column in found.columns:
        table.add_row(
            column.name,
            str(column.kind),
            f"{column.distinct:,}",
            f"{column.missing:,}",
            percent(column.unique_share),
            f"{column.smallest_group:,}",
            str(column.role),
        )
    show(f"{data}: {found.rows:,} rows\n", table, "", "why these roles")
    for reason in dict.fromkeys(column.reason for column in found.columns):
        names = ", ".join(column.name for column in found.columns if column.reason == reason)
        show(f"  {reason}: {names}")
    if any(column.findings for column in found.columns):
        show("\nhow the file is written")
        for column in found.columns:
            for finding in column.findings:
                show(f"  {column.name}: {finding}")
    if show_values:
        show("\nmost frequent values")
        for column in found.columns:
            show(f"  {column.name}: " + ", ".join(f"{value} ({rows:,})" for value, rows in column.frequent))
    show("")
    if found.schema.quasi:
        show(
            f"on {', '.join(found.schema.quasi)} together {found.unique_rows:,} rows "
            f"({percent(found.unique_share)}) are unique; the smallest class has {found.smallest_class:,}"
        )
    if output is not None:
        show(f"policy  {output}  (a beginning: decide the roles yourself before you run it)")
    else:
        show("-o policy.toml writes a first policy")
