"""One verdict, a pure function of figures: what fails, what is a warning, and what nobody looked at."""

from dataclasses import replace
from typing import get_args

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import open_source
from indistinct.engines.groups import MAX_CELLS_AT_ONCE
from indistinct.evaluation.assess.assess import attack_figures
from indistinct.evaluation.assess.profiles import Internal, Licensed, Public
from indistinct.evaluation.attack.attack import Outcomes
from indistinct.evaluation.verdict import AttackFigures, Figures, figures_of_certificate, verdict_of
from indistinct.evaluation.verdict_line import Kind, Line, words_of
from indistinct.frequencies import singled_out as counting
from indistinct.frequencies.count import Request
from indistinct.frequencies.singled_out import SingledOut, codes_of, count_apart, singled_out
from indistinct.frequencies.value import CLASS
from indistinct.inspection.patterns.base import PatternShare
from indistinct.models import SubsetAnonymity
from indistinct.schema import Role

GOOD = {"highest": 0.05, "average": 0.05, "uniques": 0.0, "homogeneous": 0.0}
COST = SingledOut("rows", 100, ("cost",), 3, 3, {("cost",): 3})
WON = AttackFigures("record-linkage", succeeds=True, beyond_chance=0.2)
LOST = AttackFigures("homogeneity", succeeds=False, beyond_chance=-0.1)


def figures(**changed):
    known = {"unit": "rows", "members": 100, "smallest": 20, "uniques": 0}
    risks = {"prosecutor": GOOD | changed.pop("risk", {})}
    return Figures(**known | {"risks": risks, "promise": True} | changed)


def states(verdict, kind):
    return [line.state for line in verdict.lines if line.kind == kind]


@pytest.mark.parametrize("profile", [Public(), Licensed(), Internal()])
def test_a_sound_release_passes(profile):
    told = verdict_of(figures(), profile, attacks=[LOST])
    assert (told.state, told.tone, told.open) == ("passed", "good", ())
    assert verdict_of(figures(), profile).state == "passed"  # attacks that nobody ran are not tried
    assert states(verdict_of(figures(), profile), "attack") == ["not checked"]


@pytest.mark.parametrize(
    ("profile", "state"), [(Public(), "failed"), (Licensed(), "passed"), (Internal(), "passed"), (None, "not checked")]
)
def test_columns_that_single_people_out(profile, state):
    told = verdict_of(figures(published=COST), profile)
    assert told.state == state
    assert told.tone != "good"  # nothing is green beside a warning
    assert told.open[0].columns == ("cost",)
    most = SingledOut("rows", 100, ("cost",), 6, 6)
    assert verdict_of(figures(published=most), Licensed()).state == "failed"
    assert verdict_of(figures(published=COST), Public(published_uniques=0.03)).state == "passed"


def test_bounds_that_do_not_decide_are_not_checked():
    told = verdict_of(figures(published=SingledOut("rows", 100, ("a", "b"), 2, 9)), Licensed())
    assert (told.state, told.tone) == ("not checked", "warning")
    assert verdict_of(figures(published=SingledOut("rows", 100, ("a", "b"), 0, 9)), Public()).state == "not checked"


@pytest.mark.parametrize(("alone", "public"), [(50, "failed"), (49, "warning"), (1, "warning")])
def test_sensitive_values_of_ones_own(alone, public):
    told = figures(own_values={"disease": alone})
    assert states(verdict_of(told, Public()), "sensitive-column") == [public]
    assert states(verdict_of(told, Licensed()), "sensitive-column") == ["warning"]
    assert verdict_of(told, Public()).state == ("failed" if public == "failed" else "passed")
    assert verdict_of(told, Public()).tone != "good"


NOTES = PatternShare("free-text", "free text, which may contain names", Role.IDENTIFIER, 0.8, 400, threshold=0.5)


def test_free_text_fails_for_everybody_and_warns_others_by_name():
    told = figures(identifying={"note": NOTES})
    assert states(verdict_of(told, Public()), "identifying-values") == ["failed"]
    assert verdict_of(told, Public()).state == "failed"
    for profile in (Licensed(), Internal(), None):
        other = verdict_of(told, profile)
        assert states(other, "identifying-values") == ["warning"]
        assert other.tone == "warning"
        assert "warning: column 'note' holds free text, which may contain names" in other.sentences[0]
        assert other.open[0].remedies == ("drop",)
    # A certificate says nothing of values: that is not passed.
    unread = verdict_of(figures(identifying=None), Public())
    assert (unread.state, states(unread, "identifying-values")) == ("not checked", ["not checked"])
    assert verdict_of(figures(identifying=None), Internal()).state == "passed"


