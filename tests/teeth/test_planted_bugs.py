"""The field's real bugs, planted one by one: the named check must fail, and pass where nothing is planted.

A suite that cannot tell a broken release from a sound one proves nothing.
"""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.partition import strict
from indistinct.algorithms.partition import strict_any_model as rounds
from indistinct.errors import InfeasibleError
from indistinct.frequencies.value import Classes
from indistinct.models import KAnonymity
from indistinct.testing.checks import CHECKS, examples, publish_case
from indistinct.testing.checks.promises import check_model_holds
from references.mondrian import allowable_cuts, size_bound

CASE = examples("mondrian", "k-anonymity:k=3")["mixed"]
DIVERSE = examples("mondrian", "distinct-l-diversity:sensitive=disease,l=3")["mixed"]


def with_table(release, table):
    return replace(release, tables={"": table})


def row_index_left(case, *, seed=None):
    release = publish_case(case, seed=seed)
    places = {key: place for place, key in enumerate(case.table["key"].to_pylist())}
    index = [places[key] for key in release.table["key"].to_pylist()]
    return with_table(release, release.table.append_column("index", pa.array(index)))


def class_number_left(case, *, seed=None):
    release = publish_case(case, seed=seed)
    sizes = release.assignment.classes.sizes
    return with_table(release, release.table.append_column("class", pa.array(np.repeat(np.arange(len(sizes)), sizes))))


def identifier_left(case, *, seed=None):
    release = publish_case(case, seed=seed)
    names = {row["key"]: row["name"] for row in case.rows}
    return with_table(
        release,
        release.table.append_column("name", pa.array([names[key] for key in release.table["key"].to_pylist()])),
    )


def index_in_metadata(case, *, seed=None):
    release = publish_case(case, seed=seed)
    return with_table(release, release.table.replace_schema_metadata({"pandas": '{"index_columns": ["__index__"]}'}))


def suppressed_value_in_metadata(case, *, seed=None):
    release = publish_case(case, seed=seed)
    field = release.table.schema.field("disease").with_metadata({"was": "HIV/AIDS"})
    place = release.table.column_names.index("disease")
    return with_table(release, release.table.set_column(place, field, release.table["disease"]))


def order_kept(case, *, seed=None):
    release = publish_case(case, seed=seed)
    places = {key: place for place, key in enumerate(case.table["key"].to_pylist())}
    back = sorted(range(release.table.num_rows), key=lambda row: places[release.table["key"][row].as_py()])
    return with_table(release, release.table.take(pa.array(back)))


def order_kept_inside_classes(case, *, seed=None):
    release = publish_case(case, seed=seed)
    places = {key: place for place, key in enumerate(case.table["key"].to_pylist())}
    labels = np.repeat(np.arange(len(release.assignment.classes)), release.assignment.classes.sizes)
    rows = range(release.table.num_rows)
    back = sorted(rows, key=lambda row: (labels[row], places[release.table["key"][row].as_py()]))
    return with_table(release, release.table.take(pa.array(back)))


def same_shuffle_every_time(case, *, seed=None):
    release = publish_case(case, seed=1 if seed is None else seed)
    if seed is not None:
        return release
    quiet = replace(release.certificate, seeded=False, warnings=())
    return replace(release, certificate=quiet)


def seed_not_confessed(case, *, seed=None):
    release = publish_case(case, seed=seed)
    return replace(release, certificate=replace(release.certificate, seeded=False, warnings=()))


def dictionary_of_the_original(case, *, seed=None):
    """Decode and encode again, as a careless writer does: the dictionary goes by first appearance."""
    release = publish_case(case, seed=seed)
    table = release.table
    for place, name in enumerate(table.column_names):
        if isinstance(table[name].type, pa.DictionaryType):
            plain = table[name].cast(pa.string()).combine_chunks()
            turned = pa.array([*plain.to_pylist()[::-1]]).dictionary_encode()
            table = table.set_column(place, name, turned.take(pa.array(range(len(turned))[::-1])))
    return with_table(release, table)


def dictionary_with_unused_values(case, *, seed=None):
    release = publish_case(case, seed=seed)
    table = release.table
    for place, name in enumerate(table.column_names):
        column = table[name].combine_chunks()
        if isinstance(column.type, pa.DictionaryType):
            longer = pa.concat_arrays([column.dictionary, pa.array(["~ suppressed"])])
            table = table.set_column(place, name, pa.DictionaryArray.from_arrays(column.indices, longer))
    return with_table(release, table)


