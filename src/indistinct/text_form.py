"""The text form of models, algorithms and metrics: `name:key=value,key=value`.

The keys are the fields of its dataclass, so there is one parser and no code for any one of them. Several values of one
field are joined by `|`; where each of them is a list, its values are joined by `+`. A value that holds one of
`, & | = : "`, or a `+` in such a list, or begins or ends with a space is put in double quotes, in which a quote is
written twice. If a class declares one field as `bare`, its key may be left out: `workload-error:queries.sql`.

A registry finds classes by their names, those of other packages too: it loads nothing of such a package before it is
asked for. An entry point cannot replace what is built in, and a broken one breaks no run that does not use it.
"""

import inspect
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from indistinct.errors import ParameterError, did_you_mean
from indistinct.machine.arguments import required_fields

T = TypeVar("T")


def spell(value: Any) -> str:
    """Return a value as text; fields with their default are left out.

    >>> from indistinct.models import KAnonymity
    >>> spell(KAnonymity(k=5))
    'k-anonymity:k=5'
    """
    given = [(f.name, getattr(value, f.name)) for f in fields(value) if getattr(value, f.name) != f.default]
    arguments = ",".join(f"{key}={spell_value(part)}" for key, part in given)
    return f"{value.name}:{arguments}" if arguments else str(value.name)


def name_of(text: str) -> str:
    """Return the name with which a text begins, without its parameters.

    >>> name_of("k-anonymity:k=5")
    'k-anonymity'
    """
    return text.partition(":")[0]


def arguments_of(value: Any) -> dict[str, Any]:
    """Return the parameters of a model, an algorithm or a metric, by their names.

    >>> from indistinct.models import KAnonymity
    >>> arguments_of(KAnonymity(k=5))
    {'k': 5}
    """
    return {each.name: getattr(value, each.name) for each in fields(value)}


EXAMPLES = {"k": 5, "l": 3, "t": 0.2}
"""What hints show for a parameter that must be given."""


def parse(text: str, known: Mapping[str, type[T]], *, what: str) -> T:
    """Return the value of a text, as an instance of one of the known classes."""
    name, *more = split(text.strip(), ":")
    rest = ":".join(more)
    if name not in known:
        near = (
            _with_blank(text, known)
            or _with_number(text, known)
            or _with_parameter(text, known)
            or _of_family(name, rest, known)
        )
        near = near or did_you_mean(name, known)
        raise ParameterError(f"there is no {what} {name!r}", hint=near or f"known: {', '.join(sorted(known))}")
    kind: Any = known[name]
    accepted = {f.name: f for f in fields(kind)}
    hints = get_type_hints(kind)
    given: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in split(rest, ","))):
        key, *values = (piece.strip() for piece in split(part, "="))
        bare = getattr(kind, "bare", None)
        if not values and bare is not None and bare not in given:
            key, values = bare, [part]
        if not values or key not in accepted or key in given:
            reason = "is given twice" if key in given else "is not one of its parameters"
            raise ParameterError(
                f"{key!r} in {what} {name!r} {reason}",
                hint=_with_number(text, known)
                or did_you_mean(key, accepted)
                or f"it takes: {', '.join(accepted) or 'nothing'}, as key=value",
            )
        given[key] = _value("=".join(values), hints[key], where=(f"{what} {name!r}", key))
    absent = [name for name in required_fields(kind) if name not in given]
    if absent:
        example = ",".join(
            [
                *(f"{n}={EXAMPLES.get(n, '…')}" for n in absent),
                *(f"{n}={spell_value(value)}" for n, value in given.items()),
            ]
        )
        verb = "for example" if set(absent) <= set(EXAMPLES) else "write"
        which = "the parameter" if len(absent) == 1 else "the parameters"
        raise ParameterError(f"{what} {name!r} needs {which} {', '.join(absent)}", hint=f"{verb} {name}:{example}")
    made: T = kind(**given)
    return made


def _with_blank(text: str, known: Mapping[str, type[Any]]) -> str | None:
    """Return a hint for a name and its parameters with a blank between them in place of a colon."""
    name, _, rest = text.strip().partition(" ")
    return f"write {name}:{rest.strip().replace(' ', ',')}" if name in known and "=" in rest else None


def parse_field(text: str, kind: type[Any], field: str, *, what: str) -> Any:
    """Return the value of a text for one field of a class.

    >>> from indistinct.models import KAnonymity
    >>> parse_field("5", KAnonymity, "k", what="model")
    5
    """
    name = getattr(kind, "name", kind.__name__)
    return _value(text.strip(), get_type_hints(kind)[field], where=(f"{what} {name!r}", field))


