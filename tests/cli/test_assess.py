"""`indistinct assess`: figures on stdout, notes on stderr, exit 4 where a profile is broken."""

import json

import pytest

from indistinct.release.writing.files import write_table
from indistinct.samples import generate_patients, generate_visits

HIERARCHY = ["--hierarchy", "zipcode=mask:right"]


@pytest.fixture
def release(run, patients, roles, tmp_path):
    path = tmp_path / "release.csv"
    made = run(
        "anonymize", patients, *roles, *HIERARCHY, "--model", "k-anonymity:k=5", "--algorithm", "mondrian", "-o", path
    )
    assert made.code == 0, made.err
    return path


def test_an_original_alone(run, patients, roles):
    found = run("assess", patients, *roles, *HIERARCHY, "--population-size", "9000", "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert told["table"] == str(patients)
    assert told["rows"] == 300
    assert told["before"] is None
    assert told["population_uniques"]["dankar"] > 0
    assert told["columns"]["zipcode"]["levels"]
    assert all(each["worst"] == [] for each in told["sensitive"].values())
    shown = json.loads(run("assess", patients, *roles, "--show-values", "--json").out)
    assert shown["sensitive"]["disease"]["worst"][0]["values"]["age"]


def test_both_sides(run, patients, roles, release):
    found = run("assess", release, "--original", patients, *roles, *HIERARCHY, "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert told["before"]["prosecutor"]["highest"] == 1.0
    assert told["prosecutor"]["highest"] <= 1 / 5
    assert told["smallest_class"] >= 5
    words = run("assess", release, "--original", patients, *roles, *HIERARCHY, "--suda", "2", "--unique-sets", "2").out
    for part in ("before", "after", "prosecutor: highest risk", "special uniques", "single out", "ema-0.09-"):
        assert part in words


def test_a_release_with_stars_tells_the_count_of_sdcmicro_beside_its_classes(run, tmp_path):
    path = tmp_path / "starred.csv"
    path.write_text("a,b\nx,*\nx,y\nz,y\nz,y\n")
    found = run("assess", path, "--quasi", "a,b")
    words = " ".join(found.out.split())
    assert "the smallest of 1 row" in words
    assert "where a suppressed cell matches everything, each row fits at least 2 rows; this is no guarantee" in words
    assert json.loads(run("assess", path, "--quasi", "a,b", "--json").out)["fewest_compatible"] == 2


def test_a_policy_tells_roles(run, patients, release, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        f"""[input]
path = "{patients.name}"
[columns]
name = "identifier"
age = "quasi"
sex = "quasi"
zipcode = {{ role = "quasi", hierarchy = {{ mask = "right" }} }}
admitted = "quasi"
disease = "sensitive"
cost = "sensitive"
[privacy]
models = ["k-anonymity:k=5"]
[output]
path = "release.csv"
""",
        encoding="utf-8",
    )
    before = json.loads(run("assess", patients, "--policy", policy, "--json").out)
    after = json.loads(run("assess", release, "--policy", policy, "--json").out)
    both = json.loads(run("assess", release, "--policy", policy, "--original", patients, "--json").out)
    assert both["prosecutor"] == after["prosecutor"]
    assert both["before"]["prosecutor"] == before["prosecutor"]
    assert run("assess", release, "--policy", policy, "--quasi", "age").code == 2


def test_a_profile_is_a_gate(run, patients, roles, release):
    asked = ["assess", release, "--original", patients, *roles, *HIERARCHY]
    broken = run(*asked, "--profile", "public")
    assert broken.code == 4
    assert "FAILED: the highest risk of an attacker is" in broken.out
    told = run(*asked, "--profile", "public", "--json")
    assert told.code == 4
    gate = json.loads(told.out)["profile"]
    assert not gate["passed"]
    assert "highest" in [line["figure"] for line in gate["lines"] if not line["passed"]]
    assert run(*asked, "--profile", "licensed:average=0.5").code == 0
    # Nearly everybody has a cost of their own: no limit of their own makes that public.
    relaxed = run(*asked, "--profile", "public:highest=0.5,homogeneous=1")
    assert relaxed.code == 4
    assert "are unique on the sensitive column 'cost'" in relaxed.out
    table = relaxed.out[relaxed.out.index("Limits of the profile") :]
    assert "FAILED" in table[: table.index("\n\n")], "what fails without a limit is in their table"
    assert run(*asked, "--profile", "internal").code == 0


def test_a_population_table(run, patients, roles, release, tmp_path):
    everybody = tmp_path / "everybody.csv"
    write_table(generate_patients(300, seed=1).drop_columns(["name", "cost", "disease"]), everybody)
    found = run("assess", release, "--original", patients, *roles, *HIERARCHY, "--population", everybody, "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert told["before"]["journalist"]["highest"] == told["before"]["prosecutor"]["highest"]
    assert told["journalist"]["basis"] == "counted in the population table"
    assert told["journalist"]["highest"] <= told["prosecutor"]["highest"]


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--population-size", "5"], 1, "fewer than the table"),
        (["--sampling-fraction", "0"], 2, "sampling_fraction"),
        (["--sampling-fraction", "1.01"], 2, "sampling_fraction"),
        (["--population-size", "900", "--sampling-fraction", "0.5"], 2, "cannot be used together"),
        (["--threshold", "0"], 2, "threshold"),
        (["--profile", "secret"], 2, "no profile 'secret'"),
        (["--suda", "0"], 2, "suda"),
        (["--weights", "heft"], 1, "survey weights"),
        (["--weights", "sex"], 1, "numbers"),
    ],
)
def test_bad_input(run, patients, roles, flags, code, words):
    found = run("assess", patients, *roles, *flags)
    assert found.code == code, found.err
    assert words in found.err
    assert found.out == ""


def test_a_folder_without_files_is_no_table(run, roles, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for folder, reason in ((".", "has no file"), ("..", "has folders in it")):
        found = run("assess", folder, *roles)
        assert found.code == 1, found.err
        assert reason in found.err


def test_a_population_of_other_people(run, patients, roles, tmp_path):
    strangers = tmp_path / "strangers.csv"
    text = patients.read_text().replace("female", "woman").replace("male", "man")
    strangers.write_text(text)
    found = run("assess", patients, *roles, *HIERARCHY, "--population", strangers)
    assert found.code == 1, found.err
    assert "the population does not contain the table" in found.err
    assert "'sex'" in found.err
    assert "female" not in found.err + found.out


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("patients.pkl", b"\x80\x05\x95cos\nsystem\n", "a pickle"),
        ("patients.csv", b"\x80\x04\x95cos\nsystem\n", "a pickle"),
        ("patients.parquet", b"PARE" + bytes(range(200)) + b"PARE", "an encrypted Parquet file"),
        ("patients.csv", b"Salted__" + bytes(range(200)), "that OpenSSL encrypted"),
        ("patients.csv", b"PK\x03\x04\x14\x00\x01\x00" + bytes(200), "which may be encrypted"),
        ("patients.csv.gpg", bytes(range(200)), "decrypt it first"),
    ],
)
def test_files_that_are_no_tables(run, patients, roles, tmp_path, name, content, words):
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / name
    path.write_bytes(content)
    for asked in ([path, *roles], [patients, *roles, "--population", path], [path, *roles, "--original", patients]):
        found = run("assess", *asked)
        assert found.code == 1, found.err
        assert words in found.err
        assert found.out == ""


