"""The ledger as a file: private, whole after every kill, one run at a time, and nobody else's file."""

import hmac
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.release.history.ledger import open_ledger, reserve, standings, unpacked

SCHEMA = ind.Schema(quasi=["age"], sensitive=["disease"], person=["patient"])
AGES = [20, 21, 22, 60, 61, 62]
JUNE = pa.table({"patient": list("abcdef"), "age": AGES, "disease": list("xyzxyz")})
OPTIONS = {"model": "k-anonymity:k=3", "algorithm": "mondrian"}


def made(folder: Path, name: str = "june", table: pa.Table = JUNE, **options: object) -> ind.Release:
    ledger = folder / "releases.ledger"
    return ind.anonymize(table, SCHEMA, output=folder / f"{name}.csv", ledger=ledger, **OPTIONS, **options)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_release_is_remembered_with_figures_and_digests(tmp_path: Path) -> None:
    release = made(tmp_path, save_recoding=tmp_path / "june.json")
    (entry,) = ind.read_ledger(tmp_path / "releases.ledger")
    assert (entry.number, entry.people, entry.classes, entry.k, entry.published) == (1, 6, 2, 3, True)
    assert entry.models == ("k-anonymity:k=3",)
    assert entry.output_digest == release.certificate.output_digest
    assert entry.recoding_digest == release.certificate.recoding_digest
    assert entry.recoding == str(tmp_path / "june.json")
    assert release.certificate.overlap is None
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "june.csv",
        "june.csv.certificate.json",
        "june.json",
        "releases.ledger",
    ]


def test_the_same_release_again_and_a_broken_one(tmp_path: Path) -> None:
    made(tmp_path)
    again = made(tmp_path, "again")
    assert again.certificate.overlap.releases == 1
    assert (again.certificate.overlap.people_below, again.certificate.overlap.smallest_history) == (0, 3)
    july = JUNE.set_column(1, "age", pa.array([20, 21, 60, 22, 61, 62]))
    with pytest.raises(
        ind.VerificationError, match="2 earlier releases 6 people share their history of classes with fewer"
    ):
        made(tmp_path, "july", july)
    assert not (tmp_path / "july.csv").exists()
    assert len(ind.read_ledger(tmp_path / "releases.ledger")) == 2
    accepted = made(tmp_path, "july", july, accept_overlap=True)
    assert any("2 earlier releases" in warning for warning in accepted.certificate.warnings)
    assert len(ind.read_ledger(tmp_path / "releases.ledger")) == 3


def test_apply_needs_no_earlier_original(tmp_path: Path) -> None:
    first = made(tmp_path)
    july = JUNE.set_column(1, "age", pa.array([20, 21, 60, 22, 61, 62]))
    ledger = tmp_path / "releases.ledger"
    with pytest.raises(ind.VerificationError, match="history of classes"):
        ind.apply(first.recoding, july, ledger=ledger)
    by_original = ind.apply(
        first.recoding, july, previous=first.recoding, previous_input=JUNE, accept_overlap=True
    ).certificate
    by_ledger = ind.apply(first.recoding, july, ledger=ledger, accept_overlap=True).certificate
    assert by_ledger.overlap == by_original.overlap
    assert by_ledger.overlap.people_below == 6


