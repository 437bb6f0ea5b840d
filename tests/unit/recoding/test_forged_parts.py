"""The second file of a recoding by parts, exchanged or grown: refused at once, whatever it is."""

import hashlib
import json
import os
import shutil

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines.passes import Room
from indistinct.errors import InputError
from indistinct.recoding.storage import read_recoding
from references.pass_runs import by_passes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(100, 10, 100, 0), patch)
        places = {"output": folder / "r.parquet", "save_recoding": folder / "recoding.json"}
        asked = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "engine": "duckdb"}
        ind.anonymize(table, ind.Schema(quasi=["x", "y"]), **asked, **places)
    return folder


@pytest.fixture
def recoding(made, tmp_path):
    for path in made.glob("recoding.json*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "recoding.json"


def test_parts_are_read_again(recoding):
    found = read_recoding(recoding)
    assert len(found.store.read(0).axis) > 0


def forge_pipe(path):
    path.unlink()
    os.mkfifo(path)


def forge_device(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def forge_folder(path):
    path.unlink()
    path.mkdir()


def forge_size(path):
    os.truncate(path, 1 << 40)  # no disk has it: reading all of it would take an hour


@pytest.mark.parametrize(
    ("forge", "message"),
    [(forge_pipe, "a pipe"), (forge_device, "a device"), (forge_folder, "a directory"), (forge_size, "cannot be read")],
)
def test_what_never_ends_is_not_read(recoding, forge, message):
    forge(recoding.with_name("recoding.json.arrow"))
    with pytest.raises(InputError, match=message):
        read_recoding(recoding)


def test_parts_that_are_missing_are_refused_although_the_digest_fits(recoding):
    place, document = recoding.with_name("recoding.json.arrow"), json.loads(recoding.read_text())
    with pa.ipc.open_file(pa.BufferReader(place.read_bytes())) as file:
        batches = [file.get_batch(number) for number in range(file.num_record_batches)]
    with pa.ipc.new_file(place, file.schema) as writer:
        for batch in batches[1:]:
            writer.write_batch(batch)
    recoding.write_text(json.dumps({**document, "arrow": hashlib.sha256(place.read_bytes()).hexdigest()}))
    with pytest.raises(InputError, match="cannot be read"):
        read_recoding(recoding)
