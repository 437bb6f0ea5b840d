"""Where the table of a text file begins: titles, comments, `sep=`, nameless columns and blanks, on both readers."""

import gzip

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, ParameterError
from indistinct.job.policy import policy_from_toml
from indistinct.tables.layout import TableBytes
from references.sheets import spreadsheet

NAMES = "name;age;sex\n"
ROWS = "".join(f"Anna{row};{20 + row};F\n" for row in range(6))
ENGINES = ("memory", "duckdb")


@pytest.fixture
def write(tmp_path):
    def make(text, name="a.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return make


def columns_of(path, engine, **declared):
    opened = ind.open(path, engine=engine, **declared)
    return opened.columns, [str(opened.kinds[name]) for name in opened.columns], opened.rows


def cells_of(path, engine, **declared):
    opened = ind.open(path, engine=engine, **declared)
    return ind.open(opened).data.to_pylist() if engine == "memory" else list(opened.query("FROM source").fetchall())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("Patients 2024\n", 1),
        ("Patients 2024;;\n", 1),
        ("Patients 2024\n\nsecret, internal\n\n", 3),
        ('"Patients\nof 2024"\n', 2),
        ("# made by x, y\n# and z\n", 2),
        ("|1x3 Cross validator\n", 1),
    ],
)
def test_lines_above_the_names_are_told_and_left_out(write, engine, above, lines):
    for mark in ";,\t":
        path = write(above + (NAMES + ROWS).replace(";", mark))
        with pytest.raises(InputError, match="a title or comment, and no names") as caught:
            ind.open(path, engine=engine)
        assert caught.value.details["skip_rows"] == lines
        assert f"--skip-rows {lines}" in caught.value.hint
        assert "Patients" not in f"{caught.value}"
        assert "Anna" not in f"{caught.value}"
        wanted = ("name", "age", "sex"), ["text", "number", "text"], 6
        assert columns_of(path, engine, skip_rows=lines) == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_comments_are_left_out_wherever_they_stand(write, engine):
    text = f'# made by "x"\n{NAMES}{ROWS}# in the middle\n"# Bo\n# of two lines";31;M\n# the end'
    path = write(text)
    with pytest.raises(InputError) as caught:
        ind.open(path, engine=engine)
    assert '--comment "#"' in caught.value.hint
    assert columns_of(path, engine, comment="#") == (("name", "age", "sex"), ["text", "number", "text"], 7)
    again = cells_of(path, engine, comment="#")
    last = next(iter(again[-1].values())) if isinstance(again[-1], dict) else again[-1][0]
    assert last == "# Bo\n# of two lines", "inside quotes nothing is a comment"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_names_the_line_of_the_file(write, engine):
    path = write(f"Title\n# one\n{NAMES}{ROWS}# two\nBo;31;M;more\n")
    with pytest.raises(InputError, match="line 11: expected 3 fields, got 4"):
        ind.open(path, engine=engine, skip_rows=1, comment="#")
    path = write(f"Title\n# one\n{NAMES}{ROWS}# two\nBo;old;M\n")
    with pytest.raises(InputError, match="1 of 7 cells do not fit it, on line 11"):
        ind.open(path, engine=engine, skip_rows=1, comment="#", types={"age": "number"})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_line_ends_and_encodings(write, engine, ends, encoding):
    text = f"Lüste\n# Ä\nsep=;\n{NAMES}# ö\n{ROWS}Zoë;31;F\n".replace("\n", ends)
    path = write(text.replace("sep=;" + ends, ""), encoding=encoding)
    declared = {"skip_rows": 1, "comment": "#", "encoding": None if encoding == "utf-8-sig" else encoding}
    assert columns_of(path, engine, **declared) == (("name", "age", "sex"), ["text", "number", "text"], 7)
    path = write(f"sep=;{ends}" + (NAMES + ROWS).replace("\n", ends), encoding=encoding)
    assert columns_of(path, engine)[0] == ("name", "age", "sex")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_line_that_names_the_delimiter_is_honoured(write, engine):
    for line, mark in (("sep=;", ";"), ('"sep=|"', "|"), ("SEP=\t", "\t"), ("sep=~", "~")):
        path = write(f"{line}\n" + (NAMES + ROWS).replace(";", mark))
        assert columns_of(path, engine) == (("name", "age", "sex"), ["text", "number", "text"], 6)


