"""`indistinct scan`: leaks of published files, of any tool, in their columns, row order, metadata and bytes."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import is_linked, policy_of, read_table, reading_of
from indistinct.cli.linked import scan_linked
from indistinct.cli.options import OF_RELEASE, READING, ROLES, SCREEN, Flags, share_options
from indistinct.cli.screen import note, print_json, show
from indistinct.errors import IndistinctError, InputError, ParameterError, VerificationError

if TYPE_CHECKING:
    from indistinct.exploration.scan.scan import Scan


class FailOn(StrEnum):
    """The least severe finding that makes the command fail."""

    LEAK = "leak"
    SUSPICION = "suspicion"


@share_options(*ROLES, "hierarchy", "transform", *READING, "memory", *SCREEN)
def command(
    published: Annotated[list[Path], typer.Argument(metavar="FILE", help="Published files, of any tool.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", metavar="FILE", help="Also write findings as SARIF 2.1.0, replacing the file."),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option("--fail-on", help="Findings that give exit code 4: leaks, or suspicions and leaks."),
    ] = FailOn.LEAK,
) -> None:
    """Look for leaks in published files: exit 4 if one is found, 1 if some cells cannot be read, else 0.

    Looks for identifiers, row numbers and row order, metadata, unused categories, authors, hidden sheets, and bytes
    that programs do not show. Columns without a role, from a policy or from flags, get the role that `inspect`
    suggests. Kept row order, and values of suppressed rows anywhere in the bytes, are found only with --original.

    Reads delimited text, Parquet, Arrow, Feather, workbooks, SPSS, Stata and SAS. Of zip archives
    and pickles only what is around the cells is read; pickles are never run.

    With a policy of several tables, FILE is the folder of a release, and each table is compared with its original.

    Exit 0 does not prove that a file is safe: checks that were not made are listed. No cell's value is printed.
    """
    if sarif is not None:
        _check_log(sarif, [*published, *(path for path in (policy, original) if path is not None)])
    scans, failures = _scan_files(published, flags, policy, original)
    if sarif is not None:
        _write_sarif(sarif, scans, failures)
    if flags.as_json:
        documents = [{"file": path, **result.to_json()} for path, result in scans.items()]
        print_json(documents[0] if len(published) == len(scans) == 1 else {"files": documents, "not_scanned": failures})
    else:
        from indistinct.exploration.scan.scan import scan_document

        for path, result in scans.items():
            show(scan_document(result, name=path))
    if any(result.leaks or (fail_on is FailOn.SUSPICION and result.suspicions) for result in scans.values()):
        raise typer.Exit(VerificationError.exit_code)
    if failures or not all(result.clean for result in scans.values()):
        raise typer.Exit(InputError.exit_code)


def _scan_files(
    published: list[Path], flags: Flags, policy: Path | None, original: Path | None
) -> "tuple[dict[str, Scan], dict[str, str]]":
    """Return the scan of each file, and why others could not be scanned; where there is one, its error is raised."""
    from indistinct.exploration.scan.scan import scan

    if policy is not None and is_linked(policy):
        if len(published) != 1:
            raise ParameterError("several paths are given", hint="name the folder of the release of several tables")
        return scan_linked(published[0], policy, flags, original=original), {}
    job = policy_of(original or published[0], flags, policy=policy, allowed=OF_RELEASE)
    whole = None if original is None else read_table(job, original, memory=flags.memory)
    scans: dict[str, Scan] = {}
    failures: dict[str, str] = {}
    for path in published:
        try:
            scans[str(path)] = scan(
                path,
                original=whole,
                schema=job.schema if policy is not None or job.schema.columns else None,
                hierarchies=job.hierarchies,
                transformations=job.transformations,
                reading=reading_of(flags),
                memory=flags.memory,
            )
        except IndistinctError as error:
            if len(published) == 1:
                raise
            failures[str(path)] = error.message
            note(f"{path} was not scanned: {error.message}")
    return scans, failures


def _check_log(path: Path, sources: list[Path]) -> None:
    """Raise before any work if a log would replace what is read."""
    from indistinct.release.writing.places import check_targets

    check_targets([path], sources=sources, overwrite=True)


def _write_sarif(path: Path, scans: "dict[str, Scan]", failures: dict[str, str]) -> None:
    from indistinct.cli.output import write_text
    from indistinct.exploration.scan.sarif import sarif_of

    write_text(path, json.dumps(sarif_of(scans, failures), indent=2) + "\n", overwrite=True)
