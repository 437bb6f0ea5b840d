"""The page in German: each step is drawn, and nothing that it says stays in English. Values and names stay."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import indistinct
from indistinct.document.catalogue import read_catalogue
from indistinct.inspection import roles
from indistinct.inspection.arx_project import read_arx_project
from indistinct.inspection.patterns.registry import FREE_TEXT, PATTERNS
from indistinct.machine.stages import PREPARING, PREPARING_EACH_RUN
from indistinct.schema import Role
from indistinct.tables import Reading
from indistinct.tables.domain import Kind
from indistinct.web import parts
from indistinct.web.deciding import with_roles
from indistinct.web.language import Own, translate
from indistinct.web.saving import Shelf, ShelfEntry
from indistinct.web.sessions import LONG, Session, Settings, Work
from indistinct.web.standing import INSPECTED, STARTER
from indistinct.web.steps import STEPS
from indistinct.web.steps.opening import FORM, NOT_TAKEN_OVER, NOTES, SHEETS, WAITING
from indistinct.web.tasks.looking import Look, look_at_invented
from indistinct.web.worker import Desk, Progress, TaskError
from references.arx_projects import clinic_project, configuration
from references.drawn_page import draw_step, texts_of, work_at_once
from references.sentences import find_untranslated

GERMAN = read_catalogue("de")


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Look:
    found = look_at_invented(Desk(), tmp_path_factory.mktemp("table") / "patients.csv")
    assert isinstance(found, Look)
    return found


@pytest.fixture
def session(looked: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session in German with a table, whose quick tasks are done at once."""
    made = Session(tmp_path, Settings(tmp_path, 10, demo=True, language="de"))
    work_at_once(monkeypatch, Desk())
    made.change(looked.policy, name="patients.csv")
    for key, value in (
        (INSPECTED, looked.inspection),
        (NOTES, looked.notes),
        (STARTER, looked.starter),
        (FORM, looked.form),
    ):
        made.keep(key, value)
    return made


@pytest.mark.parametrize("step", [each.name for each in STEPS])
def test_a_step_says_nothing_in_english(session: Session, step: str) -> None:
    client, spoken = draw_step(session, step)
    assert list(spoken.missing) == []
    assert len(list(texts_of(client))) > 20


@pytest.mark.parametrize("step", ["open", "columns"])
def test_numbers_and_dates_of_a_table_are_written_in_the_language_of_the_page(session: Session, step: str) -> None:
    """A year and an identifier get no mark for thousands, and no value of a file changes."""
    german = list(texts_of(draw_step(session, step)[0]))
    session.language = "en"
    english = list(texts_of(draw_step(session, step)[0]))
    days = {day for each in english for day in re.findall(r"\b\d{4}-\d\d-\d\d\b", each)}
    costs = {cost for each in english for cost in re.findall(r"\b\d{3,6}\.\d\d\b", each)}
    assert len(days) > 2
    assert len(costs) > 2
    said = " ".join(german)
    assert [each for each in (*days, *costs) if each in said] == []
    assert {GERMAN.date(each) for each in days} <= set(re.findall(r"\b\d\d\.\d\d\.\d{4}\b", said))
    assert {each.replace(".", ",") for each in costs} <= set(re.findall(r"\b\d{3,6},\d\d\b", said))


def test_stages_of_the_longest_task_are_german_and_names_of_files_stay(session: Session) -> None:
    for stage in (PREPARING, PREPARING_EACH_RUN, "reading", "searching"):
        session.work = Work("Opening reading.csv")
        session._workers[LONG].progress = Progress(None, stage, "12,000 of 20,000 rows")
        client, spoken = draw_step(session, "search")
        [said] = [each for each in texts_of(client) if each.startswith("reading.csv wird geöffnet …")]
        assert said.endswith(f"{GERMAN.translate(stage)} 12.000 von 20.000 Zeilen")
        assert list(spoken.missing) == []


@pytest.mark.parametrize("step", [each.name for each in STEPS])
def test_the_frame_is_german_on_every_step_before_anything_is_open(tmp_path: Path, step: str) -> None:
    client, spoken = draw_step(Session(tmp_path, Settings(tmp_path, 10, language="de")), step)
    assert list(spoken.missing) == []
    title = next(each.title for each in STEPS if each.name == step)
    assert GERMAN.translate(title) in list(texts_of(client))


