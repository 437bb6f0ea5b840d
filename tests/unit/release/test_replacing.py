"""Replacing a release: what only the old one had goes, and nobody else's file is touched."""

import json

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.release.certificate import certificate_path

SCHEMA = ind.Schema(quasi=["age"], sensitive=["disease"])
TABLE = pa.table({"age": list(range(20, 60)), "disease": ["flu", "cold", "cough", "ache"] * 10})


@pytest.fixture
def place(tmp_path):
    """Return the path of an anatomy release of two tables."""
    ind.anonymize(TABLE, SCHEMA, algorithm="anatomy:l=2").write(tmp_path / "release.csv")
    assert (tmp_path / "release.sensitive.csv").exists()
    return tmp_path / "release.csv"


def replace(place):
    ind.anonymize(TABLE, SCHEMA, algorithm="slicing:l=2").write(place, overwrite=True)


def test_the_second_table_of_the_old_release_goes(place):
    replace(place)
    assert sorted(each.name for each in place.parent.iterdir()) == ["release.csv", "release.csv.certificate.json"]


def test_the_second_table_of_another_anatomy_is_replaced(place):
    before = place.with_name("release.sensitive.csv").read_bytes()
    ind.anonymize(TABLE, SCHEMA, algorithm="anatomy:l=4").write(place, overwrite=True)
    assert place.with_name("release.sensitive.csv").read_bytes() != before


def test_a_file_that_was_changed_stays(place):
    beside = place.with_name("release.sensitive.csv")
    beside.write_text("my own notes")
    replace(place)
    assert beside.read_text() == "my own notes"


@pytest.mark.parametrize(
    "said", ["no JSON", "{}", "[]", '{"other_digests": 5}', '{"other_digests": {"../x": "0"}}', "null"]
)
def test_a_broken_certificate_is_no_reason_to_touch_anything(place, said):
    certificate_path(place).write_text(said)
    replace(place)
    assert place.with_name("release.sensitive.csv").exists()
    assert json.loads(certificate_path(place).read_text())["holds"]


def test_a_certificate_leads_to_no_file_elsewhere(place, tmp_path):
    """A name with a separator would leave the folder."""
    other = tmp_path / "sub" / "x.csv"
    other.parent.mkdir()
    other.write_text("somebody's")
    digest = json.loads(certificate_path(place).read_text())["other_digests"]["sensitive"]
    certificate_path(place).write_text(json.dumps({"other_digests": {"/../sub/x": digest}}))
    replace(place)
    assert other.read_text() == "somebody's"


def test_nothing_goes_if_the_new_release_is_refused(place):
    with pytest.raises(ind.IndistinctError):
        ind.anonymize(TABLE, SCHEMA, algorithm="slicing:l=2").write(place)
    assert place.with_name("release.sensitive.csv").exists()
