"""What it costs to assess a table, against the GROUP BY that counts its cells."""

from collections.abc import Iterator

import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.engines import count_source
from indistinct.frequencies.request import Request

TWICE, REPEAT = 2.0, 7


def risk_lines(rows: int) -> Iterator[Line]:
    """Quasi-identifiers alone, and with what classes tell of a sensitive column; each against counting the same."""
    table = pq.read_table(census(rows))
    others = [name for name in table.column_names if name not in QUASI]
    for sensitive in ([], others):
        schema = ind.Schema(quasi=QUASI, sensitive=sensitive, insensitive=[] if sensitive else others)
        request = Request(QUASI, tuple((name,) for name in sensitive))

        def assess(schema: ind.Schema = schema) -> None:
            ind.assess(ind.open(table), schema)

        def count(request: Request = request) -> None:
            count_source(ind.open(table), request)

        assess()  # compiles
        what = f"assess, {len(QUASI)} columns" + (f", {len(sensitive)} sensitive" if sensitive else "")
        yield Line(what, best(assess, repeat=REPEAT), "GROUP BY of the same columns", best(count, repeat=REPEAT), TWICE)
