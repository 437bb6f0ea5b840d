"""The page's first steps: what is opened and how it is read, and what follows from a decision about a column."""

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("nicegui")

from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.errors import IndistinctError, InputError, ParameterError, PolicyError, SchemaError
from indistinct.job.job import ledger_of_policy
from indistinct.job.policy import Output, policy_from_toml, policy_to_toml
from indistinct.models import DistinctLDiversity, KAnonymity
from indistinct.recoding.transformations import Transformation
from indistinct.release.pseudonyms.making import Pseudonym
from indistinct.schema import Role
from indistinct.suppression_limit import Budget
from indistinct.tables import Reading
from indistinct.web import deciding
from indistinct.web.files import allowed_path
from indistinct.web.sessions import Session, Settings
from indistinct.web.steps.columns import protection
from indistinct.web.tasks import columns as tasks
from indistinct.web.tasks.looking import Allowed, Look, MissingTable, Sheets, look, look_by_policy, preview
from indistinct.web.worker import Desk, TaskError
from references.sheets import spreadsheet

ROWS = 40
LONG = "x" * 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("served").resolve()


@pytest.fixture(scope="module")
def table(folder):
    lines = ["name;age;sex;zipcode;disease;cost;visit"]
    for row in range(ROWS):
        disease = ("flu", "cough", "HIV", "asthma")[row % 4]
        visit = f"{1 + row % 28:02d}.03.2024"
        lines.append(f"Person {row};{20 + row % 25};{'fm'[row % 2]};0{1000 + row % 7};{disease};{row * 7},5;{visit}")
    path = folder / "clinic.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def desk():
    return Desk()


@pytest.fixture(scope="module")
def looked(desk, table):
    return look(desk, table, Reading())


@pytest.fixture
def allowed(folder, tmp_path):
    uploaded = (tmp_path / "uploaded" / "table").resolve()
    uploaded.mkdir(parents=True)
    return Allowed(folder, uploaded)


def again(policy):
    """Return a policy as it is after being written and read, which raises if it does not hold."""
    return policy_from_toml(policy_to_toml(policy), base=policy.base)


# Opening


def test_a_look_says_how_the_file_is_written_and_proposes_how_it_is_read(looked):
    assert looked.form == {"kind": "text", "delimiter": ";", "encoding": "utf-8"}
    assert looked.policy.input.reading.decimal == ","
    assert looked.policy.input.reading.dates == ("%d.%m.%Y",)
    assert looked.policy == looked.starter
    assert looked.inspection["rows"] == ROWS


def test_an_exact_look_proposes_nothing(desk, table):
    found = look(desk, table, Reading(), exact=True)
    assert found.policy.input.reading == Reading()
    types = {each["name"]: each["type"] for each in found.inspection["columns"]}
    assert types["cost"] == "text"


