"""Policies: what is read is what was written, and every mistake is named with its place."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.partition.single_dimensional import SingleDimensional
from indistinct.errors import PolicyError
from indistinct.job.policy import Input, Output, Policy, policy_from_toml, policy_to_toml, read_policy, write_policy
from indistinct.metrics import GCP, ClassificationMetric, Discernibility
from indistinct.models import Model
from indistinct.recoding.columns import FORMS, importance_of, levels_of, numeric_forms
from indistinct.suppression_limit import Budget, parse_budget
from indistinct.tables.value import Reading

TEXT = """\
[input]
path = "patients.csv"

[columns]
name    = "identifier"
age     = { role = "quasi", hierarchy = { intervals = [5, 10, 20] } }
zipcode = { role = "quasi", hierarchy = { mask = "right" } }
sex     = { role = "quasi" }
disease = { role = "sensitive" }

[privacy]
models = ["k-anonymity:k=5", "distinct-l-diversity:sensitive=disease,l=3"]
suppression = 0.02

[algorithm]
use = "mondrian"

[output]
path = "release.parquet"
report = "release.html"
"""


def test_a_population_is_read_written_and_moved(tmp_path) -> None:
    text = TEXT.replace('path = "patients.csv"', 'path = "patients.csv"\npopulation = "register/people.csv"')
    policy = policy_from_toml(text, base=Path("/jobs"))
    assert policy.input.population == Path("register/people.csv")
    assert policy.population == Path("/jobs/register/people.csv")
    assert Path("/jobs/register/people.csv") in policy.files
    assert policy_to_toml(policy) == text
    written = write_policy(policy, tmp_path / "policy.toml")
    assert read_policy(written).population.resolve() == Path("/jobs/register/people.csv")
    assert policy_from_toml(TEXT, base=Path()).population is None


def test_the_policy_of_the_design_is_read_and_written_letter_by_letter() -> None:
    policy = policy_from_toml(TEXT, base=Path("/jobs"))
    assert policy.input == Input(Path("patients.csv"))
    assert policy.schema == ind.Schema(identifiers=["name"], quasi=["age", "zipcode", "sex"], sensitive=["disease"])
    assert policy.models == (ind.KAnonymity(k=5), ind.DistinctLDiversity("disease", l=3))
    assert policy.hierarchies == {
        "age": ind.Hierarchy.intervals([5, 10, 20]),
        "zipcode": ind.Hierarchy.masking(),
    }
    assert policy.suppression == Budget(0.02)
    assert policy.algorithm == ind.Mondrian()
    assert policy.output == Output(Path("release.parquet"), Path("release.html"))
    assert policy.locate(policy.input.path) == Path("/jobs/patients.csv")
    assert policy.model.spec() == "k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=3"
    assert policy_to_toml(policy) == TEXT


def test_everything_that_can_stand_in_a_policy() -> None:
    policy = Policy(
        Input(Path("data/in.txt"), Reading(";", "cp1252", missing=("", "?"), text=("d",))),
        ind.Schema(quasi=["a b", "größe", "d"], sensitive=['say "s"'], insensitive=["rest"]),
        (ind.TCloseness("s", t=0.25, distance="hierarchical"),),
        hierarchies={
            "a b": ind.Hierarchy.intervals(cuts=[[18, 40, 65], [40]]),
            "größe": ind.Hierarchy.tree({"*": {"low": ["a", "b\x7f"], "hi.gh": []}}),
            "d": ind.Hierarchy.dates(["month", "year"]),
            'say "s"': ind.Hierarchy.from_rows([["x", "\\n", "*"], ["", "\n\t", "*"]]),
        },
        suppression=0.125,
        algorithm=SingleDimensional(search="optimal"),
        target="rest",
        metrics=(GCP(), Discernibility(), ClassificationMetric("rest")),
    )
    assert policy_from_toml(policy_to_toml(policy), base=Path()) == policy


def test_a_file_hierarchy_is_relative_to_the_policy(tmp_path: Path) -> None:
    (tmp_path / "levels").mkdir()
    (tmp_path / "levels" / "sex.csv").write_text("female;*\nmale;*\n")
    text = TEXT.replace(
        'sex     = { role = "quasi" }', 'sex = { role = "quasi", hierarchy = { file = "levels/sex.csv" } }'
    )
    (tmp_path / "policy.toml").write_text(text)
    policy = read_policy(tmp_path / "policy.toml")
    assert policy.hierarchies["sex"].rows == (("female", "*"), ("male", "*"))
    assert policy.files == (tmp_path / "patients.csv", tmp_path / "levels" / "sex.csv")
    again = read_policy(write_policy(policy, tmp_path / "again.toml"))
    assert again == policy
    moved = read_policy(write_policy(policy, tmp_path / "levels" / "moved.toml"))
    assert moved.input.path == Path("../patients.csv")
    assert moved.hierarchies["sex"].path == "sex.csv"
    assert [path.resolve() for path in moved.files] == [path.resolve() for path in policy.files]


def test_a_policy_is_not_replaced_unasked(tmp_path: Path) -> None:
    policy = policy_from_toml(TEXT, base=tmp_path)
    write_policy(policy, tmp_path / "policy.toml")
    with pytest.raises(ind.OutputError, match="exists already"):
        write_policy(policy, tmp_path / "policy.toml")
    write_policy(policy, tmp_path / "policy.toml", overwrite=True, heading="Look:\n\nhere", notes={"age": "years"})
    text = (tmp_path / "policy.toml").read_text()
    assert text.startswith("# Look:\n#\n# here\n")
    assert "# years\nage" in text
    assert read_policy(tmp_path / "policy.toml") == policy


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
MODELS: st.SearchStrategy[Model] = st.one_of(
    st.integers(1, 99).map(lambda k: ind.KAnonymity(k=k)),
    st.floats(0.01, 1).map(lambda t: ind.TCloseness("s", t=t)),
    st.tuples(st.floats(0.01, 9), st.integers(1, 9)).map(lambda p: ind.RecursiveLDiversity("s", c=p[0], l=p[1])),
)
HIERARCHIES = st.one_of(
    st.floats(0.001, 1000).map(lambda width: ind.Hierarchy.intervals([width])),
    st.lists(NAMES, min_size=1, max_size=4, unique=True).map(ind.Hierarchy.order),
    st.tuples(st.sampled_from(["left", "right"]), st.sampled_from(["*", '"', "\\", "é"])).map(
        lambda p: ind.Hierarchy.masking(p[0], char=p[1])
    ),
    st.just(ind.Hierarchy.suppression()),
    st.lists(NAMES, min_size=1, max_size=4, unique=True).map(
        lambda leaves: ind.Hierarchy.from_rows([(leaf, "top") for leaf in leaves])
    ),
)

LEVELS = st.tuples(st.integers(0, 3), st.none() | st.integers(3, 9))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    roles = {name: draw(st.sampled_from(["identifier", "quasi", "sensitive", "insensitive"])) for name in names}
    schema = ind.Schema.from_roles(roles)
    assignment = [*schema.quasi, *schema.sensitive]
    return Policy(
        Input(
            Path(draw(st.sampled_from(["a.csv", "../b c.parquet", "/d/é.arrow"]))),
            Reading(
                delimiter=draw(st.sampled_from([None, ";", "\t"])),
                missing=tuple(draw(st.lists(NAMES, max_size=2))),
                text=tuple(draw(st.lists(st.sampled_from(names), max_size=2, unique=True))),
            ),
            sample=draw(st.none() | st.floats(0, 1, exclude_min=True)),
        ),
        schema,
        tuple(draw(st.lists(MODELS, min_size=1, max_size=2))),
        hierarchies={name: draw(HIERARCHIES) for name in assignment if draw(st.booleans())},
        suppression=draw(st.floats(0, 1)),
        algorithm=draw(st.sampled_from([ind.Mondrian(), ind.Mondrian(relaxed=True)])),
        target=draw(st.sampled_from([None, *schema.published])),
        output=Output(
            draw(st.sampled_from([None, Path("out.csv")])),
            ranges=draw(st.sampled_from([None, "labels", "columns"])),
        ),
        importance=importance_of(
            {
                n: draw(st.just(1) | st.floats(1e-6, 1e6))
                for n in draw(st.permutations(schema.quasi))
                if draw(st.booleans())
            }
        ),
        levels=levels_of({n: draw(LEVELS) for n in draw(st.permutations(schema.quasi)) if draw(st.booleans())}),
        numeric=numeric_forms({n: draw(st.sampled_from(FORMS)) for n in schema.quasi if draw(st.booleans())}),
    )


@given(policies())
@settings(deadline=None, max_examples=150)
def test_reading_undoes_writing(policy: Policy) -> None:
    assert policy_from_toml(policy_to_toml(policy), base=Path()) == policy


def test_neither_importance_nor_levels_have_an_order() -> None:
    assert importance_of({"a": 3, "b": 2, "c": 1}) == importance_of({"b": 2, "a": 3})
    assert hash(importance_of({"a": 3, "b": 2})) == hash(importance_of({"b": 2, "a": 3}))
    assert importance_of({"a": 3}) != importance_of({"a": 2})
    assert importance_of({"a": 3}) != {"a": 3}
    bounds: list[dict[str, tuple[int, int | None]]] = [{"a": (0, 1), "b": (1, None)}, {"b": (1, None), "a": (0, 1)}]
    assert levels_of(bounds[0]) == levels_of(bounds[1])
    assert hash(levels_of(bounds[0])) == hash(levels_of(bounds[1]))
    assert levels_of({"a": (0, 1)}) != levels_of({"a": (0, 2)})
    assert levels_of({"a": (0, 1)}) != "a=0..1"


MISTAKES = {
    "unknown table": ("[output]", "[outputs]", "the policy: unknown key 'outputs'", "did you mean 'output'?"),
    "unknown key": ("suppression", "supression", "[privacy]: unknown key 'supression'", "'suppression'"),
    "misspelt key of a column": (
        'sex     = { role = "quasi" }',
        'sex = { roles = "quasi" }',
        "[columns] sex: unknown key 'roles'",
        "did you mean 'role'?",
    ),
    "unknown key of a hierarchy": ("mask =", "maks =", "[columns] zipcode: unknown key 'maks'", "'mask'"),
    "text of no column": (
        'path = "patients.csv"',
        'path = "patients.csv"\ntext = ["sexx"]',
        "[input] text: there is no column 'sexx'",
        "did you mean 'sex'?",
    ),
    "model by its parameter": ("suppression = ", "k = 5\nsuppression = ", "'k'", 'write models = ["k-anonymity:k=5"]'),
    "longer name of a role": (
        'sex     = { role = "quasi" }',
        'sex = { role = "quasi-identifier" }',
        "got 'quasi-identifier'",
        "did you mean 'quasi'?",
    ),
    "unknown role": ('"identifier"', '"identifer"', "got 'identifer'", "'identifier'"),
    "role that is no text": ('"identifier"', "7", "[columns] name: expected a role", 'name = "insensitive"'),
    "no role": ('{ role = "quasi" }', "{ }", "[columns] sex: the key 'role' is missing", "role"),
    "hierarchy that is no table": (
        '{ mask = "right" }',
        '"mask"',
        "[columns] zipcode hierarchy: expected a table",
        "",
    ),
    "hierarchy of an identifier": (
        '"identifier"',
        '{ role = "identifier", hierarchy = { mask = "left" } }',
        "[columns] name: a column with the role identifier",
        "leave the hierarchy out",
    ),
    "broken nesting": ("[5, 10, 20]", "[5, 12]", "[columns] age: levels do not nest", "multiple|divide"),
    "missing hierarchy file": (
        '{ mask = "right" }',
        '{ file = "no.csv" }',
        "[columns] zipcode: there is no file",
        "path",
    ),
    "unknown model": ("k-anonymity", "k-anonimity", "[privacy] models: there is no model", "'k-anonymity'"),
    "k of zero": ("k=5", "k=0", "[privacy] models: `k` of KAnonymity must be at least 1; got 0", ""),
    "no model": (
        '["k-anonymity:k=5", "distinct-l-diversity:sensitive=disease,l=3"]',
        "[]",
        "at least one model",
        "k=5",
    ),
    "models in one text": (
        '["k-anonymity:k=5", "distinct-l-diversity:sensitive=disease,l=3"]',
        '"k-anonymity:k=5"',
        "[privacy] models: expected a list of texts; got a text",
        "",
    ),
    "suppression above one": (
        "0.02",
        "2",
        "[privacy] suppression: `suppression` must be a share from 0 to 1",
        '"2 rows"',
    ),
    "suppression that is no number": (
        "0.02",
        "true",
        "[privacy] suppression: expected a number or a text; got true or false",
        "",
    ),
    "unknown algorithm": ('"mondrian"', '"mondrain"', "[algorithm] use: there is no algorithm", "'mondrian'"),
    "path that is no text": (
        'path = "patients.csv"',
        "path = 1979-05-27",
        "[input] path: expected a text; got a date",
        "",
    ),
    "no path": ('path = "patients.csv"', "", "[input]: the key 'path' is missing", ""),
    "no columns": (
        TEXT[TEXT.index("[columns]") : TEXT.index("[privacy]")],
        "",
        "the key 'columns' is missing",
        "",
    ),
    "unknown metric": ("[output]", '[measure]\nmetrics = ["gpc"]\n[output]', "[measure] metrics", "'gcp'"),
    "label that is not published": (
        "[output]",
        '[measure]\ntarget = "name"\n[output]',
        "[measure] target: 'name'",
        "",
    ),
    "two labels": (
        "[output]",
        '[measure]\ntarget = "sex"\nmetrics = ["classification:target=disease"]\n[output]',
        "[measure] target: one column",
        "",
    ),
    "broken TOML": ('path = "patients.csv"', "path = patients.csv", "line 2: broken TOML", "quotes"),
    "column twice": ("sex     =", "age     =", "line 8: broken TOML", "once"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_place(name: str, tmp_path: Path) -> None:
    old, new, message, hint = MISTAKES[name]
    assert old in TEXT
    path = tmp_path / "policy.toml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(PolicyError) as caught:
        read_policy(path)
    assert caught.value.exit_code == 1
    assert caught.value.message.startswith(f"{path}, ")
    assert message in caught.value.message
    assert caught.value.hint
    assert any(part in caught.value.hint for part in hint.split("|"))


def test_broken_toml_does_not_repeat_what_it_met() -> None:
    text = TEXT.replace('{ mask = "right" }', "{ tree = { SECRETVALUE42 = 1, SECRETVALUE42 = 2 } }")
    with pytest.raises(PolicyError) as caught:
        policy_from_toml(text, base=Path())
    assert "line 7" in caught.value.message
    assert "SECRETVALUE42" not in str(caught.value)


def test_a_policy_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="there is no policy"):
        read_policy(tmp_path / "no.toml")
    (tmp_path / "latin.toml").write_bytes("# größe".encode("latin-1"))
    with pytest.raises(PolicyError, match="not UTF-8"):
        read_policy(tmp_path / "latin.toml")


def test_a_broken_table_is_told_by_the_mark_that_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("[input\npath = 1\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"line 1: broken TOML: expected '\]' at the end of a table declaration"):
        read_policy(path)


@pytest.mark.parametrize("said", ["0.02", '"4 rows"', '"4/30"', '"1 person"', "0", "1"])
def test_a_budget_is_read_and_written(said):
    text = TEXT.replace("suppression = 0.02", f"suppression = {said}")
    policy = policy_from_toml(text, base=Path())
    assert policy.suppression == parse_budget(said.strip('"'))
    assert policy_from_toml(policy_to_toml(policy), base=Path()).suppression == policy.suppression
