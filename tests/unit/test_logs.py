"""Loggers tell stages and counts, and never a value of the table, whatever runs and whatever fails."""

import logging
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.registry import parse_algorithm
from indistinct.hierarchy import Hierarchy

ROWS = 60
STAGES = {
    f"indistinct.{stage}" for stage in ("open", "stage", "count", "search", "publish", "write", "verify", "measure")
}


@pytest.fixture
def table() -> pa.Table:
    """Values that no message would contain by chance."""
    return pa.table(
        {
            "who": [f"Quibble-{row}x" for row in range(ROWS)],
            "age": [7_000_000 + 13 * (row % 20) for row in range(ROWS)],
            "town": [f"Zorbville{row % 5}" for row in range(ROWS)],
            "illness": [f"vexitis{row % 4}" for row in range(ROWS)],
            "remark": [f"mumblecrust {row}" for row in range(ROWS)],
        }
    )


SCHEMA = ind.Schema(identifiers=["who"], quasi=["age", "town"], sensitive=["illness"], insensitive=["remark"])
MODEL = "k-anonymity:k=4 & alpha-k:sensitive=illness,alpha=0.9,k=4,protected=vexitis1"


def values_of(table: pa.Table) -> set[str]:
    return {str(value) for name in table.column_names for value in table[name].to_pylist()}


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("indistinct")]


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "two-level", "slicing:l=2", "anatomy:l=2"])
def test_a_whole_run_logs_its_stages_and_no_value(
    table: pa.Table, algorithm: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="indistinct")
    in_buckets = parse_algorithm(algorithm).traits.buckets
    hierarchies = {"age": Hierarchy.intervals([13, 26]), "town": Hierarchy.suppression()}
    release = ind.anonymize(
        table,
        SCHEMA,
        model=None if in_buckets else MODEL,
        algorithm=algorithm,
        hierarchies=hierarchies,
        output=tmp_path / "Grumblepath.csv",
    )
    ind.measure(release)
    if not in_buckets:
        ind.verify(tmp_path / "Grumblepath.csv", SCHEMA, MODEL, original=table)
        ind.apply(release.recoding, table)
    messages = told(caplog)
    records = [record for record in caplog.records if record.name.startswith("indistinct")]
    assert {record.name for record in records} == STAGES - ({"indistinct.measure"} if in_buckets else set())
    assert any("60 rows" in message for message in messages)
    assert f"verified {ROWS} rows in {release.certificate.classes} classes: holds" in messages
    leaks = [(value, message) for value in values_of(table) for message in messages if value in message]
    assert leaks == []
    assert not any("Grumblepath" in message for message in messages)


def test_a_run_that_fails_logs_no_value_either(table: pa.Table, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="indistinct")
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=4", algorithm="mondrian")
    strange = table.set_column(2, "town", pa.array(["Xyzzyburg"] * ROWS))
    with pytest.raises(ind.IndistinctError):
        ind.apply(release.recoding, strange)
    with pytest.raises(ind.InfeasibleError):
        ind.anonymize(table, SCHEMA, model="k-anonymity:k=4000")
    assert not [message for message in told(caplog) for value in (*values_of(table), "Xyzzyburg") if value in message]


def test_nobody_hears_anything_unless_a_program_asks_for_it() -> None:
    code = (
        "import logging, indistinct as ind, pyarrow as pa\n"
        "assert [type(h) for h in logging.getLogger('indistinct').handlers] == [logging.NullHandler]\n"
        "ind.anonymize(pa.table({'age': [1, 2, 3, 4]}), ind.Schema(quasi=['age']), model=ind.KAnonymity(2))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")
