"""A study's analyses before and after: estimates, coverage of each rule, refusals and what others see."""

import json

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import ParameterError
from indistinct.evaluation.analyze.result import Interval, Term, overlap_of
from indistinct.evaluation.analyze.tables import hidden_cells

SCHEMA = ind.Schema(quasi=["age", "sex"], insensitive=["z", "cost", "died", "days", "visits"])


def study(seed: int, rows: int = 2500) -> pa.Table:
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, rows)
    sex = random.choice(["F", "M"], rows)
    z = random.normal(size=rows)
    linear = 5 * age + 20 * (sex == "M")
    hazard = np.exp(0.03 * (age - 50))
    days = random.exponential(200 / hazard)
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "z": z,
            "cost": 100 + linear + 10 * z + random.normal(0, 60, rows),
            "died": (random.random(rows) < 1 / (1 + np.exp(-0.05 * (age - 55)))).astype(np.int64),
            "days": np.minimum(days, 300.0),
            "visits": random.poisson(np.exp(0.02 * (age - 40))),
        }
    )


def in_ranges(table: pa.Table, width: int, column: str = "age") -> pa.Table:
    values = np.asarray(table[column])
    low = (values // width * width).astype(int)
    labels = [f"[{each}-{each + width - 1}]" for each in low]
    return table.set_column(table.column_names.index(column), column, pa.array(labels))


def term(found: ind.Analyses, name: str) -> Term:
    return next(each for each in found.analyses[0].terms if each.name == name)


def both(one: Term) -> tuple[Interval, Interval]:
    assert one.before is not None
    assert one.after is not None
    return one.before, one.after


@pytest.mark.parametrize("width", [5, 20])
def test_imputation_covers_the_true_slope(width: int) -> None:
    covered = []
    for seed in range(8):
        table = study(seed)
        found = ind.analyze(
            in_ranges(table, width), "cost ~ age + C(sex) + z", original=table, schema=SCHEMA, seed=seed
        )
        after = term(found, "age").after
        assert after is not None
        covered.append(not after.excludes(5.0))
    assert sum(covered) >= 7


def test_midpoints_of_wide_ranges_are_biased() -> None:
    """The ranges 0-19 and 80-99 are filled on one side alone, so that their middles are wrong."""
    table = study(1)
    rules = {"age": "midpoint"}
    found = ind.analyze(in_ranges(table, 20), "cost ~ age", original=table, schema=SCHEMA, rules=rules)
    assert both(term(found, "age"))[1].high < 5.0
    assert [rule.rule for rule in found.analyses[0].rules] == ["midpoint"]


@pytest.mark.parametrize("weights", [None, "weight"])
def test_estimates_do_not_depend_on_the_order_of_rows(weights: str | None) -> None:
    table = study(17, 400).append_column("weight", pa.array(np.random.default_rng(17).integers(1, 4, 400)))
    schema = ind.Schema(quasi=["age", "sex"], insensitive=["z", "cost", "died", "days", "visits", "weight"])
    release = in_ranges(table, 20)
    shuffled = release.take(np.random.default_rng(1).permutation(400))
    found = [
        ind.analyze(each, "cost ~ age + C(sex)", original=table, schema=schema, weights=weights).to_json()
        for each in (release, shuffled)
    ]
    after = [[each["after"]["estimate"] for each in one["analyses"][0]["terms"]] for one in found]
    assert after[0] == pytest.approx(after[1], rel=1e-9)


def test_masked_columns_are_named() -> None:
    table = study(16, 300)
    masking = {"cost": ind.Transformation(round=50)}
    release = ind.anonymize(table, SCHEMA, model=ind.KAnonymity(k=5), algorithm="mondrian", transformations=masking)
    (found,) = ind.analyze(release, "cost ~ z", original=table).analyses
    assert [(rule.column, rule.rule, rule.detail) for rule in found.rules] == [
        ("cost", "masked", "enters as published: round:50")
    ]


@pytest.mark.parametrize(
    ("formula", "family"),
    [("died ~ age", "logistic"), ("visits ~ age", "poisson"), ("Surv(days, died) ~ age", None)],
)
def test_other_families(formula: str, family: str | None) -> None:
    table = study(2, 4000)
    found = ind.analyze(in_ranges(table, 10), formula, family=family, original=table, schema=SCHEMA)
    slope = term(found, "age")
    before, after = both(slope)
    assert abs(after.estimate - before.estimate) < (before.error or 0)
    assert not slope.flips


def test_an_unmodified_release_gives_the_same_estimates() -> None:
    table = study(3)
    found = ind.analyze(
        table, ["cost ~ age * C(sex)", "log(cost + 1000) ~ z"], means="cost by sex", original=table, schema=SCHEMA
    )
    assert found.least_overlap == pytest.approx(1.0)
    assert found.flips == 0
    for one in found.analyses:
        assert one.rows == (table.num_rows, table.num_rows)


def test_an_outcome_in_ranges() -> None:
    table = study(4)
    released = in_ranges(table, 50, "cost")
    schema = ind.Schema(quasi=["cost"], insensitive=["age", "sex", "z", "died", "days", "visits"])
    found = ind.analyze(released, "cost ~ age", original=table, schema=schema)
    assert not both(term(found, "age"))[1].excludes(5.0)
    with pytest.raises(ParameterError, match="family poisson"):
        _fail(ind.analyze(released, "cost ~ age", family="poisson", original=_positive(table), schema=schema))


def _positive(table: pa.Table) -> pa.Table:
    return table.set_column(3, "cost", pa.array(np.abs(np.asarray(table["cost"]))))


def _fail(found: ind.Analyses) -> None:
    """Raise what the analysis could not do on the release."""
    notes = [note for one in found.analyses for note in one.notes]
    assert found.least_overlap == 0
    raise ParameterError("; ".join(notes))


def test_suppressed_rows_and_cells_are_missing() -> None:
    table = study(5)
    released = in_ranges(table, 10).slice(100)
    labels = released["age"].to_pylist()
    labels[:50] = ["*"] * 50
    released = released.set_column(0, "age", pa.array(labels))
    found = ind.analyze(released, "cost ~ age", original=table, schema=SCHEMA)
    assert found.analyses[0].rows == (table.num_rows, table.num_rows - 150)


def test_joined_categories_are_lost_unless_accepted() -> None:
    table = study(6)
    towns = np.random.default_rng(6).choice(["Bergen", "Oslo", "Paris"], table.num_rows)
    table = table.append_column("town", pa.array(towns))
    schema = ind.Schema(quasi=["age", "sex", "town"], insensitive=["z", "cost", "died", "days", "visits"])
    joined = ["{Bergen, Oslo}" if town != "Paris" else "Paris" for town in towns]
    released = table.set_column(table.column_names.index("town"), "town", pa.array(joined))
    found = ind.analyze(released, "cost ~ C(town)", original=table, schema=schema)
    assert found.least_overlap == 0
    assert [each.name for each in found.analyses[0].terms if each.lost] == ["town: 2 values joined"]
    accepted = ind.analyze(released, "cost ~ C(town)", original=table, schema=schema, rules={"town": "category"})
    assert accepted.least_overlap == pytest.approx(1.0)
    assert {each.name for each in accepted.analyses[0].terms} == {"Intercept", "C(town)[T.Paris]"}


def test_tables_medians_and_correlations() -> None:
    table = study(7)
    found = ind.analyze(
        in_ranges(table, 10),
        tables="sex",
        medians="age by sex",
        correlations="age, cost",
        original=table,
        schema=SCHEMA,
    )
    assert [one.kind for one in found.analyses] == ["table", "median", "correlation"]
    share = both(found.analyses[0].terms[0])[0]
    assert share.estimate == pytest.approx(np.mean(np.asarray(table["sex"]) == "F"))
    before, after = both(found.analyses[2].terms[0])
    expected = np.corrcoef(np.asarray(table["age"]), np.asarray(table["cost"]))[0, 1]
    assert before.estimate == pytest.approx(expected)
    assert after.estimate == pytest.approx(expected, abs=0.02)


def test_weights_change_the_mean_as_repeating_rows_would() -> None:
    table = study(8, 200)
    weights = np.random.default_rng(8).integers(1, 4, 200)
    weighted = table.append_column("weight", pa.array(weights))
    schema = ind.Schema(quasi=["age", "sex"], insensitive=["z", "cost", "died", "days", "visits", "weight"])
    found = ind.analyze(weighted, means="cost by sex", original=weighted, schema=schema, weights="weight")
    women = np.asarray(table["sex"]) == "F"
    repeated = np.repeat(np.asarray(table["cost"])[women], weights[women])
    before = both(found.analyses[0].terms[0])[0]
    assert before.estimate == pytest.approx(repeated.mean())


def test_the_external_edition_hides_estimates_of_few_rows() -> None:
    table = study(9)
    sex = table["sex"].to_pylist()
    sex[:4] = ["X"] * 4
    table = table.set_column(1, "sex", pa.array(sex))
    inside = ind.analyze(table, "cost ~ sex", means="cost by sex", tables="sex", original=table, schema=SCHEMA)
    outside = ind.analyze(
        table, "cost ~ sex", means="cost by sex", tables="sex", original=table, schema=SCHEMA, edition="external"
    )
    assert "X" in json.dumps(inside.to_json())
    assert "X" not in json.dumps(outside.to_json())
    assert [one.hidden for one in outside.analyses] == [1, 2, 1]
    shown = [each.name for each in outside.analyses[1].terms]
    assert len(shown) == 1  # the third share would follow from the others


def outside(table: pa.Table, formula: str = (), **asked: str) -> ind.AnalysisResult:  # type: ignore[assignment]
    found = ind.analyze(table, formula, original=table, schema=SCHEMA, edition="external", **asked)  # type: ignore[arg-type]
    return found.analyses[0]


def test_the_external_edition_hides_what_rests_on_few_rows_in_any_way() -> None:
    """A rare reference, a rare combination, and a person far from all others give their outcome away."""
    table = study(15, 600)
    sex = table["sex"].to_pylist()
    rare = table.set_column(1, "sex", pa.array(["A"] * 3 + sex[3:]))
    assert outside(rare, "cost ~ sex").terms == ()  # intercept, and differences to three people
    z, cost = table["z"].to_numpy().copy(), table["cost"].to_numpy().copy()
    z[0] = 1e6
    far = table.set_column(2, "z", pa.array(z))
    assert [each.name for each in outside(far, "cost ~ z").terms] == ["Intercept"]
    old = pa.array(["old" if index < 4 else "young" for index in range(600)])
    both_rare = table.set_column(2, "z", old)
    shown = [each.name for each in outside(both_rare, "cost ~ sex * z").terms]
    assert not [name for name in shown if ":" in name]
    cost[0] = 1e9
    rich = table.set_column(3, "cost", pa.array(cost))
    assert outside(rich, means="cost").terms == ()
    assert len(outside(table, means="cost").terms) == 1
    assert outside(table.slice(0, 9), correlations="age, cost").terms == ()


def test_margins_of_a_table_do_not_give_hidden_cells_away() -> None:
    counts = np.array([[3, 40, 50], [30, 20, 60], [80, 70, 90]])
    hidden = hidden_cells(counts, 10)
    for axis in (0, 1):
        assert set(hidden.sum(axis=axis).tolist()) <= {0, 2, 3}
    assert hidden[0, 0]
    assert not hidden_cells(np.array([[30, 40], [50, 60]]), 10).any()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("cost", "one ~"),
        ("cost ~ wages", "wages"),
        ("cost ~ __import__('os')", "'"),
        ("cost ~ np.log(age)", r"\.|np"),
        ("cost ~ open(age)", "open"),
        ("cost ~ {age}", "{"),
        ("~ age", "outcome"),
        ("cost ~ cost", "covariate"),
        ("sex ~ age", "text"),
        ("cost ~ name", "identifier"),
    ],
)
def test_bad_formulas_are_refused(formula: str, message: str) -> None:
    table = study(10, 300).append_column("name", pa.array([f"n{i}" for i in range(300)]))
    released = table.drop_columns(["name"])
    schema = ind.Schema(identifiers=["name"], quasi=["age", "sex"], insensitive=["z", "cost", "died", "days", "visits"])
    with pytest.raises(ParameterError, match=message):
        ind.analyze(released, formula, original=table, schema=schema)


