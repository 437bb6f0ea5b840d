"""Public functions name a wrong type as they name a wrong value: what was expected, and what came.

What a parameter takes is what its annotation says; recodings, algorithms, engines and models are values of a class.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from indistinct.errors import ParameterError

Function = TypeVar("Function", bound=Callable[..., Any])
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None"}


def with_checked_arguments(function: Function) -> Function:
    """Return a function that raises `ParameterError` for an argument of a type that its annotation does not name.

    >>> def publish(rows: int, *, name: str | None = None) -> None: ...
    >>> with_checked_arguments(publish)("five")
    Traceback (most recent call last):
    indistinct.errors.ParameterError: `rows` of publish must be a whole number; got str
    <BLANKLINE>
    hint: see help(publish)
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        _check(function, signature, signature.bind(*arguments, **named).arguments)
        return function(*arguments, **named)

    return checked  # type: ignore[return-value]


class CheckedArguments:
    """A frozen value whose parameters are of the types that their annotations name; `ParameterError` names others.

    What is in `spelled` may be written in several ways, which the value itself understands.
    """

    __slots__ = ()
    spelled: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """Check what is given; a copy is made without anything."""
        signature = _signature_of(cls)  # type: ignore[arg-type]
        given = signature.bind_partial(*arguments, **named).arguments
        _check(cls, signature, {name: value for name, value in given.items() if name not in cls.spelled})
        return super().__new__(cls)


def _check(what: Callable[..., Any], signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    hints = _hints_of(what)
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            _check_keywords(what, signature, hints.get(name), value)
        elif parameter.kind is not parameter.VAR_POSITIONAL and value is not parameter.default and name in hints:
            _check_one(what, name, value, hints[name])


def _check_keywords(
    what: Callable[..., Any], signature: inspect.Signature, hint: Any, given: Mapping[str, Any]
) -> None:
    """Raise for a keyword that the `TypedDict` of a function's further keywords does not name, or of another type."""
    if get_origin(hint) is not Unpack:
        return
    kinds = _hints_of(get_args(hint)[0])
    for name, value in given.items():
        if name not in kinds:
            named = [each for each, about in signature.parameters.items() if about.kind is about.KEYWORD_ONLY]
            close = get_close_matches(name, [*named, *kinds], n=1)
            raise ParameterError(
                f"{what.__name__} takes no {name!r}",
                hint=f"did you mean {close[0]!r}?" if close else f"see help({what.__name__})",
            )
        if value is not None:  # nothing is known of it
            _check_one(what, name, value, kinds[name])


def _check_one(what: Callable[..., Any], name: str, value: Any, hint: Any) -> None:
    if _takes(hint, value):
        return
    for kind in get_args(hint) or (hint,):
        if hasattr(kind, "refuse_other"):  # it has better words for what is none
            kind.refuse_other(value)
    raise ParameterError.of(
        what.__name__, name, f"must be {_words(hint)}; got {_came(value)}", hint=f"see help({what.__name__})"
    )


@functools.cache
def _hints_of(what: Callable[..., Any]) -> Mapping[str, Any]:
    return get_type_hints(what)


@functools.cache
def _signature_of(kind: type) -> inspect.Signature:
    own = inspect.signature(kind.__init__)  # type: ignore[misc]
    return own.replace(parameters=list(own.parameters.values())[1:])


def _takes(hint: Any, value: Any) -> bool:
    """Return whether an annotation names the type of a value; what cannot be looked at is taken."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_takes(part, value) for part in parts)
    if origin is Literal:
        return any(isinstance(value, type(part)) for part in parts)
    if origin is Callable:
        return callable(value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_takes(parts[1], each) for each in value.values())
    if origin is Sequence:
        listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return listed and all(_takes(parts[0], each) for each in value)
    if origin is tuple:  # values make tuples of what they get
        listed = hasattr(value, "__iter__") and not isinstance(value, str | bytes)
        several = (parts[0] is str or get_origin(parts[0]) is tuple) and isinstance(value, list | tuple)
        return listed and (not several or all(hasattr(each, "__iter__") for each in value))
    plain = hint if origin is None else origin
    if plain in (int, float):
        return isinstance(value, Integral if plain is int else Real) and not isinstance(value, bool)
    return plain is Any or not isinstance(plain, type) or isinstance(value, plain)


def _words(hint: Any) -> str:
    """Return what an annotation says, in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        words = list(dict.fromkeys(_words(part) for part in parts))
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, parts))
    if origin is Mapping:
        return "a mapping" if parts[1] is Any else f"a mapping to {_words(parts[1])}"
    if origin in (Sequence, tuple):
        return f"a list, each of which is {_words(parts[0])}"
    if origin is Callable:
        return "a function"
    if hint in WORDS:
        return WORDS[hint]
    name = getattr(hint if origin is None else origin, "__name__", str(hint))
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _came(value: Any) -> str:
    """Return the type of a value and, of one that holds others, those of these: no value itself is told."""
    inside = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    kinds = dict.fromkeys(type(each).__name__ for each in inside)
    return type(value).__name__ + (f" of {', '.join(kinds)}" if kinds else "")
