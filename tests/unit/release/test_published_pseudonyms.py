"""Pseudonyms in a release: how they are made, what they may link, and that nobody learns the key."""

import hmac
import json
import logging
import os
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, ParameterError, SchemaError, VerificationError
from indistinct.release.pseudonyms.making import canonical, parse_pseudonym, pseudonym_from_options

SCHEMA = ind.Schema(identifiers=["visit"], person=["patient"], quasi=["age"], sensitive=["s"])
MODEL = ind.KAnonymity(3)
KEY = "00112233445566778899aabbccddeeff"


@pytest.fixture
def key(tmp_path):
    return written(tmp_path / "study.key", KEY.encode())


def written(path, content, mode=0o600):
    path.write_bytes(content)
    path.chmod(mode)
    return path


def visits(people=12, *, moved=()):
    """Two visits of everybody, in one class of four; people who `moved` have the second one in another class."""
    rows = [(person, visit) for person in range(people) for visit in range(2)]
    return pa.table(
        {
            "visit": [f"v{person}-{visit}" for person, visit in rows],
            "patient": [f"p{person}" for person, _ in rows],
            "age": [20 + (person // 4 + (visit if person in moved else 0)) % (people // 4) for person, visit in rows],
            "s": ["abc"[(person + visit) % 3] for person, visit in rows],
        }
    )


def published(table=None, schema=SCHEMA, **options):
    given = {"model": MODEL, "algorithm": ind.ChosenNode((0,)), "hierarchies": {"age": ind.Hierarchy.suppression()}}
    return ind.anonymize(visits() if table is None else table, schema, **(given | options))


def framed(*texts):
    return b"".join(len(text.encode()).to_bytes(4, "big") + text.encode() for text in texts)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_pseudonym_is_an_hmac_of_column_type_and_value(key, engine):
    shown = published(pseudonyms={"patient": ind.Pseudonym(key=key)}, engine=engine)
    wanted = {
        hmac.digest(bytes.fromhex(KEY), framed("patient", "text", f"p{person}"), "sha256")[:16].hex()
        for person in range(12)
    }
    assert set(shown.table["patient"].to_pylist()) == wanted
    assert shown.table.column_names == ["patient", "age", "s"]
    assert shown.certificate.pseudonyms == {"patient": "keyed"}
    assert shown.certificate.holds


def test_numbers_have_another_type_than_their_texts(key):
    table, pseudonyms = pa.table({"id": [1, 2, 3], "age": [1, 1, 1]}), {"id": ind.Pseudonym(key=key)}
    schema = ind.Schema(identifiers=["id"], quasi=["age"])
    texts = table.set_column(0, "id", table["id"].cast(pa.string()))
    narrow = table.set_column(0, "id", table["id"].cast(pa.int8()))
    shown = [
        set(ind.anonymize(each, schema, model=MODEL, pseudonyms=pseudonyms).table["id"].to_pylist())
        for each in (table, texts, narrow)
    ]
    assert shown[0] == shown[2]
    assert not shown[0] & shown[1]
    one = hmac.digest(bytes.fromhex(KEY), framed("id", "integer", "1"), "sha256")[:16].hex()
    assert one in shown[0]


@pytest.mark.parametrize(
    "again",
    [
        pa.array([1.0, 2.0, 12.0, None]),
        pa.array([1, 2, 12, None], pa.int8()),
        pa.array([1, 2, 12, None], pa.uint64()),
        pa.array([1, 2, 12, None], pa.float32()),
        pa.array([Decimal("1.00"), Decimal(2), Decimal(12), None]),
        pa.array([1.0, 2.0, 12.0, None]).dictionary_encode(),
        pa.array([1, 2, 12, None]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type)[:20],
)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_number_has_its_pseudonym_however_a_file_stores_it(key, again, engine):
    """June has whole numbers; in July one is missing, so that the others come with a decimal point."""
    schema, pseudonyms = ind.Schema(identifiers=["id"], quasi=["age"]), {"id": ind.Pseudonym(key=key)}
    june = pa.table({"id": [1, 2, 12], "age": [1] * 3})
    july = pa.table({"id": again, "age": [1] * 4})
    first, second = (
        set(ind.anonymize(each, schema, model=MODEL, pseudonyms=pseudonyms, engine=engine).table["id"].to_pylist())
        for each in (june, july)
    )
    assert second == first | {None}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([12.5, -0.25, 2.0**53, 2.0**54], ["fraction:12.5", "fraction:-0.25", f"integer:{2**53}", f"fraction:{2**54}"]),
        ([1e-7, 1e15], ["fraction:0.0000001", f"integer:{10**15}"]),
        ([float("nan"), float("inf")], ["fraction:nan", "fraction:inf"]),
        ([Decimal("12.50"), Decimal(10) ** 30], ["fraction:12.5", f"integer:{10**30}"]),
        (np.array([2**63 + 1], dtype=np.uint64), [f"integer:{2**63 + 1}"]),
        (["12", "12.0", "012"], ["text:12", "text:12.0", "text:012"]),
        ([date(2024, 5, 1)], ["date:2024-05-01"]),
        ([datetime(2024, 5, 1), datetime(2024, 5, 1, 8)], ["date:2024-05-01", "time:2024-05-01 08:00:00.000000"]),
        ([True], ["text:true"]),
    ],
)
def test_what_a_value_is_in_every_file(values, wanted):
    assert [":".join(each) for each in canonical(pa.array(values))] == wanted


def test_people_of_two_months_are_the_same_to_a_ledger(tmp_path):
    """Whoever was a whole number in June is the same person in July, when numbers came with a decimal point."""
    schema = ind.Schema(person=["patient"], quasi=["age"], sensitive=["s"])
    june = pa.table({"patient": list(range(12)), "age": [20 + row // 4 for row in range(12)], "s": list("abc" * 4)})
    july = june.set_column(0, "patient", june["patient"].cast(pa.float64()))
    options = {"model": MODEL, "ledger": tmp_path / "study.ledger", "algorithm": "mondrian"}
    ind.anonymize(june, schema, output=tmp_path / "june.csv", **options)
    later = ind.anonymize(july, schema, output=tmp_path / "july.csv", **options)
    assert later.certificate.overlap.shared_people == 12


def test_random_numbers_are_fresh_and_follow_no_order():
    first, second = (published(pseudonyms={"patient": ind.Pseudonym(random=True)}) for _ in range(2))
    mine, theirs = (set(each.table["patient"].to_pylist()) for each in (first, second))
    assert len(mine) == len(theirs) == 12
    assert not mine & theirs
    assert first.certificate.pseudonyms == {"patient": "random"}
    people = pa.table({"id": [f"{row:03}" for row in range(200)], "age": [1] * 200})
    shown = (
        ind.anonymize(
            people,
            ind.Schema(identifiers=["id"], quasi=["age"]),
            model=MODEL,
            pseudonyms={"id": ind.Pseudonym(random=True)},
        )
        .table["id"]
        .to_pylist()
    )
    assert shown != sorted(shown)
    assert all(len(text) == 32 and int(text, 16) >= 0 for text in shown)


def test_the_same_key_links_months_and_another_does_not(key, tmp_path):
    other = written(tmp_path / "other.key", os.urandom(16))
    found = [
        set(published(table, pseudonyms={"patient": ind.Pseudonym(key=path)}).table["patient"].to_pylist())
        for table, path in ((visits(), key), (visits(16), key), (visits(), other))
    ]
    assert found[0] < found[1]
    assert not found[0] & found[2]


def test_missing_identifiers_have_no_pseudonym(key):
    table = pa.table({"id": ["a", None, None, "b"], "age": [1] * 4})
    schema = ind.Schema(identifiers=["id"], quasi=["age"])
    shown = ind.anonymize(table, schema, model=MODEL, pseudonyms={"id": ind.Pseudonym(key=key)})
    assert shown.table["id"].null_count == 2
    assert shown.certificate.holds


def test_a_pseudonym_of_one_row_each_links_nothing(key):
    shown = published(pseudonyms={"visit": ind.Pseudonym(key=key)})
    assert "patient" not in shown.table.column_names
    assert shown.certificate.holds


def test_sets_of_classes_are_shared_by_k_people(key):
    pseudonyms = {"patient": ind.Pseudonym(key=key)}
    with pytest.raises(VerificationError, match="4 have rows in classes that fewer than 3 people share") as caught:
        published(visits(moved=(0, 1)), pseudonyms=pseudonyms)
    assert "class-sets-shared" in str(caught.value)
    assert published(visits(moved=(0, 1))).certificate.holds, "without pseudonyms nobody sees it"
    together = published(visits(16, moved=(0, 1, 2)), pseudonyms=pseudonyms, model=ind.KAnonymity(1))
    assert together.certificate.achieved["k"] == 1
    whole = published(visits(moved=range(4)), pseudonyms=pseudonyms)
    assert whole.certificate.holds
    assert any("12 of 12 people have several linked rows" in warning for warning in whole.certificate.warnings)


def test_models_judge_the_parts_of_classes_that_pseudonyms_show(key):
    """Three people stand in two classes and have one value there: their classes have others, their part has not."""
    table = visits(moved=(0, 1, 2))
    values = ["z" if row < 6 else value for row, value in enumerate(table["s"].to_pylist())]
    table = table.set_column(3, "s", pa.array(values))
    diverse = ind.KAnonymity(1) & ind.DistinctLDiversity("s", l=2)
    assert published(table, model=diverse).certificate.holds
    with pytest.raises(VerificationError, match="distinct-l-diversity"):
        published(table, model=diverse, pseudonyms={"patient": ind.Pseudonym(key=key)})


def test_rows_that_nobody_can_judge_are_refused(key):
    keyed = ind.Pseudonym(key=key)
    nobody = ind.Schema(identifiers=["visit", "patient"], quasi=["age"], sensitive=["s"])
    with pytest.raises(VerificationError, match="nothing tells whose"):
        published(schema=nobody, pseudonyms={"patient": keyed})
    doctors = visits().append_column("doctor", pa.array(["d1", "d2"] * 12))
    roles = ind.Schema(identifiers=["visit", "doctor"], person=["patient"], quasi=["age"], sensitive=["s"])
    with pytest.raises(VerificationError, match="link rows of different people"):
        published(doctors, roles, pseudonyms={"patient": keyed, "doctor": keyed})
    both = visits().append_column("clinic", pa.array(["c"] * 24))
    roles = ind.Schema(identifiers=["visit"], person=["clinic", "patient"], quasi=["age"], sensitive=["s"])
    with pytest.raises(VerificationError, match="nothing tells whose"):
        published(both, roles, pseudonyms={"patient": keyed})
    assert published(both, roles, pseudonyms={"patient": keyed, "clinic": keyed}, model=MODEL).certificate.holds


def test_buckets_have_no_pseudonyms(key):
    schema = ind.Schema(identifiers=["visit", "patient"], quasi=["age"], sensitive=["s"])
    with pytest.raises(ParameterError, match="removes the links"):
        ind.anonymize(visits(), schema, algorithm="slicing:l=2", pseudonyms={"visit": ind.Pseudonym(key=key)})


def test_a_file_is_judged_with_its_pseudonyms(key, tmp_path):
    out = tmp_path / "out.csv"
    published(pseudonyms={"patient": ind.Pseudonym(key=key)}, output=out)
    alone = ind.verify(out, SCHEMA, MODEL, pseudonyms=["patient"])
    assert alone.holds
    assert alone.people.published == 12
    assert ind.verify(out, SCHEMA, MODEL, pseudonyms={"patient": ind.Pseudonym(key=key)}, original=visits()).holds
    undeclared = ind.verify(out, SCHEMA, MODEL, original=visits())
    assert [each.model for each in undeclared.verdicts if not each.holds] == ["no-identifier"]
    # Somebody gave two people of one class the second row of another one.
    header, *lines = out.read_text().splitlines()
    cells = [line.split(",") for line in lines]
    first, last = cells[0], cells[-1]
    first[0], last[0] = last[0], first[0]
    forged = tmp_path / "forged.csv"
    forged.write_text("\n".join([header, *map(",".join, cells)]) + "\n")
    broken = ind.verify(forged, SCHEMA, MODEL, pseudonyms=["patient"])
    assert not broken.holds
    assert broken.achieved["k"] == 2
    plain = tmp_path / "plain.csv"
    plain.write_text(
        "\n".join([header, *(",".join([f"p{index // 2}", *rest]) for index, (_, *rest) in enumerate(cells))])
    )
    leaked = ind.verify(plain, SCHEMA, MODEL, pseudonyms=["patient"])
    assert "no-identifier" in [each.model for each in leaked.verdicts if not each.holds]


def test_a_ledger_counts_releases_with_keyed_pseudonyms_as_linked(key, tmp_path):
    """Somebody new in a class is alone with being new there, which only pseudonyms show."""
    keyed, drawn, ledger = ind.Pseudonym(key=key), ind.Pseudonym(random=True), tmp_path / "ledger"
    published(pseudonyms={"patient": keyed}, ledger=ledger, output=tmp_path / "june.csv")
    grown = pa.concat_tables(
        [visits(), visits(16).slice(24).set_column(2, "age", pa.array([20, 20, 21, 21, 22, 22, 20, 20]))]
    )
    with pytest.raises(
        VerificationError, match="history of classes with fewer than 3: 4 are in this release alone"
    ) as caught:
        published(grown, pseudonyms={"patient": keyed}, ledger=ledger, output=tmp_path / "july.csv")
    assert caught.value.values == () or "p13" not in str(caught.value)
    with pytest.raises(VerificationError, match="history of classes"):
        published(grown, pseudonyms={"patient": drawn}, ledger=ledger, output=tmp_path / "july.csv")
    accepted = published(
        grown, pseudonyms={"patient": keyed}, ledger=ledger, output=tmp_path / "july.csv", accept_overlap=True
    )
    assert accepted.certificate.overlap.people_joined == 4
    assert accepted.certificate.overlap.smallest_history == 1
    assert [entry.pseudonyms for entry in ind.read_ledger(ledger)] == [("patient",), ("patient",)]


def test_keys_that_are_none(tmp_path, monkeypatch):
    def used(**given):
        published(pseudonyms={"patient": ind.Pseudonym(**given)})

    with pytest.raises(InputError, match="has 64 bits"):
        used(key=written(tmp_path / "short", b"deadbeef" * 2))
    with pytest.raises(InputError, match="has 120 bits"):
        used(key=written(tmp_path / "bytes", b"\xff" * 15))
    for content in (b"\0" * 32, b"\xff" * 32, b"00" * 32, b"0" * 33, b"5f" * 32, b"a" * 40, b"ab" * 20, b"dead" * 16):
        with pytest.raises(InputError, match="is not a key") as caught:
            used(key=written(tmp_path / "guessed", content))
        assert "openssl rand" in caught.value.hint
    monkeypatch.setenv("STUDY_KEY", "0" * 64)
    with pytest.raises(InputError, match="is not a key"):
        used(environment="STUDY_KEY")
    for mode in (0o640, 0o604, 0o644):
        with pytest.raises(InputError, match="others than its owner"):
            used(key=written(tmp_path / "open", KEY.encode(), mode))
    with pytest.raises(InputError, match="cannot read the key"):
        used(key=tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot read the key"):
        used(key=tmp_path)
    with pytest.raises(InputError, match="no variable"):
        used(environment="NO_SUCH_KEY")
    monkeypatch.setenv("STUDY_KEY", "abc")
    with pytest.raises(InputError, match="has 24 bits") as caught:
        used(environment="STUDY_KEY")
    assert "abc" not in str(caught.value)
    monkeypatch.setenv("STUDY_KEY", KEY)
    used(environment="STUDY_KEY")


def test_unkeyed_hashes_are_refused():
    for make in (
        ind.Pseudonym,
        lambda: ind.Pseudonym(key="a", random=True),
        lambda: parse_pseudonym("sha256"),
        lambda: parse_pseudonym("key:"),
        lambda: pseudonym_from_options("sha256"),
        lambda: pseudonym_from_options({}),
        lambda: pseudonym_from_options({"hash": "sha256"}),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.hint
    for name in ("age", "nobody"):
        with pytest.raises(SchemaError):
            published(pseudonyms={name: ind.Pseudonym(random=True)})
    with pytest.raises(ParameterError, match="must be a mapping to a Pseudonym"):
        published(pseudonyms={"patient": "key"})


def test_the_key_is_nowhere(key, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    out, kept = tmp_path / "out.csv", tmp_path / "recoding.json"
    release = published(pseudonyms={"patient": ind.Pseudonym(key=key)}, output=out, save_recoding=kept)
    certificate = tmp_path / "out.csv.certificate.json"
    raw = bytes.fromhex(KEY)
    texts = [
        out.read_bytes(),
        kept.read_bytes(),
        certificate.read_bytes(),
        caplog.text.encode(),
        repr(release).encode(),
    ]
    texts += [part.encode() for part in capfd.readouterr()]
    for text in texts:
        assert KEY.encode() not in text
        assert raw not in text
    assert json.loads(certificate.read_text())["pseudonyms"] == {"patient": "keyed"}
    assert b"p11" not in out.read_bytes()
