"""Worked examples of full-domain recoding: Patients (LeFevre et al. 2005) and Datafly (Sweeney 2002), exactly."""

from collections import Counter

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.bottom_up import BottomUp
from indistinct.algorithms.full_domain.incognito import Incognito, join_survivors, prune_candidates
from indistinct.algorithms.full_domain.samarati import Samarati
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.recoding.columns import columns_of
from indistinct_papers.documents import CLINIC, CLINIC_LADDERS, CLINIC_PRINTED
from indistinct_papers.documents import CLINIC_NAMES as NAMES
from indistinct_papers.documents import INCOGNITO_LADDERS as LADDERS
from indistinct_papers.documents import INCOGNITO_PATIENTS as PATIENTS


def table(rows, names):
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def patients(*quasi, k=2, suppression=0):
    names = quasi or tuple(LADDERS)
    data = table(PATIENTS, (*LADDERS, "Disease"))
    hierarchies = {name: LADDERS[name] for name in names}
    counted = count_source(data, Request(names, (), hierarchies))
    return Problem(counted.frequencies, columns_of(counted.domains, hierarchies), ind.KAnonymity(k), suppression)


def nodes(text):
    """Return nodes spelled as in the paper, B1S0Z2, as vectors of levels; -1 is a column left out."""
    spelled = (dict(zip(word[::2], map(int, word[1::2]), strict=True)) for word in text.split())
    return {tuple(word.get(letter, -1) for letter in "BSZ") for word in spelled}


ROUNDS = [
    nodes("B0 B1 S0 S1 Z0 Z1 Z2"),
    nodes("B0S1 B1S0 B1S1 B0Z2 B1Z0 B1Z1 B1Z2 S0Z2 S1Z0 S1Z1 S1Z2"),
    nodes("B1S1Z0 B1S0Z2 B0S1Z2 B1S1Z1 B1S1Z2"),
]


@pytest.mark.parametrize("variant", ["basic", "super-roots", "cube"])
def test_incognito_round_by_round(variant):
    problem = patients()
    rounds = Incognito(variant).rounds(problem)
    assert rounds == ROUNDS
    assert [problem.counters[f"checks over {size} columns"] for size in (1, 2, 3)] == [3, 11, 3]
    assert problem.counters["checks"] == 17
    assert len(prune_candidates(join_survivors(rounds[0], 1), rounds[0])) == 16
    assert prune_candidates(join_survivors(rounds[1], 2), rounds[1]) == nodes("B1S1Z0 B1S0Z2 B0S1Z2 B1S1Z1 B1S1Z2")


def test_the_scans_of_the_variants():
    scans = {}
    for variant in ("basic", "super-roots", "cube"):
        problem = patients()
        Incognito(variant).satisfying(problem)
        scans[variant] = problem.counters["scans"]
    # Basic scans for each root: 3 single columns, 3 pairs, and 3 roots of the last round, which share one super-root.
    assert scans == {"basic": 9, "super-roots": 7, "cube": 1}


def test_the_minimal_nodes():
    assert Incognito().minimal(patients()) == nodes("B1S1Z0 B1S0Z2 B0S1Z2")
    assert Incognito().search(patients()).levels == {"Birthdate": 1, "Sex": 1, "Zipcode": 0}


@pytest.mark.parametrize("rollup", [True, False])
def test_bottom_up_needs_fewer_checks_on_so_small_a_lattice(rollup):
    problem = patients()
    assert BottomUp(rollup=rollup).satisfying(problem) == ROUNDS[-1]
    assert problem.counters["checks"] == 10
    assert problem.counters["scans"] == (1 if rollup else 10)


@pytest.mark.parametrize("first", [True, False])
def test_samarati_finds_the_only_node_of_height_two(first):
    problem = patients()
    assert Samarati(first=first).search(problem).levels == {"Birthdate": 1, "Sex": 1, "Zipcode": 0}
    # Of heights 0 to 4 the bisection looks at 2 (four nodes, the last of which satisfies) and at 1 (three nodes).
    assert problem.counters["checks"] == 7


