"""What is written for others: no small count that the release does not tell, and none that two others tell."""

import copy
import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.figures import Sentence, hide_counts
from indistinct.models.registry import parse_model
from indistinct.release.certificate import Certificate, ModelVerdict, Overlap, PeopleCounted

PLAIN = Certificate(
    "1", (ModelVerdict("k-anonymity:k=2", True, {"k": 2}, 0, 0),), rows=1000, classes=90, smallest_class=2
)


def told(certificate: Certificate, smallest: int = 11) -> dict[str, Any]:
    return ind.for_others(certificate, smallest=smallest)


def test_few_suppressed_rows_are_hidden_with_what_would_tell_them() -> None:
    shown = told(replace(PLAIN, original_rows=1003, suppressed_rows=3))
    assert (shown["original_rows"], shown["suppressed_rows"], shown["rows"]) == (None, None, 1000)
    assert shown["hidden"] == ["original_rows", "suppressed_rows"]
    assert (shown["smallest_class"], shown["verdicts"][0]["achieved"], shown["smallest_count"]) == (2, {"k": 2}, 11)


@pytest.mark.parametrize("suppressed", [0, 11, 400])
def test_none_and_many_stay(suppressed: int) -> None:
    certificate = replace(PLAIN, original_rows=1000 + suppressed, suppressed_rows=suppressed)
    shown = told(certificate)
    assert (shown["suppressed_rows"], shown["hidden"]) == (suppressed, [])
    assert shown == certificate.to_json()


def test_the_threshold_is_the_first_count_that_is_told() -> None:
    certificate = replace(PLAIN, original_rows=1010, suppressed_rows=10)
    assert told(certificate)["suppressed_rows"] is None
    assert told(certificate, 10)["suppressed_rows"] == 10
    assert told(certificate, 0)["suppressed_rows"] == 10
    for wrong in (-1, True, 2.5):
        with pytest.raises(ind.ParameterError, match="smallest_count"):
            ind.anonymize(
                pa.table({"a": [1, 1]}), ind.Schema(quasi=["a"]), model="k-anonymity:k=2", smallest_count=wrong
            )


def test_people_are_hidden_together() -> None:
    shown = told(replace(PLAIN, people=PeopleCounted(900, 903, 20)))
    assert shown["people"] == {"published": None, "original": None, "suppressed": None}
    shown = told(replace(PLAIN, people=PeopleCounted(995, 995, 0)))
    assert shown["people"]["published"] is None, "five rows more than people say how many have several"
    assert told(replace(PLAIN, people=PeopleCounted(1000, 1000, 0)))["hidden"] == []


def test_an_overlap_shows_no_small_group() -> None:
    overlap = Overlap(500, 3, 0, 2, 4, people_before=4)
    shown = told(replace(PLAIN, people=PeopleCounted(700, 700, 0), overlap=overlap))
    assert shown["overlap"]["smallest_history"] is shown["overlap"]["people_before"] is None
    assert shown["overlap"]["shared_people"] is None
    assert (shown["overlap"]["k"], shown["overlap"]["releases"], shown["overlap"]["people_below"]) == (2, 4, 0)
    assert shown["people"]["published"] is None


def test_a_warning_loses_its_counts_and_not_its_sense() -> None:
    warning = Sentence(
        "{rows_suppressed} row(s) are suppressed: column 'age' in {rows_0}", rows_suppressed=12, rows_0=11
    )
    certificate = replace(PLAIN, original_rows=1012, suppressed_rows=12, warnings=(warning, "as it is"))
    shown = told(certificate)
    assert shown["warnings"] == ["[hidden] row(s) are suppressed: column 'age' in [hidden]", "as it is"]
    assert shown["suppressed_rows"] is None
    assert certificate.warnings[0] == "12 row(s) are suppressed: column 'age' in 11"
    assert hide_counts(copy.deepcopy(warning), ["rows"]) == hide_counts(warning, ["rows"])


def test_the_rest_that_no_warning_names_is_not_told_either() -> None:
    parts = (
        Sentence("{rows_suppressed} uncovered", rows_suppressed=20),
        Sentence("{rows_suppressed} broken", rows_suppressed=40),
    )
    certificate = replace(PLAIN, original_rows=1065, suppressed_rows=65, warnings=parts)
    assert told(certificate)["suppressed_rows"] is None
    assert told(replace(certificate, original_rows=1060, suppressed_rows=60))["suppressed_rows"] == 60


def test_who_lost_some_rows_only_follows_from_three_counts() -> None:
    shown = told(replace(PLAIN, people=PeopleCounted(published=900, original=950, suppressed=55)))
    assert shown["people"] == {"published": None, "original": None, "suppressed": None}
    assert told(replace(PLAIN, people=PeopleCounted(published=900, original=950, suppressed=50)))["hidden"] == []


