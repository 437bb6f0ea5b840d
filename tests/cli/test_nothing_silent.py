"""Nothing happens in silence: settings that are not used, and values that point at single rows, are said."""

import json
from pathlib import Path

import pytest

MODEL = ["--model", "k-anonymity:k=5"]
BANDS = ["--hierarchy", "age=intervals:5,10,20", "--hierarchy", "admitted=dates:month,year"]


def unused(document: dict) -> list[str]:
    return [text for text in document["warnings"] if "will not be published" in text or "not used" in text]


@pytest.mark.parametrize(
    ("algorithm", "ignored"),
    [
        ("mondrian", ["the bands of 'age', 'admitted' will not be published: mondrian makes ranges of its own"]),
        ("single-dimensional", ["the bands of 'age', 'admitted' will not be published: single-dimensional makes"]),
        ("optimal", []),
        ("samarati", []),
        ("two-level", []),
    ],
)
def test_bands_that_are_not_published_are_said_to_be_so(
    patients: Path, roles: list[str], run, algorithm: str, ignored: list[str]
) -> None:
    out = patients.with_name("out.csv")
    masks = ["--hierarchy", "zipcode=mask:right", "--hierarchy", "sex=suppression"]
    given = ["anonymize", patients, *roles, *MODEL, *BANDS, *masks, "--algorithm", algorithm, "-o", out, "--overwrite"]
    ran = run(*given, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    told = unused(document)
    assert len(told) == len(ignored)
    assert all(text.startswith(start) for text, start in zip(told, ignored, strict=True))
    assert unused(document["certificate"]) == told
    assert unused(json.loads(Path(f"{out}.certificate.json").read_text())) == told
    assert all(f"note: {text}" in ran.err for text in told)


def test_hierarchies_of_a_release_in_buckets_are_not_published(patients: Path, roles: list[str], run) -> None:
    given = ["anonymize", patients, *roles, *BANDS, "-o", patients.with_name("out.csv"), "--overwrite", "--json"]
    (told,) = unused(json.loads(run(*given, "--algorithm", "slicing:l=2").out))
    assert told.startswith("the hierarchy of 'age', 'admitted' will not be published: slicing keeps values")
    spec = "slicing:l=2,generalize=3,generalizer=optimal"
    assert unused(json.loads(run(*given, "--algorithm", spec).out)) == []


def test_a_hierarchy_that_nothing_looks_at(patients: Path, roles: list[str], run) -> None:
    given = ["anonymize", patients, *roles, *MODEL, "-o", patients.with_name("out.csv"), "--json"]
    (told,) = unused(json.loads(run(*given, "--hierarchy", "cost=intervals:100,1000").out))
    assert told == "the hierarchy of 'cost' is not used: neither the search nor the model looks at it"


@pytest.mark.parametrize(
    ("algorithm", "share", "words"),
    [
        ("mondrian", "0.02", ["suppression = 0.02 is not used: mondrian drops no rows"]),
        ("two-level", "0.02", ["suppression = 0.02 is not used: two-level drops no rows"]),
        ("anatomy:l=2", "0.02", ["suppression = 0.02 is not used: anatomy drops no rows"]),
        ("optimal", "0.02", []),
        ("optimal", "0.001", ["suppression = 0.001 allows none of 300 rows to be dropped"]),
    ],
)
def test_a_budget_that_is_not_used_is_said_to_be_so(
    patients: Path, roles: list[str], run, algorithm: str, share: str, words: list[str]
) -> None:
    model = [] if algorithm.startswith("anatomy") else MODEL
    given = ["anonymize", patients, *roles, *model, "--algorithm", algorithm, "--suppression", share]
    ran = run(*given, "-o", patients.with_name("out.csv"), "--json")
    assert ran.code == 0, ran.err
    assert [text for text in json.loads(ran.out)["warnings"] if text.startswith("suppression")] == words
