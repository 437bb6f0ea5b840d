"""What a report claims is so: who counted, what became of columns, whose original it is, and what is not known."""

import re
from dataclasses import replace
from html import unescape

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ind
from indistinct.reporting import facts
from indistinct.reporting.editions import EDITIONS
from indistinct.samples import generate_patients

PATIENTS = ind.Schema(identifiers=["name", "cost"], quasi=["age", "sex", "zipcode", "admitted"], sensitive=["disease"])


def text_of(report):
    """Return what a reader of a page reads, without pictures."""
    plain = re.sub("<style>.*?</style>|<svg.*?</svg>", " ", report.html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", plain)))


def section_of(report, anchor):
    """Return the texts of the blocks of a section that are sentences or code."""
    (section,) = (each for each in report.content.sections if each.anchor == anchor)
    return [block.text for block in section.blocks if hasattr(block, "text")]


def done_to(report):
    return {name: each["transformation"] for name, each in report.content.documents["columns"].items()}


@pytest.fixture(scope="module")
def people():
    """People whose sex nobody had to recode, and four of whom are suppressed."""
    usual = 200
    return pa.table(
        {
            "name": [f"n{place}" for place in range(usual + 4)],
            "age": [20 + place % 10 for place in range(usual)] + [91, 92, 93, 94],
            "sex": [("f", "m")[place // 10 % 2] for place in range(usual)] + ["f", "m", "f", "m"],
            "disease": [("flu", "cold", "gout")[place % 3] for place in range(usual)] + ["flu"] * 4,
        }
    )


ROLES = ind.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"])
AGES = {"age": ind.Hierarchy.intervals([5, 20]), "sex": ind.Hierarchy.suppression()}


@pytest.fixture(scope="module")
def written(people, tmp_path_factory):
    """Its release with suppressed rows, made by levels and by cuts, as files."""
    folder, found = tmp_path_factory.mktemp("claims"), {}
    for algorithm in ("optimal", "mondrian"):
        known = people if algorithm == "optimal" else people.slice(0, 200)
        release = ind.anonymize(
            known, ROLES, model="k-anonymity:k=15", algorithm=algorithm, hierarchies=AGES, suppression=0.05
        )
        found[algorithm] = (folder / f"{algorithm}.csv", release)
        release.write(found[algorithm][0])
        release.write_recoding(folder / f"{algorithm}.json")
    assert found["optimal"][1].certificate.suppressed_rows == 4
    assert found["optimal"][1].recoding.levels["sex"] == 0
    return found


# 1. An error of one part leaves the others.


@pytest.mark.parametrize("part", ["assess", "verify", "measure", "attack_all"])
def test_a_part_that_fails_says_so_and_ends_no_report(written, people, monkeypatch, part):
    def fails(*_args, **_kwargs):
        raise ind.InputError("the planted reason")

    monkeypatch.setattr(facts, part, fails)
    path, release = written["optimal"]
    subject = release if part == "measure" else path
    report = ind.report(subject, ROLES, model="k-anonymity:k=15", original=people, hierarchies=AGES, seconds=0.2)
    assert "the planted reason" in text_of(report)
    assert len(report.content.sections) == 16


def test_an_error_of_the_assessment_of_an_external_edition_ends_no_report(written, monkeypatch):
    from indistinct.reporting import editions

    def fails(*_args, **_kwargs):
        raise ind.InputError("the planted reason")

    monkeypatch.setattr(editions, "assess", fails)
    report = ind.report(written["optimal"][0], ROLES, model="k-anonymity:k=15", edition="external")
    assert "the planted reason" in text_of(report)


# 2. What was done to a column.


def test_an_untouched_column_is_not_called_generalized_where_rows_were_suppressed(written, people):
    path, release = written["optimal"]
    known = {"model": "k-anonymity:k=15", "hierarchies": AGES, "seconds": 0.2}
    assert done_to(ind.report(release, original=people, seconds=0.2))["sex"] == "unmodified (level 0)"
    by_file = done_to(ind.report(path, ROLES, original=people, **known))
    assert by_file["sex"] == "unmodified"
    assert by_file["age"] == "generalized (intervals)"
    by_recoding = done_to(ind.report(path, ROLES, recoding=path.with_suffix(".json"), **known))
    assert by_recoding["sex"] == "unmodified (level 0)"
    assert by_recoding["age"].startswith("level 1 of its hierarchy")


def test_what_nobody_can_know_is_not_claimed(written):
    path, _ = written["mondrian"]
    alone = done_to(ind.report(path, ROLES, model="k-anonymity:k=15", seconds=0.2))
    assert alone["sex"].endswith("is not known without the original")
    assert alone["disease"].endswith("is not known without the original")
    assert alone["name"] == "dropped"


def test_an_identifier_that_is_still_there_is_not_called_dropped(people):
    shown = people.select(["name", "sex", "disease"])
    report = ind.report(shown, replace(ROLES, quasi=("sex",)), model="k-anonymity:k=2")
    assert done_to(report)["name"] == "NOT dropped: the release shows it"


# 3. Who counted.


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    rows = pa.table(
        {
            "who": [f"p{place // 2}" for place in range(240)],
            "age": [30 + place // 2 % 3 for place in range(240)],
            "disease": [("flu", "cold", "gout", "pox")[place % 4] for place in range(240)],
        }
    )
    schema = ind.Schema(quasi=["age"], sensitive=["disease"], person=["who"])
    release = ind.anonymize(rows, schema, model="k-anonymity:k=5", algorithm="mondrian")
    path = tmp_path_factory.mktemp("visits") / "release.csv"
    release.write(path)
    return path, schema, rows


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_people_who_were_not_counted_here_are_not_said_to_be(visits, edition):
    path, schema, rows = visits
    alone = text_of(ind.report(path, schema, model="k-anonymity:k=5", edition=edition))
    claim = "The certificate of the file says that the privacy guarantee is satisfied; this report did not count it."
    assert claim in alone
    assert "counted on the published table" not in alone
    known = text_of(ind.report(path, schema, model="k-anonymity:k=5", edition=edition, original=rows, seconds=0.2))
    assert "The privacy guarantee is satisfied, counted in people, by what is published of their rows." in known
    assert "counted on the published table" not in known


# 4. The original of another release.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.slice(0, 100), "100"),
        (lambda table: table.drop_columns(["disease"]), "has no column 'disease'"),
        (
            lambda table: table.set_column(3, "disease", pa.array(["flu"] * table.num_rows)),
            "another release.*'disease'",
        ),
        (
            lambda table: table.set_column(1, "age", pa.array([50] * table.num_rows)),
            "does not contain|other values|cannot be read",
        ),
        (
            lambda table: table.set_column(2, "sex", pa.array(["f"] * table.num_rows)),
            "does not contain|other values|cannot be read",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["file", "release"])
def test_the_original_of_another_release_is_refused(written, people, change, message, kind):
    path, release = written["optimal"]
    other = change(people)
    given = {"original": other, "seconds": 0.2}
    given |= {} if kind == "release" else {"model": "k-anonymity:k=15", "hierarchies": AGES}
    with pytest.raises(ind.InputError, match=message):
        ind.report(release if kind == "release" else path, ROLES, **given)


def test_a_table_with_another_number_of_rows_is_refused(written, people):
    path, _ = written["mondrian"]
    with pytest.raises(ind.OriginalError, match=r"has 200 rows, as its certificate says; the table .* has 204"):
        ind.report(path, ROLES, model="k-anonymity:k=15", original=people, seconds=0.2)


def test_means_are_no_sign_of_another_original(people, tmp_path):
    release = ind.anonymize(people, ROLES, model="k-anonymity:k=15", algorithm="mondrian:numeric=mean")
    release.write(tmp_path / "release.csv")
    report = ind.report(tmp_path / "release.csv", ROLES, model="k-anonymity:k=15", original=people, seconds=0.2)
    assert "This could not be computed: column 'age' shows" in text_of(report)
    assert report.holds


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "slicing:l=2"])
def test_the_original_of_another_release_in_buckets_is_refused(people, algorithm, tmp_path):
    release = ind.anonymize(people, ROLES, algorithm=algorithm)
    release.write(tmp_path / "release.csv")
    other = people.set_column(1, "age", pa.array([19 + place % 10 for place in range(people.num_rows)]))
    for asked in (release, tmp_path / "release.csv"):
        with pytest.raises(ind.OriginalError):
            ind.report(asked, ROLES, algorithm=algorithm, original=other, seconds=0.2)


def test_a_transformed_column_is_compared_as_it_is_published(people):
    table = people.append_column("cost", pa.array([float(place) for place in range(people.num_rows)]))
    schema = replace(ROLES, insensitive=("cost",))
    changes = {"cost": ind.Transformation(round=50)}
    release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian", transformations=changes)
    report = ind.report(release, original=table, seconds=0.2)
    assert done_to(report)["cost"].startswith("rounded to ")
    assert {each["column"]: each["total_variation"] for each in report.content.documents["distributions"]["columns"]}[
        "cost"
    ] == 0


# 5 and 6. External editions of buckets.


@pytest.fixture(scope="module")
def in_buckets(tmp_path_factory):
    """A release by Anatomy and one by slicing, in files."""
    patients, folder = generate_patients(120, seed=3), tmp_path_factory.mktemp("buckets")
    for algorithm in ("anatomy", "slicing"):
        release = ind.anonymize(patients, PATIENTS, algorithm=f"{algorithm}:l=2")
        release.write(folder / f"{algorithm}.csv")
    return folder


def external(folder, algorithm):
    return ind.report(folder / f"{algorithm}.csv", PATIENTS, algorithm=f"{algorithm}:l=2", edition="external")


def test_the_external_edition_of_two_tables_has_the_digests_of_both(in_buckets):
    from indistinct.release.writing.staging import digest_of

    text = text_of(external(in_buckets, "anatomy"))
    assert digest_of(in_buckets / "anatomy.csv") in text
    assert digest_of(in_buckets / "anatomy.sensitive.csv") in text


@pytest.mark.parametrize("algorithm", ["anatomy", "slicing"])
def test_buckets_are_not_judged_as_classes(in_buckets, algorithm):
    report = external(in_buckets, algorithm)
    rules = {rule["rule"]: rule["status"] for rule in report.content.documents["assess"]["practice"]}
    assert rules["wp216-singling-out"] == "failed", "quasi-identifiers stand there as they are"
    sizes = [rule for rule in rules if rule.startswith(("ema", "health", "ontario", "cms"))]
    assert {rules[rule] for rule in sizes} == {"not checkable"}
    text = text_of(report)
    assert "Classes are buckets: figures count the rows that a person may be among" in text
    assert "Columns that were added or have no role" not in text


# 7. Why this solution.


def test_nothing_is_advised_that_was_done(written, people, tmp_path):
    path, release = written["optimal"]
    assert section_of(ind.report(release, original=people, seconds=0.2), "why") == [
        "The algorithm was named: optimal. No other was tried, so that there is no choice to explain."
    ]
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    policy = tmp_path / "ours.toml"
    text = POLICY.format(algorithm="auto", report='report = "own.html"')
    policy.write_text(text, encoding="utf-8")
    (said,) = section_of(ind.report(path, policy=policy), "why")
    assert said.endswith("known only to the run that made it: its report, own.html, tells it.")
    policy.write_text(POLICY.format(algorithm="optimal", report=""), encoding="utf-8")
    (said,) = section_of(ind.report(path, policy=policy), "why")
    assert said.startswith("The policy names the algorithm: optimal.")


# 8. To make it again, and what readers can do.

POLICY = """
[input]
path = "people.csv"
[columns]
name = "identifier"
age = {{ role = "quasi", hierarchy = {{ intervals = [5, 20] }} }}
sex = "quasi"
disease = "sensitive"
[privacy]
models = ["k-anonymity:k=15"]
suppression = 0.05
[algorithm]
use = "{algorithm}"
[output]
path = "release.csv"
{report}
"""


def test_a_policy_is_called_by_its_own_name(written, tmp_path):
    policy = tmp_path / "of our own.toml"
    policy.write_text(POLICY.format(algorithm="optimal", report=""), encoding="utf-8")
    command = section_of(ind.report(written["optimal"][0], policy=policy), "identity")[0]
    assert command.splitlines() == [
        "indistinct anonymize 'of our own.toml' -o optimal.csv",
        "indistinct report optimal.csv --policy 'of our own.toml' --original people.csv -o report.html",
    ]


def test_without_a_policy_the_flags_are_told(written, people, tmp_path, monkeypatch, capsys):
    from indistinct import cli

    path, release = written["optimal"]
    command = section_of(ind.report(release, seconds=0.2, path=path), "identity")[0]
    made, judged = command.splitlines()
    assert made == (
        "indistinct anonymize ORIGINAL --quasi age,sex --sensitive disease --identifier name "
        "--hierarchy age=intervals:5,20 --hierarchy sex=suppression --model k-anonymity:k=15 --algorithm optimal "
        "--suppression 0.05 -o optimal.csv"
    )
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(people, tmp_path / "ORIGINAL")
    (tmp_path / "ORIGINAL").rename(tmp_path / "people.csv")
    for line in (made, judged):
        assert cli.main(line.replace("ORIGINAL", "people.csv").split()[1:]) == 0, capsys.readouterr().err
    assert (tmp_path / "optimal.csv").stat().st_size == path.stat().st_size


@pytest.mark.parametrize("known", [True, False])
def test_readers_are_told_nothing_twice_and_nothing_that_they_cannot_do(written, people, known):
    path, _ = written["optimal"]
    given = {"original": people, "seconds": 0.2} if known else {}
    report = ind.report(path, ROLES, model="k-anonymity:k=15", hierarchies=AGES, edition="external", **given)
    text = text_of(report)
    assert not re.search(r"--\w|original=|population=|\[about\]|workload", text)
    for section in report.content.sections:
        said = [block.text for block in section.blocks if hasattr(block, "text")]
        assert len(said) == len(set(said)), section.title


# Siblings that a look at the pages found.


def test_values_before_are_those_of_the_original_as_it_was(people):
    table = people.append_column("cost", pa.array([float(place) for place in range(people.num_rows)]))
    schema = replace(ROLES, insensitive=("cost",))
    changes = {"cost": ind.Transformation(round=50)}
    release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian", transformations=changes)
    shown = ind.report(release, original=table, seconds=0.2).content.documents["columns"]["cost"]
    assert (shown["before"], shown["after"]) == (204, 5)


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_a_declared_pseudonym_is_no_identifier_that_was_left(people, edition, tmp_path):
    given = {"pseudonyms": {"name": ind.Pseudonym(random=True)}}
    release = ind.anonymize(people, ROLES, model="k-anonymity:k=2", algorithm="mondrian", **given)
    release.write(tmp_path / "release.csv")
    for asked in (release, tmp_path / "release.csv"):
        report = ind.report(asked, ROLES, model="k-anonymity:k=2", original=people, edition=edition, seconds=0.2)
        text = text_of(report)
        assert done_to(report)["name"] == "replaced by pseudonyms (random)"
        assert "drop it" not in text
        assert "no role" not in text


def test_attacks_that_had_no_time_are_not_said_to_have_failed(people, written):
    path, _ = written["optimal"]
    known = {"model": "k-anonymity:k=15", "hierarchies": AGES, "original": people, "seconds": 1e-9}
    for edition in ("internal", "external"):
        report = ind.report(path, ROLES, edition=edition, **known)
        said = section_of(report, "attacks")
        assert said[0] == "No attack was through in time."
        assert re.search(r"not checked: \d+ attacks were not through in time", text_of(report))
        assert "no attack was tried" not in text_of(report)
        assert not any("chance" in each for each in said)


def test_a_caption_is_as_wide_as_the_screen(written):
    html = ind.report(written["optimal"][1], seconds=0.2).html
    assert "caption span { display: block; max-width: calc(100vw" in html
    assert html.count("<caption><span>") == html.count("<caption>")


def test_on_paper_no_heading_of_a_table_stands_without_its_rows(written):
    style = (
        ind.report(written["optimal"][1], seconds=0.2)
        .html.split("<style>")[1]
        .split("</style>")[0]
        .split("@media print")[1]
    )
    rules = [rule.strip() for rule in style.split("}")]
    assert any("thead" in rule and "break-after: avoid" in rule for rule in rules)
    assert any(rule.startswith("tbody > tr:nth-child(-n + 3)") and "break-after: avoid" in rule for rule in rules)
    assert any(rule.startswith(".wide:not(:has(") and "break-inside: avoid" in rule for rule in rules)


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_no_edition_gives_the_all_clear_beside_a_column_that_points_at_everybody(edition):
    table = pa.table(
        {
            "age": ["30"] * 20 + ["40"] * 20,
            "disease": ["flu", "cold"] * 20,
            "cost": [10.5 * place for place in range(40)],
        }
    )
    schema = ind.Schema(quasi=["age"], sensitive=["disease"], insensitive=["cost"])
    release = ind.anonymize(table, schema, model="k-anonymity:k=12", algorithm="mondrian")
    found = ind.report(release, edition=edition)
    rules = {rule["rule"]: rule["status"] for rule in found.content.documents["assess"]["practice"]}
    assert rules["wp216-singling-out"] == "failed"
    told = found.content.documents["verdict"]
    assert told["tone"] == "warning"
    assert "40 of 40 rows (100 %) are unique on the unmodified column 'cost'" in text_of(found)
    assert "not checked: no attack was tried" in text_of(found)
    (summary,) = (each for each in found.content.sections if each.anchor == "summary")
    assert "good" not in {getattr(block, "tone", None) for block in summary.blocks}
    sound = ind.anonymize(table.drop_columns(["cost"]), replace(schema, insensitive=()), model="k-anonymity:k=12")
    (clear,) = (each for each in ind.report(sound, edition=edition).content.sections if each.anchor == "summary")
    assert "good" in {getattr(block, "tone", None) for block in clear.blocks}


def test_no_edition_is_told_better_of_a_release_than_those_who_answer_for_it():
    people = [f"p{number}" for number in range(6) for _ in range(4)]
    table = pa.table({"who": people, "age": ["30", "40"] * 12, "disease": ["flu", "cold", "cough"] * 8})
    schema = ind.Schema(person=["who"], quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(table, schema, model="k-anonymity:k=3", algorithm="optimal")
    known = {edition: ind.report(release, edition=edition, profile="public") for edition in ("internal", "external")}
    told = {edition: each.content.documents["verdict"] for edition, each in known.items()}
    assert told["internal"]["state"] == "failed"  # a class of six people has a risk of 1/6
    assert told["external"]["sentence"] == told["internal"]["sentence"] == "The release FAILS the profile public."
    assert told["external"]["tone"] == "bad"
    told = {edition: [(line["kind"], line["state"]) for line in each["lines"]] for edition, each in told.items()}
    assert told["external"] == told["internal"]
    # Figures of people are left out, not the line.
    assert "FAILED: the highest risk of an attacker is above 9 %, which the profile allows" in text_of(
        known["external"]
    )


def test_editions_say_the_same_of_a_promise_on_sets_of_columns():
    # A Latin square: every single value stands twice, and everybody is alone on all columns together.
    table = pa.table({"age": ["20", "20", "30", "30"], "sex": ["f", "m"] * 2, "zip": ["1", "2", "2", "1"]})
    schema = ind.Schema(quasi=["age", "sex", "zip"])
    release = ind.anonymize(table, schema, model="subset-anonymity:k=2,size=1", algorithm="optimal")
    told = [ind.report(release, edition=edition, seconds=0.2).content.documents["verdict"] for edition in EDITIONS]
    assert [each["tone"] for each in told] == ["warning"] * 2
    for each in told:
        assert any("no guarantee covers all quasi-identifiers together" in said for said in each["sentences"])
        assert not any("no protection" in said for said in each["sentences"])


@pytest.fixture(scope="module")
def plain_reports():
    """Both editions of a report on a release in which a sum is large and a share is small."""
    schema = ind.Schema(
        identifiers=["name"], quasi=["age", "sex", "admitted"], sensitive=["disease"], insensitive=["cost"]
    )
    table = generate_patients(400, seed=5).drop_columns(["zipcode"])
    release = ind.anonymize(
        table, schema, model="k-anonymity:k=5", transformations={"cost": ind.Transformation(round=500, top=20_000)}
    )
    return {edition: ind.report(release, edition=edition, profile="public", seconds=0.3) for edition in EDITIONS}


@pytest.mark.parametrize("edition", EDITIONS)
def test_figures_are_written_for_people(plain_reports, edition):
    said = text_of(plain_reports[edition])
    assert re.findall(r"\d(?:\.\d+)?e[+-]\d+", said) == []
    assert re.findall(r"\d\.\d{5,}", said) == []
    assert max(float(each.replace(",", "")) for each in re.findall(r"([\d.,]+) %", said)) <= 100  # no sum is a share


@pytest.mark.parametrize("edition", EDITIONS)
def test_what_only_experts_know_is_explained(plain_reports, edition):
    said = text_of(plain_reports[edition])
    assert "rounded to 500, at most 20,000" in said
    assert "An attacker who knows age, sex and admitted of a person is left with at least 5 rows." in said
    assert "The profile public allows at most: highest risk of an attacker: 9 %" in said
    for word in ("prosecutor", "marketer", "β", "δ", "quasi-identifier", "profile"):
        assert word in said


def test_readers_have_nothing_to_sign_and_are_sent_to_no_other_edition(plain_reports):
    assert "to be filled in" in plain_reports["internal"].html
    assert "to be filled in" not in plain_reports["external"].html
    assert "internal edition" not in plain_reports["external"].html.lower()
    assert plain_reports["external"].content.sections[0].anchor == "verdict"
