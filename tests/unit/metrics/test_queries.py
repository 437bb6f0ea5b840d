"""Queries as values, as SQL and as boxes; workloads in files; what is refused."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.query.answer import answer, answers
from indistinct.evaluation.query.query import rows_of_original, rows_of_published
from indistinct.metrics.queries import published_rows
from indistinct.metrics.queries.boxes import boxes_of
from indistinct.metrics.queries.parse import parse_query
from indistinct.metrics.queries.values import ColumnValues, LineSet
from indistinct.tables.domain import Kind

SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"])
TABLE = pa.table(
    {
        "name": [f"n{row}" for row in range(40)],
        "age": [20 + row % 13 for row in range(40)],
        "sex": ["f" if row % 3 else "m" for row in range(40)],
        "disease": [("flu", "cold", "HIV")[row % 3] for row in range(40)],
    }
)


@pytest.fixture(scope="module")
def release():
    return ind.anonymize(TABLE, SCHEMA, model=ind.KAnonymity(3), algorithm="mondrian", seed=1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*)",
        "SELECT AVG(age) WHERE sex = 'm' AND (age < 30 OR age >= 40)",
        "SELECT \"order\", COUNT(age) WHERE d BETWEEN '2020-01-01' AND '2020-02-01' GROUP BY \"order\"",
        "SELECT MAX(\"a b\") WHERE x NOT IN ('it''s', 'b') AND y IS NOT NULL AND z <> -1.5",
    ],
)
def test_a_query_is_written_as_it_is_read(sql):
    assert str(parse_query(sql)) == sql


def test_a_query_may_be_built():
    built = ind.Query("AVG", "age", where=ind.Compare("sex", "=", "m") & ~ind.IsMissing("age"))
    assert built == parse_query("select avg(age) from anything where sex = 'm' and age is not null")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(*) WHERE age IN (SELECT 1)", "a subquery"),
        ("SELECT COUNT(*) FROM a JOIN b ON a.x = b.x", "a join"),
        ("SELECT COUNT(*) GROUP BY sex HAVING COUNT(*) > 1", "HAVING"),
        ("SELECT COUNT(*) WHERE sex LIKE 'm%'", "LIKE"),
        ("SELECT COUNT(DISTINCT sex)", "DISTINCT"),
        ("SELECT COUNT(*), AVG(age)", "one aggregate"),
        ("SELECT sex, COUNT(*)", "without an aggregate"),
        ("SELECT AVG(age * 2)", "computes nothing"),
        ("SELECT MEDIAN(age)", "asks for MEDIAN, which is not among"),
        ("SELECT MEAN(age)", "asks for MEAN, which is not among"),
        ("SELECT SUM(age) + 1", "aggregates one column, without computing from it\n"),
        ("SELECT COUNT(*) WHERE age = sex", "constants"),
        ('SELECT COUNT(*) WHERE sex = "m"', "double quotes"),
        ("SELECT COUNT(*) WHERE age = NULL", "NULL"),
        ("DROP TABLE x", "one SELECT"),
        ("SELEC COUNT(", "as SQL"),
    ],
)
def test_what_a_release_is_not_asked_is_refused(sql, words):
    with pytest.raises(ind.InputError, match=words):
        parse_query(sql)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(*) WHERE name = 'n1'", "identifies people"),
        ("SELECT AVG(agee)", "does not have"),
        ("SELECT AVG(disease)", "is text"),
        ("SELECT COUNT(*) WHERE age = 'old'", "compares it with something else"),
    ],
)
def test_columns_that_cannot_be_asked_are_named(release, sql, words):
    with pytest.raises(ind.IndistinctError, match=words) as caught:
        ind.query(release, sql)
    assert caught.value.hint
    assert "old" not in str(caught.value)


def test_conditions_become_boxes_that_do_not_overlap():
    columns = {"x": ColumnValues("x", Kind.NUMBER), "y": ColumnValues("y", Kind.NUMBER)}
    halves = boxes_of(parse_query("SELECT COUNT(*) WHERE x < 5 OR x >= 5").where, columns)
    assert halves == ({"x": LineSet(((-np.inf, 0), (np.inf, 1)))},)
    one, other = boxes_of(parse_query("SELECT COUNT(*) WHERE x < 5 OR y < 5").where, columns)
    assert (one["x"] & other["x"]).empty
    assert boxes_of(parse_query("SELECT COUNT(*) WHERE x < 5 AND x > 5").where, columns) == ()


def test_too_many_boxes_are_refused():
    names = [f"x{number}" for number in range(20)]
    columns = {name: ColumnValues(name, Kind.NUMBER) for name in names}
    either = " AND ".join(f"({a} = 1 OR {b} = 1)" for a, b in zip(names[::2], names[1::2], strict=True))
    with pytest.raises(ind.InputError, match="parts"):
        boxes_of(parse_query(f"SELECT COUNT(*) WHERE {either}").where, columns)


def test_groups_are_what_published_values_cover(release):
    grouped = ind.query(release, "SELECT sex, COUNT(*) GROUP BY sex")
    assert grouped.value == 40
    assert sum(each.value for each in grouped.groups) >= 40 - 1e-9
    told = grouped.to_json()
    assert [each["group"]["sex"] for each in told["groups"]] == [each.group["sex"] for each in grouped.groups]


def test_suppressed_rows_widen_the_bounds():
    table = pa.table({"age": [20, 20, 20, 70], "pay": [1.0, 2.0, 3.0, 9.0]})
    schema = ind.Schema(quasi=["age"], insensitive=["pay"])
    hierarchies = {"age": ind.Hierarchy.intervals([5])}
    options = {"model": ind.KAnonymity(3), "algorithm": "optimal", "suppression": 0.3, "hierarchies": hierarchies}
    release = ind.anonymize(table, schema, **options)
    assert release.certificate.suppressed_rows == 1
    count = ind.query(release, "SELECT COUNT(*)")
    assert (count.value, count.low, count.high, count.exact) == (3, 3, 4, False)
    age = ind.query(release, "SELECT MAX(age)")
    assert (age.low, age.high) == (20, 70)
    pay = ind.query(release, "SELECT SUM(pay)")
    assert (pay.bounded, pay.low, pay.high) == (False, -np.inf, np.inf)
    assert pay.to_json()["high"] is None
    known = ind.query(release.table, "SELECT SUM(pay)", schema, original=table, hierarchies=hierarchies)
    assert (known.low, known.high) == (6.0, 15.0)


def test_means_alone_are_refused(release):
    made = ind.anonymize(TABLE, SCHEMA, model=ind.KAnonymity(3), algorithm="mondrian:numeric=mean", seed=1)
    with pytest.raises(ind.InputError, match="means"):
        ind.query(made, "SELECT AVG(age)")


def test_many_counts_are_those_of_single_ones(release, monkeypatch):
    """The compiled loop and the plain one agree."""
    workload = ind.Workload.generate(TABLE, SCHEMA, queries=60, attributes=2, selectivity=0.2, seed=1)
    rows = rows_of_published(ind.published(release), workload.queries)
    plain = [answer(rows, query) for query in workload.queries]
    monkeypatch.setattr(published_rows, "MIN_PAIRS_TO_COMPILE", 1)
    for one, other in zip(plain, answers(rows, workload.queries), strict=True):
        assert (one.low, one.high, one.exact) == (other.low, other.high, other.exact)
        assert other.value == pytest.approx(one.value)
        assert other.error == pytest.approx(one.error)


def test_a_workload_is_drawn_with_about_the_wanted_share():
    table = pa.table({"a": list(range(1000)), "b": [row * 7 % 1000 for row in range(1000)]})
    schema = ind.Schema(quasi=["a", "b"])
    for distribution in ("data", "uniform"):
        drawn = ind.Workload.generate(
            table, schema, queries=50, attributes=2, selectivity=0.04, distribution=distribution, seed=1
        )
        shares = [each.value / 1000 for each in answers(rows_of_original(table, schema, drawn.queries), drawn.queries)]
        assert np.mean(shares) == pytest.approx(0.04, abs=0.015)
        assert all(len(query.columns) == 2 for query in drawn.queries)
    again = ind.Workload.generate(table, schema, queries=50, selectivity=0.04, distribution="uniform", seed=1)
    assert again == drawn


@pytest.mark.parametrize(
    "options",
    [{"queries": 0}, {"attributes": 3}, {"selectivity": 0}, {"distribution": "normal"}, {"columns": ["name"]}],
)
def test_impossible_workloads_are_refused(options):
    with pytest.raises(ind.IndistinctError):
        ind.Workload.generate(TABLE, SCHEMA, **options)


@pytest.mark.parametrize(
    ("columns", "expected"), [([], "at least one column; got none"), (["age", "sex", "age"], "names 'age' twice")]
)
def test_columns_of_a_workload_are_named_once(columns, expected):
    with pytest.raises(ind.ParameterError, match=expected):
        ind.Workload.generate(TABLE, SCHEMA, columns=columns, attributes=1)


@pytest.mark.parametrize("name", ["queries.sql", "queries.csv"])
def test_a_workload_survives_its_file(tmp_path, name):
    made = ind.Workload.of(["SELECT COUNT(*) WHERE sex = 'a | b'", "SELECT AVG(age)"], weights=[2.5, 1])
    made.write(tmp_path / name)
    read = ind.Workload.read(tmp_path / name)
    assert read == made
    assert read.digest == made.digest
    assert read.weights == (2.5, 1.0)
    with pytest.raises(ind.OutputError):
        made.write(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("w.sql", "-- ours\n\nSELECT COUNT(*)\nx | SELECT COUNT(*)\n", "w.sql, line 4: expected a weight"),
        ("w.sql", "SELECT COUNT(*)\n-1 | SELECT COUNT(*)\n", "line 2: expected a weight"),
        ("w.sql", "SELECT COUNT(*)\nSELECT COUNT(*) WHERE\n", "line 2"),
        ("w.sql", "SELECT sex, COUNT(*) GROUP BY sex\n", "line 1: expected a query with one answer"),
        ("w.csv", "a,b\n1,SELECT COUNT(*)\n", "line 1: expected the columns weight and query"),
        ("w.csv", "weight,query\n1\n", "line 2: expected 2 cells"),
        ("w.sql", "\n", "no query"),
    ],
)
def test_a_malformed_workload_says_where(tmp_path, name, text, words):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ind.InputError, match=words):
        ind.Workload.read(tmp_path / name)


def test_the_errors_of_a_workload(release):
    """By hand: 40 rows, of which the release knows the number but not how many are under 21."""
    workload = ind.Workload.of(["SELECT COUNT(*)", "SELECT COUNT(*) WHERE age < 21"], weights=[3, 1])
    found = ind.workload_error(release, TABLE, workload)
    estimate = ind.query(release, "SELECT COUNT(*) WHERE age < 21").value
    off = abs(estimate - 4)
    assert found.absolute == pytest.approx(off / 4)
    assert found.relative == pytest.approx(off / 4 / 4)
    assert found.matching == pytest.approx(3 / 4 if off else 1)
    assert found.figures()["absolute"]["median"] == 0
    assert found.inside.all()
    with pytest.raises(ind.ParameterError):
        ind.workload_error(release, TABLE, workload, sanity=0)


def test_a_table_without_a_schema_is_refused():
    with pytest.raises(ind.ParameterError, match="roles"):
        ind.query(TABLE, "SELECT COUNT(*)")


CLASSES = pa.table(
    {"age": [20, 22, 24, 30, 33, 36], "zip": ["a", "a", "a", "b", "b", "b"], "ill": ["x", "y", "x", "y", "x", "y"]}
)
ROLES = ind.Schema(quasi=["age", "zip"], sensitive=["ill"])


def of_classes(algorithm="mondrian", **given):
    return ind.anonymize(CLASSES, ROLES, model="k-anonymity:k=3", algorithm=algorithm, **given)


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:numeric=bounds", "mondrian:numeric=interval+mean"])
def test_ends_of_ranges_that_occur_are_exact_extremes(algorithm, tmp_path):
    release = of_classes(algorithm)
    release.write(tmp_path / "release.csv")
    for given in (release, ind.published(tmp_path / "release.csv", ROLES, original=CLASSES)):
        for sql, truth in {
            "SELECT MAX(age)": 36,
            "SELECT MIN(age)": 20,
            "SELECT MIN(age) WHERE zip = 'b'": 30,
            "SELECT MAX(age) WHERE zip = 'a'": 24,
        }.items():
            found = ind.query(given, sql)
            assert (found.value, found.low, found.high, found.exact) == (truth, truth, truth, True), sql


def test_a_class_that_is_partly_matched_gives_bounds():
    release = of_classes()
    found = ind.query(release, "SELECT MIN(age) WHERE ill = 'y'")  # the row of 20 is ill with x
    assert not found.exact
    assert (found.low, found.high) == (20, 24)
    within = ind.query(release, "SELECT MAX(age) WHERE age >= 22")  # the first class does not reach the second
    assert (within.value, within.exact) == (36, True)
    beyond = ind.query(release, "SELECT MIN(age) WHERE age >= 22")
    assert not beyond.exact
    assert beyond.low <= 22 <= beyond.high


def test_ends_of_regions_and_of_other_tables_are_bounds():
    region = ind.query(of_classes("mondrian:extent=region"), "SELECT MAX(age)")
    assert not region.exact
    later = pa.table({"age": [21, 22, 23, 31, 33, 34], "zip": ["a"] * 3 + ["b"] * 3, "ill": ["x", "y"] * 3})
    again = ind.query(ind.apply(of_classes().recoding, later), "SELECT MAX(age)")
    assert not again.exact
    assert again.low <= 34 <= again.high
    claimed = ind.query(of_classes().table, "SELECT MAX(age)", ROLES, original=CLASSES, algorithm="mondrian")
    assert not claimed.exact  # no certificate says that this is a search on this table


def test_ranges_of_single_columns_are_attained_by_all_rows_that_show_them():
    release = of_classes("single-dimensional")
    found = ind.query(release, "SELECT MAX(age)")
    assert (found.value, found.exact) == (36, True)
    part = ind.query(release, "SELECT MAX(age) WHERE ill = 'y'")
    assert part.low <= 36 <= part.high


def test_a_mean_that_sql_does_not_have_is_written_as_avg():
    with pytest.raises(ind.InputError) as caught:
        parse_query("SELECT MEAN(age)")
    assert caught.value.hint == "write AVG"


@pytest.mark.parametrize(
    ("condition", "equal"),
    [
        ("sex = 'f'", "sex = 'f'"),
        ("sex <> 'f'", "sex = 'f'"),
        ("sex IN ('f', 'm') OR age > 30", "sex IN ('f', 'm')"),
        ("age = 21 AND NOT sex IN ('f', 'm')", "sex IN ('f', 'm')"),
        ("sex IN ('f', 'male')", None),
        ("age > 300", None),
        ("age = 21", None),
    ],
)
def test_a_value_that_no_row_has_gets_a_note(condition, equal):
    table = pa.table({"age": [21, 22, 41, 42], "sex": ["female", "female", "male", "male"]})
    schema = ind.Schema(quasi=["age", "sex"])
    release = ind.anonymize(table, schema, model=ind.KAnonymity(k=2), algorithm="mondrian")
    notes = ind.query(release, f"SELECT COUNT(*) WHERE {condition}").notes
    about = [note for note in notes if "no published row" in note]
    expected = [f"no published row can have {equal}: check how values of column 'sex' are written"] if equal else []
    assert about == expected


def test_a_star_without_count_is_named():
    with pytest.raises(ind.InputError, match=r"this one has \*") as caught:
        parse_query("SELECT * WHERE age > 30")
    assert caught.value.hint == "COUNT(*) counts rows"