def test_an_original_of_something_else(run, patients, roles, release, tmp_path):
    other = tmp_path / "other.csv"
    write_table(generate_patients(400, seed=8), other)
    found = run("assess", release, "--original", other, *roles, *HIERARCHY)
    assert found.code == 1
    assert "original" in found.err
    few = tmp_path / "few.csv"
    write_table(generate_patients(300, seed=1).slice(0, 50), few)
    found = run("assess", release, "--original", few, *roles, *HIERARCHY)
    assert found.code == 1
    assert "the original has 50" in found.err


def test_messages_say_which_table_lacks_a_column(run, patients, roles, release, tmp_path):
    short = tmp_path / "short.csv"
    write_table(generate_patients(300, seed=1).drop_columns(["zipcode"]), short)
    found = run("assess", release, *roles, "--original", short)
    assert (found.code, "the original has no column 'zipcode'" in found.err) == (1, True), found.err
    found = run("attack", "homogeneity", release, *roles, "--original", short)
    assert (found.code, "the original has no column 'zipcode'" in found.err) == (1, True), found.err
    found = run("assess", patients, *roles, "--population", short)
    assert (found.code, "the population has no column 'zipcode'" in found.err) == (1, True), found.err


def test_columns_without_a_role_are_named(run, patients, roles):
    some = ["--identifier", "name", "--quasi", "age,sex", "--sensitive", "disease"]
    found = run("assess", patients, *some, "--weights", "cost")
    assert found.code == 0, found.err
    assert "no role is given to 'zipcode', 'admitted', which no privacy model protects" in found.err
    assert "no role" not in run("assess", patients, *roles).err


