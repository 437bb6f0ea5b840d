"""A recoding over more values than it was found on: what each kind covers, and what it refuses."""

import datetime as dt
import json

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, UnseenValueError, VerificationError
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.storage import recoding_from_json, recoding_to_json

ONE = "k-anonymity:k=1"


def table_of(**columns):
    rows = len(next(iter(columns.values())))
    return pa.table({**columns, "key": list(range(rows))})


def made(table, algorithm, hierarchies=None, *, k=1):
    quasi = [name for name in table.column_names if name != "key"]
    schema = ind.Schema(quasi=quasi, insensitive=["key"])
    release = ind.anonymize(table, schema, model=ind.KAnonymity(k), algorithm=algorithm, hierarchies=hierarchies)
    return recoding_from_json(recoding_to_json(release.recoding))


def shown(recoding, table, **options):
    """Return what is published for each row of a table, None for one that is dropped."""
    release = ind.apply(recoding, table, **{"model": ONE, **options})
    names = [name for name in release.table.column_names if name != "key"]
    by_key = {row["key"]: tuple(row[name] for name in names) for row in release.table.to_pylist()}
    rows = [by_key.get(key) for key in range(table.num_rows)]
    return [row[0] if row and len(row) == 1 else row for row in rows]


def test_a_level_gives_labels_to_values_that_nobody_had():
    recoding = made(table_of(age=[21, 25, 43]), "node:levels=1", {"age": Hierarchy.intervals([10, 20])})
    assert shown(recoding, table_of(age=[22, 95, 30, -1, None])) == ["20-29", "90-99", "30-39", "[-10, -1]", None]
    dates = made(table_of(day=[dt.date(2024, 1, 5)]), "node:levels=1", {"day": Hierarchy.dates(["month", "year"])})
    assert shown(dates, table_of(day=[dt.date(2024, 1, 9), dt.date(2025, 7, 1)])) == ["2024-01", "2025-07"]
    raw = made(table_of(age=[21, 25]), "node:levels=0")
    assert shown(raw, table_of(age=[21, 99])) == [21, 99]


def test_masks_keep_the_length_that_they_had():
    recoding = made(table_of(zip=["1011", "1023"]), "node:levels=2", {"zip": Hierarchy.masking()})
    assert shown(recoding, table_of(zip=["1099", "2044", "7"])) == ["10**", "20**", "7**"]
    with pytest.raises(UnseenValueError, match="column 'zip' in 1 row") as caught:
        shown(recoding, table_of(zip=["1099", "10999"]))
    assert caught.value.values == ("10999",)
    assert shown(recoding, table_of(zip=["1099", "10999"]), suppression=0.5) == ["10**", None]


def test_the_order_of_classes_does_not_tell_what_is_new():
    recoding = made(table_of(age=[21, 43, 65]), "node:levels=1", {"age": Hierarchy.intervals([10])})
    release = ind.apply(recoding, table_of(age=[35, 21, 43, 5]), model=ONE)
    assert release.table["age"].to_pylist() == ["0-9", "20-29", "30-39", "40-49"]


def test_a_table_of_values_covers_what_it_lists():
    jobs = Hierarchy.from_rows([("nurse", "health", "*"), ("surgeon", "health", "*"), ("poet", "art", "*")])
    recoding = made(table_of(job=["nurse"]), "node:levels=1", {"job": jobs})
    assert shown(recoding, table_of(job=["nurse", "surgeon", "poet"])) == ["health", "health", "art"]
    with pytest.raises(UnseenValueError, match="column 'job' in 2 row"):
        shown(recoding, table_of(job=["nurse", "pilot", "pilot"]))


def test_suppressed_classes_and_stars_stay_what_they_are():
    table = table_of(age=[21, 22, 23, 55])
    schema = ind.Schema(quasi=["age"], insensitive=["key"])
    options = {"model": ind.KAnonymity(3), "suppression": 0.25, "hierarchies": {"age": Hierarchy.intervals([10])}}
    release = ind.anonymize(table, schema, algorithm="node:levels=1", **options)
    assert release.certificate.suppressed_rows == 1
    again = table_of(age=[3, 3, 3, 55, 24, 24, 24])
    assert shown(release.recoding, again, model=None) == ["0-9", "0-9", "0-9", None, "20-29", "20-29", "20-29"]
    starred = ind.anonymize(table, schema, algorithm="node:levels=1", **{**options, "model": ind.KAnonymity(1)})
    assert starred.certificate.suppressed_rows == 0


def test_ranges_cover_what_lies_in_them_and_regions_everything():
    table = table_of(age=[1, 2, 8, 9])
    ranges = made(table, "mondrian", k=2)
    assert shown(ranges, table_of(age=[1, 9, 2]), suppression=0) == ["[1-2]", "[8-9]", "[1-2]"]
    with pytest.raises(UnseenValueError, match="column 'age' in 3 row"):
        shown(ranges, table_of(age=[1, 0, 5, 10]))
    regions = made(table, "mondrian:extent=region", k=2)
    assert shown(regions, table_of(age=[-7, 1, 7, 8, 10])) == ["[ .. 7]", "[ .. 7]", "[ .. 7]", "[8-]", "[8-]"]
    single = made(table, "single-dimensional:extent=region", k=2)
    assert shown(single, table_of(age=[-7, 1, 7, 8, 10])) == ["[ .. 7]", "[ .. 7]", "[ .. 7]", "[8-]", "[8-]"]


