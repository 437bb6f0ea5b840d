"""Every algorithm that publishes buckets × models × every check of buckets, and the edges of its input."""

import datetime

import pyarrow as pa
import pytest

from indistinct.errors import InfeasibleError, InputError
from indistinct.models import KAnonymity
from indistinct.registry import ALGORITHMS, parse_algorithm
from indistinct.schema import Schema
from indistinct.testing.checks import BUCKET_CHECKS, Case, examples, forms_of, publish_case

FORMS = [form for name in ALGORITHMS for form in forms_of(name) if parse_algorithm(form).traits.buckets]
SPECS = ["k-anonymity:k=1", "k-anonymity:k=2", "k-anonymity:k=2 & distinct-l-diversity:sensitive=disease,l=2"]


def test_every_bucket_algorithm_is_tried():
    buckets = {name for name, kind in ALGORITHMS.items() if kind.__module__.split(".")[2] == "bucket"}
    assert {form.partition(":")[0] for form in FORMS} == buckets


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("form", FORMS)
def test_checks(form, spec):
    surprises = []
    for table, case in examples(form, spec).items():
        once = publish_case(case)

        def publish(given, *, seed=None, case=case, once=once):
            """Publish anything but the case itself anew."""
            return once if given is case and seed is None else publish_case(given, seed=seed)

        for name, check in BUCKET_CHECKS.items():
            try:
                check(case, publish=publish)
            except AssertionError as error:
                surprises.append(f"{name} on {table}: {error}")
    assert not surprises


ODD = ["", " ", "a,b", '"', "{x}", "missing", "日本", "é", "🦄", "1:2", "22:2,33:1", "\n", "null", "a:b"]
ENDS = [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 0, 1, 2**53 + 1, 2**53]
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=day) for day in range(8)]
EDGES = {
    "constant": [7] * 12,
    "unique": list(range(12)),
    "missing": [1, None, 3, None, 2, None, 5, 5],
    "odd texts": ODD * 2,
    "huge": pa.array(ENDS * 2, pa.int64()),
    "dates": DAYS,
}


def edge_case(column, form):
    rows = len(column)
    table = pa.table({"a": column, "s": [f"ill {row % 4}" for row in range(rows)], "key": list(range(rows))})
    schema = Schema(quasi=["a"], sensitive=["s"], insensitive=["key"])
    return Case(table, schema, KAnonymity(1), parse_algorithm(form))


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("form", FORMS)
def test_edge(edge, form):
    case = edge_case(EDGES[edge], form)
    for name in ("bucket_columns", "bucket_metadata", "diversity", "preserved"):
        BUCKET_CHECKS[name](case)


@pytest.mark.parametrize("form", FORMS)
def test_one_row_cannot_be_diverse(form):
    with pytest.raises(InfeasibleError):
        publish_case(edge_case([5], form))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", [[1.0, float("nan"), 2.0, 3.0], [None] * 4, []])
def test_what_has_no_place_is_refused(column, form):
    with pytest.raises(InputError):
        publish_case(edge_case(pa.array(column, pa.float64()), form))
