"""Bounds contain the truth: every generated query on every kind of release.

`make queries` sets INDISTINCT_QUERIES, the number of queries altogether, and draws examples that were not drawn before.
"""

import datetime
import math
import os
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.evaluation.query.answer import answer
from indistinct.evaluation.query.query import rows_of_original, rows_of_published
from indistinct.metrics.queries.value import AllConditions, Compare, Either, IsMissing, Query, negate_condition
from references.queries import truth

# Releases are made once for several queries; so many examples of each kind.
PER_RELEASE = 8
KINDS = {
    "mondrian": {},
    "mondrian:numeric=interval+mean": {},
    "mondrian:numeric=bounds": {},
    "mondrian:extent=region": {},
    "mondrian:relaxed=true": {},
    "single-dimensional": {},
    "kaca": {},
    "optimal": {"suppression": 0.3},
    "cell-suppression": {},
    "anatomy:l=2": {},
    "multiset:l=2": {},
    "slicing:l=2": {},
    "slicing:columns=age sex|town disease,l=2": {},
}
ASKED = int(os.environ.get("INDISTINCT_QUERIES", "500"))
EXAMPLES = max(1, ASKED // (len(KINDS) * PER_RELEASE))

TOWNS = ("Aa", "Bb", "Ca", "Cb")
LEVELS = ("low", "mid", "high")
HIERARCHIES = {
    "town": ind.Hierarchy.tree({"*": {"north": ["Aa", "Bb"], "south": ["Ca", "Cb"]}}),
    "grade": ind.Hierarchy.order(LEVELS),
}
ORDERS = {"grade": LEVELS}
SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex", "town", "grade", "born"], sensitive=["disease"], insensitive=["pay"]
)
VALUES: dict[str, list[Any]] = {
    "age": [3, 20, 21, 40, -2],
    "sex": ["Female", "Male"],
    "town": [*TOWNS],
    "grade": [*LEVELS],
    "born": [datetime.date(2020, 2, day) for day in (1, 2, 14, 29)],
    "disease": ["flu", "cold", "HIV"],
    "pay": [0.5, 2.0, -1.25, 7.0],
}
FURTHER: dict[str, list[Any]] = {"age": [0, 2.5, 30], "sex": ["X"], "town": ["Zz"], "born": ["2020-02-10"], "pay": [1]}
NUMBERS, DATED = ("age", "pay"), ("born",)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(4, 12))
    quasi = draw(st.lists(st.sampled_from(SCHEMA.quasi), min_size=1, max_size=3, unique=True))
    columns: dict[str, list[Any]] = {"name": [f"n{row}" for row in range(rows)]}
    for name in (*quasi, "disease", "pay"):
        holes = [None] if name != "disease" and draw(st.integers(0, 3)) == 0 else []
        cells = draw(st.lists(st.sampled_from([*VALUES[name], *holes]), min_size=rows, max_size=rows))
        columns[name] = cells if any(cell is not None for cell in cells) else [VALUES[name][0], *cells[1:]]
    columns["disease"] = [VALUES["disease"][row % 3] for row in range(rows)]
    return pa.table(columns)


@st.composite
def comparisons(draw: st.DrawFn, names: list[str]) -> Any:
    name = draw(st.sampled_from(names))
    operator = draw(
        st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN", "NULL"])
    )
    if operator == "NULL":
        return IsMissing(name, draw(st.booleans()))
    further = FURTHER.get(name, [])
    pick = st.sampled_from([*VALUES[name], *further])
    if operator.endswith("BETWEEN"):
        return Compare(name, operator, (draw(pick), draw(pick)))
    return Compare(name, operator, tuple(draw(st.lists(pick, min_size=1, max_size=3 if "IN" in operator else 1))))


@st.composite
def queries(draw: st.DrawFn, names: list[str]) -> Query:
    parts = draw(st.lists(comparisons(names), max_size=4))
    where: Any = None
    for part in parts:
        kind = draw(st.sampled_from([AllConditions, AllConditions, Either]))
        where = part if where is None else kind((where, negate_condition(part) if draw(st.booleans()) else part))
    aggregate = draw(st.sampled_from(["COUNT", "COUNT", "SUM", "AVG", "MIN", "MAX"]))
    dated = DATED if aggregate in ("MIN", "MAX") else ()
    targets = [name for name in names if aggregate == "COUNT" or name in (*NUMBERS, *dated)]
    target = None if aggregate == "COUNT" and draw(st.booleans()) else draw(st.sampled_from(targets))
    return Query(aggregate, target, where)


