"""A policy as a value: which table, which roles, which model, which algorithm, and where the release goes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.hierarchy import Explicit, Hierarchy
from indistinct.metrics import Metric
from indistinct.models import Model
from indistinct.registry import all_of
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True)
class Input:
    """The file that is read, and how: what is None is found."""

    path: Path
    delimiter: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Output:
    """Where the release and its report go; the certificate lies beside the release."""

    path: Path | None = None
    report: Path | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole job.

    Paths are kept as they are written and start at `base`, the folder of the policy; `locate` resolves one.
    `suppression` is the share of the original rows that may be dropped, `label` the column of the
    classification metric, and no `metrics` means the standard ones.
    """

    input: Input
    schema: Schema
    models: tuple[Model, ...]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: float = 0.0
    algorithm: Algorithm = Mondrian()  # noqa: RUF009 (a frozen value)
    label: str | None = None
    metrics: tuple[Metric, ...] = ()
    output: Output = Output()
    base: Path = field(default=Path(), compare=False)

    @property
    def model(self) -> Model:
        """Return one model that asks for all of the policy's."""
        return all_of(self.models)

    def locate(self, path: Path) -> Path:
        """Return where a path of the policy leads."""
        return self.base / path


def rebased(policy: Policy, base: Path) -> Policy:
    """Return a policy that leads to the same files from another folder."""
    if base.resolve() == policy.base.resolve():
        return replace(policy, base=base)

    def moved(path: Path) -> Path:
        return path if path.is_absolute() else relative_path(policy.locate(path), base)

    hierarchies = {
        column: replace(hierarchy, path=moved(Path(hierarchy.path)).as_posix())
        if isinstance(hierarchy, Explicit) and hierarchy.form == "file" and hierarchy.path
        else hierarchy
        for column, hierarchy in policy.hierarchies.items()
    }
    return replace(
        policy,
        input=replace(policy.input, path=moved(policy.input.path)),
        hierarchies=hierarchies,
        output=Output(
            *(None if path is None else moved(path) for path in (policy.output.path, policy.output.report))
        ),
        base=base,
    )


def relative_path(path: Path, base: Path) -> Path:
    """Return a path as it is written in a folder, also where it has to climb up."""
    return Path(os.path.relpath(path.resolve(), base.resolve()))
