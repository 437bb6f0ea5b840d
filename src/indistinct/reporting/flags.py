"""The flags of the command line that make a release again which no policy describes, as far as they are known."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from indistinct.release.pseudonym_columns import Pseudonym
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
    schema, model = subject.schema, subject.model
    roles = {
        "identifier": schema.identifiers,
        "quasi": schema.quasi,
        "sensitive": schema.sensitive,
        "insensitive": schema.insensitive,
        "person": schema.person,
    }
    judging = [f"--{role} {quote(_listed(names))}" for role, names in roles.items() if names]
    missing = []
    for name, hierarchy in subject.hierarchies.items():
        spec = _spec(hierarchy.to_json())
        if spec is None:
            missing.append(f"the hierarchy of {name}, which no flag spells")
        else:
            judging.append(f"--hierarchy {quote(f'{name}={spec}')}")
    judging += [] if model is None else [f"--model {quote(part.spec())}" for part in model.parts()]
    missing += ["the model"] if model is None else []
    return _with_search(subject, judging, missing)


def _with_search(subject: Subject, judging: list[str], missing: list[str]) -> FlagsOfRelease:
    """Return flags with how the release was searched for, and what was done to other columns."""
    made_by = spell(subject.algorithm) if subject.algorithm is not None else None
    named = subject.told.get("algorithm") or made_by
    judging = [*judging, *(f"--transform {quote(f'{name}={spec}')}" for name, spec in subject.transformations.items())]
    declared = subject.declared if isinstance(subject.declared, Mapping) else {}
    judging += pseudonym_flags(declared)
    making = list(judging)
    if named:
        making.append(f"--algorithm {quote(str(named))}")
    else:
        missing.append("the algorithm")
    unknown = [name for name in subject.pseudonyms if name not in declared]
    missing += [f"the key or the choice of the pseudonyms of {name}" for name in unknown]
    if subject.recoding is None:
        missing.append("the share of rows that may be suppressed")
    elif subject.recoding.suppression:
        making.append(f"--suppression {subject.recoding.suppression:g}")
    if subject.in_buckets and named:
        judging = [*judging, f"--algorithm {quote(str(named))}"]
    return FlagsOfRelease(tuple(making), tuple(judging), tuple(missing))


def pseudonym_flags(pseudonyms: Mapping[str, Pseudonym]) -> list[str]:
    """Return the flags that declare pseudonyms; a key is named by its file, and never shown."""
    told = {name: each.options() for name, each in pseudonyms.items()}
    specs = {name: each if isinstance(each, str) else ":".join(next(iter(each.items()))) for name, each in told.items()}
    return [f"--pseudonym {quote(f'{name}={spec}')}" for name, spec in specs.items()]


def _listed(names: Sequence[str]) -> str:
    """Return names as a flag takes them: separated by commas, one with a comma in double quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def _spec(told: dict[str, Any]) -> str | None:
    """Return how a flag spells a hierarchy, None for one that it cannot spell."""
    match told:
        case {"intervals": widths} if len(told) == 1:
            return f"intervals:{','.join(map(str, widths))}"
        case {"mask": side} if set(told) <= {"mask", "length"}:  # of the same values the length is the same
            return f"mask:{side}"
        case {"dates": parts} if len(told) == 1:
            return f"dates:{','.join(parts)}"
        case {"order": values} if not any("|" in str(value) for value in values):
            return f"order:{'|'.join(map(str, values))}"
        case {"suppression": True}:
            return "suppression"
        case {"file": path} if len(told) == 1:
            return f"file:{path}"
        case {"file": path, "header": True} if len(told) == 2:
            return f"header:{path}"
    return None
