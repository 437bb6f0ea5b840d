"""The guarantee of a release of several tables: linked anonymity, and how many rows of a person an attacker knows.

>>> parse_linked_model("linked-anonymity:k=5,l=2").spec()
'linked-anonymity:k=5,l=2'
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from indistinct.errors import ParameterError

NAME = "linked-anonymity"
ALL: Literal["all"] = "all"
MAX_ROWS_KNOWN = 3
"""Upper limit of the known rows of one person that are counted: there are too many sub-multisets of four rows."""
Known = int | Literal["all"]


@dataclass(frozen=True, slots=True)
class LinkedAnonymity:
    """At least `k` people remain for every attacker of the declared knowledge, over all tables of a release.

    With `l` at most one in `l` of these people has the same sensitive value.

    Parameters
    ----------
    k
        The smallest number of people among whom a person is hidden, at least 1.
    l
        One in `l` of them may show the same sensitive value; None leaves sensitive values unprotected.

    Examples
    --------
    >>> LinkedAnonymity(k=5, l=2).spec()
    'linked-anonymity:k=5,l=2'
    """

    k: int
    l: Fraction | int | float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ParameterError.of("LinkedAnonymity", "k", f"must be a whole number from 1; got {self.k!r}")
        if self.l is not None:
            exact = Fraction(str(self.l)) if not isinstance(self.l, bool) else Fraction(0)
            if exact < 1:
                raise ParameterError.of("LinkedAnonymity", "l", f"must be a number from 1; got {self.l!r}")
            object.__setattr__(self, "l", int(exact) if exact.denominator == 1 else exact)

    @property
    def ratio(self) -> tuple[int, int] | None:
        """Return `l` as a ratio of two integers, None without it."""
        return None if self.l is None else Fraction(self.l).as_integer_ratio()

    def spec(self) -> str:
        """Return the model as policies and flags write it."""
        return f"{NAME}:k={self.k}" + ("" if self.l is None else f",l={self.l}")


def parse_linked_model(given: "str | LinkedAnonymity") -> LinkedAnonymity:
    """Parse a model such as "linked-anonymity:k=5,l=2"."""
    if isinstance(given, LinkedAnonymity):
        return given
    name, _, rest = given.partition(":")
    hint = f'for example "{NAME}:k=5" or "{NAME}:k=5,l=2"'
    if name.strip() != NAME:
        raise ParameterError(
            f"several tables are published with the model {NAME}; got {name.strip()!r}",
            hint=f"{hint}; other models judge one table",
        )
    values: dict[str, str] = {}
    for part in filter(None, map(str.strip, rest.split(","))):
        key, _, value = map(str.strip, part.partition("="))
        if key not in ("k", "l") or key in values:
            raise ParameterError(f"{NAME} has the parameters k and l, once each; got {key!r}", hint=hint)
        values[key] = value
    if "k" not in values:
        raise ParameterError(f"{NAME} needs the parameter k", hint=hint)
    try:
        return LinkedAnonymity(int(values["k"]), Fraction(values["l"]) if "l" in values else None)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"k of {NAME} must be a whole number and l a number", hint=hint) from None


@dataclass(frozen=True, slots=True)
class KnownRows:
    """How many rows of one person an attacker may know: of each table, and of all tables together.

    Parameters
    ----------
    tables
        For each event table 0, 1, 2, 3 or "all".
    together
        Rows of all tables together, at most 3; None is the sum of the numbers, which must then be at most 3.

    Examples
    --------
    >>> KnownRows({"diagnoses": 2, "stays": "all"}).together
    2
    """

    tables: Mapping[str, Known]
    together: int | None = None

    def __post_init__(self) -> None:
        for name, known in self.tables.items():
            if known != ALL and (isinstance(known, bool) or known not in range(MAX_ROWS_KNOWN + 1)):
                raise ParameterError(
                    f'`knows` of table {name!r} must be 0, 1, 2, 3 or "all"; got {known!r}',
                    hint="state how many rows of one person an attacker may know",
                )
        total, stated = sum(known for known in self.tables.values() if known != ALL), self.together
        if stated is None:
            if total > MAX_ROWS_KNOWN:
                raise ParameterError(
                    f"attackers may know {total} rows of a person in all tables; at most {MAX_ROWS_KNOWN} are counted",
                    hint=f"state `knows_together`, at most {MAX_ROWS_KNOWN}",
                )
            object.__setattr__(self, "together", total)
        elif isinstance(stated, bool) or stated not in range(MAX_ROWS_KNOWN + 1):
            raise ParameterError(
                f"`knows_together` must be from 0 to {MAX_ROWS_KNOWN}; got {stated!r}",
                hint="it bounds the rows of one person that an attacker knows over all tables",
            )

    @property
    def rows(self) -> int:
        """Return how many rows are known at most over all tables, tables known whole aside."""
        total = sum(known for known in self.tables.values() if known != ALL)
        return total if self.together is None else min(self.together, total)

    def limits(self, names: Sequence[str]) -> list[int]:
        """Return the number of known rows of each table.

        0 for a table known completely, which divides classes instead.
        """
        return [0 if (known := self.tables[name]) == ALL else int(known) for name in names]
