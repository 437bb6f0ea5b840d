"""The flags of the command line that make a release again which no policy describes, as far as they are known."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from indistinct.job.as_command import (
    Flag,
    hierarchy_flags,
    pseudonym_flags,
    role_flags,
    suppression_flags,
    transformation_flags,
    words_of_unsaid,
    write_flags,
)
from indistinct.recoding.transformations import parse_transformation
from indistinct.reporting.subject import Subject
from indistinct.spelling import spell


@dataclass(frozen=True, slots=True)
class FlagsOfRelease:
    """Flags for a shell: those of `anonymize`, those of commands that judge a file, and what no flag can say."""

    making: tuple[str, ...]
    judging: tuple[str, ...]
    missing: tuple[str, ...]


def flags_of(subject: Subject) -> FlagsOfRelease:
    """Return the flags that make a release again."""
    model, recoding = subject.published.promise, subject.published.recoding
    declared = subject.declared if isinstance(subject.declared, Mapping) else {}
    transformations = {name: parse_transformation(spec) for name, spec in subject.transformations.items()}
    both = [
        *role_flags(subject.schema),
        *hierarchy_flags(subject.published.used_hierarchies, same_values=True),
        # The roles say again whether a model counts rows or people.
        *(() if model is None else (("--model", part.spec()) for part in model.parts())),
        *transformation_flags(transformations),
        *pseudonym_flags(declared),
    ]
    algorithm = _algorithm_flags(subject)
    judging = [*both, *(algorithm if subject.in_buckets else [])]
    dropped = () if recoding is None else suppression_flags(recoding.budget)
    making = [*both, *algorithm, *dropped]
    missing = {
        "the model": model is None,
        "the algorithm": not algorithm,
        **{f"the key or the choice of the pseudonyms of {name}": name not in declared for name in subject.pseudonyms},
        "how much may be suppressed": recoding is None,
    }
    unknown = (words for words, is_missing in missing.items() if is_missing)
    return FlagsOfRelease(
        tuple(write_flags(making)), tuple(write_flags(judging)), tuple(chain(words_of_unsaid(both), unknown))
    )


def _algorithm_flags(subject: Subject) -> list[Flag]:
    """Return the flag of how the release was made: as its certificate says, else as it was told."""
    made_by = subject.published.made_by
    named = subject.file_certificate.get("algorithm") or (None if made_by is None else spell(made_by))
    return [("--algorithm", str(named))] if named else []
