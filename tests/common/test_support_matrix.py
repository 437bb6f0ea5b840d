"""The support matrix is true: every algorithm × every model, tried on a small table with and without suppression."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest
from tools.reference_pages import support, variants

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.engines import MEANINGS, every_engine
from indistinct.engines.base import BY_PART, EVERY_RECODING
from indistinct.engines.memory import Memory
from indistinct.errors import InfeasibleError, ParameterError, VerificationError
from indistinct.models import KAnonymity, ModelTraits
from indistinct.models.registry import MODELS, parse_model
from indistinct.tables import Reading
from indistinct.testing.checks import MODEL_EXAMPLES, examples, publish_case
from indistinct.text_form import spell
from references.engine_runs import ENGINES as COMPARED
from references.engine_runs import JOBS

ENGINE_JOBS = [parse_algorithm(algorithm) for algorithm, _, _ in JOBS]
# Engines that need a server or Java have a file of laws each.
LAWS, LAWS_OF_THEIR_OWN = Path(__file__).parent.parent / "integration", ("postgres", "spark")
VARIANTS = [spell(one) for kind in ALGORITHMS.values() for one in variants(kind)]


@dataclass(frozen=True, slots=True)
class Fickle(KAnonymity):
    """A model that may break when classes are united, as far as a search knows."""

    traits: ClassVar[ModelTraits] = ModelTraits(monotone=False)


def trial(form, model, *, suppression):
    """Return what the algorithm did: "yes", "no" for a refusal, or "not satisfied" where only verification refused."""
    form = form.replace("slicing", "slicing:l=2,columns=each").replace("each:", "each,")
    form = form.replace("search=optimal", "search=optimal,nodes=60")  # a proof takes long for some models
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


class Narrow(Memory):
    """An engine that publishes neither rows that part nor buckets."""

    supports = EVERY_RECODING - {"by-row", "by-bucket"}
    writes_by_workers = False


def narrow(table):
    return Narrow(name="narrow"), Memory().open(table, Reading())


def test_an_engine_that_cannot_publish_a_recoding_says_so_before_the_search(monkeypatch):
    table = pa.table({"age": [1, 1, 2, 2, 3, 3], "disease": ["a", "b"] * 3})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    monkeypatch.setattr("indistinct.job.running.using_source", lambda *_, **__: nullcontext(narrow(table)))
    monkeypatch.setattr("indistinct.job.running.run_search", lambda *_: pytest.fail("it searched"))
    for algorithm, told in [("anatomy:l=2", "buckets"), ("mondrian:relaxed=true", "rows with equal values")]:
        with pytest.raises(ParameterError, match=f"the engine narrow cannot publish {told}") as refused:
            ind.anonymize(
                table, schema, model=None if "anatomy" in algorithm else "k-anonymity:k=2", algorithm=algorithm
            )
        assert refused.value.hint.startswith("use the engine memory or duckdb")


def test_a_stored_recoding_that_an_engine_cannot_publish_is_refused(monkeypatch):
    table = pa.table({"age": [1, 1, 2, 2, 3, 3], "disease": ["a", "b"] * 3})
    release = ind.anonymize(table, ind.Schema(quasi=["age"], sensitive=["disease"]), algorithm="anatomy:l=2")
    monkeypatch.setattr("indistinct.job.running.using_source", lambda *_, **__: nullcontext(narrow(table)))
    with pytest.raises(ParameterError, match="the engine narrow cannot publish buckets"):
        ind.apply(release.recoding, table)


def test_what_engines_declare_is_tried_by_the_laws():
    """Every engine is among those that the laws compare, with a job for each kind of recoding."""
    assert set(every_engine()) - {"memory"} <= {*COMPARED, *LAWS_OF_THEIR_OWN}
    assert [name for name in LAWS_OF_THEIR_OWN if not (LAWS / f"test_{name}_laws.py").is_file()] == []
    assert (
        frozenset().union(*(job.traits.recodings for job in ENGINE_JOBS)) == set(MEANINGS) - {BY_PART} == EVERY_RECODING
    )
    for compared in COMPARED.values():
        assert compared.start().supports <= EVERY_RECODING | {BY_PART}  # which test_by_part.py tries