def test_what_the_screen_says(run, patients, roles, tmp_path):
    found = run("assess", patients, *roles).out
    assert "300 rows in 300 classes, the smallest of 1 row\n" in found
    assert "Risk of a journalist: no population is known" in found
    assert "no population is known" not in run("assess", patients, *roles, "--population-size", "900").out
    single = tmp_path / "single.csv"
    single.write_text("who,age\na,1\na,1\n")
    found = run("assess", single, "--person", "who", "--quasi", "age").out
    assert "2 rows of 1 person in 1 class, the smallest of 1 person\n" in found


def test_a_release_in_buckets(run, patients, tmp_path):
    path = tmp_path / "buckets.csv"
    roles = ["--identifier", "name,cost,admitted", "--quasi", "age,sex,zipcode", "--sensitive", "disease"]
    made = run("anonymize", patients, *roles, "--algorithm", "anatomy:l=2", "-o", path)
    assert made.code == 0, made.err
    found = run("assess", path, *roles, "--algorithm", "anatomy:l=2", "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["form"] == "tables"
    assert "classes are buckets" in found.err
    other = tmp_path / "other.csv"
    write_table(generate_patients(300, seed=8), other)
    for asked in (["assess", path], ["attack", "homogeneity", path]):
        found = run(*asked, *roles, "--algorithm", "anatomy:l=2", "--original", other)
        assert found.code == 1, found.out
        assert "the original does not contain the release" in found.err


def test_people_are_counted_on_the_original(run, tmp_path):
    visits, release, recoding = (tmp_path / name for name in ("visits.csv", "release.csv", "recoding.json"))
    write_table(generate_visits(300, seed=1), visits)
    roles = ["--person", "person", "--quasi", "age,sex,zipcode", "--sensitive", "diagnosis", *HIERARCHY]
    wanted = ["--model", "k-anonymity:k=3", "--algorithm", "mondrian", "--save-recoding", recoding]
    assert run("anonymize", visits, *roles, *wanted, "-o", release).code == 0
    found = run("assess", release, *roles, "--original", visits, "--recoding", recoding, "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert (told["unit"], told["before"]["unit"], told["sensitive"]["diagnosis"]["unit"]) == ("people",) * 3
    assert told["smallest_class"] >= 3
    assert told["members"] <= told["before"]["members"] < told["before"]["rows"] == 300
    alone = run("assess", release, *roles)
    assert alone.code == 1
    assert "people cannot be counted" in alone.err


def test_a_column_that_is_published_as_it_is_fails_a_public_release(run, tmp_path, patients):
    asked = ["--identifier", "name", "--quasi", "age,sex,zipcode", "--sensitive", "disease", *HIERARCHY]
    asked += ["--insensitive", "cost,admitted"]
    models = ["--model", "k-anonymity:k=12", "--model", "distinct-l-diversity:sensitive=disease,l=2"]
    out = tmp_path / "open.csv"
    made = run("anonymize", patients, *asked, *models, "--algorithm", "mondrian", "-o", out)
    assert made.code == 0
    assert "column 'cost' is published unmodified" in made.err
    told = run("assess", out, *asked, "--profile", "public", "--json")
    assert told.code == 4
    found = json.loads(told.out)
    assert [line["figure"] for line in found["profile"]["lines"] if not line["passed"]] == ["published_uniques"]
    assert found["verdict"]["state"] == "failed"
    assert ["cost"] in [line["columns"] for line in found["verdict"]["lines"] if line["state"] == "failed"]
    (singling_out,) = (each for each in found["practice"] if each["rule"] == "wp216-singling-out")
    assert singling_out["status"] == "failed"
    shown = run("assess", out, *asked, "--profile", "public")
    assert "The release FAILS the profile public." in shown.out
    assert "not checked: no attack was tried" in shown.out
    assert run("assess", out, *asked).code == 0  # only a profile makes it a gate
    assert run("assess", out, *asked, "--profile", "public:published_uniques=1").code == 0
    # Without roles for them the columns are as public as before.
    bare = ["--identifier", "name", "--quasi", "age,sex,zipcode", "--sensitive", "disease"]
    assert run("assess", out, *bare, "--profile", "public").code == 4


def test_one_is_no_protection(run, patients, roles):
    shown = run("assess", patients, *roles, *HIERARCHY)
    assert shown.code == 0
    assert "FAILED: k = 1 is no protection" in shown.out
