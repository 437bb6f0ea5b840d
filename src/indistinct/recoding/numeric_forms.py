"""Forms in which classes show numbers and dates: one for all columns, and others for single columns."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from indistinct.errors import ParameterError
from indistinct.parameters import Refused
from indistinct.recoding.columns import QuasiColumn
from indistinct.schema import did_you_mean
from indistinct.spelling import spell_value, split, unquote
from indistinct.tables.domain import Kind

NumericForm = Literal["interval", "interval+mean", "bounds", "mean"]
FORMS: tuple[NumericForm, ...] = get_args(NumericForm)
HINT = 'for example mean, or by column {"age": "mean"}, which a text spells as age=mean'


@dataclass(frozen=True, slots=True, eq=False)
class NumericForms:
    """The form of each column: that of `by_column` where the column is named there, and else the `default`.

    Spelled as "mean" for all columns, "age=mean|day=bounds" for two, and "bounds|age=mean" for both.

    >>> forms = numeric_forms({"age": "mean"})
    >>> forms.of("age"), forms.of("hours"), str(forms), str(numeric_forms("bounds|age=mean"))
    ('mean', 'interval', 'age=mean', 'bounds|age=mean')
    """

    choices: ClassVar[tuple[str, ...]] = FORMS
    default: NumericForm = "interval"
    by_column: tuple[tuple[str, NumericForm], ...] = ()

    def __bool__(self) -> bool:
        return self != INTERVALS

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, NumericForms) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        parts = [f"{spell_value(name)}={form}" for name, form in self.by_column]
        return "|".join([self.default, *parts] if self.default != "interval" or not parts else parts)

    def __repr__(self) -> str:
        return repr(self.plain)

    @property
    def _key(self) -> tuple[NumericForm, frozenset[tuple[str, NumericForm]]]:
        return self.default, frozenset(pair for pair in self.by_column if pair[1] != self.default)

    @property
    def plain(self) -> str | dict[str, str]:
        """The forms as Python writes them: a text, or a dictionary where only single columns have a form."""
        return dict(self.by_column) if self.by_column and self.default == "interval" else str(self)

    @property
    def used(self) -> frozenset[NumericForm]:
        """All forms that a column may have."""
        return frozenset({self.default, *(form for _, form in self.by_column)})

    @property
    def has_means(self) -> bool:
        """Whether some columns show means."""
        return any("mean" in form for form in self.used)

    @classmethod
    def from_text(cls, text: str) -> "NumericForms":
        """Return the forms that a text spells: `mean`, `age=mean|day=bounds` or `bounds|age=mean`."""
        return numeric_forms(text)

    def of(self, column: str) -> NumericForm:
        """Return the form of a column."""
        return dict(self.by_column).get(column, self.default)

    def with_columns(self, forms: "NumericForms") -> "NumericForms":
        """Return these forms with those of single columns in other ones."""
        return NumericForms(self.default, tuple({**dict(self.by_column), **dict(forms.by_column)}.items()))

    def check(self, columns: Collection[str]) -> None:
        """Raise `ParameterError` for a column that is not among the quasi-identifiers."""
        for name, _ in self.by_column:
            if name not in columns:
                raise ParameterError(
                    f"`numeric` names the column {name!r}, which is no quasi-identifier",
                    parameter="numeric",
                    hint=did_you_mean(name, columns) or f"the quasi-identifiers are {', '.join(columns)}",
                )

    def require_numbers(self, columns: Iterable[QuasiColumn]) -> None:
        """Raise `ParameterError` where a column with a form of its own is not published as ranges of numbers or dates.

        Those are names, declared orders, and numbers that are cut along a hierarchy.
        """
        named = dict(self.by_column)
        for column in columns:
            if column.name in named and (not column.ranged or column.domain.kind is Kind.TEXT):
                raise ParameterError(
                    f"`numeric` names the column {column.name!r}, which is not published as ranges of numbers or dates",
                    parameter="numeric",
                    hint="leave it out: names, orders and trees are published as labels",
                )


INTERVALS = NumericForms()
AnyForms = NumericForms | Mapping[str, str] | str | None
"""What `numeric_forms` takes."""


def numeric_forms(given: AnyForms) -> NumericForms:
    """Return forms of numbers as one value, given a form, a mapping of columns to forms, a text, or None."""
    try:
        return FORMS_OF_NUMBERS.normalize(given)
    except Refused as refused:
        raise ParameterError(f"`numeric` must be {refused}; got {given!r}", parameter="numeric", hint=HINT) from None


@dataclass(frozen=True, slots=True)
class _FormsOfNumbers:
    """What a parameter `numeric` accepts."""

    def normalize(self, value: Any) -> NumericForms:
        """Return the forms; raise `Refused` for anything else."""
        match value:
            case NumericForms():
                return value
            case None:
                return INTERVALS
            case str():
                return _parse(value)
            case Mapping():
                return NumericForms("interval", tuple((str(name), _form(form)) for name, form in value.items()))
            case _:
                raise _refuse()


FORMS_OF_NUMBERS = _FormsOfNumbers()


def _parse(text: str) -> NumericForms:
    default: NumericForm = "interval"
    by_column: dict[str, NumericForm] = {}
    for index, part in enumerate(split(text, "|")):
        name, *rest = (piece.strip() for piece in split(part, "="))
        if not rest and index == 0:
            default = _form(name)
        elif len(rest) == 1 and name and unquote(name) not in by_column:
            by_column[unquote(name)] = _form(rest[0])
        else:
            raise _refuse()
    return NumericForms(default, tuple(by_column.items()))


def _form(word: object) -> NumericForm:
    for form in FORMS:
        if word == form:
            return form
    raise _refuse()


def _refuse() -> Refused:
    return Refused(f"one of {', '.join(FORMS)}, or such a form for each of some columns")
