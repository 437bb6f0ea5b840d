"""A published file and the policy that it is judged by: what `verify` and `measure` begin with."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.cli.flags import note_reading, policy_of, reading_of
from indistinct.cli.options import READING, Flags
from indistinct.cli.screen import note
from indistinct.errors import InputError, ParameterError
from indistinct.schema import did_you_mean

if TYPE_CHECKING:
    from indistinct.engines.base import DatabaseTable, Source
    from indistinct.policy import Policy
    from indistinct.release.published import BucketTable, Published
    from indistinct.tables.value import Reading


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A published file, the policy that tells its roles and models, and the tables of the file."""

    policy: "Policy"
    published: "Source | BucketTable"
    opened: "Published"


def question_of(path: "Path | DatabaseTable", flags: Flags, *, policy: Path | None, original: Path | None) -> Question:
    """Return what flags and, if there is one, a policy ask about a published file; --model replaces its models."""
    from indistinct.release.published import open_published
    from indistinct.release.reading import read_release

    asked = policy_of(original or path, flags, policy=policy, beside=("model", *READING))
    how = _reading(asked, flags, by_policy=policy is not None, original=original)
    where = {"engine": flags.engine or "auto", "memory": flags.memory, "table": flags.table}
    published = read_release(path, asked.schema, algorithm=asked.algorithm, reading=how, where=where)
    opened = open_published(published, asked.schema)
    for table in opened.sources.values():
        note_reading(table)
    if opened.buckets is None and isinstance(path, Path):
        _note_buckets(path)
    return Question(asked, published, opened)


def _reading(policy: "Policy", flags: Flags, *, by_policy: bool, original: Path | None) -> "Reading":
    """Return how a published file is read: as flags say, and as text what is text in the original."""
    if original is not None and not by_policy:
        # What is said of notations is said of the original: a release is written in that of computers.
        flags = replace(flags, decimal=None, thousands=None, dates=None, type=None)
    own, columns = reading_of(flags), policy.schema.columns
    for name in own.text:
        if name not in columns:
            raise ParameterError(
                f"--text names the column {name!r}, which has no role",
                hint=did_you_mean(name, columns) or "give the columns the roles that they had",
            )
    before = policy.input.reading
    texts = (name for name, kind in before.types.items() if kind == "text")
    header = own.header or before.header
    return replace(own, header=header, text=tuple(dict.fromkeys((*own.text, *before.text, *texts))))


def _note_buckets(path: Path) -> None:
    from indistinct.release.published import buckets_told, read_certificate

    with suppress(InputError):  # whoever needs the certificate says that it cannot be read
        if buckets_told(read_certificate(path)) is not None:
            note("its certificate says that the file is in buckets; name the algorithm to have it judged as such")
