"""Parameters of models and algorithms as fields: read from their dataclasses, and put together from texts again."""

import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from fractions import Fraction
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from indistinct.errors import ParameterError
from indistinct.machine.arguments import is_required, required_fields
from indistinct.metrics import METRICS
from indistinct.recoding.columns import NumericForms
from indistinct.schema import Schema
from indistinct.text_form import parse_field, spell_value
from indistinct.web.worker import TaskError

T = TypeVar("T")
Form = Literal["number", "text", "flag", "choice", "columns", "sets"]
Texts = Mapping[str, str | bool | Sequence[str] | Sequence[Sequence[str]]]
"""What fields hold, by the name of the parameter: a text, whether it is ticked, names of columns, or sets of them."""
# Parameters that name several columns, which are ticked.
SEVERAL_COLUMNS = ("sensitive", "y")
# A parameter that names sets of columns, and the one that says the same by a number: one of them is given.
SETS, SIZE_OF_SETS = "sets", "size"
# A number with more digits counts nothing that there is.
MAX_DIGITS = 15


class FieldError(TaskError):
    """A parameter that is not what it must be; `field` is its name."""

    def __init__(self, field: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, kind="ParameterError")
        self.field = field


@dataclass(frozen=True, slots=True)
class FormField:
    """One parameter: how it is asked for, what may be chosen, and whether it must be given."""

    name: str
    form: Form
    choices: tuple[str, ...] = ()
    needed: bool = False


def form_fields(kind: type[Any], schema: Schema) -> tuple[FormField, ...]:
    """Return the parameters of a model or an algorithm, for a table with these roles.

    One that is read from a file is left out: a path is named elsewhere, where it is looked at first.

    >>> from indistinct.models import DistinctLDiversity
    >>> [each.form for each in form_fields(DistinctLDiversity, Schema(sensitive=["disease"]))]
    ['choice', 'number']
    """
    hints = get_type_hints(kind)
    parameters = (_parameter(each, hints[each.name], schema) for each in fields(kind))
    return tuple(each for each in parameters if each is not None)


def _parameter(field: Field[Any], hint: Any, schema: Schema) -> FormField | None:
    """Describe the form field of a parameter, None if it has none."""
    kind, needed = _without_none(hint), is_required(field)
    if kind is NumericForms:
        return FormField(field.name, "choice", NumericForms.choices, needed)
    if hasattr(kind, "from_text"):
        return None
    if kind is bool:
        return FormField(field.name, "flag")
    if get_origin(kind) is Literal:
        return FormField(field.name, "choice", get_args(kind), needed)
    if get_origin(kind) is tuple and field.name in SEVERAL_COLUMNS:
        names = schema.sensitive if field.name == "sensitive" else [*schema.hidden, *schema.sensitive]
        return FormField(field.name, "columns", tuple(names), needed)
    if get_origin(kind) is tuple and field.name == SETS:
        return FormField(field.name, "sets", tuple(schema.quasi), needed)
    if kind is int or kind is float or Fraction in get_args(kind):
        return FormField(field.name, "number", (), needed)
    if field.name in ("sensitive", "target"):
        if field.name == "sensitive":
            return FormField(field.name, "choice", tuple(schema.sensitive), needed=True)
        return FormField(field.name, "choice", ("", *schema.sensitive, *schema.insensitive), needed)
    if field.name == "metric":
        # Every metric is a dataclass; one that needs an input, such as a file, cannot be chosen here.
        ready = [name for name, each in METRICS.items() if not required_fields(each)]
        return FormField(field.name, "choice", tuple(ready), needed)
    return FormField(field.name, "text", (), needed)


