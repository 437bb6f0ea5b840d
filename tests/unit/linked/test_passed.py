"""Tables without labels, which are streamed: nothing but the person changes, in small blocks as in large ones."""

import json
import math
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.errors import IndistinctError, InputError, SchemaError, VerificationError
from indistinct.linked.checking import check_release
from indistinct.linked.policy import linked_policy_from_toml
from indistinct.linked.publishing import publish_linked
from indistinct.linked.verify import verify_tables
from indistinct.release.writing.files import write_table

SIZE = 40
DAYS = date(2012, 1, 1)

POLICY = """
[tables.people]
path = "people.parquet"
people = true
[tables.people.columns]
id = "person"
own = "insensitive"
sex = "quasi"
first = { role = "quasi", hierarchy = { dates = ["year"] } }
[tables.labs]
path = "labs.SUFFIX"
columns = { id = "person", COLUMNS }
[time]
anchor = "first"
window = ["2010-01-01", "2024-12-31"]
[privacy]
models = ["linked-anonymity:k=5"]
suppression = 0.1
[algorithm]
use = "datafly"
"""
TIMED = 'day = { role = "time", unknown = true }, '
NASTY = [None, "*", "=1+1", " ", "x", "x", "-", "NA", "[1-2]", "é\u0301", '"', "a,b", "a\nb", "zz\ttab", "0", "-0"]


def ids():
    return [f"P{i:03}" for i in range(SIZE)]