@pytest.mark.parametrize("state", ["passed", "failed", "warning", "not checked"])
@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_line_has_words_without_its_numbers(kind, state):
    numbers = {"limit": 0.1} if kind == "limit" else {"k": 3, "size": 2, "sets": 0} if kind == "column-sets" else {}
    numbers |= {"tried": 2} if kind == "attack" else {}
    line = Line(kind, state, ("cost",), numbers, figure="highest", holds="free text", attack="homogeneity")
    assert words_of(line)
    assert line.to_json()["words"] == words_of(line)


@pytest.mark.parametrize(("profile", "label"), [(None, "warning: "), (Public(), "FAILED: ")])
def test_a_reader_counts_as_many_problems_as_the_headline_says(profile, label):
    alone = SingledOut("rows", 100, ("ward", "cost"), 40, 40, {("ward", CLASS): 9, ("cost", CLASS): 12})
    told = verdict_of(figures(published=alone), profile)
    labels = [sentence.partition(": ")[0] + ": " for sentence in told.sentences if not sentence.startswith("passed")]
    assert labels[:3] == [label, "of these: ", "of these: "]
    assert labels.count(label) == told.to_decide == 1


def test_attacks_count_if_they_were_run():
    assert states(verdict_of(figures(), Public(), attacks=[LOST, WON]), "attack") == ["failed"]
    assert states(verdict_of(figures(), Licensed(), attacks=[LOST, WON]), "attack") == ["warning"]  # 0.2 is below 1/3
    assert states(verdict_of(figures(), Internal(), attacks=[WON]), "attack") == ["warning"]
    assert states(verdict_of(figures(), Public(), attacks=[LOST]), "attack") == ["passed"]
    assert states(verdict_of(figures(), Public(), attacks=[]), "attack") == ["not checked"]


def test_an_attack_that_was_not_through_is_never_good():
    """A busy machine must not make a release look safer than an idle one."""
    late = AttackFigures("skewness", succeeds=None)
    told = verdict_of(figures(), Public(), attacks=[LOST, late, replace(late, attack="downcoding")])
    assert (told.state, told.tone, told.open) == ("passed", "warning", ())
    assert told.sentence == "The release passes the profile public; 2 attacks were not through in time."
    assert "passed: the attack that was tried does not beat chance" in told.sentences
    assert "not checked: 2 attacks were not through in time" in told.sentences
    none = verdict_of(figures(), Public(), attacks=[late])
    assert states(none, "attack") == ["not checked"]
    assert none.sentence == "The release passes the profile public; 1 attack was not through in time."
    won = verdict_of(figures(), Public(), attacks=[WON, late])
    assert won.sentence == "The release FAILS the profile public."
    assert "not checked: 1 attack was not through in time" in won.sentences
    done = {"attack": "homogeneity", "succeeds": False, "beyond_chance": -0.1}
    assert AttackFigures.all_of({"outcomes": [done], "left_out": ["skewness"]}) == [LOST, late]
    outcomes = Outcomes((), {}, ("skewness",), 15.0, None)
    assert attack_figures(outcomes) == [late]


def test_one_is_called_what_it_is():
    alone = figures(smallest=1, uniques=4, risk={"uniques": 0.04})
    told = verdict_of(alone)
    assert told.state == "failed"
    assert "k = 1 is no protection: 4 of 100 rows (4 %) are alone in their class" in told.sentences[0]
    single = verdict_of(figures(smallest=1, uniques=1, risk={"uniques": 0.01}))
    assert "1 of 100 rows (1 %) is alone in its class" in single.sentences[0]
    assert states(verdict_of(alone, Internal()), "smallest-class") == ["warning"]  # it allows five of a hundred
    assert verdict_of(alone, Public()).state == "failed"
    assert states(verdict_of(figures(smallest=2)), "smallest-class") == ["warning"]


PAIRS = SubsetAnonymity(k=3, size=2)


