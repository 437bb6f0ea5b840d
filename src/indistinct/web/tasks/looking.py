"""A first look at a table: what `inspect` says of it, and the policy to begin with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.csv

from indistinct.datasets import generate_patients
from indistinct.inspection import inspect
from indistinct.policy import Policy
from indistinct.policy.starter import starter_notes, starter_policy
from indistinct.tables import Reading
from indistinct.web.tasks.tables import opened
from indistinct.web.worker import Desk

DEMO_ROWS, DEMO_SEED = 5_000, 2026
"""The invented patients are always the same; what is published of them is shuffled anew each time."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at a path: the first policy, what is told about each column, and all figures as JSON values."""

    policy: Policy
    notes: dict[str, str]
    inspection: dict[str, Any]


def look(desk: Desk, path: Path, reading: Reading) -> Look:
    """Open a table and inspect it."""
    desk.enter("reading")
    table = opened(desk, path, reading)
    desk.report(0.3)
    desk.enter("looking at columns", f"{table.rows:,} rows")
    found = inspect(table)
    desk.report(0.9)
    policy = starter_policy(found, path, path.parent, reading=found.reading)
    return Look(policy, starter_notes(found), found.to_json(values=True))


def invent_patients(_desk: Desk, path: Path) -> Path:
    """Write a table of invented patients to a path, and return it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pyarrow.csv.write_csv(generate_patients(DEMO_ROWS, seed=DEMO_SEED), path)
    return path


def preview(desk: Desk, path: Any, reading: Reading, *, first: int = 0, rows: int = 20) -> dict[str, Any]:
    """Return some rows of a table as texts, for whoever may see them."""
    data = opened(desk, path, reading).data
    part = data.slice(first, rows)
    return {
        "columns": list(data.column_names),
        "types": [str(each) for each in data.schema.types],
        "rows": [["" if value is None else str(value) for value in row.values()] for row in part.to_pylist()],
        "of": data.num_rows,
    }
