"""Figures of practice, each by its own rule, and profiles as gates."""

from fractions import Fraction

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import ParameterError
from indistinct.evaluation.assess.profiles import PROFILES, Internal, Licensed, Public, judge, parse_profile
from indistinct.evaluation.assess.regulators import ShownTable, findings
from indistinct.inspection.starter import CAREFUL_K
from indistinct.tables.domain import Domain, Kind


def statuses(shown=None, *, smallest=20, uniques=0, homogeneous=0.0, **more):
    told = findings(
        shown or ShownTable(ind.Schema(quasi=["x"]), {"x": Kind.TEXT}),
        smallest=smallest,
        uniques=uniques,
        homogeneous=homogeneous,
        **more,
    )
    assert all(each.source for each in told)
    return {each.rule: each.status for each in told}


@pytest.mark.parametrize(
    ("smallest", "failed"),
    [
        (20, set()),
        (19, {"ontario-high"}),
        (14, {"ontario-high", "ontario-medium"}),
        (12, {"ontario-high", "ontario-medium"}),
        (11, {"ontario-high", "ontario-medium", "ema-0.09-strict", "health-canada-0.09-strict"}),
    ],
)
def test_the_strict_and_the_rounded_reading_part_at_eleven(smallest, failed):
    sizes = {rule: status for rule, status in statuses(smallest=smallest).items() if "harbor" not in rule}
    assert {rule for rule, status in sizes.items() if status == "failed"} == failed


def test_ten_fail_everything_about_sizes():
    told = statuses(smallest=10)
    rules = [rule for rule in told if rule.startswith(("ema", "health", "ontario", "cms"))]
    assert len(rules) == 8
    assert {told[rule] for rule in rules} == {"failed"}


def shown(**columns):
    domains = {name: Domain(name, pa.array(values)) for name, values in columns.items()}
    kinds = {name: domain.kind for name, domain in domains.items()}
    return ShownTable(
        ind.Schema(identifiers=["mother"], quasi=[name for name in columns if name != "mother"]), kinds, domains
    )


@pytest.mark.parametrize(
    ("columns", "rule", "status"),
    [
        ({"age": [30, 89]}, "ages", "passed"),
        ({"age": [30, 90, 93]}, "ages", "failed"),
        ({"age": ["30-59", "60-89", "90+"]}, "ages", "passed"),
        ({"age": ["80-89", "90-94", "95-99"]}, "ages", "failed"),
        ({"village": ["a"]}, "ages", "not checkable"),
        ({"zipcode": ["02139"]}, "areas", "failed"),
        ({"Postleitzahl": ["06108"]}, "areas", "failed"),
        ({"Alter": ["91", "95"]}, "ages", "failed"),
        ({"zipcode": ["021**"]}, "areas", "not checkable"),
        ({"x": ["2024-05", "2024-06"]}, "dates", "failed"),
        ({"x": ["2024", "2025"]}, "dates", "passed"),
        ({"x": ["[2024-01-11 .. 2024-02-03] or missing"]}, "dates", "failed"),
        ({"x": ["[5872.22-8965.96]", "[10037-10050]", "[1000-1200]"]}, "dates", "passed"),
        ({"email_address": ["*"]}, "identifiers", "failed"),
        ({"mother": ["*"]}, "identifiers", "failed"),
        ({"village": ["a"]}, "identifiers", "passed"),
    ],
)
def test_the_safe_harbor_is_judged_by_columns(columns, rule, status):
    assert statuses(shown(**columns))[f"safe-harbor-{rule}"] == status


def test_the_first_policy_asks_for_as_much_as_the_public_profile():
    assert 1 / CAREFUL_K <= Public().highest < 1 / (CAREFUL_K - 1)


def test_the_three_questions():
    assert statuses(uniques=1)["wp216-singling-out"] == "failed"
    assert statuses(own_values={"cost": 0})["wp216-singling-out"] == "passed"
    assert statuses(own_values={"cost": 3})["wp216-singling-out"] == "not checkable"
    assert statuses(own_values={"cost": 3}, uniques=1)["wp216-singling-out"] == "failed"
    assert statuses(homogeneous=0.1)["wp216-inference"] == "failed"
    assert statuses(homogeneous=None)["wp216-inference"] == "not checkable"
    assert statuses()["wp216-linkability"] == "not checkable"


GOOD = {
    "highest": 0.05,
    "average": 0.05,
    "at_risk": 0.0,
    "uniques": 0.0,
    "published_uniques": 0.0,
    "population_uniques": None,
    "homogeneous": 0.0,
    "largest_share": 0.5,
}


def passes(profile, figures):
    return all(line.passed for line in judge(profile, figures))


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_pass_and_fail(name):
    profile = parse_profile(name)
    assert passes(profile, GOOD)
    bad = judge(profile, dict.fromkeys(GOOD, 1.0))
    assert [line.figure for line in bad if line.state == "failed"] == [limit for limit, _, _ in profile.limits]
    assert all(line.source for line in bad)


def test_a_limit_between_two_bounds_is_not_checked():
    (line,) = (line for line in judge(Licensed(), GOOD, at_most={"published_uniques": 1.0}) if not line.passed)
    assert (line.figure, line.state) == ("published_uniques", "not checked")


def test_thresholds_of_ones_own():
    strict = parse_profile("public:highest=1/20")
    assert passes(strict, GOOD | {"highest": 1 / 20})
    assert not passes(strict, GOOD | {"highest": 1 / 19})
    (line,) = (line for line in judge(strict, GOOD) if line.figure == "highest")
    assert line.source is None
    assert not passes(parse_profile("internal:population_uniques=0.01"), GOOD)  # a figure that is not known fails
    assert parse_profile(Licensed(highest=Fraction(1, 7)).spec()) == Licensed(highest=Fraction(1, 7))
    assert passes(Licensed(), GOOD | {"highest": 1 / 3})
    assert not passes(Public(), GOOD | {"highest": 1 / 11})
    with pytest.raises(ParameterError, match="`average` of profile 'internal'"):
        Internal(average=-1)


def test_a_profile_may_reckon_with_journalists():
    table = pa.table({"x": [0, 0, 1, 1, 2]})
    everybody = pa.concat_tables([table] * 15)
    asked = {"schema": ind.Schema(quasi=["x"]), "population": everybody}
    assert not ind.assess(table, **asked, profile="public").passed
    relaxed = ind.assess(table, **asked, profile="public:attacker=journalist,uniques=1")
    assert relaxed.passed
    assert ind.assess(table, **asked).gate is None
