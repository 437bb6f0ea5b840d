"""Attack a release, ours or from anywhere: what an attacker would learn of the people in it."""

from collections.abc import Mapping
from typing import Any

from indistinct.algorithms.base import Algorithm
from indistinct.attacks.base import Attack, Outcome, Progress, Target
from indistinct.attacks.registry import parse_attack
from indistinct.engines import open_source
from indistinct.engines.base import Source
from indistinct.errors import ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct.models import Model
from indistinct.recoding.outputs import MAIN
from indistinct.registry import parse_algorithm, parse_model
from indistinct.release.published import Published, open_published
from indistinct.release.release import Release
from indistinct.schema import Schema, require_schema


def attack(
    attack: Attack | str,
    release: Any,
    schema: Schema | None = None,
    *,
    original: Any = None,
    external: Any = None,
    control: Any = None,
    earlier: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    model: Model | str | None = None,
    algorithm: Algorithm | str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Return what an attack on a release achieves.

    `release` is a `Release`, or a published table from anywhere with the `schema` of its original and the `hierarchies`
    that its labels come from. `external` is what the attacker knows of people, `control` has people who are not in the
    release, and `earlier` is another release about some of the same people. Raises `ParameterError` for an attack that
    does not apply, and says why.
    """
    chosen = parse_attack(attack) if isinstance(attack, str) else attack
    target = target_of(
        release,
        schema,
        original=original,
        external=external,
        control=control,
        earlier=earlier,
        hierarchies=hierarchies,
        model=model,
        algorithm=algorithm,
        seed=seed,
        progress=progress,
    )
    reason = chosen.refusal(target)
    if reason is not None:
        raise ParameterError(f"{chosen.name} does not apply to this release: {reason}")
    return chosen.run(target)


def target_of(
    release: Any,
    schema: Schema | None = None,
    *,
    original: Any = None,
    external: Any = None,
    control: Any = None,
    earlier: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    model: Model | str | None = None,
    algorithm: Algorithm | str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Target:
    """Return a release and everything that is known beside it, opened."""
    published, roles, declared = _opened(release, schema, hierarchies)
    if isinstance(release, Release):
        model = model or release.check.model
        algorithm = algorithm or release.certificate.algorithm
    return Target(
        published,
        roles,
        declared,
        original=_source(original),
        external=_source(external),
        control=_source(control),
        model=parse_model(model) if isinstance(model, str) else model,
        algorithm=parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm,
        earlier=None if earlier is None else Target(*_opened(earlier, schema or roles, hierarchies)),
        suppression=release.recoding.suppression if isinstance(release, Release) else 0.0,
        seed=seed,
        progress=progress or (lambda _share: None),
    )


def _opened(
    release: Any, schema: Schema | None, hierarchies: Mapping[str, Hierarchy] | None
) -> tuple[Published, Schema, Mapping[str, Hierarchy]]:
    """Return the tables of a release, the roles in its original, and the hierarchies of its labels."""
    if not isinstance(release, Release):
        if schema is None:
            raise ParameterError("the roles of the columns are not known", hint="pass schema=…")
        require_schema(schema)
        return open_published(release, schema), schema, dict(hierarchies or {})
    sources = {name: open_source(table)[1] for name, table in {MAIN: release.table, **release.others}.items()}
    known = {
        column.domain.column: column.hierarchy
        for column in getattr(release.recoding, "columns", ())
        if column.hierarchy is not None
    }
    published = Published(release.check.engine, sources, release.buckets)
    return published, release.check.schema, {**known, **(hierarchies or {})}


def _source(table: Any) -> Source | None:
    return None if table is None else open_source(table)[1]