def test_a_preview_is_paged_and_short(desk, tmp_path):
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"a": [LONG, None, "c"]} | {f"c{n}": [1, 2, 3] for n in range(60)}), path)
    shown = preview(desk, path, Reading(), first=1, rows=5)
    assert (shown["of"], shown["width"], len(shown["columns"])) == (3, 61, 40)
    assert [row[:2] for row in shown["rows"]] == [["", "2"], ["c", "3"]]
    first = preview(desk, path, Reading(), rows=1)["rows"][0][0]
    assert len(first) == 80
    assert first.endswith("…")


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.png", b"\x89PNG\r\n\x1a\n" + bytes(50)), ("a.csv", b""), ("a.parquet", b"PAR1broken"), ("a.xlsx", b"PKno")],
)
def test_what_is_no_table_is_told_without_the_private_folder(desk, tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(IndistinctError) as raised:
        look(desk, path, Reading())
    assert str(tmp_path) not in str(raised.value)
    assert str(tmp_path) not in raised.value.message + (raised.value.hint or "")


def test_a_workbook_of_several_sheets_asks_which_one_is_the_table(desk, tmp_path):
    path, visits = tmp_path / "visits.xlsx", [["age", "sex"], *([30 + place, "f"] for place in range(8))]
    path.write_bytes(spreadsheet({"Visits": visits, "Empty": [], "Read me": [["note"], ["nothing"]]}))
    assert look(desk, path, Reading()) == Sheets(("Visits", "Read me"))
    found = look(desk, path, Reading(sheet="Visits"))
    assert isinstance(found, Look)
    assert (found.inspection["rows"], found.policy.input.reading.sheet) == (8, "Visits")


def test_paths_stay_inside_the_folder(folder, table, tmp_path):
    session = Session(tmp_path, Settings(folder, 10))
    (folder / "inside").mkdir(exist_ok=True)
    (folder / "out").unlink(missing_ok=True)
    (folder / "out").symlink_to(tmp_path)
    assert allowed_path(session, " clinic.csv ") == table
    assert allowed_path(session, str(table)) == table
    for given in ("", "../other.csv", "/etc/passwd", "out/a.csv", "inside", "a\0b"):
        with pytest.raises(TaskError):
            allowed_path(session, given)


def test_a_policy_opens_its_table_as_it_says(desk, looked, folder, allowed):
    policy = deciding.with_reason(looked.policy, "age", "known to neighbours")
    path = folder / "job.toml"
    path.write_text(policy_to_toml(policy), encoding="utf-8")
    found = look_by_policy(desk, path, allowed)
    assert found.policy == policy
    assert found.policy.source == folder / "clinic.csv"
    assert found.policy.reasons == {"age": "known to neighbours"}


def test_a_policy_waits_for_a_table_that_must_be_uploaded(desk, looked, table, allowed):
    path = allowed.uploaded.parent / "policy" / "job.toml"
    path.parent.mkdir()
    path.write_text(policy_to_toml(looked.policy).replace("clinic.csv", "elsewhere/visits.csv"), encoding="utf-8")
    assert look_by_policy(desk, path, allowed) == MissingTable("visits.csv")
    (allowed.uploaded / "visits.csv").write_bytes(table.read_bytes())
    found = look_by_policy(desk, path, allowed)
    assert found.policy.source == allowed.uploaded / "visits.csv"
    assert found.policy.input.path == Path("visits.csv")
    assert found.policy.schema == looked.policy.schema


def test_other_files_of_a_policy_stay_where_they_are_when_its_table_is_uploaded(desk, looked, table, folder, allowed):
    policy = replace(looked.policy, output=Output(Path("open.csv"), ledger=Path("ledger.sqlite")))
    path = allowed.uploaded.parent / "policy" / "job.toml"
    path.parent.mkdir()
    path.write_text(policy_to_toml(policy), encoding="utf-8")
    (allowed.uploaded / "clinic.csv").write_bytes(table.read_bytes())
    found = look_by_policy(desk, path, allowed)
    assert found.policy.source == allowed.uploaded / "clinic.csv"
    assert ledger_of_policy(found.policy) == folder / "ledger.sqlite", "another ledger would know no earlier release"


def test_a_table_outside_is_wanted_even_if_it_is_there(desk, looked, tmp_path, folder, allowed):
    outside = tmp_path / "secret.csv"
    outside.write_text("a\n1\n", encoding="utf-8")
    path = folder / "outside.toml"
    path.write_text(policy_to_toml(looked.policy).replace("clinic.csv", outside.as_posix()), encoding="utf-8")
    assert look_by_policy(desk, path, allowed) == MissingTable("secret.csv")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "version = 9\n" + text, "unknown key 'version'"),
        (lambda text: text + "\n[broken", "broken TOML"),
        (lambda text: text.replace('"clinic.csv"', '"postgresql://host/clinic"\ntable = "a.b"'), "database"),
        (lambda text: re.sub(r"zipcode +=.*", 'zipcode = { role = "quasi", x = 1 }', text), "unknown key"),
    ],
)
def test_a_policy_that_cannot_be_used_says_why(desk, looked, folder, allowed, change, words):
    path = folder / "wrong.toml"
    path.write_text(change(policy_to_toml(looked.policy)), encoding="utf-8")
    with pytest.raises(PolicyError, match=words) as raised:
        look_by_policy(desk, path, allowed)
    assert str(folder) not in raised.value.message
    if "unknown" in words:
        assert "newer version" in raised.value.hint


@pytest.mark.parametrize("line", ["file = '{}'", "file = '../other/h.csv'"])
def test_a_policy_reads_no_hierarchy_from_elsewhere(desk, looked, folder, allowed, tmp_path, line):
    outside = tmp_path / "h.csv"
    outside.write_text("a;*\n", encoding="utf-8")
    policy = replace(looked.policy, hierarchies={})
    column = f'disease = {{ role = "sensitive", hierarchy = {{ {line.format(outside)} }} }}'
    text = re.sub(r"disease +=.*", column, policy_to_toml(policy))
    path = folder / "hierarchy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match="leads out of the folder"):
        look_by_policy(desk, path, allowed)


def test_a_policy_of_another_table_says_which_columns_differ(desk, looked, folder, table, allowed):
    (folder / "other.csv").write_text("age,city\n1,a\n2,b\n", encoding="utf-8")
    path = folder / "other.toml"
    path.write_text(policy_to_toml(replace(looked.policy, input=replace(looked.policy.input, path=Path("other.csv"),
        reading=Reading()))), encoding="utf-8")  # fmt: skip
    with pytest.raises(SchemaError, match="no column"):
        look_by_policy(desk, path, allowed)


# How a table is read


