"""Several sound releases that give people away together, planted; and a ledger that must not give anybody away."""

import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.release.history.ledger import open_ledger, standings

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
    with pytest.raises(ind.VerificationError, match="share their history of classes with fewer than 4") as caught:
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
    with pytest.raises(ind.VerificationError, match=r"1 person shares .* 1 is in this release alone") as caught:
        ind.apply(first.recoding, newcomer, output=tmp_path / "july.csv", ledger=tmp_path / "releases.ledger")
    assert caught.value.details["hold_back"] == 1
    assert "leaving out 1 person of 201 would do" in caught.value.hint
    with pytest.raises(ind.VerificationError, match="1 in earlier ones alone"):
        ind.apply(first.recoding, june.slice(1), output=tmp_path / "july.csv", ledger=tmp_path / "releases.ledger")


def alike(names: list[str], **columns: list[object]) -> pa.Table:
    """Return people who are all of one age, and what else is said of them."""
    return pa.table({"pid": names, "age": [0] * len(names), **columns})


def release_as(
    folder: Path, table: pa.Table, *, k: int = 5, sensitive: tuple[str, ...] = ("disease",), **options: object
):
    """Publish people in one class, by what is neither a name nor sensitive."""
    quasi = [name for name in table.column_names if name not in ("pid", *sensitive)]
    schema = ind.Schema(quasi=quasi, sensitive=list(sensitive), person=["pid"])
    number = len(list(folder.glob("*.csv")))
    return ind.anonymize(
        table,
        schema,
        **{"model": ind.KAnonymity(k), "algorithm": "mondrian", **options},
        output=folder / f"{number}.csv",
        ledger=folder / "releases.ledger",
    )


def group(letter: str, count: int = 10) -> tuple[list[str], list[str]]:
    names = [f"{letter}{index}" for index in range(count)]
    return names, ["flu" if index % 2 else "cold" for index in range(count)]


@pytest.mark.parametrize("quarters", ["abcd", "ab"])
def test_a_year_minus_its_quarters_is_the_latecomer(tmp_path: Path, quarters: str) -> None:
    """Ten other people each quarter, then all of them and one more, whose disease is what is left."""
    names, diseases = [], []
    for quarter in quarters:
        own, ill = group(quarter)
        names, diseases = names + own, diseases + ill
        assert release_as(tmp_path, alike(own, disease=ill)).certificate.holds
    with pytest.raises(ind.VerificationError, match=r"1 person shares .* the smallest history has 1"):
        release_as(tmp_path, alike([*names, "late"], disease=[*diseases, "rabies"]))
    # The year without the latecomer, or with four more, tells nothing of anybody alone.
    assert release_as(tmp_path, alike(names, disease=diseases)).certificate.overlap.people_below == 0
    five = [f"late{index}" for index in range(5)]
    assert release_as(tmp_path, alike([*names, *five], disease=[*diseases, *["rabies"] * 5])).certificate.holds


def test_a_column_that_changes_hides_no_other(tmp_path: Path) -> None:
    """Everybody's weight is new each month; the difference of the diseases is the newcomer's all the same."""
    names, ill = group("a", 5)
    both = ("disease", "weight")
    release_as(tmp_path, alike(names, disease=ill, weight=[70, 71, 72, 73, 74]), sensitive=both)
    july = alike([*names, "x"], disease=[*ill, "rabies"], weight=[75, 76, 77, 78, 79, 80])
    for fresh in ((), ("weight",)):
        with pytest.raises(ind.VerificationError, match="1 is in this release alone"):
            release_as(tmp_path, july, sensitive=both, fresh=fresh)


def test_another_transformation_changes_nobody(tmp_path: Path) -> None:
    names, _ = group("a", 5)
    wages = [1204, 1311, 1499, 2507, 2688]
    release_as(tmp_path, alike(names, wage=wages), sensitive=("wage",))
    with pytest.raises(ind.VerificationError, match="1 is in this release alone"):
        release_as(
            tmp_path,
            alike([*names, "x"], wage=[*wages, 9803]),
            sensitive=("wage",),
            transformations={"wage": ind.Transformation(round=100)},
        )


def test_a_renamed_column_changes_nobody(tmp_path: Path) -> None:
    names, ill = group("a", 5)
    release_as(tmp_path, alike(names, disease=ill))
    with pytest.raises(ind.VerificationError, match="1 is in this release alone"):
        release_as(tmp_path, alike([*names, "x"], diagnosis=[*ill, "rabies"]), sensitive=("diagnosis",))


