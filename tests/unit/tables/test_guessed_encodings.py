"""An encoding that nobody declared is found or guessed, and a guess is told."""

import pytest

import indistinct as ind
from indistinct.errors import HierarchyError
from indistinct.tables import open_table
from indistinct.tables.dialect import doubt_of

RUSSIAN = "имя,город\nИван Петров,Москва\nАнна,Пермь\n"
GERMAN = "Name,Ort\nMüller,Köln\nO’Brien,São Paulo\nPreis®,“Wort” – 5 €\n"


@pytest.mark.parametrize(
    ("encoding", "text", "likely"),
    [
        ("cp1251", RUSSIAN, "cp1251"),
        ("cp1251", "NAME;CITY\nИВАНОВ;МОСКВА\n", "cp1251"),
        ("cp1251", "код,диагноз\nI10,гипертония\n", "cp1251"),
        ("koi8-r", RUSSIAN, "koi8-r"),
        ("cp1253", "όνομα,πόλη\nΓιώργος,Αθήνα\n", "cp1253"),
        ("cp1255", "שם,עיר\nדוד,ירושלים\n", "cp1255"),
        ("cp1256", "اسم,ب\nمحمد,ا\n", "cp1256"),
        ("gb18030", "姓名,城市\n王伟,北京\n张敏,上海\n", "gb18030"),
        ("cp949", "이름,도시\n김철수,서울\n", "cp949"),
        ("cp1250", "imie,miasto\nŁukasz,Łódź\nMałgorzata,Białystok\n", "cp1250"),
        ("cp850", "Name,Ort\nMüller,Köln\nMädchen,Straße\n", "cp850"),
        ("mac-roman", "Name,Ort\nMüller,Köln\nMädchen,Straße\n", "mac-roman"),
    ],
)
def test_a_guess_that_looks_wrong_names_what_is_likely(tmp_path, encoding, text, likely):
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(encoding))
    for table in (open_table(path), ind.open(path, engine="duckdb")):
        (note,) = table.notes
        assert note.startswith("people.csv is not UTF-8; it was read as")
        assert "looks wrong" in note
        assert likely in note
        assert "--encoding" in note
    declared = open_table(path, encoding=encoding)
    assert declared.notes == ()
    assert declared.columns == tuple(text.splitlines()[0].replace(";", ",").split(","))


@pytest.mark.parametrize("text", [GERMAN, "à,où\nété,Ünlü\n", "nome,b\nação,São João\n"])
def test_a_guess_that_looks_right_is_told_as_one(tmp_path, text):
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode("cp1252"))
    (note,) = open_table(path).notes
    assert "it was read as cp1252 (Western European): declare it" in note
    assert "looks wrong" not in note
    for sure in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes(text.encode(sure))
        assert open_table(path).notes == ()


def test_bytes_far_into_a_file_are_looked_at_too(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 200_000 + "Пермь,2\n".encode("cp1251"))
    assert "Cyrillic" in open_table(path).notes[0]


def test_japanese_is_read_and_told(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("氏名,都市\n田中さくら,東京\n".encode("cp932"))
    table = open_table(path)
    assert table.data["氏名"].to_pylist() == ["田中さくら"]
    assert "cp932 (Japanese): declare it" in table.notes[0]


def test_several_files_are_named_each(tmp_path):
    for name, encoding in (("a.csv", "utf-8"), ("b.csv", "cp1252"), ("c.csv", "cp1252")):
        (tmp_path / name).write_bytes("n,m\né,1\n".encode(encoding))
    notes = open_table(str(tmp_path / "*.csv")).notes
    assert [note.partition(" ")[0] for note in notes] == ["b.csv", "c.csv"]


def test_a_hierarchy_whose_letters_nobody_knows_is_refused(tmp_path):
    """Its labels would be published as other letters."""
    path = tmp_path / "levels.csv"
    path.write_bytes("I10;Сердце;*\nJ18;Лёгкие;*\n".encode("cp1251"))
    with pytest.raises(HierarchyError, match="is not UTF-8, and cp1252 looks wrong") as caught:
        ind.Hierarchy.read_csv(path)
    assert "encoding" in caught.value.hint
    assert ind.Hierarchy.read_csv(path, encoding="cp1251").rows[0][1] == "Сердце"
    path.write_bytes("I10;Herzklappenstörung;*\n".encode("cp1252"))
    assert ind.Hierarchy.read_csv(path).rows[0][1] == "Herzklappenstörung"


def test_inspection_tells_it_as_well(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(RUSSIAN.encode("cp1251"))
    assert "Cyrillic" in ind.inspect(open_table(path)).to_json()["notes"][0]


def test_few_bytes_are_no_reason_for_doubt():
    assert doubt_of("cp1252", b"") is None
    assert doubt_of("cp1252", b"abc") is None