def test_decisions_stay_when_a_table_is_read_anew(looked, desk, table):
    decided = decide(looked, "sex", Role.INSENSITIVE)
    decided = replace(deciding.with_reason(decided, "sex", "asked for"), suppression=0.02)
    exact = look(desk, table, replace(looked.policy.input.reading, missing=("", "HIV")), exact=True)
    kept = deciding.read_anew(decided, exact.policy, looked=exact.inspection)
    assert kept == replace(decided, input=exact.policy.input)
    fewer = {**looked.inspection, "columns": [c for c in looked.inspection["columns"] if c["name"] != "disease"]}
    schema = deciding.Schema.from_roles({c["name"]: c["role"] for c in fewer["columns"]})
    fresh = replace(looked.starter, schema=schema, models=(KAnonymity(11),))
    kept = again(deciding.read_anew(decided, fresh, looked=fewer))
    assert kept.schema.role("sex") is Role.INSENSITIVE
    assert kept.suppression == Budget(0.02)
    assert kept.reasons == {"sex": "asked for"}
    assert all("disease" not in key for model in kept.models for key in model.keys)


def test_another_table_begins_anew(looked):
    schema = deciding.Schema(quasi=["city"])
    fresh = replace(looked.starter, schema=schema, models=(KAnonymity(2),), hierarchies={})
    assert deciding.read_anew(looked.policy, fresh, looked={"columns": []}) is fresh


# Decisions


def decide(looked, name, role, policy=None):
    return deciding.with_role(policy or looked.policy, name, role, looked=looked.inspection, starter=looked.starter)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("name", ["name", "age", "sex", "zipcode", "disease", "visit"])
def test_a_policy_holds_whatever_role_a_column_gets(looked, name, role):
    policy = decide(looked, name, role)
    assert policy.schema.role(name) is role
    assert again(policy) == policy
    assert (
        deciding.with_suggestions(policy, looked=looked.inspection, starter=looked.starter).schema
        == looked.policy.schema
    )
    expected = [] if role == looked.policy.schema.role(name) else [name]
    assert deciding.find_differences(policy, looked.inspection) == expected


def test_hierarchies_come_and_go_with_the_role(looked):
    name = next(iter(looked.starter.hierarchies))
    dropped = decide(looked, name, Role.IDENTIFIER)
    assert name not in dropped.hierarchies
    assert decide(looked, name, Role.QUASI, dropped).hierarchies[name] == looked.starter.hierarchies[name]


def test_models_come_and_go_with_the_role(looked):
    assert DistinctLDiversity("disease", l=2) in looked.policy.models
    open_one = decide(looked, "disease", Role.INSENSITIVE)
    assert all(not isinstance(model, DistinctLDiversity) or model.sensitive != "disease" for model in open_one.models)
    assert DistinctLDiversity("disease", l=2) in decide(looked, "disease", Role.SENSITIVE, open_one).models
    assert DistinctLDiversity("sex", l=2) in decide(looked, "sex", Role.SENSITIVE).models
    only = replace(looked.policy, models=(DistinctLDiversity("disease", l=2),))
    with pytest.raises(ParameterError, match="only model"):
        decide(looked, "disease", Role.QUASI, only)


def test_unprotected_columns_are_known(looked):
    bare = replace(looked.policy, models=(KAnonymity(5),))
    assert deciding.find_unprotected(bare) == list(looked.policy.schema.sensitive)
    assert "disease" not in deciding.find_unprotected(looked.policy)


def test_what_rests_on_a_role_goes_with_it(looked):
    policy = replace(looked.policy, algorithm=ChosenNode((0,) * len(looked.policy.schema.quasi)), target="sex")
    policy = deciding.with_pseudonym(policy, "name", Pseudonym(random=True))
    policy = deciding.with_transformation(policy, "disease", Transformation(clear="presence"))
    assert again(policy) == policy
    changed_one = decide(looked, "sex", Role.IDENTIFIER, policy)
    assert changed_one.target is None
    assert not isinstance(changed_one.algorithm, ChosenNode)
    assert decide(looked, "name", Role.INSENSITIVE, policy).pseudonyms == {}
    assert decide(looked, "disease", Role.IDENTIFIER, policy).transformations == {}
    assert decide(looked, "disease", Role.INSENSITIVE, policy).transformations.keys() == {"disease"}


def test_reasons_are_kept_without_blanks(looked):
    policy = deciding.with_reason(looked.policy, "age", "  others know it ")
    assert policy.reasons == {"age": "others know it"}
    assert deciding.with_reason(policy, "age", " ").reasons == {}


