"""How text files of a release look, what a spreadsheet makes of them, and types that survive beside recoded columns."""

import json
import re
import shutil
import subprocess

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.job.policy.reading import policy_from_toml
from indistinct.job.policy.writing import policy_to_toml
from indistinct.release.writing.delimited import Writing, is_changed, is_formula, marked
from indistinct.release.writing.formats import producer_for, read_as_written

SCHEMA = ind.Schema(quasi=["age"], sensitive=["ill"], insensitive=["cost"])
RISKY = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "-2+3",
    "\t=1",
    "3/4",
    "1-5",
    "MAR1",
    "007",
    "1E5",
    "'x",
    "Ærø",
    "flu",
]
JOB = {"model": "k-anonymity:k=2", "algorithm": "mondrian", "seed": 1}


def table():
    rows = 2 * len(RISKY)
    return pa.table({"age": range(20, 20 + rows), "ill": RISKY * 2, "cost": [i + 0.5 for i in range(rows)]})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(
    "writing",
    [
        ind.Writing(delimiter=";", decimal=",", spreadsheet=True),
        ind.Writing(delimiter="|", bom=True),
        ind.Writing(encoding="utf-16", spreadsheet=True),
        ind.Writing(delimiter="\t", encoding="cp1252", decimal=","),
        ind.Writing(delimiter=":"),
    ],
)
def test_a_file_is_written_as_asked_and_verified_so(tmp_path, writing, engine):
    path = tmp_path / "r.csv"
    release = ind.anonymize(table(), SCHEMA, output=path, writing=writing, engine=engine, **JOB)
    assert release.certificate.holds
    encoding = "utf-8-sig" if writing.bom else writing.encoding or "utf-8"
    if writing.bom:
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    found = pd.read_csv(path, sep=writing.delimiter or ",", encoding=encoding, decimal=writing.decimal or ".")
    assert sorted(found["cost"]) == sorted(table()["cost"].to_pylist())
    ill = [text[1:] if writing.spreadsheet and text.startswith("'") else text for text in found["ill"]]
    assert sorted(ill) == sorted(RISKY * 2)


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_numbers_with_a_decimal_comma_are_quoted_only_beside_commas(tmp_path, delimiter):
    path = tmp_path / "r.csv"
    writing = ind.Writing(delimiter=delimiter if delimiter != "," else None, decimal=",")
    release = ind.anonymize(table(), SCHEMA, output=path, writing=writing, **JOB)
    assert release.certificate.holds
    quoted = '"' in path.read_text().splitlines()[1].split(delimiter, 2 if delimiter != "," else 1)[-1]
    assert quoted == (delimiter == ",")
    reading = ind.open(path, decimal=",")
    assert sorted(reading.data["cost"].to_pylist()) == sorted(table()["cost"].to_pylist())


def test_cells_that_are_formulas_are_reported_always_and_never_told(tmp_path):
    plain = ind.anonymize(table(), SCHEMA, output=tmp_path / "r.csv", **JOB).certificate
    told = [warning for warning in plain.warnings if "formulas" in warning]
    assert len(told) == 1
    assert "takes 10 cells of column 'ill' for formulas" in told[0]
    writing = ind.Writing(spreadsheet=True)
    safe = ind.anonymize(table(), SCHEMA, output=tmp_path / "s.csv", writing=writing, **JOB).certificate
    told = [warning for warning in safe.warnings if "formulas" in warning]
    assert "20 cells of column 'ill' got an apostrophe" in told[0]
    assert "it would take 10 for formulas" in told[0]
    assert "cmd" not in json.dumps(safe.to_json())
    parquet = ind.anonymize(table(), SCHEMA, output=tmp_path / "r.parquet", **JOB).certificate
    assert not any("formulas" in warning for warning in parquet.warnings)


def test_formulas_alone_are_guarded_and_ranges_stay(tmp_path):
    data = pa.table({"age": ["1-5", "1-5"], "note": ["=1+1", "fine"]})
    place = tmp_path / "guarded.csv"
    producer_for([data], place, Writing(formulas=True))(place)
    assert place.read_text() == "age,note\n1-5,'=1+1\n1-5,fine\n"
    back = read_as_written(place, place, ["age", "note"], data.schema, Writing(formulas=True))
    assert back.data["note"].to_pylist() == ["=1+1", "fine"]


@pytest.mark.parametrize("sizes", [[0], [3], [10], [3, 4, 5, 1, 9], [20, 1, 1], [1] * 17, [0, 4, 0]])
def test_row_groups_do_not_tell_in_which_batches_a_table_was_made(tmp_path, monkeypatch, sizes):
    monkeypatch.setattr("indistinct.release.writing.formats.ROW_GROUP", 4)
    texts = [chr(ord("z") - number % 7) for number in range(sum(sizes))]
    data = pa.table({"n": pa.array(range(sum(sizes)), pa.int64()), "text": pa.array(texts, pa.string())})
    ends = [sum(sizes[:number]) for number in range(len(sizes))]
    coded = pa.schema([("n", pa.int64()), ("text", pa.dictionary(pa.int32(), pa.string()))])
    batches = [data.slice(end, size).cast(coded) for end, size in zip(ends, sizes, strict=True)]
    place = tmp_path / "r.parquet"
    producer_for(batches, place)(place)
    assert pq.read_table(place).equals(data)
    found = pq.read_metadata(place)
    rows = [found.row_group(number).num_rows for number in range(found.num_row_groups)]
    whole, left = divmod(len(data), 4)
    assert rows == [4] * whole + [left] * (left > 0 or not whole)


