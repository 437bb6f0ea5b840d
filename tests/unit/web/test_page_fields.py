"""The page's fields and figures without a table: readings as texts, who stands out, bars, keys and names."""

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("nicegui")

from indistinct.drawing.columns import bars_of_numbers, bars_of_values, draw_bars
from indistinct.errors import InputError, ParameterError
from indistinct.tables import Reading
from indistinct.tables.domain import Kind
from indistinct.tables.value import declare
from indistinct.web.reading_fields import find_changes, reading_of, texts_of
from indistinct.web.steps.columns import ids_of
from indistinct.web.tasks import columns as tasks
from indistinct.web.worker import Desk


@pytest.mark.parametrize(
    "reading",
    [
        Reading(),
        declare(delimiter=";", decimal=",", thousands=".", header=True),
        declare(missing={"*": ["", "-99", "a=b"], "age": ["999", "998"]}, dates={"*": ["%d.%m.%Y", "%Y/%m/%d"]}),
        declare(dates={"visit": "%d/%m/%Y"}, types={"zipcode": "text", "a=b": "integer"}, text=["code", "x y"]),
        declare(sheet="Sheet 2", codes=True, encoding="cp1252"),
    ],
)
def test_fields_say_the_reading_that_they_were_made_of(reading):
    assert reading_of(texts_of(reading), ["age", "visit", "zipcode", "a=b"]) == reading
    assert find_changes(reading, reading) == []


@pytest.mark.parametrize(
    ("key", "text"),
    [("dates", "year"), ("dates", "%Y%m%d"), ("types", "age = colour"), ("types", "text"), ("thousands", "..")],
)
def test_a_mistake_in_a_field_names_the_field(key, text):
    with pytest.raises(ParameterError) as raised:
        reading_of({key: text}, ["age"])
    assert raised.value.details["field"] == key


def test_only_what_changed_is_named():
    assert find_changes(Reading(), declare(decimal=",", missing=["", "?"])) == ["decimal", "missing"]


def slow_standing(classes, people, k):
    members = {}
    for of, who in zip(classes, people, strict=True):
        members.setdefault(of, set()).add(who)
    smallest = {}
    for of, who in zip(classes, people, strict=True):
        smallest[who] = min(smallest.get(who, len(classes)), len(members[of]))
    return sum(size == 1 for size in smallest.values()), sum(size < k for size in smallest.values()), len(smallest)


@pytest.mark.parametrize("seed", range(5))
def test_who_stands_out_is_as_counted_slowly(seed):
    drawn = np.random.default_rng(seed)
    classes = np.unique(drawn.integers(0, 12, 60), return_inverse=True)[1]
    people = np.unique(drawn.integers(0, 25, 60), return_inverse=True)[1]
    rows = tasks.standing_of_rows(np.bincount(classes), k=4)
    assert (rows.alone, rows.few, rows.members) == slow_standing(classes, range(60), 4)
    found = tasks.standing_of_people(classes, people, k=4)
    assert (found.alone, found.few, found.members) == slow_standing(classes, people.tolist(), 4)


def test_bars_hold_every_row_once():
    drawn = np.random.default_rng(1)
    numbers, counts = np.sort(drawn.normal(size=90)), drawn.integers(1, 9, 90)
    assert sum(bars_of_numbers(numbers, counts).counts) == counts.sum()
    assert sum(bars_of_numbers(np.array([7.0]), np.array([3])).counts) == 3
    values = bars_of_values([str(n) for n in range(90)], counts)
    assert values.others == 84
    assert list(values.counts) == sorted(counts.tolist(), reverse=True)[:6]
    assert "&lt;b&gt;" in draw_bars("<b>", bars_of_values(["<i>"], np.array([2]))).split("</title>")[0]


def test_columns_without_anything_to_draw_have_no_bars():
    missing = tasks.CountedColumn(pa.array([], pa.string()), np.zeros(3, dtype=np.int32), np.zeros(0, dtype=np.int64))
    assert tasks.bars_of(missing, Kind.TEXT) is None
    odd = tasks.CountedColumn(pa.array([float("nan")]), np.zeros(2, dtype=np.int32), np.array([2]))
    assert tasks.bars_of(odd, Kind.NUMBER) is None


def test_a_key_must_be_one(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"0123456789abcdef" * 4)
    path.chmod(0o600)
    tasks.check_key(Desk(), path)
    path.chmod(0o644)
    with pytest.raises(InputError, match="others than its owner") as raised:
        tasks.check_key(Desk(), path)
    assert str(tmp_path) not in raised.value.message


def test_fields_have_names_of_their_own():
    names = ["a b", "a-b", "ä", "Ж", "x"]
    found = ids_of(names)
    assert len(set(found.values())) == len(names)
    assert all(each.replace("-", "").replace("_", "").isalnum() and each.isascii() for each in found.values())