def test_what_an_analysis_needs_is_said() -> None:
    table = study(11, 100)
    with pytest.raises(ParameterError, match="original"):
        ind.analyze(table, "cost ~ age", schema=SCHEMA)
    with pytest.raises(ParameterError, match="no analysis"):
        ind.analyze(table, original=table, schema=SCHEMA)
    with pytest.raises(ParameterError, match="rule"):
        ind.analyze(table, "cost ~ age", original=table, schema=SCHEMA, rules={"age": "middle"})
    with pytest.raises(ParameterError, match="family"):
        ind.analyze(table, "cost ~ age", family="gamma", original=table, schema=SCHEMA)


@pytest.mark.parametrize("rows", [0, 1])
def test_tiny_tables_are_refused_by_a_sentence(rows: int) -> None:
    table = study(12, 50).slice(0, rows)
    with pytest.raises(ind.IndistinctError):
        ind.analyze(table, "cost ~ age", original=table, schema=SCHEMA)


def test_missing_values_in_every_column() -> None:
    table = study(13, 400)
    random = np.random.default_rng(13)
    columns = {
        name: pa.array([None if random.random() < 0.05 else value for value in table[name].to_pylist()])
        for name in table.column_names
    }
    holed = pa.table(columns)
    found = ind.analyze(holed, ["cost ~ age + C(sex)", "died ~ z"], original=holed, schema=SCHEMA)
    assert found.least_overlap == pytest.approx(1.0)
    assert found.analyses[0].rows[0] < 400