def test_what_a_file_shows_is_told_in_german_and_what_it_holds_stays(session: Session) -> None:
    """A value, a column or a file that is called like a word of the page is not translated."""
    policy = session.require_job()
    reading = Reading(decimal=",", missing=("class",), missing_in={"disease": ("rows",)})
    session.change(replace(policy, input=replace(policy.input, reading=reading)), name="rows")
    session.keep(FORM, {"kind": "text", "delimiter": ";", "encoding": "utf-8"})
    session.keep(SHEETS, {"path": Path("people.xlsx"), "names": ["rows", "missing"], "at": "file"})
    session.keep(WAITING, {"title": "policy.toml", "table": "people.csv"})
    client, spoken = draw_step(session, "open")
    said = list(texts_of(client))
    assert list(spoken.missing) == []
    assert {"rows", "missing"} <= set(said)
    assert "class wird als fehlender Wert gelesen. " in said
    assert "rows wird in disease als fehlender Wert gelesen. " in said
    assert "people.xlsx hat 2 Tabellenblätter. Welches ist die Tabelle?" in said
    table = next(each for each in said if "<caption>" in each)
    assert ">Zeile</th>" in table
    assert ">disease</th>" in table
    assert 'aria-label="Zeilen 1 bis 12 von 5.000"' in table


@pytest.mark.parametrize("role", Role)
def test_what_is_known_of_each_column_is_told_in_german_in_every_role(session: Session, role: Role) -> None:
    policy, looked, starter = session.require_job(), session.result(INSPECTED), session.result(STARTER)
    names = [name for name in policy.schema.columns if name != "age"]
    session.change(with_roles(policy, dict.fromkeys(names, role), looked=looked, starter=starter))
    client, spoken = draw_step(session, "columns", choices={"unfolded": {*names, "age"}})
    said = list(texts_of(client))
    assert list(spoken.missing) == []
    assert "disease" in said
    assert "Warum diese Rolle" in said


def test_errors_are_told_in_german_at_their_fields(session: Session) -> None:
    errors = {"path": TaskError("there is no file rows.csv", hint="check the path; it starts at /data")}
    client, spoken = draw_step(session, "open", errors)
    assert list(spoken.missing) == []
    assert "es gibt keine Datei rows.csv" in list(texts_of(client))


def test_what_an_arx_project_loses_is_told_in_german(session: Session, tmp_path: Path) -> None:
    lost = ["(0.01)-population-uniqueness (dankar)", "5-map"]
    project = clinic_project(tmp_path / "clinic.deid", config=configuration(["5-anonymity", *lost]))
    session.keep(NOT_TAKEN_OVER, read_arx_project(project).lost)
    client, spoken = draw_step(session, "open")
    assert list(spoken.missing) == []
    assert "das Modell 5-map: Es veröffentlicht" in "".join(texts_of(client))


