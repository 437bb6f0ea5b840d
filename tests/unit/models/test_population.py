"""A population beside a table: how it is given, counted, used by searches, and counted again by every check."""

import datetime
import random

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InfeasibleError, InputError, ParameterError, VerificationError

SCHEMA = ind.Schema(identifiers=["id"], quasi=["age", "zip"], sensitive=["s"])
TREES = {"age": ind.Hierarchy.intervals([5, 10, 20]), "zip": ind.Hierarchy.masking()}
PRESENCE = "delta-presence:low=0.05,high=0.3"


@pytest.fixture(scope="module")
def both():
    """Return a sample of sixty people and the four hundred from whom it was drawn."""
    dice = random.Random(1)  # noqa: S311
    zips = ["53710", "53711", "53712", "53715", "53799"]
    people = [
        {"id": place, "age": dice.randint(20, 60), "zip": dice.choice(zips), "s": dice.choice("abcde")}
        for place in range(400)
    ]
    return pa.Table.from_pylist(dice.sample(people, 60)), pa.Table.from_pylist(people).drop(["s"])


def anonymized(both, model, algorithm="optimal", **options):
    table, population = both
    given = {"hierarchies": TREES, "population": population, **options}
    return ind.anonymize(table, SCHEMA, model=model, algorithm=algorithm, **given)


def plain_counts(release, population):
    """Return people of the release and of the population by published labels, found by the labels' own words."""

    def true_of(label, age):
        if label == "*":
            return True
        if "-" in label:
            low, high = label.strip("[]").split("-")
            return int(low) <= age <= int(high)
        return label == str(age)

    shown = [(str(row["age"]), row["zip"]) for row in release.table.to_pylist()]
    masks = {label: label.replace("*", "") for _, label in shown}
    return {
        vector: (
            shown.count(vector),
            sum(
                true_of(vector[0], row["age"]) and row["zip"].startswith(masks[vector[1]])
                for row in population.to_pylist()
            ),
        )
        for vector in dict.fromkeys(shown)
    }


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "samarati", "tds", "auto"])
def test_what_a_release_says_of_a_population_is_counted_on_its_labels(both, algorithm):
    release = anonymized(both, PRESENCE, algorithm)
    counted = plain_counts(release, both[1])
    shares = [f / everybody for f, everybody in counted.values()]
    (verdict,) = release.certificate.verdicts
    assert sum(everybody for _, everybody in counted.values()) == 400  # nobody may be outside
    assert verdict.achieved == {"low": pytest.approx(min(shares)), "high": pytest.approx(max(shares))}
    assert release.certificate.population_size == 400
    assert release.certificate.to_json()["population_size"] == 400


def test_people_whose_values_no_row_has_are_counted(both):
    """A search over levels counts everybody, one that cuts counts who shares all values with a row."""
    table, population = both
    narrow = ind.KMap(k=7)
    release = anonymized(both, narrow)
    fewest = min(everybody for _, everybody in plain_counts(release, population).values())
    assert release.certificate.verdicts[0].achieved == {"k": fewest}
    assert fewest >= 7
    cut = anonymized(both, narrow, "mondrian")
    again = ind.verify(cut.table, SCHEMA, narrow, hierarchies=TREES, population=population)
    assert again.verdicts == cut.certificate.verdicts
    assert again.holds
    few = ind.anonymize(table, SCHEMA, model=ind.KAnonymity(7), algorithm="optimal", hierarchies=TREES)
    assert len(anonymized(both, narrow).classes()) > len(few.classes())


def test_a_class_without_rows_is_not_published(both):
    release = anonymized(both, "delta-presence:low=0,high=0.3", "optimal")
    assert release.assignment.classes.sizes.min() >= 1
    assert release.certificate.classes == len(release.classes()) == len(release.assignment.classes)
    assert release.certificate.verdicts[0].achieved["low"] == 0  # of some class of the population nobody is there


