"""Forms of regulators: figures equal the report's, people's fields are marked, and nothing else gets in."""

import hashlib
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import docx
import pytest

import indistinct as ind
from indistinct.errors import ParameterError, PolicyError
from indistinct.evaluation.attack.registry import ATTACKS
from indistinct.figures import percent
from indistinct.job.policy.reading import policy_from_toml
from indistinct.job.policy.writing import policy_to_toml
from indistinct.reporting.forms.form import FORMS, FilledField, FilledTable, read_form
from indistinct.samples import generate_patients

SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["admitted", "cost"]
)


@cache
def report(edition: str) -> ind.Report:
    patients = generate_patients(400, seed=3)
    release = ind.anonymize(patients, SCHEMA, model=ind.KAnonymity(k=5), algorithm="mondrian", seed=1)
    return ind.report(release, original=patients, edition=edition, seconds=0.5, seed=1)


def at(documents: Any, path: list[str]) -> Any:
    for key in path:
        documents = documents[int(key)] if isinstance(documents, list | tuple) else documents[key]
    return documents


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("edition", ["internal", "external"])
def test_every_figure_is_that_of_the_report(name: str, edition: str) -> None:
    filled = ind.fill_form(report(edition), name)
    own = (["version"], ["policy"])  # of the program and of the file, not of the report
    figures = [each for each in filled.to_json()["figures"] if each["path"] not in own]
    assert figures
    for each in figures:
        assert at(report(edition).content.documents, each["path"]) == each["value"]


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_complete_and_honest(name: str) -> None:
    form = read_form(name)
    assert form.sources
    assert all(source.read.startswith(("summary only", "read whole")) for source in form.sources)
    filled = ind.fill_form(report("internal"), name)
    assert filled.open_fields == len(filled.to_json()["to_write"]) + sum(
        part.open_cells for section in filled.sections for part in section.parts if not isinstance(part, FilledField)
    )
    for section in filled.sections:
        for part in section.parts:
            if isinstance(part, FilledField) and part.text is None:
                assert part.help, part.label


@pytest.mark.parametrize("suffix", [".docx", ".html"])
def test_files_hold_no_value_of_the_original_that_was_not_published(tmp_path: Path, suffix: str) -> None:
    path = ind.fill_form(report("external"), "gdpr").write(tmp_path / f"form{suffix}")
    if suffix == ".docx":
        with zipfile.ZipFile(path) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
            core = archive.read("docProps/core.xml").decode()
        assert "python-docx" not in core
    else:
        content = path.read_bytes()
    patients = generate_patients(400, seed=3)
    text = re.sub(rb"<[^>]*>", b" ", content)  # attributes of a document have sizes that look like codes
    hidden = [*patients["name"].to_pylist(), *map(str, patients["zipcode"].drop_null().to_pylist())]
    hidden += [str(cost) for cost in patients["cost"].drop_null().to_pylist()]
    assert not [value for value in hidden if value.encode() in text]
    assert not [name for name in patients["name"].to_pylist() if name.encode() in content]


def parts_of(filled: ind.FilledForm) -> list[FilledField | FilledTable]:
    return [part for section in filled.sections for part in section.parts]


@pytest.mark.parametrize("name", FORMS)
def test_every_table_has_the_figures_of_the_report(name: str) -> None:
    documents = report("internal").content.documents
    outcomes = {each["attack"]: each for each in documents["attack"]["outcomes"]}
    for part in parts_of(ind.fill_form(report("internal"), name)):
        if not isinstance(part, FilledTable):
            continue
        if part.headings[0] == "attack":
            for attack, success, baseline, _, risk, _ in part.rows:
                if attack in outcomes:
                    told = outcomes[attack]
                    assert success == f"{told['successes']:,} of {told['attempts']:,}"
                    assert (baseline, risk) == (percent(told["baseline"]), percent(told["risk"]))
                else:
                    assert success.startswith("not run: ")
        if part.headings[0] == "unmodified columns":
            assert [row[1] for row in part.rows] == [
                f"{each['alone']:,}" for each in documents["assess"]["published_columns"]["sets"]
            ]
        if part.headings[0] == "figure":
            assert [row[1] for row in part.rows] == [
                percent(documents["assess"]["prosecutor"][kind]) for kind in ("highest", "average")
            ]


