"""The worked examples of five documents: which tables are as printed, and which rows of the others differ."""

import json

import pytest

from indistinct_papers.base import Example
from indistinct_papers.examples import DOCUMENTS, align_rows, reproduce_examples


@pytest.fixture(scope="module")
def examples():
    made = reproduce_examples(tuple(range(1, len(DOCUMENTS) + 1)), lambda share: None)
    return {(example.document, example.name): example for example in made.examples}


# Every table that differs, and at which rows.
DIFFERENT = {
    ("Murthy and Srinivas", "Table 1, patients"): [4],
    ("Murthy and Srinivas", "Table 2"): [4],
    ("Murthy and Srinivas", "Table 3"): [0, 1, 2, 3, 4, 5],
    ("Murthy and Srinivas", "Table 4"): [3, 5],
    ("Murthy and Srinivas", "Queries on table 4"): [0],
    ("Sonawane and Rahinj (2013)", "Table 2"): [0, 1, 2, 3],
    ("Sonawane and Rahinj (2013)", "Table 4"): list(range(8)),
    ("Caputo, slides", "4-anonymous salaries"): [1],
    ("Verma (2013)", "Table 1.3d"): [7],
    ("Verma (2013)", "Section 3.7.2, search limits"): [0],
    ("Halwe and Verma, slides", "Patients, table B0"): [0, 1, 4, 5],
    ("Halwe and Verma, slides", "Suppression, table B1, Z4"): [0],
}


def test_tables_differ_where_their_errata_say_so(examples):
    found = {}
    for key, example in examples.items():
        rows = [index for index, row in enumerate(example.rows()) if row[len(example.headings)]]
        if rows:
            found[key] = rows
            assert example.erratum, key
        assert example.equal == (not rows)
    assert found == DIFFERENT


def test_every_numbered_table_is_there(examples):
    names = {document: [] for document, _ in examples}
    for document, name in examples:
        names[document].append(name)
    for number in (1, 2, 3, 4):
        assert any(name.startswith(f"Table {number}") for name in names["Murthy and Srinivas"])
    for number in (1, 2, 3, 4, 5, 6):
        assert f"Table {number}" in names["Sonawane and Rahinj (2013)"]
    assert names["Caputo, slides"][:2] == ["Step A, frequency list", "Step B, frequency list"]
    thesis = names["Verma (2013)"]
    assert sum(name.startswith("Tables 1.1 and 1.2") for name in thesis) == 5
    assert {"Table 1.3b", "Table 1.3d", "Section 3.5, the number of ACAB"} <= set(thesis)


def test_what_is_told_of_tables_that_are_as_printed(examples):
    rounds = examples["Halwe and Verma, slides", "Incognito, round by round, as LeFevre et al. (2005) draw it"]
    assert rounds.made.endswith("3 of 7, 11 of 16, 3 of 5")
    assert rounds.ours[0] == ("1", "B0 B1 S0 S1 Z0 Z1 Z2")
    sliced = examples["Sonawane and Rahinj (2013)", "Table 6"]
    assert sliced.ours[0] == ("22", "M", "47905", "flu")
    assert examples["Verma (2013)", "Section 3.5, the number of ACAB"].ours[-1] == ("ACAB", "14", "14")


def test_a_bucket_that_holds_other_values_is_not_shown_in_the_printed_order(monkeypatch):
    printed = (("22", "M", "47905", "cold"), *((row) for row in DOCUMENTS[1]()[5].printed[1:]))
    numbers = tuple((int(age), sex, int(zipcode), disease) for age, sex, zipcode, disease in printed)
    monkeypatch.setattr("indistinct_papers.documents.SLICED_PRINTED", numbers)
    sliced = next(example for example in DOCUMENTS[1]() if example.name == "Table 6")
    assert not sliced.equal
    assert "cold" not in {row[3] for row in sliced.ours}


def test_rows_are_aligned_by_what_they_share():
    printed = (("a", "1", "x"), ("b", "2", "y"), ("c", "3", "z"))
    ours = (("c", "3", "z"), ("b", "9", "y"), ("a", "1", "x"), ("d", "4", "w"))
    assert align_rows(printed, ours) == (("a", "1", "x"), ("b", "9", "y"), ("c", "3", "z"), ("d", "4", "w"))
    example = Example("d", "n", "m", ("p", "q", "r"), printed, align_rows(printed, ours))
    assert [row[3] for row in example.rows()] == ["", "≠", "", "≠"]
    assert list(example.rows())[-1] == ("", "", "", "≠", "d", "4", "w")
    assert json.loads(json.dumps(example.to_json()))["equal"] is False
