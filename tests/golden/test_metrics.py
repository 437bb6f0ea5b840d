"""Worked examples of the metrics, by hand from the papers that print them."""

import numpy as np
import pytest

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
    NonUniformEntropy,
    Precision,
    class_distance,
    closest_common,
    igpl,
    information_gain,
    information_gain_per_loss,
    privacy_loss,
    tuple_distance,
    weighted_hierarchical_distance,
)
from indistinct.recoding.outputs import Assignment
from references.by_hand import HandColumn, HandValue, assignment_by_hand

AGE = HandColumn("age", size=4, span=3, ranged=True)
SEX = HandColumn("sex", size=2)
ZIP = HandColumn("zipcode", size=3, span=2, ranged=True)
MALE, FEMALE = HandValue("Male"), HandValue("Female")


def span(low: float, high: float) -> HandValue:
    text = f"{low}" if low == high else f"[{low}-{high}]"
    return HandValue(text, low=low, high=high, leaves=int(high - low) + 1, level=int(low != high))


@pytest.fixture
def multidimensional() -> Assignment:
    """LeFevre et al. (2006), figure 3: the 2-anonymous strict partitioning of six patients."""
    return assignment_by_hand(
        [AGE, SEX, ZIP],
        [
            ([(25, "M", 53711), (26, "M", 53711)], [span(25, 26), MALE, span(53711, 53711)]),
            ([(25, "F", 53712), (27, "F", 53712)], [span(25, 27), FEMALE, span(53712, 53712)]),
            ([(27, "M", 53710), (28, "M", 53711)], [span(27, 28), MALE, span(53710, 53711)]),
        ],
    )


@pytest.fixture
def single_dimensional() -> Assignment:
    """The same patients under single-dimensional partitioning: classes of four and two."""
    men = [(25, "M", 53711), (26, "M", 53711), (27, "M", 53710), (28, "M", 53711)]
    women = [(25, "F", 53712), (27, "F", 53712)]
    return assignment_by_hand(
        [AGE, SEX, ZIP],
        [
            (men, [span(25, 28), MALE, span(53710, 53711)]),
            (women, [span(25, 28), FEMALE, span(53712, 53712)]),
        ],
    )


def test_multidimensional_partitioning_of_the_patients(multidimensional: Assignment) -> None:
    assert Discernibility().value(multidimensional) == 12
    assert AverageClassSize(2).value(multidimensional) == 1
    assert NCP().value(multidimensional) == pytest.approx(11 / 3)
    assert GCP().value(multidimensional) == pytest.approx(11 / 54)
    assert GCP().value(multidimensional) == pytest.approx(0.20370, abs=5e-6)


def test_single_dimensional_partitioning_of_the_patients(single_dimensional: Assignment) -> None:
    assert Discernibility().value(single_dimensional) == 20
    assert AverageClassSize(2).value(single_dimensional) == 1.5


def test_the_misprinted_formulas_give_other_values(
    multidimensional: Assignment, single_dimensional: Assignment
) -> None:
    # C_DM without its superscript; C_AVG with k as the divisor of the classes, or as a root.
    for assignment in (multidimensional, single_dimensional):
        sizes, k = assignment.classes.sizes, 2
        assert Discernibility().value(assignment) != (sizes / 2).sum()
        assert AverageClassSize(k).value(assignment) != assignment.rows / (len(sizes) / k)
    sizes = single_dimensional.classes.sizes
    assert AverageClassSize(2).value(single_dimensional) != (sizes.sum() / len(sizes)) ** (1 / 2)


JOBS = HandColumn("job", size=4, height=2)
PROFESSIONAL = HandValue("Professional", leaves=2, level=1)
ANY_JOB = HandValue("Any_Job", leaves=4, level=2)


