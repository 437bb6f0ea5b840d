"""Several sound releases that give people away together, planted; and a ledger that must not give anybody away."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.release.ledger import open_ledger, standings

SCHEMA = ind.Schema(quasi=["age", "zipcode"], sensitive=["disease"], person=["patient"])
MODEL = "k-anonymity:k=4"
DISEASES = ["Zoster-virus", "Quinsy-throat", "Jaundice-x", "Whooping-c"]


def people(count: int, *, seed: int = 1, first: int = 0) -> pa.Table:
    draw = random.Random(seed)  # noqa: S311
    names = [f"patient-{first + index:05}-Quillfeather" for index in range(count)]
    return pa.table(
        {
            "patient": names,
            "age": [draw.randint(20, 90) for _ in names],
            "zipcode": [f"{draw.randint(10_000, 99_999)}" for _ in names],
            "disease": [draw.choice(DISEASES) for _ in names],
        }
    )


def publish(table: pa.Table, folder: Path, name: str, **options: object) -> ind.Release:
    return ind.anonymize(
        table,
        SCHEMA,
        **{"model": MODEL, "algorithm": "mondrian", **options},
        output=folder / f"{name}.csv",
        ledger=folder / "releases.ledger",
    )


def test_two_overlapping_releases_are_found(tmp_path: Path) -> None:
    """Both keep k = 4, and cut the same people in other ways: together nearly everybody stands alone."""
    table = people(400)
    publish(table, tmp_path, "by-age", algorithm="mondrian")
    other = table.set_column(1, "age", table["age"].take(pa.array(list(reversed(range(400))))))
    alone = ind.anonymize(other, SCHEMA, model=MODEL, algorithm="mondrian")
    assert alone.certificate.holds
    with pytest.raises(ind.VerificationError, match="shared people stand among fewer than 4") as caught:
        publish(other, tmp_path, "again")
    assert caught.value.details["overlap"].people_below > 300
    assert not (tmp_path / "again.csv").exists()
    assert "patient-" not in str(caught.value)


def test_a_third_release_is_compared_with_the_first(tmp_path: Path) -> None:
    """The second shares nobody with the third: only a tool that forgets the first calls the third sound."""
    june, august = people(400), people(400, seed=3)
    publish(june, tmp_path, "june")
    publish(people(400, seed=2, first=1000), tmp_path, "july")
    with pytest.raises(ind.VerificationError, match="2 earlier releases"):
        publish(august, tmp_path, "august")


def test_one_person_who_joins_is_found(tmp_path: Path) -> None:
    """All classes keep k = 4; subtracting the tables gives the newcomer's row."""
    june = people(200)
    first = publish(june, tmp_path, "june", algorithm="mondrian:extent=region")
    newcomer = pa.concat_tables([june, people(1, seed=9, first=5000)])
    with pytest.raises(ind.VerificationError, match="1 people who joined"):
        ind.apply(first.recoding, newcomer, output=tmp_path / "july.csv", ledger=tmp_path / "releases.ledger")


def test_a_value_that_only_both_releases_tell_is_found(tmp_path: Path) -> None:
    """Every class shows two diseases, so that each release alone is 2-diverse; together one is left."""
    ages = [20] * 4 + [40] * 4 + [60] * 4
    disease = list("aabbccddeeff")
    names = [f"p{index}" for index in range(12)]
    june = pa.table({"patient": names, "age": ages, "zipcode": ["1"] * 12, "disease": disease})
    # In July the patients with a and c are together, and those with b and d.
    moved = [20, 20, 40, 40] * 2 + [60] * 4
    model = ind.KAnonymity(2) & ind.DistinctLDiversity("disease", l=2)
    publish(june, tmp_path, "june", model=model)
    with pytest.raises(ind.VerificationError, match="one sensitive value in common") as caught:
        publish(june.set_column(1, "age", pa.array(moved)), tmp_path, "july", model=model)
    overlap = caught.value.details["overlap"]
    assert (overlap.people_certain, overlap.changed_signatures, overlap.m) == (8, 8, 1)
    assert overlap.people_below == 0, "sizes alone do not tell it"


def test_sound_releases_are_not_called_broken(tmp_path: Path) -> None:
    """The same people by the same recoding, and another table of strangers."""
    june = people(400)
    first = publish(june, tmp_path, "june")
    again = ind.apply(first.recoding, june, output=tmp_path / "again.csv", ledger=tmp_path / "releases.ledger")
    assert again.certificate.overlap.changed_signatures == 0
    strangers = publish(people(400, seed=4, first=9000), tmp_path, "strangers")
    assert strangers.certificate.overlap.shared_people == 0
    assert len(ind.read_ledger(tmp_path / "releases.ledger")) == 3


def test_a_ledger_holds_no_name_and_no_value(tmp_path: Path) -> None:
    table = people(60)
    publish(table, tmp_path, "june", save_recoding=tmp_path / "recoding.json")
    content = (tmp_path / "releases.ledger").read_bytes()
    for name in ("patient", "zipcode", "disease"):
        for value in set(table[name].to_pylist()):
            for encoding in ("utf-8", "utf-16-le"):
                assert value.encode(encoding) not in content
                assert value.upper().encode(encoding) not in content
    # The search finds what is there: the recoding holds original values.
    assert table["zipcode"][0].as_py().encode() in (tmp_path / "recoding.json").read_bytes()


def test_two_ledgers_know_nobody_of_each_other(tmp_path: Path) -> None:
    """Each has a key of its own: the same people have other pseudonyms."""
    words = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        publish(people(60), tmp_path / name, "june")
        (standing,) = standings(open_ledger(tmp_path / name / "releases.ledger"))
        words.append(
            {*standing.people.tolist(), *standing.rows.tolist(), *standing.signatures["disease"].values.tolist()}
        )
    assert [len(each) for each in words] == [60 + 60 + 4] * 2
    assert words[0] & words[1] == set()
