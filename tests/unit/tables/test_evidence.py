"""One rule reads columns of text: in memory as one block, and in as many blocks as somebody likes."""

import pyarrow as pa
import pytest

from indistinct.errors import InputError
from indistinct.tables import open_table
from indistinct.tables.dictionaries import TEXT
from indistinct.tables.evidence import TypeEvidence, read_column
from indistinct.tables.misfits import FutureError, MisfitError
from indistinct.tables.notation import signs_of, without_signs
from indistinct.tables.value import declare

LATE = "01.01.68"


def column(texts):
    return pa.chunked_array([pa.array(texts, pa.string()).cast(TEXT)])


def read_in_blocks(texts, reading, size):
    """Return what a column becomes in blocks of some rows."""
    evidence, blocks = TypeEvidence("a", reading), [column(texts[i : i + size]) for i in range(0, len(texts), size)]
    for block in blocks:
        evidence.add(evidence.prepare(block))
    plan = evidence.decide()
    read = [plan.read(evidence.prepare(block), start=i * size) for i, block in enumerate(blocks)]
    plan.check_misfits()
    return pa.chunked_array([chunk.cast(plan.type) for each in read for chunk in each.chunks], plan.type)


@pytest.mark.parametrize(
    ("texts", "options", "kind"),
    [
        (["1", "2", None, "3.5"], {}, pa.float64()),
        (["1", "12345678901234567890"], {}, pa.decimal128(38, 0)),
        (["1", "2024-01-01"], {}, pa.string()),
        (["2024-01-01", ""], {"missing": ["-99"]}, pa.date32()),
        (["1,5", "", "12"], {"decimal": ",", "missing": ["-99"]}, pa.float64()),
        (["31.01.2024", "01.02.2024"], {"dates": "%d.%m.%Y"}, pa.date32()),
        (["2024-01-05", "2024-1-6"], {"dates": "%Y-%m-%d"}, pa.date32()),
        (["+4", "12"], {"types": {"a": "integer"}}, pa.int64()),
        (["$5", "$1.50", "7"], {"types": {"a": "number"}}, pa.float64()),
        (["007", "8"], {"text": ["a"]}, pa.string()),
    ],
)
def test_blocks_of_any_size_are_read_alike(texts, options, kind):
    reading = declare(**options)
    _, whole = read_column("a", column(texts), reading)
    expected = whole.cast(kind).to_pylist()
    for size in (1, 2, len(texts)):
        read = read_in_blocks(texts, reading, size)
        assert read.type == kind
        assert read.to_pylist() == expected


def test_an_empty_text_of_a_frame_is_no_number_and_hides_none():
    table = open_table(pa.table({"a": ["1,5", "", "12"]}), decimal=",")
    assert table.data["a"].to_pylist() == [1.5, None, 12.0]


def test_rows_that_do_not_fit_are_named_before_dates_that_lie_in_the_future():
    reading = declare(dates={"a": "%d.%m.%y"})
    with pytest.raises(MisfitError) as caught:
        read_in_blocks([LATE, LATE, "unknown", "01.02.03"], reading, 2)
    assert caught.value.rows.tolist() == [2]
    with pytest.raises(FutureError) as late:
        read_in_blocks([LATE, "01.02.03", LATE], reading, 2)
    assert late.value.rows.tolist() == [0, 2]


def test_a_format_that_fits_single_cells_is_said_to():
    with pytest.raises(InputError, match="only single cells"):
        open_table(pa.table({"a": ["31.01.2024", "x", "y", "z"]}), dates="%d.%m.%Y")


def test_numbers_without_signs_are_left_alone():
    texts = pa.array(["1", "+2", "-3.5", "4,000", "5.", "1e3", "-", "1-2"])
    assert without_signs(texts).to_pylist() == texts.to_pylist()
    assert signs_of(texts) == set()