def test_the_largest_promise_is_kept(tmp_path: Path) -> None:
    """After k = 10 by age, k = 2 by sex: two people share both classes, and eight do."""
    names, ill = group("a", 20)
    ages, sexes = [20] * 10 + [60] * 10, ["f"] * 2 + ["m"] * 8 + ["f"] * 8 + ["m"] * 2
    schema = {"sensitive": ["disease"], "person": ["pid"]}
    table = pa.table({"pid": names, "age": ages, "sex": sexes, "disease": ill})
    ledger = tmp_path / "releases.ledger"
    exact = {"algorithm": "node:levels=0", "hierarchies": {"age": ind.Hierarchy.suppression()}}
    ind.anonymize(
        table.drop_columns("sex"),
        ind.Schema(quasi=["age"], **schema),
        model="k-anonymity:k=10",
        output=tmp_path / "age.csv",
        ledger=ledger,
        **exact,
    )
    exact["hierarchies"] = {"sex": ind.Hierarchy.suppression()}
    with pytest.raises(ind.VerificationError, match=r"20 people share .* fewer than 10: .* the smallest history has 2"):
        ind.anonymize(
            table.drop_columns("age"),
            ind.Schema(quasi=["sex"], **schema),
            model="k-anonymity:k=2",
            output=tmp_path / "sex.csv",
            ledger=ledger,
            **exact,
        )


def test_sound_releases_are_not_called_broken(tmp_path: Path) -> None:
    """The same people by the same recoding, strangers, and as many as were promised who join or leave one class."""
    june = people(400)
    first = publish(june, tmp_path, "june", algorithm="mondrian:extent=region")

    def again(table: pa.Table, name: str) -> ind.Release:
        return ind.apply(first.recoding, table, output=tmp_path / f"{name}.csv", ledger=tmp_path / "releases.ledger")

    assert again(june, "again").certificate.overlap.smallest_history >= 4
    strangers = publish(people(400, seed=4, first=9000), tmp_path, "strangers")
    assert strangers.certificate.overlap.shared_people == 0
    four = people(4, seed=5, first=20_000)
    together = four.set_column(1, "age", pa.array([33] * 4)).set_column(2, "zipcode", pa.array(["55555"] * 4))
    joined = pa.concat_tables([june, together])
    assert again(joined, "joined").certificate.overlap.people_below == 0
    assert again(june, "left").certificate.overlap.people_below == 0
    assert len(ind.read_ledger(tmp_path / "releases.ledger")) == 5


def test_what_is_measured_anew_is_told_by_no_difference(tmp_path: Path) -> None:
    """With weights alone, all fresh, one may join or leave; who is in both still stands among five."""
    names, _ = group("a", 6)
    weights = {"sensitive": ("weight",), "fresh": ["weight"]}
    release_as(tmp_path, alike(names, weight=[70, 71, 72, 73, 74, 75]), **weights)
    july = release_as(tmp_path, alike([*names[1:], "x"], weight=[1, 2, 3, 4, 5, 6]), **weights)
    assert any("re-measured" in warning for warning in july.certificate.warnings)
    assert [entry.fresh for entry in ind.read_ledger(tmp_path / "releases.ledger")] == [True, True]
    stayed = alike([*names[3:], *"xyz"], weight=[1, 2, 3, 4, 5, 6])
    with pytest.raises(ind.VerificationError, match="4 in both, in other company; the smallest history has 3"):
        release_as(tmp_path, stayed, **weights)
    # A release with keyed pseudonyms shows who is missing, and one that is not declared tells differences.
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    keyed = {"pseudonyms": {"pid": ind.Pseudonym(key=tmp_path / "key")}}
    for options in ({**weights, **keyed}, {**weights, "fresh": ()}):
        with pytest.raises(ind.VerificationError, match="in this release alone"):
            release_as(tmp_path, alike([*names, "q"], weight=[1, 2, 3, 4, 5, 6, 7]), **options)


def test_what_was_accepted_once_is_not_refused_for_ever(tmp_path: Path) -> None:
    """One who joined alone is alone for good; a release of strangers says nothing more of anybody."""
    names, ill = group("a")
    release_as(tmp_path, alike(names, disease=ill))
    grown = alike([*names, "x"], disease=[*ill, "flu"])
    release_as(tmp_path, grown, accept_overlap=True)
    with pytest.raises(ind.VerificationError, match="1 person shares"):
        release_as(tmp_path, grown)
    own, others = group("b")
    strangers = release_as(tmp_path, alike(own, disease=others))
    assert (strangers.certificate.overlap.people_below, strangers.certificate.overlap.people_before) == (0, 1)
    assert any("says nothing more of them" in warning for warning in strangers.certificate.warnings)


def test_a_ledger_holds_no_name_and_no_value(tmp_path: Path) -> None:
    table = people(60)
    publish(table, tmp_path, "june", save_recoding=tmp_path / "recoding.json")
    # Digests may show the five digits of some zip code by chance.
    content = re.sub(rb"[0-9a-f]{32,}", b"", (tmp_path / "releases.ledger").read_bytes())
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
        words.append(set(standing.people.tolist()))
    assert [len(each) for each in words] == [60] * 2
    assert words[0] & words[1] == set()
