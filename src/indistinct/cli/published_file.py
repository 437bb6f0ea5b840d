"""A published file as a model and a metric look at it: its roles, whatever form its ranges have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.cli.flags import (
    hierarchies_of,
    models_of,
    opened_table,
    reading_options,
    refuse_beside_policy,
    schema_of,
)
from indistinct.cli.screen import note
from indistinct.errors import ParameterError
from indistinct.schema import Schema, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from indistinct.algorithms.base import Algorithm
    from indistinct.hierarchy import Hierarchy
    from indistinct.models import Model
    from indistinct.policy import Policy

COMPANIONS = ("_mean", "_missing")
BOUNDS = ("_min", "_max", "_missing")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about a published file: the roles before publishing, models, and how to read."""

    schema: Schema
    models: "tuple[Model, ...]"
    hierarchies: "Mapping[str, Hierarchy]"
    target: str | None
    reading: Mapping[str, Any]
    original_reading: Mapping[str, Any]
    policy: "Policy | None" = None
    algorithm: "Algorithm | None" = None

    def opened(self, path: Path) -> "pa.Table":
        """Return a published table, which may lack some of the columns that are read as text."""
        from indistinct.tables.opening import columns_in

        how = dict(self.reading)
        if how["text"]:
            shown = columns_in(path, delimiter=how["delimiter"], encoding=how["encoding"]) if path.is_file() else ()
            how["text"] = [name for name in how["text"] if name in shown]
        return opened_table(path, how).data


def question(
    policy_path: Path | None,
    roles: Mapping[str, Any],
    models: Sequence[str] | None,
    *,
    hierarchies: Sequence[str] | None,
    target: str | None,
    reading: Mapping[str, Any],
    algorithm: str | None = None,
) -> Question:
    """Return what flags and, if there is one, a policy ask; the flag --model replaces the policy's models."""
    how = reading_options(**reading)
    from indistinct.policy import predicted_column, read_policy
    from indistinct.registry import parse_algorithm

    if policy_path is None:
        schema = schema_of(**roles)
        _check_text(how["text"], schema)
        asked = models_of(models) if models else ()
        predicted = predicted_column(target, (), schema=schema)
        made = parse_algorithm(algorithm) if algorithm else None
        return Question(schema, asked, hierarchies_of(hierarchies), predicted, how, how, algorithm=made)
    given = {f"--{name}": value for name, value in roles.items()}
    refuse_beside_policy({**given, "--hierarchy": hierarchies, "--target": target, "--algorithm": algorithm})
    policy = read_policy(policy_path)
    first = {key: getattr(policy.input, key) for key in ("delimiter", "encoding", "missing", "text")}
    _check_text(how["text"], policy.schema)
    how = {**how, "text": tuple(dict.fromkeys((*how["text"], *policy.input.text)))}
    asked = models_of(models) if models else policy.models
    return Question(policy.schema, asked, policy.hierarchies, policy.target, how, first, policy, policy.algorithm)


def _check_text(names: Sequence[str], schema: Schema) -> None:
    for name in names:
        if name not in schema.columns:
            raise ParameterError(
                f"--text names the column {name!r}, which has no role",
                hint=did_you_mean(name, schema.columns) or "give the columns the roles that they had",
            )


def published_schema(schema: Schema, columns: Sequence[str]) -> Schema:
    """Return the roles of a release's columns: a range may be two bounds, a mean may stand beside it.

    >>> published_schema(Schema(identifiers=["name"], quasi=["age"]), ["age_min", "age_max"]).quasi
    ('age_min', 'age_max')
    """
    free = [name for name in columns if name not in schema.columns]
    quasi: list[str] = []
    for name in schema.quasi:
        if name in columns:
            quasi += [name, *(name + end for end in COMPANIONS if name + end in free)]
        elif all(name + end in free for end in BOUNDS[:2]):
            quasi += [name + end for end in BOUNDS if name + end in free]
        else:
            quasi.append(name)
    return replace(schema, identifiers=(), quasi=quasi)


def remarks(schema: Schema, columns: Sequence[str]) -> list[str]:
    """Return what a reader must know about the columns of a published file, given the original roles."""
    known = published_schema(schema, columns).columns
    leaked = [name for name in schema.identifiers if name in columns]
    ignored = [name for name in columns if name not in known and name not in leaked]
    found = []
    if leaked:
        found.append(f"the file shows {', '.join(map(repr, leaked))}, which has the role identifier: drop it")
    if ignored:
        found.append(f"no role is given to {', '.join(map(repr, ignored))}: the check does not look at it")
    for remark in found:
        note(remark)
    return found


def aligned(published: "pa.Table", original: "pa.Table") -> "pa.Table":
    """Return a published table whose kept columns have the original's types.

    A text file has no types: what was text may look like numbers once some rows are gone.
    """
    import pyarrow as pa

    from indistinct.domain import kind_of

    for place, field in enumerate(published.schema):
        if field.name in original.column_names:
            wanted = original.schema.field(field.name).type
            if kind_of(wanted) is not kind_of(field.type) and not pa.types.is_nested(wanted):
                plain = wanted.value_type if isinstance(wanted, pa.DictionaryType) else wanted
                published = _cast(published, place, plain)
    return published


def _cast(table: "pa.Table", place: int, kind: "pa.DataType") -> "pa.Table":
    import pyarrow as pa

    column = table.column(place)
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    try:
        return table.set_column(place, table.column_names[place], column.cast(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return table