def test_a_release_in_memory_is_remembered_once_when_it_is_written(tmp_path: Path) -> None:
    ledger = tmp_path / "releases.ledger"
    release = ind.anonymize(JUNE, SCHEMA, ledger=ledger, **OPTIONS)
    other = ind.anonymize(JUNE, SCHEMA, ledger=ledger, **OPTIONS)
    assert ind.read_ledger(ledger) == ()
    release.write(tmp_path / "june.csv")
    release.write(tmp_path / "june.parquet")
    assert [entry.number for entry in ind.read_ledger(ledger)] == [1]
    with pytest.raises(ind.OutputError, match="another release was recorded"):
        other.write(tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


def test_it_needs_people(tmp_path: Path) -> None:
    nobody = ind.Schema(identifiers=["patient"], quasi=["age"], sensitive=["disease"])
    with pytest.raises(ind.SchemaError, match="role person"):
        ind.anonymize(JUNE, nobody, ledger=tmp_path / "releases.ledger", **OPTIONS)
    assert not (tmp_path / "releases.ledger").exists()
    made(tmp_path)
    numbers = JUNE.set_column(0, "patient", pa.array(range(6)))
    with pytest.raises(ind.InputError, match="is read as number now and as text"):
        made(tmp_path, "july", numbers)
    named = JUNE.rename_columns(["name", "age", "disease"])
    schema = ind.Schema(quasi=["age"], sensitive=["disease"], person=["name"])
    with pytest.raises(ind.SchemaError, match="'name' now, and by 'patient'"):
        ind.anonymize(named, schema, ledger=tmp_path / "releases.ledger", **OPTIONS)


def test_whole_numbers_of_any_width_are_the_same_people(tmp_path: Path) -> None:
    for name, kind in (("june", pa.int64()), ("july", pa.int32())):
        release = made(tmp_path, name, JUNE.set_column(0, "patient", pa.array(range(6), kind)))
    assert release.certificate.overlap.shared_people == 6


def test_rows_of_equal_values_in_several_classes_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(ind.ParameterError, match="cannot be followed"):
        ind.anonymize(
            JUNE,
            SCHEMA,
            model="k-anonymity:k=3",
            algorithm="mondrian:relaxed=true",
            output=tmp_path / "june.csv",
            ledger=tmp_path / "releases.ledger",
        )


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made(tmp_path)
    finally:
        os.umask(before)
    ledger = tmp_path / "releases.ledger"
    assert mode(ledger) == 0o600
    with sqlite3.connect(ledger, isolation_level=None) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE releases SET token = 'x'")
        assert mode(tmp_path / "releases.ledger-journal") == 0o600
        connection.execute("ROLLBACK")
    connection.close()
    for open_to_others in (0o640, 0o604, 0o660, 0o601):
        ledger.chmod(open_to_others)
        with pytest.raises(ind.InputError, match="can be read by other users") as caught:
            made(tmp_path, "july")
        assert f"chmod 600 {ledger}" in str(caught.value)
        with pytest.raises(ind.InputError, match="can be read by other users"):
            ind.read_ledger(ledger)
    assert not (tmp_path / "july.csv").exists()


def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    ledger = tmp_path / "releases.ledger"
    for content in (b"precious\n", b"SQLite format 3\0" + b"\1" * 84, b"\0" * 4096):
        ledger.write_bytes(content)
        ledger.chmod(0o600)
        with pytest.raises(ind.InputError, match="is not a ledger"):
            made(tmp_path)
        assert ledger.read_bytes() == content
    ledger.unlink()
    with sqlite3.connect(ledger) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    ledger.chmod(0o600)
    with pytest.raises(ind.InputError, match="no ledger that this version can read"):
        made(tmp_path)
    ledger.unlink()
    ledger.mkdir()
    with pytest.raises(ind.InputError, match="not a file"):
        made(tmp_path)
    with pytest.raises(ind.InputError, match="--ledger make a new one"):
        ind.read_ledger(tmp_path / "nowhere")
    with pytest.raises(ind.OutputError, match="cannot be created"):
        ind.anonymize(JUNE, SCHEMA, ledger=tmp_path / "no" / "where", **OPTIONS)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET key = randomblob(32)",
        "UPDATE releases SET content = CAST(content || x'00' AS BLOB)",
        "UPDATE releases SET about = replace(about, '\"people\": 6', '\"people\": 7')",
        "UPDATE releases SET seal = randomblob(32)",
        "UPDATE releases SET token = 'another'",
    ],
)
def test_another_key_and_changed_entries_are_noticed(tmp_path: Path, statement: str) -> None:
    made(tmp_path)
    ledger = tmp_path / "releases.ledger"
    with sqlite3.connect(ledger) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(ind.InputError, match="release 1 was changed, or belongs to another key"):
        ind.read_ledger(ledger)
    with pytest.raises(ind.InputError, match="another key"):
        made(tmp_path, "july")


