"""Files of SPSS, Stata and SAS: labels in and out, read back by pandas and by pyreadstat."""

import datetime as dt
import sys

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import indistinct as ind
from indistinct.cli import main
from indistinct.inspection.inspection_document import inspection_page

ROWS = 24
SCHEMA = ind.Schema(quasi=["age", "town"], sensitive=["ill"], insensitive=["cost", "seen", "score", "hour"])
JOB = {"model": "k-anonymity:k=4", "algorithm": "mondrian", "seed": 1}
PRIVATE = "file label of nobody else"
READERS = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}


def frame():
    return pd.DataFrame(
        {
            "age": [float(20 + i) for i in range(ROWS)],
            "town": [float(1 + i // 12) for i in range(ROWS)],
            "ill": [float(1 + i % 3) for i in range(ROWS)],
            "cost": [100.5 + i for i in range(ROWS)],
            "seen": [dt.date(2020, 1, 1 + i) for i in range(ROWS)],
            "score": [None if i == 3 else float(i) for i in range(ROWS)],
            "hour": [dt.time(i % 24, 30) for i in range(ROWS)],
        }
    )


LABELS = {"town": {1: "Oslo", 2: "Bergen", 3: "Molde"}, "ill": {1: "flu", 2: "gout", 3: "HIV", 9: "plague"}}
COLUMNS = {"age": "Age in years", "ill": "Diagnosis"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    told = {"column_labels": COLUMNS, "file_label": PRIVATE}
    pyreadstat.write_sav(frame(), folder / "a.sav", variable_value_labels=LABELS, note=f"{PRIVATE} note", **told)
    pyreadstat.write_dta(frame(), folder / "a.dta", variable_value_labels=LABELS, **told)
    pyreadstat.write_xport(frame(), folder / "a.xpt", **told)
    return folder


def test_codes_become_their_labels_unless_they_are_wanted(sources):
    for suffix in (".sav", ".dta"):
        table = ind.open(sources / f"a{suffix}")
        assert table.data["ill"].to_pylist()[:3] == ["flu", "gout", "HIV"]
        assert table.data["age"].type == pa.int64()
        assert table.data["seen"].type == pa.date32()
        assert table.data["score"].null_count == 1
        assert table.labels["age"].text == "Age in years"
        assert table.labels["ill"].codes["plague"] == 9
        assert ind.open(sources / f"a{suffix}", codes=True).data["ill"].to_pylist()[:3] == [1, 2, 3]
    assert ind.open(sources / "a.xpt").data["ill"].to_pylist()[:3] == [1, 2, 3]


@pytest.mark.parametrize("into", [".sav", ".dta", ".xpt"])
@pytest.mark.parametrize("source", [".sav", ".dta"])
def test_a_release_has_the_labels_that_its_format_has(sources, tmp_path, source, into):
    path = tmp_path / f"out{into}"
    release = ind.anonymize(sources / f"a{source}", SCHEMA, output=path, **JOB)
    cells, told = READERS[into](str(path))
    assert len(cells) == ROWS
    assert told.column_names_to_labels["age"] == "Age in years"
    assert sorted(cells["age"])[0].startswith("[20-")
    by_labels = into != ".xpt"
    ill = cells["ill"].map(told.variable_value_labels["ill"]) if by_labels else cells["ill"]
    assert sorted(ill) == sorted(release.table["ill"].cast(pa.string()).to_pylist())
    if by_labels:
        # The label of a code that no row has is not written: it could be that of a suppressed one.
        assert told.variable_value_labels["ill"] == {1: "flu", 2: "gout", 3: "HIV"}
        assert set(told.variable_value_labels["town"].values()) <= {"Oslo", "Bergen"}
    assert sorted(cells["seen"]) == sorted(frame()["seen"])
    assert sorted(cells["cost"]) == sorted(frame()["cost"])
    assert cells["score"].isna().sum() == 1
    assert sorted(cells["hour"]) == sorted(frame()["hour"])
    assert ind.verify(path, SCHEMA, "k-anonymity:k=4").holds


def test_pandas_reads_what_is_written(sources, tmp_path):
    for suffix in (".sav", ".dta", ".xpt"):
        ind.anonymize(sources / "a.sav", SCHEMA, output=tmp_path / f"out{suffix}", **JOB)
    assert set(pd.read_stata(tmp_path / "out.dta")["ill"]) == {"flu", "gout", "HIV"}
    assert set(pd.read_spss(tmp_path / "out.sav")["ill"]) == {"flu", "gout", "HIV"}


def test_nothing_of_the_file_goes_with_the_release(sources, tmp_path):
    for source in (".sav", ".dta", ".xpt"):
        for into in (".sav", ".dta", ".xpt"):
            path = tmp_path / f"{source[1:]}{into}"
            ind.anonymize(sources / f"a{source}", SCHEMA, output=path, **JOB)
            assert PRIVATE.encode() in (sources / f"a{source}").read_bytes()
            assert PRIVATE.encode() not in path.read_bytes()
            assert b"plague" not in path.read_bytes()


def test_a_label_that_is_no_label_leaves_the_codes(tmp_path):
    cases = {
        "blank": {1: "flu", 2: " ", 3: "HIV"},
        "absent": {1: "flu", 3: "HIV"},
        "twice": {1: "flu", 2: "flu", 3: "HIV"},
    }
    for name, labels in cases.items():
        path = tmp_path / f"{name}.sav"
        pyreadstat.write_sav(frame(), path, variable_value_labels={"ill": labels})
        table = ind.open(path)
        assert table.data["ill"].type == pa.int64()
        assert any("'ill' keeps its codes" in note for note in table.notes)
        assert not any("flu" in note for note in table.notes)


def test_values_that_a_file_declares_missing_are_missing(tmp_path):
    path = tmp_path / "a.sav"
    labels = {"ill": {**LABELS["ill"], 3: "refused"}}
    pyreadstat.write_sav(frame(), path, variable_value_labels=labels, missing_ranges={"ill": [{"lo": 3, "hi": 9}]})
    assert ind.open(path).data["ill"].to_pylist()[:3] == ["flu", "gout", None]


def test_what_a_program_cannot_hold_is_named(tmp_path):
    schema = ind.Schema(quasi=["age"], insensitive=["note"])
    job = {"model": "k-anonymity:k=2", "algorithm": "mondrian"}

    def refused(table, match, roles=schema):
        with pytest.raises(ind.OutputError, match=match) as caught:
            ind.anonymize(pa.table(table), roles, output=tmp_path / "out.sav", **job)
        assert "secret" not in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    refused({"age": [1, 2], "note": ["secret", ""]}, "has empty texts")
    refused(
        {"age": [1, 2], "a note": ["secret", "b"]},
        "no variable called 'a note'",
        ind.Schema(quasi=["age"], insensitive=["a note"]),
    )
    refused({"age": [1, 2], "with": ["secret", "b"]}, "no variable", ind.Schema(quasi=["age"], insensitive=["with"]))
    refused({"age": [1, 2], "AGE": ["secret", "b"]}, "for one", ind.Schema(quasi=["age"], insensitive=["AGE"]))


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt", ".csv", ".tsv"])
@pytest.mark.parametrize("coded", [False, True])
def test_a_text_that_would_end_at_a_nul_is_refused(tmp_path, suffix, coded):
    texts = pa.array(["secret\0part", "b"])
    table = pa.table({"age": [1, 2], "note": texts.dictionary_encode() if coded else texts})
    job = {"model": "k-anonymity:k=2", "algorithm": "mondrian"}
    with pytest.raises(ind.OutputError, match="column 'note' has a text with a NUL character") as caught:
        ind.anonymize(table, NOTED, output=tmp_path / f"out{suffix}", **job)
    assert "secret" not in str(caught.value)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


NOTED = ind.Schema(quasi=["age"], insensitive=["note"])


@pytest.mark.parametrize(
    ("suffix", "kept"), [(".sav", ["a", "b"]), (".xpt", ["a", "b"]), (".dta", ["a ", "b"]), (".csv", ["a ", "b"])]
)
def test_blanks_at_the_end_are_told_where_they_are_lost(tmp_path, suffix, kept):
    table = pa.table({"age": [1, 2], "note": ["a ", "b"]})
    path = tmp_path / f"out{suffix}"
    release = ind.anonymize(table, NOTED, output=path, model="k-anonymity:k=2", algorithm="mondrian")
    told = [each for each in release.certificate.warnings if "blanks at the end" in each]
    assert len(told) == (kept[0] == "a")
    assert all("column 'note'" in each for each in told)
    assert sorted(ind.open(path).data["note"].to_pylist()) == kept


def test_texts_of_blanks_and_of_many_bytes_are_refused(tmp_path):
    job = {"model": "k-anonymity:k=2", "algorithm": "mondrian"}
    cases = (("  ", "blank texts", (".sav", ".xpt")), ("x" * 32_768, "32,767 bytes", (".sav", ".xpt")))
    for text, told, suffixes in cases:
        table = pa.table({"age": [1, 2], "note": [text, "b"]})
        for suffix in suffixes:
            with pytest.raises(ind.OutputError, match=told):
                ind.anonymize(table, NOTED, output=tmp_path / f"out{suffix}", **job)
        ind.anonymize(table, NOTED, output=tmp_path / "out.dta", overwrite=True, **job)
        assert sorted(ind.open(tmp_path / "out.dta").data["note"].to_pylist()) == sorted([text, "b"])
    longest = pa.table({"age": [1, 2], "note": ["é" * 16_383, "b"]})
    ind.anonymize(longest, NOTED, output=tmp_path / "out.sav", **job)
    assert sorted(ind.open(tmp_path / "out.sav").data["note"].to_pylist())[-1] == "é" * 16_383


def test_labels_that_are_too_long_are_told_or_written_as_text(tmp_path):
    """A label that is cut may be that of another code; what describes a column is cut and told."""
    long = {1.0: "x" * 130 + "one", 2.0: "x" * 130 + "two", 3.0: "y"}
    source = tmp_path / "a.dta"
    titles = {"ill": "t" * 80}
    pyreadstat.write_dta(frame(), source, variable_value_labels={"ill": long}, column_labels=titles)
    ind.anonymize(source, SCHEMA, output=tmp_path / "out.sav", **JOB)
    assert set(ind.open(tmp_path / "out.sav").data["ill"].to_pylist()) == set(long.values())
    source = tmp_path / "a.sav"
    pyreadstat.write_sav(frame(), source, column_labels={"ill": "é" * 100})
    release = ind.anonymize(source, SCHEMA, output=tmp_path / "out.dta", **JOB)
    assert any("the label of column 'ill' is longer than Stata keeps" in each for each in release.certificate.warnings)
    assert pyreadstat.read_dta(tmp_path / "out.dta")[1].column_names_to_labels["ill"] == "é" * 80


def test_long_numbers_zones_and_digits_of_seconds_are_text(tmp_path):
    moment = dt.datetime(2020, 1, 2, 3, 4, 5, 678)
    table = pa.table(
        {
            "age": [1, 2],
            "large": [2**60 + 1, 2**60 + 3],
            "zone": pa.array([moment] * 2, pa.timestamp("us", "Europe/Oslo")),
            "fine": [moment] * 2,
            "wait": pa.array([dt.timedelta(minutes=1)] * 2, pa.duration("s")),
        }
    )
    schema = ind.Schema(quasi=["age"], insensitive=["large", "zone", "fine", "wait"])
    ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian", output=tmp_path / "out.dta")
    cells, _ = pyreadstat.read_dta(str(tmp_path / "out.dta"))
    assert set(cells["large"]) == {str(2**60 + 1), str(2**60 + 3)}
    assert cells["zone"][0].startswith("2020-01-02 04:04:05.000678")
    assert cells["fine"][0] == "2020-01-02 03:04:05.000678"
    assert cells["wait"][0] == 60


def test_broken_files_and_a_missing_package(sources, tmp_path, monkeypatch):
    (tmp_path / "a.dta").write_bytes(b"hello")
    with pytest.raises(ind.InputError, match="cannot be read as a file of SPSS, Stata or SAS"):
        ind.open(tmp_path / "a.dta")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(ind.MissingExtraError) as caught:
        ind.open(sources / "a.sav")
    assert caught.value.hint == 'pip install "indistinct[stats]"'


# What a steward reads of labels


def test_inspect_says_what_columns_are_called_and_codes_only_to_those_who_may_see_values(sources, capsys):
    found = ind.inspect(sources / "a.sav")
    column = {each.name: each for each in found.columns}["ill"]
    assert column.label == "Diagnosis"
    assert column.value_labels == {"1": "flu", "2": "gout", "3": "HIV", "9": "plague"}
    assert "plague" not in repr(column)
    assert "ill: Diagnosis; 4 codes have labels" in found.labels_in_words()
    assert "plague" not in str(found.to_json())
    told = {each["name"]: each for each in found.to_json(values=True)["columns"]}
    assert told["ill"]["value_labels"]["9"] == "plague"
    assert (told["age"]["label"], told["cost"]["label"]) == ("Age in years", None)
    for flags, shown in (((), False), (("--show-values",), True)):
        assert main(["inspect", str(sources / "a.dta"), *flags]) == 0
        said = capsys.readouterr().out
        assert "age: Age in years" in said
        assert ("9 = plague" in said) is shown
    page = inspection_page(found, name="a.sav")
    assert "Diagnosis" in page
    assert "plague" not in page


def test_labels_cannot_write_to_the_terminal(tmp_path, capsys):
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(frame(), path, column_labels={"age": "Age\x1b[2Jin\u202eyears"})
    assert main(["inspect", str(path)]) == 0
    said = capsys.readouterr().out
    assert "\x1b[2J" not in said
    assert "\u202e" not in said


def test_an_external_report_tells_labels_of_what_is_published_alone(sources, tmp_path):
    schema = ind.Schema(quasi=["age"], sensitive=["ill"], identifiers=["town"], insensitive=["cost"])
    original = ind.open(sources / "a.sav", columns=["age", "ill", "town", "cost"])
    seen = original.data.to_pylist()
    one = pa.table({name: [row[name] for row in seen if row["ill"] != "HIV"] for name in ("age", "ill", "cost")})
    editions = {
        edition: ind.report(one, schema, edition=edition, original=original, model=ind.KAnonymity(1), seconds=0.1)
        for edition in ("internal", "external")
    }
    inner, outer = (each.html for each in editions.values())
    for text in ("Diagnosis", "3 = HIV", "9 = plague", "1 = Oslo"):
        assert text in inner, text
    assert "Diagnosis" in outer
    assert "1 = flu" in outer
    for text in ("HIV", "plague", "Oslo", "3 = "):
        assert text not in outer, text