def test_which_texts_a_spreadsheet_changes():
    changed = [
        "3/4",
        "1-5",
        "2020-01",
        "1.5.",
        "12:30",
        "MAR1",
        "5 Sept",
        "007",
        "1E5",
        "250.00",
        "12 %",
        "1" * 17,
        "$5",
    ]
    same = [
        "[1-5]",
        "[20-30]",
        "*",
        "{a, b}",
        "31",
        "-5",
        "1.5",
        "Marie",
        "May",
        "130**",
        "E11.9",
        "12 Main Street",
        "",
    ]
    assert is_changed(pa.array(changed)).to_pylist() == [True] * len(changed)
    assert is_changed(pa.array(same)).to_pylist() == [False] * len(same)
    assert is_formula(pa.array(["=1", "+x", "-x", "@x", "\t=1", "＝1"])).to_pylist() == [True] * 6
    assert is_formula(pa.array(["-5", "a=b", "[=1]", "+47 22 33", "-2-3"])).to_pylist() == [False] * 5
    assert is_changed(pa.array(["+47 22 33", "-2-3", "+5"])).to_pylist() == [True] * 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="'=+-@19/a.E ", max_size=6), max_size=8))
def test_marks_can_be_taken_off_and_leave_nothing_that_changes(texts):
    array = pa.array(texts, pa.string())
    written = marked(array, Writing(spreadsheet=True))
    assert not pc.any(is_changed(written)).as_py()
    assert [text.removeprefix("'") if text.startswith("'") else text for text in written.to_pylist()] == texts


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(alphabet="'=a,;\" \n", max_size=4) | st.none(), st.floats(-9, 9)), min_size=1, max_size=6
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.booleans(),
    st.sampled_from([None, "utf-16", "utf-8-sig"]),
)
def test_what_is_written_is_read_back(tmp_path_factory, rows, delimiter, spreadsheet, encoding):
    path = tmp_path_factory.mktemp("form") / "r.csv"
    data = pa.table({"text": pa.array([row[0] for row in rows], pa.string()), "number": [row[1] for row in rows]})
    writing = ind.Writing(delimiter=delimiter, decimal=",", encoding=encoding, spreadsheet=spreadsheet)
    producer_for([data], path, writing)(path)
    read = read_as_written(path, path, ["text", "number"], data.schema, writing).data
    assert read["text"].to_pylist() == data["text"].to_pylist()
    assert [float(text) for text in read["number"].to_pylist()] == data["number"].to_pylist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delimiter": "ab"}, "delimiter"),
        ({"delimiter": "5"}, "delimiter"),
        ({"delimiter": '"'}, "delimiter"),
        ({"decimal": ";"}, "decimal mark"),
        ({"encoding": "klingon"}, "encoding 'klingon'"),
        ({"encoding": "cp1252", "bom": True}, "byte order mark"),
    ],
)
def test_forms_that_cannot_be(given, message):
    with pytest.raises(ind.ParameterError, match=message):
        ind.Writing(**given)


def test_a_form_of_text_goes_with_a_text_file(tmp_path):
    with pytest.raises(ind.ParameterError, match="goes with a text file"):
        ind.anonymize(table(), SCHEMA, output=tmp_path / "r.parquet", writing=ind.Writing(bom=True), **JOB)


def test_a_sign_that_an_encoding_has_not_is_an_error_without_the_text(tmp_path):
    data = table().set_column(1, "ill", pa.array(["不明"] * 26))
    with pytest.raises(ind.OutputError, match="has no sign") as caught:
        ind.anonymize(data, SCHEMA, output=tmp_path / "r.csv", writing=ind.Writing(encoding="cp1252"), **JOB)
    assert "不" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_says_how_files_are_written(tmp_path):
    text = """
        [input]
        path = "a.xlsx"
        sheet = "People"
        codes = true
        [columns]
        age = "quasi"
        [privacy]
        models = ["k-anonymity:k=2"]
        [output]
        path = "s3://bucket/r.csv"
        delimiter = ";"
        decimal = ","
        bom = true
        spreadsheet = true
    """
    policy = policy_from_toml(text, base=tmp_path)
    assert policy.output.writing == ind.Writing(delimiter=";", decimal=",", bom=True, spreadsheet=True)
    assert (policy.input.reading.sheet, policy.input.reading.codes) == ("People", True)
    assert policy_from_toml(policy_to_toml(policy), base=tmp_path) == policy
    assert 'path = "s3://bucket/r.csv"' in policy_to_toml(policy)
    with pytest.raises(ind.PolicyError, match=r"\[output\].*decimal"):
        policy_from_toml(text.replace('decimal = ","', 'decimal = "x"'), base=tmp_path)


