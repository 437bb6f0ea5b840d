"""Every public function names a wrong type as it names a wrong value: no error of Python's own comes from inside."""

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.registry import EVERY_ALGORITHM
from indistinct.job.policy import Input, Policy
from indistinct.machine.arguments import with_checked_arguments

WRONG = (5, object(), [], {}, None, "no such thing", ["x"], {"age": 5})
SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
TABLE = pa.table({"age": [20 + i % 6 for i in range(48)], "sex": ["f", "m"] * 24, "disease": ["a", "b", "c", "d"] * 12})
MODEL = "k-anonymity:k=3"
FUNCTIONS = sorted(name for name in ind.__all__ if inspect.isfunction(getattr(ind, name)))
# Parameters that let a run take long, or write somewhere.
LEFT_OUT = {("report", "seconds"), ("report", "seed"), ("report", "smallest_count"), ("compare", "workers")}


@pytest.fixture(scope="module")
def release() -> ind.Release:
    return ind.anonymize(TABLE, SCHEMA, model=MODEL, algorithm="mondrian")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wrong")


def cases(release: ind.Release, folder: Path) -> dict[str, dict[str, Any]]:
    both = {"schema": SCHEMA, "original": TABLE}
    job = {"table": TABLE, "schema": SCHEMA}
    return {
        "analyze": {"release": release, "formulas": "age ~ C(sex)", "original": TABLE},
        "anonymize_tables": {"tables": {}, "schemas": {}, "people": "patients", "knows": {}, "model": MODEL},
        "anonymize": {**job, "model": MODEL, "algorithm": "mondrian"},
        "apply": {"recoding": release.recoding, "table": TABLE},
        "assess": {**job},
        "attack": {"attack": "homogeneity", "release": release},
        "attack_all": {"release": release, "attacks": ["homogeneity"], "seconds": 1.0},
        "classify": {**job, "target": "disease", "classifiers": ["naive-bayes"], "folds": 2, "release": release},
        "compare": {**job, "algorithms": ["mondrian"], "models": [MODEL], "workers": 1},
        "distributions": {"release": release, "original": TABLE},
        "explore": {**job, "model": MODEL},
        "fill_form": {"report": release, "name": "gdpr"},
        "for_others": {"certificate": release.certificate},
        "forget_release": {"path": folder / "no.ledger", "number": 1},
        "inspect": {"table": TABLE},
        "intervals": {"release": release.table},
        "measure": {"release": release},
        "measure_table": {"published": release.table, **both},
        "membership_of": {"published": release.table, **both},
        "open": {"source": TABLE},
        "problem": {**job, "model": MODEL},
        "published": {"release": release.table, **both},
        "query": {"release": release, "asked": "SELECT COUNT(*) WHERE age > 21"},
        "read_ledger": {"path": folder / "no.ledger"},
        "recode_classes": {},
        "recode_levels": {},
        "report": {"release": release, "seconds": 0.01},
        "run": {"policy": Policy(Input(folder / "no.csv"), SCHEMA, (ind.KAnonymity(3),)), "input": TABLE},
        "scan": {"published": release.table},
        "transform": {**job, "transformations": {}},
        "verify": {**job, "model": MODEL},
        "workload_error": {"release": release, "original": TABLE, "workload": ind.Workload.of(["SELECT COUNT(*)"])},
    }


def test_every_public_function_has_a_case(release, folder):
    assert sorted(cases(release, folder)) == FUNCTIONS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_types_are_named(name, release, folder, monkeypatch):
    monkeypatch.chdir(folder)
    function, given = getattr(ind, name), cases(release, folder)[name]
    broken = [
        f"{name}({parameter}={wrong!r}): {error}"
        for parameter, about in inspect.signature(function).parameters.items()
        if about.kind not in (about.VAR_KEYWORD, about.VAR_POSITIONAL) and (name, parameter) not in LEFT_OUT
        for wrong in (WRONG[:2] if name == "report" else WRONG)  # whole reports take long
        if (error := _error_of(lambda: function(**{**given, parameter: wrong}))) is not None  # noqa: B023
    ]
    assert not broken, "\n".join(broken)


def _error_of(call: Callable[[], Any]) -> str | None:
    """Return the error of Python's own that a call ends in; None where it succeeds or one of our errors tells why."""
    try:
        call()
    except ind.IndistinctError as error:
        return None if error.message else repr(error)
    except TypeError as error:
        return None if "missing a required argument" in str(error) else repr(error)
    except Exception as error:  # noqa: BLE001
        return repr(error)
    return None


