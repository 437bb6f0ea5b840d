"""A package with a model, an algorithm and a metric is found by its entry points; a broken one harms nobody."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct import cli
from indistinct.errors import ParameterError
from indistinct.metrics import EVERY_METRIC, parse_metric
from indistinct.models.registry import EVERY_MODEL, MODELS, parse_model
from indistinct.testing import check_algorithm, check_metric, check_model
from indistinct.testing.checks import CHECKS, examples

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "guides" / "extending.md"
DECLARED = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
SPEC = "bounded-share:sensitive=disease,share=0.6"
TABLE = pa.table({"age": list(range(20, 60)), "disease": ["flu", "HIV", "ulcer", "flu"] * 10})
SCHEMA = ind.Schema(quasi=["age"], sensitive=["disease"])


def install(folder, package, groups, *, source=None):
    """Write what pip would write: the metadata of a package, and its one module if there is a source."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items()) for group, points in groups
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    if source is not None:
        (folder / f"{package.replace('-', '_')}.py").write_text(source)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages, with the example in it."""
    folder = tmp_path / "site"
    install(folder, DECLARED["name"], DECLARED["entry-points"].items())
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith(("indistinct_example", "other")):
            del sys.modules[name]


def listed(capsys):
    assert cli.main(["list", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_example_is_listed_with_its_package(site, capsys):
    found = listed(capsys)
    mine = {"package": "indistinct-example"}
    assert {"name": "bounded-share", **mine, "parameters": {"sensitive": None, "share": None}} in found["models"]
    assert {"name": "halves", **mine, "parameters": {}} in found["algorithms"]
    about = {"better": "lower", "meaning": "share of rows in the largest class"}
    assert {"name": "largest-class", **mine, "parameters": {}, **about} in found["metrics"]
    assert cli.main(["list"]) == 0
    assert "sensitive, share (of package indistinct-example)" in capsys.readouterr().out


def test_the_example_is_used_by_name(site):
    release = ind.anonymize(TABLE, SCHEMA, model=f"{SPEC} & k-anonymity:k=4", algorithm="halves")
    assert release.certificate.holds
    assert [verdict.model for verdict in release.certificate.verdicts] == [SPEC, "k-anonymity:k=4"]
    assert ind.measure(release, ["largest-class"]) == {"largest-class": 5 / 40}
    assert ind.verify(release.table, release.schema, SPEC).holds
    again = ind.apply(release.recoding, TABLE)
    assert again.certificate.holds


def test_the_example_is_used_on_the_command_line(site, tmp_path, capsys):
    pa.csv.write_csv(TABLE, tmp_path / "in.csv")
    roles = ["--quasi", "age", "--sensitive", "disease", "--model", SPEC]
    out = str(tmp_path / "out.csv")
    assert cli.main(["anonymize", str(tmp_path / "in.csv"), *roles, "--algorithm", "halves", "-o", out]) == 0
    assert cli.main(["verify", out, *roles]) == 0
    assert cli.main(["verify", out, *roles[:-1], SPEC.replace("0.6", "0.4")]) == 4


def test_a_search_can_use_a_metric_of_another_package(site):
    release = ind.anonymize(
        TABLE, SCHEMA, model="k-anonymity:k=4", algorithm="optimal:metric=largest-class", hierarchies={"age": WIDTHS}
    )
    assert release.recoding.levels == {"age": 1}


WIDTHS = ind.Hierarchy.intervals([5, 10, 20])


def judge(rows, _original):
    model, values = parse_model(SPEC), [row["disease"] for row in rows]
    return max(values.count(value) for value in values) > model.share * len(values)


def test_the_example_passes_the_common_checks(site):
    check_algorithm("halves", models=["k-anonymity:k=3"])
    check_model(SPEC, algorithms=["halves", "mondrian", "optimal", "kaca"], judge=judge)
    check_metric("largest-class")


def test_a_model_that_the_reference_does_not_know_needs_a_judge(site):
    (case, *_) = examples("halves", SPEC).values()
    with pytest.raises(TypeError, match="judge"):
        CHECKS["model_holds"](case)


def test_a_judge_that_disagrees_fails_the_check(site):
    (case, *_) = examples("halves", SPEC, judge=lambda rows, original: True).values()
    with pytest.raises(AssertionError, match="break bounded-share"):
        CHECKS["model_holds"](case)


GOOD = """
from dataclasses import dataclass
from typing import ClassVar
import indistinct as ind

@dataclass(frozen=True)
class Model(ind.KAnonymity):
    name: ClassVar[str] = "other-model"
