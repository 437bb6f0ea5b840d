"""Where results go: a release to its path, and the summary of a run to the screen, as text or as JSON."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.cli.screen import note, print_json, show
from indistinct.errors import IndistinctError, OutOfMemoryError, OutputError, ParameterError

if TYPE_CHECKING:
    from indistinct.engines.base import DatabaseTable
    from indistinct.evaluation.summary import Summary
    from indistinct.job.job import Job
    from indistinct.job.policy import Policy
    from indistinct.metrics import Measurements
    from indistinct.release.release import Release


def checked_path(
    output: "Path | DatabaseTable | None", *, recoding: Path | None, overwrite: bool, sources: Sequence[Path]
) -> "Path | DatabaseTable":
    """Return the path of a release; raise before any work if it cannot be written there."""
    from indistinct.release.writing.places import Destination

    if output is None:
        raise ParameterError("no output is given", hint="say where the release goes, for example -o release.csv")
    Destination(output, overwrite, recoding).check_free(sources)
    return output


def check_picture(path: Path, *, flag: str, overwrite: bool) -> None:
    """Raise before any work if a picture cannot be written to a path."""
    from indistinct.release.writing.places import check_targets

    if path.suffix.lower() != ".svg":
        raise ParameterError(f"the picture {path} must end in .svg", hint=f"for example {flag} picture.svg")
    check_targets([path], sources=[], overwrite=overwrite)


def write_text(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a picture or a document: whole, or not at all."""
    from indistinct.release.writing.files import write_atomically
    from indistinct.release.writing.staging import filled

    write_atomically(path, filled(text), overwrite=overwrite)


def run_and_note(job: "Job", run: Callable[["Job"], "Release"]) -> "Release":
    """Run a job; note that a ledger is new, and what happened to an older second table of the release."""
    from indistinct.recoding.outputs import SENSITIVE
    from indistinct.release.certificate import table_path

    path, ledger = job.destination.output, job.history.ledger
    second = table_path(path, SENSITIVE) if isinstance(path, str | Path) else None
    older, new = second is not None and second.is_file(), ledger is not None and not Path(ledger).exists()
    release = run(job)
    if new:
        note(f"{ledger} is a new ledger: there was no earlier release to compare with; keep it as safe as the table")
    if second is not None and older and SENSITIVE not in release.tables:
        if second.exists():
            note(f"{second} is no part of this release; it was left where it is")
        else:
            note(f"{second} was part of the release that was replaced, and is gone with it")
    return release


def measure_and_note(run: Callable[[], "Measurements"]) -> "Measurements":
    """Measure a release that is published already; say so if that fails, and go on where it is for want of memory."""
    from indistinct.metrics import Measurements

    message_start = "the release is written and verified, but it cannot be measured"
    try:
        return run()
    except OutOfMemoryError as error:
        note(f"{message_start}: {error.message}")
        return Measurements()
    except IndistinctError:
        note(message_start)
        raise


def report(summary: "Summary", *, as_json: bool) -> None:
    """Print the summary of a run: rows, guarantees, information loss and files."""
    for warning in summary.warnings:
        note(warning)
    if as_json:
        print_json(summary.to_json())
    else:
        show(summary.document())


def checked_report(
    policy: "Policy",
    release: "Path | DatabaseTable",
    *,
    recoding: Path | None,
    overwrite: bool,
    sources: "Sequence[Path]",
) -> Path | None:
    """Return the path of a policy's report, None if it requests none; raise before any work if it cannot be written."""
    if policy.output.report is None:
        return None
    from indistinct.drawing.charts import require_extra

    page = policy.locate(policy.output.report)
    require_extra()
    check_report_path(page, overwrite=overwrite, sources=sources)
    others = [each for each in (release, recoding) if isinstance(each, Path)]
    if any(page.resolve() == other.resolve() for other in others):
        raise OutputError(f"{page} is named for two outputs", hint="choose two paths")
    return page


def check_report_path(output: Path, *, overwrite: bool, sources: "Sequence[Path]", form: bool = False) -> None:
    """Raise before any work if a page cannot be written to a path."""
    from indistinct.release.writing.places import check_targets

    suffixes = (".html", ".htm", ".docx") if form else (".html", ".htm")
    if output.suffix.lower() not in suffixes:
        raise ParameterError(
            f"the report {output} must end in {' or '.join(sorted({*suffixes} - {'.htm'}))}",
            hint="for example -o report.html",
        )
    check_targets([output], sources=sources, overwrite=overwrite)
