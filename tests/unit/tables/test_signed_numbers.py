"""Amounts with a currency or per cent sign and full-width digits: numbers where declared, refused where not."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.inspection.inspect import inspect
from indistinct.tables.notation import likely_notation

SCHEMA = ind.Schema(quasi=["q"], sensitive=["s"])

SIGNED = [
    (["$1,234.50", "$7.00", "$12.25"], {"thousands": ","}, [1234.5, 7.0, 12.25]),
    (["3124,72 €", "7,5 €", "12 €"], {"decimal": ","}, [3124.72, 7.5, 12.0]),
    (["12.5%", "20%", "0 %"], {}, [12.5, 20.0, 0.0]),
    (["３６２０", "１１００", "９９３０"], {}, [3620, 1100, 9930]),
    (["¥1,000", "¥25,000", "¥300"], {"thousands": ","}, [1000, 25000, 300]),
    (["￥１，０００", "￥２５，０００", "￥３００"], {"thousands": ","}, [1000, 25000, 300]),
    (["-$5.00", "$-6.50", "$7"], {}, [-5.0, -6.5, 7.0]),
    (["1 234,50 €", "7,00 €", "12,25 €"], {"decimal": ",", "thousands": " "}, [1234.5, 7.0, 12.25]),
    (["USD 5.00", "USD 6.50", "USD 7.25"], {}, [5.0, 6.5, 7.25]),
    (["1000円", "300円", "25円"], {}, [1000, 300, 25]),
]


def table(cells, column="q"):
    columns = {name: ["x", "y", "z"] * 2 for name in "qs"}
    return pa.table({**columns, column: cells * 2})


@pytest.mark.parametrize(("cells", "marks", "numbers"), SIGNED)
def test_a_sign_is_no_part_of_a_declared_number(tmp_path, cells, marks, numbers):
    opened = ind.open(table(cells), types={"q": "number"}, **marks)
    assert opened.data["q"].to_pylist() == numbers * 2
    path = tmp_path / "a.csv"
    path.write_text("q|s\n" + "".join(f"{cell}|x\n" for cell in cells), encoding="utf-8")
    assert ind.open(path, types={"q": "number"}, **marks).data["q"].to_pylist() == numbers


@pytest.mark.parametrize("column", ["q", "s"])
@pytest.mark.parametrize(("cells", "marks", "numbers"), SIGNED)
def test_signed_numbers_that_nobody_declared_are_refused(cells, marks, numbers, column):
    with pytest.raises(InputError, match=f"column '{column}' looks like numbers") as caught:
        ind.anonymize(table(cells, column), SCHEMA, model="k-anonymity:k=2")
    assert f'types = {{ {column} = "number" }}' in caught.value.hint
    assert f"--type {column}=number" in caught.value.hint
    for name, mark in marks.items():
        assert f'{name} = "{mark}"' in caught.value.hint
    assert cells[0] not in str(caught.value)
    read = ind.open(table(cells, column), types={column: "number"}, **marks)
    assert ind.anonymize(read, SCHEMA, model="k-anonymity:k=2").certificate.holds


@pytest.mark.parametrize("cells", [["$5", "€6", "$7"], ["5 € 3", "6 €", "7 €"], ["5%-Lsg", "10%-Lsg", "x"]])
def test_two_currencies_and_other_texts_are_no_numbers(cells):
    with pytest.raises(InputError, match="declared to have the type number"):
        ind.open(table(cells), types={"q": "number"})


@pytest.mark.parametrize(
    "cells",
    [
        ["5%-Lsg", "10%-Lsg", "20%-Lsg"],
        ["$5", "€6", "£7"],
        ["US$", "EUR", "CHF"],
        ["100% sure", "50% sure"],
        ["A5%", "B6%"],
        ["５階", "６階"],
        ["0123４", "9876５"],
    ],
)
def test_text_with_signs_stays_text(cells):
    assert likely_notation(pa.array(cells)) is None


def test_names_are_quoted_in_the_lines_to_add():
    notation = likely_notation(pa.array(["$5.00", "$6.50"]))
    assert notation.lines("Billed Amt") == ('types = { "Billed Amt" = "number" }',)
    assert notation.flags("Billed Amt") == ("--type 'Billed Amt=number'",)


def test_a_comma_before_three_digits_of_an_amount_parts_thousands(tmp_path):
    assert likely_notation(pa.array(["¥1,000", "¥25,000", "¥300"])).lines("q") == (
        'thousands = "," and types = { q = "number" }',
    )
    path = tmp_path / "a.csv"
    path.write_text("q;s\n" + "".join(f"¥{1 + i},000;{i}.5\n" for i in range(40)), encoding="utf-8")
    found = inspect(path)
    assert found.reading.thousands == ","
    assert found.columns[0].frequent[0][0] == 1000


def test_inspect_declares_signed_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "Billed Amt;share;full;cost\n" + "".join(f"${i},{100 + i}.50;{i % 7}.5%;３{i};{i}0 €\n" for i in range(1, 40)),
        encoding="utf-8",
    )
    found = inspect(path)
    assert found.reading.types == dict.fromkeys(("Billed Amt", "share", "full", "cost"), "number")
    assert found.reading.thousands == ","
    assert all(column.kind == "number" for column in found.columns)
    assert any("currency sign" in finding for finding in found.columns[0].findings)
