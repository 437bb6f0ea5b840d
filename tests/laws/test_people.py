"""With a person column people are counted: in models, searches, suppression, metrics and certificates."""

from collections import Counter, defaultdict
from fractions import Fraction
from math import exp, log

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.models.of_people import OfPeople, in_people
from indistinct.models.registry import parse_model

SCHEMA = ind.Schema(person=["who"], quasi=["age", "sex"], sensitive=["ill"], insensitive=["key"])
HIERARCHIES = {"age": ind.Hierarchy.intervals([2, 4]), "sex": ind.Hierarchy.suppression()}
MODELS = [
    "k-anonymity:k=2",
    "k-anonymity:k=3",
    "distinct-l-diversity:sensitive=ill,l=2",
    "alpha-k:sensitive=ill,alpha=2/3,k=2",
    "entropy-l-diversity:sensitive=ill,l=1.5",
    "recursive-l-diversity:sensitive=ill,c=2,l=2",
    "t-closeness:sensitive=ill,t=0.4",
    "t-closeness:sensitive=ill,t=0.4,distance=ordered",
    "l-diverse-links:l=2,sensitive=ill",
]
CLASSES = [name for name in ALGORITHMS if name not in ("anatomy", "multiset", "slicing", "node")]
CLASSES.append("mondrian:choose=loss")
# Many drawn jobs are infeasible, which is no fault of theirs.
FILTERED = [HealthCheck.filter_too_much]
quick = settings(deadline=None, max_examples=40, suppress_health_check=FILTERED)


@st.composite
def visits(draw):
    """Tables in which somebody may have several rows, with the same or with other values."""
    rows = draw(st.integers(3, 24))
    columns = {
        "who": st.integers(0, draw(st.integers(1, 12))).map("person {}".format),
        "age": st.integers(0, 6),
        "sex": st.sampled_from("FM"),
        "ill": st.sampled_from(["cold", "flu", "gout"]),
    }
    drawn = {name: draw(st.lists(each, min_size=rows, max_size=rows)) for name, each in columns.items()}
    return pa.table({**drawn, "key": list(range(rows))})


def classes_of(published, original):
    """Return the rows of each class: who they are about, and their value."""
    who = dict(zip(original["key"].to_pylist(), original["who"].to_pylist(), strict=True))
    classes = defaultdict(list)
    for row in published.to_pylist():
        classes[row["age"], row["sex"]].append((who[row["key"]], row["ill"]))
    return list(classes.values())


def once_each(rows):
    """Return how many people there are, and how many have each value."""
    return len({who for who, _ in rows}), Counter(value for _, value in set(rows))


def in_parts(rows):
    """Return the share of each value where everybody is divided equally among their different values."""
    values = defaultdict(set)
    for who, value in rows:
        values[who].add(value)
    shares = Counter()
    for own in values.values():
        for value in own:
            shares[value] += Fraction(1, len(own) * len(values))
    return shares


def satisfies(part, rows, whole):
    """Judge one class in plain Python, by the definitions over people."""
    people, counts = once_each(rows)
    shares, usual = in_parts(rows), in_parts(whole)
    match part.name:
        case "k-anonymity":
            return people >= part.k
        case "distinct-l-diversity":
            return len(counts) >= part.l
        case "alpha-k":
            return people >= part.k and max(counts.values()) <= Fraction(part.alpha) * people
        case "l-diverse-links":
            return max(counts.values()) * part.l <= people
        case "entropy-l-diversity":
            return exp(-sum(float(p) * log(p) for p in shares.values())) >= part.l * (1 - 1e-9)
        case "recursive-l-diversity":
            ordered = sorted(shares.values(), reverse=True)
            return ordered[0] < Fraction(part.c) * sum(ordered[part.l - 1 :])
        case "t-closeness" if part.distance == "equal":
            return sum(abs(shares[v] - usual[v]) for v in usual) / 2 <= part.t + 1e-9
        case "t-closeness":
            values, running, total = sorted(usual), Fraction(0), Fraction(0)
            for value in values:
                running += shares[value] - usual[value]
                total += abs(running)
            return total / max(len(values) - 1, 1) <= part.t + 1e-9
    raise AssertionError(part.name)


@pytest.mark.parametrize("spec", MODELS)
@quick
@given(table=visits())
def test_models_judge_people(spec, table):
    """Every model over people is the slow reference, on the cells of a table."""
    model = in_people(parse_model(spec), ["who"])
    request = Request(SCHEMA.quasi, model.keys, person=["who"])
    classes = count_source(ind.open(table), request).frequencies.classes
    whole = list(zip(table["who"].to_pylist(), table["ill"].to_pylist(), strict=True))
    cells = defaultdict(list)
    for age, sex, row in zip(table["age"].to_pylist(), table["sex"].to_pylist(), whole, strict=True):
        cells[age, sex].append(row)
    expected = [not satisfies(parse_model(spec), cells[cell], whole) for cell in sorted(cells)]
    assert model.violations(classes).tolist() == expected