def cells_in(paths, folder):
    """Return the cells that LibreOffice makes of each file, guessing as much as it can: formulas, kinds and texts."""
    # Comma, double quote, UTF-8, from line 1, no types given, English, quoted fields are no text, special numbers are.
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile"]
    command += [
        "--infilter=CSV:44,34,76,1,,1033,false,true",
        "--convert-to",
        "fods",
        "--outdir",
        str(folder),
        *map(str, paths),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    made = [folder / f"{path.stem}.fods" for path in paths]
    assert all(each.exists() for each in made), done.stderr
    cell = r'<table:table-cell([^>]*)office:value-type="(\w+)"[^>]*>\s*<text:p>([^<]*)'
    return [re.findall(cell, each.read_text("utf-8")) for each in made]


@pytest.mark.skipif(shutil.which("localc") is None, reason="LibreOffice Calc (libreoffice-calc) is not installed")
def test_libreoffice_runs_no_formula_and_makes_no_date_of_a_file_written_for_it(tmp_path):
    ind.anonymize(table(), SCHEMA, output=tmp_path / "plain.csv", **JOB)
    ind.anonymize(table(), SCHEMA, output=tmp_path / "safe.csv", writing=ind.Writing(spreadsheet=True), **JOB)
    plain, safe = cells_in([tmp_path / "plain.csv", tmp_path / "safe.csv"], tmp_path)
    # The danger is real: without the option this very program runs formulas and takes texts for dates.
    assert any("table:formula" in how for how, _, _ in plain)
    assert any(kind == "date" for _, kind, _ in plain)
    assert not any("table:formula" in how for how, _, _ in safe)
    assert {kind for _, kind, _ in safe} == {"string", "float"}
    numbers = sum(kind == "float" for _, kind, _ in safe)
    assert numbers == len(table())  # the costs, and nothing else: not 007, not 1E5
    assert sum(text.startswith("[") for _, _, text in safe) == len(table())


@pytest.fixture(scope="module")
def typed():
    frame = pd.DataFrame(
        {
            "age": range(30, 38),
            "grade": pd.Categorical(["low", "high"] * 4, categories=["low", "mid", "high"], ordered=True),
            "ward": pd.Categorical(["x", "y"] * 4, categories=["z", "y", "x"]),
            "visits": pd.array([1, None] * 4, dtype="Int64"),
            "seen": pd.date_range("2020-01-01", periods=8, tz="Europe/Oslo"),
            "stay": pd.to_timedelta(range(8), unit="h"),
        }
    )
    schema = ind.Schema(quasi=["age"], insensitive=list(frame.columns[1:]))
    return frame, schema, ind.anonymize(frame, schema, model="k-anonymity:k=2", algorithm="mondrian")


def same_types(found, frame):
    ordered = found.sort_values("stay", ignore_index=True)
    assert found["grade"].cat.ordered
    assert list(found["grade"].cat.categories) == ["low", "high"]  # none that no row has
    assert set(found["ward"].cat.categories) == {"x", "y"}
    assert list(ordered["grade"].astype(str)) == list(frame["grade"].astype(str))
    assert str(found["seen"].dt.tz) == "Europe/Oslo"
    assert list(ordered["seen"]) == list(frame["seen"])
    assert list(ordered["stay"]) == list(frame["stay"])


def test_types_survive_in_parquet_arrow_and_pandas(typed, tmp_path):
    frame, schema, release = typed
    same_types(release.to_pandas(), frame)
    assert str(release.to_pandas()["visits"].dtype) == "Int64"
    release.write(tmp_path / "r.parquet")
    same_types(pd.read_parquet(tmp_path / "r.parquet"), frame)
    assert pq.read_schema(tmp_path / "r.parquet").field("visits").type == pa.int64()
    release.write(tmp_path / "r.arrow")
    same_types(pd.read_feather(tmp_path / "r.arrow"), frame)
    again = ind.anonymize(tmp_path / "r.parquet", schema, model="k-anonymity:k=2", algorithm="mondrian")
    assert str(again.to_pandas()["seen"].dt.tz) == "Europe/Oslo"
    assert str(again.to_pandas()["ward"].dtype) == "category"
    assert ind.scan(tmp_path / "r.parquet", schema=schema).leaks == ()


def test_a_parquet_file_without_such_types_has_no_schema_of_arrow(tmp_path):
    ind.anonymize(table(), SCHEMA, output=tmp_path / "r.parquet", **JOB)
    assert not pq.read_schema(tmp_path / "r.parquet").metadata
    assert b"ARROW:schema" not in (tmp_path / "r.parquet").read_bytes()


def test_a_duration_is_not_grouped(typed):
    frame, _, _ = typed
    schema = ind.Schema(quasi=["age", "stay"], insensitive=["grade", "ward", "visits", "seen"])
    with pytest.raises(ind.InputError, match="cannot be grouped"):
        ind.anonymize(frame, schema, model="k-anonymity:k=2")