def test_nobody_may_be_dropped_where_everybody_must_be_present(both):
    release = anonymized(both, PRESENCE, suppression=0.5)
    assert release.certificate.suppressed_rows == 0
    loose = anonymized(both, f"{PRESENCE},absent=false", suppression=0.5)
    assert loose.certificate.suppressed_rows > 0
    with pytest.raises(InfeasibleError):
        anonymized(both, f"{PRESENCE} & k-anonymity:k=61", suppression=0.5)


@pytest.mark.parametrize("model", [PRESENCE, "k-map:k=5"])
def test_a_model_that_needs_a_population_asks_for_one(both, model):
    table, _ = both
    for attempt in (
        lambda: anonymized(both, model, population=None),
        lambda: ind.verify(table.drop(["id"]), SCHEMA, model),
        lambda: ind.explore(table, SCHEMA, model=model, hierarchies=TREES),
    ):
        with pytest.raises(ParameterError, match="compares the release with a population, and none is given") as caught:
            attempt()
        assert "--population" in caught.value.hint


def test_a_population_must_contain_the_people_of_the_table(both):
    table, population = both
    with pytest.raises(InputError, match="the population is smaller than the sample"):
        anonymized(both, "k-map:k=2", population=population.slice(0, 50))
    with pytest.raises(InputError, match="the population has no column 'zip'"):
        anonymized(both, "k-map:k=2", population=population.drop(["zip"]))
    with pytest.raises(InputError, match="the population has no rows"):
        anonymized(both, "k-map:k=2", population=population.slice(0, 0))
    release = anonymized(both, PRESENCE)
    with pytest.raises(InputError, match="the population is smaller than the sample"):
        ind.verify(release.table, SCHEMA, PRESENCE, hierarchies=TREES, population=table.slice(0, 30))


def test_any_check_counts_the_population_again(both):
    table, population = both
    release = anonymized(both, PRESENCE)
    for more in ({}, {"recoding": release.recoding}, {"original": table}):
        checked = ind.verify(release.table, SCHEMA, PRESENCE, hierarchies=TREES, population=population, **more)
        assert checked.holds
        assert checked.verdicts[0].achieved == release.certificate.verdicts[0].achieved
        assert checked.population_size == 400
    strangers = population.append_column("n", pa.array([1] * 400)).drop(["n"])
    grown = pa.concat_tables([strangers] * 9)  # the same people nine times: shares are nine times as small
    assert not ind.verify(release.table, SCHEMA, PRESENCE, hierarchies=TREES, population=grown).holds


def test_who_was_suppressed_is_absent(both):
    """A file from which somebody took a class keeps no promise that speaks of absent people."""
    _, population = both
    release = anonymized(both, PRESENCE)
    first = release.classes().slice(0, 1).to_pylist()[0]
    rows = [row for row in release.table.to_pylist() if (row["age"], row["zip"]) != (first["age"], first["zip"])]
    left = pa.Table.from_pylist(rows)
    assert not ind.verify(left, SCHEMA, PRESENCE, hierarchies=TREES, population=population).holds
    loose = f"{PRESENCE},absent=false"
    assert ind.verify(left, SCHEMA, loose, hierarchies=TREES, population=population).holds


def test_a_population_that_no_model_looks_at_is_named(both):
    table, population = both
    release = anonymized(both, "k-anonymity:k=3")
    told = "the population is not used: no model compares with it"
    assert told in release.certificate.warnings
    assert release.certificate.population_size is None
    assert told in ind.apply(release.recoding, table, population=population).certificate.warnings
    assert told not in anonymized(both, "k-map:k=3").certificate.warnings


def test_overlapping_labels_do_not_tell_who_is_where(both):
    _, population = both
    overlapping = pa.table({"age": ["[20-40]", "[30-60]"], "zip": ["537**", "537**"], "s": ["a", "b"]})
    with pytest.raises(InputError, match="match several published classes"):
        ind.verify(overlapping, SCHEMA, "delta-presence:low=0,high=0.5", hierarchies=TREES, population=population)
    assert ind.verify(overlapping, SCHEMA, "k-map:k=50", hierarchies=TREES, population=population).holds


