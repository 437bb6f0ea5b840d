"""`indistinct scan`: what a published file betrays beside its cells, whoever made it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import policy_of, read_table, reading_of
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, share_options
from indistinct.cli.screen import print_json, show
from indistinct.errors import InputError, VerificationError

if TYPE_CHECKING:
    from indistinct.study.scan.scan import Scan


@share_options(*ROLES, "hierarchy", "transform", *READING, "memory", *SCREEN)
def command(
    published: Annotated[Path, typer.Argument(metavar="FILE", help="The published file, of any tool.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
) -> None:
    """Look for what a published file betrays beside its cells: exit 0 if it is clean, 4 if it leaks.

    A file of which some cells cannot be read is not called clean: exit 1.
    Reads delimited text, Parquet, Arrow and Feather, workbooks, files of SPSS, Stata and SAS, and of zip archives and
    pickles, which are not run, what stands beside the cells.
    Columns that nobody chose, numbers and order of rows, metadata, unused categories, authors, hidden sheets and values
    of suppressed rows anywhere in the bytes are found; no value is told. The original and the roles of its columns,
    from a policy or from flags, show more.
    """
    from indistinct.study.scan.scan import scan

    job = policy_of(original or published, flags, policy=policy, beside=READING)
    told = policy is not None or job.schema.columns
    found = scan(
        published,
        original=None if original is None else read_table(job, original, memory=flags.memory),
        schema=job.schema if told else None,
        hierarchies=job.used_hierarchies,
        transformations=job.transformations,
        reading=reading_of(flags),
        memory=flags.memory,
    )
    if flags.as_json:
        print_json({"file": str(published), **found.to_json()})
    else:
        _show(found, published)
    if not found.clean:
        raise typer.Exit(VerificationError.exit_code if found.leaks else InputError.exit_code)


def _show(found: "Scan", published: Path) -> None:
    rows = "" if found.rows is None else f", {found.rows:,} rows"
    show(f"{published}: {found.kind}{rows}; {len(found.checked)} checks; {_verdict(found)}\n")
    for finding in found.findings:
        show(f"{finding.severity}: {finding.sentence}", f"    {finding.check}; to do: {finding.remedy}")
    if found.not_checked:
        show("\nnot checked")
    for reason in dict.fromkeys(each.reason for each in found.not_checked):
        whole = [each.what for each in found.not_checked if each.reason == reason]
        show(f"    {'; '.join(whole)}", f"        {reason}")


def _verdict(found: "Scan") -> str:
    """Return the verdict in words: what was not read is said, and never that it has no leak."""
    if found.leaks:
        leaks = f"{len(found.leaks)} LEAK{'S' if len(found.leaks) > 1 else ''}"
        return leaks if found.cells_read else f"{leaks}; NOT ALL CELLS WERE READ"
    if found.unread:
        parts = "; ".join(each.what for each in found.unread)
        return f"{'NOT SCANNED' if found.rows is None else 'NOT ALL SCANNED'}; not read: {parts}"
    return f"no leak found{' in what was read' if found.unseen else ''}"