def _with_number(text: str, known: Mapping[str, type[Any]]) -> str | None:
    """Return the hint for a name with a bare number, such as k-anonymity=5, where one parameter may be meant."""
    bare = re.fullmatch(r"(.*?)\s*[ =:(]\s*([0-9.]+)\)?", text.strip())
    if bare is None or bare[1] not in known:
        return None
    needed = required_fields(known[bare[1]])
    return f"write {bare[1]}:{needed[0]}={bare[2]}" if len(needed) == 1 else None


def _with_parameter(text: str, known: Mapping[str, type[Any]]) -> str | None:
    """Return the hint for a parameter without a name before it, such as k=5: the first name that matches."""
    bare = re.fullmatch(r"([A-Za-z_]\w*)\s*=\s*([^,:=]+)", text.strip())
    if bare is None:
        return None
    taking = [name for name in known if bare[1] in {each.name for each in fields(known[name])}]
    key = bare[1]
    named = [name for name in taking if f"-{key}-" in name] or [name for name in taking if name.startswith(f"{key}-")]
    for name in (named or taking)[:1]:
        others = [other for other in required_fields(known[name]) if other != key]
        return f"write {name}:{','.join([*(f'{other}=…' for other in others), f'{bare[1]}={bare[2].strip()}'])}"
    return None


def _of_family(name: str, rest: str, known: Mapping[str, type[Any]]) -> str | None:
    """Return the hint for a name that several names share, such as l-diversity, with the usual one written out."""
    usual = known.get("distinct-l-diversity")
    if usual is None or name not in ("l-diversity", "diversity"):
        return None
    family = ("distinct-l-diversity (the usual one)", "entropy-l-diversity", "recursive-l-diversity")
    return f"there are three: {', '.join(family)}; write distinct-l-diversity:{rest or 'l=3'}"


