"""A report and a verification of a file whose columns were not transformed as it is declared."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ind

ROLES = ind.Schema(quasi=["age"], sensitive=["cost"], insensitive=["days"])
CHANGES = {"cost": ind.Transformation(round=100), "days": ind.Transformation(top=21)}


@pytest.fixture(scope="module")
def stays():
    rows = range(60)
    return pa.table(
        {
            "age": [30 + place % 4 for place in rows],
            "cost": [1000.5 + 37 * place for place in rows],
            "days": [1 + place % 30 for place in rows],
        }
    )


def released(stays, **changes):
    made = {**CHANGES, **changes}
    return ind.anonymize(
        stays,
        ROLES,
        model="k-anonymity:k=5",
        algorithm="mondrian",
        transformations={name: each for name, each in made.items() if each is not None},
    )


def written_policy(folder):
    policy = folder / "policy.toml"
    policy.write_text(
        '[input]\npath = "june.csv"\n[columns]\nage = "quasi"\ncost = { role = "sensitive", round = 100 }\n'
        'days = { role = "insensitive", top = 21 }\n[privacy]\nmodels = ["k-anonymity:k=5"]\n'
        '[algorithm]\nuse = "mondrian"\n[output]\npath = "june-release.csv"\n'
    )
    return policy


def spoiled(stays, tmp_path, **changes):
    """Return a file without a certificate: what somebody says was transformed, and was not."""
    path = tmp_path / "release.csv"
    released(stays, **changes).write(path)
    (tmp_path / "release.csv.certificate.json").unlink()
    return path


@pytest.mark.parametrize("column", ["cost", "days"])
def test_what_was_not_transformed_is_told_beside_the_original(stays, tmp_path, column):
    path = spoiled(stays, tmp_path, **{column: None})
    certificate = ind.verify(path, ROLES, "k-anonymity:k=5", original=stays, transformations=CHANGES)
    assert not certificate.holds
    assert [each.model for each in certificate.verdicts if not each.holds] == ["transformed-as-declared"]
    for edition in ("internal", "external"):
        report = ind.report(
            path,
            ROLES,
            model="k-anonymity:k=5",
            original=stays,
            transformations=CHANGES,
            edition=edition,
            seconds=0.2,
        )
        assert not report.holds
        done = {name: each["transformation"] for name, each in report.content.documents["columns"].items()}
        assert done[column].startswith("NOT transformed as declared (")
        other = next(name for name in CHANGES if name != column)
        assert done[other] == {"cost": "rounded to 100", "days": "at most 21"}[other]


def test_a_sensitive_column_that_a_model_looks_at_is_no_obstacle(stays, tmp_path):
    path = spoiled(stays, tmp_path, cost=None)
    model = "distinct-l-diversity:sensitive=cost,l=2"
    certificate = ind.verify(path, ROLES, model, original=stays, transformations=CHANGES)
    assert [each.holds for each in certificate.verdicts] == [True, False, True]
    assert certificate.verdicts[-1].model == "matches-original"


def test_the_flags_of_a_report_name_transformations(stays, tmp_path):
    report = ind.report(released(stays), seconds=0.2)
    (identity,) = (each for each in report.content.sections if each.anchor == "identity")
    made, judged = next(block.text for block in identity.blocks if hasattr(block, "text")).splitlines()
    for line in (made, judged):
        assert "--transform cost=round:100" in line
        assert "--transform days=top:21" in line


def test_the_original_of_another_release_is_refused_all_the_same(stays):
    other = stays.set_column(1, "cost", pa.array([5000.0 + place for place in range(60)]))
    with pytest.raises(ind.OriginalError, match="cost"):
        ind.report(released(stays), original=other, seconds=0.2)
    with pytest.raises(ind.OriginalError, match="transform") as refused:
        ind.report(released(stays).table, replace(ROLES), model="k-anonymity:k=5", original=stays, seconds=0.2)
    assert "--transform" in str(refused.value)


def test_a_recoding_that_was_applied_is_no_search_of_the_policy(stays, tmp_path):
    policy = written_policy(tmp_path)
    pyarrow.csv.write_csv(stays, tmp_path / "july.csv")
    applied = ind.apply(released(stays).recoding, tmp_path / "july.csv")
    applied.write(tmp_path / "july-release.csv")
    given = {"policy": policy, "original": tmp_path / "july.csv", "seconds": 0.2}
    for report in (
        ind.report(tmp_path / "july-release.csv", **given),
        ind.report(applied, path=tmp_path / "july-release.csv", **given),
    ):
        said = {each.anchor: [b.text for b in each.blocks if hasattr(b, "text")] for each in report.content.sections}
        assert said["identity"][0].splitlines() == [
            "indistinct apply RECODING july.csv -o july-release.csv",
            "indistinct report july-release.csv --policy policy.toml --original july.csv -o report.html",
        ]
        assert said["why"] == ["A stored recoding was applied: nothing was searched for this table."]


def test_the_command_that_makes_it_again_names_the_table_that_was_given(stays, tmp_path):
    policy = written_policy(tmp_path)
    for name, input_flag in (("june.csv", ""), ("other.csv", " --input other.csv")):
        pyarrow.csv.write_csv(stays, tmp_path / name)
        report = ind.report(released(stays), policy=policy, original=tmp_path / name, seconds=0.2)
        (identity,) = (each for each in report.content.sections if each.anchor == "identity")
        made, judged = next(block.text for block in identity.blocks if hasattr(block, "text")).splitlines()
        assert made == f"indistinct anonymize policy.toml{input_flag} -o release.parquet"
        assert f"--original {name} " in judged


def test_the_flags_of_a_report_name_pseudonyms(stays, tmp_path):
    table = stays.append_column("who", pa.array([f"p{place}" for place in range(60)]))
    schema = replace(ROLES, person=("who",))
    random = {"who": ind.Pseudonym(random=True)}
    path = tmp_path / "release.csv"
    made = ind.anonymize(
        table, schema, model="k-anonymity:k=5", algorithm="mondrian", transformations=CHANGES, pseudonyms=random
    )
    made.write(path)
    report = ind.report(path, schema, model="k-anonymity:k=5", transformations=CHANGES, pseudonyms=random, seconds=0.2)
    (identity,) = (each for each in report.content.sections if each.anchor == "identity")
    said = [block.text for block in identity.blocks if hasattr(block, "text")]
    assert all("--pseudonym who=random" in line for line in said[0].splitlines())
    assert said[1:] == ["Not known here: how much may be suppressed."]