def threshold_off_by_one(case, *, seed=None):
    """Search for n >= k - 1 and claim k."""
    return publish_case(replace(case, model=KAnonymity(case.model.k - 1)), seed=seed)


def only_size_is_checked(case, *, seed=None):
    """Search for size where values were asked for."""
    return publish_case(replace(case, model=KAnonymity(2)), seed=seed)


def empty_table_on_failure(case, *, seed=None):
    try:
        return publish_case(case, seed=seed)
    except InfeasibleError:
        release = publish_case(replace(case, model=KAnonymity(1)), seed=seed)
        return with_table(release, release.table.slice(0, 0))


def outliers_dropped_in_silence(case, *, seed=None):
    release = publish_case(case, seed=seed)
    return with_table(release, release.table.slice(1))


def sensitive_values_swapped(case, *, seed=None):
    release = publish_case(case, seed=seed)
    place = release.table.column_names.index("disease")
    turned = release.table["disease"].take(pa.array(range(release.table.num_rows)[::-1]))
    return with_table(release, release.table.set_column(place, "disease", turned))


def range_that_does_not_cover(case, *, seed=None):
    release = publish_case(case, seed=seed)
    place = release.table.column_names.index("since")
    narrow = pa.array(["[2020-01-01 .. 2020-01-02]"] * release.table.num_rows)
    return with_table(release, release.table.set_column(place, "since", narrow))


def certificate_copied_from_another(case, *, seed=None):
    other = publish_case(replace(case, model=KAnonymity(10)))
    return replace(publish_case(case, seed=seed), certificate=other.certificate)


def value_in_the_certificate(case, *, seed=None):
    release = publish_case(case, seed=seed)
    telling = replace(release.certificate, warnings=("the class with gastritis is small",))
    return replace(release, certificate=telling)


def depends_on_row_order(case, *, seed=None):
    """Cut at the first row's value: what a search over rows instead of values does."""
    first = case.table["key"][0].as_py()
    return publish_case(replace(case, model=KAnonymity(3 + first % 5)), seed=seed)


def depends_on_column_names(case, *, seed=None):
    turned = replace(case.schema, quasi=sorted(case.schema.quasi, key=lambda name: name[-1]))
    return publish_case(replace(case, schema=turned), seed=seed)


def threshold_does_not_scale(case, *, seed=None):
    return publish_case(replace(case, model=KAnonymity(min(case.model.k, 4))), seed=seed)


PLANTED = [
    ("columns", CASE, row_index_left),
    ("columns", CASE, class_number_left),
    ("columns", CASE, identifier_left),
    ("metadata", CASE, index_in_metadata),
    ("metadata", CASE, suppressed_value_in_metadata),
    ("order", CASE, order_kept),
    ("shuffling", CASE, order_kept),
    ("shuffling", CASE, order_kept_inside_classes),
    ("shuffling", CASE, same_shuffle_every_time),
    ("seed", CASE, seed_not_confessed),
    ("dictionaries", CASE, dictionary_of_the_original),
    ("dictionaries", CASE, dictionary_with_unused_values),
    ("model_holds", CASE, threshold_off_by_one),
    ("model_holds", DIVERSE, only_size_is_checked),
    ("infeasible", CASE, empty_table_on_failure),
    ("suppression", CASE, outliers_dropped_in_silence),
    ("certificate", CASE, outliers_dropped_in_silence),
    ("other_columns", CASE, sensitive_values_swapped),
    ("values_cover", CASE, range_that_does_not_cover),
    ("certificate", CASE, certificate_copied_from_another),
    ("certificate", CASE, value_in_the_certificate),
    ("row_order", CASE, depends_on_row_order),
    ("names", CASE, depends_on_column_names),
    ("doubling", CASE, threshold_does_not_scale),
]


@pytest.mark.parametrize(("check", "case", "planted"), PLANTED, ids=lambda part: getattr(part, "__name__", None))
def test_the_check_bites(check, case, planted):
    CHECKS[check](case)
    with pytest.raises(AssertionError):
        CHECKS[check](case, publish=planted)


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_can_fail(check):
    """A check without a planted bug here has its own test below."""
    elsewhere = {"rows_match_recoding", "traits", "unseen_value", "column_order"}
    assert (check in {name for name, _, _ in PLANTED}) != (check in elsewhere)