def people():
    """The last person is alone and is suppressed."""
    first = [DAYS + timedelta(i) for i in range(SIZE - 1)] + [date(1999, 5, 5)]
    return pa.table({"id": ids(), "own": ids(), "sex": ["f", "m"] * (SIZE // 2 - 1) + ["f", "x"], "first": first})


def nasty(rows):
    """Rows with missing cells in every column but the person's, repeated ones, and values that look like others."""
    generator = np.random.default_rng(rows)
    who = generator.integers(0, SIZE, rows)
    texts = [NASTY[i] for i in generator.integers(0, len(NASTY), rows)]
    numbers = [[None, 0.0, -0.0, 1e300, 0.1, 7.0][i] for i in generator.integers(0, 6, rows)]
    return pa.table(
        {
            "id": pa.array([ids()[i] for i in who], pa.string()),
            "text": pa.array(texts, pa.string()),
            "number": pa.array(numbers, pa.float64()),
            "whole": pa.array([[None, 0, -5, 2**53][i] for i in generator.integers(0, 4, rows)], pa.int64()),
            "nothing": pa.array([None] * rows, pa.float64()),
            "name": pa.array([f"n{i}" for i in who], pa.string()),
        }
    )


def spelled(value):
    """Return a value as the coarsest reader of a file sees it: no type, and no empty text."""
    if value is None or value == "":
        return None
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | int | Decimal):
        return repr(float(value))
    text = str(value).replace("\r\n", "\n")
    try:
        return repr(float(text)) if text.strip() == text and not text.startswith("n") else text
    except ValueError:
        return text


def rows_of(table, names):
    return Counter(zip(*([spelled(value) for value in table[name].to_pylist()] for name in names), strict=True))


def with_own(table, published_people):
    """Return published rows with the original ID of each person."""
    own = dict(zip(published_people["id"].to_pylist(), published_people["own"].to_pylist(), strict=True))
    return table.set_column(0, "id", pa.array([own[name] for name in table["id"].to_pylist()], pa.string()))


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks, groups and partitions of a few rows, as a table has that is a million times larger."""
    monkeypatch.setattr("indistinct.linked.streams.BLOCK_ROWS", 7)
    monkeypatch.setattr("indistinct.linked.streams.PAIRS_TOGETHER", 5)
    monkeypatch.setattr("indistinct.linked.folder.BLOCK_ROWS", 5)
    monkeypatch.setattr("indistinct.linked.passing.PARTITION_BYTES", 700)


def write_input(table, folder, suffix):
    """Write a table as one file, or for `parquet folder` as three."""
    if suffix == "parquet folder":
        (folder / "labs.parquet").mkdir()
        third = -(-table.num_rows // 3)
        for part in range(3):
            own = table.slice(part * third, third)
            pq.write_table(
                own, folder / "labs.parquet" / f"part-{part}.parquet", row_group_size=11, use_dictionary=part == 1
            )
    elif suffix == "parquet":
        pq.write_table(table, folder / "labs.parquet", row_group_size=9)
    else:
        write_table(table, folder / f"labs.{suffix}")


def policy_in(folder, suffix, columns):
    text = POLICY.replace("SUFFIX", suffix.split()[0]).replace("COLUMNS", columns)
    return linked_policy_from_toml(text, base=folder)


PLAIN = (
    'text = "insensitive", number = "insensitive", whole = "sensitive", nothing = "insensitive", name = "identifier"'
)
SUFFIXES = ["csv", "tsv", "parquet", "parquet folder", "feather", "xlsx"]


@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_row_of_a_published_person_is_published_once(suffix, rows, tmp_path, small_blocks):
    before = nasty(rows)
    if suffix == "xlsx" and not rows:
        pytest.skip("a sheet without rows has no table")
    pq.write_table(people(), tmp_path / "people.parquet")
    write_input(before, tmp_path, suffix)
    if suffix == "xlsx":  # a sheet has its own idea of what is missing
        before = ind.open(tmp_path / "labs.xlsx").data
    policy = policy_in(tmp_path, suffix, PLAIN)
    release = publish_linked(policy, folder=tmp_path / "release")
    assert release.certificate.people == SIZE - 1
    assert check_release(tmp_path / "release", policy, originals=True).holds
    names = ["id", "text", "number", "whole", "nothing"]
    kept = before.filter(pc.not_equal(before["id"], ids()[-1]))
    after = with_own(release.tables["labs"], release.tables["people"])
    assert set(after.column_names) == set(names)
    assert rows_of(after, names) == rows_of(kept, names)
    assert release.certificate.tables["labs"].rows == kept.num_rows
    for path in (tmp_path / "release").iterdir():
        if path.stem != "people":
            assert not any(name.encode() in path.read_bytes() for name in ids())


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_small_blocks_publish_what_large_ones_do(suffix, tmp_path, monkeypatch, request):
    """Times included: the top codes of a class follow from all its rows, wherever they lie."""
    generator = np.random.default_rng(5)
    who = generator.integers(0, SIZE, 400)
    days = [(DAYS if i < SIZE - 1 else date(1999, 5, 5)) + timedelta(int(d))
            for i, d in zip(who, generator.choice([-700, 0, 5, 40, 4700], 400), strict=True)]  # fmt: skip
    days = [min(max(day, date(2010, 1, 1)), date(2024, 12, 31)) for day in days]
    labs = pa.table({"id": [ids()[i] for i in who], "day": days, "value": generator.integers(0, 9, 400)})
    pq.write_table(people(), tmp_path / "people.parquet")
    write_input(labs, tmp_path, suffix)
    policy = policy_in(tmp_path, suffix, TIMED + 'value = "insensitive"')
    found = []
    for name in ("large", "small"):
        release = publish_linked(policy, folder=tmp_path / name)
        found.append(rows_of(with_own(release.tables["labs"], release.tables["people"]), ["id", "day", "value"]))
        assert check_release(tmp_path / name, policy, originals=True).holds
        request.getfixturevalue("small_blocks")
    memory = publish_linked(policy)
    found.append(rows_of(with_own(memory.tables["labs"], memory.tables["people"]), ["id", "day", "value"]))
    assert found[0] == found[1] == found[2]
    assert any(row[1].endswith("-]") for row in found[0])


def test_parquet_keeps_types(tmp_path, small_blocks):
    moments = pa.array([0, 1, None, 3], pa.duration("us"))
    labs = pa.table(
        {
            "id": ids()[:4],
            "truth": pa.array([True, False, None, True]),
            "price": pa.array([Decimal("1.50"), None, Decimal("-0.10"), Decimal("7.00")], pa.decimal128(9, 2)),
            "clock": pa.array([1, None, 3, 4], pa.time64("us")),
            "long": moments,
            "large": pa.array([2**63, None, 1, 2], pa.uint64()),
            "kind": pa.array(["b", None, "a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(people(), tmp_path / "people.parquet")
    write_input(labs, tmp_path, "parquet")
    columns = ", ".join(f'{name} = "insensitive"' for name in labs.column_names[1:])
    policy = policy_in(tmp_path, "parquet", columns)
    release = publish_linked(policy, folder=tmp_path / "release")
    after = with_own(release.tables["labs"], release.tables["people"]).sort_by("id")
    for name in labs.column_names[1:-1]:
        assert after[name].type == labs[name].type
        assert after[name].to_pylist() == labs[name].to_pylist()
    assert after["kind"].to_pylist() == labs["kind"].to_pylist()
    assert check_release(tmp_path / "release", policy, originals=True).holds


def test_not_a_number_and_endless_numbers_pass(tmp_path, small_blocks):
    values = [math.nan, math.inf, -math.inf, None, -0.0, 0.0] * 3
    labs = pa.table({"id": ["P001", "P002"] * 9, "value": values})
    pq.write_table(people(), tmp_path / "people.parquet")
    write_input(labs, tmp_path, "parquet")
    policy = policy_in(tmp_path, "parquet", 'value = "insensitive"')
    release = publish_linked(policy, folder=tmp_path / "release")
    after = with_own(release.tables["labs"], release.tables["people"])
    assert Counter(map(str, after["value"].to_pylist())) == Counter(map(str, values))
    assert check_release(tmp_path / "release", policy, originals=True).holds


BAD = {
    "has no person ID": lambda t: t.set_column(0, "id", pa.array([*t["id"].to_pylist()[:-1], None])),
    "who are not in the people table": lambda t: t.set_column(0, "id", pa.array([*t["id"].to_pylist()[:-1], "Q"])),
    "has no date in column 'day'": lambda t: t.set_column(1, "day", pa.array([*t["day"].to_pylist()[:-1], None])),
    "after the window": lambda t: t.set_column(1, "day", pa.array([*t["day"].to_pylist()[:-1], date(2025, 1, 1)])),
    "column 'value' of table 'labs' holds dates": lambda t: t.set_column(2, "value", pa.array(["2020-01-01"] * len(t))),
    "no role for": lambda t: t.append_column("more", t["value"]),
    "has no column 'value'": lambda t: t.drop_columns(["value"]),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("words", BAD)
def test_a_bad_last_row_leaves_nothing_behind(words, suffix, tmp_path, small_blocks):
    labs = pa.table({"id": ids()[:30], "day": [DAYS] * 30, "value": ["v"] * 30})
    pq.write_table(people(), tmp_path / "people.parquet")
    write_input(BAD[words](labs), tmp_path, suffix)
    policy = policy_in(tmp_path, suffix, TIMED + 'value = "insensitive"')
    with pytest.raises(IndistinctError, match=words) as caught:
        publish_linked(policy, folder=tmp_path / "release")
    assert "P0" not in str(caught.value)
    assert not (tmp_path / "release").exists()


def test_an_error_says_among_which_rows(tmp_path, small_blocks):
    write_input(pa.table({"id": [*ids()[:15], "Q"], "value": ["v"] * 16}), tmp_path, "parquet")
    pq.write_table(people(), tmp_path / "people.parquet")
    with pytest.raises(InputError, match=r"1 row.*\(among rows 15 to 16\)"):
        publish_linked(policy_in(tmp_path, "parquet", 'value = "insensitive"'), folder=tmp_path / "release")


def test_dates_are_refused_only_where_all_texts_are_dates(tmp_path, small_blocks):
    pq.write_table(people(), tmp_path / "people.parquet")
    policy = policy_in(tmp_path, "parquet", 'value = "insensitive"')
    for last, is_refused in (("2020-01-01", True), ("", True), ("later", False)):
        write_input(pa.table({"id": ids()[:30], "value": ["2020-01-01"] * 29 + [last]}), tmp_path, "parquet")
        if is_refused:
            with pytest.raises(SchemaError, match="holds dates"):
                publish_linked(policy)
        else:
            assert publish_linked(policy).certificate.holds


def test_a_key_between_streamed_tables_is_dropped(small_blocks):
    who = [i % SIZE for i in range(120)]
    stays = [f"stay {i % 80}" for i in range(120)]
    schemas = {"p": ind.Schema(quasi=["sex"], person=["id"])}
    tables = {"p": people().select(["id", "sex"])}
    for name in ("a", "b"):
        tables[name] = pa.table({"id": [ids()[i] for i in who], "stay": stays, "value": ["v", "w"] * 60})
        schemas[name] = ind.Schema(insensitive=["stay", "value"], person=["id"])
    made = ind.anonymize_tables(
        tables, schemas, people="p", knows={}, model="linked-anonymity:k=5", suppression="2 people"
    )
    assert made.tables["a"].column_names == made.tables["b"].column_names == ["id", "value"]
    assert len([words for words in made.certificate.warnings if "links rows" in words]) == 2


def changed(table, place, column, value):
    values = table[column].to_pylist()
    values[place] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values, table[column].type))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_changed_release_is_refused_block_by_block(suffix, tmp_path, small_blocks):
    labs = pa.table({"id": [ids()[i % 20] for i in range(60)], "day": [DAYS] * 60, "value": list(range(60))})
    pq.write_table(people(), tmp_path / "people.parquet")
    write_input(labs, tmp_path, suffix)
    policy = policy_in(tmp_path, suffix, TIMED + 'value = "insensitive"')
    release = publish_linked(policy, folder=tmp_path / "release")
    published = release.tables["labs"]
    order = np.arange(60)
    order[[0, 30]] = order[[30, 0]]
    inside = np.arange(60)
    inside[:2] = [1, 0]
    mutants = {
        "order": published.take(pa.array(order)),
        "order within a person": published.take(pa.array(inside)),
        "persons of rows": changed(published, 40, "id", "f" * 32),
        "calendar": changed(published, 59, "day", "99999"),
        "columns": published.append_column("more", published["value"]),
    }
    for name, mutant in mutants.items():
        path = tmp_path / "release" / f"labs.{suffix}"
        path.unlink()
        write_table(mutant, path) if suffix == "parquet" else csv.write_csv(mutant, path)
        verdict = check_release(tmp_path / "release", policy)
        failed = {check.name for check in verdict.checks if not check.holds}
        assert name.split()[0] in " ".join(failed), name
        assert not verify_tables(policy, {**release.tables, "labs": mutant}).holds


def test_a_row_that_is_missing_is_seen_beside_the_originals(tmp_path, small_blocks):
    labs = pa.table({"id": [ids()[i % 20] for i in range(60)], "value": list(range(60))})
    pq.write_table(people(), tmp_path / "people.parquet")
    write_input(labs, tmp_path, "parquet")
    policy = policy_in(tmp_path, "parquet", 'value = "insensitive"')
    release = publish_linked(policy, folder=tmp_path / "release")
    pq.write_table(release.tables["labs"].slice(1), tmp_path / "release" / "labs.parquet")
    verdict = check_release(tmp_path / "release", policy, originals=True)
    assert "originals" in {check.name for check in verdict.checks if not check.holds}


def test_offsets_that_meet_a_top_code_are_refused():
    """5 beside 3 or more in a class: the 5 is a row that the top code would have taken."""
    policy = linked_policy_from_toml(
        POLICY.replace("SUFFIX", "csv").replace("COLUMNS", TIMED + 'value = "insensitive"'), base=Path()
    )
    names = sorted(f"{i:032x}" for i in range(10))
    published = pa.table({"id": names, "own": ids()[:10], "sex": ["f"] * 10, "first": ["2012"] * 10})
    for texts, holds in ((["[3-]", "2"], True), (["[3-]", "5"], False), (["*", "5"], False)):
        labs = pa.table({"id": names[:2], "day": texts, "value": [1, 1]})
        verdict = verify_tables(policy, {"people": published, "labs": labs})
        calendar = [check for check in verdict.checks if check.name == "calendar"]
        assert [check.holds for check in calendar] == [holds]


def test_an_unreadable_release_writes_nothing(tmp_path, monkeypatch, small_blocks):
    """The verifier reads what was written, and not what was meant."""
    write_input(pa.table({"id": ids()[:30], "value": ["v"] * 30}), tmp_path, "parquet")
    pq.write_table(people(), tmp_path / "people.parquet")
    monkeypatch.setattr("indistinct.linked.passing.sorted_rows", lambda ranks, rows: np.arange(rows)[::-1])
    with pytest.raises(VerificationError, match="order"):
        publish_linked(policy_in(tmp_path, "parquet", 'value = "insensitive"'), folder=tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_the_certificate_tells_how_many_rows_there_are(tmp_path):
    write_input(nasty(300), tmp_path, "csv")
    pq.write_table(people(), tmp_path / "people.parquet")
    publish_linked(policy_in(tmp_path, "csv", PLAIN), folder=tmp_path / "release")
    told = json.loads((tmp_path / "release" / "certificate.json").read_text())["tables"]["labs"]
    assert told["rows"] + (told["suppressed_rows"] or 0) <= 300
    assert told["levels"] == {}
