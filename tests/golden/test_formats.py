"""Files of every format that was ever written are read, and mean what they meant: the law of `docs/releasing.md`.

`formats/N` was written by the code that had version N of stored recodings: releases of `formats/table.csv` by each kind
of recoding, with their certificates, and a policy of that time. They are never changed; a new version adds a folder.
"""

import json
from pathlib import Path

import pyarrow.csv as csv
import pytest

import indistinct as ind
from indistinct.job.policy import read_policy
from indistinct.recoding.storage import OLDEST, VERSION, recoding_from_json, recoding_to_json
from indistinct.release.opening import belongs_to, read_certificate

FORMATS = Path(__file__).parent / "formats"
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "zipcode", "sex"], sensitive=["disease"])
VERSIONS = range(OLDEST, VERSION + 1)
KINDS = ("by-bucket", "by-cell", "by-column", "by-region", "by-row")
# Files of recodings by parts are kept since format 9.
BY_PART = range(9, VERSION + 1)
each_file = pytest.mark.parametrize("kind", KINDS)
each_version = pytest.mark.parametrize("version", VERSIONS)


def rows_of(path: Path) -> list[tuple[str, ...]]:
    """Return the rows of a text file, in an order of their own."""
    return sorted(tuple(line.replace('"', "").split(",")) for line in path.read_text().splitlines()[1:])


def test_there_are_files_of_every_format():
    assert sorted(path.name for path in FORMATS.iterdir()) == sorted([*map(str, VERSIONS), "table.csv"])


@each_version
@each_file
def test_a_stored_recoding_is_read_and_written_in_the_newest_format(version, kind):
    text = (FORMATS / str(version) / f"{kind}.recoding.json").read_text()
    recoding = recoding_from_json(text)
    document, again = json.loads(text), json.loads(recoding_to_json(recoding))
    assert (document["version"], again["version"]) == (version, VERSION)
    assert document["kind"] == again["kind"] == kind
    assert recoding_from_json(json.dumps(again)) == recoding


@each_version
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "by-bucket"])
def test_a_stored_recoding_publishes_what_it_published(version, kind, tmp_path):
    recoding = recoding_from_json((FORMATS / str(version) / f"{kind}.recoding.json").read_text())
    release = ind.apply(recoding, ind.open(FORMATS / "table.csv", text=["zipcode"]))
    release.write(tmp_path / "again.csv")
    assert rows_of(tmp_path / "again.csv") == rows_of(FORMATS / str(version) / f"{kind}.csv")


@pytest.mark.parametrize("version", BY_PART)
def test_a_recoding_by_parts_publishes_what_it_published(version, tmp_path):
    """Its cuts lie in a second file, in which nodes are cut at sets since format 10."""
    folder, output = FORMATS / str(version), tmp_path / "again.csv"
    table = ind.open(FORMATS / "table.csv", text=["zipcode"])
    ind.apply(folder / "by-part.recoding.json", table, engine="duckdb", output=output)
    assert rows_of(output) == rows_of(folder / "by-part.csv")


@each_version
@each_file
def test_a_certificate_is_read_and_belongs_to_its_release(version, kind):
    path = FORMATS / str(version) / f"{kind}.csv"
    certificate = read_certificate(path)
    assert certificate is not None
    assert certificate["holds"] is True
    assert belongs_to(certificate, path)


@each_version
def test_a_release_still_holds(version):
    found = ind.verify(FORMATS / str(version) / "by-region.csv", SCHEMA, ind.KAnonymity(k=3))
    assert found.holds
    assert found.achieved["k"] == 3


@each_version
def test_a_policy_says_what_it_said(version):
    policy = read_policy(FORMATS / str(version) / "policy.toml")
    newest = read_policy(FORMATS / str(VERSION) / "policy.toml")
    assert (policy.schema.quasi, policy.model) == (newest.schema.quasi, newest.model)
    assert policy.hierarchies["zipcode"] == newest.hierarchies["zipcode"]


def test_the_table_is_the_invented_one():
    assert csv.read_csv(FORMATS / "table.csv").num_rows == 12


def test_a_format_of_the_future_is_refused_by_name():
    document = json.loads((FORMATS / str(VERSION) / "by-region.recoding.json").read_text())
    with pytest.raises(ind.InputError, match="not a recoding that this version can read"):
        recoding_from_json(json.dumps({**document, "version": VERSION + 1}))