def test_a_promise_on_sets_of_columns_says_what_it_leaves_open():
    told = verdict_of(figures(smallest=1, uniques=3, subsets=(PAIRS,)))
    assert (told.state, told.tone) == ("not checked", "warning")
    assert "passed: every combination of values of up to 2 quasi-identifiers is shared by at least 3 rows" in (
        told.sentences
    )
    open_line = "no guarantee covers all quasi-identifiers together, and 3 of 100 rows (3 %) are alone on them"
    assert f"warning: {open_line}" in told.sentences
    # A profile that lets nobody be alone is broken; one that allows a few is not.
    alone = {"uniques": 0.03, "highest": 1.0, "average": 0.05}
    refused = verdict_of(figures(smallest=1, uniques=3, subsets=(PAIRS,), risk=alone), Licensed())
    assert refused.state == "failed"
    assert f"FAILED: {open_line}" in refused.sentences
    allowed = verdict_of(figures(smallest=1, uniques=3, subsets=(PAIRS,), risk=alone), Internal())
    assert (allowed.state, allowed.tone) == ("passed", "warning")
    named = SubsetAnonymity(k=5, sets=[["age", "sex"]])
    assert "passed: every combination of values of 1 named set of columns is shared by at least 5 people" in (
        verdict_of(figures(unit="people", smallest=1, uniques=3, subsets=(named,))).sentences
    )


def test_a_broken_promise_on_sets_is_not_repeated_as_kept():
    told = verdict_of(figures(smallest=1, uniques=3, subsets=(PAIRS,), promise=False))
    assert told.state == "failed"
    assert states(told, "column-sets") == []


def test_certificates_and_assessments_say_the_same_of_sets():
    # A Latin square: every single value stands twice, and everybody is alone on two columns.
    table = pa.table({"age": ["20", "20", "30", "30"], "sex": ["f", "m"] * 2, "zip": ["1", "2", "2", "1"]})
    schema = ind.Schema(quasi=["age", "sex", "zip"])
    release = ind.anonymize(table, schema, model="subset-anonymity:k=2,size=1", algorithm="optimal")
    by_certificate = verdict_of(figures_of_certificate(release.certificate, schema))
    found = ind.assess(release)
    assert states(by_certificate, "column-sets") == states(found.verdict, "column-sets") == ["passed"]
    assert found.risk.smallest == release.certificate.smallest_class == 1
    assert states(by_certificate, "smallest-class") == states(found.verdict, "smallest-class") == ["warning"]
    stronger = ind.anonymize(table, schema, model="subset-anonymity:k=2,size=1 & k-anonymity:k=2")
    assert states(ind.assess(stronger).verdict, "column-sets") == []


def test_a_limit_that_is_not_kept_is_open_and_says_both_figures():
    told = verdict_of(figures(risk={"highest": 1 / 9}), Public())
    assert told.open[0].figure == "highest"
    assert told.sentences[0] == "FAILED: the highest risk of an attacker is 11.1 %, and the profile allows 9 %"
    near = verdict_of(figures(risk={"average": 0.09001}), Licensed())
    assert near.sentences[0] == "FAILED: the average risk of an attacker is 0.09001, and the profile allows 0.09"
    missing = verdict_of(figures(risk={"highest": None}), Public())
    assert "not checked: the highest risk of an attacker is not known, and the profile allows 9 %" in missing.sentences


def test_a_broken_promise_fails_every_profile():
    for profile in (None, Public(), Internal()):
        assert verdict_of(figures(promise=False), profile).state == "failed"
    assert states(verdict_of(figures(promise=None), Public()), "promise") == ["not checked"]
    assert verdict_of(figures(identifiers=("name",)), Internal()).state == "failed"


# What is counted


def test_both_kernels_agree_with_the_sort(monkeypatch):
    generator = np.random.default_rng(3)
    sizes = (("a", 90), ("b", 40), ("c", 3))
    codes = {name: generator.integers(0, size, 3000).astype(np.uint16) for name, size in sizes}
    for classes in (None, generator.integers(0, 3, 3000)):
        known = {"members": 3000, "classes": classes}
        monkeypatch.undo()
        plain = singled_out(codes, np.arange(3000), **known)
        assert 0 < plain.least < 3000
        monkeypatch.setattr(counting, "is_large", lambda _rows: True)
        assert singled_out(codes, np.arange(3000), **known) == plain
        monkeypatch.setattr(counting, "MAX_TABLE_ENTRIES", 0)
        assert singled_out(codes, np.arange(3000), **known) == plain