def test_regions_of_fractions_and_moments_leave_their_upper_end_out():
    fractions = made(table_of(x=[1.0, 2.0, 8.0, 9.5]), "mondrian:extent=region", k=2)
    assert shown(fractions, table_of(x=[7.9999, 8.0])) == ["[ .. 8)", "[8-]"]
    hours = [dt.datetime(2024, 1, day, 8) for day in (1, 2, 8, 9)]
    moments = made(table_of(at=hours), "mondrian:extent=region", k=2)
    assert shown(moments, table_of(at=[dt.datetime(2024, 1, 8, 7, 59)])) == ["[ .. 2024-01-08 08:00:00.000000)"]


def test_a_column_that_is_never_cut_says_nothing_and_covers_missing():
    regions = made(table_of(age=[1, 2]), "mondrian:extent=region", k=2)
    assert shown(regions, table_of(age=[1, 900, None])) == ["*", "*", "*"]
    cut = made(table_of(age=[1, 2, 8, 9]), "mondrian:extent=region", k=2)
    with pytest.raises(UnseenValueError, match="column 'age' in 1 row"):
        shown(cut, table_of(age=[1, None]))
    missing = made(table_of(age=[None, None, 8, 9]), "mondrian:extent=region", k=2)
    assert shown(missing, table_of(age=[None, 4, 8])) == [None, "[-]", "[-]"]
    by_column = made(table_of(age=[None, None, 8, 9]), "single-dimensional:extent=region", k=2)
    assert shown(by_column, table_of(age=[None, 4, 8])) == [None, "[-]", "[-]"]


def test_trees_are_cut_and_cover_leaves_below_their_nodes():
    recoding = made(
        table_of(zip=["1011", "1012", "2044", "2044"]), "mondrian:extent=region", {"zip": Hierarchy.masking()}, k=2
    )
    assert shown(recoding, table_of(zip=["1011", "1999", "2000"])) == ["1***", "1***", "2***"]
    with pytest.raises(UnseenValueError):
        shown(recoding, table_of(zip=["3000"]))


def test_a_declared_order_says_where_an_unknown_value_lies():
    order = Hierarchy.order(["none", "low", "mid", "high", "top"])
    recoding = made(table_of(grade=["none", "mid", "top", "top"]), "mondrian", {"grade": order}, k=2)
    assert shown(recoding, table_of(grade=["low", "none"])) == ["[none-mid]", "[none-mid]"]
    with pytest.raises(UnseenValueError):
        shown(recoding, table_of(grade=["high"]))
    with pytest.raises(UnseenValueError):
        shown(recoding, table_of(grade=["unheard of", "none"]))


def test_recodings_of_older_versions_know_what_they_know():
    recoding = made(table_of(age=[21, 25, 43]), "node:levels=1", {"age": Hierarchy.intervals([10, 20])})
    data = json.loads(recoding_to_json(recoding))
    data["version"] = 3
    for column in data["columns"]:
        del column["hierarchy"]
        del column["summary"]["regions"]
    older = recoding_from_json(json.dumps(data))
    assert shown(older, table_of(age=[43, 21])) == ["40-49", "20-29"]
    with pytest.raises(UnseenValueError):
        shown(older, table_of(age=[43, 22]))


def test_a_hierarchy_that_says_something_else_than_the_recoding_covers_nothing():
    recoding = made(table_of(age=[21, 25, 43]), "node:levels=1", {"age": Hierarchy.intervals([10, 20])})
    data = json.loads(recoding_to_json(recoding))
    data["columns"][0]["hierarchy"] = {"intervals": [5, 20]}
    with pytest.raises(UnseenValueError):
        shown(recoding_from_json(json.dumps(data)), table_of(age=[43, 22]))
    for forged in ({"file": "hierarchy.csv"}, {"intervals": []}, {"what": 1}, 7):
        data["columns"][0]["hierarchy"] = forged
        with pytest.raises(InputError):
            recoding_from_json(json.dumps(data))


def test_a_promise_that_breaks_says_what_would_repair_it():
    recoding = made(table_of(age=[21] * 3 + [43] * 3), "node:levels=0", k=3)
    new = table_of(age=[21] * 6 + [43] * 2)
    with pytest.raises(VerificationError) as caught:
        shown(recoding, new, model=None)
    assert "1 of 2 classes violate it, with 2 of 8 rows" in caught.value.message
    assert "suppression=0.3" in caught.value.hint
    assert "k-anonymity with k = 2" in caught.value.hint
    assert not caught.value.details["certificate"].holds
    release = ind.apply(recoding, new, suppression=0.25)
    assert release.certificate.suppressed_rows == 2
    assert any(
        "1 class with 2 rows suppressed: the model is not satisfied" in warning
        for warning in release.certificate.warnings
    )
    assert ind.measure(release)["discernibility"] > 0
