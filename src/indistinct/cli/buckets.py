"""A published file in buckets: what its certificate or the algorithm tells of it, and what verify and measure say."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.cli.members import BUCKETS, draw_members, measured_members, members_document, members_table
from indistinct.cli.published_file import Question, aligned
from indistinct.cli.screen import metric_table, note, print_json, progress, show
from indistinct.errors import InputError, ParameterError
from indistinct.schema import BUCKET, COUNT

if TYPE_CHECKING:
    import pyarrow as pa

    from indistinct.release.bucket_table import BucketTable
    from indistinct.release.certificate import Certificate


@dataclass(frozen=True, slots=True, eq=False)
class BucketFile:
    """A published table in buckets, where it lies, and the l that was asked for."""

    path: Path
    published: "BucketTable"
    l: int | None
    size: int = 1

    @property
    def columns(self) -> list[str]:
        """Return what the release shows in all its tables, but for what buckets add."""
        tables = [self.published.table, *([self.published.sensitive] if self.published.sensitive is not None else [])]
        return [name for table in tables for name in table.column_names if name not in (BUCKET, COUNT)]

    def verified(self, asked: Question, *, original: "pa.Table | None") -> "Certificate":
        """Return what the release achieves."""
        from indistinct.registry import all_of
        from indistinct.release.verify_buckets import verify_buckets

        model = all_of(asked.models) if asked.models else None
        return verify_buckets(self.published, asked.schema, l=self.l, size=self.size, original=original, model=model)

    def measured(
        self, asked: Question, *, original: "pa.Table", chart: Path | None, overwrite: bool, as_json: bool
    ) -> None:
        """Print what the release cost and how well it hides who is in it; draw the latter if asked to."""
        from indistinct.bucketing import measure_bucket_table

        with progress("measuring") as share:
            metrics = measure_bucket_table(self.published, asked.schema, k=self.l or 1)
            share(0.2)
            kinds = {"all attributes": {"quasi_only": False}, "without sensitive ones": {"quasi_only": True}}
            found = measured_members(kinds, self.published, asked.schema, original=original)
            share(1.0)
        if chart is not None:
            draw_members(found, chart, BUCKETS, overwrite=overwrite)
        rows = self.published.table.num_rows, original.num_rows
        if as_json:
            said = {"published": str(self.path), "rows": rows[0], "original_rows": rows[1], "form": self.published.form}
            members = members_document(found)
            print_json({**said, "metrics": metrics.to_json(), "membership": members, "chart": chart and str(chart)})
        else:
            show(f"{self.path}: {rows[0]:,} of {rows[1]:,} rows\n", metric_table(metrics))
            if found:
                show("", members_table(found, BUCKETS))


def bucket_file(path: Path, asked: Question, *, original: "pa.Table | None") -> BucketFile | None:
    """Return a file as a release in buckets if the algorithm says so, else None.

    What was promised comes from the algorithm alone. The certificate beside the file tells the columns that the
    algorithm found, and which values it generalized if it did.
    """
    algorithm: Any = asked.algorithm
    if algorithm is None or not algorithm.traits.buckets:
        with suppress(InputError):  # a table without buckets is judged by itself
            if _certificate(path).get("form") is not None:
                note("its certificate says that the file is in buckets; name the algorithm to have it judged as such")
        return None
    said = _certificate(path)
    from indistinct.release.bucket_table import BucketTable
    from indistinct.release.files import table_path

    form = _form(algorithm)
    slices = _slices(algorithm, asked, said)
    generalized = _names(said.get("generalized")) if getattr(algorithm, "generalize", 1) > 1 else ()
    table = asked.opened(path)
    apart = asked.opened(_second_table(table_path(path, "sensitive"))) if form == "tables" else None
    if original is not None:
        table, apart = aligned(table, original), None if apart is None else aligned(apart, original)
    _remark(path, said)
    shown = BucketTable(table, slices, form, apart, generalized)
    return BucketFile(path, shown, getattr(algorithm, "l", None), getattr(algorithm, "size", 1))


def _second_table(path: Path) -> Path:
    if not path.exists():
        raise InputError(
            f"there is no file {path}, the second table of an anatomy release",
            hint="keep both tables beside each other, under the names that they were written with",
        )
    return path


def _remark(path: Path, said: dict[str, Any]) -> None:
    """Say what a reader must know of the certificate beside a release."""
    if not said:
        return
    if said.get("seeded"):
        note("the release was made with a fixed seed: whoever knows it can link every row again")
    from indistinct.release.staging import digest_of

    if said.get("output_digest") != digest_of(path):
        note("the file is not the one that the certificate beside it speaks of")


def _certificate(path: Path) -> dict[str, Any]:
    """Return the certificate that lies beside a release, empty if there is none."""
    from indistinct.release.files import certificate_path

    try:
        said = json.loads(certificate_path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise InputError(
            f"the certificate {certificate_path(path)} cannot be read",
            hint="give it as it was written, or move it away and name the algorithm",
        ) from None
    return said if isinstance(said, dict) else {}


def _names(said: Any) -> tuple[str, ...]:
    """Return the names that a certificate lists; anything else lists none."""
    return tuple(said) if isinstance(said, list) and all(isinstance(name, str) for name in said) else ()


def _form(algorithm: Any) -> str:
    """Return what an algorithm publishes of its buckets."""
    if algorithm.name == "multiset":
        return "multiset"
    return "tables" if getattr(algorithm, "form", "") == "tables" else "sliced"


def _slices(algorithm: Any, asked: Question, said: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the columns that an algorithm fixes without seeing the table, or those that the certificate tells."""
    schema = asked.schema
    known = (*schema.quasi, *schema.insensitive)
    if algorithm.name == "anatomy":
        return (known, tuple(schema.sensitive))
    if algorithm.name == "multiset":
        return tuple((name,) for name in (*known, *schema.sensitive))
    fixed = algorithm.fixed_columns(known, schema.sensitive)
    told = said.get("columns")
    found = fixed or tuple(map(_names, told if isinstance(told, list) else ()))
    if found:
        return tuple(found)
    raise ParameterError(
        "the columns of the release are not known",
        hint="keep its certificate beside it, or name them: --algorithm slicing:l=5,columns=age+sex|zipcode+disease",
    )
