"""The external edition in German: no sentence is missing, figures are the same, and names of a table stay."""

import json
import re

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ind
from indistinct.document.catalogue import read_catalogue
from indistinct.errors import ParameterError
from indistinct.evaluation.assess import regulators
from indistinct.evaluation.assess.profiles import LIMITS
from indistinct.evaluation.verdict_line import PROMISE, STATES, TRIES
from indistinct.inspection.patterns.registry import FREE_TEXT, PATTERNS
from indistinct.models.registry import MODELS, parse_model
from indistinct.models.words import promise_for_one, words_of
from indistinct.reporting.beginning import STATED
from indistinct.reporting.closing import GLOSSARY, HISTORY
from indistinct.reporting.risk import STANDARDS
from indistinct.samples import generate_patients
from indistinct.schema import Schema
from references.sentences import find_untranslated

GERMAN = read_catalogue("de")
KEYS = ["age", "sex", "zipcode"]
LEVELS = {"age": ind.Hierarchy.intervals([5, 10, 20]), "zipcode": ind.Hierarchy.masking()}
SPECS = {
    "k-map": "k-map:k=5",
    "population-uniqueness": "population-uniqueness:share=0.01,population_size=9000",
    "xy-anonymity": "xy-anonymity:y=disease,k=3",
    "subset-anonymity": "subset-anonymity:k=3,size=2",
    "delta-presence": "delta-presence:low=0.1,high=0.5",
    "l-diverse-links": "l-diverse-links:l=3,sensitive=disease",
}
PARAMETERS = {
    "k": "5", "alpha": "0.5", "l": "2", "c": "2", "t": "0.2", "beta": "2", "delta": "1", "threshold": "0.05",
    "share": "0.01", "sensitive": "disease",
}  # fmt: skip


@pytest.fixture(scope="module")
def patients():
    return generate_patients(600, seed=5)


def german(release, **more):
    return ind.report(release, edition="external", language="de", seconds=0.5, **more)


def published(table, *, model="k-anonymity:k=5", sensitive=("disease", "cost"), insensitive=(), **more):
    quasi = [name for name in (*KEYS, "admitted") if name not in insensitive]
    schema = ind.Schema(identifiers=["name"], quasi=quasi, sensitive=sensitive, insensitive=insensitive)
    return ind.anonymize(table, schema, model=model, **more)


def test_no_sentence_is_missing_of_a_release_that_fails_its_profile(patients):
    made = german(published(patients), original=patients, profile="public")
    assert made.untranslated == ()
    assert "NICHT" in made.html
    assert '<html lang="de">' in made.html


@pytest.mark.parametrize("profile", ["public", "licensed", "internal"])
def test_no_sentence_is_missing_with_columns_that_are_not_recoded(patients, profile):
    release = published(patients, insensitive=("admitted", "cost"), sensitive=("disease",))
    assert german(release, original=patients, profile=profile).untranslated == ()


def test_no_sentence_is_missing_with_suppressed_rows_and_without_the_original(patients):
    release = published(patients, suppression=0.05, hierarchies=LEVELS, algorithm="optimal", model="k-anonymity:k=12")
    assert german(release).untranslated == ()


@pytest.mark.parametrize("algorithm", ["anatomy:l=3", "slicing:l=3"])
def test_no_sentence_is_missing_of_a_release_in_buckets(patients, algorithm):
    schema = ind.Schema(identifiers=["name", "cost"], quasi=KEYS, sensitive=["disease"], insensitive=["admitted"])
    assert german(ind.anonymize(patients, schema, algorithm=algorithm), original=patients).untranslated == ()


