"""Mistakes of a publisher of several tables, planted in the search: verification of what it writes catches each."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

from indistinct.errors import VerificationError
from indistinct.linked import search, tables
from indistinct.linked.calendar import OPEN, label_offsets
from indistinct.linked.checking import check_release
from indistinct.linked.order import sort_columns
from indistinct.linked.policy import linked_policy_from_toml
from indistinct.linked.publishing import publish_linked
from indistinct.linked.suppress import LabelRows, suppressed_rows
from indistinct.samples.clinic import generate_clinic

POLICY = """
[tables.patients]
path = "patients.csv"
people = true
[tables.patients.columns]
patient = "person"
sex = "quasi"
region = "insensitive"
birth_date = { role = "quasi", tells = "birth" }
first_admission = { role = "quasi", hierarchy = { dates = ["year"] } }
death_date = "identifier"
[tables.diagnoses]
path = "diagnoses.csv"
knows = KNOWS
[tables.diagnoses.columns]
patient = "person"
code = { role = "quasi", hierarchy = { mask = "right" } }
date = { role = "time", hierarchy = { days = [365] } }
cost = "COST"
[time]
anchor = "first_admission"
window = ["2010-01-01", "2024-12-31"]
[privacy]
models = ["linked-anonymity:MODEL"]
suppression = 0.1
"""


def by_label(classes, rows, gone, own):
    """Return which rows go, if the labels of some rows go in their classes."""
    width = int(rows.label.max(initial=0)) + 1
    dead = np.unique(classes[own.person[gone]] * width + own.label[gone])
    return np.isin(classes[rows.person] * width + rows.label, dead)


def mutant(change):
    """Return a search that suppresses for changed classes and rows."""

    def suppressed(classes, given, own_values, knowledge, model):
        changed = {name: change(classes, rows) for name, rows in given.items()}
        others = next(iter(changed.values()))[0]
        gone = suppressed_rows(others, {n: rows for n, (_, rows, _) in changed.items()}, own_values, knowledge, model)
        if gone is None:
            return None
        return {
            name: by_label(classes, rows, gone[name], changed[name][1]) if changed[name][2] is None else gone[name]
            for name, rows in given.items()
        }

    return suppressed


def sets(classes, rows):
    """A label counts once for a person."""
    width = int(rows.label.max(initial=0)) + 1
    _, first = np.unique(rows.person * width + rows.label, return_index=True)
    return classes, LabelRows(rows.person[first], rows.label[first], tuple(v[first] for v in rows.values)), None


def one_class(classes, rows):
    """All people are of one class."""
    return np.zeros_like(classes), rows, "as they are"


def no_values(classes, rows):
    """Sensitive values of rows do not count."""
    return classes, LabelRows(rows.person, rows.label), "as they are"


def rows_for_people(classes, given, own_values, knowledge, model):
    """A label that enough rows show is kept, of however many people."""
    gone = {}
    for name, rows in given.items():
        words = classes[rows.person] * (int(rows.label.max(initial=0)) + 1) + rows.label
        _, number, counts = np.unique(words, return_inverse=True, return_counts=True)
        gone[name] = counts[number] < model.k
    return gone


def no_calendar(units, classes, width, limits, unit):
    """Late offsets are published as they are."""
    ends = tuple(np.full_like(each, end) for each, end in zip(limits, (-OPEN, OPEN), strict=True))
    return label_offsets(units, classes, width, ends, unit)


def kept_order(table, data):
    """Rows stay in the order of the original file."""
    return data.select(sort_columns(table, data.column_names))


MUTANTS = {
    "sets for multisets": ({"KNOWS": "2"}, search, "suppressed_rows", mutant(sets)),
    "rows for people": ({}, search, "suppressed_rows", rows_for_people),
    "classes ignored": ({"KNOWS": "2"}, search, "suppressed_rows", mutant(one_class)),
    "no calendar": ({}, search, "label_offsets", no_calendar),
    "values of rows ignored": ({"MODEL": "k=3,l=3", "COST": "sensitive"}, search, "suppressed_rows", mutant(no_values)),
    "order of the file": ({}, tables, "sort_rows", kept_order),
}
DEFAULTS = {"KNOWS": "1", "COST": "identifier", "MODEL": "k=3"}


def policy_in(folder, **changes):
    text = POLICY
    for name, value in (DEFAULTS | changes).items():
        text = text.replace(name, value)
    return linked_policy_from_toml(text, base=folder)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A clinic in which codes repeat within people, and few costs are common."""
    folder = tmp_path_factory.mktemp("clinic")
    made = generate_clinic(400, seed=3)
    diagnoses = made["diagnoses"]
    generator = np.random.default_rng(1)
    codes = generator.choice(["A1", "A2", "B1", "B2"], diagnoses.num_rows, p=[0.6, 0.2, 0.15, 0.05])
    costs = generator.choice(["low", "high"], diagnoses.num_rows, p=[0.8, 0.2])
    diagnoses = diagnoses.set_column(1, "code", pa.array(codes)) if diagnoses.column_names[1] == "code" else diagnoses
    at = diagnoses.column_names.index("cost")
    diagnoses = diagnoses.set_column(at, "cost", pa.array(costs))
    csv.write_csv(made["patients"], folder / "patients.csv")
    csv.write_csv(diagnoses, folder / "diagnoses.csv")
    return folder


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_of_the_search_is_caught_and_writes_nothing(name, engine, clinic, tmp_path, monkeypatch):
    changes, module, function, wrong = MUTANTS[name]
    policy = policy_in(clinic, **changes)
    publish_linked(policy, folder=tmp_path / "sound", engine=engine)
    monkeypatch.setattr(module, function, wrong)
    with pytest.raises(VerificationError, match=r"calendar|order" if function != "suppressed_rows" else "linked"):
        publish_linked(policy, folder=tmp_path / "wrong", engine=engine)
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_row_deleted_for_a_single_person_is_caught_beside_the_originals(engine, clinic, tmp_path, monkeypatch):
    """The guarantee still holds, and only the originals tell that the label is suppressed for one person alone."""

    def suppressed(classes, given, own_values, knowledge, model):
        gone = suppressed_rows(classes, given, own_values, knowledge, model)
        for name, rows in given.items():
            kept = np.flatnonzero(~gone[name])
            words = classes[rows.person[kept]] * (int(rows.label.max(initial=0)) + 1) + rows.label[kept]
            people = np.unique(np.column_stack([words, rows.person[kept]]), axis=0)[:, 0]
            often, counts = np.unique(people, return_counts=True)
            first = kept[np.flatnonzero(words == often[np.argmax(counts)])[0]]
            same = (rows.person == rows.person[first]) & (rows.label == rows.label[first])
            gone[name] |= same
        return gone

    monkeypatch.setattr(search, "suppressed_rows", suppressed)
    policy = policy_in(clinic)
    publish_linked(policy, folder=tmp_path / "release", engine=engine)
    assert check_release(tmp_path / "release", policy).holds
    found = check_release(tmp_path / "release", policy, originals=True)
    assert [check.name for check in found.checks if not check.holds] == ["originals"]
