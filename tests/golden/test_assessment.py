"""The ten records of the IHSN guide, assessed as a whole: global risk, special uniques, classes."""

import pyarrow as pa
import pytest

import indistinct as ind

# Residence, gender, education, labour and weight, by the letters that the guide's words begin with.
RECORDS = [
    ("u", "f", "si", "e", 180),
    ("u", "f", "si", "e", 180),
    ("u", "f", "pi", "n", 215),
    ("u", "m", "sc", "e", 76),
    ("r", "f", "sc", "u", 186),
    ("u", "m", "sc", "e", 76),
    ("u", "f", "pc", "n", 180),
    ("u", "m", "ps", "u", 215),
    ("u", "f", "si", "n", 186),
    ("u", "f", "si", "n", 76),
]
QUASI = ["residence", "gender", "education", "labour"]


def test_the_ten_records():
    columns = dict(zip([*QUASI, "weight"], map(list, zip(*RECORDS, strict=True)), strict=True))
    schema = ind.Schema(quasi=QUASI, insensitive=["weight"])
    told = ind.assess(pa.table(columns), schema, weights="weight", suda=3).to_json()
    assert told["individual"]["expected"] == pytest.approx(0.158, abs=5e-4)
    assert told["individual"]["mean"] == pytest.approx(0.01582, abs=5e-6)
    assert told["special_uniques"]["highest_score"] == 12
    assert told["special_uniques"]["special_uniques"] == 4
    assert told["prosecutor"] == {"highest": 1.0, "average": 0.7, "at_risk": 1.0}
    assert (told["uniques"], told["classes"], told["rows"]) == (4, 7, 10)
    assert told["class_sizes"]["histogram"] == {"1": 4, "2": 3}