VALUES = [*EVERY_ALGORITHM.values(), ind.Schema, ind.Writing, ind.NaiveBayes, ind.RandomForest, ind.LogisticRegression]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_wrong_types_of_the_parameters_of_a_value_are_named(kind):
    required = {
        name: {"levels": (0,), "l": 2}[name] for name in inspect.signature(kind).parameters if name in ("levels", "l")
    }
    broken = [
        f"{kind.__name__}({name}={wrong!r}): {error}"
        for name in inspect.signature(kind).parameters
        for wrong in (*WRONG, 1.5, float("nan"), [5])
        if (error := _error_of(lambda: kind(**{**required, name: wrong}))) is not None  # noqa: B023
    ]
    assert not broken, "\n".join(broken)


def test_a_model_that_is_none_is_named():
    with pytest.raises(ind.ParameterError) as caught:
        ind.anonymize(TABLE, SCHEMA, model=5)
    assert caught.value.message == "`model` of anonymize must be a Model, text or None; got int"


UNPACKING = [name for name in FUNCTIONS if "known" in inspect.signature(getattr(ind, name)).parameters]


@pytest.mark.parametrize("name", UNPACKING)
def test_further_keywords_are_checked_too(name, release, folder):
    """What is known of a release is named by keywords of its own: a wrong name or type must not be passed over."""
    function, given = getattr(ind, name), cases(release, folder)[name]
    with pytest.raises(ind.ParameterError) as caught:
        function(**given, hierarchy={})
    assert caught.value.message == f"{name} takes no 'hierarchy'"
    assert caught.value.hint == "did you mean 'hierarchies'?"
    with pytest.raises(ind.ParameterError) as caught:
        function(**given, hierarchies={"age": 5})
    assert caught.value.message == f"`hierarchies` of {name} must be a mapping to a Hierarchy or None; got dict of int"


def test_no_value_is_told():
    def publish(names: dict[str, int] | list[int]) -> None: ...

    with pytest.raises(ind.ParameterError) as caught:
        ind.transform(TABLE, SCHEMA, {"disease": "secret"})
    assert "secret" not in str(caught.value)
    assert with_checked_arguments(publish)({"a": 1}) is None


@pytest.mark.parametrize("name", ["verify", "published", "report", "query", "distributions", "membership_of"])
@pytest.mark.parametrize("wrong", [5, None, [1], object()], ids=["int", "None", "list", "object"])
def test_what_is_no_release_is_named_before_its_roles(name, wrong):
    more = ("SELECT COUNT(*)",) if name == "query" else ()
    with pytest.raises(ind.ParameterError) as caught:
        getattr(ind, name)(wrong, *more)
    assert f"got {type(wrong).__name__}" in caught.value.message
    assert "roles" not in caught.value.message


VERBS = [(ind.Incognito(), verb) for verb in ("satisfying", "minimal", "rounds", "find")]
VERBS += [(ind.BottomUp(), "satisfying"), (ind.Mondrian(), "find"), (ind.SingleDimensional(), "find")]


@pytest.mark.parametrize(("algorithm", "verb"), VERBS, ids=lambda each: getattr(each, "name", each))
def test_what_is_no_problem_is_named(algorithm, verb):
    with pytest.raises(ind.ParameterError) as caught:
        getattr(algorithm, verb)(5)
    assert caught.value.message == f"`problem` of {verb} must be a Problem; got int"


def test_methods_of_problems_and_releases_name_wrong_types(release):
    problem = ind.problem(TABLE, SCHEMA, model=MODEL)
    calls = {
        "`values` of tuple_of must be a mapping; got int": lambda: problem.tuple_of(5),
        "`path` of write must be": lambda: release.write(5),
        "`path` of write_recoding must be": lambda: release.write_recoding(None),
    }
    for words, call in calls.items():
        with pytest.raises(ind.ParameterError) as caught:
            call()
        assert caught.value.message.startswith(words)