def test_no_sentence_is_missing_where_people_have_several_rows():
    rows = [(f"p{n // 3}", 20 + n // 3 % 60, "fm"[n // 3 % 2], f"D{n * 7 % 9}") for n in range(600)]
    visits = pa.table(dict(zip(("patient", "age", "sex", "icd"), map(list, zip(*rows, strict=True)), strict=True)))
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["icd"], person=["patient"])
    release = ind.anonymize(visits, schema, model="k-anonymity:k=5")
    assert german(release, original=visits, profile="public").untranslated == ()


def test_no_sentence_is_missing_of_a_raw_table(patients):
    schema = ind.Schema(identifiers=["name"], quasi=KEYS, sensitive=["disease"], insensitive=["admitted", "cost"])
    assert german(patients, schema=schema, model="k-anonymity:k=2", profile="public").untranslated == ()
    assert german(patients, schema=schema).untranslated == ()


def test_figures_are_those_of_the_english_page(patients):
    release = published(patients)
    pages = [ind.report(release, edition="external", seconds=0.5, language=each).html for each in ("en", "de")]
    values = [re.findall(r'<data value="([^"]*)" data-of="([^"]*)"', page) for page in pages]
    assert values[0] == values[1]
    assert len(values[0]) > 20


def test_documents_and_content_stay_english(patients):
    made = german(published(patients))
    assert made.to_json()["sections"][0] == "Verdict"
    assert json.dumps(made.to_json()).count("Äquivalenzklasse") == 0


def test_what_the_publisher_stated_and_names_of_columns_stay(patients, tmp_path):
    table = patients.rename_columns(["class", "k", "rows", "sensitive", "yes", "loss", "cost"][: patients.num_columns])
    pa.csv.write_csv(table, tmp_path / "class.csv")
    roles = dict(zip(table.column_names, ["identifier", *["quasi"] * 4, "sensitive", "insensitive"], strict=False))
    columns = "\n".join(f'"{name}" = {{ role = "{role}", reason = "no" }}' for name, role in roles.items())
    (tmp_path / "job.toml").write_text(
        f'[about]\npurpose = "the value"\noperator = "yes"\nassumed = ["an attacker of ours"]\n'
        f'[input]\npath = "class.csv"\n[columns]\n{columns}\n[privacy]\nmodels = ["k-anonymity:k=5"]\n'
        '[output]\npath = "release.csv"\n'
    )
    release = ind.run(tmp_path / "job.toml")
    made = german(release, policy=tmp_path / "job.toml", original=table, path=tmp_path / "release.csv")
    assert made.untranslated == ()
    for own in ("the value", "an attacker of ours", ">rows<", ">k<", ">class<"):
        assert own in made.html


def test_the_internal_edition_is_refused(patients):
    with pytest.raises(ParameterError, match="internal edition of a report is in English alone"):
        ind.report(published(patients), language="de")
    with pytest.raises(ParameterError, match="`language` must be one of"):
        ind.report(published(patients), edition="external", language="fr")


# Tables of words are whole, also where no release above shows them.


def missing_of(*texts):
    return [text for text in texts if GERMAN.translate(text) is None]


def test_words_of_verdicts_limits_and_the_glossary_are_there():
    stated = [f"{key} ({words})" for key, words in STATED.items()]
    assert missing_of(*STATES.values(), *PROMISE.values(), *TRIES.values(), *LIMITS.values(), *stated) == []
    assert missing_of(*GLOSSARY, *GLOSSARY.values(), HISTORY) == []
    assert missing_of(*(cell for row in STANDARDS for cell in row)) == []


def test_sources_of_rules_and_meanings_of_patterns_are_there():
    sources = (
        regulators.EMA,
        regulators.HEALTH_CANADA,
        regulators.ONTARIO,
        regulators.CMS,
        regulators.SAFE_HARBOR,
        regulators.WP216,
    )
    assert missing_of(*sources, *regulators.NAMES) == []
    assert missing_of(FREE_TEXT, *(each.meaning for each in PATTERNS)) == []


@pytest.mark.parametrize("name", MODELS)
def test_what_each_model_guarantees_is_there(name):
    needed = re.findall(r"\w+", words_of(MODELS[name]).guarantee)
    fields = [each for each in MODELS[name].__dataclass_fields__ if each in PARAMETERS]
    spec = SPECS.get(name) or f"{name}:" + ",".join(f"{each}={PARAMETERS[each]}" for each in fields)
    for people in ([], ["patient"]):
        schema = Schema(quasi=KEYS, sensitive=["disease"], person=people)
        assert missing_of(promise_for_one(parse_model(spec), schema)) == [], needed


# No sentence of the external edition stands outside the catalogue, also where no release above shows it.

INTERNAL = {
    "reporting/beginning.py": {"_again", "_by_flags", "flags_of", "_algorithm_flags", "purpose", "columns"},
    "reporting/closing.py": {"_explain_no_choice"},
    "reporting/risk.py": {"membership", "_worst", "TUPLES"},
    "reporting/utility.py": {"_distributions", "_farthest", "_queries", "_subgroups", "SPREAD", "DISTANCES"},
    "evaluation/verdict_line.py": set(),
    "drawing/class_sizes.py": set(),
}
"""Modules that write the external edition, with what in them only the internal one shows."""


@pytest.mark.parametrize("module", INTERNAL)
def test_every_sentence_of_the_modules_that_write_it_is_in_the_catalogue(module):
    assert find_untranslated(module, GERMAN, INTERNAL[module]) == []
