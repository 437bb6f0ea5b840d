"""Where results go: a release to its path, and the summary of a run to the screen, as text or as JSON."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.cli.members import members_table
from indistinct.cli.screen import grid, metric_table, note, print_json, show
from indistinct.errors import IndistinctError, OutOfMemoryError, ParameterError
from indistinct.figures import count_unit, number, plural

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.algorithms.explanation import Explanation
    from indistinct.engines.base import DatabaseTable
    from indistinct.job.job import Job
    from indistinct.metrics import Measurements
    from indistinct.release.certificate import Certificate, Overlap
    from indistinct.release.release import Release
    from indistinct.study.summary import Summary

# What the screen calls the files that a run wrote; `{}` is the path.
WRITTEN = {
    "output": "release      {}",
    "other_outputs": "             {}",
    "certificate_path": "certificate  {}",
    "recoding_path": "recoding     {}  (holds original values: keep it as safe as the table)",
    "report_path": "report       {}  (internal: it names classes and counts)",
    "chart": "chart        {}",
}


def checked_path(
    output: "Path | DatabaseTable | None", *, recoding: Path | None, overwrite: bool, sources: Sequence[Path]
) -> "Path | DatabaseTable":
    """Return where a release goes; raise before any work if it cannot be written there."""
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
    """Run a job; say that a ledger is new, and what became of an older second table beside the release."""
    from indistinct.recoding.outputs import SENSITIVE
    from indistinct.release.writing.files import table_path

    path, ledger = job.destination.output, job.history.ledger
    beside = table_path(path, SENSITIVE) if isinstance(path, str | Path) else None
    older, new = beside is not None and beside.is_file(), ledger is not None and not Path(ledger).exists()
    release = run(job)
    if new:
        note(f"{ledger} is a new ledger: there was no earlier release to compare with; keep it as safe as the table")
    if beside is not None and older and SENSITIVE not in release.tables:
        if beside.exists():
            note(f"{beside} is no part of this release; it was left where it is")
        else:
            note(f"{beside} was part of the release that was replaced, and is gone with it")
    return release


def measure_and_note(run: Callable[[], "Measurements"]) -> "Measurements":
    """Measure a release that is published already; say so if that fails, and go on where it is for want of memory."""
    from indistinct.metrics import Measurements

    said = "the release is written and verified, but it cannot be measured"
    try:
        return run()
    except OutOfMemoryError as error:
        note(f"{said}: {error.message}")
        return Measurements()
    except IndistinctError:
        note(said)
        raise


def report(summary: "Summary", *, as_json: bool) -> None:
    """Say what was published, what holds, what it cost, and where the files are."""
    for warning in summary.warnings:
        note(warning)
    if as_json:
        print_json(summary.to_json())
    else:
        show(*_parts(summary))


def _parts(summary: "Summary") -> "Iterator[str | Table]":
    from indistinct.study.verdict import STATES, words_of
    from indistinct.tables.addresses import without_credentials

    certificate, read = summary.certificate, summary.files.get("published")
    named = "" if read is None else f"{read}: "
    if certificate is not None and certificate.algorithm is not None:
        named = f"{certificate.algorithm}: "
    if certificate is None:
        yield f"{named}{summary.rows:,} of {summary.original_rows or 0:,} rows\n"
    else:
        yield f"{named}{count_in_words(certificate)}\n"
        yield verdict_table(certificate)
        yield "\nholds\n" if certificate.holds else "\ndoes NOT hold\n"
        if summary.verdict is not None and summary.verdict.open:
            yield f"verdict: {summary.verdict.headline}"
            yield from (f"{STATES[line.state]}: {words_of(line)}" for line in summary.verdict.open)
            yield ""
        if certificate.population_size is not None:
            yield f"compared with a population of {certificate.population_size:,}\n"
        if certificate.sample is not None:
            yield f"a random sample of {certificate.sample:g}: the original is what was drawn\n"
        if certificate.overlap is not None:
            yield from (*beside_earlier(certificate.overlap).splitlines(), "")
    if summary.metrics:
        yield metric_table(summary.metrics)
        yield ""
    if summary.explanation is not None:
        yield attempts_table(summary.explanation)
        yield ""
        yield from summary.explanation.reasons()
        yield ""
    if summary.membership:
        yield members_table(summary.membership, buckets=summary.form is not None)
        yield ""
    if certificate is not None and certificate.form is not None:
        yield f"columns      {' | '.join('+'.join(names) for names in certificate.columns)}"
        yield "             inside a bucket every column stands in an order of its own\n"
    for name, words in WRITTEN.items():
        paths = summary.files.get(name) or ()
        yield from (
            words.format(without_credentials(path)) for path in (paths if isinstance(paths, tuple) else (paths,))
        )


def count_in_words(certificate: "Certificate") -> str:
    """Return how many rows, and people, are published in how many classes, and how many are not.

    >>> from indistinct.release.certificate import Certificate, PeopleCounted
    >>> count_in_words(Certificate("1", (), 90, 9, 5, 100, 10))
    '90 rows in 9 classes, the smallest of 5; 10 rows suppressed'
    >>> count_in_words(Certificate("1", (), 90, 9, 5, 100, 10, people=PeopleCounted(60, 66, 7)))
    '90 rows of 60 people in 9 classes, the smallest of 5 people; 10 rows of 7 people suppressed'
    """
    people, dropped = certificate.people, certificate.suppressed_rows
    whose, unit = ("", "") if people is None else (f" of {count_unit(people.published, 'people')}", "people")
    said = f"{certificate.rows:,} rows{whose} in {groups(certificate)}, the smallest of "
    said += count_unit(certificate.smallest_class, unit) if unit else number(certificate.smallest_class)
    if dropped is None:
        return said
    lost = "" if people is None or people.suppressed is None else f" of {count_unit(people.suppressed, 'people')}"
    return f"{said}; {dropped:,} rows{lost} suppressed"


def beside_earlier(found: "Overlap") -> str:
    """Return what a release and earlier ones tell together, in words.

    >>> from indistinct.release.certificate import Overlap
    >>> print(beside_earlier(Overlap(90, 6, 0, 5, releases=2)))
    90 people are in 2 earlier releases too; the smallest group of people who share a history of classes has 6
    """
    what = "the earlier release" if found.releases == 1 else f"{found.releases:,} earlier releases"
    return (
        f"{plural(found.shared_people, 'person is', 'people are')} in {what} too; the smallest group of "
        f"people who share a history of classes has {found.smallest_history:,}"
    )


def verdict_table(certificate: "Certificate") -> "Table":
    """Return what each model asked for and what was achieved."""
    classes = "violating classes" if certificate.form is None else "violating buckets"
    table = grid("model", "holds", "achieved", classes, right=(classes,))
    table.columns[-1].max_width = len("violating")
    for verdict in certificate.verdicts:
        achieved = ", ".join(f"{key} = {number(value)}" for key, value in verdict.achieved.items())
        table.add_row(verdict.model, "yes" if verdict.holds else "NO", achieved, f"{verdict.violating_classes:,}")
    return table


def attempts_table(explanation: "Explanation") -> "Table":
    """Return what was tried, the best first, and how many each would suppress if any does."""
    made, loss = explanation.ranking, explanation.metric
    drops = any(attempt.suppressed for attempt in made)
    headings = (loss, "classes", *(["suppressed"] if drops else []))
    table = grid("tried", *headings, right=headings)
    for attempt in made:
        figures = (number(attempt.loss or 0.0), f"{attempt.classes:,}", f"{attempt.suppressed:,}")
        table.add_row(attempt.algorithm, *figures[: len(headings)])
    return table


def groups(certificate: "Certificate") -> str:
    """Return how many classes or buckets a release has.

    >>> from indistinct.release.certificate import Certificate
    >>> groups(Certificate("0", (), rows=9, classes=1, smallest_class=9, form="sliced"))
    '1 bucket'
    """
    one, several = ("class", "classes") if certificate.form is None else ("bucket", "buckets")
    return f"{certificate.classes:,} {one if certificate.classes == 1 else several}"