def test_rows_of_people_with_several_are_not_told_by_taking_people_from_rows() -> None:
    certificate = replace(PLAIN, original_rows=1050, suppressed_rows=50)
    for original, suppressed in ((1045, 45), (980, 45)):
        people = PeopleCounted(published=original - suppressed, original=original, suppressed=suppressed)
        assert told(replace(certificate, people=people))["people"]["suppressed"] is None
    people = PeopleCounted(published=850, original=900, suppressed=50)
    assert told(replace(certificate, people=people))["hidden"] == []


def verdict(model: str, **achieved: float) -> ModelVerdict:
    return ModelVerdict(model, True, achieved, 0, 0)


def test_what_is_achieved_beside_the_original_tells_no_hidden_count() -> None:
    """A distance from the original's distribution is a ratio whose denominator is the number of its rows."""
    verdicts = (verdict("t-closeness:sensitive=s,t=0.4", t=0.2166), verdict("alpha-k:…", alpha=0.6, k=8))
    shown = told(replace(PLAIN, original_rows=1005, suppressed_rows=5, verdicts=verdicts))
    assert [each["achieved"] for each in shown["verdicts"]] == [{"t": None}, {"alpha": 0.6, "k": 8}]
    assert "t of t-closeness:sensitive=s,t=0.4" in shown["hidden"]
    many = replace(PLAIN, original_rows=1100, suppressed_rows=100, verdicts=verdicts)
    assert told(many) == many.to_json()


def test_what_is_achieved_over_people_tells_no_hidden_number_of_people() -> None:
    verdicts = (verdict("average-risk:threshold=0.2", threshold=90 / 995), verdict("k-anonymity:k=2", k=2))
    shown = told(replace(PLAIN, people=PeopleCounted(995, 995, 0), verdicts=verdicts))
    assert [each["achieved"] for each in shown["verdicts"]] == [{"threshold": None}, {"k": 2}]


def test_the_size_of_the_sample_is_that_of_the_original() -> None:
    """An estimated k-map is judged for the rows of the original, and written with their number."""
    table = pa.table({"q": ["a"] * 20 + ["b"] * 20 + ["c"] * 3})
    known = {
        "model": "k-map:k=8,significance=0.05,population_size=100",
        "hierarchies": {"q": ind.Hierarchy.suppression()},
    }
    exact = ind.anonymize(
        table, ind.Schema(quasi=["q"]), algorithm="node:levels=0", suppression=0.1, **known
    ).certificate
    assert "sample_size=43" in exact.verdicts[0].model
    shown = told(exact)
    assert shown["suppressed_rows"] is None
    assert "43" not in json.dumps({key: value for key, value in shown.items() if "digest" not in key})


COUNT = st.integers(0, 60)


