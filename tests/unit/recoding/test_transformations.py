"""Transformations: what is published of columns that no recoding touches, and what cannot be done to them."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines.base import transformed_source
from indistinct.errors import HierarchyError, InputError, ParameterError, SchemaError
from indistinct.recoding.kinds import digest
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.recoding.transformations import parse_transformation
from indistinct.release.pseudonyms.making import require_rows_here

SCHEMA = ind.Schema(identifiers=["id"], quasi=["age"], sensitive=["s"], insensitive=["c"])


def shown(values, transformation, hierarchy=None):
    """Return what is published of a column."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({"id": range(len(array)), "age": [1] * len(array), "s": ["x"] * len(array), "c": array})
    hierarchies = {} if hierarchy is None else {"c": hierarchy}
    return ind.transform(table, SCHEMA, {"c": transformation}, hierarchies=hierarchies).data["c"].to_pylist()


@pytest.mark.parametrize(
    ("values", "spec", "wanted"),
    [
        ([149, 150, 250, -150, None], "round:100", [100, 200, 200, -200, None]),
        ([12.34, 0.25, 0.35, None], "round:0.1", [12.3, 0.2, 0.4, None]),
        ([1, 5, 99, None], "top:50,bottom:2", [2, 5, 50, None]),
        ([149.0, 9_999.0], "round:100,top:1000", [100.0, 1000.0]),
        ([-0.01], "round:1", [0.0]),
        ([Decimal("12.34"), Decimal("99.99"), None], "round:0.5,top:50", [Decimal("12.50"), Decimal("50.00"), None]),
        ([date(2024, 5, 31), None], "truncate:month", [date(2024, 5, 1), None]),
        ([date(2024, 5, 31)], "truncate:quarter", [date(2024, 4, 1)]),
        ([date(2024, 5, 31)], "truncate:year", [date(2024, 1, 1)]),
        ([datetime(2024, 5, 31, 23, 59)], "truncate:day", [date(2024, 5, 31)]),
        (["a secret", "", None], "clear", [None, None, None]),
        (["a secret", "", None], "clear:presence", ["present", "present", None]),
        ([1, None], "clear", [None, None]),
    ],
)
def test_what_is_published(values, spec, wanted):
    assert shown(values, parse_transformation(spec)) == wanted
    coded = pa.array(values)
    if pa.types.is_string(coded.type):
        assert shown(coded.dictionary_encode(), parse_transformation(spec)) == wanted


