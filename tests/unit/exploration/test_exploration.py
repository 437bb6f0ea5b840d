"""The lattice as a value: what is said of a node is what its release is."""

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.registry import parse_algorithm
from indistinct.exploration.explore import minimal_of
from indistinct.metrics import METRICS, parse_metric
from indistinct.samples import generate_patients
from indistinct.text_form import spell

PATIENTS = generate_patients(400, seed=3).select(["age", "sex", "zipcode", "disease"])
SCHEMA = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"])
HIERARCHIES = {"age": ind.Hierarchy.intervals([10, 20]), "zipcode": ind.Hierarchy.masking(levels=2)}
HEIGHTS = (3, 1, 3)
MODELS = ("k-anonymity:k=4", "k-anonymity:k=2 & distinct-l-diversity:sensitive=disease,l=3")
REQUIRED = {"classification": "classification:target=disease", "workload-error": None}
METRIC_SPECS = [spec for name in METRICS if (spec := REQUIRED.get(name, name)) is not None]


def explored(model=MODELS[0], *, suppression=0.1, metrics=("loss", "discernibility"), **given):
    return ind.explore(
        PATIENTS, SCHEMA, model=model, hierarchies=HIERARCHIES, suppression=suppression, metrics=metrics, **given
    )


def released(node, model=MODELS[0], *, suppression=0.1):
    return ind.anonymize(
        PATIENTS,
        SCHEMA,
        model=model,
        algorithm=ind.ChosenNode(node),
        hierarchies=HIERARCHIES,
        suppression=suppression,
        target="disease",
    )


@pytest.mark.parametrize("model", MODELS)
def test_every_node_says_what_its_release_is(model):
    found = explored(model, metrics=METRIC_SPECS)
    assert found.satisfied.any()
    assert not found.satisfied.all()
    for row in found.nodes():
        if not row["satisfied"]:
            with pytest.raises(ind.InfeasibleError, match=rf"\b{row['suppressed_rows']} of 400 rows") as caught:
                released(row["node"], model)
            assert caught.value.details["suppressed_rows"] == row["suppressed_rows"] > 40
            continue
        release = released(row["node"], model)
        certificate, measured = release.certificate, ind.measure(release, [parse_metric(m) for m in METRIC_SPECS])
        assert certificate.suppressed_rows == row["suppressed_rows"] <= 40
        assert (certificate.classes, certificate.smallest_class) == (row["classes"], row["smallest_class"])
        assert row["risk"] == 1 / certificate.smallest_class
        assert release.recoding.levels == dict(zip(SCHEMA.quasi, row["node"], strict=True))
        assert {name: row[name] for name in measured} == pytest.approx(dict(measured), rel=1e-9)


def test_metrics_of_nodes_that_do_not_satisfy_are_those_of_a_larger_budget():
    tight, wide = explored(suppression=0.0), explored(suppression=0.99)
    assert tight.satisfied.sum() < wide.satisfied.sum()
    for name in ("loss", "discernibility"):
        assert (tight.metrics[name] == wide.metrics[name]).all()


@pytest.mark.parametrize("metric", ["loss", "precision", "discernibility"])
def test_the_best_node_is_what_the_optimal_search_finds(metric):
    best = explored(metrics=[metric]).best()
    release = ind.anonymize(
        PATIENTS,
        SCHEMA,
        model=MODELS[0],
        algorithm=ind.Optimal(metric=metric),
        hierarchies=HIERARCHIES,
        suppression=0.1,
    )
    assert ind.measure(release, [metric])[metric] == pytest.approx(best[metric])


@pytest.mark.parametrize("metric", ["loss", "precision"])
def test_the_front_is_what_nothing_dominates(metric):
    found = explored(metrics=["discernibility", metric])
    sign = -1 if METRICS[metric].goal == "max" else 1
    rows = [row for row in found.nodes() if row["satisfied"]]

    def dominated(row):
        mine = (sign * row[metric], row["risk"])
        others = ((sign * other[metric], other["risk"]) for other in rows)
        return any(one <= mine[0] and risk <= mine[1] and (one, risk) != mine for one, risk in others)

    wanted = {(row[metric], row["risk"]) for row in rows if not dominated(row)}
    front = found.pareto(metric)
    assert {(row[metric], row["risk"]) for row in front} == wanted
    assert len(front) == len(wanted) > 1
    assert [sign * row[metric] for row in front] == sorted(sign * row[metric] for row in front)
    assert found.pareto(metric)[0][metric] == found.best(metric)[metric]


def test_ranked_rows_begin_with_satisfied_ones():
    rows = explored().ranked("discernibility")
    satisfied = [row["satisfied"] for row in rows]
    assert satisfied == sorted(satisfied, reverse=True)
    values = [row["discernibility"] for row in rows if row["satisfied"]]
    assert values == sorted(values)
    assert len(rows) == len(explored())


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_minimal_nodes_have_no_satisfied_node_below(shape, dice):
    satisfied = np.array([dice.random() < 0.3 for _ in range(int(np.prod(shape)))]).reshape(shape)
    found = minimal_of(satisfied)
    for node in product(*map(range, shape)):
        below = [b for b in product(*(range(level + 1) for level in node)) if b != node]
        assert found[node] == (satisfied[node] and not any(satisfied[b] for b in below))


