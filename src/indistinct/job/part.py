"""What finishes one part of a table: search, assignment, labels, and its rows by class.

It knows neither where the rows of a part come from nor where they go, so that the engine on this machine and a worker
of a cluster finish parts in the same way.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.algorithms.partition.by_levels import Judge, Top
from indistinct.algorithms.partition.finish_levels import Assembled, FinishedPart, assemble_parts, finish_part
from indistinct.algorithms.partition.level_columns import LevelColumn
from indistinct.frequencies.levels import MISSING, key_matrix
from indistinct.frequencies.value import Key
from indistinct.hierarchy import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.recoding.assign import assign
from indistinct.recoding.class_rows import ClassRows, gather_classes
from indistinct.recoding.outputs import MAIN, Assignment
from indistinct.recoding.summary import Style
from indistinct.schema import Schema
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class PartPlan:
    """All that finishing a part needs beside its rows.

    `keys` are the domains of what the model looks at, and `columns` those of the table in their order.
    """

    quasi: tuple[LevelColumn, ...]
    keys: Mapping[Key, Domain]
    judge: Judge
    hierarchies: Mapping[str, Hierarchy]
    style: Style
    schema: Schema
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedPart:
    """A part as it is published: its classes with their rows, and how it was cut.

    `digest` commits to the cuts and ends of its classes, and `counters` say what the search did.
    """

    classes: ClassRows
    part: FinishedPart
    digest: bytes
    counters: Counter[str]


def publish_part(plan: PartPlan, rows: pa.Table) -> PublishedPart:
    """Return the classes of the rows of one part; columns of `rows` that the plan does not know travel with them."""
    counters: Counter[str] = Counter()
    keys = key_matrix(rows, [column.keys for column in plan.quasi], range(len(plan.quasi)))
    codes = {key: domain.encode(rows[key[0]]) for key, domain in plan.keys.items()}
    part, owners = finish_part(plan.quasi, keys, codes, plan.judge, counters=counters)
    del keys, codes
    made = assemble_part(plan, part)
    assignment = assign(made.frequencies, replace(made.recoding, schema=plan.schema))
    owners = assignment.class_ids[made.cells[owners]]
    return PublishedPart(classes_of(plan, assignment, owners, rows), part, digest_part(part), counters)


def assemble_part(plan: PartPlan, part: FinishedPart) -> Assembled:
    """Return the recoding of a part."""
    alone = Top()
    # A value is missing in a column if it is in any part: what is published may have a column that says so.
    missing = [np.full(int(each.low == MISSING and not each.has_domain), MISSING, np.uint64) for each in plan.quasi]
    return assemble_parts(alone, [part], plan.quasi, hierarchies=plan.hierarchies, style=plan.style, behind=missing)


def classes_of(plan: PartPlan, assignment: Assignment, owners: Codes, rows: pa.Table) -> ClassRows:
    """Return classes with their rows, given the class of each row."""
    outputs = assignment.layout.tables[MAIN].outputs
    shown = pa.table({each.name: each.values.take(pa.array(each.codes)) for each in outputs if each.values is not None})
    names = {each.name: plan.columns.index(each.of) for each in outputs}
    recoded = {column.keys.name for column in plan.quasi}
    others = rows.select([name for name in rows.column_names if name not in recoded])
    return gather_classes(shown, owners, others, sorted(names, key=lambda name: names[name]))


def digest_part(part: FinishedPart) -> bytes:
    """Return a SHA-256 of how a part was cut, and how far its classes reach."""
    state = hashlib.sha256()
    for array in (part.axis, part.cut, part.left, part.ends.starts, part.ends.keys):
        kind = "<u8" if array.dtype == np.uint64 else "<i8"
        state.update(f"{array.shape}".encode())
        state.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return state.digest()