@pytest.mark.parametrize("spec", [spec for spec in MODELS if OfPeople(parse_model(spec)).traits.monotone])
@quick
@given(table=visits(), data=st.data())
def test_declared_monotonicity_holds_over_people(spec, table, data):
    """Where a model over people is declared monotone, uniting classes that satisfy it keeps it."""
    model = in_people(parse_model(spec), ["who"])
    classes = count_source(ind.open(table), Request(SCHEMA.quasi, model.keys, person=["who"])).frequencies.classes
    good = classes.take((~model.violations(classes)).nonzero()[0])
    assume(len(good) > 1)
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(good), max_size=len(good)))
    used = sorted(set(groups))
    united = good.regroup(pa.array([used.index(g) for g in groups], pa.int32()).to_numpy(), len(used))
    assert not model.violations(united).any()


def test_shares_of_people_are_not_monotone():
    """People {1: s, 2: x} and {2: x, 3: s} have half each, and two thirds together."""
    table = pa.table({"who": [1, 2, 2, 3], "age": [1, 1, 2, 2], "ill": ["s", "x", "x", "s"]})
    model = OfPeople(parse_model("alpha-k:sensitive=ill,alpha=0.5,k=1"))
    classes = count_source(ind.open(table), Request(["age"], model.keys, person=["who"])).frequencies.classes
    assert not model.violations(classes).any()
    assert model.violations(classes.regroup(pa.array([0, 0], pa.int32()).to_numpy(), 1)).all()
    assert not model.traits.monotone


@pytest.mark.parametrize("algorithm", CLASSES)
@settings(quick, max_examples=25)
@given(table=visits(), spec=st.sampled_from(MODELS), suppression=st.sampled_from([0.0, 0.25]))
def test_every_class_keeps_the_promise_in_people(algorithm, table, spec, suppression):
    try:
        release = ind.anonymize(
            table, SCHEMA, model=spec, algorithm=algorithm, hierarchies=HIERARCHIES, suppression=suppression
        )
    except (ind.InfeasibleError, ind.ParameterError):
        assume(False)
    whole = list(zip(table["who"].to_pylist(), table["ill"].to_pylist(), strict=True))
    classes = classes_of(release.table, table)
    for rows in classes:
        assert satisfies(parse_model(spec), rows, whole)
    certificate = release.certificate
    assert "who" not in release.table.column_names
    assert certificate.smallest_class == min((once_each(rows)[0] for rows in classes), default=0)
    kept = set(release.table["key"].to_pylist())
    lost = {who for key, (who, _) in enumerate(whole) if key not in kept}
    assert certificate.people.suppressed == len(lost)
    assert len(lost) <= suppression * len({who for who, _ in whole})


@pytest.mark.parametrize(
    "algorithm", ["mondrian", "mondrian:choose=loss", "optimal", "samarati", "top-down-kaca:stub=false", "two-level"]
)
@settings(quick, max_examples=25)
@given(table=visits(), spec=st.sampled_from(MODELS))
def test_a_person_of_one_row_each_is_a_row(algorithm, table, spec):
    """Where everybody has one row, counting people is counting rows: in recodings, metrics and certificates."""
    table = table.set_column(0, "who", table["key"].cast(pa.string()))
    rows = ind.Schema(identifiers=["who"], quasi=SCHEMA.quasi, sensitive=SCHEMA.sensitive, insensitive=["key"])
    try:
        plain = ind.anonymize(table, rows, model=spec, algorithm=algorithm, hierarchies=HIERARCHIES)
        people = ind.anonymize(table, SCHEMA, model=spec, algorithm=algorithm, hierarchies=HIERARCHIES)
    except (ind.InfeasibleError, ind.ParameterError):
        assume(False)
    assert people.certificate.achieved == pytest.approx(plain.certificate.achieved)
    assert dict(ind.measure(people)) == pytest.approx(dict(ind.measure(plain)))


@settings(quick, max_examples=30)
@given(table=visits(), spec=st.sampled_from(MODELS), algorithm=st.sampled_from(["mondrian", "optimal", "datafly"]))
def test_rows_that_stand_twice_change_nothing(table, spec, algorithm):
    twice = pa.concat_tables([table, table.set_column(4, "key", pa.array([k + 100 for k in range(table.num_rows)]))])
    found = []
    for each in (table, twice):
        try:
            found.append(ind.anonymize(each, SCHEMA, model=spec, algorithm=algorithm, hierarchies=HIERARCHIES))
        except ind.InfeasibleError:
            found.append(None)
    assume(found[0] is not None)
    assert found[1] is not None
    assert found[0].recoding == found[1].recoding
    assert dict(ind.measure(found[0])) == pytest.approx(dict(ind.measure(found[1])))
    assert found[0].certificate.achieved == found[1].certificate.achieved


@quick
@given(table=visits(), algorithm=st.sampled_from(["mondrian", "optimal", "kaca:stub=false"]))
def test_verification_counts_people_again(table, algorithm):
    """By the recoding always, and by labels wherever they leave no doubt, with the same result."""
    try:
        release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=2", algorithm=algorithm, hierarchies=HIERARCHIES)
    except ind.InfeasibleError:
        assume(False)
    shown = {"original": table, "hierarchies": HIERARCHIES}
    again = ind.verify(release.table, SCHEMA, "k-anonymity:k=2", recoding=release.recoding, **shown)
    assert again.achieved == release.certificate.achieved
    assert again.people == release.certificate.people
    try:
        by_label = ind.verify(release.table, SCHEMA, "k-anonymity:k=2", **shown)
    except ind.InputError:
        assume(False)  # labels overlap
    assert by_label.achieved == release.certificate.achieved
