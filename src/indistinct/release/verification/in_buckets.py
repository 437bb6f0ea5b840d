"""Verification of bucketized releases (anatomy, slicing): what slices show, and what only the original shows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from indistinct.figures import plural
from indistinct.frequencies.slices import Links, Slice
from indistinct.frequencies.structure import Buckets
from indistinct.frequencies.value import Classes, Key
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model
from indistinct.release.certificate import ModelVerdict
from indistinct.release.verification.evidence import Evidence
from indistinct.tables.domain import Domain
from indistinct.view.bucket_evidence import BucketEvidence

PRESERVED = "columns-preserved"
BROKEN = "links-broken"
IN_BUCKETS = (
    "classes are buckets: figures count the rows that a person may be among. Buckets publish quasi-identifiers "
    "unmodified, so population matches and the part of single columns do not apply"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class EvidenceInBuckets(Evidence):
    """A release in buckets, counted: its classes are buckets, inside which nothing links one slice to another."""

    by_slice: BucketEvidence

    @property
    def sizes(self) -> Codes:
        """Return the rows of each bucket."""
        return self.by_slice.sizes

    @property
    def domains(self) -> Mapping[str, Domain]:
        """Return the domains of the published columns."""
        return self.by_slice.known

    @property
    def structure(self) -> Buckets:
        """Return the structure of the buckets."""
        return self.by_slice.structure

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the note that explains figures about buckets."""
        return (IN_BUCKETS,)

    @property
    def slices(self) -> tuple[Slice, ...]:
        """Return the slices: columns whose values stay together in a row."""
        return self.by_slice.slices

    @property
    def links(self) -> Links:
        """Return the links between people and sensitive values."""
        return self.by_slice.links

    def in_full(self) -> Evidence:
        """Return the same evidence with everything counted."""
        return replace(self, by_slice=self.by_slice.full()) if self.by_slice.light else self

    def classes_for(self, model: Model) -> Classes:
        """Return the classes that a model looks at: buckets, or rows of a bucket that agree on what is known."""
        return self.by_slice.classes_for(model, self.histogram)

    def hidden_warnings(self, keys: Iterable[Key]) -> tuple[str, ...]:
        """Return nothing: buckets are not compared with an assignment."""
        return ()

    def require_agreement(self, keys: Sequence[Key]) -> None:
        """Do nothing: slices are compared with the original, by verdicts of their own."""

    def verdicts_beside_original(self) -> list[ModelVerdict]:
        """Compare slices with the original; generalized values cannot be compared."""
        if self.by_slice.reference is None:
            return []
        changed = self.by_slice.preserved()
        verdicts = [_beside_original(PRESERVED, holds=changed == 0, rows=changed)]
        # Only one table has rows: those of two tables, or of multisets, are paired by our own choice.
        permuted = (
            self.by_slice.permuted() if self.structure.form == "sliced" and not self.structure.generalized else None
        )
        return verdicts if permuted is None else [*verdicts, _beside_original(BROKEN, holds=permuted, rows=0)]

    def warnings_on_links(self, verdicts: Sequence[ModelVerdict]) -> list[str]:
        """Return warnings on links that were not tested, and on links revealed by shared attributes."""
        return [*self._warnings_on_shared_columns(), *self._untested_links(verdicts)]

    def _warnings_on_shared_columns(self) -> list[str]:
        """Warn of rows that readers can join across slices by a column that several slices share."""
        warnings = []
        for names, rows in self.by_slice.rejoined().items():
            listed = ", ".join(map(repr, names))
            warnings.append(
                f"{plural(rows, 'row')} with a value of {listed} like no other in their bucket: readers can put "
                "together the "
                "columns that share it, which are no secret of these rows then"
            )
        return warnings

    def _untested_links(self, verdicts: Sequence[ModelVerdict]) -> list[str]:
        """Return warnings on links between slices that were not compared with the original, with the reason."""
        if self.by_slice.reference is None or self.structure.form != "sliced":
            return []
        if self.structure.generalized:
            names = ", ".join(map(repr, self.structure.generalized))
            return [f"generalized values, of {names}, were not compared with the original: links were not tested"]
        if any(verdict.model == BROKEN for verdict in verdicts):
            return []
        return [
            "there are too few rows, or too few different values, to tell whether links are broken: chance could have "
            "left them all"
        ]


def _beside_original(rule: str, *, holds: bool, rows: int) -> ModelVerdict:
    return ModelVerdict(rule, holds, {}, violating_classes=0, violating_rows=rows, needs_original=True)
