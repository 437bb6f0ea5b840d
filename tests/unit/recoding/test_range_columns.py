"""Ranges as columns of every type of number: the ends are inside, and nothing is rounded away from a value."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind

TENTHS = [step / 10 for step in range(1, 13)]
HUGE = [2**64 - 2, 2**64 - 3, 2**63, 2**63 - 1, 0, 5, 2**53 + 1, 2**53]
NUMBERS = {
    "uint64": pa.array(HUGE * 6, pa.uint64()),
    "int64": pa.array([2**63 - 2, -(2**63), 2**62 + 1, 2**62, 0, -1] * 6, pa.int64()),
    "neighbours": pa.array([2**60 + step for step in (0, 1, 3, 4, 6, 7, 9, 10)] * 6, pa.int64()),
    "int8": pa.array([-128, -127, -1, 0, 1, 126, 127] * 6, pa.int8()),
    "decimal": pa.array([Decimal(2**40 + step) / 100 for step in range(9)] * 6, pa.decimal128(30, 2)),
    "float32": pa.array(np.array(TENTHS * 6, np.float32)),
    "float16": pa.array(np.array(TENTHS * 6, np.float16)),
}
WIDTHS = {"uint64": [8, 2**40], "int64": [8, 2**40], "neighbours": [2**10], "int8": [100, 200], "decimal": [5, 10]}
WAYS = ["mondrian", "mondrian:extent=region", "optimal", "mdav"]


@pytest.mark.parametrize("algorithm", WAYS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_every_value_lies_between_the_ends_of_its_class(kind, algorithm):
    table = pa.table({"x": NUMBERS[kind], "row": np.arange(len(NUMBERS[kind]))})
    schema = ind.Schema(quasi=["x"], insensitive=["row"])
    asked = {"model": "k-anonymity:k=9", "algorithm": algorithm, "seed": 1}
    hierarchies = {"x": ind.Hierarchy.intervals(WIDTHS.get(kind, [0.2]))} if algorithm == "optimal" else {}
    labels, columns = (
        ind.anonymize(table, schema, **asked, hierarchies=hierarchies, ranges=form) for form in ("labels", "columns")
    )
    assert columns.certificate.classes == labels.certificate.classes
    values = table["x"].to_pylist()
    for row in columns.table.to_pylist():
        low, high, value = row["x_from"], row["x_to"], values[row["row"]]
        assert low is None or low <= value
        assert high is None or value <= high
    for release in (labels, columns):
        kept = ind.published(release.table, schema, original=table, hierarchies=hierarchies)
        assert ind.verify(kept, model="k-anonymity:k=9").holds
        assert ind.scan(release.table, original=table, schema=schema, hierarchies=hierarchies).clean
