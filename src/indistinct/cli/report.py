"""`indistinct report`: one HTML page about a published file, for those who decide or for its readers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import options
from indistinct.cli.flags import opened_population
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.errors import OutputError, ParameterError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indistinct.engines.base import DatabaseTable, Source
    from indistinct.job.policy import Policy
    from indistinct.release.release import Release

PopulationFile = Annotated[
    Path | None,
    typer.Option("--population", metavar="FILE", help="A table of everybody whom the people were drawn from."),
]
Target = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes (.html).")]
Edition = Annotated[
    str, typer.Option("--edition", metavar="NAME", help="internal for the steward, external for readers of the data.")
]
Queries = Annotated[
    Path | None, typer.Option("--workload", metavar="FILE", help="Queries to compare with the original, one a line.")
]
Learn = Annotated[
    str | None, typer.Option("--learn", metavar="COLUMN", help="Let classifiers learn this column; it takes a while.")
]
Chance = Annotated[int | None, typer.Option("--seed", help="Fix what attacks draw at random.")]
Seconds = Annotated[float, typer.Option("--seconds", metavar="N", help="How long attacks may take together.")]

Held = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="SPEC", help="Hold it against public, licensed or internal; else as the policy states."
    ),
]


@share_options(
    *(*ROLES, "model", "algorithm", "hierarchy", "transform", "pseudonym", "population", "smallest_count"),
    *(*READING, *SCREEN),
    algorithm=MadeBy,
    population=PopulationFile,
)
def command(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The published table.")],
    flags: Flags,
    output: Target,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    recoding: options.RecodingFile = None,
    edition: Edition = "internal",
    workload: Queries = None,
    learn: Learn = None,
    seconds: Seconds = 6.0,
    seed: Chance = None,
    profile: Held = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a report about a published table: one HTML page without scripts that opens anywhere and prints.

    Roles, model and what people state about the release come from a policy, or from flags. What needs the original or a
    population says so where it is not given. The exit code is 4 if a promise does not hold.
    """
    from indistinct.reporting.editions import edition_of
    from indistinct.reporting.render import require_extra

    edition_of(edition)
    require_extra()
    _check(output, overwrite=overwrite, sources=[each for each in (release, policy, original) if each is not None])
    from indistinct.reporting.report import report

    job, given = published_file(release, flags, policy=policy, original=original, recoding=recoding, population=True)
    with progress("reporting"):
        made = report(
            given,
            edition=edition,
            policy=policy,
            pseudonyms=job.pseudonyms,
            workload=workload,
            target=learn,
            seconds=seconds,
            seed=seed,
            smallest_count=flags.smallest_count,
            profile=profile,
        )
    made.write(output, overwrite=overwrite)
    if flags.as_json:
        print_json({"report": str(output), **made.to_json()})
    else:
        show(f"report  {output}  ({made.edition} edition, {len(made.html.encode()) / 1e6:.2g} MB)")
    if "certificate" in made.content.documents and not made.holds:
        note("a promise does NOT hold: the report says which")
        raise typer.Exit(VerificationError.exit_code)


def _check(output: Path, *, overwrite: bool, sources: "Sequence[Path]") -> None:
    """Raise before any work if a page cannot be written to a path."""
    from indistinct.release.writing.places import check_targets

    if output.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"the report {output} must end in .html", hint="for example -o report.html")
    check_targets([output], sources=sources, overwrite=overwrite)


def checked_report(
    policy: "Policy",
    release: "Path | DatabaseTable",
    *,
    recoding: Path | None,
    overwrite: bool,
    sources: "Sequence[Path]",
) -> Path | None:
    """Return where the report of a policy goes, None if it asks for none; raise before any work if it cannot."""
    if policy.output.report is None:
        return None
    from indistinct.reporting.render import require_extra

    page = policy.locate(policy.output.report)
    require_extra()
    _check(page, overwrite=overwrite, sources=sources)
    others = [each for each in (release, recoding) if isinstance(each, Path)]
    if any(page.resolve() == other.resolve() for other in others):
        raise OutputError(f"{page} is named for two outputs", hint="choose two paths")
    return page


def write_report(
    page: Path,
    release: "Release",
    policy: "Policy",
    *,
    original: "Source",
    overwrite: bool,
    place: "Path | DatabaseTable",
) -> None:
    """Write the internal edition about a release that was just published."""
    from indistinct.reporting.report import report

    given: dict[str, Any] = {"policy": policy, "original": original, "population": opened_population(policy)}
    report(release, path=place if isinstance(place, Path) else None, **given).write(page, overwrite=overwrite)
