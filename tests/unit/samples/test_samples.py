"""The seeded generators."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct import samples
from indistinct.errors import ParameterError
from indistinct.samples import (
    CENSUS_COLUMNS,
    CENSUS_QUASI,
    GENERATORS,
    LANDS_END_QUASI,
    PATIENTS_COLUMNS,
    VISITS_COLUMNS,
    census_hierarchies,
    generate_census,
    generate_lands_end,
    generate_normal,
    generate_patients,
    generate_uniform,
    generate_visits,
    lands_end_hierarchies,
    patients_hierarchies,
)
from indistinct.samples._sampling import BLOCK, RESOLUTION, ConditionalShares
from references.generated import distinct_vectors, heights_of

CARDINALITIES = dict(zip(CENSUS_COLUMNS, (74, 2, 5, 7, 16, 41, 8, 14, 2), strict=True))


def codes(column: pa.ChunkedArray) -> np.ndarray:
    return np.unique(column.cast(pa.string()).fill_null("").to_numpy(zero_copy_only=False), return_inverse=True)[1]


def mutual_information(table: pa.Table, left: str, right: str) -> float:
    counts = np.zeros((1000, 1000))
    np.add.at(counts, (codes(table[left]), codes(table[right])), 1)
    joint = counts / counts.sum()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / expected[seen])).sum())


@pytest.fixture(scope="module")
def census() -> pa.Table:
    return generate_census(30_000, seed=1)


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    return generate_patients(30_000, seed=1)


def test_everything_public_is_exported():
    public = {name for name in vars(samples) if name.startswith("generate_") or "hierarchies" in name}
    assert public <= set(samples.__all__)
    assert all(hasattr(samples, name) for name in samples.__all__)
    assert samples.__all__ == sorted(samples.__all__)
    assert set(GENERATORS.values()) == {getattr(samples, n) for n in samples.__all__ if n.startswith("generate_")}


class TestEveryGenerator:
    @pytest.mark.parametrize("name", GENERATORS)
    def test_same_seed_same_table_other_seed_other_table(self, name):
        first, again, other = (GENERATORS[name](2_000, seed=seed) for seed in (5, 5, 6))
        assert first.num_rows == 2_000
        assert first.equals(again)
        assert not first.equals(other)

    @pytest.mark.parametrize("name", GENERATORS)
    def test_no_rows_keep_the_columns(self, name):
        none, some = GENERATORS[name](0, seed=1), GENERATORS[name](5, seed=1)
        assert none.num_rows == 0
        assert none.schema == some.schema

    @pytest.mark.parametrize("name", GENERATORS)
    @pytest.mark.parametrize(("rows", "seed"), [(-1, 1), (1, -1)])
    def test_negative_sizes_and_seeds_are_refused(self, name, rows, seed):
        with pytest.raises(ParameterError, match="at least 0; got -1"):
            GENERATORS[name](rows, seed=seed)

    @pytest.mark.parametrize("name", GENERATORS)
    def test_a_huge_seed_is_a_seed(self, name):
        assert GENERATORS[name](3, seed=2**100).num_rows == 3

    @pytest.mark.parametrize("name", GENERATORS)
    def test_the_global_random_state_is_left_alone(self, name):
        before = np.random.get_state()[1].tolist()  # noqa: NPY002
        GENERATORS[name](10, seed=1)
        assert np.random.get_state()[1].tolist() == before  # noqa: NPY002

    @pytest.mark.parametrize("name", ["census", "patients", "visits", "lands-end"])
    def test_a_shorter_table_is_the_start_of_a_longer_one_across_blocks(self, name):
        longer = GENERATORS[name](BLOCK + 1_000, seed=3)
        for rows in (10, BLOCK, BLOCK + 1):
            assert GENERATORS[name](rows, seed=3).equals(longer.slice(0, rows))

    def test_blocks_do_not_repeat_each_other(self):
        table = generate_census(2 * BLOCK, seed=3)
        assert not table.slice(0, BLOCK).equals(table.slice(BLOCK))


class TestShares:
    @settings(deadline=None, max_examples=25)
    @given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any))
    def test_each_value_gets_its_share_of_the_resolution(self, weights):
        table = ConditionalShares.of(weights).table
        got = np.bincount(table, minlength=len(weights))
        assert len(table) == RESOLUTION
        assert np.abs(got - RESOLUTION * np.array(weights) / sum(weights)).max() <= 1
        assert not got[np.array(weights) == 0].any()


class TestCensus:
    def test_columns_and_types(self, census):
        assert tuple(census.column_names) == CENSUS_COLUMNS
        assert census.schema.field("age").type == pa.int64()
        for column in CENSUS_COLUMNS[1:]:
            assert census.schema.field(column).type == pa.dictionary(pa.int32(), pa.string())

    @pytest.mark.parametrize("seed", range(5))
    def test_every_value_occurs(self, seed):
        table = generate_census(30_000, seed=seed)
        assert {column: len(table[column].unique()) for column in CENSUS_COLUMNS} == CARDINALITIES
        assert pc.min_max(table["age"]).as_py() == {"min": 17, "max": 90}
        assert sum(table[column].null_count for column in CENSUS_COLUMNS) == 0

    @pytest.mark.parametrize(("rows", "least", "most"), [(30_000, 15_000, 25_000), (200_000, 60_000, 110_000)])
    def test_distinct_vectors_are_as_many_as_in_a_census(self, rows, least, most):
        assert least <= distinct_vectors(generate_census(rows, seed=2), CENSUS_QUASI) <= most

    @pytest.mark.parametrize(
        ("left", "right", "least"),
        [
            ("age", "marital", 0.117),
            ("sex", "marital", 0.058),
            ("age", "education", 0.05),
            ("education", "occupation", 0.116),
            ("sex", "occupation", 0.052),
            ("occupation", "workclass", 0.058),
            ("race", "country", 0.047),
            ("education", "salary", 0.032),
            ("age", "salary", 0.033),
            ("sex", "salary", 0.013),
            ("occupation", "salary", 0.032),
        ],
    )
    def test_columns_depend_on_each_other(self, left, right, least):
        # the bounds are half of what Adult shows; with 100,000 rows the estimate is hardly biased
        assert mutual_information(generate_census(100_000, seed=4), left, right) > least

    def test_independent_columns_share_no_information(self):
        assert mutual_information(generate_census(100_000, seed=4), "race", "sex") < 0.001

    def test_one_country_has_nine_tenths(self, census):
        assert 0.87 < pc.mean(pc.equal(census["country"], "United States").cast(pa.float64())).as_py() < 0.93

    def test_marginals_are_skewed(self, census):
        for column in ("race", "marital", "education", "country", "workclass", "occupation", "salary"):
            shares = np.bincount(codes(census[column])) / len(census)
            assert shares.max() > 2 * shares.min()

    def test_hierarchies_cover_with_the_published_heights(self, census):
        heights = heights_of(census_hierarchies(), census)
        assert heights == dict(zip(CENSUS_COLUMNS, (4, 1, 1, 2, 3, 2, 2, 2, 1), strict=True))


class TestPatients:
    def test_columns_and_types(self, patients):
        assert tuple(patients.column_names) == PATIENTS_COLUMNS
        kinds = [pa.string(), pa.int64(), pa.string(), pa.string(), pa.date32(), pa.string(), pa.float64()]
        assert patients.schema.types == kinds

    def test_names_are_unique(self):
        assert len(generate_patients(100_000, seed=8)["name"].unique()) == 100_000

    def test_a_little_is_missing_and_only_there(self, patients):
        shares = {column: patients[column].null_count / len(patients) for column in PATIENTS_COLUMNS}
        assert 0.006 < shares.pop("sex") < 0.015
        assert 0.006 < shares.pop("zipcode") < 0.018
        assert set(shares.values()) == {0.0}

    def test_zipcodes_have_five_digits_and_leading_zeros(self, patients):
        zipcodes = patients["zipcode"].drop_null()
        assert pc.all(pc.match_substring_regex(zipcodes, "^[0-9]{5}$")).as_py()
        assert 0.1 < pc.mean(pc.starts_with(zipcodes, "0").cast(pa.float64())).as_py() < 0.9

    def test_disease_depends_on_age_and_sex_and_is_skewed(self):
        table = generate_patients(100_000, seed=4)
        counts = np.bincount(codes(table["disease"]))
        assert len(counts) == 12
        assert counts.max() > 5 * counts.min()
        assert mutual_information(table, "disease", "age") > 0.1
        assert mutual_information(table, "disease", "sex") > 0.015
        assert mutual_information(table, "disease", "zipcode") < 0.02

    def test_costs_are_positive_and_depend_on_the_disease(self, patients):
        means = patients.group_by("disease").aggregate([("cost", "mean")]).to_pylist()
        mean = {row["disease"]: row["cost_mean"] for row in means}
        assert pc.min(patients["cost"]).as_py() > 0
        assert mean["cancer"] > 4 * mean["flu"]

    def test_hierarchies_cover(self, patients):
        heights = heights_of(patients_hierarchies(), patients)
        assert heights["age"] == 4
        assert heights["sex"] == 1
        assert heights["zipcode"] == 5
        assert heights["disease"] == 2
        assert set(heights) == {"age", "sex", "zipcode", "admitted", "disease"}


class TestVisits:
    def test_a_person_has_several_visits_and_one_age_sex_and_zipcode(self):
        table = generate_visits(BLOCK + 20_000, seed=1)
        people = len(table["person"].unique())
        assert tuple(table.column_names) == VISITS_COLUMNS
        assert 3.5 < table.num_rows / people < 4.5
        assert distinct_vectors(table, ("person", "age", "sex", "zipcode")) == people
        assert distinct_vectors(table, ("person", "diagnosis")) > 2 * people

    def test_diagnosis_depends_on_age(self):
        assert mutual_information(generate_visits(100_000, seed=1), "age", "diagnosis") > 0.1


class TestSynthetic:
    def test_uniform_values_are_equally_likely(self):
        table = generate_uniform(50_000, seed=1, columns=3, cardinality=20)
        assert table.column_names == ["x1", "x2", "x3"]
        assert table.schema.types == [pa.int64()] * 3
        for column in table.columns:
            counts = np.bincount(column.to_numpy(), minlength=20)
            assert len(counts) == 20
            assert counts.min() > 2_200
            assert counts.max() < 2_800
        assert mutual_information(table, "x1", "x2") < 0.01

    def test_normal_moments(self):
        table = generate_normal(100_000, seed=1)
        assert table.column_names == ["x1", "x2"]
        assert table.schema.types == [pa.int64()] * 2
        for column in table.columns:
            values = column.to_numpy()
            # the floor lowers the mean by one half; cutting at 2.5 sigma leaves 0.955 of the spread of 10
            assert values.mean() == pytest.approx(24.5, abs=0.2)
            assert values.std() == pytest.approx(9.55, abs=0.15)
            assert (values.min(), values.max()) == (0, 49)
        assert abs(np.corrcoef(table["x1"], table["x2"])[0, 1]) < 0.02

    def test_normal_follows_mu_and_sigma(self):
        values = generate_normal(50_000, seed=1, columns=1, cardinality=100, mu=30, sigma=0.05)["x1"].to_numpy()
        assert values.mean() == pytest.approx(29.5, abs=0.1)
        assert values.std() == pytest.approx(5.0, abs=0.1)

    @settings(deadline=None, max_examples=25)
    @given(st.integers(1, 60), st.floats(0, 0.99), st.floats(0.01, 10), st.integers(0, 200))
    def test_normal_stays_in_range(self, cardinality, mu, sigma, rows):
        table = generate_normal(rows, seed=1, cardinality=cardinality, mu=mu * cardinality, sigma=sigma)
        values = np.concatenate([column.to_numpy() for column in table.columns])
        assert values.size == 2 * rows
        assert ((values >= 0) & (values < cardinality)).all()

    @pytest.mark.parametrize(
        "wrong",
        [{"mu": 50}, {"mu": -1}, {"sigma": 0}, {"sigma": 11}, {"mu": float("nan")}, {"cardinality": 0}],
    )
    def test_normal_refuses_what_would_never_end(self, wrong):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            generate_normal(10, seed=1, **wrong)

    def test_lands_end_has_the_published_cardinalities(self):
        table = generate_lands_end(1_000_000, seed=1)
        found = [len(table[column].unique()) for column in table.column_names]
        assert tuple(table.column_names) == LANDS_END_QUASI
        assert found == [31_953, 320, 2, 1_509, 346, 1, 1_412, 2]
        cheap = table.slice(0, 100_000).filter(pc.less(pc.field("price"), 5_000))
        assert mutual_information(cheap, "style", "price") > 0.5
        assert mutual_information(cheap, "price", "cost") > 0.1

    def test_lands_end_hierarchies_cover_with_the_published_heights(self):
        heights = heights_of(lands_end_hierarchies(), generate_lands_end(50_000, seed=1))
        assert list(heights.values()) == [5, 3, 1, 1, 4, 1, 4, 1]
