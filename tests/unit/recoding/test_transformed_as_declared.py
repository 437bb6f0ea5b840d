"""A release whose columns were not transformed as declared does not hold, whoever made it."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.hierarchy.labels_of_levels import are_labels
from indistinct.recoding.transformations import parse_transformation
from indistinct.recoding.transformed_values import may_come_of
from indistinct.tables.value import Reading

RULE = "transformed-as-declared"
SCHEMA = ind.Schema(identifiers=["id"], quasi=["age"], sensitive=["s"], insensitive=["c", "day", "note"])
TREE = ind.Hierarchy.tree({"*": {"heart": ["I10", "I25"], "lung": ["J18", "J45"]}})
DECLARED = {
    "s": ind.Transformation(level=1),
    "c": ind.Transformation(round=50, top=220),
    "day": ind.Transformation(truncate="month"),
    "note": ind.Transformation(clear=True),
}
MODEL = ind.KAnonymity(3)


def stays(rows=40):
    return pa.table(
        {
            "id": [str(row) for row in range(rows)],
            "age": [20 + row % 4 for row in range(rows)],
            "s": [("I10", "I25", "J18", "J45")[row // 4 % 4] for row in range(rows)],
            "c": [row * 7.7 for row in range(rows)],
            "day": [date(2024, 1 + row % 3, 1 + row % 28) for row in range(rows)],
            "note": [f"call the son of {row}" if row % 2 else None for row in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def release():
    return ind.anonymize(stays(), SCHEMA, model=MODEL, hierarchies={"s": TREE}, transformations=DECLARED, seed=1)


def broken(table, **options):
    """Return the rules that a published table breaks, and what is said of it."""
    options = {"transformations": DECLARED, "hierarchies": {"s": TREE}, **options}
    certificate = ind.verify(table, SCHEMA, MODEL, **options)
    return [each.model for each in certificate.verdicts if not each.holds], "; ".join(certificate.warnings)


def with_raw(release, name):
    """Return a release in which one column stands as it stood in the original."""
    raw = stays()[name]
    return release.table.set_column(release.table.column_names.index(name), name, raw)


def test_a_release_that_was_transformed_holds(release, tmp_path):
    assert [each.model for each in release.certificate.verdicts] == ["k-anonymity:k=3", RULE]
    assert broken(release.table)[0] == []
    assert broken(release.table, original=stays())[0] == []
    for suffix in ("csv", "parquet"):
        release.write(tmp_path / f"out.{suffix}")
        for engine in ("memory", "duckdb"):
            assert broken(tmp_path / f"out.{suffix}", engine=engine)[0] == [], (suffix, engine)
    release.write_recoding(tmp_path / "recoding.json")
    by_recoding = {"transformations": None, "hierarchies": None, "recoding": tmp_path / "recoding.json"}
    assert broken(release.table, **by_recoding)[0] == []
    assert broken(with_raw(release, "c"), **by_recoding)[0] == [RULE]


@pytest.mark.parametrize("name", ["s", "c", "day", "note"])
def test_a_raw_column_is_told_without_its_values(release, name, tmp_path):
    table = with_raw(release, name)
    assert ind.verify(table, SCHEMA, MODEL).holds  # where nothing is declared, nothing is promised
    pq.write_table(table, tmp_path / "raw.parquet")
    pc.write_csv(table, tmp_path / "raw.csv")
    for place in (table, tmp_path / "raw.parquet", tmp_path / "raw.csv"):
        rules, told = broken(place)
        assert rules == [RULE]
        assert f"column {name!r} was not transformed as declared" in told
        assert f"cannot come of {DECLARED[name].spec()!r}" in told
        assert not any(value in told for value in ("I10", "7.7", "call the son", "2024-01-02"))
    assert broken(tmp_path / "raw.csv", engine="duckdb")[0] == [RULE]
    assert RULE not in broken(table.drop_columns([name]))[0] if name != "s" else True


def test_labels_behind_apostrophes_are_labels(tmp_path):
    """A file for a spreadsheet has them, where a label looks like a day."""
    schema = ind.Schema(quasi=["age"], insensitive=["c"])
    hierarchies, declared = {"c": ind.Hierarchy.intervals([5, 10])}, {"c": ind.Transformation(level=1)}
    table = pa.table({"age": [1] * 6, "c": [1, 2, 3, 7, 8, 9]})
    options = {"hierarchies": hierarchies, "transformations": declared}
    writing = ind.Writing(spreadsheet=True, delimiter=";")
    ind.anonymize(table, schema, model=MODEL, output=tmp_path / "out.csv", writing=writing, **options)
    assert "'5-9" in (tmp_path / "out.csv").read_text()
    assert ind.verify(tmp_path / "out.csv", schema, MODEL, **options).holds


def test_one_cell_is_enough(release):
    cells = release.table["c"].to_pylist()
    cells[7] = 51.0
    table = release.table.set_column(release.table.column_names.index("c"), "c", pa.array(cells))
    certificate = ind.verify(table, SCHEMA, MODEL, transformations=DECLARED, hierarchies={"s": TREE})
    (verdict,) = [each for each in certificate.verdicts if each.model == RULE]
    assert (verdict.holds, verdict.violating_rows) == (False, 1)
    assert "1 distinct value in 1 row cannot come of" in "; ".join(certificate.warnings)


def test_types_that_cannot_be_counted(release):
    cells = pa.array([7] * 40, pa.duration("s"))
    table = release.table.set_column(release.table.column_names.index("note"), "note", cells)
    assert broken(table)[0] == [RULE]
    nothing = pa.nulls(40, pa.duration("s"))
    table = release.table.set_column(release.table.column_names.index("note"), "note", nothing)
    assert broken(table)[0] == []


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "slicing:l=2,columns=each", "multiset:l=2"])
def test_releases_in_buckets(algorithm):
    schema = ind.Schema(identifiers=["id"], quasi=["age"], sensitive=["s"], insensitive=["c"])
    declared = {name: DECLARED[name] for name in ("s", "c")}
    options = {"hierarchies": {"s": TREE}, "transformations": declared}
    table = stays(48).select(["id", "age", "s", "c"])
    release = ind.anonymize(table, schema, algorithm=algorithm, **options)
    assert RULE in [each.model for each in release.certificate.verdicts if each.holds]
    raw = ind.anonymize(table, schema, algorithm=algorithm)
    shows = ind.BucketTable(raw.table, *told(raw), sensitive=raw.tables.get("sensitive"))
    certificate = ind.verify(shows, schema, raw.recoding.promise, **options)
    assert RULE in [each.model for each in certificate.verdicts if not each.holds]
    assert all(f"column {name!r} was not transformed" in "; ".join(certificate.warnings) for name in ("s", "c"))


def told(release):
    """Return how a release shows its buckets."""
    return release.certificate.columns, release.certificate.form


@pytest.mark.parametrize(
    ("spec", "values", "wanted"),
    [
        ("round:100", [100, -200, 0, 150], [1, 1, 1, 0]),
        ("round:100", [2**62 // 100 * 100, 2**62 + 1], [1, 0]),
        ("round:0.1", [0.1 * 3, 0.3, 12.7, 0.25, float("nan")], [1, 1, 1, 0, 1]),
        ("round:2.5", [5, 3], [1, 0]),
        ("round:100,top:450,bottom:-30", [450, -30, 400, 449, 500, -40], [1, 1, 1, 0, 0, 0]),
        ("top:90", [90, 12, 91], [1, 1, 0]),
        ("bottom:2.5", [2.5, 3.0, 2.4], [1, 1, 0]),
        ("round:0.05", [Decimal("1.05"), Decimal("1.07")], [1, 0]),
        ("round:50", ["100.0", "1e2", "120", "x", "1e999999999", "-50", "inf"], [1, 1, 0, 0, 0, 1, 1]),
        ("round:50", [date(2024, 1, 1)], [0]),
        ("truncate:month", [date(2024, 2, 1), date(2024, 2, 2), date(1931, 12, 1)], [1, 0, 1]),
        ("truncate:quarter", [date(2024, 2, 1), date(2024, 4, 1), date(1969, 10, 1)], [0, 1, 1]),
        ("truncate:year", [date(2024, 1, 1), date(2024, 4, 1)], [1, 0]),
        ("truncate:day", [datetime(2024, 1, 2), datetime(2024, 1, 2, 3)], [1, 0]),
        ("truncate:month", ["2024-02-01", "2024-02-01T00:00:00", "2024-02-01 10:00:00", "soon"], [1, 1, 0, 0]),
        ("truncate:year", [2024], [0]),
        ("clear", ["x"], [0]),
        ("clear:presence", ["present", "x"], [1, 0]),
    ],
)
def test_what_may_come_of_a_transformation(spec, values, wanted):
    assert may_come_of(parse_transformation(spec), pa.array(values)).tolist() == [bool(each) for each in wanted]


@pytest.mark.parametrize(
    ("hierarchy", "level", "labels", "others"),
    [
        (TREE, 1, ["heart", "lung"], ["I10", "*"]),
        (TREE, 2, ["*"], ["heart"]),
        (TREE, 3, [], ["*"]),
        (ind.Hierarchy.from_rows([["1", "007", "*"], ["2", "008", "*"]]), 1, ["007", "7", "8.0"], ["9"]),
        (ind.Hierarchy.masking(), 2, ["I1**", "I2**", "I**"], ["I10", "I"]),
        (ind.Hierarchy.masking(length=3), 1, ["I1*", "I*"], ["I10", "I100", "I"]),
        (ind.Hierarchy.masking("left", length=3), 1, ["*10"], ["I10"]),
        (ind.Hierarchy.masking(length=3), 3, ["*"], ["I**"]),
        (ind.Hierarchy.masking(), 3, ["*"], []),
        (ind.Hierarchy.dates(["month", "year"]), 1, ["2024-05"], ["2024-05-31", "2024-13", "*"]),
        (ind.Hierarchy.dates(["quarter", "decade"]), 2, ["2020s"], ["2024-Q1", "2025s"]),
        (ind.Hierarchy.dates(["day"]), 2, ["*"], ["2024-05-31"]),
        (ind.Hierarchy.suppression(), 1, ["*"], ["I10"]),
        (ind.Hierarchy.order(["low", "high"]), 1, ["*"], ["low"]),
        (ind.Hierarchy.intervals([5, 10]), 1, ["20-24", "[-5, -1]", "[20, 25)"], ["22", "20-29", "21-25", "*", "x"]),
        (ind.Hierarchy.intervals([5, 10]), 3, ["*"], ["20-24"]),
        (ind.Hierarchy.intervals([0.5], origin=0.25), 1, ["[0.25, 0.75)"], ["[0, 0.5)", "0.3"]),
        (ind.Hierarchy.intervals([1, 5]), 1, ["20"], ["20-24"]),
        (ind.Hierarchy.intervals(cuts=[[18, 40.5], [18]]), 1, ["<18", "18-40", ">=40.5", "[18, 40.5)"], ["17", ">=18"]),
    ],
)
def test_labels_of_levels(hierarchy, level, labels, others):
    found = are_labels(hierarchy, [*labels, *others], level=level).tolist()
    assert found == [True] * len(labels) + [False] * len(others)


HIERARCHIES = st.sampled_from(
    [
        ind.Hierarchy.intervals([2, 10]),
        ind.Hierarchy.intervals([0.5, 5], origin=-1.5),
        ind.Hierarchy.intervals(cuts=[[-3, 0.5, 7], [0.5]]),
        ind.Hierarchy.masking(),
        ind.Hierarchy.masking("left", levels=1),
        ind.Hierarchy.suppression(),
    ]
)
NUMBERS = st.one_of(
    st.lists(st.integers(-40, 40), min_size=1, max_size=12),
    st.lists(st.floats(-40, 40, allow_nan=False), min_size=1, max_size=12),
)


@settings(max_examples=60)
@given(NUMBERS, HIERARCHIES, st.integers(1, 2))
def test_every_label_that_is_published_is_one(numbers, hierarchy, level):
    """What a transformation makes is never taken for something that it does not make."""
    values = pa.array(numbers)
    given_ = ind.Transformation(level=level)
    try:
        made = shown(values, given_, {"c": hierarchy})
    except ind.InputError:
        return  # of a mask of one character there is no second level
    assert may_come_of(ind.Transformation(level=level, hierarchy=hierarchy), made).all()


@settings(max_examples=60)
@given(NUMBERS, st.sampled_from(["round:3", "round:0.1,top:12.34", "bottom:-7,top:9", "round:25,bottom:-30"]))
def test_every_number_that_is_published_may_come_of_its_transformation(numbers, spec):
    given_ = parse_transformation(spec)
    try:
        made = shown(pa.array(numbers), given_, {})
    except ind.InputError:
        return  # steps of whole numbers are whole
    assert may_come_of(given_, made).all()
    assert may_come_of(given_, made.cast(pa.string())).all()


def shown(values, transformation, hierarchies):
    schema = ind.Schema(quasi=["age"], insensitive=["c"])
    table = pa.table({"age": np.ones(len(values)), "c": values})
    return (
        ind.transform(table, schema, {"c": transformation}, hierarchies=hierarchies).data["c"].combine_chunks().unique()
    )


@pytest.mark.parametrize(("mark", "wanted"), [(".", {"4800", "-100", "0", ""}), (",", {"4800", "-100", "0", ""})])
def test_numbers_rounded_to_whole_ones_are_written_without_a_decimal_mark(mark, wanted, tmp_path):
    """The numbers verify against the original, and Parquet keeps their type."""
    cost = [(4812.5, -99.75, -0.2, None)[row % 4] for row in range(40)]
    table = pa.table({"age": [20 + row % 4 for row in range(40)], "c": cost, "h": [row + 0.25 for row in range(40)]})
    schema = ind.Schema(quasi=["age"], insensitive=["c", "h"])
    declared = {"c": ind.Transformation(round=100), "h": ind.Transformation(round=0.5)}
    released = ind.anonymize(table, schema, model=MODEL, transformations=declared, seed=1)
    place = tmp_path / "out.csv"
    released.write(place, writing=ind.Writing(delimiter=";", decimal=mark))
    lines = [line.split(";") for line in place.read_text(encoding="utf-8").splitlines()[1:]]
    assert {line[1] for line in lines} == wanted
    assert all(mark in line[2] for line in lines), "a step of a half leaves a decimal"
    reading = Reading(delimiter=";", decimal=mark)
    certificate = ind.verify(place, schema, MODEL, transformations=declared, original=table, reading=reading)
    assert certificate.holds, certificate.warnings
    released.write(tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").field("c").type == pa.float64()
