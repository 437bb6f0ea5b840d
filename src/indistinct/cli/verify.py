"""`indistinct verify`: a model judges a published file, whoever made it."""

from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import data_of, no_model
from indistinct.cli.options import DATABASE, ENGINE, READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import report
from indistinct.cli.published_file import published_file
from indistinct.errors import VerificationError


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
) -> None:
    """Check whether a published table satisfies a model: exit 0 if it does, 4 if it does not.

    It does not hold either if it shows an identifier, or if the certificate beside it is that of another file. Roles
    and models come from a policy or from flags; --model replaces the policy's models. A release in buckets must keep
    what its algorithm promises: p(t, s) is recomputed from it and, where it is given, from the original's tuples.
    People, where a column tells them apart, are counted on the original; --recoding says where rows went if labels do
    not. Pseudonyms, of which --pseudonym or the policy tells, are judged by what they link, and people are counted by
    them where there is no original, which is transformed as the release was. Models that compare with a population
    count it again, by what the labels cover or by the recoding.
    """
    if policy is None and not flags.model and not flags.algorithm:
        raise no_model()
    from indistinct.release.promise import promised_model
    from indistinct.release.writing.places import place_at
    from indistinct.study.summary import Summary
    from indistinct.study.verify import verify

    place = data_of(published, flags)
    job, given = published_file(
        place, flags, policy=policy, original=original, recoding=recoding, population=True, trusting=False
    )
    certificate = verify(given, model=promised_model(job.model, job.algorithm, job.schema))
    summary = Summary(
        {"published": place_at(place).name},
        certificate.rows,
        certificate.original_rows,
        certificate.form,
        certificate,
        schema=job.schema,
    )
    report(summary, as_json=flags.as_json)
    if not certificate.holds:
        raise typer.Exit(VerificationError.exit_code)