def test_a_recoding_is_applied_beside_a_population(both):
    table, population = both
    release = anonymized(both, PRESENCE)
    again = ind.apply(release.recoding, table, population=population)
    assert again.certificate.verdicts == release.certificate.verdicts
    with pytest.raises(ParameterError, match="none is given"):
        ind.apply(release.recoding, table)
    fewer = table.slice(0, 8)  # too few of the population are left
    with pytest.raises(VerificationError):
        ind.apply(release.recoding, fewer, population=population)
    mapped = anonymized(both, "k-map:k=12", suppression=0.3)
    small = pa.concat_tables([population.filter(pa.compute.less(population["age"], 40)), table.drop(["s"])])
    smaller = ind.apply(mapped.recoding, table, population=small, suppression=0.9)
    assert smaller.certificate.verdicts[0].achieved["k"] >= 12
    assert smaller.certificate.suppressed_rows > mapped.certificate.suppressed_rows


def test_people_of_the_population_are_counted_once():
    """Everybody has two rows in the register, in one cell or in two: they are one person in a union."""
    schema = ind.Schema(quasi=["age"], person=["id"], sensitive=["s"])
    register = pa.table({"id": [1, 1, 2, 2, 3, 3, 4, 4], "age": [30, 31, 30, 30, 31, 31, 30, 31]})
    table = pa.table({"id": [1, 2, 2], "age": [30, 30, 30], "s": ["a", "b", "b"]})
    trees = {"age": ind.Hierarchy.intervals([10])}
    made = {
        k: ind.anonymize(table, schema, model=ind.KMap(k), algorithm="optimal", hierarchies=trees, population=register)
        for k in (3, 4)
    }
    assert made[3].table["age"].to_pylist() == [30, 30, 30]  # people 1, 2 and 4 are thirty
    assert made[3].certificate.verdicts[0].achieved == {"k": 3}
    assert made[4].certificate.verdicts[0].achieved == {"k": 4}
    assert made[4].certificate.population_size == 4
    with pytest.raises(InfeasibleError):
        ind.anonymize(table, schema, model=ind.KMap(5), algorithm="optimal", hierarchies=trees, population=register)


def test_a_register_without_the_column_has_a_row_a_person():
    schema = ind.Schema(quasi=["age"], person=["id"], sensitive=["s"])
    table = pa.table({"id": [1, 2, 2], "age": [30, 30, 30], "s": ["a", "b", "b"]})
    register = pa.table({"age": [30, 30, 30, 31]})
    release = ind.anonymize(table, schema, model=ind.KMap(3), algorithm="optimal", population=register)
    assert release.certificate.verdicts[0].achieved == {"k": 3}
    presence = ind.anonymize(table, schema, model=ind.DeltaPresence(0, 0.7), algorithm="optimal", population=register)
    assert presence.certificate.verdicts[0].achieved["high"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("model", ["average-risk:threshold=0.25", "sample-uniqueness:share=0.1"])
@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "datafly", "value-suppression", "auto"])
def test_release_wide_models_of_people(model, algorithm):
    """Somebody with rows in several classes is one of the people whose number bounds the classes."""
    dice = random.Random(4)  # noqa: S311
    rows = [{"id": dice.randint(1, 40), "age": dice.randint(20, 60), "s": dice.choice("abc")} for _ in range(80)]
    schema = ind.Schema(quasi=["age"], person=["id"], sensitive=["s"])
    release = ind.anonymize(
        pa.Table.from_pylist(rows), schema, model=model, algorithm=algorithm, hierarchies={"age": TREES["age"]}
    )
    people = {row["id"] for row in rows}
    by_label = {}
    for cell, owner in zip(release.assignment.frequencies.vectors[:, 0], release.assignment.class_ids, strict=True):
        age = release.assignment.domains[0].values[int(cell)].as_py()
        by_label.setdefault(int(owner), set()).update(row["id"] for row in rows if row["age"] == age)
    alone = {next(iter(each)) for each in by_label.values() if len(each) == 1}
    share = len(by_label) / len(people) if model.startswith("average") else len(alone) / len(people)
    assert release.certificate.verdicts[0].achieved == {model.partition(":")[2].partition("=")[0]: pytest.approx(share)}


