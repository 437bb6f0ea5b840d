"""Hashes without a key in place of pseudonyms: however they are cut and written, the original tells them."""

import base64
import hashlib
import uuid

import pyarrow as pa
import pytest

import indistinct as ind

SCHEMA = ind.Schema(identifiers=["visit"], person=["patient"], quasi=["age"], sensitive=["s"])
MODEL = ind.KAnonymity(3)


def visits():
    """Two visits of twelve people, four of whom are in each class."""
    rows = [(person, visit) for person in range(12) for visit in range(2)]
    return pa.table(
        {
            "visit": [f"v{person}-{visit}" for person, visit in rows],
            "patient": [f"p{person}" for person, _ in rows],
            "age": [20 + person // 4 for person, _ in rows],
            "s": ["abc"[(person + visit) % 3] for person, visit in rows],
        }
    )


HASHED = {
    "md5": lambda text: hashlib.new("md5", text.encode(), usedforsecurity=False).hexdigest(),
    "sha256": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "its beginning": lambda text: hashlib.sha256(text.encode()).hexdigest()[:32],
    "its end": lambda text: hashlib.sha512(text.encode()).hexdigest()[-32:],
    "its first half": lambda text: hashlib.new("sha1", text.encode(), usedforsecurity=False).hexdigest()[:20],
    "of a line": lambda text: hashlib.sha256(f"{text}\n".encode()).hexdigest()[:40],
    "of large letters": lambda text: hashlib.sha384(text.upper().encode()).hexdigest(),
    "in large letters": lambda text: hashlib.sha256(text.encode()).hexdigest().upper(),
    "base 64": lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
    "for an address": lambda text: (
        base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    ),
    "blake": lambda text: hashlib.blake2b(text.encode()).hexdigest()[:32],
    "a name's identifier": lambda text: uuid.uuid5(uuid.NAMESPACE_DNS, text).hex,
    "a database's": lambda text: "0x" + hashlib.sha256(text.encode("utf-16-le")).hexdigest().upper(),
}


@pytest.mark.parametrize("way", HASHED)
def test_hashes_without_a_key_are_no_pseudonyms(way):
    """However they are cut and written, the original tells them."""
    table, make = visits(), HASHED[way]
    hashed = table.select(["age", "s"]).append_column("patient", pa.array(map(make, table["patient"].to_pylist())))
    found = ind.scan(hashed, original=table, schema=SCHEMA)
    assert any("hashes without a key" in finding.sentence for finding in found.leaks)
    renamed = hashed.rename_columns(["age", "s", "pid"])
    assert any(
        "hashes without a key" in each.sentence for each in ind.scan(renamed, original=table, schema=SCHEMA).leaks
    )
    certificate = ind.verify(hashed, SCHEMA, MODEL, original=table, pseudonyms=["patient"])
    assert [each.model for each in certificate.verdicts if not each.holds] == ["no-identifier"]
    assert any("column 'patient' holds hashes without a key" in told for told in certificate.warnings)
    assert not certificate.pseudonyms


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_hashes_of_numbers_and_real_pseudonyms(monkeypatch, engine):
    monkeypatch.setenv("STUDY_KEY", "00112233445566778899aabbccddeeff")
    numbers = [100_000 + row for row in range(24)]
    table = visits().set_column(1, "patient", pa.array(numbers))
    for before in (table, table.set_column(1, "patient", pa.array(numbers, pa.float64()))):
        for spell in ("{}", "{}.0"):
            hashed = [hashlib.sha256(spell.format(number).encode()).hexdigest()[:32] for number in numbers]
            shown = table.select(["age", "s"]).append_column("patient", pa.array(hashed))
            certificate = ind.verify(shown, SCHEMA, MODEL, original=before, pseudonyms=["patient"], engine=engine)
            assert not certificate.holds
    keyed = {"patient": ind.Pseudonym(environment="STUDY_KEY")}
    release = ind.anonymize(table, SCHEMA, model=MODEL, algorithm="mondrian", pseudonyms=keyed)
    assert ind.scan(release.table, original=table, schema=SCHEMA).clean
    again = ind.verify(release.table, SCHEMA, MODEL, original=table, pseudonyms=["patient"], engine=engine)
    assert again.holds
    assert again.pseudonyms == {"patient": "unknown"}