"""
BROKEN = {
    "an import that fails": ("import no_such_module", "ModuleNotFoundError"),
    "anything raised": ("raise RuntimeError('at home')", "RuntimeError: at home"),
    "no such class": ("", "AttributeError"),
    "not a class": ("Model = 7", "no subclass of indistinct.Model"),
    "an algorithm": ("import indistinct\nModel = indistinct.Mondrian", "no subclass of indistinct.Model"),
    "abstract": ("import indistinct\nclass Model(indistinct.Model): name = 'other-model'", "undefined"),
    "not frozen": (GOOD.replace("@dataclass(frozen=True)", ""), "frozen dataclass"),
    "another name": (GOOD.replace("other-model", "another"), "registered as 'other-model'"),
    "a hint of nothing": (GOOD + "    p: 'Nothing' = 1", "NameError"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_breaks_only_who_asks_for_it(site, capsys, case):
    source, reason = BROKEN[case]
    install(site, "other", [("indistinct.models", {"other-model": "other:Model"})], source=source)
    (entry,) = [entry for entry in listed(capsys)["models"] if entry["name"] == "other-model"]
    assert entry["package"] == "other"
    assert reason in entry["broken"]
    assert cli.main(["list"]) == 0
    assert "broken, of package other:" in capsys.readouterr().out
    assert parse_model(SPEC).spec() == SPEC
    assert ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=4").certificate.holds
    with pytest.raises(ParameterError, match="'other-model' of package other cannot be used") as raised:
        parse_model("other-model:k=3")
    assert reason in raised.value.message
    assert "other" in raised.value.hint


def test_a_sound_package_next_to_the_example_works(site):
    install(site, "other", [("indistinct.models", {"other-model": "other:Model"})], source=GOOD)
    assert parse_model("other-model:k=3").k == 3


def test_a_name_that_is_built_in_cannot_be_taken(site, capsys):
    source = GOOD.replace("other-model", "k-anonymity")
    install(site, "other", [("indistinct.models", {"k-anonymity": "other:Model"})], source=source)
    assert EVERY_MODEL["k-anonymity"] is ind.KAnonymity
    assert type(parse_model("k-anonymity:k=3")) is ind.KAnonymity
    assert "other" not in sys.modules
    (_, entry) = [entry for entry in listed(capsys)["models"] if entry["name"] == "k-anonymity"]
    assert entry == {"name": "k-anonymity", "package": "other", "broken": "the name is built in"}


def test_two_packages_cannot_share_a_name(site, capsys):
    point = {"bounded-share": "other:Model"}
    install(site, "other", [("indistinct.models", point)], source=GOOD.replace("other-model", "bounded-share"))
    with pytest.raises(ParameterError, match="more than once, by indistinct-example and other"):
        parse_model(SPEC)
    both = [entry for entry in listed(capsys)["models"] if entry["name"] == "bounded-share"]
    assert [entry["package"] for entry in both] == ["indistinct-example", "other"]
    assert all("more than once" in entry["broken"] for entry in both)


def test_a_name_that_cannot_be_spelled_is_broken(site, capsys):
    source = GOOD.replace("other-model", "Other & Model")
    install(site, "other", [("indistinct.models", {"Other & Model": "other:Model"})], source=source)
    (entry,) = [entry for entry in listed(capsys)["models"] if entry.get("package") == "other"]
    assert "kebab case" in entry["broken"]


def test_misspelt_names_are_told_from_all(site):
    with pytest.raises(ParameterError, match="no model 'bounded-shares'") as raised:
        parse_model("bounded-shares:share=1")
    assert "bounded-share" in raised.value.hint
    with pytest.raises(ParameterError, match="no metric"):
        parse_metric("largest")
    assert list(EVERY_METRIC)[-1] == "largest-class"
    assert len(EVERY_MODEL) == len(MODELS) + 1


def test_nothing_is_loaded_before_it_is_asked_for(site):
    """Built-in names, --help and the import itself leave other packages alone."""
    code = """
import sys, indistinct as ind
from indistinct import cli
cli.main(["--help"])
from indistinct.models.registry import parse_model
parse_model("k-anonymity:k=3")
assert "indistinct_example" not in sys.modules
parse_model("bounded-share:sensitive=disease,share=0.6")
assert "indistinct_example" in sys.modules
"""
    code = f"import sys; sys.path[:0] = [{str(site)!r}, {str(HERE)!r}]\n{code}"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S)


def test_the_guide_shows_this_package():
    source = (HERE / "indistinct_example" / "__init__.py").read_text()
    *classes, use = blocks("python")
    assert len(classes) == 3
    assert [block for block in classes if block not in source] == []
    assert "BoundedShare" in use
    assert blocks("toml") == [(HERE / "pyproject.toml").read_text()]


def test_each_part_of_the_example_is_short():
    tree = ast.parse((HERE / "indistinct_example" / "__init__.py").read_text())
    lengths = {node.name: node.end_lineno - node.lineno + 2 for node in tree.body if isinstance(node, ast.ClassDef)}
    assert set(lengths) == {"BoundedShare", "Halves", "LargestClass"}
    assert max(lengths.values()) < 30
