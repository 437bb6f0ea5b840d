"""Recodings in files: one file or two that belong together, private, and readable by later versions."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, OutputError
from indistinct.recoding import storage
from indistinct.recoding.kinds import BLOCK, digest, digest_parts
from indistinct.recoding.storage import arrays_path, files_of_recoding, read_recoding, recoding_from_json

TABLE = pa.table(
    {
        "age": [21, 22, 22, 35, 35, 36, None, 58, 59, 59, 60, 60],
        "zip": ["4351", "4351", "4352", "4361", "4361", "4362", "4351", "4362", "4362", "4361", "4352", "4352"],
        "ill": ["flu", "ulcer", "flu", "flu", "asthma", "ulcer", "flu", "asthma", "flu", "ulcer", "asthma", "flu"],
    }
)
SCHEMA = ind.Schema(quasi=["age", "zip"], sensitive=["ill"])
MODEL = "k-anonymity:k=3"
FORMS = (
    "datafly",
    "mondrian",
    "mondrian:choose=loss",
    "refine",
    "mondrian:relaxed=true",
    "slicing:l=2,generalize=3",
    "anatomy:l=2",
)


def released(algorithm="mondrian"):
    trees = {"age": ind.Hierarchy.intervals([10]), "zip": ind.Hierarchy.masking()} if algorithm == "datafly" else None
    model = None if "l=2" in algorithm else MODEL
    return ind.anonymize(TABLE, SCHEMA, model=model, algorithm=algorithm, hierarchies=trees, suppression=0.5)


@pytest.fixture
def large(monkeypatch):
    """Let every recoding be a large one."""
    monkeypatch.setattr(storage, "LARGE", 0)


@pytest.mark.parametrize("algorithm", FORMS)
def test_a_small_recoding_is_one_private_file(tmp_path, algorithm):
    release, path = released(algorithm), tmp_path / "recoding.json"
    release.write_recoding(path)
    assert [each.name for each in tmp_path.iterdir()] == ["recoding.json"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_recoding(str(path)) == release.recoding


@pytest.mark.parametrize("algorithm", FORMS)
def test_a_large_recoding_is_two_private_files(tmp_path, large, algorithm):
    release, path = released(algorithm), tmp_path / "recoding.json"
    release.write_recoding(path)
    assert {each.name for each in tmp_path.iterdir()} == {"recoding.json", "recoding.json.arrow"}
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
    again = read_recoding(path)
    assert again == release.recoding
    assert digest(again) == release.certificate.recoding_digest
    assert ind.apply(again, TABLE).certificate.holds
    assert "4351" not in path.read_text()


def test_a_recoding_says_how_its_table_was_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age;day\n" + "1,5;31.01.2024\n2,5;01.02.2024\n-99;01.02.2024\n" * 4)
    table = ind.open(path, decimal=",", dates={"day": "%d.%m.%Y"}, missing={"*": ["", "?"], "age": ["-99"]})
    release = ind.anonymize(table, ind.Schema(quasi=["age", "day"]), model="k-anonymity:k=4")
    text = storage.recoding_to_json(release.recoding)
    again = recoding_from_json(text)
    assert again.reading == table.reading
    assert ind.apply(again, path).certificate.holds
    earlier = json.loads(text)
    earlier["version"] = 3
    del earlier["reading"]
    old = recoding_from_json(json.dumps(earlier))
    assert old.reading is None
    assert digest(old) == digest(release.recoding)
    with pytest.raises(InputError):
        ind.apply(old, path)
    assert ind.apply(old, table).certificate.holds


def test_what_was_text_stays_text_next_month(tmp_path):
    june, july = tmp_path / "june.csv", tmp_path / "july.csv"
    june.write_text("code,ill\n" + "7,flu\nA1,flu\n8,flu\n" * 4)
    july.write_text("code,ill\n" + "7,flu\n8,flu\n" * 4)
    schema = ind.Schema(quasi=["code"], sensitive=["ill"])
    release = ind.anonymize(
        ind.open(june, text=["ill"]),
        schema,
        model="k-anonymity:k=4",
        algorithm="mondrian",
        hierarchies={"code": ind.Hierarchy.tree({"*": ["7", "8", "A1"]})},
    )
    assert ind.apply(release.recoding, july).certificate.holds


def test_what_is_large_counts_every_array():
    recoding = released().recoding
    sizes = [len(part) for _, part in storage.parts_of(recoding) if hasattr(part, "__len__") and hasattr(part, "dtype")]
    assert 0 < sum(sizes) < storage.LARGE
    assert list(files_of_recoding(recoding, "r.json")) == [Path("r.json")]


def second_gone(path):
    arrays_path(path).unlink()


def second_changed(path):
    content = bytearray(arrays_path(path).read_bytes())
    content[len(content) // 2] ^= 1
    arrays_path(path).write_bytes(content)


def second_of_another(path):
    released("refine").write_recoding(path.with_name("other.json"))
    arrays_path(path.with_name("other.json")).replace(arrays_path(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (second_gone, "second file of the recoding, .*, is missing"),
        (second_changed, "belong together"),
        (second_of_another, "belong together"),
    ],
)
def test_the_second_file_must_be_there_and_the_same(tmp_path, large, change, message):
    path = tmp_path / "recoding.json"
    released().write_recoding(path)
    change(path)
    with pytest.raises(InputError, match=message) as caught:
        read_recoding(path)
    assert caught.value.hint


def rewritten(arrays):
    """Return an Arrow file with these cells in one row."""
    batch = pa.record_batch([pa.array([cells]) for cells in arrays], names=[str(each) for each in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as file:
        file.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"ARROW1 and nothing else",
        rewritten([]),
        rewritten([[1, 2]]),
        rewritten([[["nested"]]] * 60),
        rewritten([["text"]] * 60),
        rewritten([[None, 1]] * 60),
        rewritten([[2**40]] * 60),
        rewritten([None] * 60),
        rewritten([7] * 60),
    ],
    ids=["empty", "torn", "no arrays", "too few", "nested", "text", "missing", "huge", "null", "no lists"],
)
def test_a_forged_second_file_is_refused(tmp_path, large, content):
    path = tmp_path / "recoding.json"
    released().write_recoding(path)
    head = json.loads(path.read_text())
    head["arrow"] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(head))
    arrays_path(path).write_bytes(content)
    with pytest.raises(InputError):
        read_recoding(path)


def test_a_second_file_goes_with_the_recoding_that_it_belongs_to(tmp_path, monkeypatch):
    path, release = tmp_path / "recoding.json", released()
    monkeypatch.setattr(storage, "LARGE", 0)
    release.write_recoding(path)
    monkeypatch.setattr(storage, "LARGE", 10**6)
    with pytest.raises(OutputError):
        release.write_recoding(path)
    assert arrays_path(path).exists()
    release.write_recoding(path, overwrite=True)
    assert not arrays_path(path).exists()
    arrays_path(path).write_bytes(b"somebody else's")
    release.write_recoding(path, overwrite=True)
    assert arrays_path(path).read_bytes() == b"somebody else's"


def test_nothing_is_written_where_the_second_file_is_in_the_way(tmp_path, large):
    path = tmp_path / "recoding.json"
    arrays_path(path).write_bytes(b"somebody else's")
    with pytest.raises(OutputError):
        released().write_recoding(path)
    assert [each.name for each in tmp_path.iterdir()] == [arrays_path(path).name]


def test_a_path_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\xe9")
    for name, message in (
        ("latin.json", "not a recoding"),
        ("nowhere.json", "there is no recoding"),
        ("", "cannot read"),
    ):
        with pytest.raises(InputError, match=message):
            read_recoding(tmp_path / name)


@pytest.mark.parametrize("version", [0, 2, 99, "3", None])
def test_other_versions_are_refused(version):
    document = {**json.loads(storage.recoding_to_json(released().recoding)), "version": version}
    with pytest.raises(InputError, match="not a recoding that this version can read"):
        recoding_from_json(json.dumps(document))


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", 'b"c', None, "ü€", "x\\y", "\n", "\x7f\u2028"]),
        pa.array(["plain", "ü"]),
        pa.array([1.5, -0.0, 1e300]),
        pa.array([1, 2, 3], pa.int8()).slice(1),
        pa.array([], pa.string()),
        pa.array([*["x"] * BLOCK, 'q"', None]),
    ],
)
def test_arrays_are_committed_to_as_the_json_of_their_texts(values):
    """Texts are joined without Python where nothing is to be escaped; the digest must not tell how."""

    @dataclass
    class Holder:
        values: pa.Array

    document = json.dumps([str(values.type), values.cast(pa.string()).to_pylist()], ensure_ascii=False)
    expected = hashlib.sha256(f'n\n:"Holder"\n/values:{document}'.encode()).hexdigest()
    assert digest_parts(Holder(values), nonce="n") == expected
