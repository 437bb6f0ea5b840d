"""What a run did, as one value: what was published, what holds, what it cost, and where the files are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.algorithms.explanation import Explanation
from indistinct.document.blocks import (
    Block,
    Cell,
    Document,
    JsonValues,
    Notice,
    Paragraph,
    Terms,
    document,
    listing,
)
from indistinct.evaluation.assess.assess_document import membership_grid
from indistinct.evaluation.assess.membership import Membership
from indistinct.evaluation.verdict import Verdict, figures_of_certificate, verdict_blocks, verdict_of
from indistinct.figures import count_unit, percent, plural
from indistinct.frequencies.structure import unit_of, units_of
from indistinct.metrics.registry import Measurements, metric_grid
from indistinct.recoding.outputs import MAIN
from indistinct.release.certificate import Certificate, Overlap, verdict_grid
from indistinct.release.guarantee import failed_checks, guarantee_sentence
from indistinct.release.release import Release
from indistinct.release.writing.places import Place, place_at
from indistinct.schema import Schema
from indistinct.tables.addresses import without_credentials

Files = Path | str | tuple[str, ...] | None
WRITTEN = {
    "output": ("release", ""),
    "other_outputs": ("second table", ""),
    "certificate_path": ("certificate", ""),
    "recoding_path": ("recoding", "  (holds original values: keep it as safe as the table)"),
    "report_path": ("report", "  (internal: it names classes and counts)"),
    "chart": ("chart", ""),
}
"""The files that a run wrote: what each is called, and what its reader must know."""
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
        """Return the verdict by the certificate alone; an assessment covers more."""
        if self.certificate is None or self.schema is None:
            return None
        return verdict_of(figures_of_certificate(self.certificate, self.schema))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings to read before trusting the release."""
        if self.certificate is None:
            return ()
        one = self.counters is not None and bool(self.certificate.columns) and self.certificate.classes == 1
        return (*self.certificate.warnings, *([ONE_BUCKET] if one else []))

    def document(self) -> Document:
        """Return the summary of a run: rows, guarantees, information loss and files."""
        read, certificate = self.files.get("published"), self.certificate
        named = "" if read is None else f"{read}: "
        if certificate is not None and certificate.algorithm is not None:
            named = f"{certificate.algorithm}: "
        counted = f"{self.rows:,} of {plural(self.original_rows or 0, 'row')}"
        blocks: list[Block] = [] if certificate is None else _certificate_blocks(certificate, self.verdict)
        if self.metrics:
            blocks.append(metric_grid(JsonValues("measure", self.metrics.to_json())))
        if self.explanation is not None:
            blocks += [self.explanation.attempt_grid(), *listing(self.explanation.reasons())]
        if self.membership:
            kinds = {kind: dict(each.to_json()) for kind, each in self.membership.items()}
            blocks.append(membership_grid(JsonValues("membership", kinds), groups=units_of(self.form)))
        if certificate is not None and certificate.columns:
            columns = " | ".join("+".join(names) for names in certificate.columns)
            blocks.append(Terms((("columns", columns),)))
            blocks.append(Paragraph("Inside a bucket every column has an order of its own."))
        pairs = tuple(self._named_files())
        blocks += [Terms(pairs)] if pairs else []
        return document(named + (counted if certificate is None else count_in_words(certificate)), *blocks)

    def _named_files(self) -> Iterator[tuple[str, Cell]]:
        """Yield the files that a run wrote, each with its name and a remark."""
        for name, (called, remark) in WRITTEN.items():
            paths = self.files.get(name) or ()
            for path in paths if isinstance(paths, tuple) else (paths,):
                yield called, f"{without_credentials(path)}{remark}"

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain JSON values, without the parts that are None."""
        document: dict[str, Any] = {name: _spell_path(path) for name, path in self.files.items()}
        document |= {"rows": self.rows, "original_rows": self.original_rows, "form": self.form}
        if self.certificate is not None:
            certified = self.certificate.to_json()
            document |= {
                "algorithm": self.certificate.algorithm,
                "holds": self.certificate.holds,
                "suppressed_rows": self.certificate.suppressed_rows,
                "classes": self.certificate.classes,
                "k": self.certificate.smallest_class,
                "models": certified["verdicts"],
                "warnings": list(self.warnings),
                "certificate": certified,
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


def _certificate_blocks(certificate: Certificate, verdict: Verdict | None) -> list[Block]:
    """Return each model with what it achieves, what is open, and what the release was compared with."""
    values = JsonValues("certificate", certificate.to_json())
    checks = failed_checks(values.at("verdicts"))
    blocks: list[Block] = [verdict_grid(values)]
    # A verdict that lists the broken guarantee says it; advice about a check of the file is in the sentence alone.
    if checks or verdict is None or all(line.kind != "promise" for line in verdict.open):
        satisfied = guarantee_sentence(holds=certificate.holds, checks=checks)
        blocks.append(Notice(satisfied, "warning" if certificate.holds else "bad"))
    if certificate.holds and certificate.smallest_class == 1:
        unit = "row" if certificate.people is None else "person"
        group = unit_of(certificate.form)
        blocks.append(Notice(f"It does not require a {group} to have more than one {unit}.", "warning"))
    if verdict is not None and verdict.open:
        blocks += verdict_blocks(verdict.to_json(), only_open=True)
    if certificate.population_size is not None:
        blocks.append(Paragraph(f"Compared with a population of {certificate.population_size:,}."))
    if certificate.sample is not None:
        share = percent(certificate.sample)
        blocks.append(Paragraph(f"A random sample of {share}: the original is what was drawn."))
    if certificate.overlap is not None:
        blocks.append(Paragraph(overlap_in_words(certificate.overlap)))
    return blocks


def count_in_words(certificate: Certificate) -> str:
    """Return how many rows, and people, are published in how many classes, and how many are suppressed.

    >>> count_in_words(Certificate("1", (), 90, 9, 5, 100, 10))
    '90 rows in 9 classes, the smallest of 5 rows; 10 rows suppressed'
    >>> from indistinct.release.certificate import PeopleCounted
    >>> count_in_words(Certificate("1", (), 90, 9, 5, 100, 10, people=PeopleCounted(60, 66, 7)))
    '90 rows of 60 people in 9 classes, the smallest of 5 people; 10 rows of 7 people suppressed'
    """
    people, suppressed = certificate.people, certificate.suppressed_rows
    whose, unit = ("", "rows") if people is None else (f" of {count_unit(people.published, 'people')}", "people")
    groups = plural(certificate.classes, unit_of(certificate.form), units_of(certificate.form))
    words = f"{plural(certificate.rows, 'row')}{whose} in {groups}, the smallest of "
    words += count_unit(certificate.smallest_class, unit)
    if suppressed is None:
        return words
    lost = "" if people is None or people.suppressed is None else f" of {count_unit(people.suppressed, 'people')}"
    return f"{words}; {plural(suppressed, 'row')}{lost} suppressed"


def overlap_in_words(overlap: Overlap) -> str:
    """Describe the comparison with earlier releases in words.

    >>> print(overlap_in_words(Overlap(90, 6, 0, 5, releases=2)))
    90 people are in 2 earlier releases too; the smallest group of people who share a history of classes has 6.
    """
    what = "the earlier release" if overlap.releases == 1 else f"{overlap.releases:,} earlier releases"
    return (
        f"{plural(overlap.shared_people, 'person is', 'people are')} in {what} too; the smallest group of "
        f"people who share a history of classes has {overlap.smallest_history:,}."
    )


def summary_of_release(
    release: Release,
    target: Place,
    *,
    metrics: Measurements,
    recoding: Path | None = None,
    report: Path | None = None,
) -> Summary:
    """Summarize a run; `recoding` and `report` are the paths of these files."""
    others = [name for name in release.tables if name != MAIN]
    where = place_at(target)
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
