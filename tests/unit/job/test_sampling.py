"""A sample as protection: how many rows are drawn, that nobody can draw them again, and what is compared with what."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pytest

import indistinct as ind
from indistinct.job.policy import policy_from_toml
from indistinct.job.policy.writing import policy_to_toml

TABLE = pa.table({"age": [20 + i % 10 for i in range(100)], "key": list(range(100))})
SCHEMA = ind.Schema(quasi=["age"], insensitive=["key"])
POLICY = """
[input]
path = "people.csv"
sample = 0.5

[columns]
age = "quasi"
key = "insensitive"

[privacy]
models = ["k-anonymity:k=3"]

[algorithm]
use = "mondrian"

[output]
path = "out.csv"
"""


def drawn(**options):
    release = ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian", **options)
    return release, sorted(release.table["key"].to_pylist())


def test_exactly_the_share_is_drawn_and_the_certificate_says_so():
    release, keys = drawn(sample=0.25)
    assert len(set(keys)) == release.certificate.rows == release.certificate.original_rows == 25
    assert release.certificate.sample == 0.25
    assert release.certificate.to_json()["sample"] == 0.25
    assert drawn()[0].certificate.sample is None


def test_a_half_is_rounded_up_and_all_rows_may_be_drawn():
    assert len(drawn(sample=0.125)[1]) == 13
    assert drawn(sample=1)[1] == list(range(100))


def test_no_seed_draws_the_same_rows_again():
    assert drawn(sample=0.5, seed=1)[1] != drawn(sample=0.5, seed=1)[1]


def test_people_are_drawn_with_all_their_rows():
    table = pa.table({"age": [20] * 40, "who": [i // 4 for i in range(40)], "key": list(range(40))})
    schema = ind.Schema(quasi=["age"], insensitive=["key"], person=["who"])
    release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian", sample=0.5)
    keys = release.table["key"].to_pylist()
    assert len(keys) == 20
    assert {key // 4 for key in keys} == {key // 4 for key in keys if sum(key // 4 == k // 4 for k in keys) == 4}


def test_the_table_is_the_population_of_its_sample():
    release = ind.anonymize(TABLE, SCHEMA, model="k-map:k=10", algorithm="optimal", sample=0.3)
    assert release.certificate.population_size == 100
    assert release.certificate.smallest_class < 10, "a value has ten people in the table, and fewer in the sample"


def test_a_policy_draws_and_its_table_is_the_population_of_risks(tmp_path):
    csv.write_csv(TABLE, tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    release = ind.run(tmp_path / "policy.toml")
    assert release.certificate.rows == 50
    risk = ind.assess(ind.published(tmp_path / "out.csv", policy=tmp_path / "policy.toml")).to_json()
    assert risk["journalist"]["highest"] < risk["prosecutor"]["highest"]
    policy = policy_from_toml(POLICY, base=Path())
    assert policy_from_toml(policy_to_toml(policy), base=Path()) == policy
    assert policy.input.sample == 0.5


def test_a_sample_of_fewer_than_k_rows_says_so():
    with pytest.raises(ind.InfeasibleError, match=r"a sample of 0.02 has 2 rows"):
        drawn(sample=0.02)
    with pytest.raises(ind.InfeasibleError, match=r"a sample of 0.02 has 2 rows; subset-.* needs at least 5"):
        ind.anonymize(TABLE, SCHEMA, model="subset-anonymity:k=5,size=1", algorithm="datafly", sample=0.02)


@pytest.mark.parametrize("share", [0, -0.1, 1.5, True, float("nan")])
def test_a_share_is_above_nothing_and_at_most_everything(share):
    with pytest.raises(ind.ParameterError) as caught:
        drawn(sample=share)
    assert caught.value.parameter == "sample"
    if not isinstance(share, bool):
        with pytest.raises(ind.PolicyError):
            policy_from_toml(POLICY.replace("0.5", str(float(share))), base=Path())