def test_the_pair_of_birthdate_and_zipcode():
    problem = patients("Birthdate", "Zipcode")
    assert Incognito().minimal(problem) == {(1, 0), (0, 2)}
    assert Samarati().search(patients("Birthdate", "Zipcode")).levels == {"Birthdate": 1, "Zipcode": 0}
    assert BottomUp().search(patients("Birthdate", "Zipcode")).levels == {"Birthdate": 1, "Zipcode": 0}


def test_the_published_rows_of_the_node():
    release = ind.anonymize(
        table(PATIENTS, (*LADDERS, "Disease")),
        ind.Schema(quasi=list(LADDERS), sensitive=["Disease"]),
        model=ind.KAnonymity(2),
        algorithm="incognito",
        hierarchies=LADDERS,
    )
    assert Counter((row["Birthdate"], row["Sex"], row["Zipcode"]) for row in release.table.to_pylist()) == {
        ("*", "Person", "53715"): 2,
        ("*", "Person", "53703"): 2,
        ("*", "Person", "53706"): 2,
    }
    assert release.recoding.levels == {"Birthdate": 1, "Sex": 1, "Zipcode": 0}


# Datafly.

RELEASED = {}
for *vector, problem in CLINIC_PRINTED:
    RELEASED.setdefault(tuple(vector), set()).add(problem)

# The paper lets k rows stand outside; as a number, that many may be dropped only if the job says so as well.
AS_PRINTED = {"algorithm": "datafly:outliers=2", "suppression": 0.2}


def clinic(algorithm="datafly", *, k=2, rows=CLINIC, hierarchies=CLINIC_LADDERS, suppression=0.0):
    schema = ind.Schema(quasi=list(NAMES[:-1]), sensitive=["Problem"])
    return ind.anonymize(
        table(rows, NAMES),
        schema,
        model=ind.KAnonymity(k),
        algorithm=algorithm,
        hierarchies=hierarchies,
        suppression=suppression,
    )


def shown(release):
    found = {}
    for row in release.table.to_pylist():
        found.setdefault(tuple(row[name] for name in NAMES[:-1]), set()).add(row["Problem"])
    return found


def test_datafly_publishes_ten_rows():
    release = clinic(**AS_PRINTED)
    assert shown(release) == RELEASED
    assert release.recoding.levels == {"Race": 0, "BirthDate": 1, "Gender": 0, "ZIP": 0}
    assert len(release.table) == 10
    assert release.certificate.suppressed_rows == 2
    assert release.counters["rollups"] == 1


def test_the_precision_of_datafly_over_all_rows_and_over_those_released():
    release = clinic(**AS_PRINTED)
    told = ind.measure(release, ["precision"])["precision"]
    assert told == pytest.approx(1 - 13 / 48)
    assert round(told, 4) == 0.7292
    kept = [
        row
        for row in CLINIC
        if row[-1] in {row["Problem"] for row in release.table.to_pylist()}
        and row[1:] not in (CLINIC[6][1:], CLINIC[7][1:])
    ]
    assert len(kept) == 10
    assert ind.measure(clinic(rows=kept, algorithm="datafly:outliers=0"), ["precision"])["precision"] == 0.875


def test_the_threshold_counts_rows_and_compares_with_k():
    """Two rows in small entries are not more than k = 2; with one outlier allowed the loop goes on."""
    strict = clinic("datafly:outliers=1", suppression=0.2)
    assert strict.recoding.levels != clinic(**AS_PRINTED).recoding.levels
    assert strict.certificate.suppressed_rows <= 1
    none = clinic("datafly:outliers=0", suppression=0.2)
    assert none.certificate.suppressed_rows == 0


def test_without_outliers_the_budget_decides():
    assert clinic(suppression=0.1).recoding == clinic("datafly:outliers=1", suppression=0.1).recoding
    assert clinic(suppression=0.2).recoding == clinic(**AS_PRINTED).recoding
    # One row in twelve is less than 0.09 of them, and nothing is more than 0.05.
    for share in (0.0, 0.05):
        assert clinic(suppression=share).recoding == clinic("datafly:outliers=0", suppression=share).recoding
        assert clinic(suppression=share).certificate.suppressed_rows == 0


