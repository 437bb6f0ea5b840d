"""Transformations and pseudonyms at the command line: by flags, by a policy, and refused."""

import csv
import json

import pytest

from indistinct.job.policy import policy_from_toml, policy_to_toml, read_policy

KEY = "5f60718293a4b5c6" * 4
ROLES = ["--person", "patient", "--identifier", "visit", "--quasi", "age", "--sensitive", "icd"]
ROLES += ["--insensitive", "cost,day,note"]
MODEL = ["--model", "k-anonymity:k=3", "--algorithm", "mondrian"]
CHANGES = ["--transform", "cost=round:100,top:500", "--transform", "day=truncate:month", "--transform", "note=clear"]
CHANGES += ["--transform", "icd=level:2", "--hierarchy", "icd=mask:right"]
POLICY = """\
[input]
path = "visits.csv"

[columns]
visit   = "identifier"
patient = { role = "person", pseudonym = { key = "study.key" } }
age     = "quasi"
icd     = { role = "sensitive", level = 2, hierarchy = { mask = "right" } }
cost    = { role = "insensitive", round = 100, top = 500 }
day     = { role = "insensitive", truncate = "month" }
note    = { role = "insensitive", clear = true }

[privacy]
models = ["k-anonymity:k=3"]

[algorithm]
use = "mondrian"

[output]
path = "by-policy.csv"
"""


@pytest.fixture
def visits(tmp_path):
    """Two visits of twelve people, all of whose rows are in one class."""
    path = tmp_path / "visits.csv"
    lines = ["visit,patient,age,icd,cost,day,note"]
    for row in range(24):
        person, code = row // 2, ("I10", "I25", "J18")[row % 3]
        lines.append(
            f"v{row},p{person},{20 + person % 3},{code},{row * 37.5},2024-0{1 + row % 2}-1{row % 9},call p{person}"
        )
    path.write_text("\n".join(lines) + "\n")
    key = tmp_path / "study.key"
    key.write_text(KEY)
    key.chmod(0o600)
    return path


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_rows(rows):
    assert {row["cost"] for row in rows} <= {f"{100 * step}" for step in range(6)}
    assert {row["day"] for row in rows} == {"2024-01-01", "2024-02-01"}
    assert {row["note"] for row in rows} == {""}
    assert {row["icd"] for row in rows} == {"I**", "J**"}
    assert len({row["patient"] for row in rows}) == 12
    assert all(len(row["patient"]) == 32 for row in rows)


