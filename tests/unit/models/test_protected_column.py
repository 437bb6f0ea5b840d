"""Models of one sensitive column: where they name none, they protect the only one that the schema has."""

import inspect

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.job.policy.reading import read_policy
from indistinct.machine.arguments import required_fields
from indistinct.models.base import SensitiveModel
from indistinct.models.registry import MODELS, parse_model
from indistinct.release.promise import judging

WITHOUT = {
    "alpha-k": "alpha-k:alpha=0.5,k=2",
    "basic-beta-likeness": "basic-beta-likeness:beta=2.0",
    "delta-disclosure": "delta-disclosure:delta=1.0",
    "distinct-l-diversity": "distinct-l-diversity:l=2",
    "enhanced-beta-likeness": "enhanced-beta-likeness:beta=2.0",
    "entropy-l-diversity": "entropy-l-diversity:l=2.0",
    "recursive-l-diversity": "recursive-l-diversity:c=2.0,l=2",
    "t-closeness": "t-closeness:t=0.5",
}
ONE = ind.Schema(quasi=["age"], sensitive=["disease"], insensitive=["cost"])
TWO = ind.Schema(quasi=["age"], sensitive=["disease", "cost"])
NONE = ind.Schema(quasi=["age"], insensitive=["disease", "cost"])
TABLE = pa.table({"age": [1, 1, 2, 2] * 3, "disease": ["a", "b"] * 6, "cost": [3, 4] * 6})


def test_every_model_of_a_sensitive_column_is_tried_here():
    assert {name for name, kind in MODELS.items() if issubclass(kind, SensitiveModel)} == set(WITHOUT)


@pytest.mark.parametrize("spec", WITHOUT.values())
def test_the_only_sensitive_column_is_protected(spec):
    name, _, given = spec.partition(":")
    asked = parse_model(spec)
    assert asked.spec() == spec
    assert judging(asked, ONE).spec() == f"{name}:sensitive=disease,{given}"
    assert judging(f"k-anonymity:k=2 & {spec}", ONE).parts()[1].sensitive == "disease"
    named = parse_model(f"{name}:sensitive=cost,{given}")
    assert judging(named, TWO) == named


@pytest.mark.parametrize("spec", WITHOUT.values())
def test_several_or_no_sensitive_columns_are_an_error_with_a_hint(spec):
    name, _, given = spec.partition(":")
    with pytest.raises(ind.SchemaError, match="protects the only sensitive column, and the schema has 2") as two:
        judging(spec, TWO)
    assert two.value.hint == f"write {name}:sensitive=disease,{given}"
    with pytest.raises(ind.SchemaError, match="the schema has none"):
        judging(spec, NONE)


@pytest.mark.parametrize("spec", WITHOUT.values())
def test_classes_take_parameters_without_the_column(spec):
    kind, asked = type(parse_model(spec)), parse_model(spec)
    given = {name: getattr(asked, name) for name in required_fields(kind)}
    assert kind(**given) == asked == kind("", *given.values())
    for name in given:
        with pytest.raises(ind.ParameterError, match=f"{kind.__name__} needs {name}"):
            kind(**{key: value for key, value in given.items() if key != name})
    assert "<required>" in str(inspect.signature(kind))


def test_releases_policies_and_checks_name_the_column_that_they_protected(tmp_path):
    release = ind.anonymize(TABLE, ONE, model=ind.DistinctLDiversity(l=2))
    assert [each.model for each in release.certificate.verdicts] == ["distinct-l-diversity:sensitive=disease,l=2"]
    assert ind.verify(release.table, ONE, model="distinct-l-diversity:l=2").holds
    text = """
        [input]
        path = "a.csv"
        [columns]
        age = { role = "quasi" }
        disease = { role = "sensitive" }
        [privacy]
        models = ["k-anonymity:k=2", "t-closeness:t=0.5"]
    """
    (tmp_path / "policy.toml").write_text(text)
    policy = read_policy(tmp_path / "policy.toml")
    assert [each.spec() for each in policy.models] == ["k-anonymity:k=2", "t-closeness:sensitive=disease,t=0.5"]