@pytest.mark.parametrize("suppression", [0.0, 0.05, 0.1])
def test_outliers_beyond_the_budget_are_an_error(suppression):
    with pytest.raises(ind.ParameterError, match=r"`outliers` of Datafly is 2, and [01] of 12 rows") as caught:
        clinic("datafly:outliers=2", suppression=suppression)
    assert "suppression=0.2" in caught.value.hint
    assert clinic("datafly:outliers=2", suppression=0.2).certificate.suppressed_rows == 2


@pytest.mark.parametrize("suppression", [0, "2 rows", 0.2, "5 rows"])
def test_the_papers_own_rule_has_a_name(suppression):
    """Up to k rows may stand outside, and go, as the paper lets them; the name of the rule is enough."""
    release = clinic("datafly:outliers=k", suppression=suppression)
    assert shown(release) == RELEASED
    assert release.certificate.suppressed_rows == 2
    assert release.certificate.algorithm == "datafly:outliers=k"
    assert release.recoding.suppression == (suppression or "2 rows")
    assert ind.apply(release.recoding, table(CLINIC, NAMES)).certificate.suppressed_rows == 2
    assert shown(clinic("datafly:outliers=k", k=3)) == shown(clinic("datafly:outliers=3", k=3, suppression="3 rows"))


def test_the_papers_own_rule_keeps_to_a_budget_that_is_given():
    with pytest.raises(ind.ParameterError, match="`outliers` of Datafly is 2, and 1 of 12 rows"):
        clinic("datafly:outliers=k", suppression="1 row")
    with pytest.raises(ind.ParameterError, match="must be k, or a whole number"):
        ind.Datafly(outliers="l")  # type: ignore[arg-type]


def test_starred_rows_hide_each_other():
    release = clinic("datafly:outliers=2,suppressed_rows=star")
    assert shown(release) == {**RELEASED, ("*", "*", "*", "*"): {"short of breath", "hypertension"}}
    assert release.certificate.suppressed_rows == 0


def test_too_few_starred_rows_take_the_smallest_class_along():
    """One small row with k = 2: a row of stars alone would stand out, so the smallest class joins it."""
    rows = [*CLINIC[:7], CLINIC[8], CLINIC[9], ("white", "1964-01-30", "male", "02139", "cough")]
    ladders = {**CLINIC_LADDERS, "BirthDate": ind.Hierarchy.from_rows([(row[1], row[1][:4], "*") for row in rows])}
    release = clinic("datafly:outliers=2,suppressed_rows=star", rows=rows, hierarchies=ladders)
    found = shown(release)
    stars = found.pop(("*", "*", "*", "*"))
    assert stars > {"short of breath"}
    assert len(release.table) == 10
    counts = Counter(tuple(row[name] for name in NAMES[:-1]) for row in release.table.to_pylist())
    assert counts["*", "*", "*", "*"] == 3
    assert min(counts.values()) >= 2
    assert counts["white", "1964", "male", "02139"] == 3, "the larger class stays as it is"
    # Dropped instead, the one row goes alone.
    assert clinic(**AS_PRINTED, rows=rows, hierarchies=ladders).certificate.suppressed_rows == 1


def test_a_column_at_its_top_is_skipped():
    """All names differ and have the most values at every level but the top; then it is another column's turn."""
    rows = [(str(place), "ab"[place % 2], "x") for place in range(8)] + [("8", "c", "x")]
    data = table(rows, ("id", "letter", "note"))
    ladders = {
        "id": ind.Hierarchy.from_rows([(row[0], f"half {int(row[0]) // 5}", "*") for row in rows]),
        "letter": ind.Hierarchy.from_rows([(letter, "*") for letter in "abc"]),
    }
    release = ind.anonymize(
        data,
        ind.Schema(quasi=["id", "letter"], insensitive=["note"]),
        model=ind.KAnonymity(9),
        algorithm="datafly:outliers=0",
        hierarchies=ladders,
    )
    assert release.recoding.levels == {"id": 2, "letter": 1}
    assert release.counters["rollups"] == 3