def test_flags_and_a_policy_publish_the_same(run, visits, tmp_path):
    keyed, out = ["--pseudonym", f"patient=key:{tmp_path / 'study.key'}"], tmp_path / "out.csv"
    kept = tmp_path / "recoding.json"
    ran = run("anonymize", visits, *ROLES, *MODEL, *CHANGES, *keyed, "-o", out, "--save-recoding", kept, "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)["certificate"]
    assert told["pseudonyms"] == {"patient": "keyed"}
    assert KEY not in ran.out + ran.err + kept.read_text()
    check_rows(rows_of(out))
    (tmp_path / "policy.toml").write_text(POLICY)
    assert run("anonymize", tmp_path / "policy.toml").code == 0
    check_rows(rows_of(tmp_path / "by-policy.csv"))
    assert sorted(map(str, rows_of(tmp_path / "by-policy.csv"))) == sorted(map(str, rows_of(out)))
    again = run("verify", out, "--policy", tmp_path / "policy.toml", "--json")
    assert again.code == 0
    assert json.loads(again.out)["certificate"]["people"]["published"] == 12
    whole = run("verify", out, "--policy", tmp_path / "policy.toml", "--original", visits)
    assert whole.code == 0, whole.err
    alone = run("verify", out, *ROLES, "--model", "k-anonymity:k=3", "--pseudonym", "patient=random")
    assert alone.code == 0, alone.err
    later = run("apply", kept, visits, "-o", tmp_path / "later.csv", *keyed)
    assert later.code == 0, later.err
    check_rows(rows_of(tmp_path / "later.csv"))
    dropped = run("apply", kept, visits, "-o", tmp_path / "dropped.csv")
    assert dropped.code == 0
    assert "patient" not in rows_of(tmp_path / "dropped.csv")[0]
    for command in ("measure", "distributions", "scan"):
        ran = run(command, out, "--policy", tmp_path / "policy.toml", "--original", visits)
        assert ran.code == 0, (command, ran.err)


@pytest.mark.parametrize("name", ["icd", "cost", "day", "note"])
def test_a_file_that_was_not_transformed_does_not_hold(run, visits, tmp_path, name):
    """Policy, flags and recoding alike tell what a published column must show."""
    out, raw, kept = tmp_path / "out.csv", tmp_path / "raw.csv", tmp_path / "recoding.json"
    ran = run("anonymize", visits, *ROLES, *MODEL, *CHANGES, "-o", out, "--save-recoding", kept)
    assert ran.code == 0, ran.err
    (tmp_path / "policy.toml").write_text(POLICY)
    before, rows = rows_of(visits), rows_of(out)
    with raw.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, name: before[place][name]} for place, row in enumerate(rows))
    model = ["--model", "k-anonymity:k=3"]
    ways = (["--policy", tmp_path / "policy.toml"], [*ROLES, *model, *CHANGES], [*ROLES, *model, "--recoding", kept])
    for way in ways:
        # Without pseudonyms people are counted on the original.
        assert run("verify", out, *way, "--original", visits).code == 0
        ran = run("verify", raw, *way, "--original", visits, "--json")
        assert ran.code == 4
        verdicts = json.loads(ran.out)["certificate"]["verdicts"]
        assert [each["model"] for each in verdicts if not each["holds"]] == [
            "transformed-as-declared",
            "matches-original",  # the raw cells stand in other rows
        ]
        told = " ".join(json.loads(ran.out)["warnings"])
        assert f"column {name!r} was not transformed as declared" in told
        assert not any(row[name] in told for row in before if len(row[name]) > 2)


def test_every_command_knows_by_flags_what_it_knows_by_a_policy(run, visits, tmp_path):
    """Transformations and pseudonyms of the release make no difference between flags and a policy."""
    out, page = tmp_path / "by-policy.csv", tmp_path / "page.html"
    (tmp_path / "policy.toml").write_text(POLICY)
    assert run("anonymize", tmp_path / "policy.toml").code == 0
    flags = [*ROLES, *CHANGES, "--pseudonym", "patient=random"]
    policy, model = ["--policy", tmp_path / "policy.toml"], ["--model", "k-anonymity:k=3"]
    for original in (["--original", visits], []):
        told = [run("assess", out, *way, *original, "--json") for way in (flags, policy)]
        assert [each.code for each in told] == [0, 0], told[0].err
        assert told[0].out == told[1].out
        assert "drop it" not in told[0].err + told[0].out
        ran = run("report", out, *flags, *model, *original, "--seconds", "0.1", "-o", page, "--overwrite", "--json")
        assert ran.code == 0, ran.err
        document = json.loads(ran.out)
        verdicts = {each["model"]: each["holds"] for each in document["documents"]["certificate"]["verdicts"]}
        assert verdicts == dict.fromkeys(["k-anonymity:k=3", "class-sets-shared", "transformed-as-declared"], True) | (
            {"matches-original": True} if original else {}
        )
        assert document["documents"]["certificate"]["people"]["published"] == 12
        assert "rounded to 100, at most 500" in page.read_text()
    for command in ("measure", "distributions"):
        pseudonym = [] if command == "measure" else ["--pseudonym", "patient=random"]
        given = [each for each in flags if each not in pseudonym]
        ran = run(command, out, *given, "--original", visits)
        assert ran.code == 0, (command, ran.err)
        assert "drop it" not in ran.err
    raw = out.read_text().replace("I**", "I10")
    (tmp_path / "raw.csv").write_text(raw)
    ran = run("report", tmp_path / "raw.csv", *policy, "--seconds", "0.1", "-o", page, "--overwrite")
    assert ran.code == 4, ran.err


