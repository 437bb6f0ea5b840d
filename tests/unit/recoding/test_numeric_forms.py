"""Forms of numbers by column: how they are spelled, what a release shows, and who is refused."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import ParameterError
from indistinct.recoding.columns import INTERVALS, NumericForms, numeric_forms
from indistinct.text_form import spell

SCHEMA = ind.Schema(quasi=["age", "hours", "day", "town"], sensitive=["ill"])
ROWS = 90


@pytest.fixture(scope="module")
def people():
    """Numbers with and without missing values, dates, and names that look like formulas and marks."""
    dice = np.random.default_rng(3)
    days = pa.array(dice.integers(10_000, 12_000, ROWS).astype(np.int32)).cast(pa.date32())
    hours = [None if dice.random() < 0.2 else float(hour) / 2 for hour in dice.integers(0, 90, ROWS)]
    return pa.table(
        {
            "age": dice.integers(-3, 80, ROWS),
            "hours": pa.array([-0.0, *hours[1:]], pa.float64()),
            "day": days,
            "town": dice.choice(["*", "=x", "Oslo"], ROWS),
            "ill": dice.choice(["flu", "cold"], ROWS),
        }
    )


def released(people, algorithm="mondrian", **more):
    return ind.anonymize(people, SCHEMA, model="k-anonymity:k=6", algorithm=algorithm, seed=1, **more)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("interval", {}),
        ("mean", {"age": "mean", "day": "mean"}),
        ("age=mean", {"age": "mean", "day": "interval"}),
        ("bounds|age=mean", {"age": "mean", "day": "bounds"}),
        ('"a=b|c"=mean|day=interval+mean', {"a=b|c": "mean", "day": "interval+mean"}),
    ],
)
def test_a_text_spells_forms_and_is_spelled_again(text, forms):
    made = NumericForms.from_text(text)
    assert {name: made.of(name) for name in forms} == forms
    assert str(made) == text
    algorithm = ind.Mondrian(numeric=made)
    assert parse_algorithm(spell(algorithm)) == algorithm


def test_the_order_of_columns_and_what_all_have_say_nothing():
    one, other = numeric_forms({"a": "mean", "b": "bounds"}), numeric_forms("b=bounds|a=mean|c=interval")
    assert one == other
    assert hash(one) == hash(other)
    assert one != numeric_forms("mean")
    assert one != "a=mean|b=bounds"
    assert not numeric_forms({"a": "interval"})
    assert numeric_forms(None) == INTERVALS
    assert spell(ind.Mondrian(numeric={"a": "interval"})) == "mondrian"


@pytest.mark.parametrize("wrong", ["median", "mean|bounds", "age=", "=mean", "age=mean|age=mean", "", {"age": "x"}, 3])
def test_what_is_no_form_is_refused(wrong):
    with pytest.raises(ParameterError, match="must be one of interval, interval\\+mean, bounds, mean") as raised:
        ind.Mondrian(numeric=wrong)
    assert raised.value.hint


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:relaxed=true", "mondrian:choose=loss", "mdav"])
def test_each_column_has_its_form(people, algorithm):
    release = released(people, algorithm, numeric={"age": "mean", "day": "bounds", "hours": "interval+mean"})
    table = release.table
    assert table.column_names == ["age", "hours", "hours_mean", "day_min", "day_max", "town", "ill"]
    assert table["age"].type == pa.float64()
    assert table["day_min"].type == pa.date32()
    assert release.certificate.holds
    plain = released(people, algorithm)
    assert release.certificate.classes >= plain.certificate.classes
    means = sum(np.asarray(table["age"]))
    assert means == pytest.approx(sum(np.asarray(people["age"])))


def test_columns_that_are_not_named_have_the_form_of_the_algorithm(people):
    names = released(people, "mondrian:numeric=bounds", numeric={"age": "interval"}).table.column_names
    assert names == ["age", "hours_min", "hours_max", "hours_missing", "day_min", "day_max", "town", "ill"]


def test_the_certificate_names_the_forms_and_queries_read_them(people):
    release = released(people, numeric={"age": "mean"})
    assert release.certificate.algorithm == 'mondrian:numeric="age=mean"'
    assert ind.query(release, "SELECT COUNT(*) WHERE day > DATE '1990-01-01'").high <= ROWS
    with pytest.raises(ind.InputError, match="'age' is published as means"):
        ind.query(release, "SELECT COUNT(*) WHERE age > 20")
    labels = {entry.label for entry in ind.intervals(release).of("day")}
    assert labels == set(release.table["day"].cast(pa.string()).to_pylist())


def test_a_recoding_is_applied_with_its_forms(people):
    release = released(people, numeric={"age": "bounds"})
    again = ind.apply(release.recoding, people, model="k-anonymity:k=6", seed=1)
    assert again.table.column_names == release.table.column_names
    assert sorted(map(str, again.table.to_pylist())) == sorted(map(str, release.table.to_pylist()))


def test_duckdb_publishes_the_same(people, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people, path, row_group_size=17)
    forms = {"age": "mean", "day": "bounds"}
    memory, beyond = released(people, numeric=forms), released(path, numeric=forms, engine="duckdb")
    assert sorted(map(str, memory.table.to_pylist())) == sorted(map(str, beyond.table.to_pylist()))


def test_a_release_is_verified_from_its_file(people, tmp_path):
    path = tmp_path / "release.csv"
    released(people, numeric={"age": "mean", "day": "bounds"}, output=path)
    policy = {"model": "k-anonymity:k=6"}
    schema = ind.Schema(quasi=["age", "hours", "day_min", "day_max", "town"], sensitive=["ill"])
    assert ind.verify(ind.published(path, schema=schema, **policy)).holds


@pytest.mark.parametrize(
    ("algorithm", "numeric", "words"),
    [
        ("mondrian", {"town": "mean"}, "'town', which is not published as ranges"),
        ("mondrian", {"ill": "mean"}, "'ill', which is not a quasi-identifier"),
        ("mondrian", {"aeg": "mean"}, "not a quasi-identifier"),
        ("auto", {"age": "mean"}, "auto does not"),
        ("datafly", {"age": "mean"}, "datafly does not"),
        ("mondrian", {"age": "median"}, "must be one of"),
    ],
)
def test_what_cannot_be_published_is_refused(people, algorithm, numeric, words):
    with pytest.raises(ParameterError, match=words):
        released(people, algorithm, numeric=numeric)


def test_a_column_cut_along_its_tree_has_no_means(people):
    tree = ind.Hierarchy.masking()
    with pytest.raises(ParameterError, match="'age', which is not published as ranges"):
        released(people, numeric={"age": "mean"}, hierarchies={"age": tree})


def test_ranges_as_columns_need_ranges_in_every_column(people):
    with pytest.raises(ParameterError, match="numeric=age=bounds"):
        released(people, numeric={"age": "bounds"}, ranges="columns")
    names = released(people, numeric={"age": "interval+mean"}, ranges="columns").table.column_names
    assert {"age_from", "age_to", "age_mean"} <= set(names)


def test_one_row_has_its_forms():
    table = pa.table({"n": [-0.0], "d": [datetime.date(2024, 2, 29)]})
    schema = ind.Schema(quasi=["n", "d"])
    forms = {"d": "bounds", "n": "mean"}
    made = ind.anonymize(table, schema, model="k-anonymity:k=1", algorithm="mondrian", numeric=forms)
    assert made.table.column_names == ["n", "d_min", "d_max"]