def released(table: pa.Table, algorithm: str) -> Any:
    names = [name for name in SCHEMA.quasi if name in table.column_names]
    buckets = algorithm.startswith(("anatomy", "multiset", "slicing"))
    if "age sex" in algorithm:
        slices = "|".join(["+".join(names), "disease+pay"])
        algorithm = f"slicing:columns={slices},l=2"
    schema = ind.Schema(identifiers=["name"], quasi=names, sensitive=["disease"], insensitive=["pay"])
    hierarchies = {name: each for name, each in HIERARCHIES.items() if name in names and not buckets}
    if algorithm.startswith(("optimal", "cell", "kaca")):
        hierarchies |= {name: ind.Hierarchy.suppression() for name in names if name not in hierarchies}
    made = ind.anonymize(
        table,
        schema,
        model=None if buckets else ind.KAnonymity(2),
        algorithm=algorithm,
        hierarchies=hierarchies,
        seed=1,
        **KINDS.get(algorithm, {}),
    )
    return made, schema, hierarchies


@pytest.mark.parametrize("algorithm", KINDS)
# A failing case is told as it was drawn: to make one smaller would take minutes.
@settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_bounds_contain_the_truth(algorithm: str, data: st.DataObject) -> None:
    table = data.draw(tables())
    try:
        release, schema, hierarchies = released(table, algorithm)
    except ind.InfeasibleError:
        return
    rows = table.to_pylist()
    names = list(schema.published)
    asked = data.draw(st.lists(queries(names), min_size=PER_RELEASE, max_size=PER_RELEASE))
    orders = {name: order for name, order in ORDERS.items() if name in hierarchies}
    for query in asked:
        wanted = truth(rows, query, order=orders)
        check(answer(rows_of_published(ind.published(release), [query]), query), wanted)
        plain = answer(rows_of_original(table, schema, [query], orders=hierarchies), query)
        assert plain.exact
        assert near(plain.value, wanted) if wanted is not None else plain.value is None
        shown = release.table if release.buckets is None else bucket_table(release)
        check(
            answer(
                rows_of_published(ind.published(shown, schema, original=table, hierarchies=hierarchies), [query]), query
            ),
            wanted,
        )
        if not release.certificate.suppressed_rows:  # else bounds are of the published rows alone
            try:
                alone = answer(rows_of_published(ind.published(shown, schema, hierarchies=hierarchies), [query]), query)
            except ind.InputError:
                continue  # the file alone does not tell what labels stand for
            check(alone, wanted)


def bucket_table(release: Any) -> ind.BucketTable:
    apart = release.others.get("sensitive")
    buckets = release.buckets
    return ind.BucketTable(release.table, buckets.slices, buckets.form, apart, buckets.generalized)


def near(one: Any, other: Any) -> bool:
    return one == pytest.approx(other, rel=1e-9, abs=1e-9) if isinstance(other, float | int) else one == other


def check(found: Any, wanted: Any) -> None:
    if found.exact:
        assert near(found.value, wanted) if wanted is not None else found.value is None, (found, wanted)
    if wanted is None:
        return
    assert found.low is not None, (found, wanted)
    small = 1e-9 if isinstance(wanted, float | int) else datetime.timedelta()
    ends = [] if found.value is None else [found.value]
    if found.low != -math.inf:
        assert all(found.low - small <= each for each in (wanted, *ends)), (found, wanted)
    if found.high != math.inf:
        assert all(each <= found.high + small for each in (wanted, *ends)), (found, wanted)


@pytest.mark.parametrize(
    "algorithm", ["mondrian", "mondrian:numeric=bounds", "mondrian:relaxed=true", "single-dimensional"]
)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_extremes_contain_the_truth_and_are_exact_where_they_say_so(algorithm: str, data: st.DataObject) -> None:
    """Of a release, of its file with the original, and of a recoding that was applied to another table."""
    table, other = data.draw(tables()), data.draw(tables())
    try:
        release, schema, hierarchies = released(table, algorithm)
    except ind.InfeasibleError:
        return
    orders = {name: order for name, order in ORDERS.items() if name in hierarchies}
    extremes = st.builds(lambda asked, kind: Query(kind, asked.target, asked.where), _of_numbers(schema), EXTREMES)
    for query in data.draw(st.lists(extremes, min_size=6, max_size=6)):
        wanted = truth(table.to_pylist(), query, order=orders)
        check(ind.query(release, query), wanted)
        check(ind.query(release.table, query, schema, original=table, hierarchies=hierarchies), wanted)
    if not release.recoding.reusable or set(other.column_names) != set(table.column_names):
        return
    try:
        again = ind.apply(release.recoding, other, suppression=0.5)
    except ind.IndistinctError:
        return
    for query in data.draw(st.lists(extremes, min_size=6, max_size=6)):
        if not again.certificate.suppressed_rows:
            check(ind.query(again, query), truth(other.to_pylist(), query, order=orders))


EXTREMES = st.sampled_from(["MIN", "MAX"])


def _of_numbers(schema: ind.Schema) -> st.SearchStrategy[Query]:
    names = list(schema.published)
    targets = [name for name in names if name in (*NUMBERS, *DATED)]
    conditions = st.one_of(st.none(), comparisons(names))
    return st.builds(lambda target, where: Query("MIN", target, where), st.sampled_from(targets), conditions)