K = ind.KAnonymity(2)
MISTAKES = {
    "models=": (lambda: ind.anonymize(TABLE, SCHEMA, models=K), "takes no 'models'", "did you mean 'model'?"),
    "models list": (lambda: ind.anonymize(TABLE, SCHEMA, models=[K, K]), "takes no 'models'", "join several models"),
    "k to the verb": (lambda: ind.anonymize(TABLE, SCHEMA, k=5), "takes no 'k'", "write model=KAnonymity(k=5)"),
    "l to the verb": (
        lambda: ind.anonymize(TABLE, SCHEMA, l=3),
        "takes no 'l'",
        "write model=DistinctLDiversity(l=3)",
    ),
    "third argument": (lambda: ind.anonymize(TABLE, SCHEMA, K), "takes 2 arguments without a name", "write model=…"),
    "third text": (lambda: ind.anonymize(TABLE, SCHEMA, "k-anonymity:k=2"), "without a name; got 3", "write model=…"),
    "class": (lambda: ind.anonymize(TABLE, SCHEMA, model=ind.KAnonymity), "the class KAnonymity", "KAnonymity(k=…)"),
    "list": (
        lambda: ind.anonymize(TABLE, SCHEMA, model=[K, K]),
        "got list of KAnonymity",
        "join several models with &",
    ),
    "number": (lambda: ind.anonymize(TABLE, SCHEMA, model=5), "got int", "model=KAnonymity(5)"),
    "joined class": (lambda: K & ind.TCloseness, "& joins models", "TCloseness(t=…"),
    "numbers as columns": (lambda: ind.Schema(quasi=[0, 1]), "got list of int", "named, not numbered"),
    "text as columns": (lambda: ind.Schema(quasi="age,sex"), "got one string", "write quasi=['age', 'sex']"),
    "role misspelled": (lambda: ind.Schema(sensitve=["disease"]), "takes no 'sensitve'", "did you mean 'sensitive'?"),
    "roles to the verb": (lambda: ind.anonymize(TABLE, quasi=["age"]), "takes no 'quasi'", "schema=Schema(quasi=…)"),
    "no schema": (lambda: ind.anonymize(TABLE, model=K), "anonymize needs schema", "schema=…"),
    "swapped": (lambda: ind.verify(SCHEMA, TABLE, K), "`schema` and `table` of verify are swapped", "verify(table,"),
    "swapped model": (lambda: ind.verify(TABLE, K, SCHEMA), "`schema` and `model`", "verify(table, schema, model)"),
    "verify a number": (lambda: ind.verify(5), "got int", "give what `anonymize` returned"),
    "verify models": (lambda: ind.verify(TABLE, SCHEMA, models=K), "takes no 'models'", "did you mean 'model'?"),
    "measure a table": (lambda: ind.measure(TABLE), "got Table", "ind.published(table, schema=…)"),
    "algorithm class": (lambda: ind.anonymize(TABLE, SCHEMA, model=K, algorithm=ind.Mondrian), "class", "Mondrian()"),
    "algorithm list": (lambda: ind.anonymize(TABLE, SCHEMA, model=K, algorithm=["mondrian"]), "list", "`compare`"),
    "algorithm misspelled": (
        lambda: ind.anonymize(TABLE, SCHEMA, model=K, algorithm="mondrain"),
        "no algo",
        "mondrian",
    ),
    "hierarchies list": (lambda: ind.anonymize(TABLE, SCHEMA, model=K, hierarchies=[]), "mapping", "by column"),
    "hierarchy file": (lambda: ind.anonymize(TABLE, SCHEMA, model=K, hierarchies={"age": "a"}), "of str", "read_csv"),
    "suppression": (lambda: ind.anonymize(TABLE, SCHEMA, model=K, suppression=5), "a share from 0 to 1", "5 rows"),
    "no suffix": (lambda: ind.anonymize(TABLE, SCHEMA, model=K, output="release"), "no suffix", ".parquet"),
    "no parameter": (ind.KAnonymity, "KAnonymity needs k", "KAnonymity(k=…)"),
    "parameter": (lambda: ind.Mondrian(relax=True), "takes no 'relax'", "did you mean 'relaxed'?"),
    "given twice": (lambda: ind.anonymize(TABLE, SCHEMA, schema=SCHEMA), "is given twice", "once"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_common_mistakes_say_what_to_write(mistake):
    call, message, hint = MISTAKES[mistake]
    with pytest.raises(ind.IndistinctError) as caught:
        call()
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_misspelled_name_of_the_package_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'KAnonymity'"):
        ind.KAnonymty  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'$"):
        ind.zzz  # noqa: B018


def test_copies_of_values_are_made_without_arguments():
    for value in (K, ind.Mondrian(relaxed=True), SCHEMA):
        assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))  # noqa: S301 (made right here)


def test_help_shows_the_parameters_of_classes():
    assert list(inspect.signature(ind.KAnonymity).parameters) == ["k"]
    assert list(inspect.signature(ind.Schema).parameters)[:2] == ["identifiers", "quasi"]
