"""The end of `anonymize` and `apply`: a release goes to its path, and the screen says what it achieves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.cli.screen import groups, metric_table, note, number, print_json, show, verdict_table
from indistinct.cli.targets import check_format, check_targets
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.metrics import Measurements
    from indistinct.release.certificate import Certificate
    from indistinct.release.release import Release


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a release, its further tables, its certificate and, if it is kept, its recoding go."""

    output: Path
    certificate: Path
    recoding: Path | None
    overwrite: bool
    others: tuple[Path, ...] = ()

    @classmethod
    def checked(
        cls,
        output: Path | None,
        *,
        recoding: Path | None,
        overwrite: bool,
        sources: Sequence[Path],
        others: Sequence[str] = (),
    ) -> "Destination":
        """Return the destination; raise before any work if something cannot be written there.

        `others` says what further tables of the release hold.
        """
        from indistinct.release.files import certificate_path, table_path

        if output is None:
            raise ParameterError("no output is given", hint="say where the release goes, for example -o release.csv")
        check_format(output)
        further = tuple(table_path(output, name) for name in others)
        destination = cls(output, certificate_path(output), recoding, overwrite, further)
        wanted = [destination.output, *further, destination.certificate, *([recoding] if recoding else [])]
        check_targets(wanted, sources=sources, overwrite=overwrite)
        return destination


def publish(release: "Release", destination: Destination) -> "Certificate":
    """Write a release, its certificate and its recoding; a recoding that cannot be kept stops it."""
    from indistinct.release.files import table_path

    beside = table_path(destination.output, "sensitive")
    foreign = beside.is_file() and "sensitive" not in release.others
    certificate = _written(release, destination)
    if foreign and beside.exists():
        note(f"{beside} is no part of this release; it was left where it is")
    elif foreign:
        note(f"{beside} was part of the release that was replaced, and is gone with it")
    return certificate


def _written(release: "Release", destination: Destination) -> "Certificate":
    from indistinct.recoding.json import recoding_to_json
    from indistinct.release import staging

    if destination.recoding is None:
        return release.write(destination.output, overwrite=destination.overwrite)
    text = recoding_to_json(release.recoding)
    with staging.staging() as staged:
        staged.append(staging.stage(destination.recoding, staging.filled(text), private=True))
        certificate = release.write(destination.output, overwrite=destination.overwrite)
        staging.publish(staged, overwrite=destination.overwrite)
    return certificate


def report(
    release: "Release",
    certificate: "Certificate",
    destination: Destination,
    *,
    metrics: "Measurements",
    as_json: bool,
) -> None:
    """Say what was published, what holds and what it cost."""
    for warning in certificate.warnings:
        note(warning)
    if certificate.form is not None and certificate.classes == 1:
        note("all rows are in one bucket, so links are broken over the whole table; try_all_dims=true may find more")
    if as_json:
        document = certificate.to_json()
        print_json(
            {
                "output": str(destination.output),
                "other_outputs": [str(path) for path in destination.others],
                "certificate_path": str(destination.certificate),
                "recoding_path": None if destination.recoding is None else str(destination.recoding),
                "rows": certificate.rows,
                "suppressed_rows": certificate.suppressed_rows,
                "classes": certificate.classes,
                "k": certificate.smallest_class,
                "models": document["verdicts"],
                "metrics": metrics.to_json(),
                "counters": dict(release.counters),
                "certificate": document,
            }
        )
        return
    show(
        f"{certificate.rows:,} rows in {groups(certificate)}, the smallest of "
        f"{number(certificate.smallest_class)}; {certificate.suppressed_rows or 0:,} rows suppressed\n",
        verdict_table(certificate),
        "",
        metric_table(metrics),
        "",
        *bucket_lines(certificate),
        f"release      {destination.output}",
        *(f"             {path}" for path in destination.others),
        f"certificate  {destination.certificate}",
    )
    if destination.recoding is not None:
        show(f"recoding     {destination.recoding}  (holds original values: keep it as safe as the table)")


def bucket_lines(certificate: "Certificate") -> list[str]:
    """Return what a reader of a release in buckets must know: which attributes belong together."""
    if certificate.form is None:
        return []
    columns = " | ".join("+".join(names) for names in certificate.columns)
    return [f"columns      {columns}", "             inside a bucket every column stands in an order of its own\n"]
