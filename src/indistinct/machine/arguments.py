"""Type checks of arguments of public functions, by their annotations: errors say what was expected and what came."""

import functools
import inspect
import re
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from indistinct.errors import ParameterError

Function = TypeVar("Function", bound=Callable[..., Any])
FURTHER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _Required:
    """The type of `REQUIRED`, as help() shows it."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED: Any = _Required()
"""The default of a field that must be given, although a field before it has a default."""
MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])")
"""The module in front of the name of a class."""
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None"}


def with_checked_arguments(function: Function) -> Function:
    """Wrap a function to raise `ParameterError` for an argument whose type does not match its annotation.

    >>> def publish(rows: int, *, name: str | None = None) -> None: ...
    >>> with_checked_arguments(publish)("five")
    Traceback (most recent call last):
    indistinct.errors.ParameterError: `rows` of publish must be a whole number; got str
    <BLANKLINE>
    hint: see help(publish)
    """
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=each.empty if each.kind is each.VAR_KEYWORD else _ShortAnnotation.of(each.annotation))
        for each in signature.parameters.values()
    ]
    returned = _ShortAnnotation.of(signature.return_annotation)

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        _check(function, signature, _bind(function, signature, arguments, named))
        return function(*arguments, **named)

    # For help() and editors.
    checked.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=returned
    )
    return checked  # type: ignore[return-value]


class _ShortAnnotation:
    """An annotation that `help` shows without modules: `Hierarchy` in place of `indistinct.hierarchy.value.Hierarchy`.

    >>> _ShortAnnotation.of(Mapping[str, Real] | None)
    Mapping[str, Real] | None
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def of(cls, annotation: Any) -> Any:
        """Shorten an annotation; a parameter without one stays without."""
        if annotation is inspect.Parameter.empty:
            return annotation
        return cls(MODULES.sub("", inspect.formatannotation(annotation)))


class _NamesArguments(ABCMeta):
    """The type of classes whose calls raise `ParameterError` for wrong arguments; copies are not made by calls."""

    @property
    def __signature__(cls) -> inspect.Signature:  # for help() and editors
        return _signature_of(cls)

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        signature = _signature_of(cls)
        given = _bind(cls, signature, arguments, named)
        if cls.checks_types:  # type: ignore[attr-defined]
            spelled: tuple[str, ...] = cls.spelled  # type: ignore[attr-defined]
            _check(cls, signature, {name: value for name, value in given.items() if name not in spelled})
        return super().__call__(*arguments, **named)


class NamedArguments(metaclass=_NamesArguments):
    """A value whose constructor raises `ParameterError` for unknown or missing arguments."""

    __slots__ = ()
    checks_types: ClassVar[bool] = False


class CheckedArguments(NamedArguments):
    """A frozen value whose constructor raises `ParameterError` for parameters of another type than annotated.

    Parameters in `spelled` may be written in several ways, which the value itself parses.
    """

    __slots__ = ()
    checks_types: ClassVar[bool] = True
    spelled: ClassVar[tuple[str, ...]] = ()


def call_of(kind: type) -> str:
    """Return the call of a class with its required parameters, for messages.

    >>> from indistinct.models import KAnonymity
    >>> call_of(KAnonymity)
    'KAnonymity(k=…)'
    """
    needed = [each.name for each in _signature_of(kind).parameters.values() if _is_needed(each)]
    return f"{kind.__name__}({', '.join(f'{name}=…' for name in needed)})"


def is_required(field: Field[Any]) -> bool:
    """Return whether a field of a dataclass must be given."""
    return field.default is REQUIRED or (field.default is MISSING and field.default_factory is MISSING)


def required_fields(kind: Any) -> list[str]:
    """Return the names of the fields of a dataclass that must be given."""
    return [each.name for each in fields(kind) if is_required(each)]


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty or parameter.default is REQUIRED