def test_of_too_many_pairs_some_are_counted_and_the_number_stays_exact(monkeypatch):
    codes = {name: np.array([0, 0, 1, 1]) for name in "abc"} | {"d": np.array([0, 1, 0, 1])}
    monkeypatch.setattr(counting, "MAX_ROW_PAIRS", 4)
    found = singled_out(codes, np.arange(4), members=4)
    # Four columns, one pair of six, and all together.
    assert (found.least, found.most, found.counted, found.sets) == (4, 4, 6, 11)
    assert found.by_columns == {("a", "b", "c", "d"): 4}


def test_values_that_cannot_be_compared_may_single_out_anybody():
    assert codes_of("x", pa.chunked_array([[[1], [2]]])) is None
    assert codes_of("x", pa.chunked_array([[1.0, float("nan"), None]])).tolist() == [1, 0, 0]
    found = singled_out({"x": None}, np.arange(2), members=2)
    assert (found.least, found.most) == (0, 2)


TABLE = pa.table(
    {
        "who": ["a", "a", "b", "c", "d"],
        "ward": ["x", "x", "y", "y", None],
        "cost": [1.5, 1.5, 2.0, 2.0, 2.0],
        "day": [1, 2, 3, 3, 3],
    }
)


@pytest.mark.parametrize("person", [(), ("who",)])
@pytest.mark.parametrize("most", [MAX_CELLS_AT_ONCE, 0])
def test_engines_count_alike(monkeypatch, person, most):
    monkeypatch.setattr("indistinct.engines.groups.MAX_CELLS_AT_ONCE", most)
    asked = Request((), person=person, published_columns=("ward", "cost", "day"), published=True)
    memory, inside = open_source(TABLE)
    relation = duckdb.connect().from_arrow(TABLE)
    engine, source = open_source(relation)
    assert engine.name == "duckdb"
    exact, found = memory.count(inside, asked).singled_out, engine.count(source, asked).singled_out
    assert exact.exact
    assert exact.least == (2 if person else 3)  # a, and d whose ward is missing; in rows both of a's days
    if most:
        assert found == exact
    elif person:  # which people have the rows that are alone is not counted beyond memory
        assert 0 < found.least <= exact.least <= found.most
    else:
        assert (found.least, found.most) == (exact.least, exact.most)


def test_sets_counted_apart_stop_where_everybody_is_alone():
    asked = []
    found = count_apart(["a", "b", "c"], 3, lambda names: asked.append(tuple(names)) or 3)
    assert (found.least, found.most, asked) == (3, 3, [("a", "b", "c"), ("a",), ("b",), ("c",)])
    none = count_apart(["a", "b", "c"], 3, lambda names: asked.append(tuple(names)) or 0, classes=["age"])
    assert (none.least, none.most, asked[4:]) == (0, 0, [("age", "a", "b", "c")])


def test_a_query_that_tells_more_values_apart_gives_an_upper_bound():
    counts = {("age", "a", "b"): 7, ("age", "a"): 4, ("age", "b"): 5, ("a",): 1, ("b",): 3, ("a", "b"): 6}
    found = count_apart(["a", "b"], 9, lambda names: counts[tuple(names)], classes=["age"], finer=["b"])
    assert (found.least, found.most) == (4, 7)
    assert found.by_columns == {(CLASS, "a"): 4, ("a",): 1}


# What is assessed

PEOPLE = pa.table(
    {
        "age": ["30"] * 12 + ["40"] * 12,
        "disease": ["flu", "cold"] * 12,
        "cost": list(range(24)),
    }
)


def assessed(table=PEOPLE, *, profile="public", **roles):
    schema = ind.Schema(**{"quasi": ["age"], "sensitive": ["disease"], "insensitive": ["cost"]} | roles)
    return ind.assess(table, schema, profile=profile)


def test_the_false_all_clear_is_gone():
    told = assessed()
    assert not told.passed
    assert [line.figure for line in told.gate.failed] == ["published_uniques"]
    assert told.verdict.state == told.to_json()["verdict"]["state"] == "failed"
    assert assessed(PEOPLE.drop_columns(["cost"]), insensitive=[]).passed
    assert assessed(insensitive=[]).gate.state == "failed"  # published without a role


def test_a_sensitive_column_of_own_values_is_not_public():
    told = assessed(sensitive=["disease", "cost"], insensitive=[])
    assert told.gate.state == "failed"
    assert told.gate.failed == ()  # every limit is kept
    assert [line.columns for line in told.verdict.open] == [("cost",)]


