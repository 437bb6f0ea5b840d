"""A model that looks at the order of values is told no false one."""

import pyarrow as pa
import pytest

import indistinct as ind

SCHEMA = ind.Schema(quasi=["age"], sensitive=["pay"])
ORDERED = "t-closeness:sensitive=pay,t=0.9,distance=ordered"


def table(pay):
    return pa.table({"age": [n % 4 for n in range(len(pay))], "pay": pay})


@pytest.mark.parametrize("strange", [["unknown"], ["n/a", "9:30"], []])
def test_numbers_among_texts_are_not_ordered_by_spelling(strange):
    pay = pa.array([str(n) for n in range(1, 160 - len(strange))] + strange)
    with pytest.raises(ind.InputError, match="looks at the order of column 'pay', which is text"):
        ind.anonymize(table(pay), SCHEMA, model=ORDERED)
    first = ind.anonymize(table(pa.array(range(159))), SCHEMA, model=ORDERED)
    with pytest.raises(ind.InputError, match="looks at the order of column 'pay', which is text"):
        ind.apply(first.recoding, table(pay))


def test_the_order_of_plain_texts_is_said_to_be_their_spelling():
    pay = ["low", "middle", "high"] * 10
    certificate = ind.anonymize(table(pay), SCHEMA, model=ORDERED).certificate
    assert any("'pay' were ordered as text" in warning for warning in certificate.warnings)
    order = {"pay": ind.Hierarchy.order(["low", "middle", "high"])}
    declared = ind.anonymize(table(pay), SCHEMA, model=ORDERED, hierarchies=order).certificate
    assert not any("spelling" in warning for warning in declared.warnings)