def split(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks outside quotes.

    >>> split('a="x,y",b=2', ",")
    ['a="x,y"', 'b=2']
    """
    parts, quoted = [""], False
    for letter in text:
        quoted ^= letter == '"'
        if letter == mark and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def split_specs(text: str) -> list[str]:
    """Return the texts in a comma-separated list, although commas also separate parameters.

    Text after a comma belongs to the parameters before it if it is `key=value`, and begins a new specification
    otherwise: names never contain an equals sign, and parameters always do.

    >>> split_specs("mondrian:relaxed=true,numeric=mean,datafly")
    ['mondrian:relaxed=true,numeric=mean', 'datafly']
    """
    specs: list[str] = []
    for piece in filter(None, (part.strip() for part in split(text, ","))):
        if not re.match(r"[A-Za-z_]\w*\s*=", piece):
            specs.append(piece)
        elif not specs or ":" not in specs[-1]:
            before = f"{specs[-1]}:" if specs else "name:"
            raise ParameterError(f"the parameter {piece!r} comes before any name", hint=f"write {before}{piece}")
        else:
            specs[-1] += f",{piece}"
    return specs


def spell_value(value: Any) -> str:
    """Return the text of one value in a specification, quoted if it contains a separator.

    >>> spell_value(("a", "b,c"))
    'a|"b,c"'
    """
    if isinstance(value, tuple):
        return "|".join(_spell_inner(part) if isinstance(part, tuple) else spell_value(part) for part in value)
    if is_dataclass(value) and hasattr(value, "name"):
        value = spell(value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text != text.strip() or not text or any(mark in text for mark in ',&|=:"'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _spell_inner(values: tuple[str, ...]) -> str:
    """Return several texts as one value of a list, joined by `+`."""
    return "+".join('"' + text.replace('"', '""') + '"' if "+" in text else spell_value(text) for text in values)


def unquote(text: str) -> str:
    """Return a text without its quotes, if it has any.

    >>> unquote('"a,b"'), unquote("a")
    ('a,b', 'a')
    """
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text


def _value(text: str, kind: Any, *, where: tuple[str, str]) -> Any:
    """Return the value of a text for a field of a type; `where` is (owner, field)."""
    origin = get_origin(kind)
    if hasattr(kind, "from_text"):
        return kind.from_text(unquote(text))
    if origin in (Union, types.UnionType):
        return _value_of_union(text, get_args(kind), where=where)
    if origin is tuple:
        (inner, *_), nested = get_args(kind), get_origin(get_args(kind)[0]) is tuple
        parts = [part.strip() for part in split(text, "|")]
        if nested:
            return tuple(tuple(unquote(name.strip()) for name in split(part, "+")) for part in parts)
        return tuple(_value(part, inner, where=where) for part in parts)
    if origin is Literal or kind is str:
        return unquote(text)
    if kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ParameterError.of(*where, f"must be true or false; got {text!r}")
    if kind is int:
        try:
            return int(text)
        except ValueError:
            raise ParameterError.of(
                *where, f"must be a whole number; got {text!r}", hint=f"for example {where[1]}=5"
            ) from None
    return float(_number(text, where))


def _value_of_union(text: str, kinds: tuple[Any, ...], *, where: tuple[str, str]) -> Any:
    """Return the value of a text for a field of several types: a text, one of some words, or a number."""
    words = [word for part in kinds if get_origin(part) is Literal for word in get_args(part)]
    if str in kinds or unquote(text) in words:
        return unquote(text)
    others = [part for part in kinds if part is not type(None) and get_origin(part) is not Literal]
    try:
        return _value(text, others[0], where=where) if len(others) == 1 else _number(text, where)
    except ParameterError:
        if not words:
            raise
        raise ParameterError.of(*where, f"must be {' or '.join(words)}, or a number; got {text!r}") from None


def _number(text: str, where: tuple[str, str]) -> float | Fraction:
    try:
        return Fraction(text) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError):
        raise ParameterError.of(*where, f"must be a number; got {text!r}") from None


@dataclass(frozen=True, slots=True)
class Extension:
    """An entry point of another package: its class, or why it cannot be used."""

    name: str
    package: str
    kind: type[Any] | None
    problem: str | None


class Registry(Mapping[str, type[T]]):
    """Classes by their registered names: the built-in ones, then those of the entry points of a group.

    Built-in names are found without loading other packages. Looking up a broken entry point raises `ParameterError`.
    """

    def __init__(self, builtin: Mapping[str, type[T]], *, base: type[Any], group: str) -> None:
        self.builtin, self.base, self.group = builtin, base, group

    def __getitem__(self, name: str) -> type[T]:
        if name in self.builtin:
            return self.builtin[name]
        points = [point for point in self._points() if point.name == name]
        if not points:
            raise KeyError(name)
        kind = self._load(points[0], points)
        if kind.kind is None:
            raise ParameterError(
                f"{name!r} of package {kind.package} cannot be used: {kind.problem}",
                hint=f"repair or remove the package {kind.package}; `indistinct list` shows what is broken",
            )
        return kind.kind

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.builtin, *(point.name for point in self._points())]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def extensions(self) -> tuple[Extension, ...]:
        """Load the entry points of other packages, broken or not, by name."""
        points = self._points()
        return tuple(self._load(point, points) for point in points)

    def _points(self) -> list[EntryPoint]:
        return sorted(entry_points(group=self.group), key=lambda point: (point.name, _package(point)))

    def _load(self, point: EntryPoint, points: list[EntryPoint]) -> Extension:
        """Load the class of an entry point; an extension whose name or class cannot be used has the problem instead."""
        kind: Any = None
        rivals = [_package(other) for other in points if other.name == point.name]
        if point.name in self.builtin:
            problem: str | None = "the name is built in"
        elif len(rivals) > 1:
            problem = f"the name is registered more than once, by {' and '.join(rivals)}"
        else:
            try:
                kind = point.load()
                problem = self._unfit(kind, point.name)
            except Exception as error:  # noqa: BLE001  another package may raise anything
                problem = f"loading {point.value} fails with {type(error).__name__}: {error}"
        return Extension(point.name, _package(point), None if problem else kind, problem)

    def _unfit(self, kind: Any, name: str) -> str | None:
        """Return why a class cannot be used like a built-in one in the form `name:key=value`, None if it can."""
        wanted = f"indistinct.{self.base.__name__}"
        if not (inspect.isclass(kind) and issubclass(kind, self.base)):
            return f"it is no subclass of {wanted}"
        if inspect.isabstract(kind):
            return f"it leaves methods of {wanted} undefined"
        declared = vars(kind).get("__dataclass_params__")
        if declared is None or not declared.frozen:
            return "it is no frozen dataclass"
        if getattr(kind, "name", None) != name:
            return f"it is registered as {name!r}, but its `name` is another one"
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            return "its name is not in kebab case, such as `k-anonymity`"
        get_type_hints(kind)
        return None


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module