def test_a_value_that_does_not_change():
    found = explored()
    assert len(found) == 4 * 2 * 4
    assert (found.columns, found.heights) == (("age", "sex", "zipcode"), HEIGHTS)
    assert found.meanings[0][1:] == ("width 10 (10)", "width 20 (5)", "one value")
    for values in (found.levels, found.satisfied, found.minimal, found.metrics["loss"]):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0
    with pytest.raises(AttributeError):
        found.rows = 3
    assert found.node([1, 0, 2])["node"] == (1, 0, 2)
    with pytest.raises(ind.ParameterError, match="age 0 to 3, sex 0 to 1, zipcode 0 to 3"):
        found.node((4, 0, 0))


def test_json_holds_everything_and_no_value_of_the_table():
    found = explored(metrics=["average-class-size:k=4", "loss"], suppression=1.0)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert len(document["nodes"]) == len(found)
    assert document["best"] == list(found.best()["node"])
    assert document["pareto"] == [list(row["node"]) for row in found.pareto()]
    assert document["columns"][1] == {"name": "sex", "height": 1, "levels": ["as it is (3 values)", "one value"]}
    values = {str(value) for name in ("sex", "zipcode", "disease") for value in PATIENTS[name].to_pylist()}
    assert not {value for value in values if f'"{value}"' in json.dumps(document)}


def test_a_node_that_loses_every_row_is_not_satisfied_and_has_no_risk():
    found = ind.explore(
        pa.table({"a": [1, 2, 3, 4]}),
        ind.Schema(quasi=["a"]),
        model="k-anonymity:k=2",
        suppression=1.0,
        metrics=["loss"],
    )
    raw = found.node((0,))
    assert (raw["satisfied"], raw["suppressed_rows"], raw["classes"], raw["risk"]) == (False, 4, 0, 0.0)
    assert found.best()["node"] == (1,)


def test_no_satisfied_node_is_an_error_that_says_what_would_do():
    rows = ind.Hierarchy.from_rows([["a", "x"], ["b", "x"], ["c", "y"]], rooted=False)
    table = pa.table({"q": ["a", "a", "b", "c"]})
    found = ind.explore(table, ind.Schema(quasi=["q"]), model="k-anonymity:k=2", hierarchies={"q": rows})
    assert not found.satisfied.any()
    assert found.pareto() == []
    with pytest.raises(ind.InfeasibleError) as caught:
        found.best()
    assert caught.value.details["least_suppressed_rows"] == 1
    assert "suppresses 1 of 4 rows" in caught.value.hint
    assert found.to_json()["best"] is None
    assert found.to_svg()


def test_lattices_beyond_the_limit_are_refused():
    with pytest.raises(ind.ParameterError, match="32 nodes, more than the limit of 31") as caught:
        explored(limit=31)
    assert caught.value.hint
    many = pa.table({f"c{place}": [0, 1, 2, 3] for place in range(40)})
    with pytest.raises(ind.ParameterError, match="1,099,511,627,776 nodes"):
        ind.explore(many, ind.Schema(quasi=many.column_names), model="k-anonymity:k=2")


@pytest.mark.parametrize("metrics", [[], ["loss", "loss"]])
def test_metrics_are_named_once(metrics):
    with pytest.raises(ind.ParameterError, match="each once"):
        explored(metrics=metrics)


def test_a_metric_that_was_not_explored():
    with pytest.raises(ind.ParameterError, match="not explored") as caught:
        explored().best("los")
    assert "loss" in caught.value.hint


# A node chosen by hand.


def test_a_chosen_node_is_spelled_like_any_algorithm():
    node = ind.ChosenNode([1, 0, 2])
    assert spell(node) == "node:levels=1|0|2"
    assert parse_algorithm("node:levels=1|0|2") == node
    assert released((3, 0, 3)).certificate.algorithm == "node:levels=3|0|3"


def test_without_levels_the_top_is_taken():
    release = released(())
    assert tuple(release.recoding.levels.values()) == HEIGHTS
    assert release.certificate.classes == 1


@pytest.mark.parametrize("levels", [(1, 0), (1, 0, 9), (1, 0, 2, 0)])
def test_a_node_outside_the_lattice_names_the_heights(levels):
    with pytest.raises(ind.ParameterError, match="age 0 to 3, sex 0 to 1, zipcode 0 to 3"):
        released(levels)


@pytest.mark.parametrize("levels", [(-1, 0), (True, 0), (1.0, 0), ("1",)])
def test_levels_are_whole_numbers(levels):
    with pytest.raises(ind.ParameterError, match="whole numbers"):
        ind.ChosenNode(levels)


def test_a_node_may_satisfy_a_model_that_the_whole_table_breaks():
    """Seven of ten have the flu; without the class of four who all have it every class is even."""
    table = pa.table({"age": [1] * 4 + [2] * 6, "disease": ["flu"] * 4 + ["flu", "cold"] * 3})
    job = {
        "model": "alpha-k:sensitive=disease,alpha=0.5,k=2",
        "algorithm": ind.ChosenNode((0,)),
        "hierarchies": {"age": ind.Hierarchy.suppression()},
    }
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(table, schema, suppression=0.4, **job)
    assert release.table["age"].to_pylist() == [2] * 6
    with pytest.raises(ind.InfeasibleError, match="only if 4 of 10 rows are suppressed"):
        ind.anonymize(table, schema, suppression=0.3, **job)
    with pytest.raises(ind.InfeasibleError, match="takes 7 of the table"):
        ind.anonymize(table, schema, **job)