def test_overlap_is_a_share() -> None:
    assert overlap_of(Interval(0, -1, 1), Interval(0, -1, 1)) == 1
    assert overlap_of(Interval(0, -1, 1), Interval(0, -2, 2)) == 0.75
    assert overlap_of(Interval(0, -1, 1), Interval(9, 8, 10)) == 0
    assert overlap_of(Interval(0, -1, 1), Interval(0.5, 0.5, 0.5)) == 0.5
    assert overlap_of(Interval(0, -1, 1), Interval(3, 3, 3)) == 0
    assert overlap_of(Interval(3, 3, 3), Interval(3, 3, 3)) == 1


def test_flips_are_named() -> None:
    flipped = Term("age", Interval(1, 0.5, 1.5), Interval(-0.1, -1, 0.8))
    assert flipped.flips == ("sign", "significance")
    assert Term("age", Interval(1, 0.5, 1.5), Interval(1.1, 0.4, 1.8)).flips == ()


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "slicing:l=2"])
def test_bucketized_releases_have_tables_and_means(algorithm: str) -> None:
    random = np.random.default_rng(14)
    rows = 1200
    table = pa.table(
        {
            "age": random.integers(20, 80, rows),
            "sex": random.choice(["F", "M"], rows),
            "disease": random.choice(["flu", "cold", "gout", "none"], rows),
        }
    )
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm=algorithm)
    found = ind.analyze(release, tables="sex, disease", means="age by disease", original=table)
    for one in found.analyses:
        assert (one.mean_overlap or 0) > 0.5
        assert one.notes
    with pytest.raises(ParameterError, match="slices"):
        ind.analyze(release, "age ~ C(disease)", original=table)
