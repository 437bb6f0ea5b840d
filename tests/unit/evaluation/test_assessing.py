"""Assessments of originals, releases and published files: figures, names of classes, and what is refused."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, ParameterError, SchemaError
from indistinct.evaluation.assess.individual import risks_of_counts
from indistinct.evaluation.assess.reidentification import NO_RISK, class_sizes, expected_reciprocals, prosecutor
from indistinct.frequencies.value import Classes
from indistinct.samples import generate_census, generate_patients

SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["cost"])
HIERARCHIES = {"age": ind.Hierarchy.intervals([10, 40]), "zipcode": ind.Hierarchy.masking()}
# What acceptance runs read.
CONTRACT = {
    "prosecutor": {"highest", "average", "at_risk"},
    "journalist": {"highest", "average", "at_risk"},
    "marketer": {"average"},
    "population_uniques": {"zayatz", "pitman", "snb", "dankar"},
}


@pytest.fixture(scope="module")
def patients():
    return generate_patients(300, seed=3).drop_columns(["admitted"])


@pytest.fixture(scope="module")
def release(patients):
    return ind.anonymize(
        patients, SCHEMA, model="k-anonymity:k=4", algorithm="optimal", hierarchies=HIERARCHIES, suppression=0.1
    )


def same_risk(one, other):
    keys = ("prosecutor", "uniques", "classes", "rows", "class_sizes", "sensitive")
    assert json.dumps([one[key] for key in keys]) == json.dumps([other[key] for key in keys])


# What is told.


def test_the_names_that_others_read(patients):
    told = ind.assess(patients, SCHEMA, population_size=10_000).to_json()
    assert all(keys <= set(told[name]) for name, keys in CONTRACT.items())
    assert {"uniques", "classes", "rows"} <= set(told)
    json.dumps(told, allow_nan=False)


def test_the_highest_risk_is_one_over_the_smallest_class(release):
    found = ind.assess(release)
    assert found.risk.smallest == release.certificate.smallest_class
    assert found.risk.prosecutor.highest == 1 / release.certificate.smallest_class
    assert found.risk.prosecutor.average == release.certificate.classes / release.certificate.rows
    assert found.before is not None
    assert found.before.rows == 300
    assert found.before.prosecutor.highest == 1.0


def test_a_release_and_its_file_have_one_risk(release, patients, tmp_path):
    path = tmp_path / "release.csv"
    release.write(path)
    made = ind.assess(release, original=patients, hierarchies=HIERARCHIES).to_json()
    beside = ind.assess(path, SCHEMA, original=patients, hierarchies=HIERARCHIES).to_json()
    same_risk(made, beside)
    same_risk(made["before"], beside["before"])
    assert made["columns"]["zipcode"] == beside["columns"]["zipcode"]
    assert made["columns"]["sex"]["removed"] == beside["columns"]["sex"]["removed"]
    alone = ind.assess(path, SCHEMA, hierarchies=HIERARCHIES).to_json()
    assert alone["prosecutor"] == made["prosecutor"]
    assert alone["before"] is None


def test_classes_are_named_by_what_is_published_and_originals_not_at_all(release, patients):
    secret = {text for column in ("name", "zipcode", "cost") for text in patients[column].cast(pa.string()).to_pylist()}
    plain = ind.assess(patients, SCHEMA, hierarchies=HIERARCHIES, population_size=9_999)
    assert not any(f'"{value}"' in json.dumps(plain.to_json()) for value in secret)
    assert plain.risk.sensitive[0].worst == ()
    assert ind.assess(patients, SCHEMA, show_values=True).risk.sensitive[0].worst
    shown = release.table.select(list(release.schema.quasi)).to_pylist()
    worst = ind.assess(release).risk.sensitive[0].worst
    assert worst
    assert all(dict(each.values) in [{k: str(v) for k, v in row.items()} for row in shown] for each in worst)
    assert worst[0].largest_share == max(each.largest_share for each in worst)


def test_levels_are_the_risk_of_that_node(patients):
    found = ind.assess(patients, SCHEMA, hierarchies=HIERARCHIES)
    (zipcode,) = (each for each in found.risk.columns if each.column == "zipcode")
    coarser = ind.anonymize(
        patients, SCHEMA, model="k-anonymity:k=1", algorithm="node:levels=0|0|2", hierarchies=HIERARCHIES
    )
    after = ind.assess(coarser)
    assert zipcode.levels[1].prosecutor == after.risk.prosecutor
    assert len(zipcode.levels) == 5
    # What is above the labels of the release is what is above the values of the original.
    (rest,) = (each for each in after.risk.columns if each.column == "zipcode")
    assert rest.levels == zipcode.levels[2:]
    assert rest.removed == zipcode.removed


def test_thresholds_are_compared_in_whole_numbers():
    table = pa.table({"x": [0] * 20 + [1] * 11})
    schema = ind.Schema(quasi=["x"])
    assert ind.assess(table, schema, threshold=0.05).risk.prosecutor.at_risk == pytest.approx(11 / 31)
    assert ind.assess(table, schema, threshold=0.09).risk.prosecutor.at_risk == pytest.approx(11 / 31)
    assert ind.assess(table, schema, threshold=0.0910).risk.prosecutor.at_risk == 0


def test_attribute_disclosure_is_what_models_achieve(release, patients):
    told = ind.assess(release, original=patients, hierarchies=HIERARCHIES).to_json()["sensitive"]["disease"]
    for model, key in (
        ("distinct-l-diversity:sensitive=disease,l=1", told["l"]["distinct"]),
        ("entropy-l-diversity:sensitive=disease,l=1", told["l"]["entropy"]),
        ("t-closeness:sensitive=disease,t=1", told["t"]["equal"]),
    ):
        certificate = ind.verify(release.table, SCHEMA, model, original=patients)
        assert next(iter(certificate.verdicts[0].achieved.values())) == pytest.approx(key)


def test_distances_are_told_where_they_apply():
    table = pa.table({"q": ["a", "a", "b", "b"], "n": [1, 2, 3, 4], "s": ["u", "v", "u", "w"]})
    schema = ind.Schema(quasi=["q"], sensitive=["n", "s"])
    tree = ind.Hierarchy.tree({"*": {"early": ["u", "v"], "late": ["w"]}})
    told = ind.assess(table, schema, hierarchies={"s": tree}).to_json()["sensitive"]
    assert set(told["n"]["t"]) == {"equal", "ordered"}
    assert set(told["s"]["t"]) == {"equal", "hierarchical"}
    # n: values 1 and 2 against 1 to 4: half of the mass moves two of three places.
    assert told["n"]["t"]["ordered"] == pytest.approx((1 / 4 + 2 / 4 + 1 / 4) / 3)
    # s: u has a share of one half in both, w of one half instead of a quarter.
    assert (told["s"]["beta"], told["s"]["delta"]) == (1.0, 1.0)


def test_survey_weights_give_individual_risk():
    table = pa.table({"q": ["a", "a", "b"], "w": [180.0, 180.0, 215.0]})
    told = ind.assess(table, ind.Schema(quasi=["q"], insensitive=["w"]), weights="w").to_json()["individual"]
    assert told["highest"] == pytest.approx(0.0251, abs=5e-5)
    assert told["expected"] == pytest.approx(2 * 0.0054 + 0.0251, abs=2e-4)
    with pytest.raises(SchemaError, match="survey weights"):
        ind.assess(table, ind.Schema(quasi=["q"], insensitive=["w"]), weights="ww")


def test_special_uniques_and_unique_sets_are_told_when_asked_for(patients):
    told = ind.assess(patients, SCHEMA, suda=2, unique_sets=2).to_json()
    assert told["special_uniques"]["special_uniques"] > 0
    assert max(len(each["columns"]) for each in told["unique_sets"]["sets"]) == 2
    assert ind.assess(patients, SCHEMA).to_json()["unique_sets"] is None
    with pytest.raises(ParameterError, match="suda"):
        ind.assess(patients, SCHEMA, suda=0)


# A population.


def test_look_alikes_are_those_whom_labels_cover():
    table = pa.table({"age": [20, 21, 30, 31]})
    everybody = pa.table({"age": [20, 20, 21, 30, 31, 32, 39, 50]})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=["age"]),
        model="k-anonymity:k=2",
        algorithm="node:levels=1",
        hierarchies={"age": ind.Hierarchy.intervals([10])},
    )
    found = ind.assess(release, population=everybody)  # three in their twenties, four in their thirties
    assert found.risk.journalist.highest == 1 / 3
    assert found.risk.marketer == pytest.approx((2 / 3 + 2 / 4) / 4)
    assert found.before is not None
    assert found.before.journalist.highest == 1.0
    published = ind.assess(
        release.table,
        ind.Schema(quasi=["age"]),
        population=everybody,
        hierarchies={"age": ind.Hierarchy.intervals([10])},
    )
    assert published.risk.journalist == found.risk.journalist


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.9, 1.0])
def test_expected_look_alikes_are_the_mean_of_a_negative_binomial(fraction):
    """Sum the posterior of F given f; three and more are an approximation in the paper too."""
    for size in (1, 2, 3, 7):
        total, weight, more = 0.0, fraction**size, 0
        for more in range(20_000):
            total += weight / (size + more)
            weight *= (1 - fraction) * (size + more) / (more + 1)
        told = expected_reciprocals(np.array([size]), fraction)[0]
        assert told == pytest.approx(total, rel=1e-6 if size < 3 else 0.06)


def test_who_is_estimated_to_be_unique_has_no_less_risk():
    sizes = np.array([1, 1, 1, 1, 5])
    plain, told = (expected_reciprocals(sizes, 0.1, unique_share=share) for share in (0.0, 0.4))
    unique, alone = 9 * 0.4 / 4, risks_of_counts(np.array([1]), np.array([10.0]))[0]
    assert plain[0] == pytest.approx(alone)
    assert told[0] == pytest.approx(unique + (1 - unique) * (alone - 0.1) / 0.9)
    assert (plain[4], told[4]) == (risks_of_counts(np.array([5]), np.array([50.0]))[0],) * 2


def test_estimates_are_near_what_is_counted_in_a_population_that_was_drawn_from():
    everybody = generate_census(20_000, seed=4)
    quasi = ["age", "sex", "race", "marital"]
    schema = ind.Schema(quasi=quasi, insensitive=[name for name in everybody.column_names if name not in quasi])
    drawn = everybody.take(np.random.default_rng(1).permutation(20_000)[:2_000])
    counted = ind.assess(drawn, schema, population=everybody).risk
    estimated = ind.assess(drawn, schema, population_size=20_000).risk
    truth = ind.assess(everybody, schema).risk
    bias = estimated.population.expected_marketer / counted.marketer - 1
    print(f"bias of the estimated marketer's risk: {bias:+.1%}")  # noqa: T201
    assert abs(bias) < 0.25
    assert estimated.marketer == estimated.prosecutor.average > counted.marketer
    unique = estimated.population.estimates.dankar / (truth.uniques / 20_000) - 1
    print(f"bias of the estimated share of population uniques: {unique:+.1%}")  # noqa: T201
    assert abs(unique) < 1
    assert estimated.population.estimates == counted.population.estimates


def test_a_population_may_be_a_size_or_a_fraction(patients, release):
    by_size = ind.assess(patients, SCHEMA, population_size=3_000).to_json()
    by_share = ind.assess(patients, SCHEMA, sampling_fraction=0.1).to_json()
    assert by_size["population_uniques"] == by_share["population_uniques"]
    assert by_size["journalist"] == by_share["journalist"]
    assert "estimated" in by_size["journalist"]["basis"]
    # Of a release, the fraction is that of its original: what was suppressed was drawn as well.
    after = ind.assess(release, sampling_fraction=0.1)
    assert after.risk.rows < 300
    assert after.risk.population.estimates.population_size == 3_000
    whole = ind.assess(patients, SCHEMA, sampling_fraction=1).to_json()
    assert whole["journalist"]["highest"] == whole["prosecutor"]["highest"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"population_size": 10}, InputError, "fewer than the table"),
        ({"population_size": 0}, ParameterError, "whole number"),
        ({"population_size": True}, ParameterError, "whole number"),
        ({"sampling_fraction": 0}, ParameterError, "above 0 and at most 1"),
        ({"sampling_fraction": 1.5}, ParameterError, "above 0 and at most 1"),
        ({"sampling_fraction": float("nan")}, ParameterError, "above 0 and at most 1"),
        ({"population_size": 999, "sampling_fraction": 0.5}, ParameterError, "cannot be used together"),
        ({"threshold": 0}, ParameterError, "threshold"),
        ({"threshold": "high"}, ParameterError, "threshold"),
        ({"profile": "pubic"}, ParameterError, "no profile"),
        ({"profile": "public:highest=2"}, ParameterError, "from 0 to 1"),
        ({"profile": "public:attacker=thief"}, ParameterError, "prosecutor, journalist"),
    ],
)
def test_what_cannot_be_is_refused(patients, options, error, words):
    with pytest.raises(error, match=words):
        ind.assess(patients, SCHEMA, **options)


def test_a_population_is_read_as_the_table_was(tmp_path):
    """Leading zeros, and days before months: what was declared for the table holds for its population."""
    rows = [("01", "03.04.2020"), ("1", "03.04.2020"), ("01", "05.06.2020")]
    table, everybody = tmp_path / "table.csv", tmp_path / "everybody.csv"
    for path, more in ((table, []), (everybody, [*rows, ("7", "13.04.2020")])):
        path.write_text("zip;day\n" + "".join(f"{a};{b}\n" for a, b in [*rows, *more]))
    opened = ind.open(table, text=["zip"], dates=["%d.%m.%Y"])
    schema = ind.Schema(quasi=["zip", "day"])
    found = ind.assess(opened, schema, population=everybody)
    assert found.risk.journalist.highest == 1 / 2
    assert found.risk.population.counted == 0
    short = tmp_path / "short.csv"
    short.write_text("zip\n01\n1\n01\n")
    with pytest.raises(InputError, match="the population has no column 'day'"):
        ind.assess(opened, schema, population=short)
    release = ind.anonymize(
        opened,
        schema,
        model="k-anonymity:k=1",
        algorithm="node:levels=0|0",
        hierarchies={"zip": ind.Hierarchy.suppression(), "day": ind.Hierarchy.suppression()},
    )
    for original in (None, opened):
        found = ind.assess(release, population=str(everybody), original=original)
        assert found.risk.journalist.highest == found.before.journalist.highest == 1 / 2


def test_populations_that_do_not_fit_are_refused(patients):
    with pytest.raises(InputError, match="fewer than the table"):
        ind.assess(patients, SCHEMA, population=patients.slice(0, 200))
    with pytest.raises(InputError, match="no column 'sex'"):
        ind.assess(patients, SCHEMA, population=patients.drop_columns(["sex"]))
    with pytest.raises(InputError, match="none of the quasi-identifiers"):
        ind.assess(patients, SCHEMA, population=patients.select(["name", "cost"]))
    texts = pa.array([f"{age} years" for age in patients["age"].to_pylist()])
    with pytest.raises(InputError, match="'age' of the population is text"):
        ind.assess(patients, SCHEMA, population=patients.set_column(1, "age", texts))
    older = patients.set_column(1, "age", pa.array([age + 200 for age in patients["age"].to_pylist()]))
    with pytest.raises(InputError, match="the population is smaller than the sample"):
        ind.assess(patients, SCHEMA, population=older)


# An original that does not fit.


def test_an_original_must_contain_the_release(release, patients):
    with pytest.raises(InputError, match="the original has 40"):
        ind.assess(release.table, SCHEMA, original=patients.slice(0, 40), hierarchies=HIERARCHIES)
    other = generate_patients(400, seed=9).drop_columns(["admitted"])
    with pytest.raises(InputError, match="original"):
        ind.assess(release.table, SCHEMA, original=other, hierarchies=HIERARCHIES)
    with pytest.raises(InputError, match="not the original of this release"):
        ind.assess(release, original=other)
    # Labels that are true of no row: every woman of the original is gone.
    men = patients.filter(pa.compute.equal(patients["sex"], "male"))
    doubled = pa.concat_tables([men] * 3)
    with pytest.raises(InputError, match=r"original|release"):
        ind.assess(release.table, SCHEMA, original=doubled, hierarchies=HIERARCHIES)


def test_more_rows_than_a_label_covers_are_refused():
    schema, tree = ind.Schema(quasi=["age"]), {"age": ind.Hierarchy.intervals([10])}
    original = pa.table({"age": [20, 21, 30, 31]})
    release = ind.anonymize(
        original, schema, model="k-anonymity:k=2", algorithm="node:levels=1", hierarchies=tree
    ).table
    forged = pa.concat_tables([release.slice(0, 1)] * 4)
    with pytest.raises(InputError, match="does not contain the release"):
        ind.assess(forged, schema, original=original, hierarchies=tree)


def test_a_declared_order_does_not_name_the_labels_of_a_release(tmp_path):
    schema = ind.Schema(quasi=["school"], sensitive=["s"])
    original = pa.table({"school": ["none", "some", "much", "most"] * 3, "s": ["x", "y", "z"] * 4})
    orders = {"school": ind.Hierarchy.order(["none", "some", "much", "most"])}
    made = ind.anonymize(original, schema, model="k-anonymity:k=5", algorithm="mondrian", hierarchies=orders)
    assert set(made.to_pandas()["school"]).isdisjoint(["none", "some", "much", "most"])
    path = tmp_path / "release.parquet"
    made.write(path)
    beside = ind.assess(made, original=original)
    for alone in (made.table, path):
        found = ind.assess(alone, schema, hierarchies=orders)
        assert (found.risk.classes, found.risk.prosecutor) == (2, beside.risk.prosecutor)
    with pytest.raises(InputError, match="declared order"):
        ind.assess(original, schema, hierarchies={"s": ind.Hierarchy.order(["x", "y"])})


def test_roles_must_be_known(patients):
    with pytest.raises(ParameterError, match="roles"):
        ind.assess(patients)
    with pytest.raises(SchemaError, match="no column 'height'"):
        ind.assess(patients, ind.Schema(quasi=["height"]))
    with pytest.raises(SchemaError, match="quasi-identifier"):
        ind.assess(patients, ind.Schema(sensitive=["disease"]))


def test_an_empty_class_list_has_no_risk():
    nothing = Classes(np.zeros(0, dtype=np.int64))
    assert prosecutor(nothing, threshold=Fraction("0.09")) == NO_RISK
    assert class_sizes(nothing).histogram == {}


def test_a_column_called_path_is_a_column():
    """A frame of pandas has its columns as attributes: that one is no place of a file."""
    frame = pytest.importorskip("pandas").DataFrame({"age": [20, 20, 30], "path": ["a", "b", "c"]})
    assert ind.assess(frame, ind.Schema(quasi=["age"], insensitive=["path"])).risk.uniques == 1
