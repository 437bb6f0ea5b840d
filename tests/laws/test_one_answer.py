"""One release has one answer: every question gives the same for a release, for its file by policy, and by roles.

Wherever the same is known, the answer is the same; where something is missing, the question is refused by name. The
original is always the one that was read, whatever was done to its columns.
"""

import datetime
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.job.policy import policy_from_toml
from indistinct.recoding.transformations import parse_transformation

ROWS, FIRST = 120, datetime.date(2024, 1, 1)
QUERY = "SELECT COUNT(*) WHERE age BETWEEN 25 AND 44 AND sex = 'f'"
TOTAL = "SELECT SUM(income) WHERE sex = 'f'"


def people(rows=ROWS, seed=7):
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "who": [f"p{number // 2:03}" for number in range(rows)],
            "age": chance.integers(20, 60, rows),
            "sex": chance.choice(["f", "m"], rows),
            "town": chance.choice(["aa1", "aa2", "ab1", "ba1", "ba2"], rows),
            "income": chance.integers(10, 900, rows) * 137,
            "ill": chance.choice(["flu", "cold", "ulcer", "none"], rows),
            "visit": [
                datetime.date(2024, 1, 1) + datetime.timedelta(days=int(d)) for d in chance.integers(0, 300, rows)
            ],
        }
    )


def others():
    """Return people of the same population who are not in the table, with ages and towns that nobody there has."""
    table = people(seed=8)
    ages, towns = pc.add(table["age"], 7), pc.replace_substring(table["town"], "b", "c")
    names = pc.binary_join_element_wise(table["who"], "x", "")
    for name, column in {"who": names, "age": ages, "town": towns}.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


ROLES = {
    "identifiers": ["who"],
    "quasi": ["age", "sex", "town"],
    "sensitive": ["income", "ill"],
    "insensitive": ["visit"],
}
PERSONS = {
    "identifiers": ["town", "income", "visit"],
    "quasi": ["age", "sex"],
    "sensitive": ["ill"],
    "person": ["who"],
}


@dataclass(frozen=True)
class Kind:
    """How a release is made, and what a policy and flags say of it."""

    roles: dict = field(default_factory=lambda: ROLES)
    model: str | None = "k-anonymity:k=3"
    algorithm: str = "mondrian"
    hierarchies: dict = field(default_factory=dict)
    transformations: dict = field(default_factory=dict)
    suppression: float = 0.0
    suffix: str = ".csv"
    pseudonyms: tuple = ()
    population: bool = False

    @property
    def schema(self):
        return ind.Schema(**self.roles)

    def policy(self, folder):
        roles = {"identifiers": "identifier", "quasi": "quasi", "sensitive": "sensitive", "insensitive": "insensitive"}
        columns = []
        for key, names in self.roles.items():
            for name in names:
                parts = [f'role = "{roles.get(key, "person")}"']
                if name in self.pseudonyms:
                    parts.append('pseudonym = { key = "key" }')
                if name in self.hierarchies:
                    parts.append('hierarchy = { mask = "right" }')
                if name in self.transformations:
                    way, _, value = self.transformations[name].partition(":")
                    parts.append(f"{way} = {value if value.isdigit() else repr(value)}")
                columns.append(f"{name} = {{ {', '.join(parts)} }}")
        models = "" if self.model is None else f'models = ["{self.model}"]\n'
        everybody = 'population = "everybody.parquet"\n' if self.population else ""
        text = f'[input]\npath = "original.parquet"\n{everybody}[columns]\n' + "\n".join(columns)
        text += f'\n[privacy]\n{models}suppression = {self.suppression}\n[algorithm]\nuse = "{self.algorithm}"\n'
        return policy_from_toml(text, base=folder)


