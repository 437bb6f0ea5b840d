"""The parts of a recoding that lie on disk, as this process and others read them."""

import hashlib
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.passes import KeySets, KeyTree
from indistinct.recoding.kinds import ByPart, PartColumn
from indistinct.recoding.stored_parts import PartStore, PartWriter, StoredPart
from indistinct.recoding.validation import check_recoding
from indistinct.tables.domain import Domain


def part(cut):
    """Return a part with one cut and two classes."""
    keys = np.array([[1], [cut], [cut + 1], [9]], dtype=np.uint64)
    return StoredPart(
        np.array([0, -1, -1], np.int16),
        np.array([cut, 0, 0], np.uint64),
        np.array([1, 0, 1], np.int32),
        np.array([0, 2, 4]),
        keys,
    )


def stored(cuts):
    writer = PartWriter()
    for cut in cuts:
        writer.add(part(cut))
    return writer.stored(1)


@pytest.fixture
def path(tmp_path):
    stored([3, 4]).copy_to(tmp_path / "recoding.json.arrow")
    return tmp_path / "recoding.json.arrow"


def send(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301


def test_other_processes_read_the_same_parts(path):
    here = PartStore.open(path, parts=2, columns=1)
    elsewhere = send(here.for_others())
    assert [elsewhere.read(number).digest() for number in range(2)] == [part(3).digest(), part(4).digest()]


def test_parts_without_a_name_are_not_for_others():
    with pytest.raises(ParameterError, match="without a name, which workers cannot read"):
        stored([3]).for_others()


def test_parts_that_were_exchanged_are_noticed(path):
    elsewhere = PartStore.open(path, parts=2, columns=1).for_others()
    path.unlink()
    stored([3, 5]).copy_to(path)
    assert elsewhere.read(0).digest() == part(3).digest()
    with pytest.raises(InputError, match="has changed while it was applied"):
        elsewhere.read(1)


def test_parts_that_others_do_not_see_are_said(path):
    elsewhere = PartStore.open(path, parts=2, columns=1).for_others()
    with pytest.raises(InputError, match=r"a worker does not see the file 'gone\.arrow'"):
        replace(elsewhere, path=path.with_name("gone.arrow")).read(0)


def part_with_a_set(members=(0, 2), of_node=(0, -1, -1)):
    """Return a part that is cut at a set of keys."""
    members = np.array(members, dtype=np.uint64)
    sets = KeySets(np.array(of_node), np.array([0, len(members)]), members)
    return replace(part(0), keys=np.array([[0], [2], [1], [3]], dtype=np.uint64), sets=sets)


def test_sets_of_cuts_are_kept_with_their_part(tmp_path):
    writer = PartWriter()
    for each in (part_with_a_set(), part(3)):
        writer.add(each)
    writer.stored(1).copy_to(tmp_path / "parts.arrow")
    store = PartStore.open(tmp_path / "parts.arrow", parts=2, columns=1)
    found = [store.read(number) for number in range(2)]
    assert found[0].sets.of_node.tolist() == [0, -1, -1]
    assert (found[0].sets.starts.tolist(), found[0].sets.members.tolist()) == ([0, 2], [0, 2])
    assert found[1].sets is None
    assert [each.digest() for each in found] == [part_with_a_set().digest(), part(3).digest()]
    assert found[0].digest() != part_with_a_set(members=(0, 1)).digest()


def test_the_digest_of_a_part_without_sets_is_that_of_format_9():
    """Certificates of earlier versions name the digests of such parts."""
    state, one = hashlib.sha256(), part(3)
    for name, kind in {"axis": "<i2", "cut": "<u8", "left": "<i4", "starts": "<i8", "keys": "<u8"}.items():
        array = getattr(one, name).astype(kind)
        state.update(f"{name}{array.shape}".encode())
        state.update(array.tobytes())
    assert one.digest() == state.digest()


def test_parts_of_format_9_are_read(tmp_path):
    stored([3, 4]).copy_to(tmp_path / "new.arrow")
    with pa.OSFile(str(tmp_path / "new.arrow")) as source, pa.ipc.open_file(source) as file:
        table = file.read_all().select(["axis", "cut", "left", "starts", "keys"])
        with pa.OSFile(str(tmp_path / "old.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
    store = PartStore.open(tmp_path / "old.arrow", parts=2, columns=1)
    assert [store.read(number).digest() for number in range(2)] == [part(3).digest(), part(4).digest()]


FORGED_SETS = {
    "of a leaf": (np.array([-1, 0, -1]), np.array([0, 2]), np.array([0, 2])),
    "of no node": (np.array([-1, -1, -1]), np.array([0, 2]), np.array([0, 2])),
    "that is not there": (np.array([1, -1, -1]), np.array([0, 2]), np.array([0, 2])),
    "below all": (np.array([-2, -1, -1]), np.array([0, 2]), np.array([0, 2])),
    "of two nodes": (np.array([0, 0, -1]), np.array([0, 2]), np.array([0, 2])),
    "of too few nodes": (np.array([0]), np.array([0, 2]), np.array([0, 2])),
    "that is empty": (np.array([0, -1, -1]), np.array([0, 0]), np.array([], dtype=np.uint64)),
    "that descends": (np.array([0, -1, -1]), np.array([0, 2]), np.array([2, 0])),
    "with a key twice": (np.array([0, -1, -1]), np.array([0, 2]), np.array([2, 2])),
    "with starts beyond it": (np.array([0, -1, -1]), np.array([0, 3]), np.array([0, 2])),
    "with starts behind zero": (np.array([0, -1, -1]), np.array([1, 2]), np.array([0, 2])),
    "without starts": (np.array([0, -1, -1]), np.array([], dtype=np.int64), np.array([0, 2])),
}


@pytest.mark.parametrize("sets", FORGED_SETS.values(), ids=FORGED_SETS)
def test_a_forged_set_is_refused(sets):
    of_node, starts, members = sets
    forged = KeySets(of_node, starts, members.astype(np.uint64))
    with pytest.raises(InputError, match="cannot be read"):
        replace(part_with_a_set(), sets=forged).check(1)
    with pytest.raises(InputError, match="cannot be read"):
        check_recoding(recoding_cut_at(forged))


def recoding_cut_at(sets, **changes):
    """Return a recoding by two parts, below one cut at a set of the four values of a column."""
    column = PartColumn(Domain("job", pa.array(["a", "b", "c", "d"]), missing=False), False, 0, 3)
    top = KeyTree(np.array([0, -1, -1]), np.zeros(3, np.uint64), np.array([1, 0, 1]), np.array([2, -1, -1]), sets=sets)
    return ByPart((), quasi=(replace(column, **changes),), top=top, parts=2)


def test_sets_of_keys_that_a_column_does_not_have_are_refused():
    sound, beyond = part_with_a_set(), part_with_a_set(members=(0, 4))
    check_recoding(recoding_cut_at(sound.sets))
    sound.check_keys([4])
    for refused in (
        lambda: beyond.check_keys([4]),
        lambda: sound.check_keys([None]),
        lambda: check_recoding(recoding_cut_at(beyond.sets)),
        lambda: check_recoding(recoding_cut_at(sound.sets, keyed=True)),
        lambda: check_recoding(recoding_cut_at(replace(sound.sets, members=np.array([0.0, 2.0])))),
    ):
        with pytest.raises(InputError, match="cannot be read"):
            refused()