@settings(deadline=None, max_examples=200)
@given(
    rows=st.integers(1, 100),
    suppressed=COUNT,
    people=st.tuples(st.integers(1, 100), COUNT, COUNT),
    others=st.lists(COUNT, max_size=3),
    below=COUNT,
)
def test_nobody_gets_a_small_count_from_what_is_shown(
    rows: int, suppressed: int, people: tuple[int, int, int], others: list[int], below: int
) -> None:
    """Every figure alone, every two of them, and every figure with what a reader counts on the release."""
    published, more, lost = people
    certificate = replace(
        PLAIN,
        rows=rows,
        original_rows=rows + suppressed,
        suppressed_rows=suppressed,
        people=PeopleCounted(published, published + more, lost),
        overlap=Overlap(published // 2, 20, below, 2),
        warnings=tuple(Sentence("{rows} row(s)", rows=count) for count in others),
    )
    shown = told(certificate)
    counts = [int(number) for text in shown["warnings"] for number in re.findall(r"\d+", text)]
    by_unit = {
        "rows": [rows, shown["original_rows"], shown["suppressed_rows"], *counts],
        "people": [
            rows,
            *shown["people"].values(),
            shown["overlap"]["shared_people"],
            shown["overlap"]["people_below"],
        ],
    }
    for known, *told_figures in by_unit.values():
        figures = [figure for figure in told_figures if figure]
        assert all(figure >= 11 for figure in figures)
        assert not any(0 < abs(one - two) < 11 for one, two in combinations([known, *figures], 2))


def subgroup(disease: str, rows: int) -> list[tuple[int, str, int]]:
    return [(20 + index % 2, disease, index) for index in range(rows)]


def test_input_minus_published_is_not_told_by_any_file(tmp_path: Path) -> None:
    """Rows, people and columns: the certificate and the release together give no difference below the threshold."""
    rows = [*subgroup("flu", 40), *subgroup("gastritis", 30), (90, "flu", 98), (91, "flu", 99), (92, "flu", 97)]
    age, disease, pid = zip(*rows, strict=True)
    table = pa.table(
        {"pid": [f"{one}{other}" for one, other in zip(disease, pid, strict=True)], "age": age, "d": disease}
    )
    schema = ind.Schema(quasi=["age"], sensitive=["d"], person=["pid"])
    path = tmp_path / "out.csv"
    exact = ind.anonymize(
        table, schema, model="k-anonymity:k=5", algorithm="optimal", suppression=0.05, output=path
    ).certificate
    assert (exact.suppressed_rows, exact.people.suppressed) == (3, 3), "the steward sees all"
    text = Path(f"{path}.certificate.json").read_text()
    shown = json.loads(text)
    assert {"original_rows", "suppressed_rows", "people.original", "people.suppressed"} <= set(shown["hidden"])
    assert "73" not in re.findall(r"\b\d+\b", re.sub(r'"\w*digest": "[^"]*"', "", text))
    assert shown["rows"] == 70
    whole = ind.anonymize(table, schema, model="k-anonymity:k=5", algorithm="optimal", suppression=0.05)
    whole.write(tmp_path / "all.csv", smallest_count=0)
    assert json.loads((tmp_path / "all.csv.certificate.json").read_text())["suppressed_rows"] == 3


def test_what_is_applied_to_another_table_tells_no_small_count(tmp_path: Path) -> None:
    june = pa.table({"age": [21] * 50 + [43] * 50, "visit": list(range(100))})
    july = pa.table({"age": [21] * 80 + [43] * 3 + [99] * 2, "visit": list(range(85))})
    roles = ind.Schema(quasi=["age"], insensitive=["visit"])
    first = ind.anonymize(june, roles, model="k-anonymity:k=5", algorithm="mondrian")
    release = ind.apply(first.recoding, july, suppression=0.1, output=tmp_path / "out.csv")
    assert any("2 rows suppressed" in warning for warning in release.certificate.warnings)
    shown = json.loads((tmp_path / "out.csv.certificate.json").read_text())
    assert shown["rows"] == 80
    assert shown["original_rows"] is shown["suppressed_rows"] is None
    told = " ".join(warning for warning in shown["warnings"] if "unique" not in warning)
    assert re.findall(r"\b\d+ (?:row|class)", told) == []
    assert "[hidden] rows suppressed, which the recoding does not cover: column 'age' in [hidden]" in told


def test_a_certificate_with_hidden_counts_still_vouches(tmp_path: Path) -> None:
    table = pa.table({"pid": [f"p{n}" for n in range(60)], "age": [20 + n % 3 for n in range(57)] + [80, 81, 82]})
    schema = ind.Schema(quasi=["age"], person=["pid"])
    options: dict[str, Any] = {"model": "k-anonymity:k=5", "algorithm": "optimal", "suppression": 0.1}
    path = tmp_path / "out.csv"
    made = ind.anonymize(table, schema, output=path, hierarchies={"age": ind.Hierarchy.suppression()}, **options)
    assert made.certificate.suppressed_rows == 3
    again = ind.verify(path, schema, "k-anonymity:k=5", original=table)
    assert again.holds
    assert again.suppressed_rows == 3
    rows = ind.verify(path, ind.Schema(quasi=["age"]), "k-anonymity:k=5")
    assert any("the file counts people" in warning for warning in rows.warnings)
    path.write_text(path.read_text() + "20\n")
    assert not ind.verify(path, ind.Schema(quasi=["age"]), "k-anonymity:k=5").holds


@pytest.mark.parametrize(
    "model",
    [
        "t-closeness:sensitive=s,t=0.5",
        "basic-beta-likeness:sensitive=s,beta=3",
        "enhanced-beta-likeness:sensitive=s,beta=3",
        "delta-disclosure:sensitive=s,delta=3",
        "k-map:k=3,significance=0.05,population_size=90",
    ],
)
@pytest.mark.parametrize("person", [[], ["who"]])
def test_what_is_measured_against_the_original_does_not_tell_what_was_suppressed(model: str, person: list[str]) -> None:
    # Published are 15 times a and 15 times b: beta = 0.032 would say that the original had 31 rows, and one a less.
    table = pa.table(
        {"q": ["x"] * 30 + ["y"], "s": ["a", "b"] * 15 + ["b"], "who": [str(number) for number in range(31)]}
    )
    schema = ind.Schema(quasi=["q"], sensitive=["s"], person=person, identifiers=[] if person else ["who"])
    asked = ind.KAnonymity(k=3) & parse_model(model)
    tree = {"q": ind.Hierarchy.suppression()}
    made = ind.anonymize(
        table, schema, model=asked, algorithm="node:levels=0", hierarchies=tree, suppression=0.1
    ).certificate
    assert made.suppressed_rows == 1
    shown = told(made)
    (_, own), (kept, verdict) = made.verdicts, shown["verdicts"]
    assert kept["achieved"] == {"k": 30}
    assert verdict["holds"]
    assert all(value is None for value in verdict["achieved"].values())
    assert set(verdict["achieved"]) == set(own.achieved) != set()
    assert not re.search(r"\b31\b", json.dumps(shown))
    assert {f"{key} of {verdict['model']}" for key in own.achieved} <= set(shown["hidden"])
    assert told(made, 0)["verdicts"][1]["achieved"] == own.achieved
    everything = ind.anonymize(table.slice(0, 30), schema, model=model, algorithm="node:levels=0", hierarchies=tree)
    assert told(everything.certificate)["hidden"] == []
