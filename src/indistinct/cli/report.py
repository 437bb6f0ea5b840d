"""`indistinct report`: one HTML page about a published file, for those who decide or for its readers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import options
from indistinct.cli.flags import is_linked, opened_population
from indistinct.cli.linked import report_linked
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import check_report_path
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.errors import ParameterError, VerificationError
from indistinct.figures import plural

if TYPE_CHECKING:
    from indistinct.engines.base import DatabaseTable, Source
    from indistinct.job.policy import Policy
    from indistinct.release.release import Release
    from indistinct.reporting.report import Report

PopulationFile = Annotated[
    Path | None,
    typer.Option("--population", metavar="FILE", help="A table of the population from which the people were drawn."),
]
Target = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel="Output",
        help="Where the report goes: .html, or .docx with --for.",
    ),
]
Edition = Annotated[
    str, typer.Option("--edition", metavar="NAME", help="internal for the steward, external for readers of the data.")
]
Language = Annotated[
    str, typer.Option("--language", metavar="LANG", help="Language of the external edition: en, or de for German.")
]
FormName = Annotated[
    str | None,
    typer.Option("--for", metavar="FORM", help="Fill a form instead (.docx or .html): gdpr, hipaa, ontario, ico, ema."),
]
Queries = Annotated[
    Path | None, typer.Option("--workload", metavar="FILE", help="Queries to compare with the original, one a line.")
]
Learn = Annotated[
    str | None, typer.Option("--learn", metavar="COLUMN", help="Train classifiers for this column; takes some minutes.")
]
Chance = Annotated[int | None, typer.Option("--seed", help="Seed of the attacks.")]
Seconds = Annotated[float, typer.Option("--seconds", metavar="N", help="Time limit of all attacks, in seconds.")]

Held = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="SPEC", help="Profile to judge by: public, licensed or internal; else the policy's."
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
    language: Language = "en",
    form: FormName = None,
    workload: Queries = None,
    learn: Learn = None,
    seconds: Seconds = 6.0,
    seed: Chance = None,
    profile: Held = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a report about a published table: one HTML page without scripts, for the screen and for print.

    Roles, models and statements about the release come from a policy or from flags. Sections that need the original or
    a population say so if it is missing. The exit code is 4 if a privacy model is not satisfied.

    With a policy of several tables, RELEASE is a folder, and the report is the internal edition.
    """
    if policy is not None and is_linked(policy):
        given_too: dict[str, Any] = {"original": original, "recoding": recoding, "workload": workload, "learn": learn}
        given_too |= {"seed": seed, "profile": profile, "edition": None if edition == "internal" else edition}
        given_too |= {"language": None if language == "en" else language}
        report_linked(release, policy, flags, output, overwrite=overwrite, **given_too)
        return
    from indistinct.drawing.charts import require_extra
    from indistinct.reporting.editions import edition_of
    from indistinct.reporting.report import require_edition_in

    require_edition_in(language, edition_of(edition))
    require_extra()
    _check_form(form, output, language, judged=policy is not None or original is not None)
    check_report_path(
        output,
        form=form is not None,
        overwrite=overwrite,
        sources=[each for each in (release, policy, original) if each is not None],
    )
    from indistinct.reporting.report import report

    known: dict[str, Any] = {"policy": policy, "original": original, "recoding": recoding, "population": True}
    job, given = published_file(release, flags, by_input=form is not None, **known)
    with progress("reporting"):
        made = report(
            given,
            edition=edition,
            language=language,
            policy=policy,
            pseudonyms=job.declared_pseudonyms,
            workload=workload,
            target=learn,
            seconds=seconds,
            seed=seed,
            smallest_count=flags.smallest_count,
            profile=profile,
        )
    if form is not None:
        _write_form(made, form, output, job, policy=policy, as_json=flags.as_json, overwrite=overwrite)
    else:
        _write_page(made, output, as_json=flags.as_json, overwrite=overwrite)
    _exit_unless_satisfied(made)


def _exit_unless_satisfied(made: "Report") -> None:
    """Exit with 4 if the certificate in a report states that a guarantee is not satisfied."""
    if "certificate" in made.content.documents and not made.holds:
        note("the privacy guarantee is NOT satisfied: the report says which model")
        raise typer.Exit(VerificationError.exit_code)


def _write_page(made: "Report", output: Path, *, as_json: bool, overwrite: bool) -> None:
    """Write a report, and say where it is."""
    made.write(output, overwrite=overwrite)
    if as_json:
        print_json({"report": str(output), **made.to_json()})
    else:
        show(f"report  {output}  ({made.edition} edition, {len(made.html.encode()) / 1e6:.2g} MB)")
    if made.untranslated:
        note(f"{plural(len(made.untranslated), 'sentence')} of the report has no translation and stays in English")


def _check_form(form: str | None, output: Path, language: str, *, judged: bool) -> None:
    """Raise before any work for a form that is not known or not in a language, without an original or its package."""
    if form is None:
        return
    if language != "en":
        raise ParameterError("forms are in English alone", hint="leave out --language, or --for")
    from indistinct.reporting.forms.form import read_form

    read_form(form)
    if not judged:
        raise ParameterError(
            "a form needs the original, on which attacks are judged",
            hint="name the table before publishing with --original, or a policy",
        )
    if output.suffix.lower() == ".docx":
        from indistinct.reporting.forms.docx import require_extra as require_forms

        require_forms()


def _write_form(
    made: "Report", name: str, output: Path, job: "Policy", *, policy: Path | None, as_json: bool, overwrite: bool
) -> None:
    """Write a form that is filled with the figures of a report."""
    from indistinct.reporting.forms.fill import fill_form

    filled = fill_form(made, name, context=job.context, policy=policy)
    filled.write(output, overwrite=overwrite)
    if as_json:
        print_json({"report": str(output), **filled.to_json(), "documents": made.to_json()["documents"]})
    else:
        fields = plural(filled.open_fields, "field")
        show(f"form    {output}  ({name}, {filled.edition} edition, {fields} for a person to write)")


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