def test_a_key_that_is_gone_is_noticed(tmp_path: Path) -> None:
    made(tmp_path)
    with sqlite3.connect(tmp_path / "releases.ledger") as connection:
        connection.execute("DELETE FROM ledger")
    connection.close()
    with pytest.raises(ind.InputError, match="it has no key"):
        made(tmp_path, "july")


def test_no_message_quotes_what_is_stored(tmp_path: Path) -> None:
    made(tmp_path)
    with sqlite3.connect(tmp_path / "releases.ledger") as connection:
        connection.execute("UPDATE releases SET content = CAST(x'ff53454352455457' AS TEXT)")
    connection.close()
    with pytest.raises(ind.InputError, match="it is not a ledger, or it was changed") as caught:
        made(tmp_path, "july")
    assert "SECRET" not in str(caught.value)


def test_a_flipped_byte_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    made(tmp_path)
    ledger = tmp_path / "releases.ledger"
    whole, entries = ledger.read_bytes(), ind.read_ledger(ledger)
    noticed = 0
    for at in range(0, len(whole), 97):
        ledger.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert ind.read_ledger(ledger) == entries
            standings(open_ledger(ledger))
        except (ind.InputError, ind.OutputError):
            noticed += 1
    assert noticed > 5


def test_a_forgotten_release_is_gone_from_the_bytes_and_its_number_too(tmp_path: Path) -> None:
    made(tmp_path)
    ledger = tmp_path / "releases.ledger"
    (standing,) = standings(open_ledger(ledger))
    pseudonym = standing.people.tobytes()[:16]
    assert pseudonym in ledger.read_bytes()
    assert ind.forget_release(ledger, 1).people == 6
    assert pseudonym not in ledger.read_bytes()
    with pytest.raises(ind.ParameterError, match="no release 1"):
        ind.forget_release(ledger, 1)
    made(tmp_path, "again")
    assert [entry.number for entry in ind.read_ledger(ledger)] == [2]


def test_no_release_replaces_its_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "releases.csv"
    with pytest.raises(ind.OutputError, match="would replace the input"):
        ind.anonymize(JUNE, SCHEMA, output=ledger, ledger=ledger, overwrite=True, **OPTIONS)
    release = ind.anonymize(JUNE, SCHEMA, output=tmp_path / "june.csv", ledger=ledger, **OPTIONS)
    with pytest.raises(ind.OutputError, match="would replace the input"):
        release.write(ledger, overwrite=True)
    assert len(ind.read_ledger(ledger)) == 1


