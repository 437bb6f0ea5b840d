"""Commands on several tables about the same people: what they do where the policy has `[tables.NAME]`."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from indistinct.cli.flags import is_linked
from indistinct.cli.options import Flags
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.document.blocks import Grid, grid
from indistinct.errors import ParameterError, VerificationError
from indistinct.figures import percent, plural
from indistinct.schema import Schema
from indistinct.settings import FLAGS

if TYPE_CHECKING:
    from indistinct.exploration.scan.scan import Scan
    from indistinct.linked.assess import LinkedAssessment
    from indistinct.linked.folder import ReleasedTables, ReleaseFolder
    from indistinct.linked.publishing import LinkedRelease
    from indistinct.linked.verify import LinkedVerdict

ALLOWED = ("as_json", "show_values", "verbose", "engine")
"""Shared flags that commands on several tables take."""


def refuse_flags(flags: Flags, *, on_disk: bool = False, **options: Any) -> None:
    """Raise for the first flag or option that is not possible with several tables.

    `on_disk` says that the command can leave event tables on disk.
    """
    allowed = (*ALLOWED, "memory") if on_disk else ALLOWED
    shared = {FLAGS[f.name].option: getattr(flags, f.name) for f in fields(flags) if f.name not in allowed}
    own = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    for name, value in {**shared, **own}.items():
        if value not in (None, False, [], FLAGS[name.strip("-")].default if name.strip("-") in FLAGS else None):
            raise ParameterError(
                f"{name} is not possible with a policy of several tables", hint="leave it out, or change the policy"
            )
    if not on_disk and flags.engine not in (None, "auto", "memory"):
        raise ParameterError(
            f"this command does not take several tables on the engine {flags.engine}",
            hint="leave it out: tables are read into memory; anonymize and verify take the engine duckdb",
        )


def refuse_linked(path: Path, what: str) -> None:
    """Raise if a command for a single table is given a policy, folder or certificate of several tables."""
    folder = path if path.is_dir() else path.parent
    named = path.is_dir() or path.name == "certificate.json"
    if is_linked(path) or (named and (folder / "certificate.json").is_file()):
        raise ParameterError(
            f"{what} is not possible with a release of several tables",
            hint="publish all of them anew: pseudonyms are drawn anew for each release",
        )


def anonymize_linked(policy: Path, flags: Flags, output: str | None, *, overwrite: bool, **options: Any) -> None:
    """Publish several tables, and say what was published."""
    refuse_flags(flags, on_disk=True, **options)
    from indistinct.linked.policy import read_linked_policy
    from indistinct.linked.publishing import publish_linked

    written = read_linked_policy(policy)
    folder = written.output if output is None else Path(output)
    if folder is None:
        raise ParameterError(
            "no output is given", hint='say where the release goes: [output] folder = "release/", or -o'
        )
    with progress("anonymizing") as share:
        release = publish_linked(
            written,
            folder=folder,
            overwrite=overwrite,
            engine=flags.engine or "auto",
            memory=flags.memory,
            progress=share,
        )
    for warning in release.certificate.warnings:
        note(warning)
    if flags.as_json:
        print_json({"folder": str(folder), **release.certificate.to_json()})
        return
    show(*_published(release, folder))


def _published(release: "LinkedRelease", folder: Path) -> list[str | Grid]:
    """Return the lines on a published release of several tables."""
    certificate = release.certificate
    rows = []
    for name, entry in certificate.tables.items():
        hidden = "few" if entry.suppressed_rows is None else f"{entry.suppressed_rows:,}"
        known = (
            "all columns that identify"
            if entry.people
            else "nothing"
            if entry.knows is None
            else rows_of("", entry.knows)
        )
        rows.append((name, f"{entry.rows:,}", "" if entry.people else hidden, known))
    dropped = "few" if certificate.suppressed_people is None else f"{certificate.suppressed_people:,}"
    return [
        f"{certificate.people:,} people published, {dropped} suppressed\n",
        grid("", ("table", "rows", "suppressed", "attackers know"), rows, right=("rows", "suppressed"), most=len(rows)),
        f"\n{certificate.model} is satisfied: the smallest group has {certificate.smallest_group:,} people",
        *(f"assumed: {words}" for words in certificate.assumptions),
        f"\nrelease  {folder}",
    ]


def rows_of(table: str, known: int | str) -> str:
    """Return how many rows of a table are known, in words."""
    rows = f"{known} rows" if isinstance(known, str) else plural(known, "row")
    return f"{rows} of {table}" if table else rows


def _open_release(folder: Path, policy: Path) -> "tuple[Any, ReleaseFolder, ReleasedTables]":
    """Open a release in a folder with its policy."""
    from indistinct.linked.folder import open_folder
    from indistinct.linked.policy import read_linked_policy

    written = read_linked_policy(policy)
    opened = open_folder(folder, written)
    return written, opened, opened.read()


def verify_linked(folder: Path, policy: Path, flags: Flags, *, originals: bool, **options: Any) -> None:
    """Check a release in a folder; exit 4 where anything is not satisfied."""
    refuse_flags(flags, on_disk=True, **options)
    verdict = verify_folder(folder, policy, originals=originals, memory=flags.memory)
    if flags.as_json:
        print_json({"folder": str(folder), **verdict.to_json()})
    else:
        rows = [(check.name, "yes" if check.holds else "NO", check.words) for check in verdict.checks]
        table = grid("", ("check", "satisfied", "found"), rows, most=len(rows))
        show(f"{folder}: {verdict.people:,} people\n", table, "\nsatisfied" if verdict.holds else "\nNOT satisfied")
    if not verdict.holds:
        raise typer.Exit(VerificationError.exit_code)


def verify_folder(folder: Path, policy: Path, *, originals: bool, memory: str | None) -> "LinkedVerdict":
    """Verify a release of several tables in a folder; with `originals` also against the originals of the policy."""
    from indistinct.linked.checking import check_release
    from indistinct.linked.policy import read_linked_policy
    from indistinct.linked.verify import MEMORY
    from indistinct.machine.memory import bytes_of

    most = MEMORY if memory is None else bytes_of(memory)
    with progress("verifying"):
        return check_release(folder, read_linked_policy(policy), originals=originals, memory=most)


def assess_linked(
    folder: Path | None,
    policy: Path,
    flags: Flags,
    *,
    knows: str,
    chart: Path | None,
    most_below: float | None,
    **options: Any,
) -> None:
    """Print how many people have too few candidates, by the number of known rows; exit 4 beyond a limit."""
    refuse_flags(flags, **options)
    from indistinct.linked.assess import assess_originals, assess_release, parse_known
    from indistinct.linked.policy import read_linked_policy

    known = parse_known(knows)
    _check_limit(most_below)
    if chart is not None:
        from indistinct.cli.output import check_picture

        check_picture(chart, flag="--chart", overwrite=False)
    with progress("assessing"):
        if folder is None:
            assessment = assess_originals(read_linked_policy(policy), known)
        else:
            written, _, tables = _open_release(folder, policy)
            assessment = assess_release(written, tables, known)
    if chart is not None:
        from indistinct.cli.output import write_text
        from indistinct.linked.pictures import draw_known_rows

        write_text(chart, draw_known_rows(assessment), overwrite=False)
    if flags.as_json:
        print_json({"table": str(folder or policy), **assessment.to_json()})
    else:
        show(*_assessed(assessment))
    worst = assessment.declared or max(assessment.risks, key=lambda risk: risk.share or 0.0, default=None)
    if worst is not None:
        _gate(worst.share, assessment.k, most_below)


def _check_limit(most_below: float | None) -> None:
    """Raise for a limit that is no share, before any work."""
    if most_below is not None and not 0 <= most_below <= 1:
        raise ParameterError(
            f"--most-below must be a share from 0 to 1; got {most_below:g}", hint="0.05 allows 5 % of the people"
        )


def _gate(share: float | None, k: int, most_below: float | None) -> None:
    """Exit with 4 where more people than allowed are left among fewer than k, or where they could not be counted."""
    if most_below is None or (share is not None and share <= most_below):
        return
    share_words = "an unknown share" if share is None else percent(share)
    note(f"{share_words} of the people are left among fewer than {k}; at most {percent(most_below)} are allowed")
    raise typer.Exit(VerificationError.exit_code)


def _assessed(assessment: "LinkedAssessment") -> list[str | Grid]:
    """Return the lines on the risk by known rows."""
    pairs: dict[tuple[str, str], dict[bool, str]] = {}
    for risk in assessment.risks:
        words = "too many to count" if risk.share is None else percent(risk.share)
        pairs.setdefault((risk.table, str(risk.known)), {})[risk.people_columns] = words
    rows = [(name, known, shares.get(True, ""), shares.get(False, "")) for (name, known), shares in pairs.items()]
    headings = ("table", "known rows", "with people columns", "rows alone")
    table = grid("", headings, rows, right=headings[1:], most=len(rows))
    lines: list[str | Grid] = [
        f"{assessment.people:,} people; share of them left among fewer than {assessment.k}:\n",
        table,
    ]
    if assessment.declared is not None:
        share = assessment.declared.share
        words = "too many combinations to count" if share is None else f"{percent(share)} of the people"
        lines.append(f"\nattackers with the declared knowledge: {words} below {assessment.k}")
    return lines


def scan_linked(folder: Path, policy: Path, flags: Flags, **options: Any) -> "dict[str, Scan]":
    """Return the scan of each table of a release in a folder, each compared with its original.

    Offsets and lists are made anew, so that it is no finding that no hierarchy of the original gives them.
    """
    refuse_flags(flags, **options)
    from indistinct.exploration.scan.scan import scan
    from indistinct.linked.folder import open_folder
    from indistinct.linked.policy import read_linked_policy
    from indistinct.tables import open_table

    written = read_linked_policy(policy)
    files = open_folder(folder, written).files
    scans = {}
    for table in written.tables:
        if table.path is None:
            raise AssertionError("tables of a policy have a path")
        original = open_table(written.locate(table.path), reading=table.reading).data
        made = [table.person, *(each.column for each in table.lists)]
        made += [] if table.time is None else [table.time.column]
        schema = table.schema
        roles = Schema(
            quasi=(*schema.quasi, *made[1:]),
            sensitive=schema.sensitive,
            insensitive=schema.insensitive,
            identifiers=(*schema.identifiers, table.person),
        )
        scanned = scan(files[table.name], original=original, schema=roles, hierarchies=table.hierarchies)
        checked = [f"column {name!r}" for name in made]
        findings = [
            each
            for each in scanned.findings
            if not (each.check == "labels-outside-hierarchy" and each.place in checked)
        ]
        scans[str(files[table.name])] = replace(scanned, findings=tuple(findings))
    return scans


def attack_linked(
    name: str,
    folder: Path,
    policy: Path,
    flags: Flags,
    *,
    seed: int | None,
    sample: int | None,
    most_below: float | None,
    **options: Any,
) -> None:
    """Attack a release in a folder by known rows, and print the success rate; exit 4 beyond a limit."""
    refuse_flags(flags, **options)
    _check_limit(most_below)
    from indistinct.linked.attack import ATTACKED_PEOPLE, attack_release, refuse_attack
    from indistinct.linked.opening import open_linked

    refuse_attack(name)
    with progress("attacking"):
        written, _, tables = _open_release(folder, policy)
        outcome = attack_release(open_linked(written), tables, seed=seed, people=sample or ATTACKED_PEOPLE)
    if flags.as_json:
        print_json(outcome.to_json())
    else:
        known = ", ".join(rows_of(table, rows) for table, rows in outcome.known.items() if rows)
        show(
            f"{outcome.attack}: an attacker knows the people table's columns of each person"
            f"{', ' if known else ''}{known}",
            outcome.sentence,
            f"the rows of another person leave one candidate in {percent(outcome.control)} of cases (control)",
        )
    _gate(outcome.share_below, outcome.k, most_below)


def measure_linked(folder: Path, policy: Path, flags: Flags, **options: Any) -> None:
    """Print the information loss of a release in a folder, table by table."""
    refuse_flags(flags, **options)
    from indistinct.linked.measure import measure_release
    from indistinct.linked.opening import open_linked

    with progress("measuring"):
        written, _, tables = _open_release(folder, policy)
        measurements = measure_release(open_linked(written), tables)
    if flags.as_json:
        print_json({"folder": str(folder), **measurements.to_json()})
        return
    rows = [
        (
            each.table,
            f"{each.rows:,}",
            f"{each.original_rows:,}",
            percent(each.deleted),
            "" if each.loss is None else f"{each.loss:.3f}",
        )
        for each in measurements.tables
    ]
    headings = ("table", "rows", "of", "deleted", "loss")
    table = grid("", headings, rows, right=headings[1:], most=len(rows))
    show(table, f"\nmean loss {measurements.loss:.3f}: 0 if everything is unmodified, 1 if nothing is published")


def report_linked(folder: Path, policy: Path, flags: Flags, output: Path, *, overwrite: bool, **options: Any) -> None:
    """Write one HTML page about a release in a folder."""
    refuse_flags(flags, **options)
    from indistinct.linked.report import report_folder
    from indistinct.release.writing.files import write_atomically
    from indistinct.release.writing.places import check_targets
    from indistinct.release.writing.staging import filled

    if output.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"the report {output} must end in .html", hint="for example -o report.html")
    check_targets([output], sources=[policy], overwrite=overwrite)
    from indistinct.linked.policy import read_linked_policy

    with progress("reporting"):
        made = report_folder(folder, read_linked_policy(policy))
    write_atomically(output, filled(made.html), overwrite=overwrite)
    documents: Mapping[str, Any] = made.documents
    if flags.as_json:
        print_json({"report": str(output), **documents})
    else:
        show(f"report  {output}")
    if not made.holds:
        note("the release is NOT satisfied: the report says why")
        raise typer.Exit(VerificationError.exit_code)
