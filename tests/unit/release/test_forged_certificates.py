"""Certificates that somebody changed: whatever type stands where, a sentence tells."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import indistinct as ind
from indistinct.release.certificate import misfit_of
from indistinct.release.opening import read_certificate
from indistinct.samples import generate_patients

SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"], insensitive=["zipcode", "admitted", "cost"]
)
WRONG = (None, 5, -1.5, "x", True, [], {}, [5], {"a": 5}, [["x"]])


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forged") / "release.csv"
    ind.anonymize(generate_patients(200, seed=1), SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", output=path)
    return path


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


def test_what_was_written_is_no_misfit(release):
    assert misfit_of(read_certificate(release)) is None


def test_any_type_at_any_place_is_read_or_refused(release, tmp_path):
    text = release.with_name("release.csv.certificate.json").read_text()
    copy = tmp_path / release.name
    copy.write_bytes(release.read_bytes())
    beside = tmp_path / "release.csv.certificate.json"
    refused = 0
    for path in places(json.loads(text)):
        for value in WRONG:
            beside.write_text(json.dumps(changed(json.loads(text), path, value)))
            try:
                told = read_certificate(copy)
            except ind.InputError:
                refused += 1
                continue
            assert told is not None
            # What is read has what its readers rely on.
            assert all(isinstance(each, dict) for each in told["verdicts"])
            assert all(isinstance(each, str) for each in told["warnings"])
            assert isinstance(told["people"], dict | None)
    assert refused > 100


@pytest.mark.parametrize("field", ["verdicts", "people", "warnings", "columns", "other_digests"])
def test_verification_names_the_field(release, tmp_path, field):
    copy = tmp_path / release.name
    copy.write_bytes(release.read_bytes())
    told = json.loads(release.with_name("release.csv.certificate.json").read_text())
    (tmp_path / "release.csv.certificate.json").write_text(json.dumps({**told, field: 5}))
    with pytest.raises(ind.InputError, match=f"field '{field}'"):
        ind.verify(copy, SCHEMA, "k-anonymity:k=5")
