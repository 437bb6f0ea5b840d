"""The edges of every metric: nothing released, constant columns, weights, impossible parameters."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import indistinct.metrics as metrics
from indistinct.errors import HierarchyError, ParameterError
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.metrics import (
    GCP,
    NCP,
    AverageClassSize,
    ClassificationMetric,
    Discernibility,
    Distortion,
    GeneralizedTuple,
    GeometricLoss,
    ILoss,
    Loss,
    Measurements,
    NonUniformEntropy,
    Precision,
    closest_common,
    information,
    information_gain,
    measure_all,
    parse_metric,
    privacy_loss,
    standard_metrics,
    weighted_hierarchical_distance,
)
from indistinct.recoding.outputs import Assignment
from indistinct.text_form import spell
from references.by_hand import HandColumn, HandValue, assignment_by_hand

LETTERS = HandColumn("letter", size=4, height=2)
A, B = HandValue("a"), HandValue("b")
AB = HandValue("ab", leaves=2, level=1)
TOP = HandValue("*", leaves=4, level=2)

NAMES = (
    "discernibility",
    "average-class-size",
    "loss",
    "iloss",
    "ncp",
    "gcp",
    "precision",
    "distortion",
    "entropy",
    "geometric-loss",
    "classification",
)


def labelled(shown: HandValue | None) -> Assignment:
    rows = [("a",), ("a",), ("b",)]
    return assignment_by_hand([LETTERS], [(rows, None if shown is None else [shown])], sensitive={"y": [0, 1, 1]})


def test_every_metric_has_the_name_of_the_design() -> None:
    assert tuple(metric.name for metric in standard_metrics(k=2, target="y")) == NAMES
    assert tuple(metric.name for metric in standard_metrics(k=2)) == NAMES[:-1]


def test_all_names_exactly_what_is_public() -> None:
    assert all(hasattr(metrics, name) for name in metrics.__all__)
    assert len(set(metrics.__all__)) == len(metrics.__all__)
    kinds = {kind.__name__ for kind in metrics.Metric.__subclasses__() if kind.__module__.startswith("indistinct.")}
    assert kinds <= set(metrics.__all__)


@pytest.mark.parametrize("metric", standard_metrics(k=1, target="y"), ids=lambda metric: metric.name)
def test_metrics_are_values(metric: metrics.Metric) -> None:
    assert metric == pickle.loads(pickle.dumps(metric))  # noqa: S301
    assert hash(metric) == hash(pickle.loads(pickle.dumps(metric)))  # noqa: S301
    with pytest.raises((AttributeError, TypeError)):
        metric.other = 1  # type: ignore[attr-defined]


def test_only_precision_is_to_be_made_large() -> None:
    assert [metric.name for metric in standard_metrics(k=1, target="y") if metric.goal == "max"] == ["precision"]


def test_suppressing_everything_is_the_worst_value_of_every_bounded_metric() -> None:
    gone = labelled(None)
    for metric in standard_metrics(k=1, target="y"):
        worst = metric.bounds[0] if metric.goal == "max" else metric.bounds[1]
        if worst is not None:
            assert metric.value(gone) == worst, metric.name
    assert Discernibility().value(gone) == 9
    assert NCP().value(gone) == 3
    assert ILoss().value(gone) == 3 * 3 / 4
    assert Distortion().value(gone) == 3
    assert AverageClassSize().value(gone) == math.inf


def test_an_empty_table_costs_nothing() -> None:
    empty = assignment_by_hand([LETTERS], [], sensitive={"y": []})
    for metric in standard_metrics(k=3, target="y"):
        assert metric.value(empty) == (1.0 if metric.goal == "max" else 0.0), metric.name


def test_groups_that_look_alike_are_one_class() -> None:
    assignment = assignment_by_hand([LETTERS], [([("a",)], [AB]), ([("b",)], [AB])])
    assert assignment.classes.sizes.tolist() == [2]
    assert Discernibility().value(assignment) == 4


def test_texts_that_look_alike_must_cover_the_same() -> None:
    with pytest.raises(ParameterError, match="look alike"):
        assignment_by_hand([LETTERS], [([("a",)], [AB]), ([("b",)], [HandValue("ab", leaves=3, level=1)])])


def test_average_class_size_looks_at_released_rows_alone() -> None:
    assignment = assignment_by_hand([LETTERS], [([("a",)] * 4, [A]), ([("b",)] * 2, [B]), ([("c",)], None)])
    assert AverageClassSize().value(assignment) == 3
    assert AverageClassSize(2).value(assignment) == 1.5
    with pytest.raises(ParameterError, match="must be at least 1; got 0"):
        AverageClassSize(0)


def test_discernibility_does_not_overflow_narrow_sizes() -> None:
    assignment = assignment_by_hand([LETTERS], [([("a",)] * 200, [A])])
    narrow = replace(assignment.classes, sizes=assignment.classes.sizes.astype(np.int16))
    assert Discernibility().value(replace(assignment, classes=narrow)) == 40_000


def test_a_constant_column_costs_nothing_until_it_is_suppressed() -> None:
    columns = [HandColumn("number", size=1, ranged=True), HandColumn("word", size=1, height=0)]
    kept = assignment_by_hand(columns, [([(7, "x")] * 2, [HandValue("7", 7, 7), HandValue("x")])])
    for metric in (Loss(), GeometricLoss(), ILoss(), NCP(), GCP(), Distortion(), NonUniformEntropy()):
        assert metric.value(kept) == 0, metric.name
    assert Precision().value(kept) == 1
    gone = assignment_by_hand(columns, [([(7, "x")] * 2, None)])
    assert Loss().value(gone) == GCP().value(gone) == 1
    assert ILoss().value(gone) == 0
    assert Precision().value(gone) == 0


def test_loss_and_iloss_part_on_columns_measured_along_their_line() -> None:
    incomes = HandColumn("income", size=5, span=1000, ranged=True)
    assignment = assignment_by_hand([incomes], [([(0,), (10,)], [HandValue("[0-10]", 0, 10, leaves=2, level=1)])])
    assert Loss().value(assignment) == pytest.approx(0.01)
    assert NCP().value(assignment) == pytest.approx(0.02)
    assert ILoss().value(assignment) == pytest.approx(2 * 1 / 5)


def test_geometric_loss_is_the_geometric_mean_of_one_plus_loss() -> None:
    columns = [LETTERS, LETTERS]
    assignment = assignment_by_hand(columns, [([("a", "a")], [TOP, A])])
    assert Loss().value(assignment) == 0.5
    assert GeometricLoss().value(assignment) == pytest.approx(math.sqrt(2) - 1)


@pytest.mark.parametrize("metric", [ILoss, NCP, Distortion])
def test_columns_count_by_their_importance(metric: type[ILoss] | type[NCP] | type[Distortion]) -> None:
    others = replace(LETTERS, column="other")
    assignment = assignment_by_hand([LETTERS, others], [([("a", "a")], [TOP, AB]), ([("b", "b")], None)])
    alone = [
        metric().value(assignment_by_hand([one], [([("a",)], [value]), ([("b",)], None)]))
        for one, value in ((LETTERS, TOP), (others, AB))
    ]
    assert alone[0] > alone[1] > 0
    weighed = metric(importance={"letter": 2, "other": 3})  # type: ignore[arg-type]
    assert weighed.value(assignment) == pytest.approx(2 * alone[0] + 3 * alone[1])
    assert parse_metric(spell(weighed)) == weighed
    assert metric().value(assignment) == pytest.approx(sum(alone))
    with pytest.raises(ParameterError, match="'lettre', which is not a quasi-identifier"):
        metric(importance={"lettre": 2}).value(assignment)  # type: ignore[arg-type]
    for bad in (0, -1.0, math.nan, math.inf, "3", True):
        with pytest.raises(ParameterError, match="a finite number above 0"):
            metric(importance={"letter": bad})  # type: ignore[arg-type]


def test_distortion_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ParameterError, match="uniform, height; got 'hight'") as caught:
        Distortion("hight")  # type: ignore[arg-type]
    assert caught.value.hint == "did you mean 'height'?"
    for beta in (0.5, math.nan):
        with pytest.raises(ParameterError, match="`beta` of Distortion must be"):
            Distortion("height", beta=beta)


@pytest.mark.parametrize(("p", "q"), [(2, 3), (0, 0), (4, 1), (1, 0)])
def test_whd_refuses_levels_that_do_not_exist(p: int, q: int) -> None:
    with pytest.raises(ParameterError, match="counted from the root"):
        weighted_hierarchical_distance(p, q, height=2)


def test_whd_of_a_level_to_itself_is_nothing_even_without_edges() -> None:
    assert weighted_hierarchical_distance(1, 1, height=0) == 0
    assert weighted_hierarchical_distance(3, 3, height=4, scheme="height", beta=2) == 0


def test_closest_common_starts_above_both_and_needs_a_root() -> None:
    ladder = Taxonomy(
        "letter",
        np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0]]),
        (("a", "b", "c"), ("ab", "c"), ("*",)),
        (np.ones(3), np.array([2, 1]), np.array([3])),
    )
    raised = GeneralizedTuple((0,), (1,))
    # A node and a raw value below it meet at the node, even where the value is the one that stands for it.
    assert closest_common(raised, GeneralizedTuple.raw((0,)), taxonomies=[ladder]).levels == (1,)
    assert closest_common(raised, GeneralizedTuple.raw((1,)), taxonomies=[ladder]).levels == (1,)
    assert closest_common(raised, raised, taxonomies=[ladder]).levels == (1,)
    assert closest_common(raised, GeneralizedTuple.raw((2,)), taxonomies=[ladder]).levels == (2,)
    stump = Taxonomy("letter", np.array([[0], [1]]), (("a", "b"),), (np.ones(2),))
    with pytest.raises(HierarchyError, match="'letter' has no common root"):
        closest_common(GeneralizedTuple.raw((0,)), GeneralizedTuple.raw((1,)), taxonomies=[stump])


def test_entropy_of_suppressed_rows_is_that_of_their_original_values() -> None:
    assignment = assignment_by_hand([LETTERS], [([("a",)] * 2, [A]), ([("a",), ("b",)], None)])
    assert NonUniformEntropy().value(assignment) == 2


def test_entropy_is_never_above_the_lattice_form() -> None:
    # The node sends a and b to ab, and three rows are suppressed. The lattice form charges 3 a's and
    # 2 b's below ab, and then what the suppressed rows would have shown: ab, ab and c.
    assignment = assignment_by_hand([LETTERS], [([("a",), ("b",), ("b",)], [AB]), ([("a",), ("a",), ("c",)], None)])
    whole = 3 * math.log2(5 / 3) + 2 * math.log2(5 / 2)
    suppressed = 2 * math.log2(3 / 2) + math.log2(3)
    assert NonUniformEntropy().value(assignment) < whole + suppressed
    released = math.log2(3) + 2 * math.log2(3 / 2)
    assert NonUniformEntropy().value(assignment) == pytest.approx(released + suppressed)


def test_entropy_may_fall_when_classes_merge_so_it_is_not_monotone() -> None:
    kinds, others = HandColumn("kind", size=3), HandColumn("other", size=3)
    both = HandValue("x or y", leaves=2, level=1)
    every = HandValue("*", leaves=3, level=1)
    first = [("x", "p")] * 9 + [("y", "p")]
    second = [("x", "q")] + [("y", "q")] * 9
    third = [("z", "r")]
    p, q, r = HandValue("p"), HandValue("q"), HandValue("r")
    fine = assignment_by_hand([kinds, others], [(first, [both, p]), (second, [both, q]), (third, [HandValue("z"), r])])
    coarse = assignment_by_hand(
        [kinds, others], [(first, [both, p]), (second + third, [every, HandValue("qr", leaves=2, level=1)])]
    )
    assert NonUniformEntropy().value(coarse) < NonUniformEntropy().value(fine)
    assert not NonUniformEntropy.monotone


def test_entropy_by_sorting_equals_entropy_by_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    # A few values far apart in number make the dense table much longer than the pieces.
    groups = [([(int(v),) for v in random.integers(0, 40, 5)], [HandValue(f"g{g}")]) for g in range(40)]
    assignment = assignment_by_hand([LETTERS], [*groups, ([(1,), (2,)], None)])
    counted = NonUniformEntropy().value(assignment)
    monkeypatch.setattr(information, "_SMALL_TABLE", 0)
    assert 4 * len(assignment.cells) < 41 * 40
    assert NonUniformEntropy().value(assignment) == pytest.approx(counted)


def test_classification_charges_minorities_and_suppressed_rows() -> None:
    assignment = assignment_by_hand(
        [LETTERS],
        [([("a",)] * 3, [A]), ([("b",)] * 2, [B]), ([("c",)], None)],
        sensitive={"y": ["no", "yes", "no", "yes", "no", "yes"]},
    )
    metric = ClassificationMetric("y")
    assert metric.keys == (("y",),)
    assert metric.value(assignment) == (1 + 1 + 1) / 6
    with pytest.raises(ParameterError, match="counted without column 'z'"):
        ClassificationMetric("z").value(assignment)


def test_information_gain_at_its_edges() -> None:
    assert information_gain([[0, 0], [0, 0]]) == 0
    assert information_gain([[3, 3], [1, 1]]) == 0
    assert information_gain([[4, 0], [0, 4]]) == 1
    assert privacy_loss([7, 9], [3, 9]) == 2
    for before, after in (([], []), ([1], [1, 2])):
        with pytest.raises(ParameterError, match="equally many"):
            privacy_loss(before, after)


def test_measurements_are_a_frozen_mapping() -> None:
    measured = measure_all(labelled(AB), standard_metrics(k=3, target="y"))
    assert list(measured) == list(NAMES)
    assert measured["average-class-size"] == 1
    assert measured == dict(measured.items())
    assert json.loads(json.dumps(measured.to_json(), allow_nan=False)) == dict(measured)
    with pytest.raises(KeyError):
        measured["unknown"]
    with pytest.raises(TypeError):
        measured["loss"] = 0.0  # type: ignore[index]
    assert Measurements() == {}


def test_measurements_spell_infinity_as_null() -> None:
    measured = measure_all(labelled(None), [AverageClassSize()])
    assert measured["average-class-size"] == math.inf
    assert measured.to_json() == {"average-class-size": None}


def test_a_metric_is_measured_once() -> None:
    with pytest.raises(ParameterError, match="twice: distortion"):
        measure_all(labelled(A), [Distortion(), Distortion("height"), Loss()])
