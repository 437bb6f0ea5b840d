"""What a certificate says was achieved is of what its models count."""

from indistinct.release.certificate import Certificate, ModelVerdict


def certified(*verdicts: ModelVerdict) -> Certificate:
    return Certificate("1", verdicts, rows=9, classes=9, smallest_class=1)


def test_the_k_of_a_map_counts_the_population():
    in_map = ModelVerdict("k-map:k=5", True, {"k": 5}, 0, 0, larger_is_stronger=("k",))
    assert certified(in_map).achieved == {"k": 5}
    assert certified(in_map, ModelVerdict("k-anonymity:k=1", True, {"k": 1}, 0, 0, False, ("k",))).achieved == {"k": 1}


def test_without_a_model_that_has_one_k_is_the_smallest_class():
    assert certified(ModelVerdict("t-closeness:sensitive=d,t=0.2", True, {"t": 0.1}, 0, 0)).achieved == {
        "k": 1,
        "t": 0.1,
    }
