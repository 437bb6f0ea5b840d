"""`indistinct inspect`: a first look at a table, what is risky in it, and a first policy for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import data_of, policy_of, source_of
from indistinct.cli.options import DATABASE, READING, SCREEN, Flags, share_options
from indistinct.cli.screen import grid, note, print_json, show
from indistinct.figures import percent

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.study.inspect import Inspection

# Column sets on the screen; the page and --json tell more.
SHOWN = 8


@share_options(*READING, "memory", "table", *DATABASE, *SCREEN)
def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The table to look at, or a database.")],
    flags: Flags,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="POLICY", help="Write a first policy (.toml) here.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page about the columns and risky combinations here."),
    ] = None,
    unique_sets: Annotated[
        int,
        typer.Option("--unique-sets", metavar="SIZE", help="How many columns together may single people out."),
    ] = 3,
    overwrite: options.Overwrite = False,
) -> None:
    """Profile the columns of a table, suggest roles and hierarchies, and tell which few columns single people out.

    Roles follow from what values look like, in any language, with a figure for each: names of people, addresses,
    telephone and account numbers, national numbers, postal codes, dates, diagnoses. With -o, write a first policy; with
    --html, a page. Notations of numbers and dates, marks for missing values, codes and people who have several rows are
    found by the values of the columns and declared in the policy. Shows numbers and marks only; --show-values adds the
    most frequent values. Of a table that does not fit in --memory, rows are drawn by chance, and it is said how many.
    """
    from indistinct.release.writing.places import check_targets, place_at
    from indistinct.study.inspect import inspect, write_inspection_page
    from indistinct.study.inspect.starter import write_starter

    given = data_of(data, flags)
    targets, sources = [path for path in (output, html) if path is not None], [given] if isinstance(given, Path) else []
    check_targets(targets, sources=sources, overwrite=overwrite)
    policy, name = policy_of(given, flags), place_at(given).name
    found = inspect(source_of(policy, flags), unique_sets=unique_sets, memory=flags.memory)
    if output is not None:
        write_starter(found, given, output, reading=found.reading, overwrite=overwrite)
    if html is not None:
        write_inspection_page(found, html, name=name, values=flags.show_values, overwrite=overwrite)
    for warning in found.warnings:
        note(warning)
    if flags.as_json:
        written = {"policy": output, "page": html}
        paths = {key: None if path is None else str(path) for key, path in written.items()}
        print_json({"data": name, **found.to_json(values=flags.show_values), **paths})
    else:
        _show(found, name, output, html, show_values=flags.show_values)


def _show(found: "Inspection", data: str, output: Path | None, html: Path | None, *, show_values: bool) -> None:
    show(f"{data}: {found.rows:,} rows\n", _columns(found), "", *_reasons(found, show_values=show_values))
    if show_values:
        show("\nmost frequent values")
        for column in found.columns:
            show(f"  {column.name}: " + ", ".join(f"{value} ({rows:,})" for value, rows in column.frequent))
    show("", *_combinations(found))
    if found.schema.quasi:
        show(
            f"on {', '.join(found.schema.quasi)} together {found.unique_rows:,} rows "
            f"({percent(found.unique_share)}) are unique; the smallest class has {found.smallest_class:,}"
        )
    if html is not None:
        show(f"page    {html}  (for those who have the table)")
    if output is not None:
        show(f"policy  {output}  (a beginning: decide the roles yourself before you run it)")
    else:
        show("-o policy.toml writes a first policy" + ("" if html else ", --html page.html a page"))


def _columns(found: "Inspection") -> "Table":
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
    return table


def _reasons(found: "Inspection", *, show_values: bool) -> Iterator[str]:
    from indistinct.markup import printable
    from indistinct.study.inspect.patterns.safe_harbor import IDENTIFIERS, RULE

    yield "why these roles"
    for column in found.columns:
        yield f"  {column.name}: {column.reason}; {column.figure}"
    called = found.labels_in_words(values=show_values)
    if called:
        yield "\nwhat columns are called"
        yield from (f"  {printable(told)}" for told in called)
    partly = [(column.name, each) for column in found.columns for each in column.partly]
    if partly:
        yield "\nin some values"
        for name, each in partly:
            yield f"  {name}: {percent(each.share)} of {each.judged:,} distinct values are {each.meaning}"
    listed = [column for column in found.columns if column.safe_harbor is not None]
    if listed:
        yield f"\nthe HIPAA list, as a hint ({RULE})"
    for asked in dict.fromkeys(column.safe_harbor for column in listed):
        names = ", ".join(column.name for column in listed if column.safe_harbor == asked)
        if asked is not None:
            yield f"  ({asked.letter}) {IDENTIFIERS[asked.letter]}: {names}: {asked.asks}"
    if any(column.findings for column in found.columns):
        yield "\nhow the file is written"
    for column in found.columns:
        for finding in column.findings:
            yield f"  {column.name}: {finding}"


def _combinations(found: "Inspection") -> "Iterator[str | Table]":
    together = found.combinations
    if not together.sets:
        yield f"no set of up to {together.found.size} columns singles anybody out\n"
        return
    heads = (f"{together.unit} alone", "share", "all needed")
    table = grid("columns together", *heads, right=heads)
    for each in together.sets[:SHOWN]:
        table.add_row(", ".join(each.columns), f"{each.unique:,}", percent(together.share(each)), f"{each.minimal:,}")
    yield table
    yield (
        f"\n{len(together.found.singling_out()):,} sets of up to {together.found.size} columns single somebody out; "
        "all needed: of so many no part of the columns is enough"
    )
    yield from together.notes
    yield ""