def test_a_refused_path_leaves_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = ind.anonymize(JUNE, SCHEMA, ledger=tmp_path / "releases.ledger", **OPTIONS)

    def fail(*_paths: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(ind.OutputError):
        release.write(tmp_path / "june.csv")
    assert ind.read_ledger(tmp_path / "releases.ledger") == ()
    assert [each.name for each in tmp_path.iterdir()] == ["releases.ledger"]


def into_format_1(ledger: Path, *, model: str = "k-anonymity:k=3") -> None:
    """Write the entries of a ledger as the first format had them: with digests of values, without k and `fresh`."""
    with sqlite3.connect(ledger) as connection:
        ((key,),) = connection.execute("SELECT key FROM ledger")
        rows = connection.execute("SELECT number, token, about, content FROM releases").fetchall()
        for number, token, about, content in rows:
            told = json.loads(about)
            told["certificate"]["verdicts"][0]["model"] = model
            told["certificate"]["verdicts"].append({**told["certificate"]["verdicts"][0], "model": "class-sets-shared"})
            standing = unpacked(content)
            counts = np.diff(standing.indptr).astype("<u4")
            value = np.array([b"v" * 16])
            arrays = [standing.people, standing.people, counts, standing.classes, value, counts[:1], np.zeros(1, "<i4")]
            head = {"person": dict(standing.person), "size": standing.size, "signatures": {"disease": "text"}}
            text = json.dumps({**head, "lengths": [len(array) for array in arrays]}).encode()
            old = b"".join([len(text).to_bytes(4, "big"), text, *(array.tobytes() for array in arrays)])
            parts = (b"entry", token.encode(), json.dumps(told).encode(), old)
            seal = hmac.digest(key, b"".join(len(part).to_bytes(8, "big") + part for part in parts), "sha256")
            connection.execute(
                "UPDATE releases SET about = ?, content = ?, seal = ? WHERE number = ?",
                (json.dumps(told), old, seal, number),
            )
        connection.execute("PRAGMA user_version = 1")
    connection.close()


def form_of(ledger: Path) -> int:
    with sqlite3.connect(ledger) as connection:
        ((form,),) = connection.execute("PRAGMA user_version")
    connection.close()
    return int(form)


def test_the_first_format_is_read_and_becomes_the_second(tmp_path: Path) -> None:
    made(tmp_path)
    ledger = tmp_path / "releases.ledger"
    into_format_1(ledger)
    (entry,) = ind.read_ledger(ledger)
    assert (entry.k, entry.fresh, entry.people) == (3, False, 6)
    assert form_of(ledger) == 1, "reading changes nothing"
    july = JUNE.set_column(1, "age", pa.array([20, 21, 60, 22, 61, 62]))
    with pytest.raises(ind.VerificationError, match="6 people share their history"):
        made(tmp_path, "july", july)
    assert form_of(ledger) == 1
    assert b"v" * 16 in ledger.read_bytes()
    made(tmp_path, "again")
    assert form_of(ledger) == 2
    assert b"v" * 16 not in ledger.read_bytes(), "digests of values are forgotten"
    assert [(each.number, each.k, each.people) for each in ind.read_ledger(ledger)] == [(1, 3, 6), (2, 3, 6)]
    with pytest.raises(ind.VerificationError, match="2 earlier releases 6 people share"):
        made(tmp_path, "july", july)


@pytest.mark.parametrize(("model", "k"), [("k-anonymity:k=2", 2), ("a-model-of-a-package:t=2", 3)])
def test_the_k_of_the_first_format_is_that_of_its_models_or_its_smallest_class(
    tmp_path: Path, model: str, k: int
) -> None:
    made(tmp_path)
    into_format_1(tmp_path / "releases.ledger", model=model)
    assert [entry.k for entry in ind.read_ledger(tmp_path / "releases.ledger")] == [k]


def test_a_ledger_that_claims_another_format_is_noticed(tmp_path: Path) -> None:
    made(tmp_path)
    ledger = tmp_path / "releases.ledger"
    for form, message in ((1, "was changed"), (3, "no ledger that this version can read")):
        with sqlite3.connect(ledger) as connection:
            connection.execute(f"PRAGMA user_version = {form}")
        connection.close()
        with pytest.raises(ind.InputError, match=message):
            ind.read_ledger(ledger)
    into = tmp_path / "other"
    into.mkdir()
    made(into)
    into_format_1(into / "releases.ledger")
    with sqlite3.connect(into / "releases.ledger") as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(ind.InputError, match="was changed"):
        ind.read_ledger(into / "releases.ledger")


def test_people_are_held_back_within_the_budget(tmp_path: Path) -> None:
    """One joins and one leaves: both and two who were with the one who left are not in the second release."""
    first = made(tmp_path, table=pa.concat_tables([JUNE, JUNE.set_column(0, "patient", pa.array(list("ghijkl")))]))
    july = pa.table({"patient": list("bcghidefjklx"), "age": [21, 22, 20, 21, 22, 60, 61, 62, 60, 61, 62, 60]})
    july = july.append_column("disease", pa.array(list("yzxyzxyzxyzx")))
    options = {"output": tmp_path / "july.csv", "ledger": tmp_path / "releases.ledger"}
    with pytest.raises(ind.VerificationError, match="2 people share") as caught:
        ind.apply(first.recoding, july, **options)
    assert caught.value.details["hold_back"] == 3
    with pytest.raises(ind.InfeasibleError, match=r"3 of 12 people would be withheld .* 1 may be suppressed") as few:
        ind.apply(first.recoding, july, hold_back=True, suppression=0.1, **options)
    assert "suppression=0.3" in few.value.hint
    assert not (tmp_path / "july.csv").exists()
    held = ind.apply(first.recoding, july, hold_back=True, suppression=0.25, **options)
    assert held.table.num_rows == 9
    assert held.certificate.overlap.people_below == 0
    assert any("3 people were withheld" in warning for warning in held.certificate.warnings)
    assert "[hidden] people were withheld" in (tmp_path / "july.csv.certificate.json").read_text()
    # Who need not be held back is not, and where everybody had to be the refusal says so.
    again = ind.apply(first.recoding, july.filter(pa.array([True] * 11 + [False])), hold_back=True, suppression=0.5)
    assert again.table.num_rows == 11
    mixed = pa.table({"patient": list("adx"), "age": [60] * 3, "disease": list("xxx")})
    with pytest.raises(ind.VerificationError, match="share their history") as nobody:
        ind.apply(first.recoding, mixed, hold_back=True, suppression=1.0, ledger=tmp_path / "releases.ledger")
    assert "no person of this release would be left" in nobody.value.hint


def test_people_are_held_back_beside_one_earlier_release(tmp_path: Path) -> None:
    first = made(tmp_path)
    grown = pa.concat_tables([JUNE, JUNE.slice(0, 1).set_column(0, "patient", pa.array(["x"]))])
    beside = {"previous": first.recoding, "previous_input": JUNE, "suppression": 0.2}
    assert ind.apply(first.recoding, grown, hold_back=True, **beside).table.num_rows == 6
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().from_arrow(grown)
    with pytest.raises(ind.ParameterError, match="held back of a table in memory"):
        ind.apply(first.recoding, relation, hold_back=True, **beside)


def test_fresh_columns_are_published_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(ind.SchemaError, match="'age' is declared fresh") as caught:
        made(tmp_path, fresh=["age"])
    assert "disease" in caught.value.hint
    with pytest.raises(ind.ParameterError, match="`fresh` of anonymize must be a list"):
        made(tmp_path, fresh="disease")
    first = made(tmp_path, fresh=["disease"])
    grown = pa.concat_tables([JUNE, JUNE.slice(0, 1).set_column(0, "patient", pa.array(["x"]))])
    beside = {"previous": first.recoding, "previous_input": JUNE}
    assert ind.apply(first.recoding, grown, fresh=["disease"], **beside).certificate.overlap.people_below == 0
    with pytest.raises(ind.VerificationError, match="1 is in this release alone"):
        ind.apply(first.recoding, grown, **beside)


@pytest.mark.skipif(os.name != "posix", reason="there are no locks elsewhere")
def test_two_runs_take_turns(tmp_path: Path) -> None:
    """A second run waits until the first has published, and is then compared with it."""
    ledger = tmp_path / "releases.ledger"
    made(tmp_path)
    program = (
        "import sys; from indistinct.release.history.ledger import reserve\n"
        f"with reserve({str(ledger)!r}): print('mine', flush=True); sys.stdin.read()\n"
        "print('done', flush=True)"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    waiting = "import sys; from indistinct.release.history.ledger import reserve\n"
    waiting += f"with reserve({str(ledger)!r}): print('next', flush=True)"
    try:
        assert child.stdout.readline() == "mine\n"
        other = subprocess.Popen([sys.executable, "-c", waiting], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=2)
        child.communicate(timeout=300)
        assert other.communicate(timeout=300)[0] == "next\n"
    finally:
        child.kill()
        other.kill()
    with reserve(ledger):
        pass
    assert not (tmp_path / ".releases.ledger.lock").exists()
