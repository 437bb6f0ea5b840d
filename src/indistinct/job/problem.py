"""What a job begins with: whether table, roles, model and hierarchies fit each other, and what a search is given."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from indistinct.algorithms.base import Algorithm, Problem
from indistinct.algorithms.registry import parse_algorithm
from indistinct.budget import AnyBudget, Budget, parse_budget
from indistinct.engines import closes_sources, open_source
from indistinct.engines.base import Source
from indistinct.errors import InputError, SchemaError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.population import with_population
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import PERSON, Key
from indistinct.hierarchy import Hierarchy
from indistinct.models import Model
from indistinct.models.of_people import people_as_rows
from indistinct.recoding.columns import columns_of
from indistinct.release.kinds import check_kinds, check_notations
from indistinct.release.promise import judging
from indistinct.release.verification.population import count_beside, using_population
from indistinct.schema import Schema, did_you_mean


@closes_sources
def problem(
    table: Any,
    schema: Schema,
    *,
    model: Model | str,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: AnyBudget = 0.0,
    algorithm: Algorithm | str | None = None,
    population: Any = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Problem:
    """Return what searches that recode are given: the cells of a table, its columns, the model and the budget.

    For those who study an algorithm: `Incognito().rounds(problem)`, `KACA().search(problem)`. Whoever publishes calls
    `anonymize`, which also applies and verifies what is found. Name the `algorithm` where it needs more than the model
    does: one that parts rows with equal values, or predicts a column. The other parameters are those of `anonymize`.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 20, 30, 30], "ill": ["flu", "cold", "flu", "flu"]})
    >>> found = problem(people, Schema(quasi=["age"], sensitive=["ill"]), model="k-anonymity:k=2", suppression="1 row")
    >>> len(found.frequencies), found.model.spec(), found.suppression
    (2, 'k-anonymity:k=2', 1)
    """
    searching = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    keys = () if searching is None else searching.keys
    counted, judge, declared = count_for_search(
        table,
        schema,
        model=judging(model, schema),
        hierarchies=hierarchies,
        keys=keys,
        joint=searching is not None and searching.traits.splits,
        population=population,
        engine=engine,
        memory=memory,
    )
    parts_rows = searching is not None and searching.traits.splits
    made = problem_of(counted, judge, declared, suppression=parse_budget(suppression), parts_rows=parts_rows)
    return made if searching is None else made.seen_by(searching)


def count_for_search(
    table: Any,
    schema: Schema,
    *,
    model: Model,
    hierarchies: Mapping[str, Hierarchy] | None,
    keys: Sequence[Key] = (),
    joint: bool = False,
    population: Any = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> tuple[Counted, Model, dict[str, Hierarchy]]:
    """Return the cells of a table, the model that judges so many rows, and the hierarchies; raise where they misfit.

    `keys` are histograms beyond those of the model, and `joint` ones are of rows.
    """
    (where, source), declared = open_source(table, engine=engine, memory=memory), dict(hierarchies or {})
    check_job(source, schema, model, declared, extra=keys)
    every = tuple(dict.fromkeys([*model.table_keys, *keys]))
    request = Request(schema.quasi, every, declared, joint=joint, person=schema.person)
    with using_population(population, model, where, source, schema=schema) as others:
        counted = count_beside(others, where, source, request=request, schema=schema)
    judge = model.sampled(counted.frequencies.members)
    check_kinds(counted, judge, known=(*declared, *source.reading.text))
    return counted, judge, declared


def check_job(
    table: Source,
    schema: Schema,
    model: Model,
    hierarchies: Mapping[str, Hierarchy],
    *,
    extra: Sequence[Key] = (),
    decided: bool = False,
) -> None:
    """Raise unless table, schema, model and hierarchies speak of the same columns; `extra` are further ones in use.

    Roles that are `decided` come with a recoding.
    """
    schema.check(table.columns, decided=decided)
    if not table.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    check_notations(table, (*schema.quasi, *schema.sensitive), hierarchies=hierarchies)
    for name in hierarchies:
        if name not in schema.columns:
            raise SchemaError(
                f"a hierarchy is given for column {name!r}, which the schema does not name",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
    for name in dict.fromkeys(name for key in extra for name in key):
        if name not in schema.columns:
            raise SchemaError(
                f"column {name!r} is to be predicted, but the schema does not name it",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
    for name in dict.fromkeys(name for key in model.table_keys for name in key if name != PERSON):
        if name not in schema.columns:
            raise SchemaError(
                f"the model {model.spec()} needs column {name!r}, which the schema does not name",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
        if name in schema.quasi:
            raise SchemaError(
                f"the model {model.spec()} protects column {name!r}, which is a quasi-identifier and will be recoded",
                hint="give the column the role sensitive",
            )


def problem_of(
    counted: Counted,
    model: Model,
    hierarchies: Mapping[str, Hierarchy],
    *,
    suppression: Budget,
    parts_rows: bool = False,
) -> Problem:
    """Return what a search is given; one that parts rows with equal values must see rows, any other may see people."""
    frequencies = counted.frequencies
    cells, judge = (frequencies, model) if parts_rows else people_as_rows(frequencies, model)
    everybody, everywhere = frequencies, None
    if counted.population is not None:
        everybody = with_population(frequencies, counted.population, absent=True)
        everywhere, _ = people_as_rows(everybody, model)
    unit = frequencies.classes.unit
    allowed = suppression.allows(frequencies.members, unit)
    if judge is not model and (not allowed or model.traits.absorbing):
        # What a search says of cells that hold people it would say of rows.
        model.check(everybody.classes.regroup(np.zeros(len(everybody), dtype=np.int32), 1))
    columns = columns_of(counted.domains, hierarchies)
    return Problem(cells, columns, judge, suppression=allowed, unit=unit, with_absent=everywhere)
