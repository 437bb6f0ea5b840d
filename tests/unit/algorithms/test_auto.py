"""The default tries several algorithms, keeps what loses least, and says why."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.auto import Auto
from indistinct.algorithms.explanation import Attempt, Change, Explanation
from indistinct.samples import generate_patients, generate_visits

HIERARCHIES = {"zipcode": ind.Hierarchy.masking("right"), "sex": ind.Hierarchy.suppression()}
SCHEMA = ind.Schema(
    identifiers=["name"],
    quasi=["age", "sex", "zipcode"],
    sensitive=["disease"],
    insensitive=["admitted", "cost"],
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return generate_patients(400, seed=3)


def released(table: pa.Table, **options: object) -> ind.Release:
    given = {"model": "k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=2", "seed": 1} | options
    return ind.anonymize(table, SCHEMA, **given)  # type: ignore[arg-type]


def test_the_least_loss_of_all_attempts_is_released(table: pa.Table) -> None:
    release = released(table, hierarchies=HIERARCHIES)
    told = release.explanation
    assert told is not None
    made = {each.algorithm: each.loss for each in told.attempts if each.loss is not None}
    assert {name.partition(":")[0] for name in made} == {"mondrian", "two-level", "optimal", "refine"}
    assert told.loss == min(made.values()) == made[told.algorithm]
    assert ind.measure(release)["gcp"] == pytest.approx(told.loss)
    assert release.certificate.algorithm == told.algorithm
    for name, loss in made.items():
        again = released(table, hierarchies=HIERARCHIES, algorithm=name)
        assert ind.measure(again)["gcp"] == pytest.approx(loss), "what is told of an attempt is true of it"


def test_the_answer_does_not_depend_on_the_clock(table: pa.Table) -> None:
    first, second = released(table), released(table)
    assert first.table.equals(second.table)
    assert first.explanation == second.explanation


def test_easier_settings_are_tried_with_the_first_algorithm(table: pa.Table) -> None:
    told = released(table, hierarchies=HIERARCHIES).explanation
    assert told is not None
    changes = {each.setting: each for each in told.changes}
    assert set(changes) == {
        "with k = 4",
        "without k-anonymity",
        "without distinct-l-diversity of disease",
        "with one percent more suppression",
    }
    eased = changes["with k = 4"]
    again = released(
        table,
        hierarchies=HIERARCHIES,
        algorithm=eased.algorithm,
        model="k-anonymity:k=4 & distinct-l-diversity:sensitive=disease,l=2",
    )
    assert ind.measure(again)["gcp"] == pytest.approx(eased.loss)
    assert eased.loss < eased.before


def test_shares_of_columns_add_up(table: pa.Table) -> None:
    told = released(table).explanation
    assert told is not None
    assert set(told.columns) == set(SCHEMA.quasi)
    assert sum(told.columns.values()) == pytest.approx(1.0)


def test_another_metric_decides(table: pa.Table) -> None:
    told = released(table, algorithm="auto:metric=discernibility", hierarchies=HIERARCHIES).explanation
    assert told is not None
    assert told.metric == "discernibility"
    assert told.columns == {}, "no sum over columns"
    assert "refine" not in told.algorithm
    rising = released(table, algorithm="auto:metric=precision", hierarchies=HIERARCHIES).explanation
    assert rising is not None
    assert rising.goal == "max"
    assert rising.loss == max(each.loss for each in rising.attempts if each.loss is not None)


def test_a_recoding_for_reuse_covers_other_values(table: pa.Table) -> None:
    recoding = released(table, algorithm="auto:reuse=true", hierarchies=HIERARCHIES).recoding
    again = ind.apply(recoding, generate_patients(400, seed=4), suppression=0.5)
    assert again.certificate.holds


def test_a_recoding_that_is_kept_is_for_reuse(table: pa.Table, tmp_path: Path) -> None:
    files = {"output": tmp_path / "r.csv", "save_recoding": tmp_path / "r.json"}
    told = released(table, **files).explanation
    assert told is not None
    assert not any("refine" in each.algorithm for each in told.attempts)


def test_people_are_counted_by_the_labels_of_the_default() -> None:
    visits = generate_visits(600, seed=1)
    found = ind.inspect(visits)
    assert found.schema.person
    release = ind.anonymize(visits, found.schema, model="k-anonymity:k=5", hierarchies=found.hierarchies)
    assert release.explanation is not None
    assert "refine" not in str(release.explanation)
    assert ind.verify(release.table, found.schema, "k-anonymity:k=5", original=visits).holds


def test_suppression_lets_the_best_node_compete(table: pa.Table) -> None:
    told = released(table, hierarchies=HIERARCHIES, suppression=0.05).explanation
    assert told is not None
    (node,) = [each for each in told.attempts if each.algorithm.startswith("optimal")]
    assert node.loss is not None
    assert 0 <= node.suppressed <= 20


def test_a_lattice_that_is_too_large_is_left_out() -> None:
    few = pa.table({f"z{place}": ["12345", "12346", "12399", "54321"] for place in range(10)})
    masks = {name: ind.Hierarchy.masking() for name in few.column_names}
    told = ind.anonymize(
        few, ind.Schema(quasi=few.column_names), model="k-anonymity:k=2", hierarchies=masks
    ).explanation
    assert told is not None
    assert [each.reason for each in told.attempts if each.algorithm.startswith("optimal")] == [
        "was not tried: 1,511,654,400,000 cells of all nodes are more than 500,000,000"
    ]


def test_what_no_search_can_satisfy_is_told_by_the_first(table: pa.Table) -> None:
    with pytest.raises(ind.InfeasibleError, match="l = 400"):
        released(table, model="distinct-l-diversity:sensitive=disease,l=400")


def test_an_explanation_tells_no_value(table: pa.Table) -> None:
    model = "k-anonymity:k=5 & alpha-k:sensitive=disease,alpha=0.9,k=2,protected=hepatitis"
    told = released(table, model=model).explanation
    assert told is not None
    assert "without alpha-k of disease" in str(told)
    assert "hepatitis" not in str(told) + json.dumps(told.to_json())


def test_an_attempt_that_finds_nothing_was_tried() -> None:
    values = pa.table({"q": ["a", "b"] * 5 + ["c"] * 30, "s": ["x", "y"] * 5 + ["x"] * 30})
    told = ind.anonymize(
        values,
        ind.Schema(quasi=["q"], sensitive=["s"]),
        model="entropy-l-diversity:sensitive=s,l=1.9",
        hierarchies={"q": ind.Hierarchy.tree({"*": {"A": ["a", "b"], "B": ["c"]}})},
        suppression=0.8,
    ).explanation
    assert told is not None
    assert "mondrian:choose=loss finds no release" in told.sentences()
    assert told.algorithm.startswith("optimal"), "it may suppress what breaks the model"


def test_a_named_algorithm_needs_no_explanation(table: pa.Table) -> None:
    assert released(table, algorithm="mondrian").explanation is None


def test_settings_are_checked() -> None:
    for spec in ("auto:metric=beauty", "auto:rounds=-1", "auto:trees=wood"):
        with pytest.raises(ind.ParameterError):
            ind.anonymize(generate_patients(20, seed=1), SCHEMA, model="k-anonymity:k=2", algorithm=spec)
    assert Auto() == Auto(metric="gcp")


def test_an_explanation_is_told_in_sentences_and_as_json() -> None:
    told = Explanation(
        metric="gcp",
        goal="min",
        algorithm="mondrian:choose=loss",
        loss=0.1,
        attempts=(
            Attempt("mondrian:choose=loss", 0.1, 7),
            Attempt("two-level", reason="was not tried: too many cells"),
        ),
        columns={"age": 0.75, "sex": 0.25},
        changes=(Change("mondrian:choose=loss", "with k = 4", 0.1, 0.08), Change("optimal", "with more", 0.3, 0.3)),
    )
    assert str(told).splitlines() == [
        "mondrian:choose=loss was chosen by gcp, lower is better: mondrian:choose=loss 10 %",
        "two-level was not tried: too many cells",
        "the columns that lose most: age 75 %, sex 25 % of all that is lost",
        "with k = 4: 8 % instead of 10 %, by the search mondrian:choose=loss",
        "with more: the same, by the search optimal",
    ]
    assert json.loads(json.dumps(told.to_json()))["changes"][0]["before"] == 0.1
