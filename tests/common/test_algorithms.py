"""Every algorithm × every model × every check, on small tables of every kind of column, and at the edges.

The plain form of an algorithm meets the examples that `models_for` chooses by what models declare, each form that
decides classes in another way one example of each of these models, but not of a model that another one extends; forms
that only spell the classes differently meet the models named in `FEW`. `test_support_matrix` tries all with all.
"""

import pytest

from indistinct.registry import ALGORITHMS, MODELS, parse_algorithm, parse_model
from indistinct.testing import check_algorithm
from indistinct.testing.checks import MODEL_EXAMPLES, forms_of, models_for

FORMS = [form for name in ALGORITHMS for form in forms_of(name)]
FEW = ["k-anonymity:k=3", "t-closeness:sensitive=disease,t=0.25,distance=hierarchical & k-anonymity:k=2"]
SPELLING_ONLY = ("numeric=", "extent=", "marking=", "variant=")

# form -> failure -> why. Strict: what passes again must leave this dictionary.
KNOWN_FAILURES = {"node": {"k_one at the edge": "without levels it is the top, which tells nothing apart"}}


def test_every_registered_model_and_algorithm_is_tried():
    assert set(MODEL_EXAMPLES) == set(MODELS)
    assert {form.partition(":")[0] for form in FORMS} == set(ALGORITHMS)
    assert set(FEW) <= {spec for specs in MODEL_EXAMPLES.values() for spec in specs}


@pytest.mark.parametrize("form", FORMS)
def test_algorithm(form):
    check_algorithm(form, models=models_of(form), known=KNOWN_FAILURES.get(form))


def models_of(form):
    """Return the models that a form is tried with; those of buckets are few anyway."""
    if form == forms_of(form.partition(":")[0])[0] or parse_algorithm(form).traits.buckets:
        return None
    if any(mark in form for mark in SPELLING_ONLY):
        return FEW
    extended = {base for kind in MODELS.values() for base in kind.__mro__[1:]}
    found = [specs[-1] for name, specs in MODEL_EXAMPLES.items() if MODELS[name] not in extended]
    return [spec for spec in found if spec in models_for(parse_algorithm(form)) and of_classes_alone(parse_model(spec))]


def of_classes_alone(model):
    """Return whether class sizes and histograms decide, and twice as many rows change nothing."""
    parts = model.parts()
    return not any(p.needs_population or p.row_counts is None or not p.traits.monotone for p in parts)
