"""`indistinct reproduce`: published figures next to ours."""

import json
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from indistinct.errors import ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct_papers import REPRODUCTIONS, mondrian_workload
from indistinct_papers.command import digest_of_code
from indistinct_papers.local_recoding import ALGORITHMS
from indistinct_papers.mondrian_bounds import RELAXED
from indistinct_papers.mondrian_quality import FULL_DOMAIN, TREES, below_everywhere, order_names
from indistinct_papers.mondrian_synthetic import BASELINES, OPTIMUM, judge_greedy_claim, name_proven
from indistinct_papers.scoreboards import NIST_COLUMNS, NIST_TABLES

DATA = Path(os.environ.get("INDISTINCT_DATA") or Path(__file__).parents[3] / "shared" / "data")
needs_adult = pytest.mark.skipif(
    not (DATA / "adult.csv").is_file(), reason="the Adult table is not there; set INDISTINCT_DATA to its folder"
)


@needs_adult
def test_the_published_nodes_stand_beside_ours(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(DATA))
    target = tmp_path / "nodes.json"
    ran = run("reproduce", "incognito-nodes", "--sizes", "3-4", "--json", "-o", target)
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert json.loads(target.read_text(encoding="utf-8")) == document
    assert document["equal"] == [3, 4]
    assert document["record"]["sizes"] == [3, 4]
    assert document["record"]["code"] == digest_of_code()
    for row in document["rows"]:
        assert (row["bottom-up"], row["incognito"]) == (row["published bottom-up"], row["published incognito"])
    assert "LeFevre" in document["source"]
    assert run("reproduce", "incognito-nodes", "--sizes", "3", "-o", target).code == 1
    shown = run("reproduce", "incognito-nodes", "--sizes", "3")
    assert "published" in shown.out
    assert "both counts equal the published ones for 1 of 1 numbers of columns" in " ".join(shown.out.split())


