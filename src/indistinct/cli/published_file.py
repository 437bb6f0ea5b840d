"""A published file as flags and a policy describe it: what every command about a release begins with."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.cli.flags import note_reading, policy_of, reading_of, source_of
from indistinct.cli.options import OF_RELEASE, Flags
from indistinct.cli.screen import note
from indistinct.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from indistinct.engines.base import DatabaseTable
    from indistinct.job.policy import Policy
    from indistinct.release.published import Published
    from indistinct.tables.value import Reading


def published_file(
    path: "Path | DatabaseTable",
    flags: Flags,
    *,
    policy: Path | None,
    original: Path | None,
    recoding: Path | None = None,
    by_input: bool = False,
    population: bool = False,
    trusting: bool = True,
) -> "tuple[Policy, Published]":
    """Return the policy from a file or from flags, and the published file with its roles, models and original.

    --model replaces the models of the policy. The original is `original` or, with `by_input`, the input of the policy.
    With `population`, the policy's population is read. Without `trusting`, a certificate that describes a release in
    buckets only leads to a note.
    """
    from indistinct.job.published import describe_by_policy, reading_of_release

    job = policy_of(original or path, flags, policy=policy, allowed=("model", *OF_RELEASE))
    own = _reading(job, flags, by_policy=policy is not None, original=original)
    asked = job if population else replace(job, input=replace(job.input, population=None))
    given = describe_by_policy(
        path,
        None,
        asked,
        trusting=trusting,
        original=source_of(job, flags, original) if original is not None or by_input else None,
        recoding=recoding,
        reading=reading_of_release(job.input.reading, own),
        engine=flags.engine or "auto",
        memory=flags.memory,
        database_table=flags.table,
    )
    for table in given.tables.sources.values():
        note_reading(table)
    if not trusting and given.tables.distrusted:
        note("its certificate says that the file is in buckets; name the algorithm to have it judged as such")
    return job, given


def _reading(policy: "Policy", flags: Flags, *, by_policy: bool, original: Path | None) -> "Reading":
    """Return the reading options of a published file, by flags."""
    if original is not None and not by_policy:
        # Notations are those of the original: a release is written in the plain notation of programs.
        notations = ("decimal", "thousands", "dates", "type", "skip_rows", "comment", "trim", "nameless", "version")
        flags = replace(flags, **dict.fromkeys(notations))
    own, columns = reading_of(flags), policy.schema.columns
    for name in own.text:
        if name not in columns:
            raise ParameterError(
                f"--text names the column {name!r}, which has no role",
                hint=did_you_mean(name, columns) or "give the columns the roles that they had",
            )
    return own