@pytest.mark.parametrize("engine", ENGINES)
def test_compressed_files(tmp_path, engine):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(f"Title\n{NAMES}# no\n{ROWS}".encode()))
    assert columns_of(path, engine, skip_rows=1, comment="#")[2] == 6


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_records_never_are_one_column_silently(write, engine):
    quoted = "".join(f'"{line}"\n' for line in (NAMES + ROWS).replace(";", ",").splitlines())
    for text in (quoted, "note\na;b\nb;c;d\nx\n", "note\n" + "a|b\n" * 5, "note\n" + "a~b\n" * 5):
        path = write(text)
        with pytest.raises(InputError, match=r"may part fields|a title or comment") as caught:
            ind.open(path, engine=engine)
        assert "Anna" not in f"{caught.value}"
        (note,) = ind.open(path, engine=engine, delimiter="^").notes
        assert "check the delimiter" in note
    for text in ("age\n1\n2\n", 'city\n"{Oslo, Bergen}"\n"{Molde, Bodø}"\n', "note\nhello\nworld; yes\nx\ny\n"):
        assert ind.open(write(text), engine=engine).notes == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_without_a_name_are_left_out_or_named(write, engine):
    path = write('"","age","sex"\n' + "".join(f'"{row + 1}",{20 + row},"F"\n' for row in range(30)))
    with pytest.raises(InputError, match="columns without: 1") as caught:
        ind.open(path, engine=engine)
    assert "--nameless drop" in caught.value.hint
    dropped = ind.open(path, engine=engine, nameless="drop")
    assert (dropped.columns, dropped.left_out) == (("age", "sex"), ("1 column without a name",))
    assert columns_of(path, engine, nameless="name") == (
        ("column 1", "age", "sex"),
        ["number", "number", "text"],
        30,
    )


def test_some_columns_are_read_beside_one_without_a_name(write):
    path = write('"","age","sex"\n' + "".join(f'"{row + 1}",{20 + row},"F"\n' for row in range(30)))
    assert ind.open(path, columns=["age"]).columns == ("age",)


def test_numbers_of_rows_are_proposed_as_identifier(write):
    for rows in (5, 30):
        path = write(",height\n" + "".join(f"{row},{1.5 + row / 10}\n" for row in range(rows)))
        roles = ind.inspect(ind.open(path, nameless="name")).schema
        assert roles.identifiers == ("column 1",)


@pytest.mark.parametrize("engine", ENGINES)
def test_blanks_behind_delimiters(write, engine):
    path = write('age, work, pay\n39, Private, 12\n?, "State, gov", ?\n50,  Private , 7\n')
    with pytest.raises(InputError):
        ind.open(path, engine=engine)
    path = write("age, work, pay\n39, Private, 12\n ?, Gov, ?\n50,  Private , 7\n")
    (note,) = ind.open(path, engine=engine).notes
    assert "--trim" in note
    declared = {"trim": True, "missing": ["", "?"]}
    assert columns_of(path, engine, **declared) == (("age", "work", "pay"), ["number", "text", "number"], 3)
    cells = [tuple(row.values()) if isinstance(row, dict) else row for row in cells_of(path, engine, **declared)]
    assert cells == [(39, "Private", 12), (None, "Gov", None), (50, "Private", 7)]
    assert ind.open(path, engine=engine, **declared).notes == ()


def test_a_first_look_takes_blanks_off(write):
    lines = "".join(f"{20 + row}, {'Private' if row % 2 else 'Gov'}, {row * 10}\n" for row in range(30))
    found = ind.inspect(write("age, work, pay\n" + lines))
    assert [column.name for column in found.columns] == ["age", "work", "pay"]
    assert found.reading.trim
    assert str(found.columns[2].kind) == "number"