@pytest.mark.parametrize(
    ("shown", "iloss", "loss", "ncp", "precision"),
    [
        (HandValue("Lawyer"), 0.0, 0.0, 0.0, 1.0),
        (PROFESSIONAL, 0.25, 1 / 3, 0.5, 0.5),
        (ANY_JOB, 0.75, 1.0, 1.0, 0.0),
        (None, 0.75, 1.0, 1.0, 0.0),
    ],
)
def test_one_lawyer_among_four_jobs(
    shown: HandValue | None, iloss: float, loss: float, ncp: float, precision: float
) -> None:
    assignment = assignment_by_hand([JOBS], [([("Lawyer",)], None if shown is None else [shown])])
    assert ILoss().value(assignment) == iloss
    assert Loss().value(assignment) == pytest.approx(loss)
    assert GeometricLoss().value(assignment) == pytest.approx(loss)
    assert NCP().value(assignment) == ncp
    assert Precision().value(assignment) == precision


# Rows are children of Any_Job (Professional, Artist), columns are Hepatitis, HIV, Flu.
DISEASES_BY_JOB = [[2, 1, 0], [0, 3, 1]]


def test_igpl_of_specializing_any_job() -> None:
    gain = information_gain(DISEASES_BY_JOB)
    loss = privacy_loss([7], [3])
    assert gain == pytest.approx(0.52164, abs=5e-6)
    assert loss == 4
    assert igpl(gain, loss) == pytest.approx(0.10433, abs=5e-6)
    assert information_gain_per_loss(gain, loss) == pytest.approx(gain / 4)
    assert information_gain_per_loss(gain, 0) == gain


def test_classification_metric_of_the_same_patients() -> None:
    professional, artist = PROFESSIONAL, HandValue("Artist", leaves=2, level=1)
    assignment = assignment_by_hand(
        [JOBS],
        [
            ([("Engineer",), ("Engineer",), ("Lawyer",)], [professional]),
            ([("Writer",), ("Writer",), ("Dancer",), ("Dancer",)], [artist]),
        ],
        sensitive={"disease": ["Hepatitis", "Hepatitis", "HIV", "Flu", "HIV", "HIV", "HIV"]},
    )
    # One row of each class is not in the majority.
    assert ClassificationMetric("disease").value(assignment) == 2 / 7


def test_precision_of_the_datafly_example() -> None:
    columns = [
        HandColumn("race", size=2),
        HandColumn("birth", size=12, height=2),
        HandColumn("gender", size=2),
        HandColumn("zip", size=3),
    ]

    def entry(
        race: str, year: str, gender: str, code: str, *days: str
    ) -> tuple[list[tuple[str, ...]], list[HandValue]]:
        rows = [(race, f"{day}/{year}", gender, code) for day in days]
        leaves = {"1964": 5, "1965": 5, "1967": 2}[year]
        return rows, [
            HandValue(race),
            HandValue(year, leaves=leaves, level=1),
            HandValue(gender),
            HandValue(code),
        ]

    kept = [
        entry("black", "1965", "male", "02141", "9/20", "2/14"),
        entry("black", "1965", "female", "02138", "10/23", "8/24"),
        entry("black", "1964", "female", "02138", "11/7", "12/1"),
        entry("white", "1964", "male", "02139", "8/13", "5/5"),
        entry("white", "1967", "male", "02138", "2/13", "3/21"),
    ]
    dropped = [("white", "10/23/1964", "male", "02138"), ("white", "3/15/1965", "female", "02139")]
    whole = assignment_by_hand(columns, [*kept, (dropped, None)])
    assert (whole.rows, whole.suppressed, len(whole.classes)) == (12, 2, 5)
    assert Precision().value(whole) == pytest.approx(1 - 13 / 48)
    assert Precision().value(whole) == pytest.approx(0.7292, abs=5e-5)
    assert Precision().value(assignment_by_hand(columns, kept)) == 0.875
    assert Discernibility().value(whole) == 5 * 4 + 12 * 2
    assert Distortion().value(whole) == 10 * 0.5 + 2 * 4