def test_a_level_takes_the_suggested_hierarchy_along(looked):
    name = next(iter(looked.starter.hierarchies))
    policy = decide(looked, name, Role.INSENSITIVE)
    level = Transformation(level=1)
    with pytest.raises(SchemaError, match="it has none"):
        deciding.with_transformation(policy, name, level)
    made = deciding.with_transformation(policy, name, level, hierarchy=looked.starter.hierarchies[name])
    assert again(made) == made
    bare = deciding.with_transformation(made, name, None)
    assert (bare.transformations, bare.hierarchies.get(name)) == ({}, None)
    with pytest.raises(SchemaError, match="quasi-identifier"):
        deciding.with_transformation(looked.policy, "sex", Transformation(clear="all"))


def test_paths_of_keys_start_at_the_policy_unless_it_is_private(looked, folder, tmp_path):
    key = folder / "keys" / "one"
    assert deciding.path_in(looked.policy, key, private=tmp_path) == Path("keys/one")
    assert deciding.path_in(looked.policy, key, private=folder) == key


# Figures


def test_standing_follows_the_roles(desk, looked):
    everything = tasks.standing_out(desk, looked.policy, k=2)
    fewer = decide(looked, "age", Role.INSENSITIVE, decide(looked, "visit", Role.INSENSITIVE))
    assert everything.alone >= tasks.standing_out(desk, fewer, k=2).alone
    sexes = fewer
    for name in fewer.schema.quasi:
        sexes = sexes if name == "sex" else decide(looked, name, Role.INSENSITIVE, sexes)
    found = tasks.standing_out(desk, sexes, k=2)
    assert (found.classes, found.smallest, found.alone, found.unit) == (2, ROWS // 2, 0, "rows")
    people = tasks.standing_out(desk, decide(looked, "disease", Role.PERSON, sexes), k=2)
    assert (people.unit, people.members) == ("people", 4)
    single = tasks.standing_out(desk, decide(looked, "name", Role.PERSON, fewer), k=2)
    rows = tasks.standing_out(desk, fewer, k=2)
    assert single == replace(rows, unit="people")


def test_pictures_tell_no_value_in_their_title(desk, looked):
    drawn = tasks.pictures(desk, looked.policy, ["name", "age", "disease", "visit"])
    assert drawn["name"] == ""
    assert drawn["disease"].count("asthma") >= 1
    for name in ("age", "disease", "visit"):
        title = drawn[name].split("</title>")[0]
        assert drawn[name].startswith("<svg")
        assert name in title
        assert "asthma" not in title


def test_a_transformation_is_tried_before_it_is_decided(desk, looked):
    cost = decide(looked, "cost", Role.SENSITIVE)
    rounded = deciding.with_transformation(cost, "cost", Transformation(round=100))
    assert tasks.check_transformed(desk, rounded, "cost") == {"before": ROWS, "after": 4}
    wrong = deciding.with_transformation(cost, "disease", Transformation(round=100))
    with pytest.raises(InputError, match="cannot be rounded"):
        tasks.check_transformed(desk, wrong, "disease")


def test_what_roles_do_about_a_set_of_columns(looked):
    assert protection(["age", "sex"], looked.policy) == ("made coarser together", "good")
    assert protection(["age", "name"], looked.policy) == ("name is dropped", "good")
    assert protection(["age", "disease"], looked.policy) == ("disease published unmodified", "warn")
    cleared = deciding.with_transformation(looked.policy, "disease", Transformation(clear="all"))
    assert protection(["age", "disease"], cleared) == ("disease published transformed", "")


def test_undo_brings_back_what_was_found_at_the_table_before(looked, tmp_path, folder):
    session = Session(tmp_path, Settings(folder, 10))
    session.change(looked.policy, name="clinic.csv")
    session.keep("inspection", "of clinic")
    session.change(replace(looked.policy, suppression=0.5), name="other.csv")
    session.keep("inspection", "of other")
    session.undo()
    assert (session.name, session.result("inspection")) == ("clinic.csv", "of clinic")


def test_names_that_javascript_knows_are_drawn():
    from indistinct.drawing.charts import altair, draw

    alt, names = altair(), ["constructor", "toString", "__proto__", "age"]
    chart = alt.Chart(alt.Data(values=[{"name": each, "value": 1} for each in names])).mark_bar()
    drawn = draw(chart.encode(x=alt.X("name:N", sort=names).scale(domain=names), y="value:Q"), title="constructor")
    assert all(each in drawn for each in names)


def test_postal_codes_are_text_and_are_masked(desk, tmp_path):
    path = tmp_path / "visits.csv"
    rows = [f"{code};{age};{weight}" for age in range(20, 60) for code in (80331, 10115) for weight in (1200, 1300)]
    path.write_text("\n".join(["PLZ;Alter;Gewicht", *rows]))
    found = look(desk, path, Reading())
    assert found.policy.input.reading.text == ("PLZ",)
    column = next(each for each in found.inspection["columns"] if each["name"] == "PLZ")
    assert (column["type"], column["role"], column["hierarchy"]) == ("text", "quasi", {"mask": "right"})
    assert column["findings"] == ["postal codes: text"]