def _without_none(hint: Any) -> Any:
    """Return a type without None; where texts are among several types, they are what is written."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    kinds = [each for each in get_args(hint) if each is not type(None)]
    return str if str in kinds else kinds[0] if len(kinds) == 1 else hint


def default_texts(kind: Any) -> dict[str, Any]:
    """Return the default texts of the fields of a model or an algorithm.

    >>> from indistinct.models import TCloseness
    >>> default_texts(TCloseness)
    {'sensitive': '', 'distance': 'equal'}
    """
    return {each.name: _text(each.default, each.name) for each in fields(kind) if not is_required(each)}


def texts_of(value: Any) -> dict[str, Any]:
    """Return the texts of the fields of a model or an algorithm.

    >>> from indistinct.models import TCloseness
    >>> texts_of(TCloseness("disease", t=0.2))
    {'sensitive': 'disease', 't': '0.2', 'distance': 'equal'}
    """
    return {each.name: _text(getattr(value, each.name), each.name) for each in fields(value)}


def _text(value: Any, name: str) -> Any:
    """Return the text of a parameter's value as its field shows it."""
    if isinstance(value, bool) or (isinstance(value, tuple) and name in (*SEVERAL_COLUMNS, SETS)):
        return value
    if value is None:
        return ""
    if isinstance(value, tuple):
        return spell_value(value)
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def write_text(texts: Texts, name: str, text: Any) -> dict[str, Any]:
    """Return the texts after one field was changed; sets and their size replace each other.

    What is written may be a function of what the field holds.

    >>> write_text({"k": "5", "size": "2", "sets": ()}, "sets", (("age", "sex"),))
    {'k': '5', 'size': '', 'sets': (('age', 'sex'),)}
    """
    given = text(texts.get(name, ())) if callable(text) else text
    written = {**texts, name: given}
    if name == SETS and given and SIZE_OF_SETS in texts:
        written[SIZE_OF_SETS] = ""
    if name == SIZE_OF_SETS and given and SETS in texts:
        written[SETS] = ()
    return written


def build_value(kind: type[T], texts: Texts, *, schema: Schema, kept: Any = None) -> T:
    """Build a model or an algorithm from fields; raise `FieldError` for the first invalid one.

    What no field shows is taken from `kept`.
    """
    given: dict[str, Any] = {}
    parameters = {each.name: each for each in form_fields(kind, schema)}
    for each in fields(kind):  # type: ignore[arg-type]  # what is registered is a dataclass
        if each.name not in parameters:
            if kept is not None:
                given[each.name] = getattr(kept, each.name)
        elif each.name in texts:
            value = _value(kind, parameters[each.name], texts[each.name])
            if value is not MISSING:
                given[each.name] = value
        elif parameters[each.name].needed:
            _value(kind, parameters[each.name], "")
    try:
        return kind(**given)
    except ParameterError as error:
        raise _field_error(error) from None


def _value(kind: type[Any], parameter: FormField, text: Any) -> Any:
    """Parse the text of a field; MISSING if it is empty and optional."""
    if isinstance(text, bool):
        return text
    if parameter.form == "columns":
        names = tuple(text)
        if parameter.needed and not names:
            raise FieldError(parameter.name, "choose at least one column")
        return names
    if parameter.form == "sets":
        return tuple(map(tuple, text))
    if not text.strip():
        if not parameter.needed:
            return MISSING
        missing = "choose a column" if parameter.name == "sensitive" else f"{parameter.name} must be given"
        raise FieldError(parameter.name, missing)
    try:
        return parse_field(text, kind, parameter.name, what="parameter")
    except ParameterError as error:
        raise _field_error(error, parameter.name) from None


def _field_error(error: ParameterError, name: str = "") -> FieldError:
    """Convert a parameter error to one shown at its field, which already names the parameter.

    >>> _field_error(ParameterError.of("KAnonymity", "k", "must be at least 1; got 0")).message
    'k must be at least 1; got 0'
    """
    message = error.message if error.problem is None else f"{error.parameter} {error.problem}"
    return FieldError(error.parameter or name, message, hint=error.hint)


def parse_whole(text: Any, *, what: str) -> int:
    """Return the whole number from 1 that a text contains; raise where it is none.

    >>> parse_whole(" 20,000 ", what="it")
    20000
    """
    # A separator is followed by three digits: 2,5 does not mean 25.
    plain = re.fullmatch(r"([0-9]+)|([0-9]{1,3}(?:[, _'\u202f\u00a0][0-9]{3})+)", str(text).strip())
    digits = "" if plain is None else re.sub(r"[^0-9]", "", plain[0])
    if not digits or len(digits) > MAX_DIGITS or int(digits) < 1:
        raise TaskError(f"{what} must be a whole number of at least 1", hint="for example 20000")
    return int(digits)