def test_saved_jobs_are_listed_in_german_under_their_names(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [ShelfEntry("a", "rows", 0.0, rows=True), ShelfEntry("b", "patients.csv", 0.0, rows=False)]
    monkeypatch.setattr(Shelf, "entries", lambda _shelf: entries)
    session.settings, session.first = replace(session.settings, shelf=Shelf(tmp_path / "jobs")), True
    client, spoken = draw_step(session, "open")
    said = list(texts_of(client))
    assert list(spoken.missing) == []
    assert {"rows", "Eine Kopie der Tabelle mit dem Auftrag speichern"} <= set(said)
    assert any(each.endswith(", ohne Zeilen") for each in said)


def test_names_and_code_stay_in_every_language(session: Session) -> None:
    client, _ = draw_step(session, "open")
    with client:
        assert [translate("rows"), translate(Own("rows")), translate(" rows "), translate("–")] == [
            "Zeilen",
            "rows",
            " Zeilen ",
            "–",
        ]
        parts.code("rows", label="Python", name="code")
    assert "rows" in list(texts_of(client))


def test_an_english_page_says_what_it_said(session: Session) -> None:
    session.language = "en"
    client, spoken = draw_step(session, "open")
    assert list(spoken.missing) == []
    assert {"Two questions first", "Undo"} <= set(texts_of(client))


# Also sentences that no page above shows are there.

BEYOND = ("inspection/taking_over.py", "inspection/arx_project.py", "evaluation/attack/base.py")
"""Modules of which the page shows what could not be taken over, and what attacks achieve."""
UNSEEN = ("web/server.py", "web/logs.py", "web/as_code.py")
"""Modules whose sentences a terminal shows, or a policy."""
UNSEEN_PARTS = {
    "web/guard.py": ("content_policy",),
    "web/picking.py": ("PRESSED",),
    "inspection/arx_project.py": ("MODELS",),
    "inspection/taking_over.py": ("HEADING",),
}
"""Parts of modules that no person reads, or that stand in a policy."""


def modules_of_page() -> list[str]:
    package = Path(indistinct.__file__).parent
    return sorted(each.relative_to(package).as_posix() for each in (package / "web").rglob("*.py"))


def test_reasons_of_roles_warnings_and_types_of_columns_are_there() -> None:
    reasons = (*roles.WORDS.values(), roles.IN_DOUBT, roles.NEARLY_ALL_UNIQUE, roles.NUMBERS_ROWS)
    warnings = {each.meaning.partition(",")[0] for each in PATTERNS} | {FREE_TEXT.partition(",")[0]}
    lines = [f"{kind}, 12 values. {reason}." for kind in Kind for reason in reasons]
    assert [each for each in (*reasons, *warnings, *lines) if GERMAN.translate(each) is None] == []


def test_what_a_pattern_says_of_a_column_is_all_in_german() -> None:
    """Nothing of it is taken for a name: what is said of a column after its reason is a message of its own."""
    frequent = "names of people, 85.7 % of them frequent ones"
    meanings = [*(each.meaning for each in PATTERNS), FREE_TEXT, frequent]
    said = {
        f"{reason}: {meaning}": f"{GERMAN.translate(reason)}: {GERMAN.translate(meaning)}"
        for reason in roles.WORDS.values()
        for meaning in meanings
    }
    assert {each: GERMAN.translate(each) for each in said} == said


def test_descriptions_of_pictures_are_told_in_german() -> None:
    sets = (
        "Rows that are unique on columns that an attacker may know, of 20: "
        "all quasi-identifiers 100 % → 0 %; a + b 9.8 % → 0 %."
    )
    assert GERMAN.translate(sets) == (
        "Zeilen, die anhand von Spalten einzigartig sind, die ein Angreifer kennen kann, von 20: "
        "alle Quasi-Identifikatoren 100 % → 0 %; a + b 9,8 % → 0 %."
    )
    assert GERMAN.translate("average risk: 100 % before, 8.3 % after") == (
        "durchschnittliches Risiko: 100 % vorher, 8,3 % nachher"
    )
    assert GERMAN.translate("a + b: 9.8 % before, 0 % after") == "a + b: 9,8 % vorher, 0 % nachher"


def test_progress_of_checks_and_people_of_a_column_are_told_in_german() -> None:
    told = GERMAN.translate("Checking 2 of 6: no verdict on the profile public yet.")
    assert told == "Prüfung 2 von 6: noch kein Ergebnis für das Profil public."
    assert GERMAN.translate("text, 9,303 values. 9,303 people in 20,000 rows.") == (
        "Text, 9.303 Werte. 9.303 Personen in 20.000 Zeilen."
    )
    solution = "Your release. Classes of at least 12: 29.7 % of detail lost, highest risk 8.33 %."
    assert GERMAN.translate(solution) == (
        "Ihre Veröffentlichung. Äquivalenzklassen von mindestens 12: "
        "29,7 % Informationsverlust, höchstes Risiko 8,33 %."
    )


@pytest.mark.parametrize("module", [*BEYOND, *(each for each in modules_of_page() if each not in UNSEEN)])
def test_every_sentence_of_the_modules_of_the_page_is_in_the_catalogue(module: str) -> None:
    assert find_untranslated(module, GERMAN, UNSEEN_PARTS.get(module, ())) == []
