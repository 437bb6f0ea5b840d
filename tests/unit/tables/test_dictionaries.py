"""Dictionaries of several chunks become one, whatever the index slots of missing cells hold."""

import numpy as np
import pyarrow as pa
import pytest

from indistinct.engines.class_batches import _codes
from indistinct.engines.spark.parcels import join_tables
from indistinct.engines.spark.parts import coded_texts
from indistinct.frequencies.passes import KnownValues
from indistinct.recoding.class_rows import take_rows
from indistinct.release.writing.files import Writing
from indistinct.release.writing.formats import write_arrow
from indistinct.tables.dictionaries import assemble, compact, share_dictionaries, share_dictionary
from references.nasty_tables import with_slots

# Indices that lie inside the dictionary, behind it, far behind it, and before it.
SLOTS = [0, 1, 2, 7, 2**30, -1, -(2**30)]
CELLS = ["x", None, "y", None]


def chunks(slot):
    """Two chunks with other dictionaries, one with an empty dictionary, and one without rows."""
    first = with_slots(pa.array(CELLS).dictionary_encode(), slot)
    second = with_slots(pa.array(["y", None, "z", "x"]).dictionary_encode(), slot)
    empty = with_slots(pa.array([None, None], pa.string()).dictionary_encode(), slot)
    return pa.chunked_array([first, second, empty, first.slice(0, 0)])


EXPECTED = [*CELLS, "y", None, "z", "x", None, None]


def test_slots_are_what_they_claim_to_be():
    array = with_slots(pa.array(CELLS).dictionary_encode(), 2**30)
    assert array.to_pylist() == CELLS
    assert np.frombuffer(array.indices.buffers()[1], np.int32).tolist() == [0, 2**30, 1, 2**30]


@pytest.mark.parametrize("slot", SLOTS)
def test_no_slot_of_a_missing_cell_becomes_a_value(slot):
    shared = share_dictionary(chunks(slot))
    assert shared.to_pylist() == EXPECTED
    assert shared.type == chunks(slot).type
    [only] = shared.chunks
    assert only.dictionary.to_pylist() == ["x", "y", "z"]
    assert only.indices.null_count == only.null_count == 5


@pytest.mark.parametrize("slot", SLOTS)
def test_slots_of_missing_cells_are_refilled(slot):
    """What Arrow left there is not written into a file either."""
    [only] = share_dictionary(chunks(slot)).chunks
    cells = np.frombuffer(only.indices.buffers()[1], np.int32)[: len(only)]
    assert cells[[value is None for value in EXPECTED]].tolist() == [0] * 5


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("use", ["assemble", "compact", "table", "parcels", "class rows", "codes", "texts", "values"])
def test_every_user_of_dictionaries_reads_the_same_cells(slot, use):
    column = chunks(slot)
    table = pa.table({"a": column})
    match use:
        case "assemble":
            found = assemble(column).to_pylist()
        case "compact":
            found = compact(column, ascending=True).to_pylist()
        case "table":
            found = share_dictionaries(table)["a"].to_pylist()
        case "parcels":
            found = join_tables([table.slice(0, 3), table.slice(3)])["a"].to_pylist()
        case "class rows":
            found = take_rows(table, np.arange(len(table)))["a"].to_pylist()
        case "texts":
            found = coded_texts(table)["a"].to_pylist()
        case "values":
            nothing = KnownValues.nothing("a", column.type, 100, keyed=False)
            assert sorted(nothing.plus(column).distinct.to_pylist(), key=str) == [None, "x", "y", "z"]
            return
        case "codes":
            codes = _codes(column).tolist()
            assert [code < 0 for code in codes] == [value is None for value in EXPECTED]
            assert len(set(zip(codes, EXPECTED, strict=True))) == 4
            return
    assert found == EXPECTED


@pytest.mark.parametrize("slot", SLOTS)
def test_a_feather_file_has_one_dictionary_and_no_slots(slot, tmp_path):
    path = tmp_path / "a.feather"
    write_arrow(iter([pa.table({"a": chunks(slot)})]), path, Writing())
    with pa.ipc.open_file(path) as file:
        found = file.read_all()["a"]
    assert found.to_pylist() == EXPECTED
    cells = np.frombuffer(found.chunk(0).indices.buffers()[1], np.int32)[: len(found.chunk(0))]
    assert cells[[value is None for value in found.chunk(0).to_pylist()]].tolist() == [0] * found.chunk(0).null_count


@pytest.mark.parametrize(
    "kind",
    [pa.int64(), pa.float64(), pa.date32(), pa.decimal128(12, 2), pa.large_string(), pa.bool_()],
    ids=str,
)
def test_dictionaries_of_any_type_keep_it(kind):
    cells = [pa.array(each, pa.int32()).cast(kind) for each in ([1, None, 0], [0, 1, None])]
    kind = pa.dictionary(pa.int8(), kind)
    column = pa.chunked_array([with_slots(each.dictionary_encode().cast(kind), 100) for each in cells])
    shared = share_dictionary(column)
    assert shared.to_pylist() == column.to_pylist()
    assert shared.type == kind
    assert shared.num_chunks == 1


def test_indices_widen_where_all_values_together_need_it():
    parts = [pa.array([f"{first + i}" for i in range(100)] + [None]) for first in (0, 100)]
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    encoded = [pa.DictionaryArray.from_arrays(p.dictionary_encode().indices.cast(pa.int8()), p[:-1]) for p in parts]
    column = pa.chunked_array([each.cast(kind) if each.type == kind else each for each in encoded])
    shared = share_dictionary(column)
    assert shared.to_pylist() == column.to_pylist()
    assert shared.type.index_type == pa.int32()


def test_columns_without_several_dictionaries_are_returned_unchanged():
    plain = pa.chunked_array([[1, None], [2]])
    one = pa.chunked_array([pa.array(CELLS).dictionary_encode()])
    none = pa.chunked_array([], pa.dictionary(pa.int32(), pa.string()))
    assert [share_dictionary(each) is each for each in (plain, one, none)] == [True] * 3
    assert share_dictionaries(pa.table({"a": none})).num_rows == 0