def test_rows_that_a_certificate_counted_are_not_called_people():
    """Two rows a person, nine of ten with a value of their own: not every person is unique because of that."""
    ages, costs = [30 + place // 20 for place in range(40)], [*range(36), 50, 50, 60, 60]
    table = pa.table({"who": [f"p{place // 2}" for place in range(40)], "age": ages, "cost": costs})
    schema = ind.Schema(person=["who"], quasi=["age"], sensitive=["cost"])
    release = ind.anonymize(table, schema, model="k-anonymity:k=5")
    found = verdict_of(figures_of_certificate(release.certificate, schema))
    [line] = [each for each in found.lines if each.kind == "sensitive-column"]
    assert (line.unit, line.numbers["alone"], line.numbers["members"]) == ("rows", 36, 40)
    assert "36 of 40 rows (90 %)" in words_of(line)


def test_an_attack_that_was_run_enters():
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    table = PEOPLE.drop_columns(["cost"])
    same = table.set_column(1, "disease", pa.array(["flu"] * 12 + ["cold"] * 12))
    won = ind.attack("homogeneity", same, schema, original=same)
    assert won.succeeds
    assert won.to_json()["beyond_chance"] > 0.09
    assert assessed(table, insensitive=[]).passed
    told = ind.assess(table, schema, profile="public", attacks=won)
    assert not told.passed
    assert told.verdict.open[0].attack == "homogeneity"
    lost = ind.attack("homogeneity", table, schema, original=table)
    assert ind.assess(table, schema, profile="public", attacks=[lost]).passed


def test_people_with_several_rows_are_counted_as_people():
    table = pa.table({"who": list("aabbccdd"), "age": [1] * 8, "day": [1, 1, 2, 2, 3, 3, 3, 3]})
    schema = ind.Schema(quasi=["age"], insensitive=["day"], person=["who"])
    found = ind.assess(table, schema).risk.published
    assert (found.unit, found.members, found.least) == ("people", 4, 2)  # no row is alone, but two people are
    release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian")
    beside = ind.assess(release, original=table)
    assert (beside.risk.published.least, beside.risk.published.unit) == (2, "people")
    alone = ind.assess(release, profile="public:highest=1")
    assert alone.gate.state == "not checked"  # rows do not show whose they are


def test_values_in_buckets_are_published_as_they_are():
    table = pa.table({"age": list(range(24)), "disease": ["flu", "cold", "gout"] * 8})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="anatomy:l=3")
    told = ind.assess(release, profile="public:highest=1")
    assert told.gate.state == "failed"
    assert told.verdict.open[0].columns == ("age",)


def test_many_warnings_are_things_to_decide_and_never_plain_good():
    own = dict.fromkeys(("a", "b", "c", "d"), 1)
    few = verdict_of(figures(own_values=dict(list(own.items())[:3])), Internal())
    many = verdict_of(figures(own_values=own), Internal())
    assert few.headline == "passes the profile internal, with 3 warnings"
    assert many.headline == "passes the limits of the profile internal; 4 things to decide"
    assert (many.to_decide, many.state, many.tone) == (4, "passed", "warning")


def test_an_attack_that_succeeds_is_a_thing_to_decide():
    told = verdict_of(figures(), Internal(), attacks=[WON])
    assert told.sentence == "The release passes the limits of the profile internal; 1 thing to decide."
    assert told.tone == "warning"
    assert verdict_of(figures(), Internal(), attacks=[LOST]).tone == "good"


def test_checks_that_run_leave_no_verdict_and_those_without_an_answer_pass_nothing():
    good = verdict_of(figures(), Internal(), attacks=[LOST])
    running, stopped = (replace(good, checks=5, answered=3, running=each) for each in (True, False))
    assert (running.tone, running.sentence) == ("checking", "Checking 4 of 5: no verdict on the profile internal yet.")
    assert stopped.tone == "warning"
    assert stopped.sentence == "The release is not shown to pass the profile internal: 2 of 5 checks have no answer."
    failed = replace(verdict_of(figures(promise=False), Internal()), checks=5, answered=1, running=True)
    assert (failed.tone, failed.sentence) == ("bad", "The release FAILS the profile internal.")
    assert replace(good, checks=5, answered=5).tone == "good"
