"""Weaknesses that files of other tools have, shown by such files, and releases of ours, which have none of them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import indistinct as ind
from indistinct.samples import generate_patients

SCHEMA = ind.Schema(["name"], ["age", "sex", "zipcode", "admitted"], ["disease"], ["cost"])
KNOWN = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])


@pytest.fixture(scope="module")
def patients():
    return generate_patients(400, seed=3)


@pytest.fixture(scope="module")
def frame(patients):
    """Return what a simple tool makes of the patients: coarse columns, and rows as they were."""
    table = patients.to_pandas()
    table["age"] = table["age"] // 20 * 20
    return table[["age", "sex", "disease"]][table["age"] >= 20]


def checks(scan):
    return {finding.check for finding in scan.leaks}


def test_a_table_with_its_pandas_index(frame, patients, tmp_path):
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled.to_csv(tmp_path / "index.csv")
    shuffled.reset_index().to_csv(tmp_path / "reset.csv", index=False)
    shuffled.to_parquet(tmp_path / "index.parquet")
    shuffled.to_pickle(tmp_path / "index.pkl")
    assert "invented-columns" in checks(ind.scan(tmp_path / "index.csv")), "without any knowledge"
    assert "invented-columns" in checks(ind.scan(tmp_path / "reset.csv", original=patients))
    assert {"pandas-index", "invented-columns"} <= checks(ind.scan(tmp_path / "index.parquet"))
    assert "pickle-index" in checks(ind.scan(tmp_path / "index.pkl"))
    assert "frame-index" in checks(ind.scan(shuffled))
    shuffled.to_csv(tmp_path / "none.csv", index=False)
    assert ind.scan(tmp_path / "none.csv", original=patients, schema=KNOWN).clean


def test_a_range_of_a_longer_table_in_the_metadata(frame, tmp_path):
    part = frame.reset_index(drop=True)[100:200]
    part.to_parquet(tmp_path / "part.parquet")
    assert "pandas-index" in checks(ind.scan(tmp_path / "part.parquet"))
    part.reset_index(drop=True).to_parquet(tmp_path / "whole.parquet")
    assert ind.scan(tmp_path / "whole.parquet").clean


@pytest.mark.parametrize("arrange", ["as it was", "backwards by class", "by class", "without some rows"])
def test_an_unshuffled_file(frame, patients, arrange):
    table = frame.assign(cost=patients.to_pandas()["cost"])
    if arrange == "backwards by class":
        table = table[::-1].sort_values(["age", "sex"], kind="stable")
    elif arrange == "by class":
        table = table.sort_values(["age", "sex"], kind="stable")
    elif arrange == "without some rows":
        table = table.drop(columns="cost").sample(frac=0.9, random_state=2).sort_index()
    table = table.reset_index(drop=True)
    assert "row-order" in checks(ind.scan(table, original=patients))
    shuffled = table.sample(frac=1, random_state=4).reset_index(drop=True)
    assert "row-order" not in checks(ind.scan(shuffled, original=patients))
    regrouped = shuffled.sort_values(["age", "sex"], kind="stable").reset_index(drop=True)
    assert "row-order" not in checks(ind.scan(regrouped, original=patients))


def test_an_order_that_published_values_explain_is_no_leak(patients):
    """Rows that are sorted by what they show tell no more, also where the original was sorted by it."""
    by_cost = patients.to_pandas().sort_values("cost").reset_index(drop=True)
    shown = by_cost[["sex", "cost"]].reset_index(drop=True)
    assert "row-order" not in checks(ind.scan(shown, original=by_cost))


def test_k_anonymity_of_the_whole_is_none_of_its_parts():
    """A folder with a file for each hospital tells everybody's hospital: k of the whole does not hold there."""
    rng = np.random.default_rng(8)
    table = pa.table({"age": rng.integers(20, 90, 60), "hospital": rng.choice(["north", "south"], 60)})
    schema, model = ind.Schema(quasi=["age"], insensitive=["hospital"]), ind.KAnonymity(4)
    release = ind.anonymize(table, schema, model=model).table
    assert ind.verify(release, schema, model).holds
    parts = [release.filter(pc.equal(release["hospital"], name)) for name in ("north", "south")]
    assert not all(ind.verify(part, schema, model).holds for part in parts)
    assert not ind.verify(release, ind.Schema(quasi=["age", "hospital"]), model).holds, "the folder's name is known"


def test_a_share_of_k_in_each_part_is_not_k():
    """A tool that asks each of two parts for half of k counts on labels that meet, but each part has its own."""
    ages = np.random.default_rng(9).integers(20, 90, 60)
    schema, half, whole = ind.Schema(quasi=["age"]), ind.KAnonymity(2), ind.KAnonymity(4)
    parts = [ind.anonymize(pa.table({"age": part}), schema, model=half).table for part in (ages[:30], ages[30:])]
    together = pa.concat_tables(parts)
    assert ind.verify(together, schema, half).holds
    assert not ind.verify(together, schema, whole).holds
    assert ind.scan(together).clean, "a scan looks beside the cells; verification counts them"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow"])
@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", "anatomy:l=2", "slicing:l=2", "multiset:l=2"])
def test_releases_of_ours_are_clean(algorithm, suffix, patients, tmp_path):
    options = {} if "l=" in algorithm else {"model": "k-anonymity:k=4", "suppression": 0.05}
    release = ind.anonymize(patients, SCHEMA, algorithm=algorithm, **options)
    path = tmp_path / f"release{suffix}"
    release.write(path)
    for file in [path, *tmp_path.glob(f"*.sensitive{suffix}")]:
        for known in ({}, {"original": patients}, {"original": patients, "schema": SCHEMA}):
            assert [finding.sentence for finding in ind.scan(file, **known).leaks] == []


def test_a_release_with_a_planted_trace_is_not_clean(patients, tmp_path):
    release = ind.anonymize(patients, SCHEMA, model="k-anonymity:k=4", algorithm="mondrian")
    known = {"original": patients, "schema": SCHEMA}
    table = release.to_pandas()
    assert ind.scan(table, **known).clean
    assert not ind.scan(table.assign(id=np.random.default_rng(1).permutation(len(table))), **known).clean
    kinds = pd.CategoricalDtype([*table["sex"].unique(), "a value of a suppressed row"])
    assert "unused-categories" in checks(ind.scan(table.astype({"sex": kinds}), **known))