@pytest.mark.parametrize("name", ["gdpr", "ontario"])
def test_every_attack_belongs_to_one_kind_of_disclosure(name: str) -> None:
    named = [attack for section in read_form(name).sections for each in section.fields for attack in each.only]
    assert sorted(named) == sorted(ATTACKS)


def test_the_policy_is_known_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    digest = hashlib.sha256(POLICY.encode()).hexdigest()
    shown = [part for part in parts_of(ind.fill_form(report("internal"), "hipaa", policy=path)) if part.label]
    assert [part.text for part in shown if part.label == "SHA-256 of the policy"] == [digest]  # type: ignore[union-attr]


def test_tables_of_a_document_fit_its_page_and_repeat_their_headings(tmp_path: Path) -> None:
    path = ind.fill_form(report("internal"), "hipaa").write(tmp_path / "form.docx")
    document = docx.Document(str(path))
    section = document.sections[0]
    space = section.page_width - section.left_margin - section.right_margin
    for table in document.tables:
        assert sum(column.width for column in table.columns) <= space * 1.02
        assert "w:tblHeader" in table.rows[0]._tr.xml
        assert all("w:cantSplit" in row._tr.xml for row in table.rows)


def test_no_product_without_a_number_and_its_source() -> None:
    def product(context: ind.Context) -> FilledField:
        filled = ind.fill_form(report("internal"), "hipaa", context=context)
        parts = [part for section in filled.sections for part in section.parts]
        return next(part for part in parts if isinstance(part, FilledField) and "attempt" in part.label)

    assert product(ind.Context()).text is None
    assert product(ind.Context(release_model="public")).text is not None
    stated = ind.Context(release_model="controlled", attempt_probability=0.5, attempt_source="a study")
    assert "a study" in (product(stated).text or "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"release_model": "secret"},
        {"release_model": "public", "contract": True},
        {"release_model": "public", "attempt_probability": 0.5},
        {"attempt_probability": 0.5},
        {"attempt_source": "a study"},
        {"attempt_probability": 2.0, "attempt_source": "a study"},
        {"grades": {"age": ("low",)}},
    ],
)
def test_contradictions_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        ind.Context(**wrong)


POLICY = """
[input]
path = "patients.csv"
[columns]
name = "identifier"
age = { role = "quasi" }
[privacy]
models = ["k-anonymity:k=5"]
[analysis]
formulas = ["cost ~ age"]
rules = { age = "midpoint" }
[context]
release_model = "public"
purpose = "teaching"
review = 2027-01-31
grades = { age = ["high", "low", "low"] }
"""


def test_policies_keep_context_and_analyses() -> None:
    policy = policy_from_toml(POLICY, base=Path())
    assert policy.context.attempt == 1
    assert policy.context.review == "2027-01-31"
    assert policy.analysis.rules == {"age": "midpoint"}
    assert policy_from_toml(policy_to_toml(policy), base=Path()) == policy
    with pytest.raises(PolicyError, match="contract"):
        policy_from_toml(POLICY.replace('purpose = "teaching"', "contract = true"), base=Path())
    with pytest.raises(PolicyError, match="ag"):
        policy_from_toml(POLICY.replace("grades = { age", "grades = { ag"), base=Path())


def test_unknown_forms_and_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="gpdr"):
        ind.fill_form(report("internal"), "gpdr")
    with pytest.raises(ParameterError, match="docx"):
        ind.fill_form(report("internal"), "ico").write(tmp_path / "form.pdf")
