"""`indistinct scan`: what a published file betrays beside its cells, whoever made it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import opened, policy_of, reading_of
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, shared
from indistinct.cli.screen import print_json, show
from indistinct.errors import VerificationError

if TYPE_CHECKING:
    from indistinct.scanning.scan import Scan


@shared(*ROLES, "hierarchy", *READING, *SCREEN)
def command(
    published: Annotated[Path, typer.Argument(metavar="FILE", help="The published file, of any tool.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
) -> None:
    """Look for what a published file betrays beside its cells: exit 0 if it is clean, 4 if it leaks.

    Reads delimited text, Parquet, Arrow and Feather, Excel workbooks, zip archives and pickles, which are not run.
    Columns that nobody chose, numbers and order of rows, metadata, unused categories, authors, hidden sheets and values
    of suppressed rows anywhere in the bytes are found; no value is told. The original and the roles of its columns,
    from a policy or from flags, show more.
    """
    from indistinct.scanning.scan import scan

    job = policy_of(original or published, flags, policy=policy, beside=READING)
    told = policy is not None or job.schema.columns
    found = scan(
        published,
        original=None if original is None else opened(job, original, raw=True),
        schema=job.schema if told else None,
        hierarchies=job.hierarchies,
        reading=reading_of(flags),
    )
    if flags.as_json:
        print_json({"file": str(published), **found.to_json()})
    else:
        _show(found, published)
    if not found.clean:
        raise typer.Exit(VerificationError.exit_code)


def _show(found: "Scan", published: Path) -> None:
    rows = "" if found.rows is None else f", {found.rows:,} rows"
    verdict = "no leak found" if found.clean else f"{len(found.leaks)} LEAK{'S' if len(found.leaks) > 1 else ''}"
    verdict += "" if found.cells_read else "; CELLS WERE NOT READ"
    show(f"{published}: {found.kind}{rows}; {len(found.checked)} checks; {verdict}\n")
    for finding in found.findings:
        show(f"{finding.severity}: {finding.sentence}", f"    {finding.check}; to do: {finding.remedy}")
    if found.not_checked:
        show("\nnot checked")
    for reason in dict.fromkeys(each.reason for each in found.not_checked):
        whole = [each.what for each in found.not_checked if each.reason == reason]
        show(f"    {'; '.join(whole)}", f"        {reason}")
