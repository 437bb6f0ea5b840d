"""What a run did, as one value: what was published, what holds, what it cost, and where the files are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.algorithms.explanation import Explanation
from indistinct.metrics import Measurements
from indistinct.recoding.outputs import MAIN
from indistinct.release.certificate import Certificate
from indistinct.release.release import Release
from indistinct.release.writing.places import Place, place_at
from indistinct.schema import Schema
from indistinct.study.assess.membership import Membership
from indistinct.study.verdict import Verdict, figures_of_certificate, verdict_of
from indistinct.tables.addresses import without_credentials

Files = Path | str | tuple[str, ...] | None
ONE_BUCKET = "all rows are in one bucket, so links are broken over the whole table; try_all_dims=true may find more"


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A run that published, verified or measured a release; what it did not look at is None.

    `files` are paths by what lies there. `form` is what a release in buckets shows of a bucket. `membership` has
    figures for each kind of tuples. `explanation` says why an algorithm was chosen, and `schema` has the roles before
    publishing.
    """

    files: Mapping[str, Files]
    rows: int
    original_rows: int | None = None
    form: str | None = None
    certificate: Certificate | None = None
    metrics: Measurements | None = None
    membership: Mapping[str, Membership] | None = None
    counters: Mapping[str, float] | None = None
    explanation: Explanation | None = None
    schema: Schema | None = None

    @property
    def verdict(self) -> Verdict | None:
        """Return what the certificate alone says of the release; an assessment says more."""
        if self.certificate is None or self.schema is None:
            return None
        return verdict_of(figures_of_certificate(self.certificate, self.schema))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what a reader must know before trusting the release."""
        if self.certificate is None:
            return ()
        one = self.counters is not None and self.form is not None and self.certificate.classes == 1
        return (*self.certificate.warnings, *([ONE_BUCKET] if one else []))

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain JSON values, without the parts that are None."""
        document: dict[str, Any] = {name: _spell_path(path) for name, path in self.files.items()}
        document |= {"rows": self.rows, "original_rows": self.original_rows, "form": self.form}
        if self.certificate is not None:
            told = self.certificate.to_json()
            document |= {
                "algorithm": self.certificate.algorithm,
                "holds": self.certificate.holds,
                "suppressed_rows": self.certificate.suppressed_rows,
                "classes": self.certificate.classes,
                "k": self.certificate.smallest_class,
                "models": told["verdicts"],
                "warnings": list(self.warnings),
                "certificate": told,
            }
        if self.verdict is not None:
            document["verdict"] = self.verdict.to_json()
        if self.metrics is not None:
            document["metrics"] = self.metrics.to_json()
            if self.metrics.not_measured:
                document["not_measured"] = dict(self.metrics.not_measured)
        if self.membership is not None:
            document["membership"] = {
                kind.replace(" ", "_").replace("-", "_"): each.to_json() for kind, each in self.membership.items()
            }
        if self.counters is not None:
            document["counters"] = dict(self.counters)
        if self.explanation is not None:
            document["explanation"] = self.explanation.to_json()
        return document


def summary_of_release(
    release: Release,
    place: Place,
    *,
    metrics: Measurements,
    recoding: Path | None = None,
    report: Path | None = None,
) -> Summary:
    """Return what a run published at a place; `recoding` and `report` are where it wrote these."""
    others = [name for name in release.tables if name != MAIN]
    where = place_at(place)
    files: dict[str, Files] = {
        "output": where.name,
        "other_outputs": tuple(where.further(name).name for name in others),
        "certificate_path": where.certificate,
        "recoding_path": recoding,
        "report_path": report,
    }
    counted = release.certificate
    return Summary(
        files,
        counted.rows,
        counted.original_rows,
        counted.form,
        counted,
        metrics,
        counters=release.counters,
        explanation=release.explanation,
        schema=release.check.schema,
    )


def _spell_path(path: Files) -> Any:
    if isinstance(path, tuple):
        return [without_credentials(each) for each in path]
    return None if path is None else without_credentials(path)