KINDS = {
    "classes": Kind(),
    "parquet": Kind(suffix=".parquet"),
    "statistics file": Kind(suffix=".sav"),
    "hierarchies": Kind(algorithm="optimal", hierarchies={"town": ind.Hierarchy.masking()}, suppression=0.1),
    "several models": Kind(model="k-anonymity:k=3 & distinct-l-diversity:sensitive=ill,l=2"),
    "transformed": Kind(transformations={"income": "round:1000", "visit": "truncate:month"}),
    "people": Kind(roles=PERSONS),
    "anatomy": Kind(algorithm="anatomy:l=2", model=None),
    "slicing": Kind(algorithm="slicing:l=2", model=None),
    "multiset": Kind(algorithm="multiset:l=2", model=None),
    "pseudonyms": Kind(pseudonyms=("who",)),
    "relaxed": Kind(algorithm="mondrian:relaxed=true"),
    "stata": Kind(suffix=".dta"),
    "population": Kind(model="k-map:k=3", population=True),
    "nodes of a population": Kind(
        model="k-map:k=3", algorithm="optimal", hierarchies={"town": ind.Hierarchy.masking()}, population=True
    ),
    "people of a population": Kind(roles=PERSONS, model="k-map:k=3", population=True),
}


@dataclass(frozen=True)
class Given:
    """One release in three ways, beside its original as it was."""

    kind: Kind
    original: pa.Table
    release: ind.Release
    ways: dict


@pytest.fixture(scope="module", params=KINDS)
def given(request, tmp_path_factory):
    return give(KINDS[request.param], tmp_path_factory.mktemp("release"))


def give(kind, folder):
    original = people()
    if kind.pseudonyms:  # those of people with several rows would link them
        original = original.set_column(0, "who", [[f"p{number:03}" for number in range(ROWS)]])
    (folder / "key").touch(mode=0o600)
    (folder / "key").write_bytes(bytes(range(32)))
    everybody = pa.concat_tables([original, others()]) if kind.population else None
    if everybody is not None:
        pq.write_table(everybody, folder / "everybody.parquet")
    pseudonyms = {name: ind.Pseudonym(folder / "key") for name in kind.pseudonyms}
    transformations = {name: parse_transformation(text) for name, text in kind.transformations.items()}
    release = ind.anonymize(
        original,
        kind.schema,
        model=kind.model,
        algorithm=kind.algorithm,
        hierarchies=kind.hierarchies,
        transformations=transformations,
        suppression=kind.suppression,
        pseudonyms=pseudonyms,
        population=everybody,
    )
    path = folder / f"release{kind.suffix}"
    release.write(path)
    known = {"model": kind.model, "algorithm": kind.algorithm, "hierarchies": kind.hierarchies}
    known |= {"transformations": transformations, "suppression": kind.suppression, "recoding": release.recoding}
    known |= {"pseudonyms": pseudonyms, "population": everybody}
    ways = {
        "release": ind.published(release, original=original, population=everybody),
        "policy": ind.published(path, policy=kind.policy(folder), original=original, recoding=release.recoding),
        "roles": ind.published(path, kind.schema, original=original, **known),
    }
    return Given(kind, original, release, ways)


def plain(answer):
    """Return an answer without what speaks of time or of bytes."""
    document = answer.to_json() if hasattr(answer, "to_json") else answer
    return json.loads(json.dumps(_without(document), default=str))


APART = {
    "seconds",
    "output_digest",
    "other_digests",
    "recoding_digest",
    "made",
    "warnings",
    "notes",
    "algorithm",
    "elapsed",
}


def _without(document):
    if isinstance(document, dict):
        return {key: _without(value) for key, value in document.items() if key not in APART}
    if isinstance(document, list | tuple):
        return [_without(value) for value in document]
    return round(document, 9) if isinstance(document, float) else document