def _bind(
    what: Callable[..., Any], signature: inspect.Signature, arguments: Sequence[Any], named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return arguments by the names of their parameters; raise `ParameterError` if they do not fit the signature."""
    try:
        given = signature.bind(*arguments, **named).arguments
    except TypeError:
        raise _explain(what, signature, arguments, named) from None
    if any(each.default is REQUIRED and each.name not in given for each in signature.parameters.values()):
        raise _explain(what, signature, arguments, named)
    return given


def _explain(
    what: Callable[..., Any], signature: inspect.Signature, arguments: Sequence[Any], named: Mapping[str, Any]
) -> ParameterError:
    """Return the error of a call whose arguments do not fit the parameters."""
    known, name = signature.parameters, what.__name__
    further = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for unknown in () if further else [each for each in named if each not in known]:
        return ParameterError(f"{name} takes no {unknown!r}", hint=_hint_for_name(what, known, unknown, named[unknown]))
    positions = [
        each.name for each in known.values() if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(arguments) > len(positions):
        counted = f"{len(positions)} argument{'' if len(positions) == 1 else 's'}"
        return ParameterError(
            f"{name} takes {counted} without a name; got {len(arguments)}",
            hint=_hint_for_place(what, known, arguments[len(positions)], named),
        )
    twice = [each for each in positions[: len(arguments)] if each in named]
    if twice:
        return ParameterError(f"`{twice[0]}` of {name} is given twice", hint="give it once, by its place or its name")
    lacking = [each for each in known.values() if _is_needed(each) and each.kind not in FURTHER]
    absent = [each.name for each in lacking if each.name not in {*positions[: len(arguments)], *named}]
    written = ", ".join([*(["…"] if arguments or named else []), *(f"{each}=…" for each in absent)])
    return ParameterError(f"{name} needs {', '.join(absent)}", hint=f"write {name}({written}); see help({name})")


def _hint_for_name(what: Callable[..., Any], known: Mapping[str, inspect.Parameter], unknown: str, value: Any) -> str:
    """Return the hint for an unknown keyword."""
    names = [each.name for each in known.values() if each.kind not in FURTHER]
    close, hints = get_close_matches(unknown, names, n=1), _hints_of(what)
    if close:
        more = None if _takes(hints.get(close[0], Any), value) else _advice(hints[close[0]], value)
        return f"did you mean {close[0]!r}?" + (f" {more}" if more else "")
    for name in names:
        for kind in _classes_in(hints.get(name, Any)):
            if is_dataclass(kind) and unknown in {field.name for field in fields(kind)}:
                return f"write {name}={kind.__name__}({unknown}=…)"
    for name in names:
        for kind in _classes_in(hints.get(name, Any)):
            made = _named_after(kind, unknown)
            if made is not None:
                written = repr(value) if isinstance(value, int | float) else "…"
                others = [f"{each}=…" for each in required_fields(made) if each != unknown]
                return f"write {name}={made.__name__}({', '.join([*others, f'{unknown}={written}'])})"
    return f"it takes {', '.join(names)}; see help({what.__name__})" if names else "it takes nothing"


def _named_after(kind: type, parameter: str) -> type | None:
    """Return the simplest kind of a value that is named after a parameter, such as k-anonymity for k."""
    known: list[type] = [kind] if issubclass(kind, NamedArguments) else []
    for each in known:
        below: list[type] = each.__subclasses__()
        known += [one for one in below if one not in known]
    named = [
        each
        for each in known
        if is_dataclass(each)
        and f"-{parameter}-" in f"-{getattr(each, 'name', '')}-"
        and parameter in required_fields(each)
    ]
    own = [each for each in named if each.__module__.startswith("indistinct.")]  # known before those of other packages
    return min(own or named, key=lambda each: (len(required_fields(each)), each.__name__), default=None)


def _hint_for_place(
    what: Callable[..., Any], known: Mapping[str, inspect.Parameter], value: Any, named: Mapping[str, Any]
) -> str:
    """Return the hint for a positional argument: the keyword for which it may be meant."""
    hints = _hints_of(what)
    fits = [
        each.name
        for each in known.values()
        if each.kind is each.KEYWORD_ONLY and each.name not in named and _takes(hints.get(each.name, Any), value)
    ]
    return f"write {fits[0]}=…" if fits else f"give others by their names; see help({what.__name__})"


def _check(what: Callable[..., Any], signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    """Raise for an argument whose type does not match its annotation."""
    hints = _hints_of(what)
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            _check_keywords(what, signature, hints.get(name), value)
        elif parameter.kind is not parameter.VAR_POSITIONAL and value is not parameter.default and name in hints:
            if not _takes(hints[name], value):
                _refuse_swapped(what, name, given, hints)
            _check_one(what, name, value, hints[name])


def _refuse_swapped(what: Callable[..., Any], name: str, given: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Raise where the value that a parameter expects was given to another one that does not accept it."""
    kinds = tuple(_classes_in(hints[name]))
    for other, value in given.items():
        if other != name and kinds and isinstance(value, kinds) and kinds[0] not in _classes_in(hints.get(other, Any)):
            raise ParameterError(
                f"`{name}` and `{other}` of {what.__name__} are swapped",
                hint=f"write {what.__name__}({', '.join(each for each in hints if each in given)})",
            )


def _check_keywords(
    what: Callable[..., Any], signature: inspect.Signature, hint: Any, given: Mapping[str, Any]
) -> None:
    """Raise for a keyword that the `TypedDict` of a function's further keywords does not name, or of a wrong type."""
    if get_origin(hint) is not Unpack:
        return
    kinds = _hints_of(get_args(hint)[0])
    for name, value in given.items():
        if name not in kinds:
            named = [each for each, about in signature.parameters.items() if about.kind not in FURTHER]
            close = get_close_matches(name, [*named, *kinds], n=1)
            raise ParameterError(
                f"{what.__name__} takes no {name!r}",
                hint=f"did you mean {close[0]!r}?" if close else f"see help({what.__name__})",
            )
        if value is not None:  # its annotations are not available
            _check_one(what, name, value, kinds[name])


def _check_one(what: Callable[..., Any], name: str, value: Any, hint: Any) -> None:
    """Raise unless a value matches an annotation."""
    if _takes(hint, value):
        return
    for kind in get_args(hint) or (hint,):
        if hasattr(kind, "refuse_other"):  # its own constructor has a better message
            kind.refuse_other(value)
    raise ParameterError.of(
        what.__name__,
        name,
        f"must be {_words(hint)}; got {_came(value)}",
        hint=_advice(hint, value) or f"see help({what.__name__})",
    )


def _advice(hint: Any, value: Any) -> str | None:
    """Return the advice of the annotation's classes on a value of another type."""
    advised = (kind.advise(value) for kind in _classes_in(hint) if hasattr(kind, "advise"))
    return next(filter(None, advised), None)


def _classes_in(hint: Any) -> Iterator[type]:
    """Yield the classes of this package that an annotation names."""
    parts = get_args(hint)
    if isinstance(hint, type) and not parts and hint.__module__.startswith(__name__.partition(".")[0]):
        yield hint
    for part in parts:
        yield from _classes_in(part)


@functools.cache
def _hints_of(what: Callable[..., Any]) -> Mapping[str, Any]:
    return get_type_hints(what)


@functools.cache
def _signature_of(kind: type) -> inspect.Signature:
    own = inspect.signature(kind.__init__)  # type: ignore[misc]
    return own.replace(parameters=list(own.parameters.values())[1:])


def _takes(hint: Any, value: Any) -> bool:
    """Return whether an annotation accepts the type of a value; annotations that cannot be checked accept all."""
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
    if origin is tuple:  # values convert what they get to tuples
        listed = hasattr(value, "__iter__") and not isinstance(value, str | bytes)
        several = (parts[0] is str or get_origin(parts[0]) is tuple) and isinstance(value, list | tuple)
        return listed and (not several or all(hasattr(each, "__iter__") for each in value))
    plain = hint if origin is None else origin
    if plain in (int, float):
        return isinstance(value, Integral if plain is int else Real) and not isinstance(value, bool)
    return plain is Any or not isinstance(plain, type) or isinstance(value, plain)


def _words(hint: Any) -> str:
    """Return the meaning of an annotation in words."""
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
    """Return the type of a value and of its elements, for messages; the value itself is not shown."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    inside = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    kinds = dict.fromkeys(type(each).__name__ for each in inside)
    return type(value).__name__ + (f" of {', '.join(kinds)}" if kinds else "")
