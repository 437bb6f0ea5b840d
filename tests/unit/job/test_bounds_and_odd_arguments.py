"""Least levels of short masked texts, and arguments that no machine or file can have: each gets an error of ours."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError, OutputError, ParameterError
from indistinct.machine.memory import bytes_of
from indistinct.recoding.storage import read_recoding

TABLE = pa.table({"age": [1, 2, 3, 4] * 5, "city": ["ab", "abc", "abcdef", "b"] * 5, "disease": ["x", "y"] * 10})
SCHEMA = ind.Schema(quasi=["age", "city"], sensitive=["disease"])


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_the_least_level_binds_texts_shorter_than_the_mask(algorithm):
    release = ind.anonymize(
        TABLE,
        SCHEMA,
        model="k-anonymity:k=2",
        algorithm=algorithm,
        hierarchies={"city": ind.Hierarchy.masking()},
        levels={"city": (2, None)},
    )
    shown = set(release.to_pandas()["city"])
    assert not shown & set(TABLE["city"].to_pylist())
    assert all(text.endswith("**") or text == "*" for text in shown)


def test_more_memory_than_any_machine_has_is_refused():
    for memory in (10**400, 10**5000, "1" + "0" * 400, "1" + "0" * 400 + "GB", "9" * 30 + "TB"):
        with pytest.raises(ParameterError, match="`memory` must be at most"):
            bytes_of(memory)


@pytest.mark.parametrize("weight", [5e-324, 1e-200, 1e200])
def test_an_importance_beyond_all_sums_is_refused(weight):
    with pytest.raises(ParameterError, match="`importance` must lie between"):
        ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=2", importance={"age": weight})


def test_a_path_with_a_nul_is_no_path():
    release = ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=2", algorithm="mondrian")
    with pytest.raises(OutputError, match="NUL"):
        release.write("a\0b.csv")
    for read in (ind.open, ind.scan, read_recoding):
        with pytest.raises(InputError):
            read("a\0b.json")
