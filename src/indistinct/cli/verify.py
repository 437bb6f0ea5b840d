"""`indistinct verify`: check whether a published file of any tool satisfies a privacy model."""

from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import data_of, is_linked, no_model
from indistinct.cli.linked import verify_linked
from indistinct.cli.options import DATABASE, ENGINE, READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import report
from indistinct.cli.published_file import published_file
from indistinct.errors import ParameterError, VerificationError


@share_options(
    *(*ROLES, "model", "algorithm", "hierarchy", "transform", "pseudonym", "population"),
    *(*READING, *DATABASE, *ENGINE, *SCREEN),
    algorithm=MadeBy,
)
def command(
    published: Annotated[str, typer.Argument(metavar="PUBLISHED", help="The published table, or its database.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    recoding: options.RecodingFile = None,
    originals: Annotated[
        bool, typer.Option("--originals", help="Several tables: also compare with the originals of the policy.")
    ] = False,
) -> None:
    """Check whether a published table satisfies a privacy model: exit 0 if it does, 4 if it does not.

    Also fails for a published identifier and for a certificate of another file. Roles and models come from a policy or
    from flags; --model replaces the policy's models. A bucketized or sliced release must satisfy its algorithm's
    guarantee.

    With a person ID give --original too: people are counted there. Add --recoding if two published labels could cover
    the same row.

    With a policy of several tables, PUBLISHED is the folder of a release; --originals also looks for the original of
    every published person.
    """
    if policy is not None and is_linked(policy):
        verify_linked(Path(published), policy, flags, originals=originals, original=original, recoding=recoding)
        return
    if originals:
        raise ParameterError("--originals goes with a policy of several tables", hint="name one table with --original")
    if policy is None and not flags.model and not flags.algorithm:
        raise no_model(published=True)
    from indistinct.evaluation.summary import Summary
    from indistinct.evaluation.verify import verify
    from indistinct.release.promise import promised_model
    from indistinct.release.writing.places import place_at

    published_at = data_of(published, flags)
    job, given = published_file(
        published_at, flags, policy=policy, original=original, recoding=recoding, population=True, trusting=False
    )
    certificate = verify(given, model=promised_model(job.model, job.algorithm, job.schema))
    summary = Summary(
        {"published": place_at(published_at).name},
        certificate.rows,
        certificate.original_rows,
        certificate.form,
        certificate,
        schema=job.schema,
    )
    report(summary, as_json=flags.as_json)
    if not certificate.holds:
        raise typer.Exit(VerificationError.exit_code)
