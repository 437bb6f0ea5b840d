"""Texts that are nearly queries: each is read or refused, and no parser's own error gets out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indistinct.errors import InputError
from indistinct.metrics.queries.parse import parse_query
from indistinct.metrics.queries.value import Query

WORDS = [
    "SELECT",
    "AVG",
    "(",
    "age",
    ")",
    "WHERE",
    "sex",
    "IN",
    "(",
    "'a'",
    ",",
    "'b'",
    ")",
    "AND",
    "zip",
    "BETWEEN",
    "1",
    "AND",
    "5",
    "OR",
    "NOT",
    "d",
    "=",
    "DATE",
    "'2020-01-31'",
    "GROUP",
    "BY",
    "sex",
]
TOKENS = [
    *[
        "{",
        "}",
        "=",
        "IN",
        "'x'",
        "(",
        ")",
        "NOT",
        "BETWEEN",
        "AND",
        "NULL",
        "::",
        "*",
        ";",
        "--",
        "/*",
        "$1",
        "?",
        ":a",
        "[",
        "]",
        "CASE",
        "WHEN",
        "-",
        "0x",
        "1e",
        "@",
        "%",
        "LIKE",
        "ANY",
        ",",
        ".",
    ],
    '"',
]


@pytest.mark.parametrize(
    "text", ["SELECT SUM(cost) WHERE age { = IN 'x'", "SELECT COUNT(*) WHERE {", "{", "SELECT {fn x}"]
)
def test_what_the_parser_stumbles_over_is_no_query(text):
    with pytest.raises(InputError):
        parse_query(text)


@given(st.data())
def test_a_query_that_was_changed_is_read_or_refused(data):
    parts = list(WORDS)
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(parts) - 1))
        parts[index : index + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from(TOKENS), max_size=2))
        parts = parts or ["x"]
    try:
        found: object = parse_query(" ".join(parts))
    except InputError as error:
        found = error
    assert isinstance(found, Query | InputError)
