"""What holds for all scans: sound releases are hardly ever called leaking, and a search finds what Python finds."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.exploration.scan.order import FALSE_ALARMS
from indistinct.exploration.scan.values import find_values

ALGORITHMS = ("mondrian", "datafly", "anatomy:l=2", "slicing:l=2", "multiset:l=2", "optimal")
SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".sav", ".dta", ".xpt")
SCHEMA = ind.Schema(["name"], ["age", "sex"], ["disease"])


def people(rng, rows):
    """Return a table in some order: as it comes, or sorted by one of its columns."""
    table = pa.table(
        {
            "name": [f"Person {number}" for number in rng.permutation(rows)],
            "age": rng.integers(20, 20 + rng.integers(3, 60), rows),
            "sex": rng.choice(["female", "male"], rows),
            "disease": [f"d{code}" for code in rng.permutation(np.arange(rows) % rng.integers(4, 60))],
        }
    )
    return table.sort_by(str(rng.choice(["name", "age", "sex", "disease"]))) if rng.random() < 0.5 else table


@settings(max_examples=24, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(ALGORITHMS),
    st.sampled_from(SUFFIXES),
)
def test_releases_of_ours_are_clean(seed, algorithm, suffix):
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(20, 120)))
    options = {} if "l=" in algorithm else {"model": "k-anonymity:k=3", "suppression": 0.1}
    release = ind.anonymize(table, SCHEMA, algorithm=algorithm, seed=seed, **options)
    with TemporaryDirectory() as folder:
        release.write(Path(folder) / f"release{suffix}")
        for file in Path(folder).glob(f"*{suffix}"):
            for known in ({"original": table}, {"original": table, "schema": SCHEMA}):
                assert [finding.sentence for finding in ind.scan(file, **known).leaks] == []


def test_shuffled_files_are_called_ordered_as_rarely_as_is_said():
    """200 shuffled files give fewer than 3 alarms, as they do with a probability of 99.9 % at the stated rate."""
    rng, alarms, files = np.random.default_rng(1), 0, 200
    for _ in range(files):
        table = people(rng, 40)
        shown = table.drop_columns(["name", "age"]).append_column("age", pa.array(table["age"].to_numpy() // 20 * 20))
        shown = shown.take(pa.array(rng.permutation(len(shown))))
        alarms += any(finding.check == "row-order" for finding in ind.scan(shown, original=table).findings)
    assert FALSE_ALARMS == 0.001
    assert alarms < 3


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.text("ab1 _é", min_size=4, max_size=11).map(str.encode).filter(lambda value: len(value) >= 4), max_size=6
    ),
    st.text("ab1 _é,", max_size=200).map(str.encode),
)
def test_a_search_finds_what_plain_python_finds(values, content):
    assert find_values(values, content) == [number for number, value in enumerate(values) if value in content]