def test_adult_is_asked_for_where_nothing_can_stand_in(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    ran = run("reproduce", "incognito-nodes", "--json")
    assert ran.code == 1
    assert "INDISTINCT_DATA" in json.loads(ran.out)["error"]["hint"]


def test_a_generated_table_stands_in_and_is_named(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    ran = run("reproduce", "mondrian-quality", "--sizes", "250,1000", "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert "generated census" in document["data"]
    assert [row["k"] for row in document["rows"]] == [250] * 6 + [1000] * 6
    assert document["claims"][0]["verdict"] != "not tested"


@needs_adult
def test_both_models_cut_the_same_order_of_adult(monkeypatch, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(DATA))
    document = json.loads(run("reproduce", "mondrian-quality", "--sizes", "250,1000", "--json").out)
    assert "30,162 training rows" in document["data"]
    costs = {(row["k"], row["algorithm"]): row["discernibility"] for row in document["rows"]}
    proven = {row["k"]: row["none below"] for row in document["rows"] if row["none below"] is not None}
    # The optimum of cuts is proven, and Mondrian is below it where both cut the same order, not where it cuts trees.
    assert proven == {k: costs[k, OPTIMUM] for k in (250, 1000)} == {250: 12_042_138, 1000: 38_484_056}
    assert {k: costs[k, "mondrian"] for k in proven} == {250: 11_445_220, 1000: 37_824_788}
    assert {k: costs[k, TREES] for k in proven} == {250: 12_093_464, 1000: 41_093_448}
    assert {k: costs[k, FULL_DOMAIN] for k in proven} == {250: 114_684_126, 1000: 191_909_060}
    (claim,) = document["claims"]
    assert claim["claim"].startswith("The greedy algorithm often produces higher-quality results than optimal")
    assert claim["verdict"] == "confirmed"
    assert "below the optimum in 2 of 2 settings" in claim["figures"]
    assert "proven single-dimensional optima: k = 250, k = 1000" in document["findings"]


def test_names_are_places_in_the_order_of_their_trees() -> None:
    tree = Hierarchy.tree({"*": {"north": ["oslo", "bergen"], "south": ["rome", "bari"]}})
    table = pa.table({"city": ["rome", "oslo", "bari", "bergen", "oslo"], "age": [3, 1, 4, 1, 5]})
    ordered = order_names(table, {"city": tree})
    places = dict(zip(table["city"].to_pylist(), ordered["city"].to_pylist(), strict=True))
    assert sorted(places.values()) == [0, 1, 2, 3]
    assert abs(places["oslo"] - places["bergen"]) == abs(places["rome"] - places["bari"]) == 1
    assert ordered["age"].to_pylist() == [3, 1, 4, 1, 5]


def test_the_claim_about_optimal_recodings_is_judged_by_their_bounds() -> None:
    def verdict(*settings):
        rows = [
            (name, algorithm, cost, below)
            for name, (ours, best, bound) in settings
            for algorithm, cost, below in (("mondrian", ours, None), (BASELINES[1], best, bound))
        ]
        return judge_greedy_claim(rows)

    better, unknown, worse = (90, 100, 100), (95, 100, 90), (100, 100, 100)
    assert verdict(("a", better), ("b", better), ("c", worse)).verdict == "confirmed"
    assert verdict(("a", better), ("b", unknown), ("c", worse)).verdict == "depends"
    judged = verdict(("a", unknown), ("b", worse))
    assert judged.verdict == "not confirmed"
    assert "0 of 2 settings" in judged.figures
    assert "not below for b" in judged.figures
    assert "1 optimum is proven" in judged.figures


def test_proven_optima_are_named_and_others_too() -> None:
    rows = [("k = 2", 90, None), ("k = 2", 100, 80), ("k = 5", 70, None), ("k = 5", 200, 200)]
    words = "proven single-dimensional optima: k = 5; best known after 100,000 nodes: k = 2"
    assert name_proven(rows) == words
    assert name_proven(rows[2:]) == "proven single-dimensional optima: k = 5"


def test_what_is_not_below_is_named() -> None:
    rows = [
        (5, "mondrian", 10, 100.0, 1.0, None),
        (5, "mondrian:relaxed=true", 10, 300.0, 1.0, None),
        (5, BASELINES[0], 5, 400.0, 2.0, None),
        (5, BASELINES[1], 5, 300.0, 2.0, 300),
        (5, TREES, 5, 200.0, 1.9, None),
        (5, FULL_DOMAIN, 5, 500.0, 1.9, None),
    ]
    assert below_everywhere(rows) == {
        "discernibility": ["mondrian:relaxed=true at k = 5"],
        "average-class-size": ["mondrian, trees at k = 5"],
    }


@pytest.mark.parametrize("sizes", ["2-4", "x", "", "5-3", "3,10", "4-"])
def test_sizes_are_those_of_the_figure(run, sizes: str) -> None:
    ran = run("reproduce", "incognito-nodes", "--sizes", sizes)
    assert ran.code == ParameterError.exit_code
    assert "it has 3, 4, 5, 6, 7, 8, 9" in ran.err


def test_ranges_give_values_away_that_regions_keep(run) -> None:
    document = json.loads(run("reproduce", "inference-attacks", "--sizes", "4", "--json").out)
    found = {(row["attack"], row["algorithm"]): row for row in document["rows"]}
    assert found["definetti", "anatomy:l=4"]["from"] > 0.25 + 0.15
    assert found["downcoding", "mondrian"]["from"] > found["downcoding", "mondrian"]["baseline"]
    kept, given = found["downcoding", "mondrian:extent=region"], found["downcoding", "mondrian"]
    assert (kept["successes"], found["downcoding", "optimal"]["successes"]) == (0, 0)
    assert kept["gcp"] > given["gcp"]
    refined = found["combinatorial-refinement", "two-level"]
    assert refined["from"] > refined["baseline"]
    assert set(document["columns"]["downcoding mondrian 4"]["age"]) == {"coarse", "claimed", "right"}


def test_an_unknown_figure_has_a_nearest_one(run) -> None:
    ran = run("reproduce", "mondrian-qualty")
    assert ran.code == 2
    assert "mondrian-quality" in ran.err
    assert set(REPRODUCTIONS) == {
        *("incognito-nodes", "incognito-times", "inference-attacks", "local-recoding", "slicing"),
        *("examples", "high-dimensional", "slicing-classification", "lighthouse", "nist-crc"),
        "overlapping-slicing",
        *(f"mondrian-{part}" for part in ("attributes", "bounds", "cuts", "growth", "k", "sigma", "targets")),
        *(f"mondrian-{part}" for part in ("passes", "predicates", "quality", "workload")),
    }


def test_scoreboards_say_which_table_is_missing(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    for name in ("lighthouse", "nist-crc"):
        ran = run("reproduce", name)
        assert ran.code == 1, ran.err
        assert "INDISTINCT_DATA" in ran.err


def test_a_scoreboard_publishes_and_scores(monkeypatch, tmp_path: Path, run) -> None:
    columns = ",".join(NIST_COLUMNS)
    rows = "\n".join(",".join(str(row // 8 % (2 + place)) for place in range(len(NIST_COLUMNS))) for row in range(64))
    for name in NIST_TABLES:
        (tmp_path / "nist-crc").mkdir(exist_ok=True)
        (tmp_path / "nist-crc" / f"{name}.csv").write_text(f"{columns}\n{rows}\n")
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    ran = run("reproduce", "nist-crc", "--sizes", "6", "--json")
    assert ran.code == 0, ran.err
    *made, published = json.loads(ran.out)["rows"]
    names = ("k-marginal", "unique exact matches", "stars", "rows kept", "rows without a star")
    assert {tuple(row[name] for name in names) for row in made} == {(1000, 0, 0.0, 1.0, 64)}
    assert {row["sdnist matches"] for row in made} == {0}
    # What NIST publishes of sdcMicro stands below its table, and says nothing that only we compute.
    assert (published["algorithm"], published["sdnist k-marginal"]) == ("sdcMicro, published", 907)
    assert published["k-marginal"] is None


@needs_adult
def test_airbnbs_mondrian_stands_beside_ours(monkeypatch, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(DATA))
    ran = run("reproduce", "lighthouse", "--sizes", "5", "--json")
    assert ran.code == 0, ran.err
    sample, guide = json.loads(ran.out)["rows"]
    assert sample["stars here"] < sample["stars of Lighthouse"]
    # Its guide prints these two; it stars fewer names there, and drops rows where we drop none.
    assert (guide["rows dropped by Lighthouse"], guide["rows changed by Lighthouse"]) == (349, 17_698)
    assert guide["rows dropped here"] == 0
    assert guide["ratio with dropped rows"] < 1 < guide["ratio"]


def test_clustering_is_drawn_and_its_claims_are_told(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    target = tmp_path / "clustering.svg"
    ran = run("reproduce", "local-recoding", "--sizes", "3-4", "--json", "-o", target)
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert "generated census" in document["data"]
    many = len(ALGORITHMS)
    assert [row["size"] for row in document["rows"]] == [3] * 3 * many + [4] * 3 * many
    assert document["settings"] == 6
    assert {row["setting"] for row in document["rows"]} == {"30,162 rows"}
    starts = range(0, 6 * many, many)
    groups = [{row["algorithm"]: row for row in document["rows"][start : start + many]} for start in starts]
    verdicts = {claim["claim"].partition(" than ")[0]: claim for claim in document["claims"]}
    slower = verdicts["TopDown-KACA takes less time"]["figures"].partition("; distortion: ")[2]
    expected = sum(group["top-down-kaca"]["distortion"] > group["kaca"]["distortion"] for group in groups)
    assert f"of kaca (so in {expected} of 6)" in slower.partition("with stubs")[2]
    less = verdicts["two-level clustering distorts less"]
    expected = sum(
        group["two-level:rule=literal"]["distortion"] < group["top-down"]["distortion"]
        for group in groups
        if group["kaca"]["k"] in (2, 5)
    )
    assert f"of top-down (so in {expected} of 4) (" in less["figures"]
    assert all(claim["place"] and claim["setting"] and claim["ours"] for claim in document["claims"])
    assert all(group["kaca"]["discernibility / kaca"] == 1 for group in groups)
    drawn = ElementTree.fromstring(target.read_text(encoding="utf-8"))  # noqa: S314
    assert sum("line mark" in each.get("aria-roledescription", "") for each in drawn.findall(".//{*}path")) == 63
    assert {f"k = {k}" for k in (2, 5, 10)} <= {each.text for each in drawn.findall(".//{*}text")}


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_search(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr("indistinct_papers.local_recoding.measure_algorithms", None)
    ran = run("reproduce", "local-recoding", "-o", tmp_path / "clustering.svg")
    assert ran.code == 1
    assert 'pip install "indistinct[report]"' in ran.err
    assert not list(tmp_path.iterdir())


def test_a_figure_without_a_picture_says_so(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    ran = run("reproduce", "mondrian-bounds", "-o", tmp_path / "bounds.svg")
    assert ran.code != 0
    assert "no picture" in ran.err


@needs_adult
def test_fake_tuples_on_adult_follow_the_paper_where_they_can(monkeypatch, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(DATA))
    ran = run("reproduce", "slicing", "--sizes", "5,20", "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert "Adult, 45,222 rows" in document["data"]
    assert "no published numbers" in document["source"]
    ranked = document["correlation with the sensitive attribute"]
    assert list(ranked)[:5] == ["sex", "salary-class", "workclass", "education", "relationship"]
    assert (round(ranked["sex"], 3), round(ranked["salary-class"], 3)) == (0.190, 0.120)
    assert [claim["verdict"] for claim in document["claims"]] == ["depends", *["confirmed"] * 3]
    # With two columns sex alone stands in the other one, so there is at most one fake tuple for each original one.
    assert document["slices"]["2"][-1] == ["sex", "occupation"]
    few = [row for row in document["rows"] if row["fake"] <= row["original"]]
    assert {(row["columns"], row["tuples"]) for row in few} == {(2, "quasi")}
    assert document["claims"][0]["figures"].startswith("in 10 of 12 settings")
    assert document["claims"][0]["figures"].endswith("not with 2 columns, tuples: quasi, bucket size 5, 20")
    assert [row["algorithm"] for row in document["rows"]][16::2] == ["slicing:l=2", "slicing:l=5", "slicing:l=7"]


def test_membership_is_drawn_and_its_claims_are_told(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    target = tmp_path / "membership.svg"
    ran = run("reproduce", "slicing", "--sizes", "5", "--json", "-o", target)
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert "generated census, 45,222 rows" in document["data"]
    known = [row for row in document["rows"] if (row["algorithm"], row["tuples"]) == ("bucketized", "quasi")]
    assert [(row["fake"], row["candidates"] - row["original"]) for row in known] == [(0, 0)]
    assert {claim["claim"]: claim["verdict"] for claim in document["claims"]}[
        "fake tuples grow with the bucket size"
    ] == "not tested"
    assert "slicing:l=7: this table allows no such l" in document["findings"]
    drawn = ElementTree.fromstring(target.read_text(encoding="utf-8"))  # noqa: S314
    assert sum("bar" in each.get("aria-roledescription", "") for each in drawn.findall(".//{*}path")) == 6
    assert "5 rows, 3 columns" in str(drawn.findtext("{*}title"))


def test_errors_of_counts_are_near_the_published_ones_and_rise(monkeypatch, run) -> None:
    """The paper's table rests on one unpublished random table: means over thirty stay within a band around it."""
    few = {**mondrian_workload.ALGORITHMS, "single": "single-dimensional:search=optimal,nodes=1000"}
    monkeypatch.setattr(mondrian_workload, "ALGORITHMS", few)
    document = json.loads(run("reproduce", "mondrian-workload", "--json").out)
    assert (document["inside"], document["rising"]) == (True, True)
    multi = [row for row in document["rows"] if row["model"] == "multi"]
    assert [(row["k"], row["attribute"]) for row in multi] == [(k, axis) for k in (10, 25, 50) for axis in "XY"]
    assert [row["published mean"] for row in multi] == [4.66, 4.03, 5.69, 5.67, 7.94, 8.06]
    for row in multi:
        assert 0.75 <= row["mean"] / row["published mean"] <= 1.35
    for axis in "XY":
        means = [row["mean"] for row in multi if row["attribute"] == axis]
        assert means == sorted(set(means))
    assert any("not published" in words for words in document["differs"])


def test_bounds_hold_are_met_and_are_missing_for_single_cuts(run) -> None:
    document = json.loads(run("reproduce", "mondrian-bounds", "--sizes", "10,50", "--json").out)
    assert (document["bound_held"], document["bound_met"]) == (True, True)
    assert document["single_dimensional"] == {"21": 10, "101": 50}
    for row in document["rows"]:
        strict = 2 * row["d"] * (row["k"] - 1) + row["m"]
        assert row["bound"] == (2 * row["k"] - 1 if row["partitioning"] == RELAXED else strict)


def test_searches_are_timed_and_drawn(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    monkeypatch.setattr("indistinct_papers.incognito_times.LANDS_END_ROWS", 2_000)
    monkeypatch.setattr("indistinct_papers.incognito_times.CENSUS_ROWS", 2_000)
    ran = run("reproduce", "incognito-times", "--sizes", "3-4", "--json", "-o", tmp_path / "times.svg")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert any("archive.ics.uci.edu" in finding for finding in document["findings"])
    assert len(document["rows"]) == 2 * 2 * 2 * 6
    for rows in (document["rows"][start : start + 6] for start in range(0, 48, 6)):
        found = {row["search"]: row for row in rows}
        assert all(row["cpu seconds"] > 0 for row in rows)
        assert found["bottom-up without rollup"]["scans"] == found["bottom-up without rollup"]["checks"]
        scans = [found[f"{variant} incognito"]["scans"] for variant in ("cube", "super-roots", "basic")]
        assert scans == sorted(scans)
        assert scans[0] == found["bottom-up with rollup"]["scans"] == 1
        assert len({found[f"{variant} incognito"]["checks"] for variant in ("cube", "super-roots", "basic")}) == 1
    drawn = ElementTree.fromstring((tmp_path / "times.svg").read_text(encoding="utf-8"))  # noqa: S314
    assert sum("line mark" in each.get("aria-roledescription", "") for each in drawn.findall(".//{*}path")) == 72


@pytest.mark.parametrize(
    ("name", "sizes", "lines"),
    [("mondrian-k", "10,50", 16), ("mondrian-sigma", "1,5", 8), ("mondrian-attributes", "2,4", 16)],
)
def test_generated_tables_are_partitioned_and_drawn(tmp_path: Path, run, name: str, sizes: str, lines: int) -> None:
    ran = run("reproduce", name, "--sizes", sizes, "--json", "-o", tmp_path / "drawn.svg")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    growing = name.partition("-")[2]
    assert {row[growing] for row in document["rows"]} == {
        int(s) / (10 if growing == "sigma" else 1) for s in sizes.split(",")
    }
    normal = [row for row in document["rows"] if row["data"] == "normal"]
    for start in range(0, len(normal), 4):
        strict, _, greedy, exact = normal[start : start + 4]
        assert strict["discernibility"] <= exact["discernibility"] <= greedy["discernibility"]
        assert exact["none below"] <= exact["discernibility"]
    assert len(document["claims"]) == 1
    drawn = ElementTree.fromstring((tmp_path / "drawn.svg").read_text(encoding="utf-8"))  # noqa: S314
    assert sum("line mark" in each.get("aria-roledescription", "") for each in drawn.findall(".//{*}path")) == lines


def test_cuts_are_drawn_as_the_regions_of_the_classes(tmp_path: Path, run) -> None:
    ran = run("reproduce", "mondrian-cuts", "--sizes", "25", "--json", "-o", tmp_path / "cuts.svg")
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)["rows"]
    classes = [row["classes"] for row in rows]
    optimal, greedy, multi = rows
    assert (optimal["proven"], greedy["proven"], multi["proven"]) == ("yes", None, None)
    assert multi["discernibility"] < optimal["discernibility"] <= greedy["discernibility"]
    drawn = ElementTree.fromstring((tmp_path / "cuts.svg").read_text(encoding="utf-8"))  # noqa: S314
    kinds = [each.get("aria-roledescription", "") for each in drawn.findall(".//{*}path")]
    assert kinds.count("rect") + kinds.count("bar") + kinds.count("rect mark") == sum(classes)


def test_all_figures_stand_on_one_page_without_a_script(monkeypatch, tmp_path: Path, run) -> None:
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    few = {name: REPRODUCTIONS[name] for name in ("incognito-nodes", "mondrian-bounds", "mondrian-cuts")}
    monkeypatch.setattr("indistinct_papers.REPRODUCTIONS", few)
    page = tmp_path / "figures.html"
    ran = run("reproduce", "all", "-o", page, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert list(document["figures"]) == ["mondrian-bounds", "mondrian-cuts"]
    assert list(document["missing"]) == ["incognito-nodes"]
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    # A heading above all verdicts and one for each figure; verdicts of all, of the bounds, and the rows of two figures.
    assert (text.count("<h2"), text.count("<svg"), text.count("<table")) == (4, 1, 4)
    assert text.index("What the sources claim") < text.index("indistinct reproduce incognito-nodes")
    assert "https://archive.ics.uci.edu/dataset/2/adult" in text
    assert "What differs, and why:" in text
    assert run("reproduce", "all").code == 2
    assert run("reproduce", "all", "--sizes", "3", "-o", tmp_path / "other.html").code == 2


# The command is found by its entry point.


def test_without_the_package_the_command_says_what_to_install(monkeypatch, run) -> None:
    monkeypatch.setattr("indistinct.cli.reproduce.GROUP", "indistinct.no-such-group")
    for argv in (["reproduce"], ["reproduce", "--help"], ["reproduce", "slicing", "--sizes", "5", "--json"]):
        ran = run(*argv)
        assert ran.code == 1
        assert "needs the package indistinct-papers" in ran.err
        assert "pip install indistinct-papers" in ran.err
    assert json.loads(ran.out)["error"]["type"] == "MissingExtraError"


def test_every_argument_reaches_the_package(run) -> None:
    shown = run("reproduce", "--help")
    assert shown.code == 0
    assert "indistinct reproduce" in shown.out
    assert "--sizes" in shown.out
    assert run("reproduce", "-h").out == shown.out
    wrong = run("reproduce", "slicing", "--no-such-option")
    assert wrong.code == 2
    assert "--no-such-option" in wrong.err
    assert "indistinct reproduce --help" in wrong.err