def test_a_sheet_with_a_title(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(spreadsheet({"S": [["Patients"], [None, "age"], [1, 20], [2, 30]]}))
    with pytest.raises(InputError, match="a title") as caught:
        ind.open(path)
    assert caught.value.details["skip_rows"] == 1
    assert ind.open(path, skip_rows=1, nameless="drop").columns == ("age",)
    assert ind.open(path, skip_rows=1, nameless="name").columns == ("column 1", "age")


def test_what_cannot_be_declared(write):
    path = write(NAMES + ROWS)
    for declared in ({"skip_rows": -1}, {"skip_rows": 1.5}, {"skip_rows": True}, {"comment": ""}, {"nameless": "no"}):
        with pytest.raises(ParameterError):
            ind.open(path, **declared)
    with pytest.raises(InputError, match="is empty"):
        ind.open(path, skip_rows=99)


def test_policies_and_releases_read_alike(write, tmp_path):
    path = write(f"Patients\n# x\n{NAMES.replace(';', '; ')}{ROWS.replace(';', '; ')}")
    policy = policy_from_toml(
        f'[input]\npath = "{path}"\nskip_rows = 1\ncomment = "#"\ntrim = true\n[columns]\nname = "identifier"\n'
        'age = "quasi"\nsex = "insensitive"\n[privacy]\nmodels = ["k-anonymity:k=2"]\n',
        base=tmp_path,
    )
    reading = policy.input.reading
    assert (reading.skip_rows, reading.comment, reading.trim) == (1, "#", True)
    release = ind.anonymize(ind.open(path, reading=reading), policy.schema, model="k-anonymity:k=2", seed=1)
    stored = ind.read_recoding(release.recoding.to_json()) if hasattr(ind, "read_recoding") else release.recoding
    assert stored.reading.skip_rows == 1
    assert ind.apply(stored, path).table.num_rows == 6


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_bytes_do_not_depend_on_how_they_are_read(tmp_path, monkeypatch, size):
    monkeypatch.setattr("indistinct.tables.layout.BLOCK_BYTES", size)
    path = tmp_path / "a"
    path.write_bytes(b'\xef\xbb\xbfT\r\n# a\r\nx;y\r\n"1\r\n# no";2\r\n#z\r\n\r\n3;4')
    with path.open("rb") as file:
        cut = TableBytes(file, encoding="utf-8", skip=1, comment="#")
        assert cut.read() == b'x;y\r\n"1\r\n# no";2\r\n\r\n3;4'


def test_frames_are_not_concerned():
    table = pa.table({" age": [1, 2]})
    assert ind.open(table, trim=True, skip_rows=1).columns == (" age",)


def test_the_page_shows_the_layout_that_an_error_found(write):
    from indistinct.tables import Reading
    from indistinct.web.tasks.looking import layout_shown

    for text, shown in (
        (f"Title\n{NAMES}{ROWS}", Reading(skip_rows=1)),
        (",age\n" + "".join(f"{row},{20 + row}\n" for row in range(5)), Reading(nameless="name")),
        ("a,b\n1,2,3\n", None),
    ):
        with pytest.raises(InputError) as caught:
            ind.open(write(text))
        assert layout_shown(caught.value, Reading()) == shown


def test_fields_of_the_page_hold_a_layout():
    from indistinct.tables.value import declare
    from indistinct.web.reading_fields import reading_of, texts_of

    reading = declare(skip_rows=2, comment="#", trim=True, nameless="drop")
    assert reading_of(texts_of(reading)) == reading
    assert texts_of(declare())["skip_rows"] == ""
    with pytest.raises(ParameterError) as caught:
        reading_of({**texts_of(declare()), "skip_rows": "two"})
    assert caught.value.details["field"] == "skip_rows"