VERBS = {
    "verify": ind.verify,
    "assess": ind.assess,
    "attack": lambda p: ind.attack("all", p, seed=3),
    "distributions": ind.distributions,
    "query": lambda p: ind.query(p, QUERY),
    "total": lambda p: ind.query(p, TOTAL),
    "workload": lambda p: ind.workload_error(p, workload=ind.Workload.of([QUERY])),
    "membership": lambda p: ind.membership_of(p, seed=1),
    "classify": lambda p: ind.classify(p, target="ill", classifiers=["naive-bayes"], folds=2),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_way_gives_one_answer(given, verb):
    ask = VERBS[verb]

    def answered(published):
        try:
            return plain(ask(published))
        except ind.errors.IndistinctError as error:
            return f"{type(error).__name__}: {error}"

    answers = {name: answered(published) for name, published in given.ways.items()}
    assert answers["policy"] == answers["release"]
    assert answers["roles"] == answers["release"]


def test_measures_of_a_file_are_those_of_the_release(given):
    own = ind.measure(given.ways["release"])
    for name in ("policy", "roles"):
        found = ind.measure(given.ways[name])
        assert {metric: value for metric, value in own.items() if metric in found} == pytest.approx(dict(found))
        assert set(own) - set(found) <= {"entropy"}


def test_the_original_is_transformed_by_nobody_else(given):
    for published in given.ways.values():
        assert ind.published(published).raw is published.raw
        assert published.raw.rows == given.original.num_rows
        assert set(given.kind.transformations) <= set(published.transformations)


def test_what_is_missing_is_named(given):
    alone = ind.published(Path(given.ways["policy"].path), given.kind.schema, algorithm=given.kind.algorithm)
    for ask in (ind.distributions, VERBS["workload"], VERBS["membership"]):
        with pytest.raises(ind.errors.IndistinctError, match="original"):
            ask(alone)


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_a_report_says_the_same_of_every_way(given, edition, monkeypatch):
    # The page words and draws these documents; it knows nothing else.
    monkeypatch.setattr("indistinct.reporting.report._sections", lambda *_, **__: ())
    monkeypatch.setattr("indistinct.reporting.report.html_of", lambda *_: "")
    ask = {"edition": edition, "seconds": 60.0, "seed": 3, "workload": ind.Workload.of([QUERY])}
    reports = {name: plain(ind.report(published, **ask))["documents"] for name, published in given.ways.items()}
    for name in ("policy", "roles"):
        for document, content in reports[name].items():
            own = reports["release"][document]
            assert _comparable(document, content, own) == _comparable(document, own, content), (name, document)
        assert set(reports[name]) == set(reports["release"])


def _comparable(document, content, other):
    """Return what a document of a report says of a release and of its file alike."""
    if document == "measure":  # a file does not tell where each row came from
        return {metric: value for metric, value in content["metrics"].items() if metric != "entropy"}
    if document == "suppression" and "subgroups" in content:  # of a file only columns as they are tell subgroups
        both = set(content["subgroups"]) & set(other["subgroups"])
        return {name: content["subgroups"][name] for name in both}
    if document == "certificate":  # nobody asks of a release that was made here whether it is that of its table
        return {**content, "verdicts": [each for each in content["verdicts"] if each["model"] != "matches-original"]}
    return content


def test_a_scan_of_the_cells_finds_the_same(given):
    def cells(published):
        return {(each.check, each.place, each.count) for each in ind.scan(published).leaks}

    assert cells(given.ways["policy"]) == cells(given.ways["roles"])
    assert cells(given.ways["release"]) <= cells(given.ways["policy"])


def test_a_recoding_that_is_applied_again_has_one_answer(tmp_path):
    """It speaks of the values of the first table, and figures of those of the second alone."""
    schema, second = ind.Schema(**ROLES), people(rows=60, seed=9)
    making = {"model": "k-anonymity:k=2", "algorithm": "mondrian:extent=region"}
    first = ind.anonymize(people(), schema, **making)
    release = ind.apply(first.recoding, second, suppression=0.5)
    release.write(tmp_path / "second.csv")
    own = ind.published(release, original=second)
    file = ind.published(tmp_path / "second.csv", schema, original=second, recoding=release.recoding, **making)
    found = dict(ind.measure(file))
    assert {name: value for name, value in ind.measure(own).items() if name in found} == pytest.approx(found)
    assert plain(ind.assess(own)) == plain(ind.assess(file))
    assert plain(ind.query(own, QUERY)) == plain(ind.query(file, QUERY))
