"""`name:key=value`: one parser for models, algorithms and metrics."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import ParameterError
from indistinct.metrics import METRICS, parse_metric
from indistinct.models import AlphaK, DistinctLDiversity, KAnonymity, TCloseness, XYAnonymity
from indistinct.models.registry import MODELS, parse_model
from indistinct.testing.checks import ALGORITHM_EXAMPLES, MODEL_EXAMPLES
from indistinct.testing.strategies import models
from indistinct.text_form import spell


@pytest.mark.parametrize("text", [text for some in MODEL_EXAMPLES.values() for text in some])
def test_models_survive(text):
    model = parse_model(text)
    assert parse_model(model.spec()) == model


@pytest.mark.parametrize("text", [text for some in ALGORITHM_EXAMPLES.values() for text in some])
def test_algorithms_survive(text):
    algorithm = parse_algorithm(text)
    assert parse_algorithm(spell(algorithm)) == algorithm


@settings(deadline=None)
@given(models())
def test_any_model_survives(model):
    assert parse_model(model.spec()) == model


@settings(deadline=None)
@given(st.text(min_size=1, max_size=6))
def test_any_column_name_survives(name):
    """A recoding carries its promise as text, so a promise about any column must be readable again."""
    for model in (
        DistinctLDiversity(name, l=2),
        XYAnonymity((name, "b"), k=2),
        DistinctLDiversity(name, l=2) & KAnonymity(2),
    ):
        assert parse_model(model.spec()) == model


def test_defaults_are_left_out():
    assert spell(Mondrian()) == "mondrian"
    assert spell(Mondrian(relaxed=True)) == "mondrian:relaxed=true"


def test_values_of_every_type():
    assert parse_model("alpha-k:sensitive=d,alpha=1/3,k=2,protected=a|b") == AlphaK("d", Fraction(1, 3), 2, ("a", "b"))
    assert parse_model("t-closeness: sensitive = d , t = 0.5") == TCloseness("d", 0.5)
    assert parse_model("xy-anonymity:y=a|b,k=3") == XYAnonymity(("a", "b"), 3)
    assert parse_algorithm("mondrian:relaxed=TRUE").relaxed is True


def test_and_joins_models():
    joined = parse_model("k-anonymity:k=5 & distinct-l-diversity:sensitive=d,l=2")
    assert joined.parts() == (KAnonymity(5), DistinctLDiversity("d", 2))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("k-anonimity:k=5", "did you mean 'k-anonymity'?"),
        ("k-anonymity", "for example k-anonymity:k=5"),
        ("k-anonymity:kk=5", "did you mean 'k'?"),
        ("k-anonymity:k", None),
        ("k-anonymity:k=5,k=6", None),
        ("k-anonymity:k=many", None),
        ("k-anonymity:k=2.5", None),
        ("t-closeness:sensitive=d,t=1/0", None),
        ("", None),
        ("k-anonymity:k=5 &", None),
    ],
)
def test_what_cannot_be_read_is_a_parameter_error(text, hint):
    with pytest.raises(ParameterError) as caught:
        parse_model(text)
    assert hint is None or caught.value.hint == hint


def test_yes_is_not_true():
    with pytest.raises(ParameterError, match="true or false"):
        parse_algorithm("mondrian:relaxed=yes")


def test_registered_names_are_kebab_case_and_their_own():
    for known in (MODELS, ALGORITHMS, METRICS):
        for name, kind in known.items():
            assert name == kind.name
            assert name == name.lower()
            assert "_" not in name
    assert parse_metric("gcp").name == "gcp"


def test_a_number_that_may_be_a_word_names_the_word():
    with pytest.raises(ParameterError) as refused:
        parse_algorithm("datafly:outliers=none")
    assert refused.value.parameter == "outliers"
    assert "must be k, or a number" in refused.value.message


@pytest.mark.parametrize("name", ["l-diversity:l=3", "diversity:l=3"])
def test_a_name_that_three_models_share_names_all_of_them(name):
    with pytest.raises(ParameterError) as caught:
        parse_model(name)
    assert caught.value.hint == (
        "there are three: distinct-l-diversity (the usual one), entropy-l-diversity, recursive-l-diversity; "
        "write distinct-l-diversity:l=3"
    )