def test_moments_fall_on_the_day_of_their_own_clock():
    late = pa.array([datetime(2024, 5, 31, 23, 30, tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin"))
    assert shown(late, ind.Transformation(truncate="month")) == [date(2024, 6, 1)]


def test_rounded_numbers_are_written_as_people_write_them():
    steps = shown([index / 100 for index in range(100)], ind.Transformation(round=0.1))
    assert set(steps) == {float(f"0.{digit}") for digit in range(10)} | {1.0}


def test_a_level_of_a_hierarchy_keeps_missing_values_missing():
    masked = ind.Hierarchy.masking()
    assert shown(["I10", "I251", None], ind.Transformation(level=2), masked) == ["I1**", "I2**", None]
    assert shown([None, "I10"], ind.Transformation(level=1), masked) == [None, "I1*"]
    months = ind.Hierarchy.dates(["month", "year"])
    assert shown([date(2024, 5, 31)], ind.Transformation(level=1), months) == ["2024-05"]


def test_specs_and_options_are_the_same_thing():
    for spec in ("round:100,top:1000,bottom:-5", "round:0.5", "truncate:quarter", "level:2", "clear", "clear:presence"):
        assert parse_transformation(spec).spec() == spec
    assert ind.Transformation(clear=True) == ind.Transformation(clear="all")


@pytest.mark.parametrize(
    "spec",
    [
        *("round:0", "round:-5", "round:x", "round", "round:nan", "top:inf", "top:1,bottom:2", "round:1,round:2"),
        *("level:0", "level:1.5", "truncate:week", "truncate", "clear:much", "round:1,clear", "level:1,truncate:day"),
        *("shout", ""),
    ],
)
def test_bad_declarations(spec):
    with pytest.raises(ParameterError) as caught:
        parse_transformation(spec)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("round:nan", "`round` must be a finite number; got nan"),
        ("round:inf", "`round` must be a finite number; got inf"),
        ("top:-inf", "`top` must be a finite number; got -inf"),
        ("round:0", "`round` must be a step above 0; got 0"),
        ("round:-5", "`round` must be a step above 0; got -5"),
        ("round", "`round` of a transformation needs a number"),
        ("round:much", "`round` of a transformation must be a number"),
        ("level:1.5", "`level` of a transformation must be a whole number"),
        ("level", "`level` must be a whole number"),
    ],
)
def test_what_is_said_of_numbers_that_are_none(spec, told):
    with pytest.raises(ParameterError) as caught:
        parse_transformation(spec)
    assert told in str(caught.value)


@pytest.mark.parametrize("value", ["100", False])
def test_a_step_is_a_number(value):
    with pytest.raises(ParameterError):
        ind.Transformation(round=value)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("spec", ["round:100", "truncate:month", "top:5,bottom:1"])
def test_a_column_without_a_value_stays_without(tmp_path, spec, engine):
    """Next month nobody may have a cost: a text file does not say of what type these are."""
    path, out = tmp_path / "july.csv", tmp_path / "out.csv"
    path.write_text("id,age,s,c\n" + "".join(f"{row},{row % 2},x,\n" for row in range(8)))
    given = {"c": parse_transformation(spec)}
    release = ind.anonymize(path, SCHEMA, model=ind.KAnonymity(3), transformations=given, engine=engine, output=out)
    assert release.table["c"].null_count == 8
    assert ind.verify(out, SCHEMA, ind.KAnonymity(3), transformations=given, original=path, engine=engine).holds


@pytest.mark.parametrize(
    ("values", "transformation", "told"),
    [
        (["12", "x"], ind.Transformation(round=10), "holds text"),
        (["2024-01-01x"], ind.Transformation(truncate="month"), "holds text"),
        ([1.5], ind.Transformation(truncate="month"), "holds number"),
        ([date(2024, 1, 1)], ind.Transformation(top=3), "holds date"),
        ([True], ind.Transformation(round=2), "holds true and false, which cannot be rounded"),
        ([timedelta(1)], ind.Transformation(round=2), "holds durations, which cannot be rounded"),
        ([timedelta(1)], ind.Transformation(truncate="month"), "holds durations, which cannot be cut down"),
        ([time(1)], ind.Transformation(truncate="day"), "holds times of the day, which cannot be cut down"),
        ([1, 2], ind.Transformation(round=0.5), "whole numbers"),
        ([2**62 + 1], ind.Transformation(round=10), "beyond"),
    ],
)
def test_columns_that_are_something_else(values, transformation, told):
    with pytest.raises(InputError, match=told) as caught:
        shown(values, transformation)
    assert caught.value.hint
    assert "2024-01-01x" not in str(caught.value)


def test_levels_that_are_none():
    with pytest.raises(SchemaError, match="it has none"):
        shown(["a"], ind.Transformation(level=1))
    tree = ind.Hierarchy.tree({"*": {"heart": ["I10"], "lung": ["J18"]}})
    with pytest.raises(InputError, match="there is no level 7"):
        shown(["I10"], ind.Transformation(level=7), tree)
    with pytest.raises(HierarchyError):
        shown(["SECRET"], ind.Transformation(level=1), tree)


@pytest.mark.parametrize(
    ("name", "told"), [("age", "quasi-identifier"), ("id", "is dropped"), ("cots", "does not name")]
)
def test_columns_that_are_not_transformed(name, told):
    with pytest.raises(SchemaError, match=told) as caught:
        ind.transform(pa.table({"age": [1]}), SCHEMA, {name: ind.Transformation(round=10)})
    assert caught.value.hint
    with pytest.raises(ParameterError, match="must be a mapping to a Transformation"):
        ind.transform(pa.table({"age": [1]}), SCHEMA, {"c": "round:10"})


def stays(rows=40):
    return pa.table(
        {
            "id": [str(row) for row in range(rows)],
            "age": [20 + row % 4 for row in range(rows)],
            "s": [("I10", "I25", "J18", "J45")[row // 4 % 4] for row in range(rows)],
            "c": [row * 7.7 for row in range(rows)],
        }
    )


def test_models_judge_what_is_published():
    """Four codes on two levels are two values, of which no class can have three."""
    model = ind.KAnonymity(3) & ind.DistinctLDiversity("s", l=3)
    assert ind.anonymize(stays(), SCHEMA, model=model).certificate.holds
    tree = ind.Hierarchy.tree({"*": {"heart": ["I10", "I25"], "lung": ["J18", "J45"]}})
    with pytest.raises(ind.InfeasibleError):
        ind.anonymize(
            stays(),
            SCHEMA,
            model=model,
            hierarchies={"s": tree},
            transformations={"s": ind.Transformation(level=1)},
        )


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_release_its_check_and_next_month(tmp_path, engine):
    transformations = {"s": ind.Transformation(level=2), "c": ind.Transformation(round=50, top=200)}
    hierarchies = {"s": ind.Hierarchy.masking()}
    model = ind.KAnonymity(3) & ind.TCloseness("s", t=0.5)
    out, kept = tmp_path / "out.csv", tmp_path / "recoding.json"
    release = ind.anonymize(
        stays(),
        SCHEMA,
        model=model,
        hierarchies=hierarchies,
        transformations=transformations,
        engine=engine,
        output=out,
        save_recoding=kept,
    )
    assert set(release.table["s"].to_pylist()) == {"I**", "J**"}
    assert set(release.table["c"].to_pylist()) == {0.0, 50.0, 100.0, 150.0, 200.0}
    again = ind.verify(out, SCHEMA, model, original=stays(), hierarchies=hierarchies, transformations=transformations)
    assert again.holds
    assert again.original_rows == 40
    assert not ind.verify(out, SCHEMA, model, original=stays()).holds  # the original has no such values
    later = ind.apply(kept, stays(60), engine=engine)
    assert set(later.table["c"].to_pylist()) == {0.0, 50.0, 100.0, 150.0, 200.0}
    assert set(later.table["s"].to_pylist()) == {"I**", "J**"}


def test_a_stored_recoding_keeps_the_hierarchy_as_it_stood():
    release = ind.anonymize(
        stays(),
        SCHEMA,
        model=ind.KAnonymity(3),
        hierarchies={"s": ind.Hierarchy.masking()},
        transformations={"s": ind.Transformation(level=1)},
    )
    again = recoding_from_json(recoding_to_json(release.recoding))
    assert again == release.recoding
    assert digest(again) == digest(release.recoding)
    assert again.transformations["s"].hierarchy.length == 3
    plain = ind.anonymize(stays(), SCHEMA, model=ind.KAnonymity(3)).recoding
    assert plain.transformations is None
    assert plain != release.recoding


def test_sources_that_give_no_rows_away_say_so():
    class Elsewhere:
        """A source whose rows are published where they lie."""

        in_memory = None

    with pytest.raises(ParameterError, match="Elsewhere transforms no columns"):
        transformed_source(Elsewhere(), {"c": ind.Transformation(round=1)})
    with pytest.raises(ParameterError, match="no pseudonyms are made there"):
        require_rows_here(Elsewhere(), {"id": ind.Pseudonym(random=True)})
    require_rows_here(Elsewhere(), {})
