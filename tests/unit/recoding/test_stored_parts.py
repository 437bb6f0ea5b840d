"""The parts of a recoding that lie on disk, as this process and others read them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from indistinct.errors import InputError, ParameterError
from indistinct.recoding.stored_parts import PartStore, PartWriter, StoredPart


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
