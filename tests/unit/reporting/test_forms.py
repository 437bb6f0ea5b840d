"""Forms of regulators: figures equal the report's, people's fields are marked, and nothing else gets in."""

import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import indistinct as ind
from indistinct.errors import ParameterError, PolicyError
from indistinct.job.policy.reading import policy_from_toml
from indistinct.job.policy.writing import policy_to_toml
from indistinct.reporting.forms.form import FORMS, FilledField, read_form
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
    figures = [each for each in filled.to_json()["figures"] if each["path"] != ["version"]]
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
    names = generate_patients(400, seed=3)["name"].to_pylist()
    assert not [name for name in names if name.encode() in content]


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
