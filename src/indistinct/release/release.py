"""A release: the published table and what was verified on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import MissingExtraError, OutputError, ParameterError
from indistinct.recoding.kinds import ByBucket, Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.release.bucket_table import BucketTable
from indistinct.release.certificate import Certificate
from indistinct.release.recoding_file import recoding_kept
from indistinct.release.writing import write_release
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """What is published, how it was done, and what was verified.

    Only `table`, `others` and `certificate` are for others. `recoding` and `assignment` hold original values.
    `others` are further tables of the release, by what they hold: anatomy publishes its sensitive values apart.
    """

    table: pa.Table
    schema: Schema
    certificate: Certificate
    recoding: Recoding
    assignment: Assignment
    counters: Mapping[str, float]
    others: Mapping[str, pa.Table] = field(default_factory=dict)
    source: Path | None = None

    def __repr__(self) -> str:
        shown = self.certificate
        return f"<Release of {shown.rows} rows in {shown.classes} {'classes' if shown.form is None else 'buckets'}>"

    def to_pandas(self) -> Any:
        """Return the published table as a pandas frame with text columns and a plain index."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtraError("pandas", extra="pandas", purpose="a pandas frame") from None
        return _without_dictionaries(self.table).to_pandas()

    def to_polars(self) -> Any:
        """Return the published table as a polars frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("polars", extra="polars", purpose="a polars frame") from None
        return polars.from_arrow(_without_dictionaries(self.table))

    def bucket_table(self) -> BucketTable:
        """Return a release in buckets as verification and risk assessment take it; other releases have none."""
        if not isinstance(self.recoding, ByBucket):
            raise ParameterError("this release is not in buckets", hint="verify it by its quasi-identifiers")
        return recoding_table(self.recoding, self.table, self.others)

    def write(self, path: str | Path, *, overwrite: bool = False) -> Certificate:
        """Write every table and, beside it, the certificate: all whole, or nothing. Return the final certificate.

        A further table of `release.csv` is `release.sensitive.csv`. The file that was read is never replaced.
        """
        target = Path(path)
        if self.source is not None and target.exists() and self.source.exists() and target.samefile(self.source):
            raise OutputError(
                f"{target} was read: the output would replace the input", hint="choose another path for the release"
            )
        return write_release(self.table, self.certificate, path, others=self.others, overwrite=overwrite)

    def write_recoding(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the recoding as JSON, readable by its owner alone: it holds original values.

        The arrays of a large one go to a second file: that of `recoding.json` is `recoding.json.arrow`.
        """
        with recoding_kept(self.recoding, path, overwrite=overwrite):
            pass


def recoding_table(recoding: ByBucket, table: pa.Table, others: Mapping[str, pa.Table]) -> BucketTable:
    """Return what a recoding into buckets published, as it is verified."""
    generalized = tuple(name for part in recoding.generalized for name in part.names)
    return BucketTable(table, recoding.slices, recoding.form, others.get("sensitive"), generalized)


def _without_dictionaries(table: pa.Table) -> pa.Table:
    plain = [
        pa.field(field.name, field.type.value_type if isinstance(field.type, pa.DictionaryType) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))
