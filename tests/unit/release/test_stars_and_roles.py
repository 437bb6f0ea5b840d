"""Releases whose original has the value *, and published columns that have no role."""

import numpy as np
import pandas as pd
import pytest

import indistinct as ind

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(20, 24, 60),
        "city": RNG.choice(["A", "B", "*", "ab*"], 60),
        "disease": RNG.choice(["flu", "*", "cold"], 60),
    }
)
SCHEMA = ind.Schema(quasi=["age", "city"], sensitive=["disease"])


@pytest.mark.parametrize("algorithm", ["mondrian", "top-down", "datafly", "optimal"])
def test_a_release_of_ours_matches_an_original_with_stars(algorithm, tmp_path):
    release = ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=5", algorithm=algorithm, suppression=0.1)
    release.write(tmp_path / "release.csv")
    for published in (release.to_pandas(), tmp_path / "release.csv", release):
        assert ind.verify(published, SCHEMA, "k-anonymity:k=5", original=TABLE).holds
    changed = release.to_pandas().assign(disease="plague")
    assert not ind.verify(changed, SCHEMA, "k-anonymity:k=5", original=TABLE).holds


@pytest.mark.parametrize("name", ["index", "age_min", "patient", "Unnamed: 0"])
@pytest.mark.parametrize("original", [None, TABLE])
def test_a_published_column_without_a_role_fails(name, original):
    release = ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian")
    shown = release.to_pandas().assign(**{name: range(60)})
    certificate = ind.verify(shown, SCHEMA, "k-anonymity:k=5", original=original)
    broken = [verdict.model for verdict in certificate.verdicts if not verdict.holds]
    assert broken == ["every-column-has-a-role"]
    assert any(repr(name) in warning for warning in certificate.warnings)