def test_traits_bite_where_equal_vectors_part():
    case = examples("mondrian:relaxed=true", "k-anonymity:k=3")["one"]
    claimed = replace(case, algorithm=ind.Mondrian())

    def publish(given, *, seed=None):
        return publish_case(replace(given, algorithm=case.algorithm), seed=seed)

    with pytest.raises(AssertionError, match="published differently"):
        CHECKS["traits"](claimed, publish=publish)


def test_traits_bite_where_equal_values_differ():
    case = examples("mondrian", "k-anonymity:k=3")["numbers"]
    claimed = replace(case, algorithm=ind.SingleDimensional())

    def publish(given, *, seed=None):
        return publish_case(replace(given, algorithm=ind.Mondrian()), seed=seed)

    with pytest.raises(AssertionError, match="differ"):
        CHECKS["traits"](claimed, publish=publish)


def test_unknown_values_passed_through_are_found(monkeypatch):
    from indistinct.testing.checks import values

    assignment = publish_case(CASE).assignment
    monkeypatch.setattr(
        values, "apply", lambda recoding, table, **_: SimpleNamespace(table=table, assignment=assignment)
    )
    with pytest.raises(AssertionError, match="was published"):
        CHECKS["unseen_value"](CASE)


def test_classes_that_readers_cannot_tell_apart_are_found():
    def publish(given, *, seed=None):
        release = publish_case(given, seed=seed)
        table, blurred = release.table, pa.array(["*"] * release.table.num_rows)
        for name in release.schema.quasi:
            table = table.set_column(table.column_names.index(name), name, blurred)
        return with_table(release, table)

    with pytest.raises(AssertionError, match="not those of the published rows"):
        CHECKS["rows_match_recoding"](CASE, publish=publish)


def test_a_search_that_goes_by_the_order_of_columns_is_found():
    def publish(given, *, seed=None):
        quasi = [name for name in given.table.column_names if name in given.schema.quasi]
        return publish_case(replace(given, schema=replace(given.schema, quasi=quasi)), seed=seed)

    with pytest.raises(AssertionError, match="order of the columns"):
        CHECKS["column_order"](CASE, publish=publish)


def test_a_median_on_one_side_breaks_the_size_bound(monkeypatch):
    """The rule as it is printed: up to the median to the left, and never before it."""

    def one_sided(values, classes, parts, dimension, layout, model):
        middle = rounds.middle_of(values, classes, parts)
        trial = rounds._two_sided(values, parts.owners(), middle.median)
        return rounds.judge(classes, parts, trial, model) & middle.divides, trial

    def by_rounds(ranks, counts, *, layout, k):
        cuts = rounds.partition_by_rounds(
            ranks, Classes(counts), layout=layout, model=KAnonymity(k), counters=Counter()
        )
        return strict.Partition(cuts.numbered(), ranks, cuts.numbered().locate(ranks), counts)

    rows = [(0,), (1,), (2,), (3,), (3,), (3,), (3,)]
    table = pa.table({"a": [value for (value,) in rows], "key": list(range(7))})
    schema = ind.Schema(quasi=["a"], insensitive=["key"])

    def classes():
        shown = ind.anonymize(table, schema, model=KAnonymity(2), algorithm="mondrian").table.to_pylist()
        groups = {}
        for row in shown:
            groups.setdefault(row["a"], []).append(row["key"])
        return list(groups.values())

    assert max(map(len, classes())) <= size_bound(rows, k=2)
    assert not any(allowable_cuts(rows, part, k=2) for part in classes())
    monkeypatch.setattr(rounds, "_cut_along", one_sided)
    monkeypatch.setattr(strict, "partition_by_size", by_rounds)
    assert max(map(len, classes())) > size_bound(rows, k=2)
    assert any(allowable_cuts(rows, part, k=2) for part in classes())


def test_the_reference_finds_what_a_count_of_rows_hides():
    """One person with many rows is not a crowd."""
    case = examples("mondrian", "xy-anonymity:y=name,k=3")["numbers"]
    check_model_holds(case)
    with pytest.raises(AssertionError):
        check_model_holds(case, publish=only_size_is_checked)