@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "datafly", "node", "incognito"])
def test_the_smallest_classes_are_dropped_until_a_release_wide_model_holds(both, algorithm):
    table, _ = both
    base = {"hierarchies": TREES, "algorithm": "node:levels=2|0" if algorithm == "node" else algorithm}
    release = ind.anonymize(table, SCHEMA, model="average-risk:threshold=0.4", suppression=0.3, **base)
    kept = release.classes()["rows"].to_pylist()
    assert len(kept) <= 0.4 * sum(kept)
    assert sum(kept) >= 0.7 * 60


def test_a_check_without_the_original_says_that_it_takes_the_published_rows_for_the_sample() -> None:
    published, original = pa.table({"q": ["a"] * 4 + ["b"] * 4}), pa.table({"q": ["a"] * 4 + ["b"] * 4 + ["c"] * 22})
    model, schema = "k-map:k=8,significance=0.05,population_size=100", ind.Schema(quasi=["q"])
    alone = ind.verify(published, schema, model)
    assert (alone.holds, ind.verify(published, schema, model, original=original).holds) == (True, False)
    assert any("taken for the whole sample" in warning for warning in alone.warnings)
    known = ind.verify(published, schema, f"{model},sample_size=30")
    assert not known.holds
    assert not any("whole sample" in warning for warning in known.warnings)


@pytest.mark.parametrize("algorithm", ["optimal", "node:levels=0", "auto", "datafly", "value-suppression"])
def test_a_model_that_is_not_monotone_may_hold_where_the_whole_table_breaks_it(algorithm: str) -> None:
    """Of each published value enough people are in the table, and of all together too few."""
    table = pa.table({"q": ["a", "b"]})
    register = pa.table({"q": ["a"] * 2 + ["b"] * 3 + ["c"] * 10})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=["q"]),
        model="delta-presence:low=0.3,high=0.8,absent=false",
        algorithm=algorithm,
        hierarchies={"q": ind.Hierarchy.suppression()},
        population=register,
    )
    assert sorted(release.table["q"].to_pylist()) == ["a", "b"]


def test_a_chosen_node_may_drop_what_breaks_the_whole_table() -> None:
    """Three of five have the value, and only two of them stand in a class that breaks the model."""
    table = pa.table({"q": ["a", "a", "b", "b", "c"], "s": ["x", "y", "x", "y", "x"]})
    known = {"hierarchies": {"q": ind.Hierarchy.suppression()}, "suppression": 0.2}
    for algorithm in ("optimal", "node:levels=0", "datafly", "value-suppression"):
        release = ind.anonymize(
            table,
            ind.Schema(quasi=["q"], sensitive=["s"]),
            model="alpha-k:sensitive=s,alpha=0.5,k=1",
            algorithm=algorithm,
            **known,
        )
        assert release.table.num_rows == 4


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "value-suppression"])
@pytest.mark.parametrize("suppression", [0.0, 0.2])
def test_nothing_is_dropped_beyond_the_budget_where_no_class_satisfies_the_model(algorithm, suppression) -> None:
    """Of nobody's value are there enough people in the table, and of all together too few."""
    with pytest.raises(InfeasibleError):
        ind.anonymize(
            pa.table({"q": ["a", "b"] * 5}),
            ind.Schema(quasi=["q"]),
            model="delta-presence:low=0.3,high=0.8,absent=false",
            algorithm=algorithm,
            hierarchies={"q": ind.Hierarchy.suppression()},
            population=pa.table({"q": ["a"] * 20 + ["b"] * 30}),
            suppression=suppression,
        )


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_moments_of_a_population_are_compared_by_the_clock_on_the_wall(engine):
    moments = [datetime.datetime(2024, 10, 26, hour, tzinfo=datetime.UTC) for hour in (20, 21)]
    kind = pa.timestamp("us", "America/New_York")
    table = pa.table({"at": pa.array(moments * 2, kind)})
    everybody = pa.table({"at": pa.array(moments * 5, kind)})
    schema = ind.Schema(quasi=["at"])
    release = ind.anonymize(table, schema, model="k-map:k=5", algorithm="mondrian", population=everybody, engine=engine)
    assert release.certificate.verdicts[0].achieved == {"k": 5}
