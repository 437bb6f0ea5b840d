"""A release appears at its path only whole, and together with its certificate.

A kill at any moment leaves the old release, the new one, or a table without a certificate; never a table beside the
certificate of another. A file that is in the way is never touched unless that was asked for.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from indistinct.release.certificate import Certificate
from indistinct.release.formats import producer_for
from indistinct.release.staging import Produce, check_target, digest_of, filled, publish, stage, staging


def write_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> str:
    """Write a published table in the format that the suffix names; return the SHA-256 of the file."""
    return write_atomically(path, producer_for(table, Path(path)), overwrite=overwrite)


def write_release(
    table: pa.Table,
    certificate: Certificate,
    path: str | Path,
    *,
    others: Mapping[str, pa.Table] | None = None,
    overwrite: bool = False,
) -> Certificate:
    """Write a published table and, beside it, its certificate with the digest of the file; return the latter.

    The certificate of `release.parquet` is `release.parquet.certificate.json`; a further table that holds `sensitive`
    values is `release.sensitive.parquet`. Where a release is replaced, further tables that only the old one had go too.
    """
    target, beside = Path(path), certificate_path(path)
    produce = producer_for(table, target)
    further = {name: other_path(path, name) for name in others or {}}
    for each in (target, *further.values(), beside):
        check_target(each, overwrite=overwrite)
    outdated = _outdated(target, further) if overwrite else []
    with staging() as staged:
        staged.append(stage(target, produce))
        digests = {}
        for name, part in (others or {}).items():
            staged.append(stage(further[name], producer_for(part, further[name])))
            digests[name] = staged[-1].digest
        final = replace(certificate, output_digest=staged[0].digest, other_digests=digests)
        staged.append(stage(beside, filled(final.to_text())))
        publish(staged, overwrite=overwrite, outdated=outdated)
    return final


def _outdated(target: Path, kept: Collection[str]) -> list[Path]:
    """Return the further tables of the release at a path which a new one does not have.

    Only files that the old certificate names and that are still what it says: nobody else's file is touched.
    """
    try:
        said = json.loads(certificate_path(target).read_text(encoding="utf-8"))["other_digests"]
        places = {other_path(target, name): digest for name, digest in said.items() if name not in kept}
        return [place for place, digest in places.items() if place.is_file() and digest_of(place) == digest]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def other_path(path: str | Path, name: str) -> Path:
    """Return where a further table of a release lies.

    >>> other_path("release.csv.gz", "sensitive").name
    'release.sensitive.csv.gz'
    """
    whole = Path(path)
    ending = "".join(whole.suffixes[-2:]) if whole.suffix == ".gz" else whole.suffix
    return whole.with_name(f"{whole.name.removesuffix(ending)}.{name}{ending}")


def certificate_path(path: str | Path) -> Path:
    """Return where the certificate of a release lies."""
    return Path(path).with_name(f"{Path(path).name}.certificate.json")


def write_atomically(path: str | Path, produce: Produce, *, overwrite: bool = False, private: bool = False) -> str:
    """Let `produce` fill a temporary file, then put it at `path`; return the SHA-256 of the file.

    A `private` file can be read by its owner alone. Raises `OutputError` if something is there already and `overwrite`
    is not set, or if the directory does not take the file.
    """
    target = Path(path)
    check_target(target, overwrite=overwrite)
    with staging() as staged:
        staged.append(stage(target, produce, private=private))
        publish(staged, overwrite=overwrite)
        return staged[0].digest
