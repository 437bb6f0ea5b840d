"""Least and most levels: every algorithm that has levels keeps to them, and errors name a bound that is too tight."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.recoding.columns import LevelBounds, levels_of, parse_bounds
from indistinct.text_form import spell

ROWS = 240
ZIPS = ind.Hierarchy.masking()
AGES = ind.Hierarchy.intervals([5, 10, 20])
JOBS = ind.Hierarchy.tree({"*": {"art": ["dancer", "writer"], "craft": ["baker", "smith"], "care": ["nurse"]}})
HIERARCHIES = {"zip": ZIPS, "age": AGES, "job": JOBS}
SCHEMA = ind.Schema(quasi=["zip", "age", "job"], sensitive=["ill"])
WITHOUT = ("node", "anatomy", "slicing", "multiset", "single-dimensional")
FORMS = [name for name in ALGORITHMS if name not in WITHOUT]
FORMS += [
    "kaca:stub=false",
    "two-level:stub=true",
    "mondrian:choose=loss",
    "mondrian:relaxed=true",
    "node:levels=2|1|1",
]
FORMS += ["cell-suppression:start=datafly", "refine:start=mondrian", "mondrian:extent=region"]


@pytest.fixture(scope="module")
def people():
    dice = np.random.default_rng(5)
    return pa.table(
        {
            "zip": [f"{z:04d}" for z in dice.choice([1010, 1011, 1020, 1130, 2200, 2210], ROWS)],
            "age": dice.integers(20, 60, ROWS),
            "job": dice.choice(["dancer", "writer", "baker", "smith", "nurse"], ROWS),
            "ill": dice.choice(["flu", "cold", "none"], ROWS),
        }
    )


def labels_on(levels):
    """Return the labels that lie on some levels: of zip by the number of stars, of age and job by what they are."""
    zips = lambda text: len(text) - len(text.rstrip("*"))  # noqa: E731
    jobs = {"art": 1, "craft": 1, "care": 1, "*": 2}

    def age(text):
        if "-" not in text and text != "*":
            return 0
        low, high = map(int, text.strip("[]").split("-"))
        return {5: 1, 10: 2, 20: 3}[high - low + 1]

    level_of = {"zip": zips, "job": lambda text: jobs.get(text, 0), "age": lambda text: 4 if text == "*" else age(text)}
    return {name: level_of[name] for name in levels}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "levels", [{"zip": (1, 3), "age": (2, None)}, {"zip": (0, 2), "job": (1, 1)}, {"zip": (2, 2), "age": (1, 3)}]
)
def test_every_label_lies_within_its_levels(people, form, levels):
    algorithm = parse_algorithm(form)
    given = {name: (least, most) for name, (least, most) in levels.items()}
    if form.startswith("node"):
        given = {"zip": (1, 2), "age": (1, 3)}
    release = ind.anonymize(
        people, SCHEMA, model="k-anonymity:k=3", algorithm=algorithm, hierarchies=HIERARCHIES, levels=given,
        suppression=0.3,
    )  # fmt: skip
    rows = release.table.to_pylist()
    assert min(Counter((row["zip"], row["age"], row["job"]) for row in rows).values()) >= 3
    for name, level in labels_on(given).items():
        least, most = given[name]
        shown = {level(str(row[name])) for row in rows}
        assert min(shown) >= least, name
        assert most is None or max(shown) <= most, name
    assert release.certificate.holds
    assert len(rows) >= 0.7 * ROWS


def test_levels_are_numbered_in_the_hierarchy_as_it_was_given(people):
    release = ind.anonymize(
        people, SCHEMA, model="k-anonymity:k=3", algorithm="optimal", hierarchies=HIERARCHIES, suppression=0.1,
        levels={"zip": (2, 2), "job": (1, None)},
    )  # fmt: skip
    assert release.recoding.level_of("zip") == 2
    assert release.recoding.level_of("job") in (1, 2)


def test_a_node_may_be_chosen_within_levels_alone(people):
    options = {"model": "k-anonymity:k=1", "hierarchies": HIERARCHIES, "levels": {"zip": (1, 3)}}
    release = ind.anonymize(people, SCHEMA, algorithm=ind.ChosenNode((3, 0, 0)), **options)
    assert release.recoding.level_of("zip") == 3
    for node in ((0, 0, 0), (4, 0, 0), (1, 0)):
        with pytest.raises(ParameterError, match="lies outside the lattice, whose levels are zip 1 to 3"):
            ind.anonymize(people, SCHEMA, algorithm=ind.ChosenNode(node), **options)


def test_the_best_node_within_levels_is_the_best_of_those_nodes(people):
    """Without bounds every node is weighed; of those within the bounds the best one is found."""
    levels = {"zip": (1, 3), "age": (1, 3)}
    options = {"model": "k-anonymity:k=4", "hierarchies": HIERARCHIES, "suppression": 0.1}
    found = ind.anonymize(people, SCHEMA, algorithm="optimal", levels=levels, **options)
    best = None
    for zip_level in range(1, 4):
        for age in range(1, 4):
            for job in range(3):
                try:
                    node = ind.anonymize(people, SCHEMA, algorithm=ind.ChosenNode((zip_level, age, job)), **options)
                except InfeasibleError:
                    continue
                loss = ind.measure(ind.published(node, original=people), ["loss"])["loss"]
                best = loss if best is None else min(best, loss)
    assert ind.measure(ind.published(found, original=people), ["loss"])["loss"] == pytest.approx(best)


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "mondrian", "kaca", "auto", "tds"])
def test_an_infeasible_bound_is_named_with_what_would_do(people, algorithm):
    with pytest.raises(InfeasibleError) as refused:
        ind.anonymize(
            people, SCHEMA, model="k-anonymity:k=60", algorithm=algorithm, hierarchies=HIERARCHIES,
            levels={"zip": (0, 1), "job": (0, 1)},
        )  # fmt: skip
    assert "zip=0..1" in refused.value.message
    assert "zip up to level 4" in refused.value.hint or "no most level for zip, job" in refused.value.hint


def test_a_coarser_bound_that_the_error_names_would_do(people):
    options = {"model": "k-anonymity:k=50", "algorithm": "optimal", "hierarchies": HIERARCHIES}
    with pytest.raises(InfeasibleError, match=r"within the levels zip=0\.\.1") as refused:
        ind.anonymize(people, SCHEMA, levels={"zip": (0, 1)}, **options)
    level = int(refused.value.hint.split("zip up to level ")[1].split(";")[0].split(" ")[0])
    assert ind.anonymize(people, SCHEMA, levels={"zip": (0, level)}, **options).certificate.holds
    with pytest.raises(InfeasibleError):
        ind.anonymize(people, SCHEMA, levels={"zip": (0, level - 1)}, **options)


def test_a_recoding_within_levels_is_stored_and_applied_again(people, tmp_path):
    for algorithm in ("optimal", "mondrian", "kaca:stub=false"):
        path = tmp_path / f"{algorithm.partition(':')[0]}.json"
        release = ind.anonymize(
            people, SCHEMA, model="k-anonymity:k=3", algorithm=algorithm, hierarchies=HIERARCHIES,
            levels={"zip": (1, 3), "age": (1, None)}, suppression=0.3, save_recoding=path, output=tmp_path / "r.csv",
            overwrite=True,
        )  # fmt: skip
        again = ind.apply(path, people)
        assert again.table.num_rows == release.certificate.rows
        assert Counter(map(str, again.table.to_pylist())).keys() == Counter(map(str, release.table.to_pylist())).keys()


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"zpi": (0, 1)}, "names the column 'zpi', which is not a quasi-identifier"),
        ({"ill": (0, 1)}, "names the column 'ill', which is not a quasi-identifier"),
        ({"zip": (0, 9)}, "of 'zip' must lie within its hierarchy, 0..4; got 0..9"),
        ({"zip": (3, 1)}, "of 'zip' must not begin above their end; got 3..1"),
        ({"zip": (-1, 1)}, "of 'zip' must be whole numbers from 0; got -1 and 1"),
        ({"zip": 3}, "of 'zip' must be a pair of levels; got int"),
        ({"zip": "a"}, "of 'zip' must be two levels, such as 1..3; got 'a'"),
    ],
)
def test_levels_that_make_no_sense_are_refused(people, levels, words):
    with pytest.raises(ParameterError, match="`levels` " + words.replace(".", r"\.")) as refused:
        ind.anonymize(people, SCHEMA, model="k-anonymity:k=3", hierarchies=HIERARCHIES, levels=levels_of(levels).bounds
                      and dict(levels_of(levels).bounds))  # fmt: skip
    assert refused.value.hint


def test_buckets_have_no_levels(people):
    with pytest.raises(ParameterError, match="anatomy publishes unmodified values"):
        ind.anonymize(people, SCHEMA, algorithm="anatomy:l=2", levels={"zip": (1, 2)}, hierarchies=HIERARCHIES)


def test_bounds_are_spelled_as_they_are_read():
    for text in ("1..3", "2..", "0..0"):
        bounds = LevelBounds((("zip", parse_bounds("zip", text)),))
        assert str(bounds) == f"zip={text}"
    assert parse_bounds("zip", "..3") == (0, 3)
    assert spell(parse_algorithm("optimal")) == "optimal"


def test_cuts_of_whole_columns_keep_to_no_most_level(people):
    options = {"model": "k-anonymity:k=3", "algorithm": "single-dimensional", "hierarchies": HIERARCHIES}
    assert ind.anonymize(people, SCHEMA, levels={"zip": (1, None)}, **options).certificate.holds
    with pytest.raises(ParameterError, match="single-dimensional cannot keep to the most level of zip"):
        ind.anonymize(people, SCHEMA, levels={"zip": (1, 3)}, **options)
