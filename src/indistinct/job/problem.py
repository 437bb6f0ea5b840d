"""What a job begins with: whether table, roles, model and hierarchies fit each other, and what a search is given."""

from collections.abc import Mapping, Sequence

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.budget import Budget
from indistinct.engines.base import Source
from indistinct.errors import InputError, SchemaError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.population import with_population
from indistinct.frequencies.value import PERSON, Key
from indistinct.hierarchy import Hierarchy
from indistinct.models import Model
from indistinct.models.of_people import people_as_rows
from indistinct.recoding.columns import columns_of
from indistinct.release.kinds import check_notations
from indistinct.schema import Schema, did_you_mean


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
