"""The support matrix is true: every algorithm × every model, tried on a small table with and without suppression."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from indistinct.documentation import support, variants
from indistinct.errors import InfeasibleError, ParameterError, VerificationError
from indistinct.models import KAnonymity, ModelTraits
from indistinct.registry import ALGORITHMS, MODELS, parse_model
from indistinct.spelling import spell
from indistinct.testing.checks import MODEL_EXAMPLES, examples, publish_case

VARIANTS = [spell(one) for kind in ALGORITHMS.values() for one in variants(kind)]


@dataclass(frozen=True, slots=True)
class Fickle(KAnonymity):
    """A model that may break when classes are united, as far as a search knows."""

    traits: ClassVar[ModelTraits] = ModelTraits(monotone=False)


def trial(form, model, *, suppression):
    """Return what the algorithm did: "yes", "no" for a refusal, or "not satisfied" where only verification refused."""
    form = form.replace("slicing", "slicing:l=2,columns=each").replace("each:", "each,")
    tables = examples(form, model)
    case = replace(tables.get("ordered", tables["one"]), suppression=suppression)
    try:
        publish_case(case)
    except ParameterError as error:
        return "no" if "cannot search for" in error.message else error.message
    except (InfeasibleError, VerificationError):
        return "not satisfied"
    return "yes"


@pytest.mark.parametrize("name", [*MODELS, "fickle"])
@pytest.mark.parametrize("form", VARIANTS)
def test_an_algorithm_searches_for_a_model_where_the_matrix_says_so(form, name):
    published = name == "xy-anonymity"  # its other examples look at an identifier, which buckets do not publish
    model = Fickle(2) if name == "fickle" else parse_model(MODEL_EXAMPLES[name][-1 if published else 0])
    kind = next(one for kind in ALGORITHMS.values() for one in variants(kind) if spell(one) == form)
    expected = {
        "yes": ({"yes"}, {"yes"}),
        "without suppression": ({"yes"}, {"no"}),
        "no": ({"no"}, {"no"}),
        "verified": ({"yes", "not satisfied"}, {"yes", "not satisfied"}),
    }[support(kind, model)]
    for suppression, outcomes in zip((0, 0.2), expected, strict=True):
        assert trial(form, model, suppression=suppression) in outcomes


def test_the_matrix_has_every_answer():
    answers = {
        support(one, model)
        for kind in ALGORITHMS.values()
        for one in variants(kind)
        for model in (Fickle(2), *(parse_model(MODEL_EXAMPLES[name][0]) for name in MODELS))
    }
    assert answers == {"yes", "without suppression", "no", "verified"}
