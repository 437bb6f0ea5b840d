import math
from fractions import Fraction

import numpy as np
import pytest

from indistinct.errors import ParameterError
from indistinct.models import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
    XYAnonymity,
)
from references.classes import classes_of


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: KAnonymity(0), "`k` of KAnonymity must be at least 1; got 0"),
        (lambda: KAnonymity("5"), "`k` of KAnonymity must be a whole number; got '5'"),
        (lambda: KAnonymity(True), "`k` of KAnonymity must be a whole number; got True"),
        (lambda: KAnonymity(2.0), "`k` of KAnonymity must be a whole number; got 2.0"),
        (
            lambda: XYAnonymity((), 2),
            "`y` of XYAnonymity must be the name of a column, or of several; got ()",
        ),
        (lambda: XYAnonymity(3, 2), "`y` of XYAnonymity must be the name of a column, or of several; got 3"),
        (lambda: XYAnonymity("y", -1), "`k` of XYAnonymity must be at least 1; got -1"),
        (lambda: AlphaK("s", 0, 2), "`alpha` of AlphaK must be above 0 and at most 1; got 0"),
        (lambda: AlphaK("s", 1.01, 2), "`alpha` of AlphaK must be above 0 and at most 1; got 1.01"),
        (lambda: AlphaK("s", "3/2", 2), "`alpha` of AlphaK must be above 0 and at most 1; got '3/2'"),
        (lambda: AlphaK("s", "1/0", 2), "`alpha` of AlphaK must be a finite number or a fraction; got '1/0'"),
        (
            lambda: AlphaK("s", "half", 2),
            "`alpha` of AlphaK must be a finite number or a fraction; got 'half'",
        ),
        (
            lambda: AlphaK("s", math.nan, 2),
            "`alpha` of AlphaK must be a finite number or a fraction; got nan",
        ),
        (lambda: AlphaK("s", True, 2), "`alpha` of AlphaK must be a finite number or a fraction; got True"),
        (lambda: AlphaK("s", None, 2), "`alpha` of AlphaK must be a finite number or a fraction; got None"),
        (lambda: AlphaK("s", 0.5, 0), "`k` of AlphaK must be at least 1; got 0"),
        (
            lambda: AlphaK("s", 0.5, 2, (1,)),
            "`protected` of AlphaK must be values of the sensitive column as text",
        ),
        (lambda: AlphaK(None, 0.5, 2), "`sensitive` of AlphaK must be the name of a column; got None"),
        (lambda: DistinctLDiversity("s", 0), "`l` of DistinctLDiversity must be at least 1; got 0"),
        (
            lambda: DistinctLDiversity(3, 3),
            "`sensitive` of DistinctLDiversity must be the name of a column; got 3",
        ),
        (lambda: EntropyLDiversity("s", 0.99), "`l` of EntropyLDiversity must be at least 1; got 0.99"),
        (
            lambda: EntropyLDiversity("s", math.nan),
            "`l` of EntropyLDiversity must be a finite number; got nan",
        ),
        (
            lambda: EntropyLDiversity("s", math.inf),
            "`l` of EntropyLDiversity must be a finite number; got inf",
        ),
        (lambda: EntropyLDiversity("s", "2"), "`l` of EntropyLDiversity must be a finite number; got '2'"),
        (lambda: EntropyLDiversity("s", True), "`l` of EntropyLDiversity must be a finite number; got True"),
        (lambda: RecursiveLDiversity("s", 0, 2), "`c` of RecursiveLDiversity must be above 0; got 0"),
        (
            lambda: RecursiveLDiversity("s", "2", 2),
            "`c` of RecursiveLDiversity must be a finite number or a fraction",
        ),
        (
            lambda: RecursiveLDiversity("s", math.inf, 2),
            "`c` of RecursiveLDiversity must be a finite number or a fr",
        ),
        (
            lambda: RecursiveLDiversity("s", 2, 1.5),
            "`l` of RecursiveLDiversity must be a whole number; got 1.5",
        ),
        (lambda: TCloseness("s", -0.1), "`t` of TCloseness must be from 0 to 1; got -0.1"),
        (lambda: TCloseness("s", 1.1), "`t` of TCloseness must be from 0 to 1; got 1.1"),
        (
            lambda: TCloseness("s", 0.1, "order"),
            "`distance` of TCloseness must be one of equal, ordered, hierarchical",
        ),
    ],
)
def test_an_impossible_parameter_is_refused_with_a_hint(make, sentence):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.message.startswith(sentence)
    assert caught.value.hint
    assert caught.value.exit_code == 2


class TestParameters:
    def test_one_name_and_a_tuple_of_it_are_the_same_model(self):
        assert XYAnonymity("p", 2) == XYAnonymity(["p"], 2) == XYAnonymity(("p",), 2)
        assert AlphaK("s", 0.5, 2, "HIV") == AlphaK("s", 0.5, 2, ["HIV"])

    def test_a_share_is_the_same_however_it_is_written(self):
        assert AlphaK("s", 0.1, 2) == AlphaK("s", "1/10", 2) == AlphaK("s", Fraction(1, 10), 2)
        assert AlphaK("s", "0.1", 2).alpha == 0.1
        assert AlphaK("s", "1/3", 2).alpha == Fraction(1, 3)
        assert AlphaK("s", "1/3", 2).spec() == "alpha-k:sensitive=s,alpha=1/3,k=2"

    def test_numpy_numbers_become_plain_ones(self):
        assert type(KAnonymity(np.int64(3)).k) is int
        assert type(EntropyLDiversity("s", np.float64(2)).l) is float
        assert type(AlphaK("s", np.float64(0.5), 2).alpha) is float

    def test_a_number_beyond_floats_stays_exact(self):
        assert RecursiveLDiversity("s", 10**400, 1).c == Fraction(10**400)
        classes = classes_of([["a", "a", "b"], ["a"]])
        assert RecursiveLDiversity("s", 10**400, 2).violations(classes).tolist() == [False, True]
