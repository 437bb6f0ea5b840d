"""Models, algorithms and metrics that other packages register as entry points.

Nothing of such a package is loaded before it is asked for. It cannot replace what is built in, and one that is broken
breaks no run that does not use it.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar, get_type_hints

from indistinct.errors import ParameterError

T = TypeVar("T")


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
        found = self._load(points[0], points)
        if found.kind is None:
            raise ParameterError(
                f"{name!r} of package {found.package} cannot be used: {found.problem}",
                hint=f"repair or remove the package {found.package}; `indistinct list` shows what is broken",
            )
        return found.kind

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