def test_two_steps_up_a_six_level_hierarchy() -> None:
    assert weighted_hierarchical_distance(6, 4, height=5) == pytest.approx(0.4)
    assert weighted_hierarchical_distance(6, 4, height=5, scheme="height") == pytest.approx(0.19708, abs=5e-6)
    # Counted upward from raw, the same two numbers would be one edge off and two edges too high.
    assert weighted_hierarchical_distance(3, 1, height=5, scheme="height") == pytest.approx(1.5 / 2.28333, abs=1e-5)


def test_distortion_of_the_same_steps() -> None:
    dates = HandColumn("birth", size=100, height=5)
    assignment = assignment_by_hand([dates], [([("1/2/1970",)], [HandValue("1970", leaves=50, level=2)])])
    assert Distortion().value(assignment) == pytest.approx(0.4)
    assert Distortion("height").value(assignment) == pytest.approx(0.19708, abs=5e-6)


def tree(column: str, *paths: str) -> Taxonomy:
    """Return the taxonomy whose values climb the given paths, each from raw to top."""
    climbs = [path.split() for path in paths]
    labels = [sorted({climb[level] for climb in climbs}) for level in range(len(climbs[0]))]
    ancestors = [[labels[level].index(node) for level, node in enumerate(climb)] for climb in climbs]
    leaves = [np.array([sum(c[level] == node for c in climbs) for node in nodes]) for level, nodes in enumerate(labels)]
    return Taxonomy(column, np.array(ancestors), tuple(map(tuple, labels)), tuple(leaves))


def test_distance_of_two_tuples() -> None:
    taxonomies = [
        tree("sex", "male *", "female *"),
        tree("age", "young *", "old *"),
        tree("postcode", "4351 435* 43** 4*** *", "4352 435* 43** 4*** *"),
    ]
    first, second = GeneralizedTuple.raw((0, 0, 0)), GeneralizedTuple.raw((1, 0, 1))
    assert closest_common(first, second, taxonomies=taxonomies).levels == (1, 0, 1)
    assert tuple_distance(first, second, taxonomies=taxonomies) == 2.5
    assert class_distance(first, second, sizes=(3, 1), taxonomies=taxonomies) == 3 * 1.25 + 1.25
    assert tuple_distance(first, second, taxonomies=taxonomies, importance={"sex": 2, "postcode": 4}) == 2 * (2 + 1)


def test_distortion_of_a_local_recoding() -> None:
    """Li et al. (2006): six rows, two merges, distortion 2.5."""
    columns = [
        HandColumn("job", size=2),
        HandColumn("birth", size=2),
        HandColumn("postcode", size=3, height=4),
    ]
    any_birth = HandValue("*", leaves=2, level=1)
    assignment = assignment_by_hand(
        columns,
        [
            (
                [("cat1", 1975, 4350), ("cat1", 1955, 4350)],
                [HandValue("cat1"), any_birth, HandValue("4350")],
            ),
            (
                [("cat1", 1955, 5432), ("cat1", 1955, 5433)],
                [HandValue("cat1"), HandValue("1955"), HandValue("543*", leaves=2, level=1)],
            ),
            ([("cat2", 1975, 4350)] * 2, [HandValue("cat2"), HandValue("1975"), HandValue("4350")]),
        ],
    )
    assert Distortion().value(assignment) == 2.5
    assert len(assignment.frequencies) == 5


def test_entropy_of_a_full_domain_node() -> None:
    """n(v) = 1, 3 below one node and 4 below another: log2(4/1) + 3·log2(4/3) bits, none for the second."""
    column = HandColumn("value", size=3)
    assignment = assignment_by_hand(
        [column],
        [
            ([("a",), ("b",), ("b",), ("b",)], [HandValue("ab", leaves=2, level=1)]),
            ([("c",)] * 4, [HandValue("c")]),
        ],
    )
    assert NonUniformEntropy().value(assignment) == pytest.approx(2 + 3 * np.log2(4 / 3))
