"""Top-down specialization: the worked example, cuts through hierarchies, siblings, scores and what it refuses."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.tds import Specialization, TopDownSpecialization
from indistinct.engines import count_source
from indistinct.errors import HierarchyError, InfeasibleError, ParameterError
from indistinct.frequencies.count import Request
from indistinct.models import KAnonymity
from indistinct.models.base import ModelTraits
from indistinct.recoding.columns import columns_of

JOBS = ind.Hierarchy.tree({"Any_Job": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Writer", "Dancer"]}})
AGES = ind.Hierarchy.intervals([5])
PATIENTS = [
    ("Engineer", "Male", 35, "Hepatitis"),
    ("Engineer", "Male", 38, "Hepatitis"),
    ("Lawyer", "Male", 38, "HIV"),
    ("Writer", "Female", 30, "Flu"),
    ("Writer", "Female", 30, "HIV"),
    ("Dancer", "Female", 30, "HIV"),
    ("Dancer", "Female", 30, "HIV"),
]
SCHEMA = ind.Schema(quasi=["job", "sex", "age"], sensitive=["disease"])
HIERARCHIES = {"job": JOBS, "age": AGES}


def patients():
    job, sex, age, disease = zip(*PATIENTS, strict=True)
    return pa.table({"job": job, "sex": sex, "age": age, "disease": disease})


def problem_of(table, schema, algorithm, *, model, hierarchies):
    keys = tuple(dict.fromkeys([*model.keys, *algorithm.keys]))
    counted = count_source(table, Request(schema.quasi, keys, hierarchies))
    return Problem(counted.frequencies, columns_of(counted.domains, hierarchies), model)


def jobs(*values, algorithm, k, labels=None):
    """Publish a column of jobs and return what each row shows."""
    table = pa.table({"job": values, "y": labels or ["n"] * len(values), "key": list(range(len(values)))})
    schema = ind.Schema(quasi=["job"], sensitive=["y"], insensitive=["key"])
    release = ind.anonymize(table, schema, model=KAnonymity(k), algorithm=algorithm, hierarchies={"job": JOBS})
    assert release.table.num_rows == len(values)
    return [row["job"] for row in sorted(release.table.to_pylist(), key=lambda row: row["key"])]


def first_scores(score):
    algorithm = TopDownSpecialization("disease", score=score)
    problem = problem_of(patients(), SCHEMA, algorithm, model=KAnonymity(2), hierarchies=HIERARCHIES)
    search = Specialization(FullDomain(problem), algorithm)
    return dict(zip([SCHEMA.quasi[c.column] for c in search.candidates], search.scores(), strict=True))


def test_the_first_choice_of_the_worked_example():
    """Verma 2013, table 1.3a: parting Any_Job gains 0.52164 bits, and anonymity falls from 7 to 3."""
    assert first_scores("ig")["job"] == pytest.approx(0.52164, abs=5e-6)
    assert first_scores("igpl")["job"] == pytest.approx(0.10433, abs=5e-6)
    assert first_scores("igpl-original")["job"] == pytest.approx(0.52164 / 4, abs=5e-6)
    assert first_scores("igpl")["sex"] == first_scores("igpl")["job"], "both columns part the same rows"


def test_the_release_of_the_worked_example():
    release = ind.anonymize(
        patients(), SCHEMA, model=KAnonymity(3), algorithm=TopDownSpecialization("disease"), hierarchies=HIERARCHIES
    )
    shown = {(row["job"], row["sex"], row["age"]) for row in release.table.to_pylist()}
    assert shown == {("Professional", "Male", "35-39"), ("Artist", "Female", "30")}
    assert release.recoding.levels is None
    assert release.counters["checks"] > 3


def test_one_branch_goes_further_down_than_another():
    shown = jobs("Engineer", "Lawyer", "Writer", "Writer", "Dancer", "Dancer", algorithm="tds", k=2)
    assert shown == ["Professional", "Professional", "Writer", "Writer", "Dancer", "Dancer"]


def test_siblings_let_one_child_leave_its_parent():
    values = ["Engineer", "Engineer", "Lawyer", "Writer", "Dancer", "Dancer"]
    assert jobs(*values, algorithm="tds", k=2) == ["Professional"] * 3 + ["Artist"] * 3
    assert jobs(*values, algorithm="tds:siblings=true", k=2) == ["Professional"] * 3 + ["Artist"] * 3
    parted = jobs(*values, "Lawyer", "Writer", algorithm="tds:siblings=true", k=2)
    assert parted == [*values, "Lawyer", "Writer"]


def test_the_parent_stands_for_the_children_that_did_not_leave():
    tree = ind.Hierarchy.tree({"*": ["a", "b", "c"]})
    table = pa.table({"q": ["a", "a", "b", "c"], "y": [0, 0, 1, 1]})
    schema = ind.Schema(quasi=["q"], sensitive=["y"])
    options = {"model": KAnonymity(2), "hierarchies": {"q": tree}}
    whole = ind.anonymize(table, schema, algorithm="tds:target=y", **options)
    assert set(whole.table["q"].to_pylist()) == {"*"}
    parted = ind.anonymize(table, schema, algorithm="tds:target=y,siblings=true", **options)
    assert sorted(parted.table["q"].to_pylist()) == ["*", "*", "a", "a"]


def test_the_label_decides_which_column_is_specialized():
    """Both columns split the rows in halves, and only one of them may be: the one that tells the label."""
    a, b = ["x", "x", "y", "y"] * 2, ["p", "q"] * 4
    schema = ind.Schema(quasi=["a", "b"], sensitive=["s"])
    for label, kept in ((a, "a"), (b, "b")):
        table = pa.table({"a": a, "b": b, "s": label})
        release = ind.anonymize(table, schema, model=KAnonymity(4), algorithm=TopDownSpecialization("s"))
        assert len(set(release.table[kept].to_pylist())) == 2
        assert set(release.table[{"a": "b", "b": "a"}[kept]].to_pylist()) == {"*"}


def test_anonymity_that_is_lost_counts_against_a_gain():
    """Column a tells the label a little better, but leaves a class of two; b leaves halves."""
    a = ["x"] * 2 + ["y"] * 10
    b = ["p"] * 6 + ["q"] * 6
    label = [1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    table = pa.table({"a": a, "b": b, "s": label})
    schema = ind.Schema(quasi=["a", "b"], sensitive=["s"])
    chosen = {}
    for score in ("ig", "igpl"):
        algorithm = TopDownSpecialization("s", score=score)
        problem = problem_of(table, schema, algorithm, model=KAnonymity(2), hierarchies={})
        search = Specialization(FullDomain(problem), algorithm)
        chosen[score] = search.scores()
    gain_a, gain_b = chosen["ig"]
    assert chosen["igpl"] == pytest.approx([gain_a / (12 - 2 + 1), gain_b / (12 - 6 + 1)])


def test_ties_go_to_the_first_column_then_to_the_coarser_node():
    table = pa.table({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"]})
    algorithm = TopDownSpecialization()
    schema = ind.Schema(quasi=["a", "b", "c"])
    problem = problem_of(table, schema, algorithm, model=KAnonymity(1), hierarchies={})
    search = Specialization(FullDomain(problem), algorithm)
    assert len(set(search.scores())) == 1
    assert [c.order for c in search.candidates] == sorted(c.order for c in search.candidates)


def test_a_node_with_one_child_in_the_data_goes_down_for_nothing():
    shown = jobs("Engineer", "Engineer", "Writer", "Writer", algorithm="tds", k=2)
    assert shown == ["Engineer", "Engineer", "Writer", "Writer"]


def test_rows_are_never_suppressed_whatever_the_budget():
    table = pa.table({"a": ["x"] * 5 + ["y"]})
    release = ind.anonymize(table, ind.Schema(quasi=["a"]), model=KAnonymity(2), algorithm="tds", suppression=0.5)
    assert release.table["a"].to_pylist() == ["*"] * 6


def test_a_stored_recoding_knows_new_combinations():
    table = pa.table({"a": ["x", "x", "y", "y"], "b": ["p", "p", "q", "q"]})
    release = ind.anonymize(table, ind.Schema(quasi=["a", "b"]), model=KAnonymity(2), algorithm="tds")
    other = pa.table({"a": ["x", "x"], "b": ["q", "q"]})
    assert ind.apply(release.recoding, other).table.to_pylist() == [{"a": "x", "b": "q"}] * 2


def test_refusals():
    with pytest.raises(ParameterError, match="`score`"):
        TopDownSpecialization(score="gain")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="not looked at"):
        TopDownSpecialization("s", score="distortion")
    options = {"model": KAnonymity(2), "hierarchies": HIERARCHIES}
    with pytest.raises(ParameterError, match="must not be a quasi-identifier"):
        ind.anonymize(patients(), SCHEMA, algorithm="tds:target=job", **options)
    with pytest.raises(InfeasibleError):
        ind.anonymize(patients(), SCHEMA, algorithm="tds", model=KAnonymity(8))
    split = ind.Hierarchy.from_rows([("x", "x"), ("y", "y")], rooted=False)
    with pytest.raises(HierarchyError):
        ind.anonymize(
            pa.table({"a": ["x", "y"]}),
            ind.Schema(quasi=["a"]),
            model=KAnonymity(2),
            algorithm="tds",
            hierarchies={"a": split},
        )


def test_a_model_that_is_not_monotone_is_refused():
    class Fickle(KAnonymity):
        traits = replace(KAnonymity.traits, monotone=False)

    assert isinstance(Fickle.traits, ModelTraits)
    algorithm = TopDownSpecialization()
    problem = problem_of(patients(), SCHEMA, algorithm, model=Fickle(2), hierarchies=HIERARCHIES)
    with pytest.raises(ParameterError, match="not monotone"):
        algorithm.search(problem)


def test_progress_stays_a_share():
    seen = []
    table = pa.table({"a": np.repeat(np.arange(20), 3), "b": np.tile(np.arange(6), 10)})
    ind.anonymize(
        table,
        ind.Schema(quasi=["a", "b"]),
        model=KAnonymity(3),
        algorithm="tds:siblings=true",
        hierarchies={"a": ind.Hierarchy.intervals([5, 10])},
        progress=seen.append,
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
