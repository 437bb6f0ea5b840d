"""What can go wrong, as values: every error says what was expected, what came, and what to do.

    IndistinctError
    ├── InputError            the table, a file or a column cannot be used (exit 1)
    │   ├── SchemaError       columns and roles do not fit
    │   ├── HierarchyError    a hierarchy is broken or does not cover the data
    │   ├── UnseenValueError  a recoding meets a value that it does not know
    │   └── OriginalError     a table is not the original of the release that it is given with
    ├── PolicyError           a policy file cannot be read (exit 1)
    ├── OutputError           the release cannot be written (exit 1)
    ├── OutOfMemoryError      a step needs more memory than there is (exit 1)
    ├── MissingExtraError     an optional package is not installed (exit 1)
    ├── ParameterError        a parameter or a name is not possible (exit 2)
    ├── InfeasibleError       no release can satisfy the model (exit 3)
    └── VerificationError     a table does not satisfy the model (exit 4)

Messages name columns and numbers, never a cell's value; `values` carries those for callers who ask.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar, Self

# The part of an address before its last @, and after its ? or #: a password or a token. Addresses of databases come
# here without their password, and with the user.
_LETS_IN = re.compile(r"(\b(?!postgres)[A-Za-z][A-Za-z0-9+.-]+:/{1,3})[^\s'\"]*@")
_TOKEN = re.compile(r"(\b(?!postgres)[A-Za-z][A-Za-z0-9+.-]+:/{1,3}[^\s'\"?#]*)[?#][^\s'\"]*")


def without_secrets(message: str) -> str:
    """Return a message without the passwords and tokens of addresses in it."""
    return _TOKEN.sub(r"\1?***", _LETS_IN.sub(r"\1***@", message)) if ":/" in message else message


class IndistinctError(Exception):
    """The root of every error that this library raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, values: Sequence[Any] = (), **details: Any) -> None:
        super().__init__(without_secrets(message))
        self.message = without_secrets(message)
        self.hint = None if hint is None else without_secrets(hint)
        self.values = tuple(values)
        self.details: Mapping[str, Any] = details

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message


class InputError(IndistinctError):
    """The table, a file or a column cannot be used."""


class SchemaError(InputError):
    """Columns and roles do not fit each other or the table."""


class HierarchyError(InputError):
    """A hierarchy is broken or does not cover the data."""


class UnseenValueError(InputError):
    """A recoding meets a value, or a combination of values, that it does not know."""


class OriginalError(InputError):
    """A table is not the original of the release that it is given with."""


class PolicyError(IndistinctError):
    """A policy file cannot be read."""


class OutputError(IndistinctError):
    """The release cannot be written."""


class MissingExtraError(IndistinctError):
    """An optional package is not installed: one of an extra, or a package of its own."""

    def __init__(self, package: str, *, extra: str | None = None, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed",
            hint=f"pip install {package}" if extra is None else f'pip install "indistinct[{extra}]"',
        )


class OutOfMemoryError(IndistinctError, MemoryError):
    """A step needs more memory than there is."""


class ParameterError(IndistinctError):
    """A parameter or a name is not possible; `parameter` and `problem` say which and why, where it is one of a value.

    >>> error = ParameterError.of("KAnonymity", "k", "must be at least 1; got 0")
    >>> error.message, error.parameter, error.problem
    ('`k` of KAnonymity must be at least 1; got 0', 'k', 'must be at least 1; got 0')
    """

    exit_code = 2

    def __init__(
        self, message: str, *, parameter: str | None = None, problem: str | None = None, **details: Any
    ) -> None:
        super().__init__(message, **details)
        self.parameter, self.problem = parameter, problem

    @classmethod
    def of(cls, owner: str, parameter: str, problem: str, **details: Any) -> Self:
        """Return the error of one parameter of a model, an algorithm or another value."""
        return cls(f"`{parameter}` of {owner} {problem}", parameter=parameter, problem=problem, **details)


@dataclass(frozen=True, slots=True)
class Feasible:
    """What a table allows where it does not allow what was asked for.

    `bounds` has the value that each parameter can have: of the models that look at `column`, of any model where that is
    None, and with `of_algorithm` of the algorithm where it has such a parameter. `share` is the least suppression that
    would do.
    """

    bounds: Mapping[str, float] = field(default_factory=dict)
    column: str | None = None
    of_algorithm: bool = False
    share: float | None = None


class InfeasibleError(IndistinctError):
    """No release of this table can satisfy the model; `feasible` has values that would be possible, if known."""

    exit_code = 3

    def __init__(
        self, message: str, *, hint: str | None = None, feasible: Feasible | None = None, **details: Any
    ) -> None:
        super().__init__(message, hint=hint, **details)
        self.feasible = feasible or Feasible()


class VerificationError(IndistinctError):
    """A table does not satisfy the model that it was checked against."""

    exit_code = 4


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the nearest known name, if one is near."""
    names = list(known)
    alike = [each for each in names if each.casefold() == name.casefold()]
    near = alike or get_close_matches(name, names, n=1, cutoff=0.62)
    return f"did you mean {near[0]!r}?" if near else None
