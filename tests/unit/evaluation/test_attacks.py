"""Each attack where it must succeed, and where it must fail."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.attack.base import Tally
from indistinct.evaluation.attack.registry import ATTACKS
from references.unsorted import ordered

SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
AGES = {"age": ind.Hierarchy.intervals([10])}


def table(*rows):
    ages, sexes, diseases = zip(*rows, strict=True)
    return pa.table({"age": list(ages), "sex": list(sexes), "disease": list(diseases)})


def labelled(original, *, labels):
    """Return a table in which ages are published as labels."""
    return original.set_column(0, "age", pa.array(labels))


# Two classes of three: one disease in the first, three in the second.
ORIGINAL = table(
    (21, "f", "flu"), (23, "f", "flu"), (28, "f", "flu"), (31, "f", "flu"), (35, "f", "gout"), (39, "f", "hiv")
)
PUBLISHED = labelled(ORIGINAL, labels=["[20-30)"] * 3 + ["[30-40)"] * 3)


def attacked(name, release=PUBLISHED, **known):
    return ind.attack(name, release, SCHEMA, **{"original": ORIGINAL, "hierarchies": AGES, **known})


# Linkage.


def test_linkage_needs_one_candidate() -> None:
    assert attacked("record-linkage").tally == Tally(6, 0)
    assert attacked("record-linkage", ORIGINAL).tally.successes == 6
    assert attacked("record-linkage").details["expected_matches"] == pytest.approx(6 / 3)


def test_a_wrong_entry_is_linked_to_somebody_else() -> None:
    """The register says 23 of the person who is 21: the one candidate is the wrong row."""
    schema = ind.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"])
    original = ORIGINAL.add_column(0, "name", pa.array(list("abcdef")))
    register = pa.table({"name": ["d", "f", "z"], "age": [35, 39, 21], "sex": ["f", "f", "f"]})
    found = ind.attack("record-linkage", original.drop_columns(["name"]), schema, original=original, external=register)
    assert (found.tally.attempts, found.tally.successes) == (2, 1)
    assert found.details["wrong"] == 1
    assert found.details["register"] == "names"
    assert (found.control.attempts, found.control.successes) == (1, 1)  # nobody knows z, who looks like a


def test_a_register_may_know_some_of_the_columns_and_other_values() -> None:
    register = pa.table({"sex": ["f", "m"]})
    assert attacked("record-linkage", ORIGINAL, external=register).tally.successes == 0
    older = pa.table({"age": [39, 38], "sex": ["f", "f"]})  # nobody is 38, but the label of 39 covers it
    found = attacked("record-linkage", external=older)
    assert found.control.attempts == 1
    assert found.details["one_candidate"] == 0


def test_errors_are_drawn_by_a_seed() -> None:
    first, again, none = (attacked(f"record-linkage:errors={share}", ORIGINAL, seed=3) for share in (0.5, 0.5, 0))
    assert first == again
    assert first.tally.successes < none.tally.successes


def test_rows_of_one_person_are_one_candidate() -> None:
    """Three published rows of one person hide nobody."""
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"], person=["who"])
    original = ORIGINAL.append_column("who", pa.array([1, 1, 1, 2, 3, 4]))
    found = ind.attack("record-linkage", PUBLISHED, schema, original=original, hierarchies=AGES)
    assert (found.tally.attempts, found.tally.successes) == (4, 1)
    assert "people" in found.sentence
    assert attacked("record-linkage").tally.successes == 0


def test_suppressed_rows_are_a_control() -> None:
    found = attacked("record-linkage", PUBLISHED.slice(0, 3))
    assert (found.tally.attempts, found.control.attempts, found.control.successes) == (3, 3, 0)
    assert "not in the release" in found.sentence


# Sensitive values.


def test_homogeneity_needs_one_value() -> None:
    found = attacked("homogeneity")
    assert (found.tally.attempts, found.tally.successes, found.baseline) == (6, 3, 0)
    assert found.control is None
    assert "no control was given" in found.sentence
    assert "distinct-l-diversity" in found.defence
    mixed = labelled(ORIGINAL, labels=["[20-40)"] * 6)
    assert attacked("homogeneity", mixed).tally.successes == 0
    assert attacked("homogeneity:share=0.6", mixed).tally.successes == 4
    assert attacked("homogeneity:share=0.6", mixed).baseline == pytest.approx(4 / 6)  # everybody knows it


def test_the_control_has_the_same_disease_or_another() -> None:
    outside = table((24, "f", "flu"), (25, "f", "gout"), (33, "f", "flu"))
    found = attacked("homogeneity", control=outside)
    assert (found.control.attempts, found.control.successes) == (3, 1)
    assert found.risk == pytest.approx((1 / 2 - 1 / 3) / (1 - 1 / 3))


def test_knowledge_leaves_one_value() -> None:
    two = table(
        (21, "f", "flu"), (23, "f", "gout"), (28, "f", "flu"), (31, "f", "flu"), (35, "f", "gout"), (39, "f", "hiv")
    )
    published = labelled(two, labels=["[20-30)"] * 3 + ["[30-40)"] * 3)
    known = {"original": two, "hierarchies": AGES}
    found = {n: ind.attack(f"background-knowledge:excluded={n}", published, SCHEMA, **known) for n in (0, 1, 2)}
    assert [each.tally.successes for each in found.values()] == [0, 3, 6]
    assert [each.baseline for each in found.values()] == [0, 0, 1]
    assert not found[2].succeeds  # whoever rules two of three values out needs no release


def test_skewness_is_a_gain_over_the_whole_table() -> None:
    found = attacked("skewness:gain=0.3")
    assert found.tally.successes == 3  # from 4/6 to 1
    assert attacked("skewness:gain=0.4").tally.successes == 0
    assert attacked("skewness", labelled(ORIGINAL, labels=["[20-40)"] * 6)).tally.successes == 0


def test_similar_values_lie_below_one_node_or_in_a_narrow_range() -> None:
    kinds = ind.Hierarchy.tree({"*": {"infection": ["flu", "hiv"], "joints": ["gout"]}})
    known = {"hierarchies": {**AGES, "disease": kinds}}
    assert attacked("similarity", **known).tally.successes == 3
    with pytest.raises(ParameterError, match="does not apply"):
        attacked("similarity")
    costs = ind.Schema(quasi=["age"], sensitive=["cost"])
    original = pa.table({"age": [21, 22, 31, 32], "cost": [100.0, 105.0, 0.0, 1000.0]})
    published = original.set_column(0, "age", pa.array(["[20-30)", "[20-30)", "[30-40)", "[30-40)"]))
    given = {"original": original, "hierarchies": AGES}
    assert ind.attack("similarity", published, costs, **given).tally.successes == 2
    assert ind.attack("similarity:width=0.001", published, costs, **given).tally.successes == 0


def test_people_count_once_whatever_row_betrays_them() -> None:
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"], person=["who"])
    original = ORIGINAL.append_column("who", pa.array(["a", "b", "c", "a", "d", "e"]))
    found = ind.attack("homogeneity", PUBLISHED, schema, original=original, hierarchies=AGES)
    assert (found.tally.attempts, found.tally.successes) == (5, 3)


def test_buckets_are_attacked_by_their_links() -> None:
    chance = np.random.default_rng(1)
    original = pa.table({"age": chance.integers(20, 60, 60), "sex": ["f", "m"] * 30, "disease": list("abcd") * 15})
    release = ind.anonymize(original, SCHEMA, algorithm="anatomy:l=3")
    known = {"original": original, "control": original.slice(0, 20)}
    assert ind.attack("homogeneity", release, **known).tally.successes == 0
    assert ind.attack("homogeneity:share=0.3", release, **known).tally.successes > 0
    assert ind.attack("record-linkage", release, original=original).tally.successes == 0


# Membership.


def test_membership_is_seen_in_gaps() -> None:
    chance = np.random.default_rng(2)
    ages = chance.permutation(np.arange(1000))
    inside, outside = (
        pa.table({"age": part, "sex": ["f"] * 200, "disease": ["a", "b"] * 100}) for part in (ages[:200], ages[200:400])
    )
    known = {"original": inside, "control": outside}
    exact = ind.attack("membership", inside, SCHEMA, **known)
    assert exact.succeeds
    assert exact.risk == 1
    wide = inside.set_column(0, "age", pa.array(["[0-1000)"] * 200))
    hidden = ind.attack("membership", wide, SCHEMA, hierarchies={"age": ind.Hierarchy.intervals([1000])}, **known)
    assert not hidden.succeeds
    assert hidden.risk == 0
    with pytest.raises(ParameterError, match="needs a table of people"):
        ind.attack("membership", inside, SCHEMA, original=inside)


# Two releases.


def test_two_releases_are_intersected() -> None:
    other = labelled(ORIGINAL, labels=["[21-23]"] * 2 + ["[28-31]"] * 2 + ["[35-39]"] * 2)
    found = attacked("intersection", earlier=other)
    assert found.details["k"] == 2
    assert found.details["below_k"] == 2  # of 28 and 31 each release leaves somebody else
    assert found.succeeds is False  # too few people for a confidence of 95 %
    same = attacked("intersection", earlier=PUBLISHED)
    assert (same.tally.successes, same.details["below_k"]) == (3, 0)
    assert same.baseline == same.tally.share


def test_people_outside_are_intersected_with_the_same_k() -> None:
    """Both releases leave three classes of two: whoever looks like these people, inside or not, has two candidates."""
    other = labelled(ORIGINAL, labels=["[20-27)"] * 2 + ["[27-33)"] * 2 + ["[33-40)"] * 2)
    outside = table((22, "f", "gout"), (24, "f", "hiv"), (36, "f", "flu"), (29, "f", "gout"), (55, "f", "flu"))
    known = {"earlier": other, "control": outside, "hierarchies": {}}
    found = attacked("intersection:k=3", **known)
    assert found.tally == Tally(6, 6)
    assert found.control == Tally(5, 4)  # nobody is 55
    assert attacked("intersection:k=2", **known).control == Tally(5, 1)  # 29: the one candidate is 28
    assert attacked("intersection:k=1", **known).control == Tally(5, 0)


def test_only_people_of_both_tables_are_intersected() -> None:
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"], person=["who"])
    original = ORIGINAL.append_column("who", pa.array(list("abcdef")))
    earlier = original.slice(0, 2)
    found = ind.attack(
        "intersection",
        PUBLISHED,
        schema,
        original=original,
        hierarchies=AGES,
        earlier=PUBLISHED.slice(0, 2),
        earlier_original=earlier,
    )
    assert found.tally.attempts == 2


# What does not fit.


def test_an_original_that_does_not_contain_the_release() -> None:
    with pytest.raises(InputError, match="does not contain the release"):
        attacked("record-linkage", PUBLISHED, original=ORIGINAL.slice(0, 4))
    other = ORIGINAL.set_column(2, "disease", pa.array(["cold"] * 6))
    with pytest.raises(InputError, match="values that the original does not have"):
        attacked("homogeneity", original=other)
    with pytest.raises(InputError, match="neither values of the original"):
        attacked("homogeneity", labelled(ORIGINAL, labels=["young"] * 3 + ["old"] * 3))


def test_no_column_in_common_with_the_external_table() -> None:
    strangers = pa.table({"name": ["a"], "agee": [3]})
    with pytest.raises(InputError, match="none of the quasi-identifiers") as raised:
        attacked("record-linkage", external=strangers)
    assert "did you mean 'agee'" in raised.value.hint
    with pytest.raises(InputError, match="none of the quasi-identifiers"):
        attacked("all", external=strangers)
    with pytest.raises(InputError, match="read as text in the external table"):
        attacked("record-linkage", external=pa.table({"age": ["old"], "sex": ["f"]}))


def test_parameters_are_checked() -> None:
    for text in (
        "record-linkage:errors=2",
        "homogeneity:share=0",
        "background-knowledge:excluded=-1",
        "skewness:gain=0",
        "similarity:level=0",
        "similarity:width=1",
        "intersection:k=-1",
        "predictable-seed:seeds=0",
    ):
        with pytest.raises(ParameterError, match="must be"):
            attacked(text)
    with pytest.raises(ParameterError, match="sensitive column"):
        attacked("homogeneity:sensitive=age")


def test_nothing_is_found_where_everything_is_suppressed() -> None:
    whole = ind.anonymize(ORIGINAL, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian")
    nothing = replace(whole, tables={"": whole.table.slice(0, 0)})
    for name in ("record-linkage", "homogeneity", "unsorted-matching"):
        found = ind.attack(name, nothing, original=ORIGINAL)
        assert (found.tally.attempts, found.succeeds) == (0, False)
        assert "0 of 0" not in found.sentence
    assert "shows no rows that could be attacked" in ind.attack("homogeneity", nothing, original=ORIGINAL).sentence


def test_a_table_without_rows_is_no_release() -> None:
    empty = PUBLISHED.slice(0, 0)
    for name in ("record-linkage", "all"):
        with pytest.raises(InputError, match="the table has no rows"):
            attacked(name, empty)
    with pytest.raises(InputError, match="the table has no rows"):
        attacked("intersection", earlier=empty)


# All attacks.


def test_all_attacks_are_reported_the_worst_first() -> None:
    original = ordered()
    release = ind.anonymize(original, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", seed=1)
    found = ind.attack("all", release, original=original)
    assert found.outcomes[0].succeeds
    assert found.succeeds
    names = [outcome.attack for outcome in found.outcomes]
    assert "predictable-seed" in [outcome.attack for outcome in found.outcomes if outcome.succeeds]
    assert found.refused["membership"].startswith(
        "it needs a table of people of the same kind who are not in the original (control"
    )
    assert {*names, *found.refused} == set(ATTACKS)
    ranks = [(not each.succeeds, -each.interval[0]) for each in found.outcomes]
    assert ranks == sorted(ranks)


def test_what_takes_too_long_is_left_out() -> None:
    original = ordered()
    found = ind.attack_all(
        original, SCHEMA, original=original, attacks=["homogeneity", "predictable-seed"], seconds=1e-9
    )
    assert found.left_out == ("homogeneity", "predictable-seed")
    assert found.outcomes == ()
    with pytest.raises(ParameterError, match="seconds"):
        ind.attack_all(original, SCHEMA, original=original, seconds=0)


def test_without_an_original_every_attack_says_what_it_needs() -> None:
    found = ind.attack("all", PUBLISHED, SCHEMA)
    assert found.outcomes == ()
    assert found.refused["homogeneity"] == "it needs the original table (original, --original)"
    assert found.refused["intersection"].endswith("and an earlier release of the same people (earlier, --earlier)")
    assert set(found.refused) == set(ATTACKS)  # some for another reason
    with pytest.raises(ParameterError, match="roles"):
        ind.attack("all", PUBLISHED)


def test_an_original_of_other_people_is_refused() -> None:
    """Its values can be read, but some classes publish more rows than it has there."""
    other = table(*[(39, "f", "flu")] * 2, *[(23, "f", value) for value in ("flu", "gout", "hiv", "flu")])
    with pytest.raises(InputError, match="classes publish more rows than their labels cover"):
        attacked("homogeneity", original=other)


def test_a_control_is_known_as_well_as_others() -> None:
    with pytest.raises(InputError, match="the control has no column 'sex'"):
        attacked("homogeneity", control=pa.table({"age": [21], "disease": ["flu"]}))
    with pytest.raises(InputError, match="the control has no column 'disease'"):
        attacked("homogeneity", control=pa.table({"age": [21], "sex": ["f"]}))


def test_columns_of_any_kind_may_stand_beside() -> None:
    """Numbers that are none, truth, times and nothing at all."""
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"], insensitive=["x", "none", "true", "when"])
    original = ordered(60)
    beside = {
        "x": [float("nan") if row % 7 == 0 else row / 3 for row in range(60)],
        "none": pa.nulls(60),
        "true": [row % 2 == 0 for row in range(60)],
        "when": pa.array(np.arange(60), pa.timestamp("s")),
    }
    for name, values in beside.items():
        original = original.append_column(name, pa.array(values))
    release = ind.anonymize(original, schema, model="k-anonymity:k=5", algorithm="mondrian")
    found = ind.attack_all(release, original=original, attacks=["record-linkage", "unsorted-matching"])
    assert {outcome.attack for outcome in found.outcomes} == {"record-linkage", "unsorted-matching"}
    kept = ind.attack(
        "unsorted-matching", original.set_column(0, "age", pa.array(["*"] * 60)), schema, original=original
    )
    assert kept.tally.attempts == 0  # the times ascend, so that everybody sees the order


@pytest.mark.parametrize("name", ["mondrian:numeric=bounds", "mondrian:relaxed=true", "kaca", "multiset:l=2"])
def test_every_form_of_release_is_attacked(name) -> None:
    original = ordered(60)
    model = None if "multiset" in name else "k-anonymity:k=5"
    hierarchies = {"sex": ind.Hierarchy.suppression(), "age": ind.Hierarchy.intervals([10])} if name == "kaca" else {}
    release = ind.anonymize(original, SCHEMA, algorithm=name, model=model, hierarchies=hierarchies)
    found = ind.attack("record-linkage", release, original=original)
    assert (found.tally.attempts, found.tally.successes) == (60, 0)
    assert ind.attack("homogeneity", release, original=original).tally.attempts == 60


@pytest.mark.parametrize("algorithm", ["kaca", "two-level", "optimal", "mondrian"])
def test_a_release_knows_the_hierarchies_that_it_was_made_with(algorithm: str) -> None:
    """Labels of a recoding that does not keep them, and sensitive values that are alike."""
    ages = {"age": ind.Hierarchy.intervals([10, 20]), "sex": ind.Hierarchy.suppression()}
    diseases = {"disease": ind.Hierarchy.tree({"*": {"viral": ["flu", "hiv"], "other": ["gout"]}})}
    known = {"model": "k-anonymity:k=2", "algorithm": algorithm, "hierarchies": {**ages, **diseases}}
    release = ind.anonymize(ORIGINAL, SCHEMA, **known)
    assert ind.attack("record-linkage", release, original=ORIGINAL).tally == Tally(6, 0)
    assert ind.attack("similarity", release, original=ORIGINAL).tally.attempts == 6