def test_a_policy_is_what_was_written(visits, tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    policy = read_policy(tmp_path / "policy.toml")
    assert policy.located_pseudonyms["patient"].key == tmp_path / "study.key"
    assert tmp_path / "study.key" in policy.files
    assert policy_from_toml(policy_to_toml(policy), base=tmp_path) == policy


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        (["--transform", "icd=round:10"], 1, "column 'icd' holds text, which cannot be rounded"),
        (["--transform", "cots=round:10"], 1, "did you mean 'cost'?"),
        (["--transform", "age=round:10"], 1, "quasi-identifier"),
        (["--transform", "cost=round:-10"], 2, "above 0"),
        (["--transform", "cost=shout:10"], 2, "there is no transformation 'shout'"),
        (["--transform", "cost"], 2, "COLUMN=SPEC"),
        (["--transform", "icd=level:9", "--hierarchy", "icd=mask:right"], 1, "there is no level 9"),
        (["--transform", "icd=level:1"], 1, "it has none"),
        (["--pseudonym", "patient=sha256"], 2, "a pseudonym needs a key"),
        (["--pseudonym", "patient=key:nowhere.key"], 1, "cannot read the key"),
        (["--pseudonym", "age=random"], 1, "replace identifiers"),
        (["--pseudonym", "patient=random", "--pseudonym", "patient=random"], 2, "given twice"),
    ],
)
def test_bad_input(run, visits, tmp_path, given, code, told):
    ran = run("anonymize", visits, *ROLES, *MODEL, *given, "-o", tmp_path / "out.csv")
    assert ran.code == code, ran.err
    assert told in ran.err
    assert "hint:" in ran.err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('cost = { role = "insensitive", round = "much" }', "[columns] cost round: expected a number"),
        (
            'cost = { role = "insensitive", round = 10, clear = true }',
            "[columns] cost: a column is transformed in one way",
        ),
        ('age = { role = "quasi", round = 10 }', "[columns] age: column 'age' is a quasi-identifier"),
        ('icd = { role = "sensitive", level = 2 }', "[columns] icd: `level` is one of a hierarchy"),
        ('patient = { role = "person", pseudonym = "md5" }', "[columns] patient: a pseudonym needs a key"),
        ('patient = { role = "person", pseudonym = { salt = "x" } }', "[columns] patient: unknown key 'salt'"),
        ('cost = { role = "insensitive", pseudonym = "random" }', "[columns] cost: pseudonyms replace"),
    ],
)
def test_bad_policies(run, visits, tmp_path, line, told):
    name = line.partition(" ")[0]
    lines = [line if each.split(" ")[0] == name else each for each in POLICY.splitlines()]
    (tmp_path / "policy.toml").write_text("\n".join(lines))
    ran = run("anonymize", tmp_path / "policy.toml")
    assert ran.code == 1
    assert told in ran.err


def test_a_key_that_others_may_read_and_a_release_over_it(run, visits, tmp_path):
    key = tmp_path / "study.key"
    keyed = ["--pseudonym", f"patient=key:{key}"]
    ran = run("anonymize", visits, *ROLES, *MODEL, *keyed, "-o", key.with_suffix(".csv"))
    assert ran.code == 0, ran.err
    key.chmod(0o644)
    ran = run("anonymize", visits, *ROLES, *MODEL, *keyed, "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "others than its owner" in ran.err
    same = tmp_path / "key.csv"
    same.write_text(KEY)
    same.chmod(0o600)
    ran = run("anonymize", visits, *ROLES, *MODEL, "--pseudonym", f"patient=key:{same}", "-o", same, "--overwrite")
    assert ran.code != 0
    assert same.read_text() == KEY


def test_pseudonyms_beside_earlier_releases(run, visits, tmp_path):
    kept, keyed = tmp_path / "recoding.json", ["--pseudonym", f"patient=key:{tmp_path / 'study.key'}"]
    assert run("anonymize", visits, *ROLES, *MODEL, *keyed, "-o", tmp_path / "a.csv", "--save-recoding", kept).code == 0
    earlier = ["--previous", kept, "--previous-input", visits]
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join(line for line in visits.read_text().splitlines() if ",p11," not in line) + "\n")
    same = run("apply", kept, visits, "-o", tmp_path / "b.csv", *keyed, *earlier)
    assert same.code == 0, same.err
    ran = run("apply", kept, fewer, "-o", tmp_path / "c.csv", *keyed, *earlier)
    assert ran.code == 4
    assert "together with the earlier release 1 person shares their history of classes" in ran.err
