"""`indistinct verify`: a model judges a published file, whoever made it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.buckets import bucket_file
from indistinct.cli.flags import opened_table
from indistinct.cli.published_file import Question, aligned, published_schema, question, remarks
from indistinct.cli.screen import groups, note, number, print_json, show, verdict_table
from indistinct.errors import InputError, ParameterError, VerificationError

if TYPE_CHECKING:
    from indistinct.release.certificate import Certificate


def command(
    published: Annotated[Path, typer.Argument(metavar="PUBLISHED", help="The published table.")],
    policy: options.PolicyFile = None,
    original: options.Original = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    insensitive: options.Insensitive = None,
    identifier: options.Identifier = None,
    model: options.Models = None,
    algorithm: options.MadeBy = None,
    hierarchy: options.Hierarchies = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    text: options.TextColumns = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
) -> None:
    """Check whether a published table satisfies a model: exit 0 if it does, 4 if it does not or shows an identifier.

    Roles and models come from a policy or from flags; --model replaces the policy's models. A release in buckets is its
    own model: p(t, s) is recomputed from it and, where the certificate says that they are needed, from the original's
    tuples.
    """
    roles = {"quasi": quasi, "sensitive": sensitive, "insensitive": insensitive, "identifier": identifier}
    asked = question(
        policy,
        roles,
        model,
        hierarchies=hierarchy,
        target=None,
        reading={"delimiter": delimiter, "encoding": encoding, "missing": missing, "text": text},
        algorithm=algorithm,
    )
    certificate, found, leaks = _verified(published, asked, original)
    _show(published, certificate, found, holds=certificate.holds and not leaks, as_json=as_json)
    if leaks or not certificate.holds:
        raise typer.Exit(VerificationError.exit_code)


def _verified(published: Path, asked: Question, original: Path | None) -> tuple["Certificate", list[str], bool]:
    """Return what holds, what a reader must know about the columns, and whether an identifier is among them."""
    from indistinct import api
    from indistinct.registry import all_of

    whole = None if original is None else opened_table(original, asked.original_reading).data
    buckets = bucket_file(published, asked, original=whole)
    if buckets is not None:
        found = remarks(asked.schema, buckets.columns)
        leaks = bool(set(asked.schema.identifiers) & set(buckets.columns))
        return buckets.verified(asked, original=whole), found, leaks
    if not asked.models:
        raise ParameterError("no model is given", hint="say what must hold, for example --model k-anonymity:k=5")
    table = asked.opened(published)
    if not table.num_rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    found = remarks(asked.schema, table.column_names)
    certificate = api.verify(
        table if whole is None else aligned(table, whole),
        published_schema(asked.schema, table.column_names),
        all_of(asked.models),
        original=whole,
        hierarchies=asked.hierarchies,
    )
    return certificate, found, bool(set(asked.schema.identifiers) & set(table.column_names))


def _show(published: Path, certificate: "Certificate", found: list[str], *, holds: bool, as_json: bool) -> None:
    for warning in certificate.warnings:
        note(warning)
    if as_json:
        document = certificate.to_json()
        print_json(
            {
                "published": str(published),
                "holds": holds,
                "rows": certificate.rows,
                "classes": certificate.classes,
                "k": certificate.smallest_class,
                "models": document["verdicts"],
                "warnings": [*found, *certificate.warnings],
                "certificate": document,
            }
        )
    else:
        show(
            f"{published}: {certificate.rows:,} rows in {groups(certificate)}, the smallest of "
            f"{number(certificate.smallest_class)}\n",
            verdict_table(certificate),
            "\nholds" if holds else "\ndoes NOT hold",
        )
