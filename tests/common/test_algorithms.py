"""Every algorithm × every kind of model × every check, on small tables of every kind of column, and at the edges.

A search by cuts, one by levels and one by merging meet every example that `models_for` chooses by what models declare.
Others see of a model its traits, its keys and what it answers: they meet one example of every kind of model, forms of
mondrian, whose kernels judge each model in their own way, one of every model, and forms that only spell the classes
differently those named in `FEW`. `test_support_matrix` tries all with all, and `make laws` checks all with all.
"""

import os

import pytest

from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.models.registry import MODELS, parse_model
from indistinct.testing import check_algorithm
from indistinct.testing.checks import MODEL_EXAMPLES, forms_of, models_for
from indistinct.testing.conformance import ALGORITHMS as EVERY_EXAMPLE

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
    name, one_of_each = form.partition(":")[0], [specs[-1] for specs in MODEL_EXAMPLES.values()]
    if (
        parse_algorithm(form).traits.buckets
        or form in EVERY_EXAMPLE
        or os.environ.get("INDISTINCT_EXAMPLES") == "fresh"
    ):
        return None
    if any(mark in form for mark in SPELLING_ONLY):
        return FEW
    wanted = [*(one_of_each if name == "mondrian" else []), *one_of_each_kind()]
    usable = models_for(parse_algorithm(form))
    return [spec for spec in dict.fromkeys(wanted) if spec in usable]


def one_of_each_kind():
    """Return an example of every kind of model that a search can tell apart: traits, columns of its keys, parts."""
    models = {spec: parse_model(spec) for specs in MODEL_EXAMPLES.values() for spec in specs}
    kinds = {(m.traits, tuple(map(len, m.keys)), len(m.parts())): spec for spec, m in models.items()}
    return list(kinds.values())


def test_kinds_of_models_are_told_apart():
    assert len(one_of_each_kind()) >= 5
    assert {"k-anonymity:k=3", "xy-anonymity:y=name|disease,k=4", FEW[1]} <= set(one_of_each_kind())