def test_datafly_counts_distinct_values_of_small_entries_too():
    """`b` has three values, all but one in entries that will go; `a` has two. So `b` is raised first."""
    rows = [("x", "1", "n")] * 4 + [("y", "1", "n")] * 4 + [("x", "2", "n"), ("y", "3", "n"), ("y", "2", "n")]
    ladders = {name: ind.Hierarchy.suppression() for name in "ab"}
    release = ind.anonymize(
        table(rows, ("a", "b", "note")),
        ind.Schema(quasi=["a", "b"], insensitive=["note"]),
        model=ind.KAnonymity(2),
        algorithm="datafly",
        hierarchies=ladders,
        suppression=0.2,
    )
    assert release.recoding.levels == {"a": 0, "b": 1}


def test_dropped_rows_are_never_all_rows():
    """Two unlike rows and k = 2: the budget allows both of them to go, but nothing would be left."""
    rows = [("x", "n"), ("y", "n")]
    schema = ind.Schema(quasi=["a"], insensitive=["note"])
    release = ind.anonymize(
        table(rows, ("a", "note")), schema, model=ind.KAnonymity(2), algorithm="datafly", suppression=1
    )
    assert release.table["a"].to_pylist() == ["*", "*"]
    assert release.certificate.suppressed_rows == 0


# Bad input.

EVERY = ["datafly", "samarati", "bottom-up", "incognito", "optimal"]


@pytest.mark.parametrize("algorithm", EVERY)
def test_fewer_rows_than_k(algorithm):
    with pytest.raises(ind.InfeasibleError, match="k = 13 but the table has only 12 rows"):
        clinic(algorithm, k=13)


@pytest.mark.parametrize("algorithm", EVERY)
def test_as_many_rows_as_k(algorithm):
    assert clinic(algorithm, k=12).certificate.classes == 1


TWO_ROOTS = {**CLINIC_LADDERS, "Race": ind.Hierarchy.from_rows([("black", "B"), ("white", "W")], rooted=False)}


@pytest.mark.parametrize("algorithm", ["datafly", "samarati"])
def test_a_hierarchy_with_two_roots(algorithm):
    with pytest.raises(ind.HierarchyError, match="'Race' has 2 roots; expected one") as caught:
        clinic(algorithm, hierarchies=TWO_ROOTS)
    assert "black" not in str(caught.value)
    assert "white" not in str(caught.value)


@pytest.mark.parametrize("algorithm", ["bottom-up", "incognito", "optimal"])
def test_two_roots_may_leave_no_node(algorithm):
    assert clinic(algorithm, hierarchies=TWO_ROOTS, k=6).certificate.classes == 2
    with pytest.raises(ind.InfeasibleError) as caught:
        clinic(
            algorithm,
            hierarchies={
                **TWO_ROOTS,
                "Gender": ind.Hierarchy.from_rows([("male", "m"), ("female", "f")], rooted=False),
            },
            k=3,
        )
    assert caught.value.details["least_suppressed_rows"] == 3
    assert "suppression=0.3" in caught.value.hint


@pytest.mark.parametrize("suppression", [0.0, 0.5])
@pytest.mark.parametrize(
    "algorithm",
    [
        "samarati",
        "bottom-up",
        "bottom-up:rollup=false",
        "incognito",
        "incognito:variant=cube",
        "optimal",
        "optimal:metric=discernibility,seconds=1",
    ],
)
def test_a_lattice_of_a_million_million_nodes_is_refused_at_once(algorithm, suppression):
    names = [f"q{place}" for place in range(12)]
    rows = [(f"{place:09d}",) * 12 for place in range(20)]
    with pytest.raises(ind.ParameterError, match="1,000,000,000,000 nodes"):
        ind.anonymize(
            table(rows, names),
            ind.Schema(quasi=names),
            model=ind.KAnonymity(2),
            algorithm=algorithm,
            hierarchies={name: ind.Hierarchy.masking(levels=8) for name in names},
            suppression=suppression,
        )


def test_datafly_walks_one_path_through_it():
    names = [f"q{place}" for place in range(12)]
    rows = [(f"{place:09d}",) * 12 for place in range(20)]
    release = ind.anonymize(
        table(rows, names),
        ind.Schema(quasi=names),
        model=ind.KAnonymity(2),
        algorithm="datafly",
        hierarchies={name: ind.Hierarchy.masking(levels=8) for name in names},
    )
    assert release.certificate.holds
    assert release.counters["rollups"] == 12
